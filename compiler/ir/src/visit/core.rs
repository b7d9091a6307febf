//! Traversals of CORE, and what one asks of an expression: its operands, its bodies, whether it is scalar.

use super::{Code, Edit, Site};
use crate::core::{At, Body, Exp, Fun, Lambda, LoopForm, Param, Stm};
use crate::stack::deeper;
use crate::ty::{Atom, Type, Var};

impl Code for Param {
    fn walk(&self, f: &mut dyn FnMut(Site)) {
        f(Site::Bind(self.var));
        self.ty.walk(f);
    }

    fn edit(&mut self, e: &mut dyn Edit) {
        self.var = e.binder(self.var);
        self.ty.edit(e);
    }
}

impl Code for Body {
    fn walk(&self, f: &mut dyn FnMut(Site)) {
        deeper(|| self.stms.walk(f));
        self.results.walk(f);
    }

    fn edit(&mut self, e: &mut dyn Edit) {
        deeper(|| self.stms.edit(e));
        self.results.edit(e);
    }
}

impl Code for Stm {
    fn walk(&self, f: &mut dyn FnMut(Site)) {
        self.exp.walk(f);
        self.pat.walk(f);
    }

    fn edit(&mut self, e: &mut dyn Edit) {
        self.exp.edit(e);
        self.pat.edit(e);
    }
}

impl Code for Lambda {
    fn walk(&self, f: &mut dyn FnMut(Site)) {
        self.params.walk(f);
        self.body.walk(f);
        self.ret.walk(f);
    }

    fn edit(&mut self, e: &mut dyn Edit) {
        self.params.edit(e);
        self.body.edit(e);
        self.ret.edit(e);
    }
}

impl Code for Fun {
    fn walk(&self, f: &mut dyn FnMut(Site)) {
        self.params.walk(f);
        self.body.walk(f);
        self.ret.walk(f);
    }

    fn edit(&mut self, e: &mut dyn Edit) {
        self.params.edit(e);
        self.body.edit(e);
        self.ret.edit(e);
    }
}

impl Code for Exp {
    fn walk(&self, f: &mut dyn FnMut(Site)) {
        self.for_each_operand(&mut |a| f(Site::Use(a)));
        if let Exp::Loop { params, form, .. } = self {
            params.iter().for_each(|(p, _)| p.walk(f));
            if let LoopForm::For { index, .. } = form {
                f(Site::Bind(*index));
            }
        }
        self.lambdas().into_iter().for_each(|l| l.walk(f));
        self.own_bodies().into_iter().for_each(|b| b.walk(f));
    }

    fn edit(&mut self, e: &mut dyn Edit) {
        self.edit_operands(e);
        if let Exp::Loop { params, form, .. } = self {
            params.iter_mut().for_each(|(p, _)| p.edit(e));
            if let LoopForm::For { index, .. } = form {
                *index = e.binder(*index);
            }
        }
        self.lambdas_mut().into_iter().for_each(|l| l.edit(e));
        self.own_bodies_mut().into_iter().for_each(|b| b.edit(e));
    }
}

impl Code for At {
    fn walk(&self, f: &mut dyn FnMut(Site)) {
        self.atoms().walk(f);
    }

    fn edit(&mut self, e: &mut dyn Edit) {
        match self {
            At::Index(i) => i.edit(e),
            At::Slice { start, stride } => [start, stride].into_iter().for_each(|a| a.edit(e)),
        }
    }
}

/// Calls a function on each operand.
struct EachOperand<'a>(&'a mut dyn FnMut(&mut Atom));

impl Edit for EachOperand<'_> {
    fn operand(&mut self, mut a: Atom) -> Atom {
        (self.0)(&mut a);
        a
    }
}

/// A variable as an operand.
fn var(f: &mut dyn FnMut(Atom), v: &Var) {
    f(Atom::Var(*v));
}

fn atoms(f: &mut dyn FnMut(Atom), xs: &[Atom]) {
    xs.iter().for_each(|a| f(*a));
}

fn variables(f: &mut dyn FnMut(Atom), xs: &[Var]) {
    xs.iter().for_each(|v| var(f, v));
}

