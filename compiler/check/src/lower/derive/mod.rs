//! Derivatives: `jvp f x dx` in forward mode, and `vjp f x dy` in reverse mode ([`reverse`]).
//!
//! The function is evaluated at a copy of its argument. The statements that this makes are then gone through in their order: beside
//! each float that depends on the argument a tangent is computed, of the same type, with the same sizes and descriptors ([`forward`],
//! [`operators`], [`rules`]). What does not depend on it has no tangent, which stands for zero.
//!
//! ```text
//! jvp (\x -> x * f32.sin x) a da       x = a    s = sin x    y = x * s            dx = da
//!                                      ds = cos x * dx       dy = dx * s + x * ds
//! ```
//!
//! A function that is called gets a second version, which takes tangents behind its arguments and gives tangents behind its results;
//! its body is made at the end, when that of the first is known. Source: the rules are those of dual numbers.

mod forward;
mod operators;
mod reverse;
mod rules;

use super::build::Block;
use super::value::{Shape, Val};
use super::{Lower, R};
use forward::Forward;
use par_ir::core::{Body, Exp, Fun, FunId, Lambda, LoopForm, Param, Schedule, Stm};
use par_ir::hash::HashMap;
use par_ir::visit::{Code, Subst};
use par_ir::{Atom, Elem, Prim, Scalar, Type, Var};
use std::collections::VecDeque;

/// Versions of functions for derivatives.
#[derive(Clone, Default)]
pub(super) struct Derivatives {
    /// By the function that they are of.
    made: HashMap<(FunId, Mode), FunId>,
    /// Versions without a body yet, the first to be made first: they may be made of each other.
    open: VecDeque<(FunId, Mode)>,
    /// Functions with a derivative given by hand.
    given: HashMap<FunId, reverse::Given>,
    /// By function, for each parameter whether its adjoint is one for all calls.
    shared: HashMap<FunId, Vec<bool>>,
    /// Number of derivatives around the code that is being lowered.
    pub depth: usize,
    /// True if tapes are arrays that functions give to their callers ([`reverse`]): they have derivatives.
    joined: bool,
    /// True if the program has derivatives of tapes.
    pub of_tapes: bool,
}

impl Derivatives {
    /// No versions yet. Tapes have derivatives if they are `joined`.
    pub fn new(joined: bool) -> Derivatives {
        Derivatives { joined, ..Derivatives::default() }
    }
}

/// Kinds of versions of a function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Mode {
    /// With tangents.
    Forward,
    /// Gives a tape with its calls, for the backward sweep.
    Record,
    /// Keeps its calls on the tape of the function that it is called from.
    Push,
    /// From adjoints of the results to those of the parameters.
    Reverse,
}

impl Mode {
    /// Added to the function's name.
    fn mark(self) -> &'static str {
        match self {
            Mode::Forward => "'",
            Mode::Record => "^",
            Mode::Push => ">",
            Mode::Reverse => "*",
        }
    }
}

impl<'p> Lower<'p> {
    /// The value of a function at `x`, and its derivative in the direction `dx`.
    pub fn jvp(&mut self, f: &Val<'p>, x: &Val<'p>, dx: &Val<'p>) -> R<(Val<'p>, Val<'p>)> {
        let dx = self.like(dx, x, DIRECTION, true)?;
        let (copies, y, stms) = self.at_copy(f, x)?;
        let mut forward = Forward::default();
        for (copy, (da, p)) in copies.into_iter().zip(dx.leaves()) {
            if let (Atom::Var(copy), true) = (copy, p.is_float()) {
                forward.set(copy, da);
            }
        }
        forward.statements(self, stms)?;
        let dy = self.rebuild(&y, &mut Vec::new(), &mut Vec::new(), &mut forward)?;
        Ok((y, dy))
    }

    /// The value of a function at a copy of `x`, and the statements that compute it. The leaves of `x` come with it: floats are copied to
    /// variables of their own.
    fn at_copy(&mut self, f: &Val<'p>, x: &Val<'p>) -> R<(Vec<Atom>, Val<'p>, Vec<Stm>)> {
        if x.has_fun() {
            return Err(self.function_value("the argument of a derivative"));
        }
        let mut copies = Vec::new();
        for (a, p) in x.leaves() {
            let ty = self.leaf_type(a, p);
            copies.push(if p.is_float() { self.emit("x", ty, Exp::Atom(a)).into() } else { a });
        }
        let copy = self.with_leaves(x, copies.clone())?;
        self.derivatives.depth += 1;
        let (y, stms) = self.taken(|lo| lo.apply(f, vec![copy], None));
        self.derivatives.depth -= 1;
        let y = y?;
        if y.has_fun() {
            return Err(self.function_value("a function that is differentiated"));
        }
        Ok((copies, y, self.hoisted(stms)))
    }

