//! Partitions: scans that count the elements of classes, and scatters that put every element behind those of its class.
//!
//! Each class writes to a range of its own, from its first place on. So of an array that somebody else holds no copy is made before:
//! what no class has reached is copied afterwards, which is nothing in a permutation. If classes go beyond their ranges, everything
//! is done once more, into a copy.
//!
//! A part of a giant row, whose places wait for the parts before it, buffers its elements by class, which counts them, and copies
//! them to their places when these are known: nothing has to be counted before. Memory is slower than counting: elements of
//! arrays that no cache holds are counted first, and go to their places at once.

use super::launch::Launch;
use super::space::Chunk;
use crate::array::Array;
use crate::partition::{FAR, Places};
use crate::plan::Partition;
use crate::prim::Prim;
use std::ops::Range;
use std::sync::Mutex;

/// A partition under way.
#[derive(Default)]
pub struct Moving {
    /// Per class: its first place.
    first: Vec<i64>,
    /// Types of the arrays that are written to.
    prims: Vec<Prim>,
    /// Per class: how many elements it has; and how many of all were beyond their range.
    moved: Mutex<(Vec<i64>, i64)>,
    /// Arrays that somebody else holds, with the numbers of the outputs that are there instead.
    replaced: Vec<(usize, Array)>,
}

impl Launch<'_> {
    /// Begins one, into arrays of these types.
    pub fn begin_moving(&mut self, partition: &Partition, prims: Vec<Prim>) {
        let first: Vec<i64> = partition.first.iter().map(|s| self.evaluate(s)).collect();
        let moved = Mutex::new((vec![0; first.len()], 0));
        self.moving = Some(Moving { first, prims, moved, replaced: vec![] });
    }

    /// Runs the kernel on a chunk, from the prefixes in the environment.
    pub fn move_chunk(&self, partition: &Partition, moving: &Moving, env: &[u64], p: &Chunk) {
        let mut env = env.to_vec();
        let mut places = self.places(partition, moving, &env);
        let heads = places.heads;
        self.chunk_to(&mut places, &mut env, p);
        let counts = (0..moving.first.len()).map(|c| places.next[c].wrapping_sub(heads[c]));
        moving.note(&counts.collect::<Vec<_>>(), places.strays);
    }

    /// Destinations of the classes' next elements, after the prefixes in the environment.
    fn places(&self, partition: &Partition, moving: &Moving, env: &[u64]) -> Places {
        let layout = &self.kernel.layout;
        let mut places = Places::new(&moving.first, self.env[layout.outputs_at()] as usize);
        for (c, component) in partition.components.iter().enumerate() {
            let before = env[layout.initial_at() + component] as i64;
            places.heads[c] = moving.first[c].wrapping_add(before);
        }
        places.next = places.heads;
        places
    }

    /// Runs the kernel's own code on a chunk. False if it was left.
    fn chunk_to(&self, places: &mut Places, env: &mut [u64], p: &Chunk) -> bool {
        // The last word of the outputs.
        env[self.kernel.layout.outputs_at() + self.kernel.places_word()] = &raw mut *places as u64;
        self.run_chunk(self.kernel.code, env, p).is_some()
    }

    /// Buffers the elements of a part; none if the arrays are far, there is no room, or the code was left.
    pub fn buffer_elements(&self, moving: &Moving, p: &Chunk) -> Option<Buffered> {
        let size: usize = moving.prims.iter().map(|prim| prim.size()).sum();
        if self.env[self.kernel.layout.outputs_at()] as usize * size > FAR {
            return None;
        }
        let (classes, most) = (moving.first.len(), p.hi - p.lo);
        let room = moving.prims.iter().map(|prim| Array::try_uninit(*prim, classes * most).ok());
        let room: Vec<Array> = room.collect::<Option<_>>()?;
        let heads: Vec<i64> = (0..classes).map(|c| (c * most) as i64).collect();
        let mut places = Places::new(&heads, classes * most);
        let mut env = self.env.clone();
        for (word, a) in env[self.kernel.layout.outputs_at() + 1..].iter_mut().zip(&room) {
            *word = a.as_ptr() as u64;
        }
        let done = self.chunk_to(&mut places, &mut env, p);
        let counts = (0..classes).map(|c| places.next[c] - heads[c]).collect();
        done.then_some(Buffered { room, most, counts })
    }

    /// Copies what was buffered to its places, from the prefixes in the environment on. False, and nothing is done, if they are not all inside
    /// the ranges of their classes.
    pub fn place_buffered(
        &self,
        partition: &Partition,
        moving: &Moving,
        (buffered, env): (&Buffered, &[u64]),
    ) -> bool {
        let mut places = self.places(partition, moving, env);
        places.advance(&buffered.counts);
        if !places.is_inside() {
            return false;
        }
        let dests = &self.env[self.kernel.layout.outputs_at() + 1..];
        for (a, dest) in buffered.room.iter().zip(dests) {
            let (from, to, size) = (a.as_ptr(), *dest as *mut u8, a.prim().size());
            for (c, n) in buffered.counts.iter().enumerate() {
                let (at, n) = (places.heads[c] as usize * size, *n as usize * size);
                // SAFETY: the places are inside of the array, in a range of this class that begins where those of the part before end;
                // so many elements were buffered from the class's head on.
                unsafe { to.add(at).copy_from_nonoverlapping(from.add(c * buffered.most * size), n) };
            }
        }
        moving.note(&buffered.counts, 0);
        true
    }

    /// Copy in place of an array that somebody else holds, output `i`.
    pub fn replacement(&mut self, i: usize, a: Array) -> Result<Array, crate::RuntimeError> {
        let len = a.len();
        let is_inside = |first: &i64| (0..=len as i64).contains(first);
        match &mut self.moving {
            Some(moving) if moving.first.iter().all(is_inside) => {
                moving.replaced.push((i, a.clone()));
                self.alloc(a.prim(), len)
            }
            _ => self.copy_of(&a),
        }
    }

    /// Copies what no class has reached into the arrays that took the place of others. False if it must be done once more.
    pub fn finish_moving(&mut self, results: &mut [Array]) -> bool {
        let Some(moving) = self.moving.as_mut() else { return true };
        let (moved, strays) = std::mem::take(moving.moved.get_mut().unwrap_or_else(|e| e.into_inner()));
        let again = strays > 0 && !moving.replaced.is_empty();
        for (i, before) in std::mem::take(&mut moving.replaced) {
            let size = before.prim().size();
            let (from, to) = (before.bytes(), results[i].bytes_mut());
            let first = if again { &[] } else { &moving.first[..] };
            for gap in gaps(first, &moved, before.len()) {
                let gap = gap.start * size..gap.end * size;
                to[gap.clone()].copy_from_slice(&from[gap]);
            }
        }
        moving.moved = Mutex::new((vec![0; moving.first.len()], 0));
        !again
    }
}

