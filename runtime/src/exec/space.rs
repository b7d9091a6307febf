//! Iteration spaces at run time, and how they are cut into chunks.
//!
//! Two ways of cutting. *Element chunks* (maps, histograms) have equally many elements, wherever rows begin. *Row chunks*
//! (operations along rows) have whole rows of about equal weight, except that a giant row is cut into parts of a fixed
//! size: always at the same places, so that results do not depend on the threads.

use super::threads::SMALL;
use super::{Desc, Run, internal, out_of_memory};
use crate::array::OutOfMemory;
use crate::check::{RuntimeError, Span};
use crate::exec::frame::Frame;
use crate::plan;
use crate::profile::Rows;
use smallvec::{SmallVec, smallvec};
use std::ops::Range;
use std::sync::Arc;

/// Elements of one part of a giant row, if an element costs little.
const PART: usize = 1 << 15;
/// Times as many, where parts do not show in results: what they read still stays in a cache near the processor.
const LARGE: usize = 16;
/// Positions at multiples of which large parts of ranks begin.
const STEP: usize = 64;
/// Chunks per thread, for balance.
const CHUNKS_PER_THREAD: usize = 8;

/// Position of cut `i` of those of `elements` into `n` parts of equal size.
fn exact_cut(elements: usize, n: usize, i: usize) -> usize {
    (elements as u128 * i as u128 / n as u128) as usize
}

/// The same, rounded down to a multiple of [`STEP`] if parts are large, but for the last.
pub fn even_cut(elements: usize, n: usize, i: usize) -> usize {
    let cut = exact_cut(elements, n, i);
    if elements / n >= 4 * STEP && cut < elements { cut / STEP * STEP } else { cut }
}

/// A space whose sizes are known.
pub struct Space {
    /// Number of rows.
    pub rows: usize,
    /// Number of elements.
    pub total: usize,
    /// Work per element, see `plan::Kernel::cost`.
    cost: usize,
    shape: Shape,
}

enum Shape {
    Flat,
    Uniform(usize),
    Ragged(Arc<Desc>),
}

/// Rows `row_lo..row_hi`, of these the elements at `lo..hi`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Chunk {
    pub row_lo: usize,
    pub row_hi: usize,
    pub lo: usize,
    pub hi: usize,
    /// For a part of a giant row: its number among all parts of the space.
    pub part: Option<usize>,
}

/// Chunks of a space, often one.
pub type Chunks = SmallVec<[Chunk; 1]>;

impl Space {
    /// Evaluates the sizes of a kernel's space.
    pub fn resolve(kernel: &plan::Kernel, frame: &mut Frame, span: Span) -> Result<Space, RuntimeError> {
        let (rows, total, shape) = match kernel.space {
            plan::Space::Flat(n) => (1, frame.size(n)?, Shape::Flat),
            plan::Space::Uniform { rows, m } => {
                let (rows, m) = frame.rows_of(rows, m)?;
                let total = rows.checked_mul(m);
                (rows, total.ok_or_else(|| out_of_memory(OutOfMemory(u64::MAX), span))?, Shape::Uniform(m))
            }
            plan::Space::Ragged { rows, desc } => {
                let (rows, desc) = (frame.size(rows)?, frame.desc(desc)?);
                if desc.rows() != rows {
                    return Err(internal("a descriptor does not fit its space"));
                }
                (rows, desc.total(), Shape::Ragged(desc))
            }
        };
        Ok(Space { rows, total, cost: kernel.cost.max(1), shape })
    }

    /// Makes chunks as small as they can be.
    pub fn cut_small(&mut self) {
        self.cost = usize::MAX;
    }

    /// Elements of one part of a giant row.
    pub fn part(&self) -> usize {
        (PART / self.cost).max(64)
    }

    /// Weight that is worth a chunk of its own.
    fn grain(&self) -> usize {
        (SMALL / self.cost).max(16)
    }

    /// Description of row lengths for kernels: see `EnvLayout`.
    pub fn dim_word(&self) -> u64 {
        match &self.shape {
            Shape::Flat => self.total as u64,
            Shape::Uniform(m) => *m as u64,
            Shape::Ragged(d) => d.offsets().as_ptr() as u64,
        }
    }