    /// The statements with what is the same for all rows of a map before it: so its derivative is taken once, too.
    fn hoisted(&mut self, stms: Vec<Stm>) -> Vec<Stm> {
        let body = Body { stms, results: Vec::new() };
        let known: Vec<Param> =
            body.free().into_iter().map(|var| Param { var, ty: self.type_of(var).clone() }).collect();
        let sizes = known.iter().map(|p| p.var).filter(|v| self.facts.sizes.contains(v)).collect::<Vec<_>>();
        let (stms, types) = par_ir::hoist::within(body.stms, &known, sizes.into_iter(), &mut self.out.vars);
        self.adopt_vars(&types);
        let body = Body { stms, results: Vec::new() };
        body.place(self.scope.blocks.len() as u32 - 1, &mut self.scope.levels);
        body.stms
    }

    /// The type of a value's leaf.
    fn leaf_type(&self, a: Atom, p: Prim) -> Type {
        a.var().map_or_else(|| Type::scalar(p), |v| self.type_of(v).clone())
    }

    /// The derivative of a value of a type: its constructors are the value's.
    pub fn with_constructors(&self, dy: Val<'p>, y: &Val<'p>, shape: &Shape) -> Val<'p> {
        let all = |ds: Vec<Val<'p>>, ys: &[Val<'p>], shapes: &mut dyn Iterator<Item = &Shape>| {
            let parts = ds.into_iter().zip(ys).zip(shapes);
            parts.map(|((d, y), s)| self.with_constructors(d, y, s)).collect::<Vec<_>>()
        };
        match (dy, y, shape) {
            (Val::Array(d, elem), Val::Array(_, y), Shape::Array(_, s)) => {
                Val::Array(d, Box::new(self.with_constructors(*elem, y, s)))
            }
            (Val::Tuple(ds), Val::Tuple(ys), Shape::Tuple(ts)) => Val::Tuple(all(ds, ys, &mut ts.iter())),
            (Val::Tuple(mut ds), Val::Tuple(ys), Shape::Sum(layout)) if !ds.is_empty() => {
                let slots = all(ds.split_off(1), &ys[1..], &mut layout.slots().iter().map(|s| &s.shape));
                Val::Tuple(std::iter::once(ys[0].clone()).chain(slots).collect())
            }
            (Val::Record(ds), Val::Record(ys), Shape::Record(ts)) => {
                let fields = ds.into_iter().zip(ys).zip(ts);
                Val::Record(
                    fields.map(|(((f, d), (_, y)), (_, s))| (f, self.with_constructors(d, y, s))).collect(),
                )
            }
            (dy, ..) => dy,
        }
    }

    /// Zeros of a type.
    fn zeros(&mut self, ty: &Type) -> R<Atom> {
        let zero = Atom::Const(Scalar::zero(ty.prim()));
        if ty.is_scalar() { Ok(zero) } else { Ok(self.filled(&ty.dims, zero)?.into()) }
    }

    /// The version of a function with tangents.
    fn with_tangents(&mut self, id: FunId) -> FunId {
        self.version(id, Mode::Forward, |lo, fun| {
            for list in [&mut fun.params, &mut fun.ret] {
                let floats: Vec<Type> = list.iter().map(|p| p.ty.clone()).filter(is_float).collect();
                list.extend(floats.into_iter().map(|ty| lo.param("d", ty)));
            }
        })
    }

    /// A version of a function, made once. `change` makes its parameters and results of the function's; its body is made at the end.
    fn version(&mut self, id: FunId, mode: Mode, change: impl FnOnce(&mut Self, &mut Fun)) -> FunId {
        if let Some(made) = self.derivatives.made.get(&(id, mode)) {
            return *made;
        }
        let made = FunId(self.out.funs.len() as u32);
        let Fun { name, params, ret, span, .. } = &self.out.funs[id.0 as usize];
        let name = format!("{name}{}", mode.mark());
        let signature = Fun {
            name,
            entry: None,
            params: params.clone(),
            ret: ret.clone(),
            body: Body::default(),
            span: *span,
        };
        let mut fun = self.refreshed(&signature, &mut Subst::default());
        change(self, &mut fun);
        fun.place(0, &mut self.scope.levels);
        self.out.funs.push(fun);
        self.derivatives.made.insert((id, mode), made);
        self.derivatives.open.push_back((id, mode));
        made
    }

    /// Makes the bodies of all versions of functions.
    pub fn finish_derivatives(&mut self) -> R<()> {
        while let Some((id, mode)) = self.derivatives.open.pop_front() {
            let made = self.derivatives.made[&(id, mode)].0 as usize;
            self.scope.blocks = vec![Block::default()];
            let (fun, params) = (self.out.funs[id.0 as usize].clone(), self.out.funs[made].params.clone());
            if mode == Mode::Record && !self.derivatives.joined {
                let results = self.call_with_tape(id, &params)?;
                let block = self.scope.blocks.pop().unwrap_or_default();
                self.out.funs[made].body = Body { stms: block.stms, results };
                continue;
            }
            let mut subst: Subst =
                fun.params.iter().zip(&params).map(|(old, new)| (old.var, new.var.into())).collect();
            let body = self.refreshed(&fun.body, &mut subst);
            let results = match mode {
                Mode::Forward => self.body_with_tangents(&fun, &params, body)?,
                // It would begin a tape and push to another one.
                Mode::Push if fun.begins_tape() => return Err(self.derivative_of_tape()),
                Mode::Record | Mode::Push => self.recorded_body(body)?,
                Mode::Reverse => self.reversed_body(id, &fun, &params, body)?,
            };
            let block = self.scope.blocks.pop().unwrap_or_default();
            self.out.funs[made].body = Body { stms: block.stms, results };
        }
        Ok(())
    }

    /// Emits a function's body with tangents: its results.
    fn body_with_tangents(&mut self, fun: &Fun, params: &[Param], body: Body) -> R<Vec<Atom>> {
        let mut forward = Forward::default();
        let (given, tangents) = params.split_at(fun.params.len());
        for (p, d) in given.iter().filter(|p| is_float(&p.ty)).zip(tangents) {
            forward.set(p.var, d.var.into());
        }
        forward.statements(self, body.stms)?;
        let mut results = body.results.clone();
        for (a, p) in body.results.iter().zip(&fun.ret).filter(|(_, p)| is_float(&p.ty)) {
            results.push(forward.or_zeros(self, *a, &p.ty)?);
        }
        Ok(results)
    }

    /// Binds a variable to an array's elements at `n` positions.
    fn gather(&mut self, n: Atom, positions: Var, array: Var, p: Param) -> R<()> {
        let element = Type::scalar(p.ty.prim());
        let (block, (i, x)) = self.in_block(|lo| {
            let i = lo.param("i", Type::I64);
            let x = lo.emit("x", element.clone(), Exp::Index(array, vec![i.var.into()]));
            Ok((i, x))
        })?;
        let body = Body { stms: block.stms, results: vec![x.into()] };
        let lam = Lambda { params: vec![i], body, ret: vec![element], schedule: Schedule::Free };
        self.push(vec![p], Exp::Map { width: n, inputs: vec![positions], lam });
        Ok(())
    }

    /// Replaces variables in the known types of what code binds, as it was done in the code.
    fn substitute_types(&mut self, code: &impl Code, subst: &Subst) {
        for v in code.bound() {
            if let Some(Some(ty)) = self.scope.types.get_mut(v.0 as usize) {
                ty.substitute(subst);
            }
        }
    }

    /// A copy of code with fresh variables, whose types are known.
    pub(super) fn refreshed<C: Placed>(&mut self, code: &C, subst: &mut Subst) -> C {
        let first = self.out.vars.len();
        let copy = code.refreshed_with(&mut self.out.vars, subst);
        let names: HashMap<Var, Var> = subst
            .iter()
            .filter_map(|(old, new)| Some((new.var()?, *old)))
            .filter(|(new, _)| new.0 as usize >= first)
            .collect();
        let types = names.iter().filter_map(|(new, old)| {
            let ty = self.scope.types.get(old.0 as usize)?.as_ref()?;
            Some((*new, ty.substituted(subst)))
        });
        let types = types.collect();
        self.adopt_vars(&types);
        let level = self.scope.blocks.len() as u32 - 1;
        copy.place(level, &mut self.scope.levels);
        copy
    }
}

