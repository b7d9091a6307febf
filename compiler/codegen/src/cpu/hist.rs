//! Histograms. Where much is computed for an element, that is done in vectors, a strip before the elements go to their places.
//!
//! ```text
//! for s in 0 .. n by 512, e = min (s + 512) n
//!     for pos in s .. e      i[pos-s] = the index,  a[pos-s] = the value
//!     for pos in s .. e      d[i[pos-s]] = op d[i[pos-s]] a[pos-s]
//! ```

use super::emit::{Base, Result, output};
use super::fresh::Fresh;
use super::kernel::{KernelEmitter, KernelInfo, Role};
use super::lanes;
use super::stage::Staged;
use crate::work;
use cranelift::prelude::*;
use par_ir::core::{Body, Exp, Lambda};
use par_ir::flat::{Kernel, KernelKind};
use par_ir::tuning;

/// The steps of a histogram, if indices and values are computed in lanes.
pub fn split(kernel: &Kernel, fresh: &Fresh) -> Option<Staged> {
    if !matches!(kernel.kind, KernelKind::Hist { .. }) || is_short(&kernel.body) {
        return None;
    }
    let staged = Staged::results_first(kernel, fresh)?;
    let pays = |computed: &Kernel| lanes::plan(&KernelInfo::of_stage(computed), lanes::WIDEST).is_some();
    staged.parts().0.into_iter().all(pays).then_some(staged)
}

impl<'a> KernelEmitter<'_, 'a, '_> {
    pub fn hist(&mut self, op: &Lambda) -> Result {
        let info = self.info;
        let outputs = info.layout.outputs_at();
        let len = self.env(types::I64, outputs);
        let dests = self.arrays(outputs + 1, &info.combined);
        // Of neighbours that go to the same place one need not wait for the other.
        let others = self.arrays(outputs + 1 + dests.len(), &info.combined);
        let partials = self.arrays(info.layout.partials_at(), &info.combined);
        let of_rows = info.scheduled.filter(|_| !self.e.counting && self.role != Role::Combine);
        if let Some(updates) = of_rows.and_then(|s| s.updates.as_ref()) {
            return self.each_row(|k, _, ends| {
                k.row_updates(updates, ends, (len, &dests), |k| {
                    k.each(ends, 1, |k, pos| k.hist_element(op, (len, &dests), &partials, pos))
                })
            });
        }
        self.each_row(|k, _, ends| {
            k.in_strips(ends, &[], |k, (start, end), _| {
                let rest = match is_short(&info.kernel.body) {
                    true => k.unrolled(start, end, |k, i, pos| {
                        let dests = if i % 2 == 0 { &dests } else { &others };
                        k.hist_element(op, (len, dests), &partials, pos)
                    })?,
                    false => start,
                };
                k.each((rest, end), 1, |k, pos| k.hist_element(op, (len, &dests), &partials, pos))?;
                Ok(vec![])
            })?;
            Ok(())
        })
    }

    fn hist_element(
        &mut self,
        op: &Lambda,
        (len, dests): (Value, &[Base]),
        partials: &[Base],
        pos: Value,
    ) -> Result {
        let (index, values) = match self.role {
            Role::Combine => (pos, self.combinable(partials, pos)?.0),
            _ => {
                let results = self.element(pos)?;
                (results[0], results[1..].to_vec())
            }
        };
        self.if_inside(index, len, |k| {
            // Each destination is read and written.
            k.e.count(2 * dests.len() + work::of_body(&op.body));
            let old: Vec<Value> = dests.iter().map(|d| k.e.load(*d, index, output())).collect();
            let new = k.combine(op, &old, &values)?;
            dests.iter().zip(new).for_each(|(d, x)| k.e.store(*d, index, x));
            Ok(())
        })
    }

    /// Code that runs if `0 <= index < len`.
    fn if_inside(&mut self, index: Value, len: Value, code: impl FnOnce(&mut Self) -> Result) -> Result {
        let inside = self.e.b.ins().icmp(IntCC::UnsignedLessThan, index, len);
        let (yes, after) = (self.e.b.create_block(), self.e.b.create_block());
        self.e.b.ins().brif(inside, yes, &[], after, &[]);
        self.e.b.switch_to_block(yes);
        code(self)?;
        self.e.b.ins().jump(after, &[]);
        self.e.b.switch_to_block(after);
        Ok(())
    }

    /// Code for several elements an iteration, one after the other; where the last whole iteration ends.
    fn unrolled(
        &mut self,
        start: Value,
        end: Value,
        mut element: impl FnMut(&mut KernelEmitter<'_, 'a, '_>, i64, Value) -> Result,
    ) -> Result<Value> {
        let last = self.e.b.ins().iadd_imm_s(end, 1 - tuning::HIST_UNROLLED);
        self.each((start, last), tuning::HIST_UNROLLED, |k, pos| {
            (0..tuning::HIST_UNROLLED).try_for_each(|i| {
                let pos = k.e.b.ins().iadd_imm_s(pos, i);
                element(k, i, pos)
            })
        })?;
        let (count, none) = (self.e.b.ins().isub(end, start), self.e.i64(0));
        let count = self.e.b.ins().smax(count, none);
        let whole = self.e.b.ins().band_imm_s(count, -tuning::HIST_UNROLLED);
        Ok(self.e.b.ins().iadd(start, whole))
    }
}

/// True if a body is so short that the loop around it counts.
fn is_short(body: &Body) -> bool {
    body.stms.len() <= tuning::HIST_SHORT
        && body.stms.iter().all(|s| matches!(s.exp, Exp::Prim(..) | Exp::Index(..) | Exp::Atom(_)))
}
