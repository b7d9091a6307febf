//! Privatised histograms. Each chunk of positions updates a private copy of the bins; a reduce-scatter, which combines copies in the order of chunks, gives each rank
//! the bins between its cuts. A chunk that lies on several ranks is a pipeline: each rank updates the copy with its positions and sends it to the next.

use super::array::{Writable, gather_each, of_each, set_each};
use super::hist::{combine, set_destinations, with_destinations};
use super::kernel::Cut;
use super::{Shared, even_cuts, lost};
use crate::array::Array;
use crate::check::RuntimeError;
use crate::exec::cpu::Cpu;
use crate::exec::device::Held;
use crate::exec::frame::Frame;
use crate::exec::launch::Arrays;
use crate::exec::space::{Chunk, Space};
use crate::exec::{out_of_memory, threads};
use crate::plan::Fold;
use std::ops::Range;

/// Ranks up to which a message to each takes no longer than a collective operation in steps.
const FEW_RANKS: usize = 16;
/// Bytes that take as long as the latency of a message: 2 microseconds at 10 gigabytes a second.
const LATENCY: usize = 20_000;

/// Part of a chunk on one rank.
struct Piece {
    rank: usize,
    positions: Chunk,
}

/// Chunk with a part on this rank, and its private copy of the bins.
struct Filling<'a> {
    pieces: &'a [Piece],
    /// Number of this rank's piece.
    number: usize,
    copy: Arrays,
}

impl Filling<'_> {
    /// True if a later rank has a part of the chunk, too.
    fn goes_on(&self) -> bool {
        self.number + 1 < self.pieces.len()
    }
}

/// Schedule of a privatised histogram.
pub struct Bins {
    /// Number of bins.
    len: usize,
    /// Bytes of a bin.
    width: usize,
    /// Bins that each rank combines.
    cuts: Vec<usize>,
    /// An all-gather takes the place of the reduce-scatter: every rank combines all bins.
    is_replicated: bool,
    /// Chunks in order, each in the order of ranks.
    chunks: Vec<Vec<Piece>>,
}

impl Bins {
    /// Of chunks of a kernel's positions, and arrays that it updates.
    pub fn new(chunks: &[Chunk], cut: &Cut, dests: &[Shared]) -> Bins {
        let len = dests.iter().map(Held::len).min().unwrap_or(0);
        let width: usize = dests.iter().map(|d| d.prim().size()).sum();
        let pieces = |c: &Chunk| pieces(c, &cut.parts, &cut.launch.space);
        let chunks: Vec<Vec<Piece>> = chunks.iter().map(pieces).filter(|p| !p.is_empty()).collect();
        let p = cut.ranks().size();
        let is_latency_bound = p > FEW_RANKS && chunks.len() * width * len <= p * LATENCY;
        let is_replicated = is_latency_bound && !cut.run.device.is_large(len);
        Bins { len, width, cuts: even_cuts(len, p), is_replicated, chunks }
    }

    /// Runs the kernel, by an operator that may be associative to the bit (`exact`), and commutative, too (`any_order`).
    pub fn histogram(
        &self,
        mut cut: Cut,
        (fold, exact, any_order): (&Fold, bool, bool),
        frame: &Frame<Cpu>,
        dests: Vec<Shared>,
    ) -> Result<Vec<Shared>, RuntimeError> {
        cut.launch.set_initial(fold, frame)?;
        let begun = self.begin(&cut, (fold, exact), frame, &dests);
        let elements = self.chunks.len().saturating_mul(self.len * dests.len());
        let begun = cut.agree(elements, begun)?;
        let filled = match exact {
            true => self.fill_part(&mut cut, (fold, any_order), frame, begun),
            false => self.fill(&cut, begun),
        };
        let filled = cut.agree(elements, filled)?;
        cut.run.count(|c| *c += cut.launch.base_cost());
        let received = self.exchange(&cut, &filled)?;
        drop(filled);
        let made = self.combine(&mut cut, (fold, exact), &received, dests)?;
        Ok(made.into_iter().map(Shared::updated).collect())
    }

