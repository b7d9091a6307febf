//! Sorting on ranks. Rows are sorted by the rank that has them; one row by *samples*: every rank sorts its part, and some of its keys, taken at equal
//! distances, tell where to cut the whole order into about equal ranges. Each range goes to one rank. Equal keys are told apart by where they were, so that they
//! keep their order and do not all go to one rank.

use super::{Dist, Shared, SharedDesc, even_cuts, lost};
use crate::array::Array;
use crate::check::{RuntimeError, Span};
use crate::exec::cpu::Cpu;
use crate::exec::device::{Held, Rows};
use crate::exec::sort::number;
use crate::exec::{Desc, Run, out_of_memory};
use crate::prim::Prim;
use std::ops::Range;
use std::sync::Arc;

/// Keys that a rank tells of its part.
const SAMPLES: usize = 64;

/// An element in the order of all: its key as a number, the rank it was on, and its place in the order there.
type Mark = (u64, u64, u64);

impl Run<'_, Dist> {
    /// See [`crate::exec::device::Device::sort`].
    pub fn shared_sort(
        &self,
        rows: &Rows<Dist>,
        keys: Shared,
        values: Option<Shared>,
        span: Span,
    ) -> Result<Vec<Shared>, RuntimeError> {
        let n = keys.len();
        if !self.device.is_large(n) {
            self.ranks().traffic.repeated();
            let keys = self.whole(keys)?;
            let values = values.map(|v| self.whole(v)).transpose()?;
            let sorted = self.alone().sort(&processors(rows), keys, values, span);
            return Ok(self.device.settle(0, sorted)?.into_iter().map(Shared::from).collect());
        }
        match rows {
            Rows::One | Rows::Uniform(1, _) => self.sort_one(keys, values, span),
            _ => {
                let row_cuts = self.cuts_of_rows(rows, n);
                self.sort_rows(rows, &row_cuts, keys, values, span)
            }
        }
    }

    /// The rows of each rank, about equally many elements.
    fn cuts_of_rows(&self, rows: &Rows<Dist>, n: usize) -> Vec<usize> {
        let p = self.ranks().size();
        let target = |r: usize| (n as u128 * r as u128 / p as u128) as usize;
        match rows {
            Rows::Uniform(count, m) => (0..p).map(|r| target(r) / (*m).max(1)).chain([*count]).collect(),
            Rows::Ragged(d) => {
                let offsets = d.desc().offsets().slice::<i64>();
                let row = |r: usize| offsets.partition_point(|o| (*o as usize) < target(r));
                (0..p).map(|r| row(r).min(d.desc().rows())).chain([d.desc().rows()]).collect()
            }
            Rows::One => vec![0; p + 1],
        }
    }

    fn sort_rows(
        &self,
        rows: &Rows<Dist>,
        row_cuts: &[usize],
        keys: Shared,
        values: Option<Shared>,
        span: Span,
    ) -> Result<Vec<Shared>, RuntimeError> {
        let me = self.ranks().rank();
        let n = keys.len();
        let start = |row: usize| match rows {
            Rows::Uniform(_, m) => row * m,
            Rows::Ragged(d) => d.desc().offsets().slice::<i64>()[row] as usize,
            Rows::One => 0,
        };
        let cuts: Vec<usize> = row_cuts.iter().map(|row| start(*row)).collect();
        let (keys, values) = (self.here(&keys, &cuts, span)?, self.here_too(&values, &cuts, span)?);
        self.ranks().traffic.cut(keys.len());
        let own = row_cuts[me]..row_cuts[me + 1];
        let own = match rows {
            Rows::Uniform(_, m) => Rows::Uniform(own.len(), *m),
            Rows::Ragged(d) => {
                let offsets = &d.desc().offsets().slice::<i64>()[own.start..=own.end];
                let offsets: Vec<i64> = offsets.iter().map(|o| o - offsets[0]).collect();
                Rows::Ragged(Arc::new(Desc::new(Array::from_slice(&offsets))))
            }
            Rows::One => Rows::One,
        };
        let sorted = self.alone().sort(&own, keys, values, span);
        self.spread(sorted, cuts, n, span)
    }

    fn sort_one(
        &self,
        keys: Shared,
        values: Option<Shared>,
        span: Span,
    ) -> Result<Vec<Shared>, RuntimeError> {
        let (n, p, me) = (keys.len(), self.ranks().size(), self.ranks().rank());
        let cuts = even_cuts(n, p);
        let (keys, values) = (self.here(&keys, &cuts, span)?, self.here_too(&values, &cuts, span)?);
        self.ranks().traffic.cut(keys.len());
        let sorted = self.alone().sort(&Rows::One, keys, values, span);
        let sorted = self.device.settle(8 * n, sorted)?;
        let ends = self.range_ends(&sorted[0])?;
        let ranges: Vec<Range<usize>> = ends.windows(2).map(|e| e[0]..e[1]).collect();
        let mut received = Vec::new();
        for a in &sorted {
            received.push(self.sent(a, &ranges)?);
        }
        drop(sorted);
        let counts = self.ranks().all_gather_number(received[0].len() as u64).map_err(lost)?;
        let mut cuts = vec![0];
        counts.iter().for_each(|c| cuts.push(cuts[cuts.len() - 1] + *c as usize));
        debug_assert_eq!((cuts[p], cuts[me + 1] - cuts[me]), (n, received[0].len()));
        let mut received = received.into_iter();
        let keys = received.next().unwrap_or_else(|| Array::zeros(Prim::I64, 0));
        let sorted = self.alone().sort(&Rows::One, keys, received.next(), span);
        self.spread(sorted, cuts, n, span)
    }

    /// The ends of the ranges of the ranks in this rank's sorted keys, from 0 on.
    fn range_ends(&self, keys: &Array) -> Result<Vec<usize>, RuntimeError> {
        let (n, p, me) = (keys.len(), self.ranks().size(), self.ranks().rank() as u64);
        let mut own: Vec<u8> = Vec::with_capacity(SAMPLES * 24);
        for i in 0..SAMPLES {
            // Of nothing there are marks behind all.
            let at = (n > 0).then(|| (i * n + n / 2) / SAMPLES).map(|at| at.min(n - 1));
            let mark: [u64; 3] = at.map_or([u64::MAX; 3], |at| [number(keys.get(at)), me, at as u64]);
            mark.iter().for_each(|x| own.extend(x.to_le_bytes()));
        }
        let all = self.ranks().all_gather(&own).map_err(lost)?;
        let word = |mark: &[u8], i: usize| u64::from_le_bytes(std::array::from_fn(|k| mark[8 * i + k]));
        let mut marks: Vec<Mark> =
            all.chunks_exact(24).map(|m| (word(m, 0), word(m, 1), word(m, 2))).collect();
        marks.sort_unstable();
        marks.retain(|m| m.1 != u64::MAX);
        let mut ends = vec![0];
        for r in 1..p {
            let cut = marks.get(marks.len() * r / p).copied().unwrap_or((u64::MAX, u64::MAX, u64::MAX));
            ends.push(before(keys, me, cut));
        }
        ends.push(n);
        Ok(ends)
    }

    /// The elements of an array that come to this rank if each has sent its ranges.
    fn sent(&self, a: &Array, ranges: &[Range<usize>]) -> Result<Array, RuntimeError> {
        let size = a.prim().size();
        let send: Vec<Vec<u8>> =
            ranges.iter().map(|r| a.bytes()[r.start * size..r.end * size].to_vec()).collect();
        let all = self.ranks().exchange_unknown(send).map_err(lost)?;
        let mut together = Array::uninit(a.prim(), all.iter().map(Vec::len).sum::<usize>() / size);
        let mut rest = together.bytes_mut();
        for part in &all {
            let (room, after) = rest.split_at_mut(part.len());
            room.copy_from_slice(part);
            rest = after;
        }
        Ok(together)
    }

    /// Copy of this rank's elements between cuts.
    fn here(&self, a: &Shared, cuts: &[usize], span: Span) -> Result<Array, RuntimeError> {
        let needed: Vec<Range<usize>> = cuts.windows(2).map(|c| c[0]..c[1]).collect();
        a.fetch(self.ranks(), &needed)?;
        let own = &needed[self.ranks().rank()];
        let copy = a.array().try_slice(own.start, own.len()).map_err(|e| out_of_memory(e, span));
        self.device.settle(a.size(), copy)
    }

    fn here_too(
        &self,
        a: &Option<Shared>,
        cuts: &[usize],
        span: Span,
    ) -> Result<Option<Array>, RuntimeError> {
        a.as_ref().map(|a| self.here(a, cuts, span)).transpose()
    }

    /// Arrays of `n` elements, of which these are this rank's between its cuts.
    fn spread(
        &self,
        own: Result<Vec<Array>, RuntimeError>,
        cuts: Vec<usize>,
        n: usize,
        span: Span,
    ) -> Result<Vec<Shared>, RuntimeError> {
        let at = cuts[self.ranks().rank()];
        let placed = |a: Array| {
            let all = Array::try_part(a.prim(), n, a.len()).map_err(|e| out_of_memory(e, span))?;
            // SAFETY: the array is fresh, and the cuts are as far apart as there are elements.
            unsafe {
                let to = all.as_ptr().add(at * a.prim().size());
                std::ptr::copy_nonoverlapping(a.as_ptr(), to, a.bytes().len());
            }
            Ok(all)
        };
        let all = own.and_then(|own| own.into_iter().map(placed).collect::<Result<Vec<Array>, _>>());
        let all = self.device.settle(8 * n, all)?;
        Ok(all.into_iter().map(|a| Shared::distributed(a, cuts.clone())).collect())
    }
}

/// The number of a rank's sorted keys before a mark.
fn before(keys: &Array, rank: u64, mark: Mark) -> usize {
    let (mut lo, mut hi) = (0, keys.len());
    while lo < hi {
        let mid = (lo + hi) / 2;
        if (number(keys.get(mid)), rank, mid as u64) < mark { lo = mid + 1 } else { hi = mid }
    }
    lo
}

/// The same rows for the processor.
fn processors(rows: &Rows<Dist>) -> Rows<Cpu> {
    match rows {
        Rows::One => Rows::One,
        Rows::Uniform(n, m) => Rows::Uniform(*n, *m),
        Rows::Ragged(d) => Rows::Ragged(d.desc().clone()),
    }
}

impl SharedDesc {
    /// The descriptor.
    pub fn desc(&self) -> &Arc<Desc> {
        &self.desc
    }
}
