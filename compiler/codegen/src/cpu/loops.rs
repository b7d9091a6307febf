//! Loops inside kernel bodies.

use super::absorbing;
use super::chains::chains;
use super::emit::{Emitter, Ends, Result, Values, args};
use super::invariant::counter_check;
use super::lanes::{self, Segments};
use crate::work;
use cranelift::prelude::*;
use par_ir::core::{Body, Exp, LoopForm, Param, Repeat, Stm};
use par_ir::hash::HashSet;
use par_ir::prim::{BinOp, PrimOp};
use par_ir::ty::Atom;
use par_ir::visit::Code as _;
use par_ir::{Prim, Scalar, Var, tuning};

/// A counted loop, and how its iterations run.
struct Counted<'l> {
    of: Repeat<'l>,
    index: Var,
    less: IntCC,
    /// The counter has 32 bits, but is counted in 64.
    is_widened: bool,
    /// Parts of the range in which the body is another one.
    segments: Option<Segments>,
}

impl Counted<'_> {
    /// The counter and the state.
    fn varies(&self) -> HashSet<Var> {
        self.of.params.iter().map(|(p, _)| p.var).chain([self.index]).collect()
    }
}

/// Scalars among a loop's parameters. The others are arrays, all versions of which are in one place.
pub fn scalars(params: &[(Param, Atom)]) -> impl Iterator<Item = &(Param, Atom)> {
    params.iter().filter(|(p, _)| p.ty.is_scalar())
}

/// A condition that is decided by a flag, or by what comes after it: `if flag then rest else false`, or `if flag then true else rest`.
struct Choice<'b> {
    before: &'b [Stm],
    flag: Atom,
    /// The value of a condition that is decided.
    decided: bool,
    rest: &'b Body,
}

impl<'b> Choice<'b> {
    fn of(cond: &'b Body) -> Option<Choice<'b>> {
        let (last, before) = cond.stms.split_last()?;
        let Exp::If { cond: flag, then, other, .. } = &last.exp else { return None };
        let is_result = last.pat.len() == 1 && cond.results[0].var() == Some(last.pat[0].var);
        let always = |b: &Body, x: bool| b.stms.is_empty() && b.results == [Atom::Const(Scalar::Bool(x))];
        let (decided, rest) = match () {
            () if always(other, false) => (false, then),
            () if always(then, true) => (true, other),
            () => return None,
        };
        is_result.then_some(Choice { before, flag: *flag, decided, rest })
    }
}

/// The parts of a condition, all of which must hold.
fn conjuncts(cond: &Body, flag: &Atom) -> Vec<Atom> {
    let defines = |s: &&Stm| flag.var().is_some_and(|v| s.pat.len() == 1 && s.pat[0].var == v);
    match cond.stms.iter().find(defines).map(|s| &s.exp) {
        Some(Exp::Prim(PrimOp::Bin(BinOp::And, Prim::Bool), xs)) => {
            xs.iter().flat_map(|x| conjuncts(cond, x)).collect()
        }
        _ => vec![*flag],
    }
}

/// True if there is a loop in a body.
pub fn has_loop(body: &Body) -> bool {
    let inside = |s: &Stm| matches!(s.exp, Exp::Loop { .. }) || s.exp.own_bodies().into_iter().any(has_loop);
    body.stms.iter().any(inside)
}

impl<'a> Emitter<'a> {
    /// The final values of a loop's scalars.
    pub fn loop_stm(&mut self, of: Repeat) -> Result<Values> {
        let mut used = of.body.free();
        if let LoopForm::While(cond) = of.form {
            used.extend(cond.free());
        }
        self.with_in_registers(&used, |e| e.repeat(of))
    }

