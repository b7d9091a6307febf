//! Several arrays that are read as one, without being copied together.
//!
//! Every array stands at a fixed place in one **index space** for all arrays of its element type: element `i` of an array has the
//! index `origin + i`, where the origin is the same wherever the array goes. So rows that come from different arrays
//! need nothing but where they start, joining sets of arrays changes no start, and kernels read an element in one step.
//! (The origin is the buffer's address in units of elements. It is never visible in a result.)

use crate::array::{Array, OutOfMemory};
use crate::prim::{Prim, Scalar};

/// More arrays than this are too many: [`Blocks::tidy`] copies the small ones together.
const MANY: usize = 64;
/// Elements that do not matter.
const FEW: usize = 1024;

/// Arrays of one element type that are kept because some row is in them.
#[derive(Clone, Debug)]
pub struct Blocks {
    prim: Prim,
    /// Not empty, by origin; each buffer once.
    parts: Vec<Array>,
}

/// Where element 0 of an array is in the index space.
pub fn origin(a: &Array) -> i64 {
    (a.as_ptr() as usize / a.prim().size()) as i64
}

impl Blocks {
    /// No arrays.
    pub fn new(prim: Prim) -> Blocks {
        Blocks { prim, parts: Vec::new() }
    }

    /// Element type.
    pub fn prim(&self) -> Prim {
        self.prim
    }

    /// Adds an array; gives its origin.
    pub fn add(&mut self, a: Array) -> i64 {
        let at = origin(&a);
        if a.is_empty() {
            return at;
        }
        match self.parts.binary_search_by_key(&at, origin) {
            Ok(i) if self.parts[i].len() >= a.len() => {}
            Ok(i) => self.parts[i] = a,
            Err(i) => self.parts.insert(i, a),
        }
        at
    }

    /// Adds all arrays of `other`.
    pub fn add_all(&mut self, other: &Blocks) {
        if self.parts.is_empty() {
            self.parts.clone_from(&other.parts);
        } else {
            other.parts.iter().for_each(|a| {
                self.add(a.clone());
            });
        }
    }

    /// Number of arrays.
    pub fn count(&self) -> usize {
        self.parts.len()
    }

    /// Elements of all arrays.
    pub fn elements(&self) -> usize {
        self.parts.iter().map(Array::len).sum()
    }

    /// The part that holds an index.
    fn part_of(&self, index: i64) -> Option<usize> {
        let part = self.parts.partition_point(|a| origin(a) <= index).checked_sub(1)?;
        (index - origin(&self.parts[part]) < self.parts[part].len() as i64).then_some(part)
    }

    /// The element at an index of the index space.
    pub fn get(&self, index: i64) -> Option<Scalar> {
        let part = &self.parts[self.part_of(index)?];
        Some(part.get((index - origin(part)) as usize))
    }

    /// Lets go of arrays in which no row is, and copies rows out of those of which only little is used or that are small
    /// and many. `starts[i]` is where row `i` of `lens[i]` elements begins; an empty row begins anywhere. Gives the new
    /// starts, or `None` if nothing changed, and the elements copied. What is copied is at most half of what is let go, or small:
    /// calling this whenever arrays were added costs no more than making them did, and a number of steps in proportion to the rows.
    pub fn tidy(&mut self, starts: &[i64], lens: &[i64]) -> Result<Option<Moved>, OutOfMemory> {
        if self.parts.len() <= 1 {
            return Ok(None);
        }
        let homes: Vec<usize> = starts
            .iter()
            .zip(lens)
            .map(|(s, n)| if *n > 0 { self.part_of(*s).unwrap_or(usize::MAX) } else { usize::MAX })
            .collect();
        let mut used = vec![0usize; self.parts.len()];
        for (home, n) in homes.iter().zip(lens).filter(|(h, _)| **h != usize::MAX) {
            used[*home] += *n as usize;
        }
        let leaves = self.leaving(&used);
        let moved = self.move_out(&leaves, &homes, starts, lens, &used)?;
        Ok(moved)
    }

