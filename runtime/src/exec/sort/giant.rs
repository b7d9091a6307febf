//! Sorting a row that does not fit in a cache: its elements are first brought to 256 buckets by the highest bits in which they
//! differ, by all threads together; then every bucket is sorted for itself.

use super::row::{self, Key, Payload, RADIX, Row};
use crate::exec::threads;
use std::ops::Range;
use std::sync::Mutex;

/// Elements that are sorted by one thread at once: they fit in its cache, with what comes with them and as much room.
pub const GIANT: usize = 1 << 16;

/// Buckets with a larger part of a row are sorted by all threads together.
const LARGE_PART: usize = 4;

/// Sorts what is in `row`, with as much room in `other`, by the lowest `bits` bits (the others are the same in all). The result
/// is in `other` if that is wanted.
pub fn sort<K: Key, V: Payload>(
    threads: usize,
    row: Row<K, V>,
    mut other: Row<K, V>,
    bits: u32,
    to_other: bool,
) {
    if row.len() <= GIANT {
        return row::sort(row, other, bits, to_other);
    }
    match to_buckets(threads, (row.keys, row.values), other.again(), bits) {
        Some(buckets) => sort_buckets(threads, other, row, buckets, !to_other),
        None => row::finish(row, other, false, to_other),
    }
}

/// As [`sort`], of elements in a third place, which are only read.
pub fn sort_from<K: Key, V: Payload>(
    threads: usize,
    from: (&[K], &[V]),
    mut room: Row<K, V>,
    mut to: Row<K, V>,
) {
    match to_buckets(threads, from, room.again(), K::BITS) {
        Some(buckets) => sort_buckets(threads, room, to, buckets, true),
        None => to.copy_from(from),
    }
}

/// Ends of the buckets, and the number of low bits in which the elements of one may still differ.
struct Buckets {
    ends: [usize; RADIX],
    bits: u32,
}

/// Sorts every bucket.
fn sort_buckets<K: Key, V: Payload>(
    threads: usize,
    row: Row<K, V>,
    other: Row<K, V>,
    buckets: Buckets,
    to_other: bool,
) {
    let large = (row.len() / LARGE_PART).max(GIANT);
    let (mut row, mut other, mut start) = (row, other, 0);
    let mut small = Vec::new();
    for end in buckets.ends {
        let (bucket, rest) = row.split(end - start);
        let (room, rest_of_room) = other.split(end - start);
        (row, other, start) = (rest, rest_of_room, end);
        match bucket.len() {
            0 => {}
            n if n > large => sort(threads, bucket, room, buckets.bits, to_other),
            _ => small.push(Mutex::new(Some((bucket, room)))),
        }
    }
    threads::run(threads, small.len(), |i| {
        let taken = small[i].lock().unwrap_or_else(|e| e.into_inner()).take();
        if let Some((bucket, room)) = taken {
            sort(1, bucket, room, buckets.bits, to_other);
        }
    });
}

/// Puts the elements into buckets; none if the lowest `bits` bits of all keys are the same.
fn to_buckets<K: Key, V: Payload>(
    threads: usize,
    (keys, values): (&[K], &[V]),
    mut to: Row<K, V>,
    bits: u32,
) -> Option<Buckets> {
    let parts = threads::parts(threads, keys.len());
    let mut shift = bits.saturating_sub(8);
    let (mut counts, mut differing) = count(threads, keys, &parts, shift);
    differing &= u64::MAX >> (64 - bits.clamp(1, 64));
    if differing == 0 || bits == 0 {
        return None;
    }
    let top = 64 - differing.leading_zeros();
    if top <= shift || top <= 8 && shift > 0 {
        shift = top.saturating_sub(8);
        counts = count(threads, keys, &parts, shift).0;
    }
    let ends = starts(&mut counts);
    let shared = Shared::new(&mut to);
    let counts: Vec<Mutex<[usize; RADIX]>> = counts.into_iter().map(Mutex::new).collect();
    threads::run(threads, parts.len(), |i| {
        let mut next = counts[i].lock().unwrap_or_else(|e| e.into_inner());
        let part = parts[i].clone();
        // SAFETY: the places of a part's digits begin where those of the part before end, which counted the same elements.
        unsafe { place((&keys[part.clone()], &values[part]), &shared, shift, &mut next) };
    });
    Some(Buckets { ends, bits: shift })
}

/// Number of elements of each part with each digit, and the bits in which any two keys differ.
fn count<K: Key>(
    threads: usize,
    keys: &[K],
    parts: &[Range<usize>],
    shift: u32,
) -> (Vec<[usize; RADIX]>, u64) {
    let first = keys.first().map_or(0, |k| k.wide());
    let found: Vec<Mutex<([usize; RADIX], u64)>> =
        parts.iter().map(|_| Mutex::new(([0; RADIX], 0))).collect();
    threads::run(threads, parts.len(), |i| {
        let counted = count_part(&keys[parts[i].clone()], shift, first);
        *found[i].lock().unwrap_or_else(|e| e.into_inner()) = counted;
    });
    let found = found.into_iter().map(|m| m.into_inner().unwrap_or_else(|e| e.into_inner()));
    let (counts, differing): (Vec<_>, Vec<u64>) = found.unzip();
    (counts, differing.into_iter().fold(0, |all, x| all | x))
}

/// Neighbours often have the same digit: two tables, so that one need not wait for the other.
fn count_part<K: Key>(keys: &[K], shift: u32, first: u64) -> ([usize; RADIX], u64) {
    let (mut even, mut odd, mut differing) = ([0usize; RADIX], [0usize; RADIX], 0);
    let mut pairs = keys.chunks_exact(2);
    for pair in &mut pairs {
        differing |= (pair[0].wide() ^ first) | (pair[1].wide() ^ first);
        even[pair[0].digit(shift)] += 1;
        odd[pair[1].digit(shift)] += 1;
    }
    for key in pairs.remainder() {
        differing |= key.wide() ^ first;
        even[key.digit(shift)] += 1;
    }
    even.iter_mut().zip(odd).for_each(|(a, b)| *a += b);
    (even, differing)
}

/// Numbers of elements become the places of the first of them; where each digit ends.
fn starts(counts: &mut [[usize; RADIX]]) -> [usize; RADIX] {
    let mut start = 0;
    std::array::from_fn(|digit| {
        for part in counts.iter_mut() {
            start += std::mem::replace(&mut part[digit], start);
        }
        start
    })
}

/// Elements that threads write at places of their own.
struct Shared<K, V> {
    keys: *mut K,
    values: *mut V,
}

// SAFETY: only addresses; `place` says what its callers promise.
unsafe impl<K, V> Sync for Shared<K, V> {}

impl<K: Key, V: Payload> Shared<K, V> {
    fn new(row: &mut Row<K, V>) -> Shared<K, V> {
        Shared { keys: row.keys.as_mut_ptr(), values: row.values.as_mut_ptr() }
    }
}

/// Puts every element where its digit's next one goes.
///
/// # Safety
/// For every digit as many places as the elements have it, from `next` on, are inside and nobody else's.
unsafe fn place<K: Key, V: Payload>(
    (keys, values): (&[K], &[V]),
    to: &Shared<K, V>,
    shift: u32,
    next: &mut [usize; RADIX],
) {
    for (key, value) in keys.iter().zip(values) {
        let at = &mut next[key.digit(shift)];
        // SAFETY: as required of the caller.
        unsafe {
            *to.keys.add(*at) = *key;
            *to.values.add(*at) = *value;
        }
        *at += 1;
    }
}
