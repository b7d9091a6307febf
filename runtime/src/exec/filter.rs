//! Filters: each chunk writes what it keeps from its own first position on; then the chunks are moved together.

use super::device::{Results, Values};
use super::frame::HostValue;
use super::launch::{Arrays, Launch, as_row};
use super::out_of_memory;
use super::space::Chunk;
use super::threads;
use crate::array::Array;
use crate::check::RuntimeError;
use crate::copy::copy;
use crate::prim::{Prim, Scalar};
use smallvec::smallvec;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

/// One of so many elements: fewer that are kept are copied to an array of their own. Others stay where they are: a copy of half of 134 MB took
/// a third of the time of the filter.
const FEW: usize = 4;

impl Launch<'_> {
    pub fn filter(&mut self, prims: &[Prim]) -> Results {
        let mut counts = self.outputs(0, &[Prim::I64], self.space.rows)?;
        let scratch = self.outputs(1, prims, self.space.total)?;
        let chunks =
            if self.threads == 1 { vec![self.space.whole()] } else { self.space.row_chunks(self.threads) };
        let kept = self.filter_each(&chunks);
        self.check()?;
        if let Some(counts) = counts.first_mut() {
            count_giants(counts, &chunks, &kept);
        }
        let total: usize = kept.iter().sum();
        let mut results: Values = smallvec![Scalar::I64(total as i64).into()];
        results.extend(counts.into_iter().map(HostValue::Array));
        for a in scratch {
            results.push(self.compact(a, &chunks, &kept, total)?.into());
        }
        Ok(results)
    }

    /// Filters a part of the space: its chunks, how many each has kept from its first position on, and the counts of rows in `counts`, those of giant rows
    /// for what is in the part.
    pub fn filter_chunks(&self, part: &Chunk, mut counts: Arrays) -> (Vec<Chunk>, Vec<usize>, Array) {
        let chunks =
            if part.row_lo < part.row_hi { self.space.row_chunks_in(part, self.threads) } else { Vec::new() };
        let kept = self.filter_each(&chunks);
        let mut counts = counts.swap_remove(0);
        count_giants(&mut counts, &chunks, &kept);
        (chunks, kept, counts)
    }

    /// Filters chunks: how many elements each has kept.
    fn filter_each(&self, chunks: &[Chunk]) -> Vec<usize> {
        let kept: Vec<AtomicI64> = chunks.iter().map(|_| AtomicI64::new(0)).collect();
        threads::run(self.threads, chunks.len(), |i| {
            kept[i].store(self.filter_chunk(&chunks[i]), Relaxed);
        });
        kept.into_iter().map(|n| n.into_inner() as usize).collect()
    }

    /// The number kept; for a part of a giant row its count does not become the row's.
    fn filter_chunk(&self, p: &Chunk) -> i64 {
        if p.part.is_none() {
            return self.run_chunk(self.kernel.code, &self.env, p).unwrap_or(0);
        }
        let unused = AtomicU64::new(0);
        let mut env = self.env.clone();
        env[self.kernel.layout.outputs_at()] = as_row(unused.as_ptr() as *const u8, p.row_lo, 8);
        self.run_chunk(self.kernel.code, &env, p).unwrap_or(0)
    }

    /// The kept elements of all chunks, one after the other.
    fn compact(
        &self,
        mut scratch: Array,
        chunks: &[Chunk],
        kept: &[usize],
        total: usize,
    ) -> Result<Array, RuntimeError> {
        let size = scratch.prim().size();
        if self.threads > 1 || total < scratch.len() / FEW {
            let result = self.alloc(scratch.prim(), total)?;
            let starts = prefix_sums(kept);
            let (from, to) = (Address(scratch.as_ptr()), Address(result.as_ptr()));
            threads::run(self.threads, chunks.len(), |i| {
                // SAFETY: a chunk's kept elements start at its first position and are no more than it has; the
                // destinations are disjoint and inside, as their starts are sums of the numbers kept.
                unsafe { from.copy(chunks[i].lo * size, &to, starts[i] * size, kept[i] * size) };
            });
            return Ok(result);
        }
        let mut at = 0;
        let bytes = scratch.bytes_mut();
        for (p, n) in chunks.iter().zip(kept) {
            if p.lo != at {
                bytes.copy_within(p.lo * size..(p.lo + n) * size, at * size);
            }
            at += n;
        }
        scratch.truncate(total);
        scratch.try_make_unique().map_err(|e| out_of_memory(e, self.span))?;
        Ok(scratch)
    }
}

/// The counts of rows that were filtered in parts.
fn count_giants(counts: &mut Array, chunks: &[Chunk], kept: &[usize]) {
    let counts = counts.slice_mut::<i64>();
    let parts = || chunks.iter().zip(kept).filter(|(p, _)| p.part.is_some());
    parts().for_each(|(p, _)| counts[p.row_lo] = 0);
    parts().for_each(|(p, n)| counts[p.row_lo] += *n as i64);
}

fn prefix_sums(xs: &[usize]) -> Vec<usize> {
    let sum = |acc: &mut usize, x: &usize| {
        let before = *acc;
        *acc += x;
        Some(before)
    };
    xs.iter().scan(0, sum).collect()
}

/// An address that threads may share.
struct Address(*mut u8);

// SAFETY: only an address; its uses say why they are sound.
unsafe impl Sync for Address {}

impl Address {
    /// # Safety
    /// Both ranges are inside live arrays, do not overlap, and nobody else accesses the destination.
    unsafe fn copy(&self, from: usize, to: &Address, at: usize, bytes: usize) {
        // SAFETY: as required of the caller.
        unsafe { copy(self.0.add(from), to.0.add(at), bytes) }
    }
}