/// Code whose variables are bound at levels.
pub(super) trait Placed: Code {
    /// Says of all variables bound in this code at which level they are, if it stands at `level`.
    fn place(&self, level: u32, levels: &mut [u32]);
}

impl Placed for Body {
    fn place(&self, level: u32, levels: &mut [u32]) {
        for stm in &self.stms {
            stm.pat.iter().for_each(|p| levels[p.var.0 as usize] = level);
            if let Exp::Loop { params, form, .. } = &stm.exp {
                params.iter().for_each(|(p, _)| levels[p.var.0 as usize] = level + 1);
                if let LoopForm::For { index, .. } = form {
                    levels[index.0 as usize] = level + 1;
                }
            }
            stm.exp.lambdas().into_iter().for_each(|l| l.place(level + 1, levels));
            super::deep(|| stm.exp.own_bodies().into_iter().for_each(|b| b.place(level + 1, levels)));
        }
    }
}

impl Placed for Lambda {
    fn place(&self, level: u32, levels: &mut [u32]) {
        self.params.iter().for_each(|p| levels[p.var.0 as usize] = level);
        super::deep(|| self.body.place(level, levels));
    }
}

impl Placed for Fun {
    fn place(&self, _level: u32, levels: &mut [u32]) {
        self.params.iter().chain(&self.ret).for_each(|p| levels[p.var.0 as usize] = 0);
        self.body.place(0, levels);
    }
}

/// Two sizes that must be equal, for messages.
const DIRECTION: &str = "a direction and the argument it belongs to";

/// True if values of a type have tangents.
fn is_float(ty: &Type) -> bool {
    matches!(ty.elem, Elem::Prim(p) if p.is_float())
}

/// Parameters for the tangents of others.
fn tangents_of(lo: &mut Lower, params: &[Param]) -> Vec<Param> {
    params.iter().filter(|p| is_float(&p.ty)).map(|p| lo.param("d", p.ty.clone())).collect()
}
