//! Arrays on ranks: whole everywhere, or a part on each.
//!
//! A distributed array has addresses for all of its elements on every rank, but memory only where it has elements: so positions and indices are those
//! of the whole array, and kernels run as they are. Elements of other ranks that came once stay there, since arrays do not change.

use super::Dist;
use super::runs::Runs;
use crate::array::{Array, OutOfMemory};
use crate::check::{RuntimeError, Span};
use crate::exec::device::Held;
use crate::exec::out_of_memory;
use crate::exec::space::even_cut;
use crate::prim::{Prim, Scalar};
use crate::ranks::Ranks;
use crate::rope::{NOWHERE, Part};
use smallvec::SmallVec;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::ops::Range;
use std::rc::Rc;

/// An array of the program.
#[derive(Clone)]
pub struct Shared {
    array: Array,
    /// None: it is whole.
    parts: Option<Rc<Parts>>,
    /// In a rope: address of the window it is in.
    base: usize,
}

/// An array in an update, which nobody else holds: cuts of the elements of each rank, or none where every rank has all of them.
pub type Writable = (Array, Option<Vec<usize>>);

/// The elements that each rank has.
struct Parts {
    /// Rank `r` computed those from `cuts[r]` to `cuts[r + 1]`.
    cuts: Vec<usize>,
    /// And has these, which came later.
    known: RefCell<Vec<Range<usize>>>,
    /// In a rope: indices of other elements that came to this rank.
    fetched: RefCell<Runs>,
    /// All ranks have all.
    whole: Cell<bool>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cuts = self.parts.as_ref().map(|p| &p.cuts);
        write!(f, "{} {} with cuts {cuts:?}", self.array.len(), self.array.prim())
    }
}

impl Held for Shared {
    fn prim(&self) -> Prim {
        self.array.prim()
    }

    fn len(&self) -> usize {
        self.array.len()
    }

    fn is_unique(&mut self) -> bool {
        self.array.is_unique()
    }
}

impl Part for Shared {
    /// Of an array in the window of ropes. An empty one, which is nowhere, has an index at which no array is.
    fn origin(&self) -> i64 {
        if self.array.is_empty() {
            return NOWHERE;
        }
        ((self.array.as_ptr() as usize).wrapping_sub(self.base) / self.array.prim().size()) as i64
    }

    fn elements(&self) -> usize {
        self.array.len()
    }
}

impl From<Array> for Shared {
    /// An array that all ranks have.
    fn from(array: Array) -> Shared {
        Shared { array, parts: None, base: 0 }
    }
}

/// Cuts into about equally many elements.
pub fn even_cuts(len: usize, ranks: usize) -> Vec<usize> {
    (0..=ranks).map(|r| even_cut(len, ranks, r)).collect()
}

impl Shared {
    /// An array of which every rank has the elements between its cuts.
    pub fn distributed(array: Array, cuts: Vec<usize>) -> Shared {
        let known = RefCell::new(cuts.windows(2).map(|c| c[0]..c[1]).collect());
        let parts = Parts { cuts, known, fetched: RefCell::default(), whole: Cell::new(false) };
        Shared { array, parts: Some(Rc::new(parts)), base: 0 }
    }

    /// An array after an update, at these cuts or, without any, on every rank.
    pub fn updated((array, cuts): Writable) -> Shared {
        match cuts {
            Some(cuts) => Shared::distributed(array, cuts),
            None => array.into(),
        }
    }

    /// The same in the window of ropes that begins at `base`.
    pub fn in_window(self, base: usize) -> Shared {
        Shared { base, ..self }
    }

    /// Indices in the window of elements of other ranks that came to this one.
    pub fn fetched(&self) -> Runs {
        self.parts.as_ref().map_or_else(Runs::default, |p| p.fetched.borrow().clone())
    }

    /// Adds to them.
    pub fn note_fetched(&self, runs: Runs) {
        if let Some(parts) = &self.parts {
            let before = parts.fetched.take();
            parts.fetched.replace(runs.joined(&before));
        }
    }

    /// The window that it is in, or 0.
    pub fn base(&self) -> usize {
        self.base
    }

    /// The elements; those that this rank has not are unspecified.
    pub fn array(&self) -> &Array {
        &self.array
    }

    /// The elements, of which those that this rank has not are unspecified.
    pub fn into_array(self) -> Array {
        self.array
    }

    /// True if it would be updated in place.
    pub fn is_held_once(&self) -> bool {
        self.array.is_held_once()
    }