    /// Which arrays are let go of: those hardly used, and where there are many, the small ones.
    fn leaving(&self, used: &[usize]) -> Vec<bool> {
        let many = used.iter().filter(|n| **n > 0).count() > MANY;
        let large = self.elements() / MANY;
        let leaves = |(a, n): (&Array, &usize)| {
            let len = a.len();
            *n == 0 || (len > FEW && *n < len / 2) || (many && len <= large && *n <= 2 * len)
        };
        self.parts.iter().zip(used).map(leaves).collect()
    }

    fn move_out(
        &mut self,
        leaves: &[bool],
        homes: &[usize],
        starts: &[i64],
        lens: &[i64],
        used: &[usize],
    ) -> Result<Option<Moved>, OutOfMemory> {
        let copied: usize = used.iter().zip(leaves).filter(|(_, l)| **l).map(|(n, _)| *n).sum();
        let mut moved = None;
        if copied > 0 {
            let mut fresh = Array::try_uninit(self.prim, copied)?;
            let mut new = Array::from_slice(starts);
            let (base, size) = (origin(&fresh), self.prim.size());
            let (bytes, new_starts) = (fresh.bytes_mut(), new.slice_mut::<i64>());
            let mut at = 0;
            for (row, home) in homes.iter().enumerate().filter(|(_, h)| **h != usize::MAX && leaves[**h]) {
                let (part, n) = (&self.parts[*home], lens[row] as usize);
                let from = (starts[row] - origin(part)) as usize * size;
                bytes[at * size..(at + n) * size].copy_from_slice(&part.bytes()[from..from + n * size]);
                new_starts[row] = base + at as i64;
                at += n;
            }
            moved = Some(Moved { starts: new, copied });
            self.keep(leaves);
            self.add(fresh);
        } else {
            self.keep(leaves);
        }
        Ok(moved)
    }

    fn keep(&mut self, leaves: &[bool]) {
        let mut leaves = leaves.iter();
        self.parts.retain(|_| !leaves.next().copied().unwrap_or(false));
    }
}

/// What [`Blocks::tidy`] moved.
#[derive(Debug)]
pub struct Moved {
    /// Where rows start now.
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
        let mut blocks = Blocks::new(Prim::I64);
        let (at_a, at_b) = (blocks.add(a.clone()), blocks.add(b));
        assert_eq!(blocks.add(a), at_a);
        assert_eq!(blocks.count(), 2);
        assert_eq!(blocks.get(at_a + 2), Some(Scalar::I64(3)));
        assert_eq!(blocks.get(at_b), Some(Scalar::I64(7)));
        assert_eq!(blocks.get(at_a + 3), None);
    }

    #[test]
    fn arrays_without_rows_are_let_go() {
        let mut blocks = Blocks::new(Prim::I64);
        let at = blocks.add(Array::from_slice(&[1i64, 2, 3]));
        blocks.add(Array::from_slice(&[4i64; 10]));
        assert!(blocks.tidy(&[at], &[3]).expect("memory").is_none());
        assert_eq!(blocks.count(), 1);
        assert_eq!(blocks.get(at), Some(Scalar::I64(1)));
    }

    #[test]
    fn rows_are_copied_out_of_arrays_that_are_hardly_used() {
        let mut blocks = Blocks::new(Prim::I64);
        let kept = blocks.add(Array::from_slice(&[5i64, 6]));
        let large: Vec<i64> = (0..10_000).collect();
        let at = blocks.add(Array::from_slice(&large));
        let moved = blocks.tidy(&[at + 100, kept, at, 0], &[3, 2, 1, 0]).expect("memory").expect("moved");
        let starts = moved.starts.slice::<i64>().to_vec();
        assert_eq!((moved.copied, blocks.count(), starts[1]), (4, 2, kept));
        assert_eq!(blocks.get(starts[0] + 2), Some(Scalar::I64(102)));
        assert_eq!(blocks.get(starts[2]), Some(Scalar::I64(0)));
        assert!(blocks.elements() < 10);
    }

    #[test]
    fn shared_rows_are_not_multiplied() {
        let mut blocks = Blocks::new(Prim::I64);
        let at = blocks.add(Array::from_slice(&vec![1i64; 5_000]));
        blocks.add(Array::from_slice(&[2i64]));
        let (starts, lens) = (vec![at; 100], vec![5_000; 100]);
        assert!(blocks.tidy(&starts, &lens).expect("memory").is_none());
        assert_eq!(blocks.elements(), 5_000);
    }
}
