//! Iterations of a counted loop that updates arrays in place, on groups of neighbouring iterations.
//!
//! ```text
//! loop (ys = xs) for j < n { y = ys[k + j]  z = ys[p + j]  in ys with [k + j] = y - c * z }
//!
//! if p >= k || p + n <= k                        -- no iteration reads what an earlier one has written
//!     while j + 8 <= n
//!         y = 8 of ys from k + j
//!         z = 8 of ys from p + j
//!         8 of ys from k + j = y - splat c * z
//!         j += 8
//! the iterations that are left, one after the other
//! ```
//!
//! All that an iteration reads of an array that the loop writes is one element, the same in all iterations, or the neighbour of what the iteration before
//! reads: so it is known before the loop whether groups may read before they write.

use super::affine::Affine;
use super::class::Classes;
use super::cost::Setting;
use super::{Group, Plan, State, cost, is_pure};
use crate::cpu::emit::{Emitter, Ends, Iteration, Result};
use crate::cpu::fresh::Fresh;
use cranelift::prelude::*;
use par_ir::access::{Access, Facts};
use par_ir::core::{At, Body, Exp, LoopForm, Repeat, Stm};
use par_ir::ty::Atom;
use par_ir::visit::Code;
use par_ir::{Prim, Var};

/// A loop whose iterations may be done in groups.
pub struct Iterations {
    index: Var,
    plan: Plan,
    /// The loop's arrays.
    arrays: Vec<Var>,
    /// The elements that are written, by the indices of the first iteration.
    writes: Vec<Atom>,
    reads: Vec<Read>,
    /// Computes these indices.
    indices: Vec<Stm>,
}

/// An element of one of the loop's arrays that an iteration reads.
struct Read {
    array: usize,
    index: Atom,
    /// It is the same in all iterations.
    fixed: bool,
}

/// Plan of a loop's iterations in groups. `None`: groups are not legal or do not pay.
pub fn iterations(of: Repeat, fresh: &Fresh, width: usize) -> Option<Iterations> {
    let Repeat { params, form, body } = of;
    let LoopForm::For { index, prim: Prim::I64, .. } = form else { return None };
    if params.is_empty() || params.iter().any(|(p, _)| p.ty.is_scalar()) {
        return None;
    }
    let arrays: Vec<Var> = params.iter().map(|(p, _)| p.var).collect();
    let states: Vec<Option<Var>> = arrays.iter().copied().map(Some).collect();
    let body = without_updates(&states, body).filter(is_pure)?;
    let none = Facts::default();
    let access = Access::along(*index, &body, &none);
    let mut affine = Affine::new(&access, *index, fresh);
    let writes = body.results.iter().step_by(2).map(|a| affine.growing(*a, 1)).collect::<Option<_>>()?;
    let reads = reads(&arrays, &body, &mut affine)?;
    let indices = affine.stms;
    let bodies = [&body];
    let classes = |indices| Classes::new((*index, 1), &body, indices);
    let (classes, size) = cost::choose(classes, &bodies, Setting::of_map(width))?;
    let plan = Plan::new((classes, size), &bodies);
    Some(Iterations { index: *index, plan, arrays, writes, reads, indices })
}

/// The body with an index and a value as results in place of each version of a `state`, if all that it does to these is one update each.
pub fn without_updates(states: &[Option<Var>], body: &Body) -> Option<Body> {
    let (mut results, mut versions) = (Vec::new(), Vec::new());
    for (state, last) in states.iter().zip(&body.results) {
        let Some(state) = state else {
            results.push(*last);
            continue;
        };
        let update = body.stms.iter().find(|s| s.pat.iter().any(|p| Atom::Var(p.var) == *last))?;
        let Exp::Update { arr, at, value } = &update.exp else { return None };
        if arr != state {
            return None;
        }
        results.extend([At::only_indices(at)?[0], *value]);
        versions.push(update.pat[0].var);
    }
    let stays = |s: &&Stm| !s.pat.iter().any(|p| versions.contains(&p.var));
    let body = Body { stms: body.stms.iter().filter(stays).cloned().collect(), results };
    versions.iter().all(|v| !body.mentions(*v)).then_some(body)
}