    /// True if this rank has all elements, as all ranks have.
    pub fn is_whole(&self) -> bool {
        self.parts.as_ref().is_none_or(|p| p.whole.get())
    }

    /// The cuts of an array that is not whole.
    pub fn cuts(&self) -> Option<&[usize]> {
        self.parts.as_ref().filter(|p| !p.whole.get()).map(|p| &p.cuts[..])
    }

    /// Owner of an element of an array that is not whole.
    pub fn owner(&self, i: usize) -> Option<usize> {
        self.cuts().map(|cuts| cuts.partition_point(|c| *c <= i) - 1)
    }

    /// Gets the elements that rank `r` needs, `needed[r]`, to it. All ranks call this with the same ranges.
    pub fn fetch(&self, ranks: &Ranks, needed: &[Range<usize>]) -> Result<(), RuntimeError> {
        let Some(parts) = self.parts.as_ref().filter(|p| !p.whole.get()) else { return Ok(()) };
        let all = 0..self.len();
        let mut known = parts.known.borrow_mut();
        let missing = |r: usize| without(&needed[r], &known[r]);
        let missing: Vec<[Range<usize>; 2]> = (0..ranks.size()).map(missing).collect();
        if missing.iter().flatten().all(Range::is_empty) {
            return Ok(());
        }
        let whole = needed.iter().all(|n| *n == all);
        if needed[ranks.rank()] == all {
            self.array.use_all().map_err(|e| out_of_memory(e, Span::default()))?;
        }
        for side in 0..2 {
            let wanted: Vec<Range<usize>> = missing.iter().map(|m| m[side].clone()).collect();
            self.transfer(ranks, &parts.cuts, &wanted)?;
        }
        if whole {
            let me = ranks.rank();
            let own = parts.cuts[me + 1] - parts.cuts[me];
            ranks.traffic.gathered((self.len() - own) * self.prim().size());
            parts.whole.set(true);
        }
        for (known, needed) in known.iter_mut().zip(needed) {
            *known = joined(known, needed);
        }
        Ok(())
    }

    /// Copies `wanted[r]` from their owners to rank `r`.
    fn transfer(&self, ranks: &Ranks, cuts: &[usize], wanted: &[Range<usize>]) -> Result<(), RuntimeError> {
        let (me, size) = (ranks.rank(), self.prim().size());
        let base = self.array.as_ptr();
        let own = |r: usize| cuts[r]..cuts[r + 1];
        let bytes = |from: usize, to: usize| {
            let range = if from == to { 0..0 } else { common(&own(from), &wanted[to]) };
            (range.start * size, range.len() * size)
        };
        let send: Vec<&[u8]> = (0..ranks.size())
            .map(|to| {
                let (at, len) = bytes(me, to);
                // SAFETY: the elements are this rank's, written before, and nobody writes them while they are sent.
                unsafe { std::slice::from_raw_parts(base.add(at), len) }
            })
            .collect();
        let mut receive: Vec<&mut [u8]> = (0..ranks.size())
            .map(|from| {
                let (at, len) = bytes(from, me);
                // SAFETY: elements of other ranks, of which this one has no value yet, so that nothing reads them; ranges of different ranks are disjoint.
                unsafe { std::slice::from_raw_parts_mut(base.add(at), len) }
            })
            .collect();
        ranks.exchange(&send, &mut receive).map_err(super::lost)
    }

    /// Gets all elements to all ranks.
    pub fn make_whole(&self, ranks: &Ranks) -> Result<(), RuntimeError> {
        self.fetch(ranks, &vec![0..self.len(); ranks.size()])
    }

