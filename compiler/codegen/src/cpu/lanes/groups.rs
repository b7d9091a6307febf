//! The loop over groups of positions: whole groups, what is left of a row, and single positions where a group is left.

use super::operator::Reduction;
use super::{Group, Here, Kept, Leaving, Machine, Plan, State};
use crate::cpu::emit::{Emitter, Ends, Iteration, Result, Values, args};
use cranelift::prelude::*;
use par_ir::{Atom, tuning};

impl<'a> Emitter<'a> {
    /// Whole groups from `start`: where they end, and the state there. `group` does one, from a state in lanes and a scalar one to the next;
    /// `single` does one position, from a scalar state to the next; at the end `finish` brings the lanes into the scalars.
    #[allow(clippy::too_many_arguments)]
    pub fn groups(
        &mut self,
        plan: &Plan,
        (start, end): Ends,
        (in_lanes, state): (&[Value], &[Value]),
        group: impl Fn(&mut Group<'_, 'a>, Value, &[Value], &[Value]) -> Result<State>,
        single: impl Iteration<Self>,
        finish: impl FnOnce(&mut Group<'_, 'a>, &[Value], &[Value]) -> Result<Values>,
    ) -> Result<(Value, Values)> {
        let limit = self.limit(plan, start, end)?;
        let [again, alone, next, done, after] = [(); 5].map(|()| self.b.create_block());
        let split = in_lanes.len();
        let all = [&[start], in_lanes, state].concat();
        let outside = [&[start], state].concat();
        let before = self.begin_loop();
        let here = self.params_like(again, &all);
        let left = self.params_like(done, &all);
        let results = self.params_like(after, &outside);
        let enter = self.b.ins().icmp(IntCC::SignedLessThan, start, limit);
        if plan.has_rest {
            let short = self.b.create_block();
            self.b.ins().brif(enter, again, &args(&all), short, &[]);
            self.b.switch_to_block(short);
            let any = self.b.ins().icmp(IntCC::SignedLessThan, start, end);
            self.b.ins().brif(any, done, &args(&all), after, &args(&outside));
        } else {
            self.b.ins().brif(enter, again, &args(&all), after, &args(&outside));
        }

        self.b.switch_to_block(again);
        let following = self.params_like(next, &all);
        let polls = self.whole(plan, (start, &here, split), [alone, next], &group, single)?;

        self.b.switch_to_block(next);
        if polls {
            self.poll();
        }
        self.nest.loops += 1;
        let repeat = self.b.ins().icmp(IntCC::SignedLessThan, following[0], limit);
        let repeat = self.lanes(plan, alone).none_absorbed(plan.absorbing, repeat, &following[1..=split]);
        if plan.overlaps {
            let short = self.b.create_block();
            self.b.ins().brif(repeat, again, &args(&following), short, &[]);
            self.b.switch_to_block(short);
            self.overlap(&following, (start, end, limit), (again, done));
        } else {
            self.b.ins().brif(repeat, again, &args(&following), done, &args(&following));
        }

        self.nest.inside = before;
        self.b.switch_to_block(done);
        let left = if plan.has_rest { self.rest(plan, end, &left, split, group)? } else { left };
        let mut lanes = self.lanes(plan, alone);
        let state = finish(&mut lanes, &left[1..=split], &left[1 + split..])?;
        let values = [&[left[0]], &state[..]].concat();
        self.b.ins().jump(after, &args(&values));
        self.b.switch_to_block(after);
        Ok((results[0], results[1..].to_vec()))
    }

    /// One whole group, and its positions one by one in the block `alone` if it is left: either comes to `next` with what follows `here`. True
    /// if a group takes a while, as loops in it do.
    fn whole(
        &mut self,
        plan: &Plan,
        (start, here, split): (Value, &[Value], usize),
        [alone, next]: [Block; 2],
        group: impl Fn(&mut Group<'_, 'a>, Value, &[Value], &[Value]) -> Result<State>,
        single: impl Iteration<Self>,
    ) -> Result<bool> {
        let (n, inside) = (plan.positions(), self.nest.loops);
        let (pos, lanes_here, state_here) = (here[0], &here[1..=split], &here[1 + split..]);
        let mut lanes = self.lanes(plan, alone);
        let (lanes_next, state_next) = group(&mut lanes, pos, lanes_here, state_here)?;
        let leaves = lanes.leaving.leaves;
        let polls = self.nest.loops > inside;
        let pos_next = self.b.ins().iadd_imm_s(pos, n);
        let values = [&[pos_next], &lanes_next[..], &state_next].concat();
        self.b.ins().jump(next, &args(&values));

        self.b.switch_to_block(alone);
        let (stop, state) = if leaves {
            self.b.set_cold_block(alone);
            let may_shift = split == 0 && plan.least() == 1;
            let stop = self.resumption(pos, start, n, may_shift);
            (stop, self.counted((pos, stop), state_here, single)?)
        } else {
            // Nothing comes here.
            (pos, state_here.to_vec())
        };
        let values = [&[stop], lanes_here, &state[..]].concat();
        self.b.ins().jump(next, &args(&values));
        Ok(polls)
    }

