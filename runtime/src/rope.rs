//! Ropes: several arrays that are read as one, without being copied together.
//!
//! Every array stands at a fixed place in one **index space** for all arrays of its element type: element `i` of an array has the
//! index `origin + i`, where the origin is the same wherever the array goes. So rows that come from different arrays
//! need nothing but where they start, appending ropes changes no start, and kernels read an element in one step.
//! (The origin is the buffer's address in units of elements. It is never visible in a result.)
//!
//! Arrays that no row needs are freed, which costs looking at rows and copying some. Every array has a **credit** for that, as many elements as it
//! has: who made it has paid for them. All ropes that hold an array share its credit, and where that is spent the array stays. So
//! a large array of which again and again somebody keeps a part is not copied more than once altogether.

use crate::array::{Array, OutOfMemory};
use crate::copy::copy;
use crate::prim::{Prim, Scalar};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// More arrays than this are too many: [`Rope::compact`] copies the small ones together.
const MANY: usize = 64;
/// Up to this many arrays are searched one by one.
const LINEAR_SEARCH: usize = 4;
/// Elements below which compaction is not worth while.
const SLACK: usize = 1024;

/// Mark added to a start that all indices of a row stand for: the row is one element, again and again. It is above all
/// indices.
pub const MARK: i64 = 1 << 62;

/// Index that no array has: origin of arrays without elements, whose buffers others get, and start of empty rows whose array is freed.
pub const NOWHERE: i64 = 1;

/// The index that a start stands for.
fn unmarked(start: i64) -> i64 {
    start & (MARK - 1)
}

/// Elements that a row holds.
fn held(start: i64, len: i64) -> i64 {
    if start & MARK == 0 { len } else { len.min(1) }
}

/// Arrays of one element type that are read as one and held because some row is in them.
#[derive(Clone, Debug)]
pub struct Rope<A = Array> {
    prim: Prim,
    /// Not empty, by origin; each buffer once.
    parts: Vec<Member<A>>,
    /// Number of elements after the last collection.
    settled: usize,
    /// And of arrays.
    settled_count: usize,
}

/// An array in a rope.
#[derive(Clone, Debug)]
struct Member<A> {
    array: A,
    /// Number of elements that may still be looked at and copied on its behalf.
    credit: Arc<AtomicUsize>,
}

impl<A: Part> Member<A> {
    fn origin(&self) -> i64 {
        self.array.origin()
    }

    fn elements(&self) -> usize {
        self.array.elements()
    }

    fn credit(&self) -> usize {
        self.credit.load(Relaxed)
    }

    fn spend(&self, elements: usize) {
        // Only the host does so, one statement after the other.
        self.credit.store(self.credit().saturating_sub(elements), Relaxed);
    }
}

/// An array that may be in a rope, wherever it is held.
pub trait Part: Clone {
    /// Index of element 0 in the index space.
    fn origin(&self) -> i64;
    /// Number of elements.
    fn elements(&self) -> usize;
}

impl Part for Array {
    fn origin(&self) -> i64 {
        if self.is_empty() { NOWHERE } else { (self.as_ptr() as usize / self.prim().size()) as i64 }
    }

    fn elements(&self) -> usize {
        self.len()
    }
}

impl<A: Part> Rope<A> {
    /// No arrays.
    pub fn new(prim: Prim) -> Rope<A> {
        Rope { prim, parts: Vec::new(), settled: 0, settled_count: 0 }
    }

    /// Element type.
    pub fn prim(&self) -> Prim {
        self.prim
    }

    /// Adds an array; gives its origin.
    pub fn add(&mut self, a: A) -> i64 {
        let (at, credit) = (a.origin(), a.elements());
        self.add_member(Member { array: a, credit: Arc::new(credit.into()) });
        at
    }

    fn add_member(&mut self, a: Member<A>) {
        if a.elements() == 0 {
            return;
        }
        match self.parts.binary_search_by_key(&a.origin(), Member::origin) {
            Ok(i) => {
                let there = &mut self.parts[i];
                if a.elements() > there.elements() {
                    there.array = a.array;
                }
                if a.credit.load(Relaxed) < there.credit() {
                    there.credit = a.credit;
                }
            }
            Err(i) => self.parts.insert(i, a),
        }
    }

