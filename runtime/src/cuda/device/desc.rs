//! Descriptors on a device.

use super::array::Array;
use super::bulk;
use super::driver::{Address, Gpu};
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
    /// On the device one word more stands behind them: the length of the longest row.
    offsets: Array,
    total: OnceLock<usize>,
    longest: OnceLock<usize>,
    lengths: OnceLock<Array>,
    seg_ids: OnceLock<Array>,
    /// Source place of its construction: a total that is too large is that statement's error.
    span: Span,
}

impl Desc {
    fn new(offsets: Array, span: Span) -> Desc {
        let (total, longest, lengths, seg_ids) = Default::default();
        Desc { offsets, total, longest, lengths, seg_ids, span }
    }

    /// From `rows + 1` offsets; those that stayed on this device are there.
    pub fn of_host(gpu: &Arc<Gpu>, offsets: array::Array) -> Desc {
        if let Some(Kept { there, longest, .. }) = offsets.held_by()
            && there.is_on(gpu)
        {
            return Desc::known(there.clone(), &offsets, *longest);
        }
        let longest = longest_row(&offsets);
        Desc::known(Array::of_host(gpu, offsets.clone()), &offsets, longest)
    }

    /// From offsets on the device that the host has, too.
    fn known(there: Array, here: &array::Array, longest: usize) -> Desc {
        let total = here.slice::<i64>().last().map_or(0, |n| *n as usize);
        Desc { total: total.into(), longest: longest.into(), ..Desc::new(there, Span::default()) }
    }

    /// Its offsets, which the host has, as an array of the host's that remembers where they are on the device.
    pub fn kept(&self, here: array::Array) -> array::Array {
        let longest = self.longest.get().copied().unwrap_or_else(|| longest_row(&here));
        array::Array::from_owner(Prim::I64, Kept { here, there: self.offsets.clone(), longest })
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
        let [total, longest] = cuda.fetch_words(last)?;
        // Sums stop at the largest number.
        if total >= i64::MAX as u64 {
            return Err(out_of_memory(OutOfMemory(u64::MAX), self.span));
        }
        self.longest.get_or_init(|| longest as usize);
        Ok(*self.total.get_or_init(|| total as usize))
    }

    /// Number of elements of the longest row.
    pub fn longest(&self, cuda: &Cuda) -> Result<usize, RuntimeError> {
        let total = self.total(cuda)?;
        Ok(self.longest.get().copied().unwrap_or(total))
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

fn longest_row(offsets: &array::Array) -> usize {
    offsets.slice::<i64>().windows(2).map(|w| (w[1] - w[0]) as usize).max().unwrap_or(0)
}

/// Offsets that are on a device as well.
struct Kept {
    here: array::Array,
    there: Array,
    /// Length of the longest row.
    longest: usize,
}

impl AsRef<[u8]> for Kept {
    fn as_ref(&self) -> &[u8] {
        self.here.bytes()
    }
}

/// Room for `rows + 1` offsets and the length of the longest row, of which the first offset and that length are zero.
fn begun(cuda: &Cuda, rows: usize, span: Span) -> Result<(Array, Address, Address), RuntimeError> {
    let offsets = cuda.fresh(Prim::I64, rows + 2, span)?;
    let at = address(&offsets, span)?;
    let longest = at + 8 * (rows as u64 + 1);
    cuda.gpu().set(at, 0, 8).and_then(|()| cuda.gpu().set(longest, 0, 8)).map_err(broken)?;
    Ok((offsets.with_len(rows + 1), at, longest))
}

/// From row lengths. If their sum is too large, that is found when it is first needed.
pub fn from_lengths(cuda: &Cuda, lengths: Array, span: Span) -> Result<Desc, RuntimeError> {
    let rows = lengths.len();
    let (offsets, at, longest) = begun(cuda, rows, span)?;
    let state = cuda.scratch(bulk::offsets_scratch(rows), span)?;
    bulk::offsets(cuda, at, address(&lengths, span)?, rows, (longest, address(&state, span)?))?;
    Ok(Desc { lengths: lengths.into(), ..Desc::new(offsets, span) })
}

/// `rows` rows of length `m`.
pub fn uniform(cuda: &Cuda, rows: usize, m: usize, span: Span) -> Result<Desc, RuntimeError> {
    let offsets = cuda.fresh(Prim::I64, rows + 1, span)?;
    bulk::multiples(cuda, address(&offsets, span)?, rows, m)?;
    Ok(Desc { total: (rows * m).into(), longest: m.into(), ..Desc::new(offsets, span) })
}

/// Rows of all descriptors in order.
pub fn concat(cuda: &Cuda, parts: &[Arc<Desc>], span: Span) -> Result<Desc, RuntimeError> {
    let rows: usize = parts.iter().map(|d| d.rows()).sum();
    let (offsets, mut at, longest) = begun(cuda, rows, span)?;
    for d in parts {
        bulk::append_offsets(cuda, at, address(d.offsets(), span)?, d.rows(), longest)?;
        at += 8 * d.rows() as u64;
    }
    Ok(Desc::new(offsets, span))
}
