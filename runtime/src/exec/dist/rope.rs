//! Arrays that are read as one. They are whole on all ranks, and in the window of each.

use super::{Dist, Shared};
use crate::array::Array;
use crate::check::{RuntimeError, Span};
use crate::exec::device::Held;
use crate::exec::{Run, out_of_memory};
use crate::rope::{Part, Rope};
use std::sync::Arc;

impl Run<'_, Dist> {
    /// An array in the window of ropes.
    pub fn placed(&self, a: Shared, span: Span) -> Result<Shared, RuntimeError> {
        if a.base() != 0 || a.len() == 0 {
            return Ok(a);
        }
        let bytes = a.size();
        let a = self.whole(a)?;
        let placed = self.device.window.place(&a).map_err(|e| out_of_memory(e, span));
        let placed = self.device.settle(bytes, placed)?;
        Ok(Shared::in_window(placed, self.device.window.base()))
    }

    /// See [`Rope::leave`].
    pub fn compact_shared(
        &self,
        mut rope: Arc<Rope<Shared>>,
        (starts, lens): (Shared, Shared),
        kept: Option<Arc<Rope<Shared>>>,
        span: Span,
    ) -> Result<(Arc<Rope<Shared>>, Shared), RuntimeError> {
        if rope.count() <= 1 {
            return Ok((rope, starts));
        }
        let (starts, lens) = (self.whole(starts)?, self.whole(lens)?);
        let rows = Arc::make_mut(&mut rope).leave(starts.slice(), lens.slice(), kept.as_deref());
        let size = rope.prim().size();
        let copied: usize = rows.iter().map(|r| r.len).sum();
        self.count(|c| c.launch(2 * starts.len() + 2 * copied, copied * size));
        if copied == 0 {
            return Ok((rope, starts.into()));
        }
        let fresh = Array::try_uninit(rope.prim(), copied).map_err(|e| out_of_memory(e, span));
        let mut fresh = self.device.settle(copied * size, fresh)?;
        let mut at = 0;
        for r in &rows {
            let from = &r.part.array().bytes()[r.at * size..(r.at + r.len) * size];
            fresh.bytes_mut()[at * size..(at + r.len) * size].copy_from_slice(from);
            at += r.len;
        }
        let fresh = self.placed(fresh.into(), span)?;
        let mut new = Array::from_slice(starts.slice::<i64>());
        let mut at = fresh.origin();
        for r in &rows {
            new.slice_mut::<i64>()[r.row] = at | r.mark;
            at += r.len as i64;
        }
        Arc::make_mut(&mut rope).add(fresh);
        Ok((rope, new.into()))
    }
}