    /// Adds all arrays of `other`.
    pub fn add_all(&mut self, other: &Rope<A>) {
        self.settled = self.settled.max(other.settled);
        self.settled_count = self.settled_count.max(other.settled_count);
        if self.parts.is_empty() {
            self.parts.clone_from(&other.parts);
        } else {
            other.parts.iter().for_each(|a| self.add_member(a.clone()));
        }
    }

    /// The arrays, by origin.
    pub fn parts(&self) -> impl Iterator<Item = &A> {
        self.parts.iter().map(|a| &a.array)
    }

    /// Number of arrays.
    pub fn count(&self) -> usize {
        self.parts.len()
    }

    /// Elements of all arrays.
    pub fn elements(&self) -> usize {
        self.parts.iter().map(Member::elements).sum()
    }

    /// The part that holds an index, and the place in it.
    pub fn find(&self, index: i64) -> Option<(&A, usize)> {
        let part = &self.parts[self.part_of(index)?].array;
        Some((part, (index - part.origin()) as usize))
    }

    fn has(&self, origin: i64) -> bool {
        self.parts.binary_search_by_key(&origin, Member::origin).is_ok()
    }

    fn part_of(&self, index: i64) -> Option<usize> {
        let part = self.parts.partition_point(|a| a.origin() <= index).checked_sub(1)?;
        (index - self.parts[part].origin() < self.parts[part].elements() as i64).then_some(part)
    }

    /// Search for the part that an index is in, for many indices. Among a few parts the one before says little about the next; among many that is mostly
    /// in the same.
    fn finder(&self) -> impl FnMut(i64) -> Option<usize> + use<A> {
        let spans: Vec<_> = self.parts.iter().map(|a| a.origin()..a.origin() + a.elements() as i64).collect();
        let mut last = 0;
        move |index| {
            if spans.len() <= LINEAR_SEARCH {
                last = spans.iter().skip(1).filter(|s| s.start <= index).count();
            } else if !spans[last].contains(&index) {
                last = spans.partition_point(|s| s.start <= index).saturating_sub(1);
            }
            spans.get(last)?.contains(&index).then_some(last)
        }
    }

    /// True if there are more than twice as many elements, or arrays, as after the last collection; with a base: if more than a
    /// few are in arrays that it does not have. A rope that was never collected is taken as it is now.
    pub fn needs_collection(&mut self, base: Option<&Rope<A>>) -> bool {
        let elements = self.elements();
        if let Some(base) = base {
            let is_new = |a: &&Member<A>| !base.has(a.origin());
            return self.parts.iter().filter(is_new).map(Member::elements).sum::<usize>() > SLACK;
        }
        if self.settled == 0 {
            (self.settled, self.settled_count) = (elements, self.count());
        }
        elements > 2 * self.settled + SLACK || self.count() > 2 * self.settled_count + MANY
    }

