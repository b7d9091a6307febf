//! Descriptors: the row lengths of a ragged dimension.

use super::threads;
use crate::array::{Array, OutOfMemory};
use crate::prim::Prim;
use std::sync::OnceLock;

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

    /// From row lengths: an exclusive scan. `None`: the total overflows.
    pub fn from_lengths(lengths: Array) -> Result<Option<Desc>, OutOfMemory> {
        let mut offsets = Array::try_uninit(Prim::I64, lengths.len() + 1)?;
        let out = offsets.slice_mut::<i64>();
        let mut sum = 0i64;
        for (o, n) in out.iter_mut().zip(lengths.slice::<i64>()) {
            *o = sum;
            let Some(next) = sum.checked_add(*n) else { return Ok(None) };
            sum = next;
        }
        out[lengths.len()] = sum;
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

    /// Whether the lengths have been made.
    pub fn has_lengths(&self) -> bool {
        self.lengths.get().is_some()
    }

    /// Whether the rows of elements have been made.
    pub fn has_seg_ids(&self) -> bool {
        self.seg_ids.get().is_some()
    }

    /// Length of each row.
    pub fn lengths(&self) -> Result<Array, OutOfMemory> {
        if let Some(a) = self.lengths.get() {
            return Ok(a.clone());
        }
        let mut lengths = Array::try_uninit(Prim::I64, self.rows())?;
        for (n, o) in lengths.slice_mut::<i64>().iter_mut().zip(self.offsets.slice::<i64>().windows(2)) {
            *n = o[1] - o[0];
        }
        Ok(self.lengths.get_or_init(|| lengths).clone())
    }

    /// Row of each element.
    pub fn seg_ids(&self, threads: usize) -> Result<Array, OutOfMemory> {
        if let Some(a) = self.seg_ids.get() {
            return Ok(a.clone());
        }
        let mut ids = Array::try_uninit(Prim::I64, self.total())?;
        let offsets = self.offsets.slice::<i64>();
        threads::fill(threads, ids.slice_mut::<i64>(), |start, part| {
            let mut row = offsets.partition_point(|o| *o as usize <= start) - 1;
            let mut at = 0;
            while at < part.len() {
                let end = (offsets[row + 1] as usize - start).min(part.len());
                part[at..end].fill(row as i64);
                at = end;
                row += 1;
            }
        });
        Ok(self.seg_ids.get_or_init(|| ids).clone())
    }
}
