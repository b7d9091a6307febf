//! Descriptors on a device.

use super::array::Array;
use super::bulk;
use super::driver::Gpu;
use super::run::{Cuda, address, broken};
use crate::array::{self, OutOfMemory};
use crate::check::{RuntimeError, Span};
use crate::exec::device::Held;
use crate::exec::out_of_memory;
use crate::prim::Prim;
use std::sync::{Arc, OnceLock};

/// A descriptor: its offsets, and what is derived from them when first needed. The host waits for the total once.
#[derive(Debug)]
pub struct Desc {
    offsets: Array,
    total: OnceLock<usize>,
    lengths: OnceLock<Array>,
    seg_ids: OnceLock<Array>,
    /// Where it was made: a total that is too large is that statement's error.
    span: Span,
}

impl Desc {
    fn new(offsets: Array, span: Span) -> Desc {
        let (total, lengths, seg_ids) = Default::default();
        Desc { offsets, total, lengths, seg_ids, span }
    }

    /// From `rows + 1` offsets.
    pub fn of_host(gpu: &Arc<Gpu>, offsets: array::Array) -> Desc {
        let total = offsets.slice::<i64>().last().map_or(0, |n| *n as usize);
        let d = Desc::new(Array::of_host(gpu, offsets), Span::default());
        Desc { total: OnceLock::from(total), ..d }
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
    pub fn total(&self, cuda: &Cuda) -> Result<usize, RuntimeError> {
        if let Some(total) = self.total.get() {
            return Ok(*total);
        }
        let last = self.offsets.element(self.rows()).map_err(|e| out_of_memory(e, self.span))?;
        let total = cuda.fetch_word(last)?;
        // Sums stop at the largest number.
        if total >= i64::MAX as u64 {
            return Err(out_of_memory(OutOfMemory(u64::MAX), self.span));
        }
        Ok(*self.total.get_or_init(|| total as usize))
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
    pub fn lengths(&self, cuda: &Cuda, span: Span) -> Result<Array, RuntimeError> {
        if let Some(a) = self.lengths.get() {
            return Ok(a.clone());
        }
        let a = cuda.fresh(Prim::I64, self.rows(), span)?;
        bulk::differences(cuda, address(&a, span)?, address(&self.offsets, span)?, self.rows())?;
        Ok(self.lengths.get_or_init(|| a).clone())
    }

    /// Row of each element.
    pub fn seg_ids(&self, cuda: &Cuda, span: Span) -> Result<Array, RuntimeError> {
        if let Some(a) = self.seg_ids.get() {
            return Ok(a.clone());
        }
        let total = self.total(cuda)?;
        let a = cuda.fresh(Prim::I64, total, span)?;
        bulk::rows_of(cuda, address(&a, span)?, address(&self.offsets, span)?, self.rows(), total)?;
        Ok(self.seg_ids.get_or_init(|| a).clone())
    }
}

/// From row lengths. If their sum is too large, that is found when it is first needed.
pub fn from_lengths(cuda: &Cuda, lengths: Array, span: Span) -> Result<Desc, RuntimeError> {
    let rows = lengths.len();
    let offsets = cuda.fresh(Prim::I64, rows + 1, span)?;
    let at = address(&offsets, span)?;
    cuda.gpu().set(at, 0, 8).map_err(broken)?;
    let state = cuda.scratch(bulk::offsets_scratch(rows), span)?;
    bulk::offsets(cuda, at, address(&lengths, span)?, rows, address(&state, span)?)?;
    Ok(Desc { lengths: OnceLock::from(lengths), ..Desc::new(offsets, span) })
}

/// `rows` rows of length `m`.
pub fn uniform(cuda: &Cuda, rows: usize, m: usize, span: Span) -> Result<Desc, RuntimeError> {
    let offsets = cuda.fresh(Prim::I64, rows + 1, span)?;
    bulk::multiples(cuda, address(&offsets, span)?, rows, m)?;
    Ok(Desc { total: OnceLock::from(rows * m), ..Desc::new(offsets, span) })
}

/// Rows of all descriptors in order.
pub fn concat(cuda: &Cuda, parts: &[Arc<Desc>], span: Span) -> Result<Desc, RuntimeError> {
    let rows: usize = parts.iter().map(|d| d.rows()).sum();
    let offsets = cuda.fresh(Prim::I64, rows + 1, span)?;
    let mut at = address(&offsets, span)?;
    cuda.gpu().set(at, 0, 8).map_err(broken)?;
    for d in parts {
        bulk::append_offsets(cuda, at, address(d.offsets(), span)?, d.rows())?;
        at += 8 * d.rows() as u64;
    }
    Ok(Desc::new(offsets, span))
}