    /// Frees arrays in which none of these starts is. True if there are still more than twice as many elements as `weight`, and
    /// more than a few, and the arrays have credit for a copy of so many.
    pub fn collect<'s>(&mut self, starts: impl Iterator<Item = &'s [i64]>, weight: i64) -> bool {
        if self.parts.len() > 1 {
            let mut used = vec![false; self.parts.len()];
            let mut find = self.finder();
            for part in starts.flatten().filter_map(|at| find(unmarked(*at))) {
                used[part] = true;
            }
            let mut used = used.into_iter();
            self.parts.retain(|_| used.next().unwrap_or(true));
        }
        (self.settled, self.settled_count) = (self.elements(), self.count());
        let weight = usize::try_from(weight).unwrap_or(0);
        self.settled > 2 * weight + SLACK && self.pay(weight)
    }

    /// Reads and comparisons of a collection, if the arrays have credit for it.
    pub fn pay_for_collection(&self, starts: &Rope<A>) -> Option<usize> {
        let cost = if self.parts.len() > 1 { 2 * starts.elements() } else { 0 };
        self.pay(cost).then_some(cost)
    }

    /// Spends credit of all arrays alike, if they have enough.
    fn pay(&self, elements: usize) -> bool {
        let credit: usize = self.parts.iter().map(Member::credit).sum();
        if credit < elements {
            return false;
        }
        // Rounded up for each array, so that it does not depend on their order.
        let share =
            |a: &Member<A>| (a.credit() as u128 * elements as u128).div_ceil(credit.max(1) as u128) as usize;
        self.parts.iter().for_each(|a| a.spend(share(a)));
        true
    }

    /// Frees arrays in which no row is, of those of which only little is used, and of those that are small and many; says
    /// which rows are to be copied out of them, in order. `starts[i]` is where row `i` of `lens[i]` elements begins; an
    /// empty row begins anywhere, and one whose start is marked holds one element. Empty rows are copied, too: where they began, another array may be made.
    ///
    /// Copies are at most half of what is freed, or small, and are paid for by the array that they are in; the rest is a
    /// number of steps in proportion to the rows. Nothing is copied out of arrays that are `kept` anyway.
    pub fn leave(&mut self, starts: &[i64], lens: &[i64], kept: Option<&Rope<A>>) -> Vec<Row<A>> {
        if self.parts.len() <= 1 {
            return Vec::new();
        }
        let used = self.used(starts, lens);
        let leaves = self.leaving(&used, kept);
        if !leaves.contains(&true) {
            return Vec::new();
        }
        let mut rows = Vec::new();
        let mut find = self.finder();
        for (row, (start, len)) in starts.iter().zip(lens).enumerate() {
            if let Some(home) = find(unmarked(*start)).filter(|home| leaves[*home]) {
                let part = &self.parts[home].array;
                let at = (unmarked(*start) - part.origin()) as usize;
                let len = held(*start, (*len).max(0)) as usize;
                rows.push(Row { row, part: part.clone(), at, len, mark: start & MARK });
            }
        }
        let mut leaving = leaves.iter().zip(&used);
        self.parts.retain(|a| {
            let (leaves, used) = leaving.next().expect("as many as the parts");
            if *leaves {
                a.spend(*used);
            }
            !leaves
        });
        rows
    }

    /// Number of elements of each part that are in rows. Which rows are empty cannot be foretold, so that these count as well, as nothing.
    fn used(&self, starts: &[i64], lens: &[i64]) -> Vec<usize> {
        let mut used = vec![0; self.parts.len()];
        let mut find = self.finder();
        for (start, len) in starts.iter().zip(lens) {
            if let Some(home) = find(unmarked(*start)) {
                used[home] += held(*start, (*len).max(0)) as usize;
            }
        }
        used
    }

    /// Arrays that are freed: those hardly used, and where there are many, the small ones.
    fn leaving(&self, used: &[usize], kept: Option<&Rope<A>>) -> Vec<bool> {
        let many = used.iter().filter(|n| **n > 0).count() > MANY;
        let large = self.elements() / MANY;
        let leaves = |(a, n): (&Member<A>, &usize)| {
            let len = a.elements();
            let stays = *n > a.credit() || kept.is_some_and(|b| b.has(a.origin()));
            *n == 0 || !stays && ((len > SLACK && *n < len / 2) || (many && len <= large && *n <= 2 * len))
        };
        self.parts.iter().zip(used).map(leaves).collect()
    }
}

/// A row that is to be copied.
#[derive(Debug)]
pub struct Row<A> {
    /// Its number.
    pub row: usize,
    /// Array that it is in.
    pub part: A,
    /// Offset in that array.
    pub at: usize,
    /// Its length.
    pub len: usize,
    /// Mark of its start.
    pub mark: i64,
}

impl Rope {
    /// The element at an index of the index space.
    pub fn get(&self, index: i64) -> Option<Scalar> {
        self.find(index).map(|(part, at)| part.get(at))
    }