    /// Rows and elements, for profiles.
    pub fn summary(&self) -> Rows {
        match &self.shape {
            Shape::Flat => Rows::uniform(1, self.total),
            Shape::Uniform(m) => Rows::uniform(self.rows, *m),
            Shape::Ragged(d) => Rows::of(d),
        }
    }

    /// First position of a row; the total for row `rows`.
    pub fn start(&self, row: usize) -> usize {
        match &self.shape {
            Shape::Flat => row.min(1) * self.total,
            Shape::Uniform(m) => row * m,
            Shape::Ragged(d) => d.offsets().slice::<i64>()[row] as usize,
        }
    }

    /// The row of the element at `pos`, which is below the total.
    pub fn row_of(&self, pos: usize) -> usize {
        match &self.shape {
            Shape::Flat => 0,
            Shape::Uniform(m) => pos / m,
            Shape::Ragged(d) => d.offsets().slice::<i64>().partition_point(|o| *o as usize <= pos) - 1,
        }
    }

    /// The first row whose start, plus the number of rows before it, is at least `weight`.
    fn row_at_weight(&self, weight: usize) -> usize {
        let (mut lo, mut hi) = (0, self.rows);
        while lo < hi {
            let mid = (lo + hi) / 2;
            if self.start(mid) + mid < weight { lo = mid + 1 } else { hi = mid }
        }
        lo
    }

    /// Work of the whole space: elements and rows.
    fn weight(&self) -> usize {
        self.total + self.rows
    }

    /// True if a second thread would not pay.
    pub fn is_small(&self) -> bool {
        self.weight() < self.grain()
    }

    /// The whole space as one chunk.
    pub fn whole(&self) -> Chunk {
        Chunk { row_lo: 0, row_hi: self.rows, lo: 0, hi: self.total, part: None }
    }

    /// At most `n` chunks of a part, of about equally many elements, cut as parts of ranks are. Empty rows may be in none.
    pub fn even_chunks(&self, part: &Chunk, n: usize) -> Chunks {
        self.element_chunks_of(part, n, even_cut)
    }

    /// At most `n` chunks of a part: chunk `i` of `n` of `elements` begins `cut(elements, n, i)` after the part.
    fn element_chunks_of(&self, part: &Chunk, n: usize, cut: fn(usize, usize, usize) -> usize) -> Chunks {
        let elements = part.hi - part.lo;
        let n = n.min(elements).max(1);
        if n == 1 {
            return smallvec![*part];
        }
        let bound = |i: usize| part.lo + cut(elements, n, i);
        (0..n).map(|i| self.chunk(bound(i)..bound(i + 1))).collect()
    }

    /// Chunk of a range of positions, which is not empty.
    pub fn chunk(&self, positions: Range<usize>) -> Chunk {
        let Range { start: lo, end: hi } = positions;
        Chunk { row_lo: self.row_of(lo), row_hi: self.row_of(hi - 1) + 1, lo, hi, part: None }
    }

    /// Element chunks for this many threads.
    pub fn balanced_chunks(&self, threads: usize) -> Chunks {
        self.balanced_chunks_of(&self.whole(), threads)
    }

    /// The same for a part of the space.
    pub fn balanced_chunks_of(&self, part: &Chunk, threads: usize) -> Chunks {
        let few = (part.hi - part.lo) / self.grain() + 1;
        self.element_chunks_of(
            part,
            if threads <= 1 { 1 } else { few.min(threads * CHUNKS_PER_THREAD) },
            exact_cut,
        )
    }

    /// Row chunks in order. All rows are covered, every element once.
    pub fn row_chunks(&self, threads: usize) -> Vec<Chunk> {
        self.row_chunks_in(&self.whole(), threads)
    }

    /// The same for a part of the space, which begins and ends where a row does or a part of a giant one. Parts are numbered from 0 on.
    pub fn row_chunks_in(&self, part: &Chunk, threads: usize) -> Vec<Chunk> {
        self.row_chunks_of(part, self.part(), threads)
    }

    /// As `row_chunks`, where results do not depend on the parts.
    pub fn large_row_chunks(&self, threads: usize) -> Vec<Chunk> {
        self.row_chunks_of(&self.whole(), (LARGE * PART / self.cost).clamp(64, PART), threads)
    }