    /// The same for lengths or starts of rows, or other numbers that are near each other: they travel in as many bytes as their differences need.
    pub fn make_whole_packed(&self, ranks: &Ranks) -> Result<(), RuntimeError> {
        let (Some(parts), Some(cuts)) = (&self.parts, self.cuts()) else { return Ok(()) };
        if self.prim() != Prim::I64 {
            return self.make_whole(ranks);
        }
        let me = ranks.rank();
        let base = self.array.as_ptr() as *mut i64;
        // SAFETY: these elements are this rank's, and the array's others are not looked at.
        let own = unsafe { std::slice::from_raw_parts(base.add(cuts[me]), cuts[me + 1] - cuts[me]) };
        let (least, most) = own.iter().fold((i64::MAX, i64::MIN), |(a, b), x| (a.min(*x), b.max(*x)));
        let least = numbers(ranks, least)?.into_iter().min().unwrap_or(0);
        let most = numbers(ranks, most)?.into_iter().max().unwrap_or(0);
        let width = most.wrapping_sub(least) as u64;
        let width = (64 - width.leading_zeros() as usize).div_ceil(8);
        if width > 6 || least > most {
            return self.make_whole(ranks);
        }
        self.array.use_all().map_err(|e| out_of_memory(e, Span::default()))?;
        let word = |x: &i64| x.wrapping_sub(least).to_le_bytes();
        let packed: Vec<u8> =
            own.iter().flat_map(|x| word(x).into_iter().take(width).collect::<SmallVec<[u8; 8]>>()).collect();
        let counts: Vec<usize> = cuts.windows(2).map(|c| (c[1] - c[0]) * width).collect();
        let received = ranks.exchange_known(vec![packed; ranks.size()], &counts).map_err(super::lost)?;
        for (r, bytes) in received.iter().enumerate().filter(|(r, _)| *r != me) {
            for i in 0..cuts[r + 1] - cuts[r] {
                let mut word = [0; 8];
                word[..width].copy_from_slice(&bytes[i * width..(i + 1) * width]);
                // SAFETY: elements of other ranks, which nobody reads now.
                unsafe { *base.add(cuts[r] + i) = i64::from_le_bytes(word).wrapping_add(least) };
            }
            ranks.traffic.gathered(bytes.len());
        }
        parts.known.borrow_mut().iter_mut().for_each(|k| *k = 0..self.len());
        parts.whole.set(true);
        Ok(())
    }

    /// Gets all elements to rank 0.
    pub fn gather(&self, ranks: &Ranks) -> Result<(), RuntimeError> {
        let Some(cuts) = self.cuts() else { return Ok(()) };
        let needed: Vec<Range<usize>> =
            (0..ranks.size()).map(|r| if r == 0 { 0..self.len() } else { cuts[r]..cuts[r + 1] }).collect();
        self.fetch(ranks, &needed)
    }

    /// The array for changes of the elements between this rank's cuts, which it has, copied if somebody else holds it, and the cuts: elements of other
    /// ranks that came are forgotten.
    pub fn into_parts(mut self, ranks: &Ranks, cuts: Vec<usize>) -> Result<(Array, Vec<usize>), OutOfMemory> {
        if self.array.is_unique() {
            return Ok((self.array, cuts));
        }
        let (lo, hi) = (cuts[ranks.rank()], cuts[ranks.rank() + 1]);
        let copy = Array::try_part(self.prim(), self.len(), hi - lo)?;
        let size = self.prim().size();
        // SAFETY: the range is inside both arrays, and the copy is fresh.
        unsafe {
            let (from, to) = (self.array.as_ptr().add(lo * size), copy.as_ptr().add(lo * size));
            std::ptr::copy_nonoverlapping(from, to, (hi - lo) * size);
        }
        Ok((copy, cuts))
    }
}

impl Dist {
    /// A fresh array, whole if it is small, which is filled by `fill(first, elements as bytes)` here where this rank has elements.
    pub fn filled(
        &self,
        prim: Prim,
        len: usize,
        span: Span,
        fill: impl FnOnce(Range<usize>, &mut [u8]),
    ) -> Result<Shared, RuntimeError> {
        let me = self.ranks.rank();
        let cuts = (len >= self.ranks.least).then(|| even_cuts(len, self.ranks.size()));
        let here = cuts.as_ref().map_or(0..len, |c| c[me]..c[me + 1]);
        let array = Array::try_part(prim, len, here.len()).map_err(|e| out_of_memory(e, span));
        let array = self.settle(len.saturating_mul(prim.size()), array)?;
        let size = prim.size();
        // SAFETY: the range is inside the array, which nobody else has.
        let bytes = unsafe {
            std::slice::from_raw_parts_mut(array.as_ptr().add(here.start * size), here.len() * size)
        };
        fill(here, bytes);
        Ok(match cuts {
            Some(cuts) => Shared::distributed(array, cuts),
            None => array.into(),
        })
    }

    /// An element.
    pub fn element(&self, a: &Shared, i: usize) -> Result<Scalar, RuntimeError> {
        let Some(owner) = a.owner(i) else { return Ok(a.array().get(i)) };
        let size = a.prim().size();
        let mut word = [0u8; 8];
        if owner == self.ranks.rank() {
            word[..size].copy_from_slice(&a.array().bytes()[i * size..(i + 1) * size]);
        }
        self.ranks.broadcast(owner, &mut word[..size]).map_err(super::lost)?;
        Ok(Scalar::from_bits(a.prim(), u64::from_le_bytes(word)))
    }
}