    /// Does what [`Rope::leave`] says. Gives the new starts, or `None` if no row moved, and the elements copied.
    pub fn compact(
        &mut self,
        starts: &[i64],
        lens: &[i64],
        kept: Option<&Rope>,
    ) -> Result<Option<Moved>, OutOfMemory> {
        let rows = self.leave(starts, lens, kept);
        if rows.is_empty() {
            return Ok(None);
        }
        let copied = rows.iter().map(|r| r.len).sum();
        let mut fresh = Array::try_uninit(self.prim, copied)?;
        let (starts, size) = (moved(starts, &rows, fresh.origin()), self.prim.size());
        let mut rest = fresh.bytes_mut();
        for Row { part, at: from, len, .. } in rows {
            let source = &part.bytes()[from * size..(from + len) * size];
            let (target, after) = rest.split_at_mut(source.len());
            // SAFETY: both have as many bytes, and the array is fresh.
            unsafe { copy(source.as_ptr(), target.as_mut_ptr(), source.len()) };
            rest = after;
        }
        self.add(fresh);
        Ok(Some(Moved { starts, copied }))
    }
}

/// The starts of all rows once `rows` are copied, one after the other, to an array with this origin.
pub fn moved<A>(starts: &[i64], rows: &[Row<A>], mut origin: i64) -> Array {
    let mut new = Array::from_slice(starts);
    for r in rows {
        new.slice_mut::<i64>()[r.row] = if r.len == 0 { NOWHERE } else { origin | r.mark };
        origin += r.len as i64;
    }
    new
}

/// Result of [`Rope::compact`].
#[derive(Debug)]
pub struct Moved {
    /// New starts of the rows.
    pub starts: Array,
    /// Elements copied.
    pub copied: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_found_by_their_index() {
        let (a, b) = (Array::from_slice(&[1i64, 2, 3]), Array::from_slice(&[7i64]));
        let mut rope = Rope::new(Prim::I64);
        let (at_a, at_b) = (rope.add(a.clone()), rope.add(b));
        assert_eq!(rope.add(a), at_a);
        assert_eq!(rope.count(), 2);
        assert_eq!(rope.get(at_a + 2), Some(Scalar::I64(3)));
        assert_eq!(rope.get(at_b), Some(Scalar::I64(7)));
        assert_eq!(rope.get(at_a + 3), None);
    }

    #[test]
    fn arrays_without_rows_are_let_go() {
        let mut rope = Rope::new(Prim::I64);
        let at = rope.add(Array::from_slice(&[1i64, 2, 3]));
        rope.add(Array::from_slice(&[4i64; 10]));
        assert!(rope.compact(&[at], &[3], None).expect("memory").is_none());
        assert_eq!(rope.count(), 1);
        assert_eq!(rope.get(at), Some(Scalar::I64(1)));
    }

    #[test]
    fn rows_are_copied_out_of_arrays_that_are_hardly_used() {
        let mut rope = Rope::new(Prim::I64);
        let kept = rope.add(Array::from_slice(&[5i64, 6]));
        let large: Vec<i64> = (0..10_000).collect();
        let at = rope.add(Array::from_slice(&large));
        let moved =
            rope.compact(&[at + 100, kept, at, 0], &[3, 2, 1, 0], None).expect("memory").expect("moved");
        let starts = moved.starts.slice::<i64>().to_vec();
        assert_eq!((moved.copied, rope.count(), starts[1]), (4, 2, kept));
        assert_eq!(rope.get(starts[0] + 2), Some(Scalar::I64(102)));
        assert_eq!(rope.get(starts[2]), Some(Scalar::I64(0)));
        assert!(rope.elements() < 10);
    }

    #[test]
    fn an_array_pays_for_no_more_copies_than_it_has_elements() {
        let mut rope = Rope::new(Prim::I64);
        let at = rope.add(Array::from_slice(&[1i64; 10_000]));
        rope.add(Array::from_slice(&[2i64]));
        let copied = |rope: &Rope| {
            let moved = rope.clone().compact(&[at + 100], &[4_000], None).expect("memory");
            moved.map_or(0, |m| m.copied)
        };
        // All that hold it have one credit.
        assert_eq!([copied(&rope), copied(&rope), copied(&rope)], [4_000, 4_000, 0]);
        let mut again = Rope::new(Prim::I64);
        again.add_all(&rope);
        assert_eq!((copied(&again), again.count()), (0, 2));
    }