/// The elements of a part by class.
pub struct Buffered {
    /// For each array that is written to: room for as many elements of each class.
    room: Vec<Array>,
    most: usize,
    /// Per class: how many there are.
    pub counts: Vec<i64>,
}

impl Moving {
    /// So many more elements of each class were moved, and were beyond their range.
    fn note(&self, counts: &[i64], strays: i64) {
        let mut moved = self.moved.lock().unwrap_or_else(|e| e.into_inner());
        moved.0.iter_mut().zip(counts).for_each(|(all, n)| *all += n);
        moved.1 += strays;
    }
}

/// Places that are in none of the ranges, which begin at `first` and have so many places.
fn gaps(first: &[i64], moved: &[i64], len: usize) -> Vec<Range<usize>> {
    let mut ranges: Vec<(i64, i64)> = first.iter().zip(moved).map(|(f, n)| (*f, f + n)).collect();
    ranges.sort_unstable();
    ranges.push((len as i64, len as i64));
    let mut at = 0;
    let mut gaps = Vec::new();
    for (start, end) in ranges {
        if at < start {
            gaps.push(at as usize..start as usize);
        }
        at = at.max(end);
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::gaps;
    use std::ops::Range;

    #[test]
    fn gaps_between_ranges() {
        let none: [Range<usize>; 0] = [];
        assert_eq!(gaps(&[0, 4], &[4, 6], 10), none);
        assert_eq!(gaps(&[6, 1], &[2, 3], 10), [0..1, 4..6, 8..10]);
        assert_eq!(gaps(&[0, 0], &[0, 3], 3), none);
        let whole = 0..5;
        assert_eq!(gaps(&[5], &[0], 5), [whole]);
    }
}