    /// Positions that are left from `here[0]` on, in one more group, which overlaps the one before.
    fn overlap(
        &mut self,
        here: &[Value],
        (start, end, limit): (Value, Value, Value),
        (again, done): (Block, Block),
    ) {
        let last = self.b.ins().iadd_imm_s(limit, -1);
        let is_left = self.b.ins().icmp(IntCC::SignedLessThan, here[0], end);
        // A group that was left goes on behind its first position, and so would not come to an end where it is the only one.
        let is_another = self.b.ins().icmp(IntCC::SignedGreaterThan, last, start);
        let overlaps = self.b.ins().band(is_left, is_another);
        let back = [&[last], &here[1..]].concat();
        self.b.ins().brif(overlaps, again, &args(&back), done, &args(here));
    }

    /// The last positions of a row as a group under a mask, if there are any: where they end and the state there, or as they were if the
    /// group is left. More than a group are left where there were no groups at all ([`Self::limit`]): they are not for a mask.
    fn rest(
        &mut self,
        plan: &Plan,
        end: Value,
        before: &[Value],
        split: usize,
        group: impl Fn(&mut Group<'_, 'a>, Value, &[Value], &[Value]) -> Result<State>,
    ) -> Result<Values> {
        let [some, alone, after] = [(); 3].map(|()| self.b.create_block());
        let joined = self.params_like(after, before);
        let count = self.b.ins().isub(end, before[0]);
        let last = self.b.ins().iadd_imm_s(count, -1);
        let few = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, last, plan.positions() - 1);
        self.b.ins().brif(few, some, &[], after, &args(before));
        self.b.switch_to_block(some);
        let mut lanes = self.lanes(plan, alone);
        lanes.only(count);
        let (lanes_next, state_next) =
            group(&mut lanes, before[0], &before[1..=split], &before[1 + split..])?;
        let values = [&[end], &lanes_next[..], &state_next].concat();
        self.b.ins().jump(after, &args(&values));
        self.b.switch_to_block(alone);
        self.b.set_cold_block(alone);
        self.b.ins().jump(after, &args(before));
        self.b.switch_to_block(after);
        Ok(joined)
    }

    /// Up to where positions of a group that was left are done by themselves. If it is the first, most likely only its first position is
    /// an edge; but lanes with accumulators take in elements by their number.
    fn resumption(&mut self, pos: Value, start: Value, n: i64, may_shift: bool) -> Value {
        let stop = self.b.ins().iadd_imm_s(pos, n);
        if !may_shift {
            return stop;
        }
        let second = self.b.ins().iadd_imm_s(pos, 1);
        let is_first = self.b.ins().icmp(IntCC::Equal, pos, start);
        self.b.ins().select(is_first, second, stop)
    }

    /// Accumulators in lanes before the first group.
    pub fn identities(&mut self, plan: &Plan, reduction: &Reduction, neutral: &[Value]) -> Vec<Value> {
        let nowhere = self.b.current_block().expect("code is emitted into a block");
        self.lanes(plan, nowhere).identities(reduction, neutral)
    }

    /// Code for one group, which is left to another block.
    pub fn group<T>(&mut self, plan: &Plan, alone: Block, code: impl FnOnce(&mut Group<'_, 'a>) -> T) -> T {
        code(&mut self.lanes(plan, alone))
    }

    fn lanes<'s>(&'s mut self, plan: &'s Plan, alone: Block) -> Group<'s, 'a> {
        self.widths.insert(plan.size.bytes);
        let flags = self.module.isa().isa_flags();
        let has = |name: &str| flags.iter().any(|f| f.name == name && f.as_bool() == Some(true));
        let is_x86 = cfg!(target_arch = "x86_64");
        let machine = Machine {
            blends: has("has_sse41"),
            lacks_avx: is_x86 && !has("has_avx"),
            shuffles: !is_x86 || has("has_ssse3"),
        };
        Group {
            e: self,
            classes: &plan.classes,
            used: &plan.used,
            body: &plan.body,
            lanes: plan.size.lanes,
            bytes: plan.size.bytes,
            step: plan.step(),
            kept: Kept::default(),
            here: Here::default(),
            machine,
            leaving: Leaving::default(),
            longest: None,
            alone,
        }
    }

    /// Groups begin below this position: none, if parts are too large, or if what divides positions is so short that they would leave all the time.
    fn limit(&mut self, plan: &Plan, start: Value, end: Value) -> Result<Value> {
        let mut limit = self.b.ins().iadd_imm_s(end, 1 - plan.positions());
        if plan.least() > 1 {
            let last = self.b.ins().iadd_imm_s(end, -plan.least() * plan.positions());
            let many = self.b.ins().icmp(IntCC::SignedLessThanOrEqual, start, last);
            limit = self.b.ins().select(many, limit, start);
        }
        if let Some(parts) = &plan.parts
            && let Some(fit) = self.parts_fit(parts, plan.size.lanes)?
        {
            limit = self.b.ins().select(fit, limit, start);
        }
        for divisor in &plan.classes.divisors {
            let divisor = self.atom(&Atom::Var(*divisor))?;
            let long = self.b.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, divisor, tuning::LANES_ROW);
            limit = self.b.ins().select(long, limit, start);
        }
        Ok(limit)
    }
}
