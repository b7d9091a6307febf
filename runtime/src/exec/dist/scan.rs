//! Scans along rows. Of a giant row that lies on several ranks, the parts are reduced first; all ranks tell each other the results, and each
//! computes with what prefix its part begins.

use super::kernel::Cut;
use super::{Dist, lost};
use crate::check::RuntimeError;
use crate::exec::cpu::Cpu;
use crate::exec::device::Results;
use crate::exec::frame::Frame;
use crate::exec::launch::Arrays;
use crate::exec::space::Chunk;
use crate::plan::{CodeId, Fold, Out};

/// State of a scan where a rank begins.
#[derive(PartialEq)]
enum Before {
    /// A row begins.
    Nothing,
    /// Bits of the prefix of the row that goes on.
    Prefix(Vec<u64>),
    /// A check has failed at an earlier position: what this rank finds is of no use.
    Failed,
}

impl Cut<'_, '_> {
    pub fn scan(
        &mut self,
        fold: &Fold,
        codes: (CodeId, CodeId),
        outs: Option<&[Out]>,
        frame: &mut Frame<Cpu>,
    ) -> Results<Dist> {
        let arrays = self.scan_arrays(fold, codes, outs, frame)?;
        match outs {
            Some(outs) => self.by_position(arrays, outs),
            None => {
                let outs: Vec<Out> = arrays.iter().map(|a| Out::Row(a.prim(), 1)).collect();
                self.by_position(arrays, &outs)
            }
        }
    }

    /// Prefixes, or what is made of them: arrays of which this rank has its positions.
    pub fn scan_arrays(
        &mut self,
        fold: &Fold,
        codes: (CodeId, CodeId),
        outs: Option<&[Out]>,
        frame: &mut Frame<Cpu>,
    ) -> Result<Arrays, RuntimeError> {
        let outputs = self.scan_outputs(fold, outs, frame);
        let bytes = 8 * self.launch.space.total;
        let arrays = self.run.device.settle(bytes, outputs)?;
        let before = self.prefix_before(fold, codes.0)?;
        let own = self.own();
        if own.row_lo < own.row_hi && before != Before::Failed {
            let chunks = self.launch.space.row_chunks_in(&own, self.launch.threads);
            let before = if let Before::Prefix(bits) = &before { Some(&bits[..]) } else { None };
            self.launch.scan_all(fold, codes, &chunks, before);
        }
        self.agree(0, Ok(arrays))
    }

    fn scan_outputs(
        &mut self,
        fold: &Fold,
        outs: Option<&[Out]>,
        frame: &mut Frame<Cpu>,
    ) -> Result<Arrays, RuntimeError> {
        self.launch.set_initial(fold, frame)?;
        match outs {
            Some(outs) => self.launch.all_outputs(outs, frame),
            None => {
                let prims: Vec<_> = fold.prims.iter().chain(&fold.elems).copied().collect();
                self.launch.outputs(0, &prims, self.launch.space.total)
            }
        }
    }

    /// The giant row in which a part begins, if it began before.
    fn continued(&self, part: &Chunk) -> Option<usize> {
        let space = &self.launch.space;
        (part.lo < part.hi && part.lo > space.start(part.row_lo)).then_some(part.row_lo)
    }

    /// The parts of giant rows that lie on several ranks, by rank.
    fn spread(&self) -> Vec<Vec<Chunk>> {
        let rows: Vec<usize> = self.parts.iter().filter_map(|p| self.continued(p)).collect();
        let of = |p: &Chunk| {
            let chunks = self.launch.space.row_chunks_in(p, 1).into_iter();
            chunks.filter(|c| c.part.is_some() && rows.contains(&c.row_lo)).collect()
        };
        self.parts.iter().map(of).collect()
    }

    /// The prefixes with which the first part of this rank begins, if it is one of a row that began on another rank.
    fn prefix_before(&self, fold: &Fold, reduce: CodeId) -> Result<Before, RuntimeError> {
        let spread = self.spread();
        if spread.iter().all(Vec::is_empty) {
            return Ok(Before::Nothing);
        }
        let (me, k) = (self.ranks().rank(), fold.prims.len());
        // A word more says whether a check has failed.
        let reduced = self.launch.reduce_parts(fold, reduce, &spread[me]).into_iter();
        let own = reduced.flat_map(|bits| match bits {
            Some(bits) => [bits, vec![0]].concat(),
            None => [vec![0; k], vec![1]].concat(),
        });
        let own: Vec<u8> = own.flat_map(u64::to_le_bytes).collect();
        let counts: Vec<usize> = spread.iter().map(|parts| parts.len() * (k + 1) * 8).collect();
        let all = self.ranks().all_gather_counted(&own, &counts).map_err(lost)?;
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |n, b| n << 8 | u64::from(*b));
        let bits: Vec<u64> = all.chunks_exact(8).map(number).collect();
        let start = self.own().lo;
        let parts = spread.iter().flatten().zip(bits.chunks(k + 1));
        let earlier: Vec<(&Chunk, &[u64])> = parts.filter(|(p, _)| p.lo < start).collect();
        if earlier.iter().any(|(_, bits)| bits[k] != 0) {
            return Ok(Before::Failed);
        }
        let Some(row) = self.continued(&self.own()) else { return Ok(Before::Nothing) };
        let of_row = earlier.iter().filter(|(p, _)| p.row_lo == row).map(|(_, bits)| bits[..k].to_vec());
        let of_row: Vec<Vec<u64>> = of_row.collect();
        Ok(Before::Prefix(self.launch.prefix_of_parts(fold, row, &of_row)))
    }
}
