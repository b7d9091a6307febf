//! Partitions: scans that count the elements of classes, and scatters that put every element behind those of its class.
//!
//! Each class writes to a range of its own, from its first place on. So of an array that somebody else holds no copy is made before:
//! what no class has reached is copied afterwards, which is nothing in a permutation. If classes go beyond their ranges, everything
//! is done once more, into a copy.

use super::launch::Launch;
use super::space::Piece;
use crate::array::Array;
use crate::partition::Places;
use crate::plan::Partition;
use std::ops::Range;
use std::sync::Mutex;

/// A partition under way.
#[derive(Default)]
pub struct Moving {
    /// Per class: its first place.
    first: Vec<i64>,
    /// Per class: how many elements it has; and how many of all were beyond their range.
    moved: Mutex<(Vec<i64>, i64)>,
    /// Arrays that somebody else holds, with the numbers of the outputs that are there instead.
    replaced: Vec<(usize, Array)>,
}

impl Launch<'_> {
    /// Begins one.
    pub fn begin_moving(&mut self, partition: &Partition) {
        let first: Vec<i64> = partition.first.iter().map(|s| self.evaluate(s)).collect();
        let moved = Mutex::new((vec![0; first.len()], 0));
        self.moving = Some(Moving { first, moved, replaced: vec![] });
    }

    /// Runs the kernel on a piece, from the prefixes in the environment.
    pub fn move_piece(&self, partition: &Partition, moving: &Moving, env: &[u64], p: &Piece) {
        let layout = &self.kernel.layout;
        let mut env = env.to_vec();
        let before = |c: &usize| env[layout.initial_at() + c] as i64;
        let counted = partition.components.iter().map(before);
        let heads: Vec<i64> = moving.first.iter().zip(counted).map(|(f, n)| f.wrapping_add(n)).collect();
        let mut places = Places::new(&moving.first, self.env[layout.outputs_at()] as usize);
        places.heads[..heads.len()].copy_from_slice(&heads);
        places.next = places.heads;
        // The last word of the outputs.
        env[layout.outputs_at() + self.kernel.places_word()] = &raw mut places as u64;
        self.piece(self.kernel.code, &env, p);
        let mut moved = moving.moved.lock().unwrap_or_else(|e| e.into_inner());
        for (c, head) in heads.iter().enumerate() {
            moved.0[c] += places.next[c].wrapping_sub(*head);
        }
        moved.1 += places.strays;
    }

    /// What takes the place of an array that somebody else holds, output `i`.
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

/// What is in none of the ranges, which begin at `first` and have so many places.
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