    /// Row chunks with giant rows, which are more than twice as long, in parts of so many elements.
    fn row_chunks_of(&self, of: &Chunk, size: usize, threads: usize) -> Vec<Chunk> {
        let mut chunks = Vec::new();
        let (mut row, mut part) = (of.row_lo, 0);
        for giant in self.giants(2 * size).into_iter().filter(|g| (of.row_lo..of.row_hi).contains(g)) {
            self.stretch(row, giant, threads, &mut chunks);
            let (start, end) = (self.start(giant).max(of.lo), self.start(giant + 1).min(of.hi));
            for lo in (start..end).step_by(size) {
                let hi = (lo + size).min(end);
                chunks.push(Chunk { row_lo: giant, row_hi: giant + 1, lo, hi, part: Some(part) });
                part += 1;
            }
            row = giant + 1;
        }
        self.stretch(row, of.row_hi, threads, &mut chunks);
        chunks
    }

    /// Parts of about equally many elements for so many ranks: they begin where rows do if these are short. Empty rows may be in none.
    pub fn position_parts(&self, ranks: usize) -> Vec<Chunk> {
        let short = self.total / (4 * ranks);
        let cut = |i: usize| {
            let pos = exact_cut(self.total, ranks, i);
            if pos == self.total || matches!(self.shape, Shape::Flat) {
                return even_cut(self.total, ranks, i);
            }
            let row = self.row_of(pos);
            let (start, end) = (self.start(row), self.start(row + 1));
            match (end - start <= short, short >= STEP) {
                (true, _) => start,
                (false, true) => start + (pos - start) / STEP * STEP,
                (false, false) => pos,
            }
        };
        let cuts: Vec<usize> = (0..=ranks).map(cut).collect();
        let part = |c: &[usize]| {
            let (lo, hi) = (c[0], c[1]);
            let (row_lo, row_hi) = if lo < hi { (self.row_of(lo), self.row_of(hi - 1) + 1) } else { (0, 0) };
            Chunk { row_lo, row_hi, lo, hi, part: None }
        };
        cuts.windows(2).map(part).collect()
    }

    /// Parts of about equal weight for so many ranks: they begin where rows do, or parts of giant rows.
    pub fn rank_parts(&self, ranks: usize) -> Vec<Chunk> {
        let cut = |i: usize| self.cut((self.weight() as u128 * i as u128 / ranks as u128) as usize);
        let last = (self.rows, self.total);
        let cuts: Vec<(usize, usize)> = (0..ranks).map(cut).chain([last]).collect();
        let part = |c: &[(usize, usize)]| {
            let ((row_lo, lo), (row, hi)) = (c[0], c[1]);
            let row_hi = if row < self.rows && hi > self.start(row) { row + 1 } else { row };
            Chunk { row_lo, row_hi, lo, hi, part: None }
        };
        cuts.windows(2).map(part).collect()
    }

    /// The last row and position before so much weight, or at it, where a row begins or a part of a giant row.
    fn cut(&self, weight: usize) -> (usize, usize) {
        let row = self.row_at_weight(weight);
        let Some(before) = row.checked_sub(1) else { return (0, 0) };
        let (start, end) = (self.start(before), self.start(row));
        let size = self.part();
        if end - start <= 2 * size {
            return (row, end);
        }
        let pos = start + (weight - start - before) / size * size;
        if pos < end { (before, pos) } else { (row, end) }
    }

    /// Rows with more elements than `giant`: each contains a multiple of that.
    fn giants(&self, giant: usize) -> Vec<usize> {
        match &self.shape {
            Shape::Flat if self.total > giant => vec![0],
            Shape::Uniform(m) if *m > giant => (0..self.rows).collect(),
            Shape::Ragged(_) => {
                let mut rows: Vec<usize> = (0..self.total).step_by(giant).map(|p| self.row_of(p)).collect();
                rows.dedup();
                rows.retain(|r| self.start(r + 1) - self.start(*r) > giant);
                rows
            }
            _ => Vec::new(),
        }
    }

