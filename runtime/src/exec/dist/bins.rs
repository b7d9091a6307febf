//! Histograms with few places. Each chunk of positions fills destinations of its own; then each rank combines some elements of those of all chunks, in
//! order. A chunk that lies on several ranks is filled by one after the other: the earlier one sends what it has to the next.

use super::array::{of_each, set_each};
use super::hist::{Grouping, combine, set_destinations, with_destinations};
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

/// Ranks up to which a message to each of them takes no longer than an exchange among all in steps.
const FEW_RANKS: usize = 16;
/// Bytes that take as long as a message: 2 microseconds at 10 gigabytes a second.
const LIKE_MESSAGE: usize = 20_000;

/// The positions of a chunk that lie on one rank.
struct Piece {
    rank: usize,
    positions: Chunk,
}

/// A chunk that is being filled on this rank.
struct Filling<'a> {
    pieces: &'a [Piece],
    /// Of this rank's piece.
    number: usize,
    copy: Arrays,
}

impl Filling<'_> {
    /// True if the chunk does not end on this rank.
    fn goes_on(&self) -> bool {
        self.number + 1 < self.pieces.len()
    }
}

/// A histogram with `len` places.
pub struct Bins {
    len: usize,
    /// The elements that each rank combines, unless each combines all.
    cuts: Vec<usize>,
    /// All ranks get all copies.
    is_for_all: bool,
    /// Per chunk, its pieces in order.
    chunks: Vec<Vec<Piece>>,
}

impl Bins {
    /// With `width` bytes for each place.
    pub fn new(chunks: &[Chunk], cut: &Cut, (len, width): (usize, usize)) -> Bins {
        let pieces = |c: &Chunk| pieces(c, &cut.parts, &cut.launch.space);
        let chunks: Vec<Vec<Piece>> = chunks.iter().map(pieces).filter(|p| !p.is_empty()).collect();
        let p = cut.ranks().size();
        let is_tiny = chunks.len() * width * len <= p * LIKE_MESSAGE;
        let is_for_all = p > FEW_RANKS && is_tiny && !cut.run.device.is_large(len);
        Bins { len, cuts: even_cuts(len, p), is_for_all, chunks }
    }

    /// The destinations with what all positions say.
    pub fn fill_and_combine(
        &self,
        mut cut: Cut,
        (fold, grouping): (&Fold, Grouping),
        frame: &Frame<Cpu>,
        dests: Vec<Shared>,
    ) -> Result<Vec<Shared>, RuntimeError> {
        cut.launch.set_initial(fold, frame)?;
        let exact = grouping.exact;
        let begun = self.begin(&cut, (fold, exact), frame, &dests);
        let elements = self.chunks.len().saturating_mul(self.len * dests.len());
        let begun = cut.agree(elements, begun)?;
        let filled = match exact {
            true => self.fill_part(&mut cut, (fold, grouping.any_order), frame, begun),
            false => self.fill(&cut, begun),
        };
        let filled = cut.agree(elements, filled)?;
        cut.run.count(|c| *c += cut.launch.base_cost());
        let sizes: usize = dests.iter().map(|d| d.prim().size()).sum();
        let received = self.exchanged(&cut, &filled, sizes)?;
        drop(filled);
        let here = self.here(&cut);
        let copy = dests.iter().map(|d| Array::try_part(d.prim(), self.len, here.len()));
        let copy = copy.collect::<Result<Arrays, _>>().map_err(|e| out_of_memory(e, cut.span));
        let copy = cut.run.device.settle(8 * self.len * dests.len(), copy)?;
        let is_small = !cut.run.device.is_large(self.len);
        let mut made = Vec::new();
        for dest in dests {
            made.push(cut.run.for_update(dest, self.len, is_small, cut.span)?);
        }
        let arrays: Vec<Array> = made.iter().map(|m| m.0.clone()).collect();
        set_destinations(&mut cut.launch, self.len, &arrays);
        let chunks = received.iter().flat_map(|bytes| bytes.chunks_exact((here.len() * sizes).max(1)));
        for (number, bytes) in chunks.enumerate() {
            if number == 0 && !exact {
                set_each(&arrays, here.clone(), bytes);
            } else {
                set_each(&copy, here.clone(), bytes);
                combine(&cut.launch, fold, &copy, here.clone());
            }
        }
        cut.agree(0, Ok(()))?;
        if is_small && !self.is_for_all {
            self.tell_all(&cut, &arrays)?;
        }
        drop(arrays);
        Ok(made.into_iter().map(Shared::updated).collect())
    }

