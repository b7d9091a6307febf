//! Filters: each rank keeps what it keeps; how many that are before it says where it is.

use super::kernel::Cut;
use super::{Dist, Shared, lost};
use crate::array::Array;
use crate::check::RuntimeError;
use crate::exec::device::Results;
use crate::exec::frame::HostValue;
use crate::exec::launch::Arrays;
use crate::exec::out_of_memory;
use crate::prim::{Prim, Scalar};

/// Elements that a rank keeps.
struct Kept {
    /// Of each row.
    counts: Array,
    /// From the first position of a chunk on.
    values: Arrays,
    /// First position and number of each chunk.
    chunks: Vec<(usize, usize)>,
}

impl Cut<'_, '_> {
    pub fn filter(&mut self, prims: &[Prim]) -> Results<Dist> {
        let kept = self.keep(prims);
        let (rows, total) = (self.launch.space.rows, self.launch.space.total);
        let mut kept = self.agree(rows + prims.len() * total, kept)?;
        let own: usize = kept.chunks.iter().map(|c| c.1).sum();
        self.count_shared_rows(&mut kept)?;
        let all = self.ranks().all_gather_number(own as u64).map_err(lost)?;
        let mut cuts = vec![0];
        for n in all {
            cuts.push(cuts[cuts.len() - 1] + n as usize);
        }
        let total = cuts[cuts.len() - 1];
        let values = std::mem::take(&mut kept.values);
        let packed: Result<Vec<Array>, RuntimeError> =
            values.into_iter().map(|a| self.pack(a, &kept.chunks, &cuts)).collect();
        let packed = self.run.device.settle(8 * total, packed)?;
        let number = Scalar::I64(total as i64);
        let mut results: Vec<HostValue> = vec![number.into(), HostValue::Array(kept.counts.clone())];
        results.extend(packed.iter().cloned().map(HostValue::Array));
        self.run.count(|c| *c += self.launch.cost(&results));
        drop(results);
        let counts = Shared::distributed(kept.counts, self.row_cuts());
        let arrays = packed.into_iter().map(|a| Shared::distributed(a, cuts.clone()));
        let arrays = std::iter::once(counts).chain(arrays).map(HostValue::Array);
        Ok(std::iter::once(number.into()).chain(arrays).collect())
    }

    fn keep(&mut self, prims: &[Prim]) -> Result<Kept, RuntimeError> {
        let own = self.own();
        let counts = self.launch.outputs(0, &[Prim::I64], self.launch.space.rows)?;
        let values = self.launch.outputs(1, prims, self.launch.space.total)?;
        let (chunks, kept, counts) = self.launch.filter_chunks(&own, counts);
        let chunks = chunks.iter().map(|c| c.lo).zip(kept).collect();
        Ok(Kept { counts, values, chunks })
    }

    /// Adds to the count of a row what other ranks keep of it.
    fn count_shared_rows(&self, kept: &mut Kept) -> Result<(), RuntimeError> {
        let space = &self.launch.space;
        let continued = |r: usize| {
            let p = &self.parts[r];
            (p.lo < p.hi && p.lo > space.start(p.row_lo)).then_some(p.row_lo)
        };
        if !(0..self.parts.len()).any(|r| continued(r).is_some()) {
            return Ok(());
        }
        let me = self.ranks().rank();
        let in_row = |row: usize| {
            let inside = |c: &&(usize, usize)| space.start(row) <= c.0 && c.0 < space.start(row + 1);
            kept.chunks.iter().filter(inside).map(|c| c.1 as u64).sum::<u64>()
        };
        let own = continued(me).map_or(0, in_row);
        let all = self.ranks().all_gather_number(own).map_err(lost)?;
        let row_cuts = self.row_cuts();
        let counts = kept.counts.as_ptr() as *mut i64;
        for (r, n) in all.iter().enumerate() {
            if let Some(row) = continued(r)
                && (row_cuts[me]..row_cuts[me + 1]).contains(&row)
            {
                // SAFETY: the count is this rank's, in an array that nobody else has.
                unsafe { *counts.add(row) += *n as i64 };
            }
        }
        Ok(())
    }

    /// The elements kept here, at their places among all.
    fn pack(&self, from: Array, chunks: &[(usize, usize)], cuts: &[usize]) -> Result<Array, RuntimeError> {
        let me = self.ranks().rank();
        let (total, n) = (cuts[cuts.len() - 1], cuts[me + 1] - cuts[me]);
        let to = Array::try_part(from.prim(), total, n).map_err(|e| out_of_memory(e, self.span))?;
        let size = from.prim().size();
        let mut at = cuts[me];
        for (lo, n) in chunks {
            // SAFETY: a chunk's kept elements begin at its first position and are no more than it has; their places are inside, as cuts are sums of the numbers kept.
            unsafe {
                let (from, to) = (from.as_ptr().add(lo * size), to.as_ptr().add(at * size));
                std::ptr::copy_nonoverlapping(from, to, n * size);
            }
            at += n;
        }
        Ok(to)
    }
}
