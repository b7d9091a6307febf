//! Short rows of a map: the same number of elements of each, whatever its length.
//!
//! ```text
//! for row in 0 .. n                              for row in 0 .. n
//!     for pos in start .. end                        if end - start <= 8 and start + 8 <= hi
//!         out[pos] = body pos            ==>             out[start], …, out[start + 7] = bodies
//!                                                    else as before
//! ```
//!
//! They are one group, in vectors; with the registers that every processor has they are four, one by one.
//! The processor does not foresee where a row of a few elements ends. What is written beyond a row's end is in the next rows, which are written after that.
//! Bodies only compute: what they would read there might not be theirs.

use super::emit::Unsupported;
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
    /// A map over rows, of which the short ones are written ahead.
    pub fn map_ahead(&mut self, targets: &[Target]) -> Result<(), Unsupported> {
        let hi = self.params[4];
        let plan = lanes::ahead(self.info.kernel, self.e.width);
        let most = plan.as_ref().map_or(tuning::AHEAD, Plan::positions);
        self.rows(&[], |k, _, start, end, _| {
            let [short, long, done] = [(); 3].map(|()| k.e.b.create_block());
            let length = k.e.b.ins().isub(end, start);
            let reach = k.e.b.ins().iadd_imm_s(start, most);
            let few = k.e.b.ins().icmp_imm_s(IntCC::SignedLessThanOrEqual, length, most);
            let inside = k.e.b.ins().icmp(IntCC::SignedLessThanOrEqual, reach, hi);
            let ahead = k.e.b.ins().band(few, inside);
            k.e.b.ins().brif(ahead, short, &[], long, &[]);
            k.e.b.switch_to_block(short);
            match &plan {
                Some(plan) => k.map_group(plan, targets, start)?,
                None => {
                    for i in 0..most {
                        let pos = k.e.b.ins().iadd_imm_s(start, i);
                        k.map_element(targets, pos)?;
                    }
                }
            }
            k.e.b.ins().jump(done, &[]);
            k.e.b.switch_to_block(long);
            k.map_in_strips(targets, (start, end))?;
            k.e.b.ins().jump(done, &[]);
            k.e.b.switch_to_block(done);
            Ok(vec![])
        })?;
        Ok(())
    }
}