    /// The elements that this rank combines.
    fn here(&self, cut: &Cut) -> Range<usize> {
        let me = cut.ranks().rank();
        if self.is_for_all { 0..self.len } else { self.cuts[me]..self.cuts[me + 1] }
    }

    /// Destinations for each of the pieces on this rank, in the order of chunks. Where grouping shows, those of the first chunk are the program's.
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
            dests.iter().try_for_each(|d| d.fetch_apart(ranks, &needed))?;
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

    /// Runs this rank's part, where grouping does not show.
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

    /// Runs the pieces on this rank; the destinations of the chunks that end here, in order.
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

    fn run(&self, cut: &Cut, pieces: &[&Filling]) {
        let launch = &cut.launch;
        threads::run(launch.threads, pieces.len(), |i| {
            let f = pieces[i];
            let env = with_destinations(launch, self.len, &f.copy);
            launch.run_chunk(launch.kernel.code, &env, &f.pieces[f.number].positions);
        });
    }

    /// Sends destinations to the rank that goes on with them, and gets those with which this one does.
    fn pass_on(&self, cut: &Cut, to: Option<&Filling>, from: Option<&Filling>) -> Result<(), RuntimeError> {
        let p = cut.ranks().size();
        let (mut send, mut counts) = (vec![Vec::new(); p], vec![0; p]);
        if let Some(f) = to {
            send[f.pieces[f.number + 1].rank] = of_each(&f.copy, 0..self.len);
        }
        let before = from.map(|f| (f.pieces[f.number - 1].rank, &f.copy));
        if let Some((rank, copy)) = before {
            counts[rank] = copy.iter().map(|a| a.bytes().len()).sum();
        }
        let received = cut.ranks().exchange_known(send, &counts).map_err(lost)?;
        before.iter().for_each(|(rank, copy)| set_each(copy, 0..self.len, &received[*rank]));
        Ok(())
    }

    /// The elements that this rank combines of the destinations of all chunks, in order, as bytes: each rank sends the others theirs.
    fn exchanged(&self, cut: &Cut, own: &[Arrays], sizes: usize) -> Result<Vec<Vec<u8>>, RuntimeError> {
        let (here, ranks) = (self.here(cut), cut.ranks());
        let mut counts = vec![0; ranks.size()];
        let ends = self.chunks.iter().filter_map(|pieces| pieces.last());
        ends.for_each(|p| counts[p.rank] += here.len() * sizes);
        let elements = |elements: Range<usize>| of_each(own.iter().flatten(), elements);
        let received = if self.is_for_all {
            ranks.all_gather_counted(&elements(here), &counts).map(|all| vec![all])
        } else {
            ranks.exchange_known(self.cuts.windows(2).map(|c| elements(c[0]..c[1])).collect(), &counts)
        };
        received.map_err(lost)
    }

    /// Each rank's elements of the results, to all.
    fn tell_all(&self, cut: &Cut, arrays: &[Array]) -> Result<(), RuntimeError> {
        let sizes: usize = arrays.iter().map(|a| a.prim().size()).sum();
        let counts: Vec<usize> = self.cuts.windows(2).map(|c| (c[1] - c[0]) * sizes).collect();
        let own = of_each(arrays, self.here(cut));
        let all = cut.ranks().all_gather_counted(&own, &counts).map_err(lost)?;
        let mut rest = &all[..];
        for (c, n) in self.cuts.windows(2).zip(counts) {
            let (bytes, after) = rest.split_at(n);
            set_each(arrays, c[0]..c[1], bytes);
            rest = after;
        }
        Ok(())
    }
}

/// The pieces of a chunk.
fn pieces(chunk: &Chunk, parts: &[Chunk], space: &Space) -> Vec<Piece> {
    let on = |(rank, part): (usize, &Chunk)| {
        let (lo, hi) = (chunk.lo.max(part.lo), chunk.hi.min(part.hi));
        (lo < hi).then(|| Piece { rank, positions: space.chunk(lo..hi) })
    };
    parts.iter().enumerate().filter_map(on).collect()
}
