//! Counted loops that combine elements, on groups of neighbouring iterations.
//!
//! ```text
//! loop (i, m) = (0, m0) for j < n {            while j + 16 <= n
//!     x = xs[k + j]                                x = 16 of xs from k + j
//!     better = x > m                    ==>        leave the group unless (x > splat m) in no lane
//!     i = select better j i                        j += 16
//!     m = select better x m }                  the iterations that are left, one after the other
//! ```
//!
//! Only what gives the same bits in any order: sums of integers, extrema, and what elements mostly leave as it is ([`super::operator`]). A sum of floats is in the
//! order of the iterations.

use super::class::{Class, Classes, Indices};
use super::cost::{self, BYTES, Setting};
use super::operator::{Part, Reduction};
use super::reduce::{Accumulators, prims};
use super::{Group, Plan, is_pure};
use crate::cpu::absorbing;
use crate::cpu::emit::{Emitter, Ends, Iteration, Result, Values};
use crate::cpu::fresh::Fresh;
use cranelift::prelude::*;
use par_ir::core::{Body, Exp, Lambda, LoopForm, Param, Repeat, Schedule, Stm};
use par_ir::effects::Effects;
use par_ir::flat::{Kernel, KernelKind};
use par_ir::hash::HashSet;
use par_ir::prim::{BinOp, PrimOp};
use par_ir::tuning;
use par_ir::ty::{Atom, Type};
use par_ir::visit::{Code, Subst};
use par_ir::{Prim, Var};
use std::rc::Rc;

/// A loop whose iterations may be done in groups.
pub struct Folds {
    index: Var,
    plan: Plan,
    reduction: Rc<Reduction>,
    prims: Vec<Prim>,
}

/// Plan of a loop's iterations in groups. `None`: groups are not legal or do not pay.
pub fn folds(of: Repeat, fresh: &Fresh, width: usize) -> Option<Folds> {
    let Repeat { params, form, body } = of;
    let LoopForm::For { index, prim: Prim::I64, .. } = form else { return None };
    if params.is_empty() || params.iter().any(|(p, _)| !p.ty.is_scalar()) || !is_pure(body) {
        return None;
    }
    let (elements, op) = split(params, *index, body, fresh)?;
    let reduction = Reduction::new(&op)?;
    if !is_exact(&reduction) {
        return None;
    }
    let combined = reduction.body(&op);
    let setting = Setting {
        waits: if reduction.is_own() { 1 } else { tuning::LANES_CHAIN },
        is_exact: reduction.is_own() && op.ret.iter().all(|t| !t.prim().is_float()),
        ..Setting::of_map(width)
    };
    let classes = |indices| {
        let classes = Classes::new((*index, 1), &elements, indices);
        classes.with_operator(&op, &reduction.kept(), &combined, &elements)
    };
    let (classes, size) = cost::choose(classes, &[&elements, &combined], setting)?;
    let (prims, reduction) = (prims(&op), Rc::new(reduction));
    let plan = Plan::new((classes, size), &[&elements, &combined]);
    let absorbing = absorbing::of_operator(&op, &elements);
    let plan = Plan { reduction: Some(reduction.clone()), absorbing, ..plan };
    Some(Folds { index: *index, plan, reduction, prims })
}

/// True if the loops of a map go along rows, which lanes would gather from, and are done in groups where positions are done one by one.
pub fn along_rows(kernel: &Kernel, fresh: &Fresh) -> bool {
    let across = Classes::new((kernel.pos, 1), &kernel.body, Indices::InVectors);
    let is_along = |s: &Stm| {
        let Exp::Loop { params, form, body } = &s.exp else { return s.exp.own_bodies().is_empty() };
        let LoopForm::For { index, bound, .. } = form else { return false };
        let along = Classes::new((*index, 1), body, Indices::InVectors);
        let mut reads = Vec::new();
        body.stms.iter().filter_map(index_of).for_each(|i| reads.push((across.atom(&i), along.atom(&i))));
        let pays = |(across, along): &(Class, Class)| *across == Class::Each && *along == Class::Steps(1);
        let loses = |(across, along): &(Class, Class)| *across != Class::Each && *along == Class::Each;
        bound.as_i64().is_none_or(|n| n >= tuning::LANES_ROW)
            && reads.iter().any(pays)
            && !reads.iter().any(loses)
            && folds(Repeat { params, form, body }, fresh, BYTES).is_some()
    };
    let has_loop = kernel.body.stms.iter().any(|s| matches!(s.exp, Exp::Loop { .. }));
    matches!(kernel.kind, KernelKind::Map(_)) && has_loop && kernel.body.stms.iter().all(is_along)
}