    #[test]
    fn many_arrays_are_collected_however_small() {
        let mut rope = Rope::new(Prim::I64);
        rope.add(Array::from_slice(&[0i64; 100_000]));
        assert!(!rope.needs_collection(None));
        let small: Vec<Array> = (0..200).map(|i| Array::from_slice(&[i as i64])).collect();
        let grew: Vec<usize> = (0..200)
            .filter(|i| {
                rope.add(small[*i].clone());
                let needs_collection = rope.needs_collection(None);
                if needs_collection {
                    rope.collect([&[small[*i].origin()][..]].into_iter(), 1);
                }
                needs_collection
            })
            .collect();
        assert_eq!(grew, [65, 131, 197]);
        assert!(rope.count() < 5);
    }

    #[test]
    fn a_collection_is_paid_for() {
        let mut rope = Rope::new(Prim::I64);
        let at = rope.add(Array::from_slice(&[1i64; 3_000]));
        rope.add(Array::from_slice(&[1i64; 2_000]));
        let mut starts = Rope::new(Prim::I64);
        starts.add(Array::from_slice(&[at; 1_000]));
        assert_eq!(rope.pay_for_collection(&starts), Some(2_000));
        assert!(rope.clone().collect([&[at][..]].into_iter(), 900));
        assert_eq!((rope.pay_for_collection(&starts), rope.pay_for_collection(&starts)), (Some(2_000), None));
        assert!(!rope.collect([&[at][..]].into_iter(), 900));
    }

    #[test]
    fn rows_of_one_element_again_and_again_hold_one() {
        let mut rope = Rope::new(Prim::I64);
        let large: Vec<i64> = (0..10_000).collect();
        let at = rope.add(Array::from_slice(&large));
        rope.add(Array::from_slice(&[2i64]));
        let moved = rope.compact(&[(at + 7) | MARK], &[9_000], None).expect("memory").expect("moved");
        let start = moved.starts.slice::<i64>()[0];
        assert_eq!((moved.copied, rope.elements(), start & MARK), (1, 1, MARK));
        assert_eq!(rope.get(unmarked(start)), Some(Scalar::I64(7)));
    }

    #[test]
    fn rows_stay_in_arrays_that_are_kept_anyway() {
        let mut rope = Rope::new(Prim::I64);
        let at = rope.add(Array::from_slice(&[1i64; 10_000]));
        let kept = rope.clone();
        rope.add(Array::from_slice(&[2i64]));
        assert!(rope.compact(&[at + 100], &[3], Some(&kept)).expect("memory").is_none());
        assert_eq!((rope.count(), rope.elements()), (1, 10_000));
    }

    #[test]
    fn a_marked_start_keeps_its_array() {
        let mut rope = Rope::new(Prim::I64);
        let at = rope.add(Array::from_slice(&[1i64, 2]));
        rope.add(Array::from_slice(&[3i64; 10]));
        assert!(!rope.collect([&[(at + 1) | MARK][..]].into_iter(), 10));
        assert_eq!((rope.count(), rope.get(at + 1)), (1, Some(Scalar::I64(2))));
    }

    /// An empty row is no use of an array that is allocated at the address where the row began before its own array was freed.
    #[test]
    fn empty_rows_leave_freed_arrays() {
        let mut rope = Rope::new(Prim::I64);
        let empty = rope.add(Array::from_slice::<i64>(&[]));
        let (a, b) = (rope.add(Array::from_slice(&[1i64, 2])), rope.add(Array::from_slice(&[3i64])));
        let moved = rope.compact(&[a + 1, b, empty], &[0, 1, 0], None).expect("memory").expect("moved");
        assert_eq!((moved.copied, rope.count()), (0, 1));
        assert_eq!(moved.starts.slice::<i64>(), [NOWHERE, b, NOWHERE]);
    }

    #[test]
    fn shared_rows_are_not_multiplied() {
        let mut rope = Rope::new(Prim::I64);
        let at = rope.add(Array::from_slice(&vec![1i64; 5_000]));
        rope.add(Array::from_slice(&[2i64]));
        let (starts, lens) = (vec![at; 100], vec![5_000; 100]);
        assert!(rope.compact(&starts, &lens, None).expect("memory").is_none());
        assert_eq!(rope.elements(), 5_000);
    }
}
