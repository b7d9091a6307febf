//! Descriptors: the row lengths of a ragged dimension.

use super::threads;
use crate::array::{Array, OutOfMemory};
use crate::prim::Prim;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

/// A descriptor: its offsets, and what is derived from them when first needed.
#[derive(Debug)]
pub struct Desc {
    offsets: Array,
    lengths: OnceLock<Array>,
    seg_ids: OnceLock<Array>,
}

impl Desc {
    /// From `rows + 1` offsets, the first 0, never decreasing.
    pub fn new(offsets: Array) -> Desc {
        Desc { offsets, lengths: OnceLock::new(), seg_ids: OnceLock::new() }
    }

    /// From row lengths, of which one below 0 counts as 0: an exclusive scan. `None`: the total overflows.
    pub fn from_lengths(lengths: Array, threads: usize) -> Result<Option<Desc>, OutOfMemory> {
        let mut offsets = Array::try_uninit(Prim::I64, lengths.len() + 1)?;
        let out = offsets.slice_mut::<i64>();
        let Some(total) = offsets_of(lengths.slice::<i64>(), &mut out[..lengths.len()], threads) else {
            return Ok(None);
        };
        out[lengths.len()] = total;
        Ok(Some(Desc { offsets, lengths: OnceLock::from(lengths), seg_ids: OnceLock::new() }))
    }

    /// `rows` rows of length `m`; the product does not overflow.
    pub fn uniform(rows: usize, m: usize) -> Result<Desc, OutOfMemory> {
        let mut offsets = Array::try_uninit(Prim::I64, rows + 1)?;
        for (i, o) in offsets.slice_mut::<i64>().iter_mut().enumerate() {
            *o = (i * m) as i64;
        }
        Ok(Desc::new(offsets))
    }

    /// Rows of all descriptors in order. `None`: the total overflows.
    pub fn concat(parts: &[std::sync::Arc<Desc>]) -> Result<Option<Desc>, OutOfMemory> {
        let rows: usize = parts.iter().map(|d| d.rows()).sum();
        let mut offsets = Array::try_uninit(Prim::I64, rows + 1)?;
        let out = offsets.slice_mut::<i64>();
        let (mut at, mut base) = (0, 0i64);
        for d in parts {
            if base.checked_add(d.total() as i64).is_none() {
                return Ok(None);
            }
            for (o, x) in out[at..].iter_mut().zip(&d.offsets.slice::<i64>()[..d.rows()]) {
                *o = base + x;
            }
            at += d.rows();
            base += d.total() as i64;
        }
        out[rows] = base;
        Ok(Some(Desc::new(offsets)))
    }

