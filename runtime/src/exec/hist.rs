//! Histograms. If the destinations are small compared with the space, chunks update private copies (the first one
//! the destinations themselves), which are then combined in order; else one pass in order. Which of the two, and
//! the chunks, depend on sizes only; but where grouping does not change results there are no more chunks than threads,
//! and where the order does not either, neighbours go to different copies if those are short.

use super::Run;
use super::device::Results;
use super::frame::{Frame, HostValue};
use super::launch::Launch;
use super::out_of_memory;
use super::space::{Chunk, Chunks, Space};
use super::threads;
use crate::array::Array;
use crate::check::RuntimeError;
use crate::plan::{Fold, Operand};
use crate::prim::Scalar;

/// Private copies of the bins, at most. Where grouping changes results, large histograms have more, so that many ranks have some.
const COPIES: usize = 8;
/// Private copies of large histograms, at most.
const MOST: usize = 1 << 12;
/// Elements per bin and private copy of large histograms, at least: combining takes a 64th of the time of filling.
const PER_BIN: usize = 64;
/// Places up to which every other element goes to a copy.
const FEW: usize = 1 << 11;

impl Run<'_> {
    pub fn hist(
        &self,
        launch: &mut Launch,
        dests: &[Operand],
        (fold, exact, any_order): (&Fold, bool, bool),
        frame: &mut Frame,
    ) -> Results {
        launch.set_initial(fold, frame)?;
        let results = launch.destinations(0, dests, frame)?;
        let len = results.iter().map(Array::len).min().unwrap_or(0);
        let first = launch.kernel.layout.outputs_at() + 1;
        launch.env.copy_within(first..first + results.len(), first + results.len());
        let whole = launch.space.whole();
        if exact {
            self.in_any_grouping(launch, &whole, fold, frame, (len, any_order))?;
        } else {
            self.private_copies(launch, &chunks_of(&launch.space, len), fold, frame, (len, false))?;
        }
        Ok(results.into_iter().map(HostValue::Array).collect())
    }

    /// Updates the destinations from a part of the space, by an operator that is associative to the bit: chunks are those of the threads.
    pub fn in_any_grouping(
        &self,
        launch: &Launch,
        part: &Chunk,
        fold: &Fold,
        frame: &Frame,
        (len, any_order): (usize, bool),
    ) -> Result<(), RuntimeError> {
        let chunks = in_copies(&launch.space, part, len, COPIES.min(launch.threads));
        let both = any_order && len <= FEW && len <= (part.hi - part.lo) / 32;
        self.private_copies(launch, &chunks, fold, frame, (len, both))
    }

    /// Runs the chunks, with one table of the destinations each or with two; the very first are the destinations themselves.
    fn private_copies(
        &self,
        launch: &Launch,
        chunks: &[Chunk],
        fold: &Fold,
        frame: &Frame,
        (len, both): (usize, bool),
    ) -> Result<(), RuntimeError> {
        let tables = if both { 2 } else { 1 };
        let mut copies: Vec<Vec<Array>> = Vec::new();
        for _ in 1..chunks.len() * tables {
            let neutral = |x: &Operand| self.neutral_array(frame.scalar(*x)?, len, launch);
            copies.push(fold.neutral.iter().map(neutral).collect::<Result<_, _>>()?);
        }
        let addresses = launch.kernel.layout.outputs_at() + 1;
        threads::run(launch.threads, chunks.len(), |i| {
            let mut env = launch.env.clone();
            for (at, table) in [(0, i * tables), (fold.prims.len(), (i + 1) * tables - 1)] {
                if table > 0 {
                    write_addresses(&mut env[addresses + at..], &copies[table - 1]);
                }
            }
            launch.run_chunk(launch.kernel.code, &env, &chunks[i]);
        });
        launch.check()?;
        let all = Chunk { row_lo: 0, row_hi: 1, lo: 0, hi: len, part: None };
        for copy in &copies {
            let mut env = launch.env.clone();
            write_addresses(&mut env[launch.kernel.layout.partials_at()..], copy);
            launch.run_chunk(fold.combine, &env, &all);
        }
        launch.check()
    }

    fn neutral_array(&self, x: Scalar, len: usize, launch: &Launch) -> Result<Array, RuntimeError> {
        self.replicate(len, x).map_err(|e| out_of_memory(e, launch.span))
    }
}

/// Chunks of a part with private copies of `len` bins: at most `copies`.
fn in_copies(space: &Space, part: &Chunk, len: usize, copies: usize) -> Chunks {
    let elements = part.hi - part.lo;
    let one = elements < 4 * space.part() || len * copies > elements / 2;
    space.even_chunks(part, if one { 1 } else { copies })
}

/// The chunks of a space that are combined separately, where that changes results.
pub fn chunks_of(space: &Space, len: usize) -> Chunks {
    let large = space.total / (4 * space.part()).max(PER_BIN * len);
    let more = if large > COPIES { 1 << large.ilog2() } else { COPIES };
    in_copies(space, &space.whole(), len, more.min(MOST))
}

pub fn write_addresses(words: &mut [u64], arrays: &[Array]) {
    for (word, a) in words.iter_mut().zip(arrays) {
        *word = a.as_ptr() as u64;
    }
}