/// Of a read.
fn index_of(stm: &Stm) -> Option<Atom> {
    if let Exp::Index(_, index) = &stm.exp { index.first().copied() } else { None }
}

/// True if results are the same bits in any order.
fn is_exact(reduction: &Reduction) -> bool {
    !reduction.in_order
        && reduction.parts.iter().all(|p| match p {
            Part::Own(_, lane) => !lane.prim.is_float() || matches!(lane.op, BinOp::Min | BinOp::Max),
            Part::Kept(_) => true,
            Part::Together(_) => false,
        })
}

/// The elements, which an iteration computes without the state, and the operator that combines them with the state.
fn split(params: &[(Param, Atom)], index: Var, body: &Body, fresh: &Fresh) -> Option<(Body, Lambda)> {
    let mut state: HashSet<Var> = params.iter().map(|(p, _)| p.var).collect();
    let (mut elements, mut op) = (Vec::new(), Vec::new());
    for stm in &body.stms {
        if !stm.free().iter().any(|v| state.contains(v)) {
            elements.push(stm.clone());
            continue;
        }
        if !matches!(stm.exp, Exp::Prim(..) | Exp::Atom(_)) || stm.has_effect() {
            return None;
        }
        state.insert(stm.pat[0].var);
        op.push(stm.clone());
    }
    let taken = |(p, _): &(Param, Atom), result: &Atom| -> Option<(usize, Atom)> {
        let at = op.iter().position(|s| Atom::Var(s.pat[0].var) == *result)?;
        let Exp::Prim(PrimOp::Bin(..) | PrimOp::Select(_), xs) = &op[at].exp else { return None };
        let (a, b) = (xs[xs.len() - 2], xs[xs.len() - 1]);
        let x = match Atom::Var(p.var) {
            state if state == a => b,
            state if state == b => a,
            _ => return None,
        };
        x.var().is_none_or(|v| !state.contains(&v)).then_some((at, x))
    };
    let found: Vec<(usize, Atom)> =
        params.iter().zip(&body.results).map(|(p, r)| taken(p, r)).collect::<Option<_>>()?;
    let element = |p: &Param| Param { var: fresh.var("element"), ty: p.ty.clone() };
    let ys: Vec<Param> = params.iter().map(|(p, _)| element(p)).collect();
    let mut named = Subst::default();
    for ((_, x), y) in found.iter().zip(&ys).rev() {
        named.extend(x.var().map(|v| (v, Atom::Var(y.var))));
    }
    let mut stms = op.substituted(&named);
    for ((at, x), y) in found.iter().zip(&ys) {
        let own = x.var().map(|v| (v, Atom::Var(y.var)));
        stms[*at] = op[*at].substituted(&named.iter().map(|(v, a)| (*v, *a)).chain(own).collect());
        x.var()?;
    }
    let inside: HashSet<Var> = elements.iter().flat_map(|s: &Stm| s.bound()).chain([index]).collect();
    if stms.iter().any(|s| s.free().iter().any(|v| inside.contains(v))) {
        return None;
    }
    let xs = params.iter().map(|(p, _)| p.clone());
    let ret: Vec<Type> = ys.iter().map(|y| y.ty.clone()).collect();
    let op = Lambda {
        params: xs.chain(ys).collect(),
        body: Body { stms, results: body.results.clone() },
        ret,
        schedule: Schedule::Free,
    };
    Some((Body { stms: elements, results: found.into_iter().map(|(_, x)| x).collect() }, op))
}

impl<'a> Emitter<'a> {
    /// Whole groups of iterations from `start` on: where they end, and the state there. `single` is one iteration.
    pub fn fold_iterations(
        &mut self,
        folds: &Folds,
        (start, end): Ends,
        state: &[Value],
        single: impl Iteration<Self> + Copy,
    ) -> Result<(Value, Values)> {
        let Folds { index, plan, reduction, prims } = folds;
        let identities = self.identities(plan, reduction, state);
        self.groups(
            plan,
            (start, end),
            (&identities, state),
            |group: &mut Group<'_, 'a>, i, lanes, state| {
                let xs = group.results(*index, i, 1)?;
                let acc = Accumulators { lanes, scalars: state };
                Ok((group.reduced(reduction, xs, &acc)?, state.to_vec()))
            },
            single,
            |group, lanes, state| group.fold(reduction, prims, Accumulators { lanes, scalars: state }),
        )
    }
}