    /// `rows + 1` offsets.
    pub fn offsets(&self) -> &Array {
        &self.offsets
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Number of elements.
    pub fn total(&self) -> usize {
        self.offsets.slice::<i64>()[self.rows()] as usize
    }

    /// True if the lengths have been made.
    pub fn has_lengths(&self) -> bool {
        self.lengths.get().is_some()
    }

    /// True if the rows of elements have been made.
    pub fn has_seg_ids(&self) -> bool {
        self.seg_ids.get().is_some()
    }

    /// Length of each row.
    pub fn lengths(&self, threads: usize) -> Result<Array, OutOfMemory> {
        if let Some(a) = self.lengths.get() {
            return Ok(a.clone());
        }
        let mut lengths = Array::try_uninit(Prim::I64, self.rows())?;
        let offsets = self.offsets.slice::<i64>();
        threads::fill(threads, lengths.slice_mut::<i64>(), |start, part| {
            part.iter_mut().zip(offsets[start..].windows(2)).for_each(|(n, o)| *n = o[1] - o[0]);
        });
        Ok(self.lengths.get_or_init(|| lengths).clone())
    }

    /// Row of each element.
    pub fn seg_ids(&self, threads: usize) -> Result<Array, OutOfMemory> {
        if let Some(a) = self.seg_ids.get() {
            return Ok(a.clone());
        }
        let mut ids = Array::try_uninit(Prim::I64, self.total())?;
        let offsets = self.offsets.slice::<i64>();
        threads::fill(threads, ids.slice_mut::<i64>(), |start, part| fill_ids(offsets, start, part));
        Ok(self.seg_ids.get_or_init(|| ids).clone())
    }
}

/// Stores where each row starts; where the last one ends. With several threads parts are summed before they are filled.
fn offsets_of(lengths: &[i64], out: &mut [i64], threads: usize) -> Option<i64> {
    let parts = threads::parts(threads, lengths.len());
    if parts.len() <= 1 {
        return fill_offsets(0, lengths, out);
    }
    let sums: Vec<AtomicI64> = parts.iter().map(|_| AtomicI64::new(0)).collect();
    threads::run(threads, parts.len(), |i| {
        let sum = lengths[parts[i].clone()].iter().try_fold(0i64, |sum, n| sum.checked_add((*n).max(0)));
        sums[i].store(sum.unwrap_or(-1), Relaxed);
    });
    let mut total = 0i64;
    for sum in &sums {
        let before = total;
        total = total.checked_add(Some(sum.load(Relaxed)).filter(|n| *n >= 0)?)?;
        sum.store(before, Relaxed);
    }
    threads::fill_parts(threads, &parts, out, |i, part| {
        fill_offsets(sums[i].load(Relaxed), &lengths[parts[i].clone()], part);
    });
    Some(total)
}

/// Stores where each row starts, the first at `start`; where the last one ends.
fn fill_offsets(start: i64, lengths: &[i64], out: &mut [i64]) -> Option<i64> {
    let (mut sum, mut any) = (start, start);
    for (o, n) in out.iter_mut().zip(lengths) {
        *o = sum;
        // What overflows by adding a number that is not negative is negative.
        sum = sum.wrapping_add((*n).max(0));
        any |= sum;
    }
    (any >= 0).then_some(sum)
}

/// Stores the row of each element from `start` on. Of every row as many are written as short rows have at most, so that the processor need not foresee where it
/// ends: what is behind its end is written again, as elements of the next rows.
fn fill_ids(offsets: &[i64], start: usize, out: &mut [i64]) {
    const AHEAD: usize = 8;
    let mut row = offsets.partition_point(|o| *o as usize <= start) - 1;
    let mut at = 0;
    while at < out.len() {
        let end = (offsets[row + 1] as usize - start).min(out.len());
        let done = match out[at..].first_chunk_mut::<AHEAD>() {
            Some(few) => {
                *few = [row as i64; AHEAD];
                at + AHEAD
            }
            None => at,
        };
        if end > done {
            out[done..end].fill(row as i64);
        }
        at = end;
        row += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_do_not_depend_on_threads() {
        for n in [0, 1, 5, 100_000, 131_072] {
            let lengths: Vec<i64> = (0..n).map(|i| i * i % 7).collect();
            let offsets = |threads| {
                let d = Desc::from_lengths(Array::from_slice(&lengths), threads).unwrap().unwrap();
                (d.offsets().slice::<i64>().to_vec(), d.total())
            };
            let sum: i64 = lengths.iter().sum();
            assert_eq!(offsets(1), offsets(3));
            assert_eq!(offsets(2).1, sum as usize);
            let again = Desc::new(Array::from_slice(&offsets(2).0));
            assert_eq!(again.lengths(3).unwrap().slice::<i64>(), lengths);
        }
    }

    #[test]
    fn elements_know_their_rows() {
        for most in [1, 3, 9, 40] {
            let lengths: Vec<i64> = (0..300).map(|i| i * 7919 % (most + 1) * (i / 7 % 3).min(1)).collect();
            let rows = lengths.iter().zip(0i64..).flat_map(|(n, row)| std::iter::repeat_n(row, *n as usize));
            let rows: Vec<i64> = rows.collect();
            let d = Desc::from_lengths(Array::from_slice(&lengths), 1).unwrap().unwrap();
            assert_eq!(d.seg_ids(2).unwrap().slice::<i64>(), rows);
            // Parts of threads begin and end anywhere.
            for (start, end) in
                [(0, 1), (0, 8), (1, 60), (33, 41), (50, rows.len()), (rows.len() - 1, rows.len())]
            {
                let mut out = vec![-1; end - start];
                fill_ids(d.offsets().slice::<i64>(), start, &mut out);
                assert_eq!(out, rows[start..end], "rows of up to {most}, elements {start} to {end}");
            }
        }
    }

    #[test]
    fn lengths_below_zero_count_as_zero() {
        let mut lengths = vec![1i64; 100_000];
        (lengths[3], lengths[70_000]) = (-5, i64::MIN);
        for threads in [1, 2] {
            let d = Desc::from_lengths(Array::from_slice(&lengths), threads).unwrap().unwrap();
            assert_eq!(d.total(), 99_998);
            assert_eq!(d.offsets().slice::<i64>()[3..6], [3, 3, 4]);
        }
    }

    #[test]
    fn a_total_that_overflows_is_noticed() {
        let half = i64::MAX / 2 + 1;
        for at in [0, 99_999] {
            let mut lengths = vec![0; 100_000];
            (lengths[at], lengths[50_000]) = (half, half);
            for threads in [1, 2] {
                assert!(Desc::from_lengths(Array::from_slice(&lengths), threads).unwrap().is_none());
            }
        }
    }
}
