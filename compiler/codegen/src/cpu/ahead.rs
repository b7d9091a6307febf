//! Short rows of a map: the same number of elements of each, whatever its length.
//!
//! ```text
//! for row in 0 .. n                              for row in 0 .. n
//!     for pos in start .. end                        if end + 8 <= hi
//!         out[pos] = body pos            ==>             out[start], …, out[start + 7] = bodies
//!                                                        the same for the next eight, until end is reached
//!                                                    else as before
//! ```
//!
//! Eight are a group, in vectors. What is left of a long row after the first is as before, if there are groups in that. With the registers that every processor
//! has there are no groups: of rows with up to four elements four are written, one by one.
//!
//! The processor does not foresee where a row of a few elements ends. What is written beyond a row's end is in the next rows, which are written after that.
//! Bodies only compute: what they would read there might not be theirs.

use super::emit::{Ends, Result, args};
use super::kernel::{KernelEmitter, KernelInfo};
use super::lanes::{self, Plan};
use super::outputs::Target;
use cranelift::prelude::*;
use par_ir::core::{Body, Exp};
use par_ir::flat::{Kernel, KernelKind, Out};
use par_ir::tuning;
use par_ir::ty::Dim;
use par_runtime::op::call::is_call;

/// True for a map over irregular rows whose body can be computed where no element is.
pub fn writes_ahead(kernel: &Kernel) -> bool {
    let KernelKind::Map(outs) = &kernel.kind else { return false };
    let mut statements = 0;
    !KernelInfo::of_stage(kernel).ignores_rows()
        && matches!(kernel.space.as_rows(), Some((_, Dim::Seg(_))))
        && !outs.is_empty()
        && outs.iter().all(|o| matches!(o, Out::Elem(_)))
        && is_harmless(&kernel.body, &mut statements)
        && statements <= tuning::AHEAD_STATEMENTS
}

/// True if a body only computes, cheaply and without a failure, whatever the numbers.
fn is_harmless(body: &Body, statements: &mut usize) -> bool {
    *statements += body.stms.len();
    body.stms.iter().all(|s| match &s.exp {
        Exp::Prim(op, _) => !op.divides() && !is_call(*op),
        Exp::Atom(_) => true,
        Exp::If { then, other, .. } => is_harmless(then, statements) && is_harmless(other, statements),
        _ => false,
    })
}

impl KernelEmitter<'_, '_, '_> {
    /// A map over rows, of which the short ones are written ahead; where they would not be groups otherwise all of them, but for the last.
    pub fn map_ahead(&mut self, targets: &[Target]) -> Result {
        let hi = self.params[4];
        let plan = lanes::ahead(self.info.kernel, self.e.width);
        self.each_row(|k, _, (start, end)| {
            let [ahead, whole, done] = [(); 3].map(|()| k.e.b.create_block());
            let rest = k.e.b.append_block_param(whole, types::I64);
            let most = plan.as_ref().map_or(tuning::AHEAD, Plan::positions);
            let last = if plan.is_some() { end } else { start };
            let reach = k.e.b.ins().iadd_imm_s(last, most);
            let mut fits = k.e.b.ins().icmp(IntCC::SignedLessThanOrEqual, reach, hi);
            if plan.is_none() {
                let few = k.e.b.ins().icmp(IntCC::SignedLessThanOrEqual, end, reach);
                fits = k.e.b.ins().band(fits, few);
            }
            k.e.b.ins().brif(fits, ahead, &[], whole, &args(&[start]));
            k.e.b.switch_to_block(ahead);
            match &plan {
                Some(plan) => k.groups_ahead(plan, targets, (start, end), (whole, done))?,
                None => {
                    for i in 0..most {
                        let pos = k.e.b.ins().iadd_imm_s(start, i);
                        k.map_element(targets, pos)?;
                    }
                }
            }
            k.e.b.ins().jump(done, &[]);
            k.e.b.switch_to_block(whole);
            k.map_in_strips(targets, (rest, end))?;
            k.e.b.ins().jump(done, &[]);
            k.e.b.switch_to_block(done);
            Ok(())
        })
    }

    /// A group whatever the length of the row, and further ones up to its end; of a row that is not short the usual ones, if there are such, which may take all
    /// of a register.
    fn groups_ahead(
        &mut self,
        plan: &Plan,
        targets: &[Target],
        (start, end): Ends,
        (whole, done): (Block, Block),
    ) -> Result {
        self.group_ahead(plan, targets, start, whole)?;
        let second = self.e.b.ins().iadd_imm_s(start, plan.positions());
        let [more, again] = [(); 2].map(|()| self.e.b.create_block());
        let goes_on = self.e.b.ins().icmp(IntCC::SignedLessThan, second, end);
        self.e.b.ins().brif(goes_on, more, &[], done, &[]);
        self.e.b.switch_to_block(more);
        if self.info.lanes(self.e.width).is_some() {
            let left = self.e.b.ins().isub(end, second);
            let is_long = self.e.b.ins().icmp_imm_s(IntCC::SignedGreaterThan, left, tuning::AHEAD_ROW);
            self.e.b.ins().brif(is_long, whole, &args(&[second]), again, &[]);
        } else {
            self.e.b.ins().jump(again, &[]);
        }
        self.e.b.switch_to_block(again);
        self.each((second, end), plan.positions(), |k, pos| k.group_ahead(plan, targets, pos, whole))
    }

    /// All positions of a group; where it is left, what there is of the row from there on is as before.
    fn group_ahead(&mut self, plan: &Plan, targets: &[Target], pos: Value, whole: Block) -> Result {
        let kernel = self.info.kernel;
        let [left, next] = [(); 2].map(|()| self.e.b.create_block());
        self.e.group(plan, left, |group| {
            let results = group.elements(kernel, pos)?;
            group.write(targets, pos, results, false)
        })?;
        self.e.b.ins().jump(next, &[]);
        self.e.b.set_cold_block(left);
        self.e.b.switch_to_block(left);
        self.e.b.ins().jump(whole, &args(&[pos]));
        self.e.b.switch_to_block(next);
        Ok(())
    }
}