/// Bytes of the same range of elements of each array, one array after the other.
pub fn of_each<'a>(arrays: impl IntoIterator<Item = &'a Array>, elements: Range<usize>) -> Vec<u8> {
    let bytes = |a: &'a Array| &a.bytes()[elements.start * a.prim().size()..elements.end * a.prim().size()];
    arrays.into_iter().flat_map(bytes).copied().collect()
}

/// Inverse of [`of_each`]: sets the range in each array, all of which are this operation's.
pub fn set_each(arrays: &[Array], elements: Range<usize>, bytes: &[u8]) {
    let mut at = 0;
    for a in arrays {
        let size = a.prim().size();
        let part = &bytes[at..at + elements.len() * size];
        // SAFETY: the elements are inside the array, which nobody else reads now.
        unsafe {
            std::ptr::copy_nonoverlapping(part.as_ptr(), a.as_ptr().add(elements.start * size), part.len())
        };
        at += part.len();
    }
}

/// All-gather of several arrays at once: all ranks get the elements that each has, those between its cuts.
pub fn gather_each(ranks: &Ranks, arrays: &[Array], cuts: &[usize]) -> Result<(), RuntimeError> {
    let sizes: usize = arrays.iter().map(|a| a.prim().size()).sum();
    let counts: Vec<usize> = cuts.windows(2).map(|c| (c[1] - c[0]) * sizes).collect();
    let own = of_each(arrays, cuts[ranks.rank()]..cuts[ranks.rank() + 1]);
    let all = ranks.all_gather_counted(&own, &counts).map_err(super::lost)?;
    let mut rest = &all[..];
    for (c, n) in cuts.windows(2).zip(counts) {
        let (bytes, after) = rest.split_at(n);
        set_each(arrays, c[0]..c[1], bytes);
        rest = after;
    }
    Ok(())
}

/// A number of every rank.
fn numbers(ranks: &Ranks, own: i64) -> Result<Vec<i64>, RuntimeError> {
    let all = ranks.all_gather_number(own as u64).map_err(super::lost)?;
    Ok(all.into_iter().map(|x| x as i64).collect())
}

/// Common part of two ranges.
fn common(a: &Range<usize>, b: &Range<usize>) -> Range<usize> {
    let start = a.start.max(b.start);
    start..a.end.min(b.end).max(start)
}

/// A range without another one: what is before it and behind it.
fn without(a: &Range<usize>, known: &Range<usize>) -> [Range<usize>; 2] {
    if a.is_empty() {
        return [0..0, 0..0];
    }
    if known.is_empty() || a.end <= known.start || a.start >= known.end {
        return [a.clone(), 0..0];
    }
    [a.start..known.start.max(a.start), known.end.min(a.end)..a.end]
}

/// The range of what is known, with another one if they touch; the larger of them if they do not.
fn joined(known: &Range<usize>, more: &Range<usize>) -> Range<usize> {
    if more.is_empty() {
        return known.clone();
    }
    if known.is_empty() {
        return more.clone();
    }
    if more.start <= known.end && known.start <= more.end {
        return known.start.min(more.start)..known.end.max(more.end);
    }
    known.clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_cover_all() {
        for (len, ranks) in [(0, 3), (1, 4), (10, 3), (1000, 3), (100_000, 7)] {
            let cuts = even_cuts(len, ranks);
            assert_eq!((cuts.len(), cuts[0], cuts[ranks]), (ranks + 1, 0, len));
            assert!(cuts.is_sorted());
        }
        assert!(even_cuts(100_000, 7).iter().take(7).all(|c| c % 64 == 0));
    }

    #[test]
    fn what_is_missing() {
        assert_eq!(without(&(3..9), &(5..7)), [3..5, 7..9]);
        assert_eq!(without(&(3..9), &(0..5)), [3..3, 5..9]);
        assert_eq!(without(&(3..9), &(10..12)), [3..9, 0..0]);
        assert!(without(&(5..7), &(3..9)).iter().all(Range::is_empty));
        assert_eq!(
            (joined(&(3..5), &(5..7)), joined(&(3..5), &(6..7)), joined(&(4..4), &(6..7))),
            (3..7, 3..5, 6..7)
        );
    }
}