    /// Combines private copies, which came as bytes, with the destinations.
    fn combine(
        &self,
        cut: &mut Cut,
        (fold, exact): (&Fold, bool),
        received: &[Vec<u8>],
        dests: Vec<Shared>,
    ) -> Result<Vec<Writable>, RuntimeError> {
        let (here, device) = (self.here(cut), &cut.run.device);
        let copy = dests.iter().map(|d| Array::try_part(d.prim(), self.len, here.len()));
        let copy = copy.collect::<Result<Arrays, _>>().map_err(|e| out_of_memory(e, cut.span));
        let copy = device.settle(8 * self.len * dests.len(), copy)?;
        let is_small = !device.is_large(self.len);
        let mut made = Vec::new();
        for dest in dests {
            made.push(cut.run.for_update(dest, self.len, is_small, cut.span)?);
        }
        let arrays: Arrays = made.iter().map(|m| m.0.clone()).collect();
        set_destinations(&mut cut.launch, self.len, &arrays);
        let size = (here.len() * self.width).max(1);
        for (number, bytes) in received.iter().flat_map(|bytes| bytes.chunks_exact(size)).enumerate() {
            if number == 0 && !exact {
                set_each(&arrays, here.clone(), bytes);
            } else {
                set_each(&copy, here.clone(), bytes);
                combine(&cut.launch, fold, &copy, here.clone());
            }
        }
        cut.agree(0, Ok(()))?;
        if is_small && !self.is_replicated {
            gather_each(cut.ranks(), &arrays, &self.cuts)?;
        }
        Ok(made)
    }

    /// Bins that this rank combines.
    fn here(&self, cut: &Cut) -> Range<usize> {
        let me = cut.ranks().rank();
        if self.is_replicated { 0..self.len } else { self.cuts[me]..self.cuts[me + 1] }
    }

    /// Private copies for the pieces on this rank, in the order of chunks: of neutral elements, but the first chunk's of the destinations unless the operator is `exact`.
    fn begin(
        &self,
        cut: &Cut,
        (fold, exact): (&Fold, bool),
        frame: &Frame<Cpu>,
        dests: &[Shared],
    ) -> Result<Vec<Arrays>, RuntimeError> {
        let ranks = cut.ranks();
        let first = self.chunks.first().map(|pieces| pieces[0].rank).filter(|_| !exact);
        if let Some(first) = first {
            let needed: Vec<_> =
                (0..ranks.size()).map(|r| 0..if r == first { self.len } else { 0 }).collect();
            dests.iter().try_for_each(|d| d.fetch(ranks, &needed))?;
        }
        let alone = cut.run.alone();
        let mut begun = Vec::new();
        for (c, pieces) in self.chunks.iter().enumerate() {
            for (k, _) in pieces.iter().enumerate().filter(|(_, p)| p.rank == ranks.rank()) {
                let is_first = c == 0 && k == 0 && !exact;
                let begin = |(x, dest): (&_, &Shared)| {
                    let begun = match is_first {
                        true => dest.array().try_slice(0, self.len),
                        false => alone.replicate(self.len, frame.scalar(*x)?),
                    };
                    begun.map_err(|e| out_of_memory(e, cut.span))
                };
                begun.push(fold.neutral.iter().zip(dests).map(begin).collect::<Result<Arrays, _>>()?);
            }
        }
        Ok(begun)
    }

    /// Updates this rank's copy, by an exact operator, with all positions of its part.
    fn fill_part(
        &self,
        cut: &mut Cut,
        (fold, any_order): (&Fold, bool),
        frame: &Frame<Cpu>,
        begun: Vec<Arrays>,
    ) -> Result<Vec<Arrays>, RuntimeError> {
        let own = cut.own();
        if let Some(copy) = begun.first() {
            set_destinations(&mut cut.launch, self.len, copy);
            cut.run.alone().in_any_grouping(&cut.launch, &own, fold, frame, (self.len, any_order))?;
        }
        Ok(begun)
    }

