//! Reductions along rows. The parts of a giant row are reduced separately and their results combined in order.

use super::device::Results;
use super::frame::{Frame, HostValue};
use super::launch::{Env, Launch, as_row};
use super::space::Chunk;
use super::threads;
use crate::array::Array;
use crate::check::RuntimeError;
use crate::plan::Fold;

impl Launch<'_> {
    pub fn reduce(&mut self, fold: &Fold, frame: &Frame) -> Results {
        self.set_initial(fold, frame)?;
        let mut results = self.outputs(0, &fold.prims, self.space.rows)?;
        results.extend(self.outputs(fold.prims.len(), &fold.elems, self.space.total)?);
        if self.contract(&results[0])? {
            return Ok(results.into_iter().map(HostValue::Array).collect());
        }
        let chunks = self.space.row_chunks(self.threads);
        let partials = self.partials(fold, &chunks)?;
        threads::run(self.threads, chunks.len(), |i| {
            let p = &chunks[i];
            match p.part {
                None => self.run_chunk(self.kernel.code, &self.env, p),
                Some(part) => self.run_chunk(self.kernel.code, &self.part_env(&partials, part, p.row_lo), p),
            };
        });
        self.check()?;
        self.combine(fold, &chunks, &partials)?;
        Ok(results.into_iter().map(HostValue::Array).collect())
    }

    /// One value per part, if there are parts, and combined result, with their addresses in the partials words.
    fn partials(&mut self, fold: &Fold, chunks: &[Chunk]) -> Result<Vec<Array>, RuntimeError> {
        let parts = chunks.iter().filter(|p| p.part.is_some()).count();
        if parts == 0 {
            return Ok(Vec::new());
        }
        let at = self.kernel.layout.partials_at();
        let mut partials = Vec::new();
        for (i, p) in fold.prims.iter().enumerate() {
            let a = self.alloc(*p, parts)?;
            self.env[at + i] = a.as_ptr() as u64;
            partials.push(a);
        }
        Ok(partials)
    }

    /// The environment in which the result of `row` goes to place `part` of the partials.
    fn part_env(&self, partials: &[Array], part: usize, row: usize) -> Env {
        let mut env = self.env.clone();
        let at = self.kernel.layout.outputs_at();
        for (i, a) in partials.iter().enumerate() {
            let size = a.prim().size();
            env[at + i] = as_row(a.as_ptr().wrapping_add(part * size), row, size);
        }
        env
    }

    /// Combines the parts of each giant row.
    fn combine(&self, fold: &Fold, chunks: &[Chunk], partials: &[Array]) -> Result<(), RuntimeError> {
        if partials.is_empty() {
            return Ok(());
        }
        let parts: Vec<&Chunk> = chunks.iter().filter(|p| p.part.is_some()).collect();
        for row in parts.chunk_by(|a, b| a.row_lo == b.row_lo) {
            let (first, last) = (row[0], row[row.len() - 1]);
            let (Some(lo), Some(hi)) = (first.part, last.part) else { continue };
            let all = Chunk { row_lo: first.row_lo, row_hi: first.row_lo + 1, lo, hi: hi + 1, part: None };
            self.run_chunk(fold.combine, &self.env, &all);
        }
        self.check()
    }
}
