//! Hoisting: what is the same for every row of a map, or every iteration of a loop, is computed before it.
//!
//! ```text
//! let zs = map n xs (\x ->                let ks = map m is (\i -> … ys …)
//!   let is = iota m                       let t  = reduce add.f32 0 m ks
//!   let ks = map m is (\i -> … ys …)  =>  let zs = map n xs (\x ->
//!   let t  = reduce add.f32 0 m ks          let z = add.f32 x t
//!   let z  = add.f32 x t                    in z)
//!   in z)
//! ```
//!
//! A hoisted statement also runs where the map has no rows, or before a check in the lambda that would have
//! failed. So it must be harmless whatever the values are: nothing that may fail, repeat forever, divide by what may
//! be zero, or read where a check has not allowed it. An index is harmless if it counts up to the dimension
//! that it indexes, a size if it is the size of something. Only what costs something is moved (operators, loops,
//! copies), along with what it depends on.

mod distribute;

use crate::alias::reads_only;
use crate::build::take;
use crate::core::{Body, Exp, LoopForm, Param, Program, Stm};
use crate::cost::{Time, time};
use crate::effects::Effects;
use crate::hash::{HashMap, HashSet};
use crate::prim::{BinOp, CmpOp, PrimOp};
use crate::stack::deeper;
use crate::ty::{Atom, Dim, Type, Var, Vars};
use crate::visit::Code;
use par_runtime::Prim;

/// Hoists in all functions.
pub fn run(program: &mut Program) {
    let Program { funs, vars, .. } = program;
    for fun in funs {
        let mut scope = Scope::new(vars);
        scope.bind_all(&fun.params);
        scope.body(&mut fun.body);
    }
}

/// Hoists within statements; also gives the types of all variables in them. `known` are variables from outside that they use, `sizes` those
/// of them that are sizes.
pub fn within(
    stms: Vec<Stm>,
    known: &[Param],
    sizes: impl Iterator<Item = Var>,
    vars: &mut Vars,
) -> (Vec<Stm>, HashMap<Var, Type>) {
    let mut scope = Scope::new(vars);
    scope.bind_all(known);
    sizes.for_each(|n| scope.size(n));
    let mut body = Body { stms, results: Vec::new() };
    scope.body(&mut body);
    (body.stms, scope.types)
}

/// Facts about variables in scope. Only `sizes` depends on the place; the rest holds wherever the variable is.
struct Scope<'v> {
    vars: &'v mut Vars,
    types: HashMap<Var, Type>,
    iotas: HashMap<Var, Atom>,
    /// Exclusive upper bounds of variables that are at least 0.
    uppers: HashMap<Var, Atom>,
    sizes: HashSet<Var>,
    trail: Vec<Var>,
    /// Conditions that say if a number is 0 (true) or is not (false): the number.
    zero: HashMap<Var, (Var, bool)>,
    /// Numbers that are not 0 in this arm.
    not_zero: Vec<Var>,
}