    fn repeat(&mut self, of: Repeat) -> Result<Values> {
        let Repeat { params, form, body } = of;
        for (p, x) in params.iter().filter(|(p, _)| !p.ty.is_scalar()) {
            self.same_place(p.var, x)?;
        }
        let initial: Vec<Value> = scalars(params).map(|(_, x)| self.atom(x)).collect::<Result<_>>()?;
        self.bound.prims.extend(scalars(params).map(|(p, _)| (p.var, p.ty.prim())));
        let (index, prim, bound) = match form {
            LoopForm::For { index, prim, bound } => (*index, *prim, self.atom(bound)?),
            LoopForm::While(cond) => return self.while_loop(of, cond, &initial),
        };
        self.bound.prims.insert(index, prim);
        let zero = self.constant(Scalar::zero(prim));
        // One position may be all there is, so that nothing else would ever ask whether the run was cancelled.
        let asks = !self.bound.owned.is_empty() && prim.size() >= 4 && !has_loop(body);
        let less = if prim.is_signed() { IntCC::SignedLessThan } else { IntCC::UnsignedLessThan };
        let is_widened = asks && prim.size() == 4;
        let segments = Segments::of_loop(self, of).filter(|_| !self.counting);
        let counted = Counted { of, index, less, is_widened, segments };
        match asks {
            true => self.polling_loop(&counted, prim, bound, &initial),
            false => self.counted_loop(&counted, (zero, bound), &initial),
        }
    }

    fn bind_state(&mut self, params: &[(Param, Atom)], xs: &[Value]) {
        self.bound.scalars.extend(scalars(params).map(|(p, _)| p.var).zip(xs.iter().copied()));
    }

    /// The iterations of a range, in segments if there are such.
    fn counted_loop(&mut self, counted: &Counted, ends: Ends, state: &[Value]) -> Result<Values> {
        match &counted.segments {
            Some(segments) => {
                self.segments(segments, ends, &mut |e, body, ends, in_groups| {
                    e.straight_loop(counted, body, ends, &[], in_groups).map(|_| ())
                })?;
                Ok(vec![])
            }
            None => self.straight_loop(counted, counted.of.body, ends, state, true),
        }
    }

    /// The iterations of a range with this body: first in groups, if they can be, then one by one.
    fn straight_loop(
        &mut self,
        counted: &Counted,
        body: &Body,
        (first, end): Ends,
        state: &[Value],
        in_groups: bool,
    ) -> Result<Values> {
        let Counted { of, index, less, is_widened, .. } = counted;
        let of = Repeat { body, ..*of };
        if !self.counting
            && *less == IntCC::SignedLessThan
            && let Some((check, rest)) = counter_check(body, *index)
        {
            return self.guarded(*less, (first, end), state, |e| {
                e.check_counter(&check, end)?;
                e.straight_loop(counted, &rest, (first, end), state, in_groups)
            });
        }
        let in_groups = in_groups && !self.counting;
        let groups = lanes::iterations(of, self.fresh, self.width).filter(|_| in_groups);
        let folds = lanes::folds(of, self.fresh, self.width).filter(|_| in_groups);
        if groups.is_none()
            && folds.is_none()
            && let Some((before, body)) = self.invariant(body, counted.varies())
        {
            return self.guarded(*less, (first, end), state, |e| {
                e.stms(&before)?;
                e.straight_loop(counted, &body, (first, end), state, false)
            });
        }
        let chains = match folds {
            Some(_) => vec![false; state.len()],
            None => chains(of.params, body),
        };
        let iteration = |e: &mut Self, i: Value, state: &[Value]| {
            let i = if *is_widened { e.b.ins().ireduce(types::I32, i) } else { i };
            e.bound.scalars.insert(*index, i);
            let state = e.first_lanes(state, &chains);
            e.bind_state(of.params, &state);
            let next = e.inner(body)?;
            Ok(e.vectors_of(&next, &chains))
        };
        let (rest, state) = match (groups, folds) {
            (Some(groups), _) => (self.iterations(&groups, (first, end), iteration)?, state.to_vec()),
            (None, Some(folds)) => self.fold_iterations(&folds, (first, end), state, iteration)?,
            (None, None) => (first, self.vectors_of(state, &chains)),
        };
        let absorbing = self.absorbing(of);
        let last = self.counted_until(absorbing, (1, *less), (rest, end), &state, iteration)?;
        Ok(self.first_lanes(&last, &chains))
    }

