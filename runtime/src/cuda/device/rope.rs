//! Arrays of a device that are read as one. Their origins are device addresses in units of elements.

use super::array::Array;
use super::bulk;
use super::run::{Cuda, address, broken};
use crate::array;
use crate::check::{RuntimeError, Span};
use crate::exec::Run;
use crate::exec::device::{Device, Held};
use crate::prim::Prim;
use crate::rope::{NOWHERE, Part, Rope, moved};
use std::sync::Arc;

impl Part for Array {
    /// Of an array whose address is known, as it is of all in a rope.
    fn origin(&self) -> i64 {
        if self.len() == 0 {
            return NOWHERE;
        }
        self.address().map_or(0, |at| (at / self.prim().size() as u64) as i64)
    }

    fn elements(&self) -> usize {
        self.len()
    }
}

/// See [`Device::compact`]. The host looks at where the rows are, and decides; what moves is copied by the device.
pub fn compact<'a>(
    run: &Run<Cuda<'a>>,
    mut rope: Arc<Rope<Array>>,
    (starts, lens): (Array, Array),
    kept: Option<Arc<Rope<Array>>>,
    span: Span,
) -> Result<(Arc<Rope<Array>>, Array), RuntimeError> {
    if rope.count() <= 1 {
        return Ok((rope, starts));
    }
    let host_starts = Cuda::download(run, starts.clone())?;
    let host_lens = Cuda::download(run, lens)?;
    let rows = Arc::make_mut(&mut rope).leave(host_starts.slice(), host_lens.slice(), kept.as_deref());
    let (prim, size) = (rope.prim(), rope.prim().size());
    let copied: usize = rows.iter().map(|r| r.len).sum();
    run.count(|c| c.launch(2 * starts.len() + 2 * copied, copied * size));
    if rows.is_empty() {
        return Ok((rope, starts));
    }
    let fresh = run.device.fresh(prim, copied, span)?;
    let to = address(&fresh, span)?;
    let new = moved(host_starts.slice(), &rows, fresh.origin());
    let from: Vec<i64> = rows.iter().map(|r| r.part.origin() + r.at as i64).collect();
    let mut offsets = vec![0i64];
    offsets.extend(rows.iter().scan(0, |at, r| {
        *at += r.len as i64;
        Some(*at)
    }));
    let table = |xs: &[i64]| {
        let a = run.device.fresh(Prim::I64, xs.len(), span)?;
        let host = array::Array::from_slice(xs);
        run.device.gpu().upload(address(&a, span)?, host.bytes()).map_err(broken)?;
        Ok::<_, RuntimeError>(a)
    };
    let (from, offsets) = (table(&from)?, table(&offsets)?);
    let shape = (rows.len(), copied, size);
    bulk::gather_rows(&run.device, to, address(&from, span)?, address(&offsets, span)?, shape)?;
    Arc::make_mut(&mut rope).add(fresh);
    Ok((rope, table(new.slice())?))
}