/// Reads of an iteration from the updated arrays, other than of the elements that it writes; none if the indices of one are not known before the loop.
fn reads(arrays: &[Var], body: &Body, affine: &mut Affine) -> Option<Vec<Read>> {
    let (mut found, mut all_known) = (Vec::new(), true);
    for_each_read(body, &mut |arr, index| {
        let Some(array) = arrays.iter().position(|a| *a == arr) else { return };
        if index == body.results[2 * array] {
            return;
        }
        let index = [(0, true), (1, false)]
            .into_iter()
            .find_map(|(growth, fixed)| Some(Read { array, index: affine.growing(index, growth)?, fixed }));
        all_known &= index.is_some();
        found.extend(index);
    });
    all_known.then_some(found)
}

fn for_each_read(body: &Body, f: &mut dyn FnMut(Var, Atom)) {
    for stm in &body.stms {
        if let Exp::Index(arr, index) = &stm.exp {
            f(*arr, index[0]);
        }
        stm.exp.for_each_body(|b| for_each_read(b, f));
    }
}

impl Emitter<'_> {
    /// Whole groups of iterations from `start` on; where they end. `single` is one iteration.
    pub fn iterations(
        &mut self,
        iterations: &Iterations,
        (start, end): Ends,
        single: impl Iteration<Self> + Copy,
    ) -> Result<Value> {
        let limit = match self.may_group(iterations, start, end)? {
            Some(may) => self.b.ins().select(may, end, start),
            None => end,
        };
        let mut at = start;
        for plan in [Some(&iterations.plan), iterations.plan.shorter().as_ref()].into_iter().flatten() {
            let group = |group: &mut Group<'_, '_>, i: Value, _: &[Value], _: &[Value]| {
                group.iteration(iterations, i)
            };
            (at, _) = self.groups(plan, (at, limit), (&[], &[]), group, single, |_, _, _| Ok(vec![]))?;
        }
        Ok(at)
    }

    /// Run-time condition: iterations are independent, since none reads an element that an earlier one writes. None if that is known.
    fn may_group(&mut self, iterations: &Iterations, start: Value, end: Value) -> Result<Option<Value>> {
        if iterations.reads.is_empty() {
            return Ok(None);
        }
        self.bound.scalars.insert(iterations.index, start);
        self.stms(&iterations.indices)?;
        let count = self.b.ins().isub(end, start);
        let mut all = None;
        for read in &iterations.reads {
            let write = self.atom(&iterations.writes[read.array])?;
            let from = self.atom(&read.index)?;
            let (below, above) = if read.fixed {
                let last = self.b.ins().iadd(write, count);
                let below = self.b.ins().icmp(IntCC::SignedLessThan, from, write);
                (below, self.b.ins().icmp(IntCC::SignedGreaterThanOrEqual, from, last))
            } else {
                let last = self.b.ins().iadd(from, count);
                let below = self.b.ins().icmp(IntCC::SignedLessThanOrEqual, last, write);
                (below, self.b.ins().icmp(IntCC::SignedGreaterThanOrEqual, from, write))
            };
            let apart = self.b.ins().bor(below, above);
            all = Some(all.map_or(apart, |others| self.b.ins().band(others, apart)));
        }
        Ok(all)
    }
}

impl Group<'_, '_> {
    /// The iterations from `i` on.
    fn iteration(&mut self, iterations: &Iterations, i: Value) -> Result<State> {
        let results = self.results(iterations.index, i, self.step)?;
        for (array, update) in iterations.arrays.iter().zip(results.chunks_exact(2)) {
            let base = self.e.bound.arrays[array];
            self.replace(base, &update[0], &update[1]);
        }
        Ok(State::default())
    }
}