/// The operands of a parallel operator.
fn operator(f: &mut dyn FnMut(Atom), dests: &[Var], width: Atom, inputs: &[Var], neutral: &[Atom]) {
    variables(f, dests);
    f(width);
    variables(f, inputs);
    atoms(f, neutral);
}

fn edit_operator(
    e: &mut dyn Edit,
    dests: &mut [Var],
    width: &mut Atom,
    inputs: &mut [Var],
    neutral: &mut [Atom],
) {
    dests.iter_mut().for_each(|v| v.edit(e));
    width.edit(e);
    inputs.iter_mut().for_each(|v| v.edit(e));
    neutral.iter_mut().for_each(|a| a.edit(e));
}

impl Body {
    /// The number of statements, those inside of others included.
    pub fn statements(&self) -> usize {
        let inside = |s: &Stm| s.exp.bodies().into_iter().map(Body::statements).sum::<usize>();
        self.stms.iter().map(|s| 1 + deeper(|| inside(s))).sum()
    }
}

impl Exp {
    /// Visits the operands of this expression itself (arrays and inputs too), not those inside its bodies, lambdas
    /// and types.
    pub fn for_each_operand(&self, f: &mut dyn FnMut(Atom)) {
        match self {
            Exp::Atom(a) | Exp::Iota(a) | Exp::Tape(a) => f(*a),
            Exp::Prim(_, args) | Exp::Call(_, args) | Exp::Literal(args, _) | Exp::Trace { args, .. } => {
                atoms(f, args);
            }
            Exp::Index(v, xs) => {
                var(f, v);
                atoms(f, xs);
            }
            Exp::Slice { arr, start, len, stride } => {
                var(f, arr);
                atoms(f, &[*start, *len, *stride]);
            }
            Exp::Check { cond, args, .. } => {
                f(*cond);
                atoms(f, args);
            }
            Exp::If { cond, .. } => f(*cond),
            Exp::Loop { params, form, .. } => {
                params.iter().for_each(|(_, init)| f(*init));
                if let LoopForm::For { bound, .. } = form {
                    f(*bound);
                }
            }
            Exp::Map { width, inputs, .. } | Exp::Filter { width, inputs, .. } => {
                operator(f, &[], *width, inputs, &[]);
            }
            Exp::Reduce { width, inputs, neutral, .. } | Exp::Scan { width, inputs, neutral, .. } => {
                operator(f, &[], *width, inputs, neutral);
            }
            Exp::Scatter { dests, width, inputs, .. } => operator(f, dests, *width, inputs, &[]),
            Exp::Hist { dests, width, inputs, neutral, .. } => operator(f, dests, *width, inputs, neutral),
            Exp::Update { arr, at, value } => {
                var(f, arr);
                at.iter().for_each(|a| atoms(f, &a.atoms()));
                f(*value);
            }
            Exp::Replicate(n, x) => atoms(f, &[*n, *x]),
            Exp::Concat(vs) => variables(f, vs),
            Exp::Flatten(v)
            | Exp::Unflatten(v)
            | Exp::MakeDesc(v)
            | Exp::Lengths(v)
            | Exp::Total(v)
            | Exp::Push(v)
            | Exp::Accumulate(v)
            | Exp::Accumulated(v) => var(f, v),
            Exp::Add { acc, places, values } => variables(f, &[*acc, *places, *values]),
            Exp::Sort { keys, values } => std::iter::once(keys).chain(values).for_each(|v| var(f, v)),
        }
    }

    /// As [`Exp::for_each_operand`], for changing them. Where only a variable may stand, a constant is ignored.
    pub fn for_each_operand_mut(&mut self, f: &mut dyn FnMut(&mut Atom)) {
        self.edit_operands(&mut EachOperand(f));
    }