    /// Whole rows `lo..hi`, none of them giant, in chunks of about equal weight.
    fn stretch(&self, lo: usize, hi: usize, threads: usize, chunks: &mut Vec<Chunk>) {
        let first = self.start(lo) + lo;
        let weight = self.start(hi) + hi - first;
        let n = if threads <= 1 { 1 } else { (weight / self.grain() + 1).min(threads * CHUNKS_PER_THREAD) };
        let mut row = lo;
        for i in 1..=n {
            let target = first + (weight as u128 * i as u128 / n as u128) as usize;
            let end = if i == n { hi } else { self.row_at_weight(target).clamp(row, hi) };
            if end > row {
                chunks.push(Chunk {
                    row_lo: row,
                    row_hi: end,
                    lo: self.start(row),
                    hi: self.start(end),
                    part: None,
                });
                row = end;
            }
        }
    }
}

impl Run<'_> {
    /// Threads worth using for a space.
    pub fn threads_for(&self, space: &Space) -> usize {
        if space.is_small() { 1 } else { self.device.threads }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Array;

    const GIANT: usize = 2 * PART;

    fn ragged(lengths: &[i64]) -> Space {
        let d = Desc::from_lengths(Array::from_slice(lengths), 1).expect("memory").expect("no overflow");
        Space { rows: d.rows(), total: d.total(), cost: 1, shape: Shape::Ragged(Arc::new(d)) }
    }

    /// No rows, empty ones, giants, and `short` rows of three.
    fn some_lengths(short: usize) -> Vec<Vec<i64>> {
        let giant = 5 * GIANT as i64 + 7;
        let skewed = vec![0, giant, 0, 5, giant, giant, 1];
        vec![vec![], vec![0], vec![0, 0, 3], vec![giant], skewed, vec![3; short], vec![0; 9]]
    }

    fn covers(space: &Space, threads: usize) {
        let (mut row, mut pos) = (0, 0);
        for p in space.row_chunks(threads) {
            assert_eq!(p.lo, pos);
            assert!(p.row_lo == row || p.part.is_some() && p.row_lo + 1 == row);
            pos = p.hi;
            row = p.row_hi;
        }
        assert_eq!((row, pos), (space.rows, space.total));
    }

    #[test]
    fn row_chunks_cover_everything() {
        for lengths in some_lengths(100_000) {
            let space = ragged(&lengths);
            (1..4).for_each(|t| covers(&space, t));
            let chunks = space.balanced_chunks(3);
            assert_eq!(chunks.iter().map(|p| p.hi - p.lo).sum::<usize>(), space.total);
        }
    }

    #[test]
    fn parts_of_ranks_cover_everything() {
        for lengths in some_lengths(1000) {
            let space = ragged(&lengths);
            for ranks in 1..6 {
                let parts = space.rank_parts(ranks);
                let (mut pos, mut row, mut chunks) = (0, 0, Vec::new());
                for p in &parts {
                    assert_eq!(
                        (p.lo, p.row_lo == row || p.row_lo + 1 == row && p.lo > space.start(p.row_lo)),
                        (pos, true)
                    );
                    chunks.extend(space.row_chunks_in(p, 2));
                    (pos, row) = (p.hi, p.row_hi.max(row));
                }
                assert_eq!((pos, row), (space.total, space.rows));
                let by_position = space.position_parts(ranks);
                let ends: Vec<usize> = by_position.iter().map(|p| p.hi).collect();
                assert!(ends.is_sorted() && ends[ranks - 1] == space.total && by_position[0].lo == 0);
                let giants = |chunks: &[Chunk]| -> Vec<_> {
                    chunks.iter().filter(|c| c.part.is_some()).map(|c| (c.row_lo, c.lo, c.hi)).collect()
                };
                assert_eq!(giants(&chunks), giants(&space.row_chunks(1)));
            }
        }
    }

    #[test]
    fn parts_do_not_depend_on_threads() {
        let space = ragged(&[10, 3 * GIANT as i64, 0, 2 * GIANT as i64 + 1]);
        let parts = |t| space.row_chunks(t).into_iter().filter(|p| p.part.is_some()).collect::<Vec<_>>();
        assert_eq!(parts(1), parts(4));
    }
}
