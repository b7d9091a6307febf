//! Reductions along rows: the parts of giant rows are reduced where they are, and combined in order by the rank where the row begins.

use super::Shared;
use super::array::{gather_each, of_each, set_each};
use super::kernel::Cut;
use crate::array::Array;
use crate::check::RuntimeError;
use crate::exec::cpu::Cpu;
use crate::exec::device::Results;
use crate::exec::frame::{Frame, HostValue};
use crate::exec::launch::{Arrays, as_row};
use crate::exec::space::Chunk;
use crate::exec::threads;
use crate::plan::Fold;

impl Cut<'_, '_> {
    pub fn reduce(&mut self, fold: &Fold, frame: &Frame<Cpu>) -> Results<super::Dist> {
        let results = self.reduce_rows(fold, frame);
        // The results, and where each element has one, those.
        let (rows, total) = (self.launch.space.rows, self.launch.space.total);
        let elements = fold.prims.len() * (rows + self.ranks().size()) + fold.elems.len() * total;
        let (arrays, own) = self.agree(elements, results)?;
        let (combined, parts) = self.combine(fold, own)?;
        self.agree(0, combined)?;
        let results: Vec<HostValue> = arrays.iter().cloned().map(HostValue::Array).collect();
        self.run.count(|c| *c += self.launch.cost(&results));
        drop(results);
        let row_cuts = self.row_cuts();
        // Then all ranks have combined its parts.
        let one = self.launch.space.rows == 1 && parts > 0;
        let k = fold.prims.len();
        let shared = |(i, a): (usize, Array)| match i < k {
            true if one => a.into(),
            true => Shared::distributed(a, row_cuts.clone()),
            false => Shared::distributed(a, self.position_cuts(1)),
        };
        Ok(arrays.into_iter().enumerate().map(shared).map(HostValue::Array).collect())
    }

    /// Reduces this rank's rows and parts of giant rows; the results, and those of the parts.
    fn reduce_rows(&mut self, fold: &Fold, frame: &Frame<Cpu>) -> Result<(Arrays, Vec<Array>), RuntimeError> {
        let own = self.own();
        let launch = &mut self.launch;
        launch.set_initial(fold, frame)?;
        let mut results = launch.outputs(0, &fold.prims, launch.space.rows)?;
        results.extend(launch.outputs(fold.prims.len(), &fold.elems, launch.space.total)?);
        // The executor does not reduce parts of the rows of products of matrices.
        if self.contract_own(&results[0], own.row_lo..own.row_hi) {
            return Ok((results, Vec::new()));
        }
        let launch = &self.launch;
        let chunks = launch.space.row_chunks_in(&own, launch.threads);
        let parts = chunks.iter().filter(|p| p.part.is_some()).count();
        let partials = fold.prims.iter().map(|p| launch.alloc(*p, parts));
        let partials = partials.collect::<Result<Vec<Array>, RuntimeError>>()?;
        threads::run(launch.threads, chunks.len(), |i| {
            let p = &chunks[i];
            match p.part {
                None => launch.run_chunk(launch.kernel.code, &launch.env, p),
                Some(part) => {
                    let mut env = launch.env.clone();
                    let words = &mut env[launch.kernel.layout.outputs_at()..];
                    for (word, a) in words.iter_mut().zip(&partials) {
                        let size = a.prim().size();
                        *word = as_row(a.as_ptr().wrapping_add(part * size), p.row_lo, size);
                    }
                    launch.run_chunk(launch.kernel.code, &env, p)
                }
            };
        });
        Ok((results, partials))
    }

    /// Combines the parts of each giant row, whose results all ranks tell each other; how many parts there are.
    fn combine(
        &mut self,
        fold: &Fold,
        own: Vec<Array>,
    ) -> Result<(Result<(), RuntimeError>, usize), RuntimeError> {
        let space = &self.launch.space;
        if own.is_empty() {
            return Ok((Ok(()), 0));
        }
        let of = |p: &Chunk| -> Vec<Chunk> {
            space.row_chunks_in(p, 1).into_iter().filter(|c| c.part.is_some()).collect()
        };
        let parts: Vec<Vec<Chunk>> = self.parts.iter().map(of).collect();
        let number = parts.iter().map(Vec::len).sum::<usize>();
        if number == 0 {
            return Ok((Ok(()), 0));
        }
        let ends = parts.iter().scan(0, |end, of| {
            *end += of.len();
            Some(*end)
        });
        let cuts: Vec<usize> = std::iter::once(0).chain(ends).collect();
        let me = self.ranks().rank();
        let partials: Vec<Array> = own.iter().map(|a| Array::uninit(a.prim(), number)).collect();
        set_each(&partials, cuts[me]..cuts[me + 1], &of_each(&own, 0..cuts[me + 1] - cuts[me]));
        gather_each(self.ranks(), &partials, &cuts)?;
        let at = self.launch.kernel.layout.partials_at();
        for (word, a) in self.launch.env[at..].iter_mut().zip(&partials) {
            *word = a.as_ptr() as u64;
        }
        let parts: Vec<Chunk> = parts.into_iter().flatten().collect();
        let row_cuts = self.row_cuts();
        let me = self.ranks().rank();
        let is_own =
            |row: usize| self.launch.space.rows == 1 || (row_cuts[me]..row_cuts[me + 1]).contains(&row);
        let mut first = 0;
        for row in parts.chunk_by(|a, b| a.row_lo == b.row_lo) {
            let (row_lo, row_hi) = (row[0].row_lo, row[0].row_lo + 1);
            let all = Chunk { row_lo, row_hi, lo: first, hi: first + row.len(), part: None };
            if is_own(row_lo) {
                self.launch.run_chunk(fold.combine, &self.launch.env, &all);
            }
            first += row.len();
        }
        Ok((self.launch.check(), number))
    }
}