    fn edit_operands(&mut self, e: &mut dyn Edit) {
        match self {
            Exp::Atom(a) | Exp::Iota(a) | Exp::Tape(a) => a.edit(e),
            Exp::Prim(_, args) | Exp::Call(_, args) | Exp::Literal(args, _) | Exp::Trace { args, .. } => {
                args.edit(e);
            }
            Exp::Index(v, xs) => {
                v.edit(e);
                xs.edit(e);
            }
            Exp::Slice { arr, start, len, stride } => {
                arr.edit(e);
                [start, len, stride].into_iter().for_each(|a| a.edit(e));
            }
            Exp::Check { cond, args, .. } => {
                cond.edit(e);
                args.edit(e);
            }
            Exp::If { cond, .. } => cond.edit(e),
            Exp::Loop { params, form, .. } => {
                params.iter_mut().for_each(|(_, init)| init.edit(e));
                if let LoopForm::For { bound, .. } = form {
                    bound.edit(e);
                }
            }
            Exp::Map { width, inputs, .. } | Exp::Filter { width, inputs, .. } => {
                edit_operator(e, &mut [], width, inputs, &mut []);
            }
            Exp::Reduce { width, inputs, neutral, .. } | Exp::Scan { width, inputs, neutral, .. } => {
                edit_operator(e, &mut [], width, inputs, neutral);
            }
            Exp::Scatter { dests, width, inputs, .. } => edit_operator(e, dests, width, inputs, &mut []),
            Exp::Hist { dests, width, inputs, neutral, .. } => {
                edit_operator(e, dests, width, inputs, neutral);
            }
            Exp::Update { arr, at, value } => {
                arr.edit(e);
                at.edit(e);
                value.edit(e);
            }
            Exp::Replicate(n, x) => [n, x].into_iter().for_each(|a| a.edit(e)),
            Exp::Concat(vs) => vs.edit(e),
            Exp::Flatten(v)
            | Exp::Unflatten(v)
            | Exp::MakeDesc(v)
            | Exp::Lengths(v)
            | Exp::Total(v)
            | Exp::Push(v)
            | Exp::Accumulate(v)
            | Exp::Accumulated(v) => v.edit(e),
            Exp::Add { acc, places, values } => [acc, places, values].into_iter().for_each(|v| v.edit(e)),
            Exp::Sort { keys, values } => std::iter::once(keys).chain(values).for_each(|v| v.edit(e)),
        }
    }

    /// The lambdas of a parallel operator: the producer, then the operator.
    pub fn lambdas(&self) -> Vec<&Lambda> {
        match self {
            Exp::Map { lam, .. } | Exp::Filter { lam, .. } | Exp::Scatter { lam, .. } => vec![lam],
            Exp::Reduce { lam, op, .. } | Exp::Scan { lam, op, .. } | Exp::Hist { lam, op, .. } => {
                vec![lam, op]
            }
            _ => vec![],
        }
    }

    /// As [`Exp::lambdas`], for changing them.
    pub fn lambdas_mut(&mut self) -> Vec<&mut Lambda> {
        match self {
            Exp::Map { lam, .. } | Exp::Filter { lam, .. } | Exp::Scatter { lam, .. } => vec![lam],
            Exp::Reduce { lam, op, .. } | Exp::Scan { lam, op, .. } | Exp::Hist { lam, op, .. } => {
                vec![lam, op]
            }
            _ => vec![],
        }
    }

    /// Bodies that are not a lambda's: arms of an `if`; condition (of a while) and body of a loop.
    pub fn own_bodies(&self) -> Vec<&Body> {
        match self {
            Exp::If { then, other, .. } => vec![then, other],
            Exp::Loop { form: LoopForm::While(cond), body, .. } => vec![cond, body],
            Exp::Loop { body, .. } => vec![body],
            _ => vec![],
        }
    }

    /// As `own_bodies`.
    pub fn own_bodies_mut(&mut self) -> Vec<&mut Body> {
        match self {
            Exp::If { then, other, .. } => vec![then, other],
            Exp::Loop { form: LoopForm::While(cond), body, .. } => vec![cond, body],
            Exp::Loop { body, .. } => vec![body],
            _ => vec![],
        }
    }

    /// All bodies directly inside: those of lambdas, arms, loops.
    pub fn bodies(&self) -> Vec<&Body> {
        let lambdas = self.lambdas().into_iter().map(|l| &l.body);
        self.own_bodies().into_iter().chain(lambdas).collect()
    }