    /// Updates the private copies of this rank's pieces; returns those of the chunks that end here, in order.
    fn fill(&self, cut: &Cut, begun: Vec<Arrays>) -> Result<Vec<Arrays>, RuntimeError> {
        let me = cut.ranks().rank();
        let number = |pieces: &Vec<Piece>| pieces.iter().position(|p| p.rank == me);
        let own = self.chunks.iter().filter_map(|pieces| Some((pieces, number(pieces)?)));
        let own = own.zip(begun).map(|((pieces, number), copy)| Filling { pieces, number, copy });
        let own: Vec<Filling> = own.collect();
        // What the next rank waits for comes first, then what the one after it may wait for.
        let begun = own.last().filter(|f| f.number == 0 && f.goes_on());
        let continued = own.first().filter(|f| f.number > 0);
        self.run(cut, begun.as_slice());
        self.pass_on(cut, begun, continued)?;
        self.run(cut, continued.as_slice());
        self.pass_on(cut, continued.filter(|f| f.goes_on()), None)?;
        let others: Vec<&Filling> = own.iter().filter(|f| f.number == 0 && !f.goes_on()).collect();
        self.run(cut, &others);
        Ok(own.into_iter().filter(|f| !f.goes_on()).map(|f| f.copy).collect())
    }

    /// Updates these copies with this rank's positions, in parallel.
    fn run(&self, cut: &Cut, pieces: &[&Filling]) {
        let launch = &cut.launch;
        threads::run(launch.threads, pieces.len(), |i| {
            let f = pieces[i];
            let env = with_destinations(launch, self.len, &f.copy);
            launch.run_chunk(launch.kernel.code, &env, &f.pieces[f.number].positions);
        });
    }

    /// Step of the pipeline: sends a copy to the rank with the next piece, and receives one from that with the piece before.
    fn pass_on(&self, cut: &Cut, to: Option<&Filling>, from: Option<&Filling>) -> Result<(), RuntimeError> {
        let p = cut.ranks().size();
        let (mut send, mut counts) = (vec![Vec::new(); p], vec![0; p]);
        if let Some(f) = to {
            send[f.pieces[f.number + 1].rank] = of_each(&f.copy, 0..self.len);
        }
        let before = from.map(|f| (f.pieces[f.number - 1].rank, &f.copy));
        if let Some((rank, _)) = before {
            counts[rank] = self.len * self.width;
        }
        let received = cut.ranks().exchange_known(send, &counts).map_err(lost)?;
        before.iter().for_each(|(rank, copy)| set_each(copy, 0..self.len, &received[*rank]));
        Ok(())
    }

    /// Exchange of a reduce-scatter: this rank's bins of all private copies, in the order of chunks, as bytes.
    fn exchange(&self, cut: &Cut, own: &[Arrays]) -> Result<Vec<Vec<u8>>, RuntimeError> {
        let (here, ranks) = (self.here(cut), cut.ranks());
        let mut counts = vec![0; ranks.size()];
        let ends = self.chunks.iter().filter_map(|pieces| pieces.last());
        ends.for_each(|p| counts[p.rank] += here.len() * self.width);
        let bins = |bins: Range<usize>| of_each(own.iter().flatten(), bins);
        let received = if self.is_replicated {
            ranks.all_gather_counted(&bins(here), &counts).map(|all| vec![all])
        } else {
            ranks.exchange_known(self.cuts.windows(2).map(|c| bins(c[0]..c[1])).collect(), &counts)
        };
        received.map_err(lost)
    }
}

/// Parts of a chunk on the ranks that have some, in order.
fn pieces(chunk: &Chunk, parts: &[Chunk], space: &Space) -> Vec<Piece> {
    let on = |(rank, part): (usize, &Chunk)| {
        let (lo, hi) = (chunk.lo.max(part.lo), chunk.hi.min(part.hi));
        (lo < hi).then(|| Piece { rank, positions: space.chunk(lo..hi) })
    };
    parts.iter().enumerate().filter_map(on).collect()
}