impl Scope<'_> {
    fn new(vars: &mut Vars) -> Scope<'_> {
        let (types, iotas, uppers) = (HashMap::default(), HashMap::default(), HashMap::default());
        let (zero, not_zero) = (HashMap::default(), Vec::new());
        Scope { vars, types, iotas, uppers, sizes: HashSet::default(), trail: Vec::new(), zero, not_zero }
    }

    fn bind_all<'a>(&mut self, params: impl IntoIterator<Item = &'a Param>) {
        for p in params {
            self.types.insert(p.var, p.ty.clone());
            for d in &p.ty.dims {
                if let Dim::Size(Atom::Var(n)) = d {
                    self.size(*n);
                }
            }
        }
    }

    fn size(&mut self, n: Var) {
        if self.sizes.insert(n) {
            self.trail.push(n);
        }
    }

    fn leave(&mut self, mark: usize) {
        for n in self.trail.drain(mark..) {
            self.sizes.remove(&n);
        }
    }

    /// Registers what a statement binds.
    fn bind(&mut self, stm: &Stm) {
        self.bind_all(&stm.pat);
        let Some(p) = stm.pat.first() else { return };
        match stm.exp {
            Exp::Iota(n) => drop(self.iotas.insert(p.var, n)),
            Exp::Filter { .. } | Exp::Total(_) => self.size(p.var),
            Exp::Index(s, _) if p.ty.is_scalar() && self.is_desc(s) => self.size(p.var),
            Exp::Prim(PrimOp::Bin(op, Prim::I64), ref xy) if self.makes_size(op, xy) => self.size(p.var),
            Exp::Prim(PrimOp::Cmp(op @ (CmpOp::Eq | CmpOp::Ne), _), ref xy) if xy[1].as_i64() == Some(0) => {
                self.zero.extend(xy[0].var().map(|x| (p.var, (x, op == CmpOp::Eq))));
            }
            _ => {}
        }
    }

    /// True if an operator of sizes is not negative.
    fn makes_size(&self, op: BinOp, xy: &[Atom]) -> bool {
        match op {
            BinOp::Add | BinOp::Min => xy.iter().all(|x| self.is_size(*x)),
            BinOp::Max => xy.iter().any(|x| self.is_size(*x)),
            BinOp::Div | BinOp::Quot => self.is_size(xy[0]) && xy[1].as_i64().is_some_and(|d| d > 0),
            _ => false,
        }
    }

    /// Registers what the bodies of an expression may rely on: parameters, and where they come from.
    fn enter(&mut self, exp: &Exp) {
        if let Exp::Loop { params, form, .. } = exp {
            self.bind_all(params.iter().map(|(p, _)| p));
            if let LoopForm::For { index, prim, bound } = form {
                self.types.insert(*index, Type::scalar(*prim));
                self.uppers.insert(*index, *bound);
            }
        }
        exp.lambdas().into_iter().for_each(|l| self.bind_all(&l.params));
        if let (Some(inputs), Some(lam)) = (exp.inputs(), exp.lambdas().first()) {
            for (input, p) in inputs.iter().zip(&lam.params) {
                self.row(*input, p);
            }
        }
    }

    fn row(&mut self, input: Var, p: &Param) {
        if let Some(n) = self.iotas.get(&input) {
            self.uppers.insert(p.var, *n);
        }
        if p.ty.is_scalar() && self.is_desc(input) {
            self.size(p.var);
        }
    }

    fn is_desc(&self, v: Var) -> bool {
        self.types.get(&v).is_some_and(Type::is_desc)
    }

    /// Hoists within a body, from the inside out.
    fn body(&mut self, body: &mut Body) {
        let mut out = Vec::with_capacity(body.stms.len());
        for mut stm in std::mem::take(&mut body.stms) {
            for before in deeper(|| self.stm(&mut stm)) {
                self.bind(&before);
                out.push(before);
            }
            self.bind(&stm);
            out.push(stm);
        }
        body.stms = out;
    }

    /// Hoists out of the bodies of a statement; out of arms only tables, since conditions guard the rest.
    fn stm(&mut self, stm: &mut Stm) -> Vec<Stm> {
        let mark = self.trail.len();
        self.enter(&stm.exp);
        stm.exp.for_each_body_mut(|b| {
            let mark = self.trail.len();
            self.body(b);
            self.leave(mark);
        });
        self.leave(mark);
        match &mut stm.exp {
            Exp::Loop { params, form, body } => {
                let mut inside: HashSet<Var> = params.iter().map(|(p, _)| p.var).collect();
                if let LoopForm::For { index, .. } = form {
                    inside.insert(*index);
                }
                self.take_invariant(body, inside)
            }
            Exp::If { then, other, .. } => [then, other].into_iter().flat_map(take_tables).collect(),
            exp => {
                let lam = exp.lambdas_mut().into_iter().next();
                lam.map_or_else(Vec::new, |lam| {
                    let inside = lam.params.iter().map(|p| p.var).collect();
                    self.take_invariant(&mut lam.body, inside)
                })
            }
        }
    }

    /// Splits off operators in a body what depends on nothing bound `inside`, where that may then be taken out.
    fn distribute(&mut self, body: &mut Body, mut inside: HashSet<Var>) {
        let mark = self.trail.len();
        let mut stms = Vec::with_capacity(body.stms.len());
        for stm in std::mem::take(&mut body.stms) {
            if stm.free().iter().all(|v| !inside.contains(v)) && self.harmless(&stm) {
                self.bind(&stm);
                stms.push(stm);
                continue;
            }
            inside.extend(stm.pat.iter().map(|p| p.var));
            match distribute::split(&stm, &inside, self.vars).filter(|(map, _)| self.harmless(map)) {
                Some((map, rest)) => {
                    self.bind(&map);
                    stms.extend([map, rest]);
                }
                None => stms.push(stm),
            }
        }
        body.stms = stms;
        self.leave(mark);
    }

    /// Takes out of a body the costly statements that use nothing bound `inside`, and what they depend on.
    fn take_invariant(&mut self, body: &mut Body, mut inside: HashSet<Var>) -> Vec<Stm> {
        self.distribute(body, inside.clone());
        let mark = self.trail.len();
        let mut candidates = vec![false; body.stms.len()];
        for (i, stm) in body.stms.iter().enumerate() {
            candidates[i] = stm.free().iter().all(|v| !inside.contains(v)) && self.harmless(stm);
            match candidates[i] {
                true => self.bind(stm),
                false => inside.extend(stm.pat.iter().map(|p| p.var)),
            }
        }
        self.leave(mark);
        // Where it is known before how often a loop repeats, its iterations are the same at all positions.
        let counts = body.stms.iter().filter_map(count_of_loop).collect();
        let wanted = wanted(&body.stms, &candidates, counts, &costs);
        take(&mut body.stms, wanted)
    }

    /// True if a statement may run where the program would not have run it.
    fn harmless(&mut self, stm: &Stm) -> bool {
        let exp = &stm.exp;
        let mark = self.trail.len();
        let ok = !exp.has_effect() && self.harmless_exp(exp, &stm.pat) && {
            self.enter(exp);
            match exp {
                Exp::If { cond, then, other } => {
                    self.harmless_arm(*cond, true, then) && self.harmless_arm(*cond, false, other)
                }
                _ => exp.bodies().into_iter().all(|b| self.harmless_body(b)),
            }
        };
        self.leave(mark);
        ok
    }

    fn harmless_body(&mut self, body: &Body) -> bool {
        let mark = self.trail.len();
        let ok = body.stms.iter().all(|s| {
            self.harmless(s) && {
                self.bind(s);
                true
            }
        });
        self.leave(mark);
        ok
    }

    /// As `harmless_body`, for an arm that is taken where a condition has this value.
    fn harmless_arm(&mut self, cond: Atom, value: bool, arm: &Body) -> bool {
        let mark = self.not_zero.len();
        let test = cond.var().and_then(|c| self.zero.get(&c));
        self.not_zero.extend(test.filter(|(_, if_zero)| *if_zero != value).map(|(x, _)| *x));
        let ok = self.harmless_body(arm);
        self.not_zero.truncate(mark);
        ok
    }

    fn harmless_exp(&self, exp: &Exp, pat: &[Param]) -> bool {
        match exp {
            Exp::Prim(op, args) => !op.divides() || args.get(1).is_some_and(|d| self.is_not_zero(*d)),
            Exp::Index(arr, indices) => self.in_bounds(*arr, indices),
            Exp::Iota(n) | Exp::Replicate(n, _) => self.is_size(*n),
            Exp::Map { width, inputs, .. }
            | Exp::Reduce { width, inputs, .. }
            | Exp::Scan { width, inputs, .. }
            | Exp::Filter { width, inputs, .. }
            | Exp::Scatter { width, inputs, .. }
            | Exp::Hist { width, inputs, .. } => !inputs.is_empty() || self.is_size(*width),
            Exp::If { .. } | Exp::Sort { .. } => true,
            Exp::Loop { form, .. } => matches!(form, LoopForm::For { .. }),
            Exp::Literal(..) | Exp::Concat(_) | Exp::Flatten(_) | Exp::Lengths(_) | Exp::Total(_) => {
                pat.iter().all(|p| self.sized(&p.ty))
            }
            Exp::Atom(_) | Exp::Check { .. } | Exp::Trace { .. } | Exp::Call(..) | Exp::Slice { .. } => false,
            Exp::Update { .. } | Exp::Unflatten(_) | Exp::MakeDesc(_) | Exp::Push(_) | Exp::Tape(_) => false,
            Exp::Accumulate(_) | Exp::Add { .. } | Exp::Accumulated(_) => false,
        }
    }

    fn sized(&self, ty: &Type) -> bool {
        ty.dims
            .iter()
            .skip(1)
            .all(|d| matches!(d, Dim::Seg(_)) || matches!(d, Dim::Size(n) if self.is_size(*n)))
    }

    fn is_not_zero(&self, a: Atom) -> bool {
        match a {
            Atom::Const(c) => c.as_i64().is_some_and(|d| d != 0),
            Atom::Var(v) => self.not_zero.contains(&v),
        }
    }

    fn is_size(&self, a: Atom) -> bool {
        match a {
            Atom::Const(c) => c.as_i64().is_some_and(|n| n >= 0),
            Atom::Var(v) => self.sizes.contains(&v),
        }
    }

    fn in_bounds(&self, arr: Var, indices: &[Atom]) -> bool {
        let Some(ty) = self.types.get(&arr) else { return false };
        ty.dims.len() >= indices.len() && ty.dims.iter().zip(indices).all(|(d, i)| self.below(*i, *d))
    }

    /// `0 <= i < d`.
    fn below(&self, i: Atom, d: Dim) -> bool {
        let Dim::Size(n) = d else { return false };
        let upper = i.var().and_then(|v| self.uppers.get(&v).copied());
        match (i.as_i64(), n.as_i64()) {
            (Some(i), Some(n)) => 0 <= i && i < n,
            (None, Some(n)) => upper.and_then(Atom::as_i64).is_some_and(|u| u <= n),
            _ => upper == Some(n),
        }
    }
}