    /// As [`Exp::bodies`], for changing them.
    pub fn bodies_mut(&mut self) -> Vec<&mut Body> {
        match self {
            Exp::If { .. } | Exp::Loop { .. } => self.own_bodies_mut(),
            _ => self.lambdas_mut().into_iter().map(|l| &mut l.body).collect(),
        }
    }

    /// Calls `f`, which may recurse, on all bodies directly inside.
    pub fn for_each_body<'e>(&'e self, f: impl FnMut(&'e Body)) {
        deeper(|| self.bodies().into_iter().for_each(f));
    }

    /// As [`Exp::for_each_body`], for changing them.
    pub fn for_each_body_mut(&mut self, f: impl FnMut(&mut Body)) {
        deeper(|| self.bodies_mut().into_iter().for_each(f));
    }

    /// A parallel operator (with a lambda).
    pub fn is_soac(&self) -> bool {
        !self.lambdas().is_empty()
    }

    /// Width of a parallel operator: its number of rows. `None`: another expression.
    pub fn width(&self) -> Option<Atom> {
        match self {
            Exp::Map { width, .. }
            | Exp::Reduce { width, .. }
            | Exp::Scan { width, .. }
            | Exp::Filter { width, .. }
            | Exp::Scatter { width, .. }
            | Exp::Hist { width, .. } => Some(*width),
            _ => None,
        }
    }

    /// The arrays that a parallel operator goes over.
    pub fn inputs(&self) -> Option<&[Var]> {
        match self {
            Exp::Map { inputs, .. }
            | Exp::Reduce { inputs, .. }
            | Exp::Scan { inputs, .. }
            | Exp::Filter { inputs, .. }
            | Exp::Scatter { inputs, .. }
            | Exp::Hist { inputs, .. } => Some(inputs),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub fn inputs_mut(&mut self) -> Option<&mut Vec<Var>> {
        match self {
            Exp::Map { inputs, .. }
            | Exp::Reduce { inputs, .. }
            | Exp::Scan { inputs, .. }
            | Exp::Filter { inputs, .. }
            | Exp::Scatter { inputs, .. }
            | Exp::Hist { inputs, .. } => Some(inputs),
            _ => None,
        }
    }

    /// True if the expression may stand in a kernel body, provided that its pattern is scalar too (see
    /// [`Stm::is_scalar`]: whether an index gives an element or a row is seen there): no parallel operator, no call,
    /// nothing that makes an array, here or in the bodies inside.
    pub fn is_scalar_exp(&self) -> bool {
        match self {
            Exp::Atom(_) | Exp::Prim(..) | Exp::Check { .. } | Exp::Index(..) => true,
            Exp::If { then, other, .. } => then.is_scalar() && other.is_scalar(),
            Exp::Loop { params, form, body } => {
                let cond = match form {
                    LoopForm::For { .. } => true,
                    LoopForm::While(cond) => cond.is_scalar(),
                };
                cond && params.iter().all(|(p, _)| is_scalar(&p.ty)) && body.is_scalar()
            }
            _ => false,
        }
    }
}

fn is_scalar(ty: &Type) -> bool {
    ty.is_scalar() && !ty.is_desc() && !ty.is_acc()
}

impl Stm {
    /// Binds scalars only, by an expression that may stand in a kernel body.
    pub fn is_scalar(&self) -> bool {
        self.pat.iter().all(|p| is_scalar(&p.ty)) && self.exp.is_scalar_exp()
    }
}

impl Body {
    /// All statements are scalar. (The results may still name arrays from outside.)
    pub fn is_scalar(&self) -> bool {
        self.stms.iter().all(Stm::is_scalar)
    }
}

impl Lambda {
    /// The body is scalar and so are parameters and results: the operators of `reduce`, `scan` and `hist`.
    pub fn is_scalar(&self) -> bool {
        self.params.iter().all(|p| is_scalar(&p.ty))
            && self.ret.iter().all(is_scalar)
            && self.body.is_scalar()
    }
}
