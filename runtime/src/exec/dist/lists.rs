//! Lists of indices and values, on their way to the ranks that have the elements.

use super::lost;
use crate::array::Array;
use crate::check::RuntimeError;
use crate::ranks::Ranks;
use std::ops::Range;

/// Indices and what is to be done with the elements there, at some positions.
pub struct List<'a> {
    pub index: &'a Array,
    pub values: &'a [Array],
    /// The positions of this rank.
    pub positions: Range<usize>,
}

/// Bytes that came from all ranks, in the order of positions.
pub struct Received {
    bytes: Vec<Vec<u8>>,
    /// Bytes of a value of each array.
    sizes: Vec<usize>,
}

impl List<'_> {
    /// The index at a position, if it is inside an array of `len`.
    fn index_at(&self, pos: usize, len: usize) -> Option<usize> {
        // SAFETY: the position is this rank's, at which the kernel has written an element.
        let index = unsafe { *(self.index.as_ptr() as *const i64).add(pos) };
        usize::try_from(index).ok().filter(|i| *i < len)
    }

    /// An index with the values at a position, as bytes.
    fn write(&self, index: usize, pos: usize, to: &mut Vec<u8>) {
        to.extend((index as u64).to_le_bytes());
        for a in self.values {
            let size = a.prim().size();
            // SAFETY: as above.
            to.extend(unsafe { std::slice::from_raw_parts(a.as_ptr().add(pos * size), size) });
        }
    }

    fn sizes(&self) -> Vec<usize> {
        self.values.iter().map(|a| a.prim().size()).collect()
    }

    /// Everything to the ranks that have the elements: those between two of `cuts`.
    pub fn to_owners(&self, ranks: &Ranks, cuts: &[usize]) -> Result<Received, RuntimeError> {
        let len = cuts[cuts.len() - 1];
        let mut send = vec![Vec::new(); ranks.size()];
        for pos in self.positions.clone() {
            if let Some(index) = self.index_at(pos, len) {
                let owner = cuts.partition_point(|c| *c <= index) - 1;
                self.write(index, pos, &mut send[owner]);
            }
        }
        let bytes = ranks.exchange_unknown(send).map_err(lost)?;
        Ok(Received { bytes, sizes: self.sizes() })
    }

    /// Sends the last value for each index to all ranks.
    pub fn last_to_all(&self, ranks: &Ranks, len: usize) -> Result<Received, RuntimeError> {
        let mut last: Vec<Option<usize>> = vec![None; len];
        for pos in self.positions.clone() {
            if let Some(index) = self.index_at(pos, len) {
                last[index] = Some(pos);
            }
        }
        let mut own = Vec::new();
        for (index, pos) in last.into_iter().enumerate() {
            if let Some(pos) = pos {
                self.write(index, pos, &mut own);
            }
        }
        let bytes = ranks.exchange_unknown(vec![own; ranks.size()]).map_err(lost)?;
        Ok(Received { bytes, sizes: self.sizes() })
    }
}

impl Received {
    /// Calls `each` with all indices and the bytes of their values, in the order of positions.
    pub fn for_each(&self, mut each: impl FnMut(usize, &[&[u8]])) {
        let size = 8 + self.sizes.iter().sum::<usize>();
        let mut values: Vec<&[u8]> = Vec::with_capacity(self.sizes.len());
        for item in self.bytes.iter().flat_map(|b| b.chunks_exact(size)) {
            let index = u64::from_le_bytes(std::array::from_fn(|i| item[i])) as usize;
            values.clear();
            let mut rest = &item[8..];
            for n in &self.sizes {
                let (value, after) = rest.split_at(*n);
                values.push(value);
                rest = after;
            }
            each(index, &values);
        }
    }
}