    /// A loop with what stands before it, if there are iterations; the final state.
    fn guarded(
        &mut self,
        less: IntCC,
        (first, end): Ends,
        state: &[Value],
        all: impl FnOnce(&mut Self) -> Result<Values>,
    ) -> Result<Values> {
        let (some, exit) = (self.b.create_block(), self.b.create_block());
        let last = self.params_like(exit, state);
        let enter = self.b.ins().icmp(less, first, end);
        self.b.ins().brif(enter, some, &[], exit, &args(state));
        self.b.switch_to_block(some);
        let results = all(self)?;
        self.b.ins().jump(exit, &args(&results));
        self.b.switch_to_block(exit);
        Ok(last)
    }

    /// A counted loop that asks after some iterations whether the run was cancelled. It is counted in 64 bits, where a few iterations too
    /// many are no overflow.
    fn polling_loop(
        &mut self,
        counted: &Counted,
        prim: Prim,
        bound: Value,
        initial: &[Value],
    ) -> Result<Values> {
        let (many, zero) = (tuning::CANCEL_ITERATIONS, self.i64(0));
        let bound = match (counted.is_widened, prim.is_signed()) {
            (true, true) => self.b.ins().sextend(types::I64, bound),
            (true, false) => self.b.ins().uextend(types::I64, bound),
            _ => bound,
        };
        let absorbing = self.absorbing(counted.of);
        self.counted_until(absorbing, (many, counted.less), (zero, bound), initial, |e, first, state| {
            let left = e.b.ins().isub(bound, first);
            let is_more = e.b.ins().icmp_imm_u(IntCC::UnsignedGreaterThan, left, many);
            let next = e.b.ins().iadd_imm_s(first, many);
            let end = e.b.ins().select(is_more, next, bound);
            e.counted_loop(counted, (first, end), state)
        })
    }

    /// The absorbing value of a loop's only variable. None where operations are counted: all iterations are.
    fn absorbing(&self, of: Repeat) -> Option<bool> {
        if self.counting { None } else { absorbing::of_loop(of.params, of.body) }
    }

    fn while_loop(&mut self, of: Repeat, cond: &Body, initial: &[Value]) -> Result<Values> {
        let (again, exit) = (self.b.create_block(), self.b.create_block());
        let state = self.params_like(again, initial);
        let last = self.params_like(exit, initial);
        self.bind_state(of.params, initial);
        self.go_on_while(cond, (again, exit), initial)?;
        self.b.switch_to_block(again);
        self.bind_state(of.params, &state);
        let next = self.inner(of.body)?;
        self.nest.loops += 1;
        self.poll();
        self.bind_state(of.params, &next);
        self.go_on_while(cond, (again, exit), &next)?;
        self.b.switch_to_block(exit);
        Ok(last)
    }

    /// Goes on with `again` if a condition holds, and with `exit` if it does not, with a branch for each part of it: one that does
    /// not wait for numbers of the iteration tells the processor early that the loop ends, and what comes after it begins meanwhile.
    fn go_on_while(&mut self, cond: &Body, (again, exit): (Block, Block), state: &[Value]) -> Result {
        self.count(work::of_body(cond));
        let Some(choice) = Choice::of(cond) else {
            self.stms(&cond.stms)?;
            let mut parts = conjuncts(cond, &cond.results[0]);
            let last = parts.pop().unwrap_or(cond.results[0]);
            self.require(&parts, exit, state)?;
            let flag = self.atom(&last)?;
            self.b.ins().brif(flag, again, &args(state), exit, &args(state));
            return Ok(());
        };
        self.stms(choice.before)?;
        if choice.decided {
            let (flag, next) = (self.atom(&choice.flag)?, self.b.create_block());
            self.b.ins().brif(flag, again, &args(state), next, &[]);
            self.b.switch_to_block(next);
        } else {
            self.require(&conjuncts(cond, &choice.flag), exit, state)?;
        }
        self.go_on_while(choice.rest, (again, exit), state)
    }

    /// Branches to `exit` unless all flags are set.
    fn require(&mut self, flags: &[Atom], exit: Block, state: &[Value]) -> Result {
        for flag in flags {
            let flag = self.atom(flag)?;
            self.go_on_if(flag, exit, state);
        }
        Ok(())
    }
}