/// Removes tables from an arm: literals of constants of which only elements are read.
fn take_tables(arm: &mut Body) -> Vec<Stm> {
    let is_table = |s: &Stm| {
        let Exp::Literal(elements, _) = &s.exp else { return false };
        let of_constants = elements.iter().all(|a| a.var().is_none());
        of_constants && reads_only(arm, s.pat[0].var, &|at| at.len() == s.pat[0].ty.rank())
    };
    let tables = arm.stms.iter().map(is_table).collect();
    take(&mut arm.stms, tables)
}

/// Candidates that cost something or are `needed`, and those they depend on.
fn wanted(
    stms: &[Stm],
    candidates: &[bool],
    mut needed: HashSet<Var>,
    costs: &dyn Fn(&Stm) -> bool,
) -> Vec<bool> {
    let mut wanted = vec![false; stms.len()];
    for (i, stm) in stms.iter().enumerate().rev() {
        if candidates[i] && (costs(stm) || stm.pat.iter().any(|p| needed.contains(&p.var))) {
            wanted[i] = true;
            needed.extend(stm.free());
        }
    }
    wanted
}

fn count_of_loop(stm: &Stm) -> Option<Var> {
    match stm.exp {
        Exp::Loop { form: LoopForm::For { bound, .. }, .. } => bound.var(),
        _ => None,
    }
}

fn costs(stm: &Stm) -> bool {
    match &stm.exp {
        Exp::Prim(op, _) => time(*op) > Time::Short,
        Exp::If { .. } | Exp::Loop { .. } | Exp::Concat(_) | Exp::Literal(..) | Exp::Flatten(_) => true,
        Exp::Sort { .. } => true,
        exp => exp.is_soac(),
    }
}
