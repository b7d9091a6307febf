//! Strips of elements that go to places of their own, class by class: what scatters do whose indices only count.
//!
//! The elements of each class of a strip are packed and counted; if they stay inside the range of their class they are moved
//! as a whole, and else one by one. Filters pack strips ([`packer`]), other scatters take indices ([`scatterer`]).

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod sixteen;
#[cfg(target_arch = "x86_64")]
mod ssse3;
mod sweep;

use crate::simd::{Level, level};
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

/// Classes that a partition has at most.
pub const MOST: usize = 16;

/// Bytes of arrays of which little is in a cache any more when a bulk operation comes to them.
pub const FAR: usize = 1 << 23;

/// Destinations of the elements of each class.
#[repr(C)]
#[derive(Clone, Debug)]
pub struct Places {
    /// Number of classes.
    pub classes: usize,
    /// Length of the arrays; what would go outside goes nowhere.
    pub len: i64,
    /// Per class: where the first of the strip goes.
    pub heads: [i64; MOST],
    /// Per class: where the first after the strip goes.
    pub next: [i64; MOST],
    /// Per class: where another class, or nothing, begins.
    pub ends: [i64; MOST],
    /// Elements that were not inside the range of their class.
    pub strays: i64,
}

impl Places {
    /// For elements that go to these places first.
    pub fn new(first: &[i64], len: usize) -> Places {
        let mut heads = [0; MOST];
        heads[..first.len()].copy_from_slice(first);
        let mut ends = [len as i64; MOST];
        for (i, end) in ends.iter_mut().enumerate().take(first.len()) {
            let others = first.iter().enumerate().filter(|(j, x)| *j != i && **x >= first[i]);
            *end = others.map(|(_, x)| *x).min().unwrap_or(len as i64).min(len as i64);
        }
        Places { classes: first.len(), len: len as i64, heads, next: heads, ends, strays: 0 }
    }

    /// True if all elements of the strip stay in the ranges of their classes.
    pub(crate) fn is_inside(&self) -> bool {
        (0..self.classes).all(|c| self.heads[c] >= 0 && self.next[c] <= self.ends[c])
    }

    /// The next strip has so many elements of each class.
    pub(crate) fn advance(&mut self, counts: &[i64]) {
        self.heads = self.next;
        for (c, n) in counts.iter().enumerate() {
            self.next[c] = self.heads[c].wrapping_add(*n);
            // Of those before the end none is a stray, of those after it all are.
            let inside = self.next[c].min(self.ends[c]).saturating_sub(self.heads[c]).clamp(0, *n);
            self.strays += if self.heads[c] < 0 { *n } else { *n - inside };
        }
    }
}

/// Number of elements of each class. What has a number that is no class is not counted.
fn count(classes: &[u32], most: usize) -> [i64; MOST] {
    let mut counts = [0; MOST];
    for c in classes {
        if let Some(n) = counts[..most].get_mut(*c as usize) {
            *n += 1;
        }
    }
    counts
}

/// `(to, from, classes, n, places)`: moves `n` elements, at most [`STRIP`](crate::math::STRIP). The first array that a strip is moved of also counts its elements,
/// for those that come after it.
pub type Move = unsafe extern "C" fn(*mut u8, *const u8, *const u32, i64, *mut Places);

/// An element of a scatter: a word that several threads may store to one place at a time. One of their values stays there.
trait Word: Copy {
    /// Stores a word.
    ///
    /// # Safety
    /// The place is aligned and may be written. Threads that use it at the same time do nothing but store words of this size.
    unsafe fn store(to: *mut Self, x: Self);
}

macro_rules! words {
    ($($t:ty: $atomic:ty),*) => { $(
        impl Word for $t {
            #[inline(always)]
            unsafe fn store(to: *mut $t, x: $t) {
                // SAFETY: as the caller promises.
                unsafe { <$atomic>::from_ptr(to) }.store(x, Relaxed);
            }
        }
    )* };
}
words!(u8: AtomicU8, u16: AtomicU16, u32: AtomicU32, u64: AtomicU64);

/// Moves the elements one by one.
///
/// # Safety
/// As for [`Move`]: there are so many elements and classes, and the array `to` has the length that `places` says.
unsafe fn one_by_one<T: Word>(strip: &Strip<T>) {
    let Strip { to, from, classes, n, ref places, .. } = *strip;
    let mut next = places.heads;
    for i in 0..n {
        // SAFETY: as the caller promises.
        let c = unsafe { *classes.add(i) } as usize;
        if c >= places.classes {
            continue;
        }
        let at = next[c];
        next[c] = at.wrapping_add(1);
        if (0..places.len).contains(&at) {
            // SAFETY: the place is inside; other threads do no more than this there.
            unsafe { T::store(to.add(at as usize), *from.add(i)) };
        }
    }
}

/// A strip on its way: what is moved, and where to.
///
/// Whoever makes one promises what the caller of a [`Move`] does.
struct Strip<'p, T> {
    to: *mut T,
    from: *const T,
    classes: *const u32,
    /// Elements, at most [`STRIP`](crate::math::STRIP).
    n: usize,
    places: &'p mut Places,
    /// The first array of the strip, which counts its elements.
    first: bool,
}

/// Moves elements with ordinary instructions, and counts them if they are the first of their strip.
///
/// # Safety
/// As for [`Move`].
unsafe fn plainly<T: Word>(strip: &mut Strip<T>) {
    // SAFETY: as the caller promises.
    unsafe {
        if sweep::few(strip) {
            return;
        }
        if strip.first {
            let counts = count(std::slice::from_raw_parts(strip.classes, strip.n), strip.places.classes);
            strip.places.advance(&counts[..strip.places.classes]);
        }
        one_by_one(strip);
    }
}

macro_rules! moves {
    ($name:ident, $t:ident, [$($baseline:path, $avx2:path, $avx512:path)?]) => {
        /// Moves elements of so many bytes, and counts them if they are the `FIRST` of their strip.
        ///
        /// # Safety
        /// As for [`Move`]; the processor has the instructions of the level.
        unsafe extern "C" fn $name<const FIRST: bool, const LEVEL: u8>(
            to: *mut u8,
            from: *const u8,
            classes: *const u32,
            n: i64,
            places: *mut Places,
        ) {
            // SAFETY: as the caller promises.
            unsafe {
                let (to, from, n) = (to.cast(), from.cast(), n as usize);
                let mut strip = Strip::<$t> { to, from, classes, n, places: &mut *places, first: FIRST };
                $(
                    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
                    if LEVEL == Level::Baseline as u8 && $baseline(&mut strip) {
                        return;
                    }
                    #[cfg(target_arch = "x86_64")]
                    if LEVEL == Level::Avx2 as u8 && $avx2(&mut strip) || LEVEL == Level::Avx512 as u8 && $avx512(&mut strip) {
                        return;
                    }
                )?
                plainly(&mut strip);
            }
        }
    };
}
moves!(move_u8, u8, []);
moves!(move_u16, u16, []);
moves!(move_u32, u32, [sixteen::move_u32, avx2::move_u32, avx512::move_u32]);
moves!(move_u64, u64, [sixteen::move_u64, avx2::move_u64, avx512::move_u64]);

/// The function of a level among those that are generic over it.
macro_rules! at_level {
    ($level:expr, $name:ident $(::<$first:literal>)?) => {
        match $level {
            Level::Baseline => $name::<$($first,)? { Level::Baseline as u8 }>,
            Level::Avx2 => $name::<$($first,)? { Level::Avx2 as u8 }>,
            Level::Avx512 => $name::<$($first,)? { Level::Avx512 as u8 }>,
        }
    };
}

/// The function that moves elements of so many bytes: 1, 2, 4 or 8. The `first` of a strip counts.
pub fn mover(size: usize, first: bool) -> Move {
    mover_at(level(), size, first)
}

/// As [`mover`], for a level that the processor has.
fn mover_at(level: Level, size: usize, first: bool) -> Move {
    match (size, first) {
        (1, true) => at_level!(level, move_u8::<true>),
        (1, false) => at_level!(level, move_u8::<false>),
        (2, true) => at_level!(level, move_u16::<true>),
        (2, false) => at_level!(level, move_u16::<false>),
        (4, true) => at_level!(level, move_u32::<true>),
        (4, false) => at_level!(level, move_u32::<false>),
        (_, true) => at_level!(level, move_u64::<true>),
        (_, false) => at_level!(level, move_u64::<false>),
    }
}

/// `(to, from, flags, n)`: stores those of `n` elements whose flags are set one behind the other; their number. There are places for all.
pub type Pack = unsafe extern "C" fn(*mut u8, *const u8, *const u8, i64) -> i64;

/// Packs elements with ordinary instructions. Those that are not kept are stored too, and replaced by the next one.
///
/// # Safety
/// As for [`Pack`]: there are so many elements, flags and places.
unsafe fn pack<T: Copy>(to: *mut T, from: *const T, flags: *const u8, n: usize) -> i64 {
    let mut kept = 0;
    for i in 0..n {
        // SAFETY: as the caller promises.
        unsafe {
            *to.add(kept) = *from.add(i);
            kept += usize::from(*flags.add(i) != 0);
        }
    }
    kept as i64
}

macro_rules! packs {
    ($name:ident, $t:ident, [$($baseline:path, $avx2:path, $avx512:path)?]) => {
        /// Packs elements of so many bytes.
        ///
        /// # Safety
        /// As for [`Pack`]; the processor has the instructions of the level.
        unsafe extern "C" fn $name<const LEVEL: u8>(to: *mut u8, from: *const u8, flags: *const u8, n: i64) -> i64 {
            // SAFETY: as the caller promises.
            unsafe {
                let (to, from, n) = (to.cast(), from.cast(), n as usize);
                $(
                    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
                    if LEVEL == Level::Baseline as u8 {
                        return $baseline(to, from, flags, n);
                    }
                    #[cfg(target_arch = "x86_64")]
                    if LEVEL == Level::Avx2 as u8 {
                        return $avx2(to, from, flags, n);
                    }
                    #[cfg(target_arch = "x86_64")]
                    if LEVEL == Level::Avx512 as u8 {
                        return $avx512(to, from, flags, n);
                    }
                )?
                pack::<$t>(to, from, flags, n)
            }
        }
    };
}
packs!(pack_u8, u8, []);
packs!(pack_u16, u16, []);
packs!(pack_u32, u32, [sixteen::pack_u32, avx2::pack_u32, avx512::pack_u32]);
packs!(pack_u64, u64, [sixteen::pack_u64, avx2::pack_u64, avx512::pack_u64]);

/// The function that packs elements of so many bytes: 1, 2, 4 or 8.
pub fn packer(size: usize) -> Pack {
    packer_at(level(), size)
}

/// As [`packer`], for a level that the processor has.
fn packer_at(level: Level, size: usize) -> Pack {
    match size {
        1 => at_level!(level, pack_u8),
        2 => at_level!(level, pack_u16),
        4 => at_level!(level, pack_u32),
        _ => at_level!(level, pack_u64),
    }
}

/// `(to, len, from, indices, n)`: stores each of `n` elements at its index, if that is below `len`.
pub type Scatter = unsafe extern "C" fn(*mut u8, i64, *const u8, *const i64, i64);

/// Bytes of an array that a cache holds.
const NEAR: usize = 1 << 18;
/// Prefetch distance: number of elements between asking for a place and storing to it.
const AHEAD: usize = 24;

/// Stores elements at their indices. The processor would wait for one place after the other, so those of a large array are asked for
/// before.
///
/// # Safety
/// As for [`Scatter`]: there are so many elements and indices, and the array has `len` places, to which other threads may store, too.
#[inline(always)]
unsafe fn scatter<T: Word>(to: *mut T, len: i64, from: *const T, indices: *const i64, n: usize) {
    let is_far = len as usize * size_of::<T>() > NEAR;
    for i in 0..n {
        // SAFETY: as the caller promises; what is asked for need not be there.
        unsafe {
            #[cfg(target_arch = "x86_64")]
            if is_far && i + AHEAD < n {
                use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
                _mm_prefetch::<_MM_HINT_T0>(to.wrapping_offset(*indices.add(i + AHEAD) as isize).cast());
            }
            #[cfg(target_arch = "aarch64")]
            if is_far && i + AHEAD < n {
                crate::simd::will_store(to.wrapping_offset(*indices.add(i + AHEAD) as isize).cast());
            }
            let at = *indices.add(i);
            if (at as u64) < len as u64 {
                T::store(to.add(at as usize), *from.add(i));
            }
        }
    }
}

macro_rules! scatters {
    ($name:ident, $t:ident) => {
        /// Scatters elements of so many bytes.
        ///
        /// # Safety
        /// As for [`Scatter`].
        unsafe extern "C" fn $name(to: *mut u8, len: i64, from: *const u8, indices: *const i64, n: i64) {
            // SAFETY: as the caller promises.
            unsafe { scatter::<$t>(to.cast(), len, from.cast(), indices, n as usize) };
        }
    };
}
scatters!(scatter_u8, u8);
scatters!(scatter_u16, u16);
scatters!(scatter_u32, u32);
scatters!(scatter_u64, u64);

/// The function that scatters elements of so many bytes: 1, 2, 4 or 8.
pub fn scatterer(size: usize) -> Scatter {
    match size {
        1 => scatter_u8,
        2 => scatter_u16,
        4 => scatter_u32,
        _ => scatter_u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The levels that this processor has.
    fn levels() -> impl Iterator<Item = Level> {
        Level::ALL.into_iter().filter(|l| *l <= Level::detected())
    }

    /// The strays, at every level the same.
    fn moved<T: Copy + Default + PartialEq + std::fmt::Debug>(
        elements: &[T],
        classes: &[u32],
        first: &[i64],
        len: usize,
    ) -> i64 {
        let strays: Vec<i64> = levels().map(|l| moved_at(l, elements, classes, first, len)).collect();
        assert!(strays.iter().all(|n| *n == strays[0]), "{strays:?}");
        strays[0]
    }

    /// Results of moving strips and of a loop; the strays.
    fn moved_at<T: Copy + Default + PartialEq + std::fmt::Debug>(
        level: Level,
        elements: &[T],
        classes: &[u32],
        first: &[i64],
        len: usize,
    ) -> i64 {
        let (mut found, mut wanted) = (vec![T::default(); len], vec![T::default(); len]);
        let mut places = Places::new(first, len);
        let mut again = found.clone();
        for (x, c) in elements.chunks(512).zip(classes.chunks(512)) {
            for (to, first) in [(&mut found, true), (&mut again, false)] {
                let (to, from) = (to.as_mut_ptr().cast(), x.as_ptr().cast());
                // SAFETY: the chunks are equally long.
                unsafe {
                    mover_at(level, size_of::<T>(), first)(to, from, c.as_ptr(), c.len() as i64, &mut places)
                };
            }
        }
        let mut next = first.to_vec();
        for (x, c) in elements.iter().zip(classes) {
            let Some(at) = next.get_mut(*c as usize) else { continue };
            if (0..len as i64).contains(at) {
                wanted[*at as usize] = *x;
            }
            *at = at.wrapping_add(1);
        }
        assert_eq!(found, wanted);
        assert_eq!(again, wanted);
        places.strays
    }

    fn classes(n: usize, k: u32) -> Vec<u32> {
        (0..n as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 16) % k).collect()
    }

    fn starts(classes: &[u32], k: u32) -> Vec<i64> {
        (0..k).map(|c| classes.iter().filter(|x| **x < c).count() as i64).collect()
    }

    #[test]
    fn partitions() {
        for n in [0, 1, 15, 16, 17, 511, 512, 513, 5000] {
            for k in [1, 2, 3, 8, 16] {
                let classes = classes(n, k);
                let first = starts(&classes, k);
                assert_eq!(moved(&(0..n as u32).collect::<Vec<_>>(), &classes, &first, n), 0);
                assert_eq!(moved(&(0..n as u64).collect::<Vec<_>>(), &classes, &first, n), 0);
                assert_eq!(moved(&(0..n).map(|i| i as u8).collect::<Vec<_>>(), &classes, &first, n), 0);
                assert_eq!(moved(&(0..n).map(|i| i as u16).collect::<Vec<_>>(), &classes, &first, n), 0);
            }
        }
    }

    #[test]
    fn elements_that_go_nowhere() {
        let classes = classes(3000, 3);
        let kept = classes.iter().filter(|c| **c < 2).count();
        let elements: Vec<u64> = (0..3000).collect();
        assert_eq!(moved(&elements, &classes, &starts(&classes, 2), kept), 0);
    }

    #[test]
    fn strays() {
        let classes = classes(3000, 2);
        let elements: Vec<u32> = (0..3000).collect();
        let ones = classes.iter().filter(|c| **c == 1).count() as i64;
        // The second class begins too soon, at the end, outside, or where the first does.
        assert!(moved(&elements, &classes, &[0, 100], 3000) > 0);
        assert_eq!(moved(&elements, &classes, &[0, 3000], 3000), ones);
        assert!(moved(&elements, &classes, &[-1, 3000], 3000) > 0);
        assert_eq!(moved(&elements, &classes, &[i64::MAX, i64::MIN], 3000), 3000);
        assert_eq!(moved(&elements, &classes, &[7, 7], 3000), 3000);
    }

    fn packed<T: Copy + Default + PartialEq + std::fmt::Debug>(elements: &[T], flags: &[u8]) {
        let kept = elements.iter().zip(flags).filter(|(_, f)| **f != 0);
        let wanted: Vec<T> = kept.map(|(x, _)| *x).collect();
        for level in levels() {
            let mut found = vec![T::default(); elements.len()];
            // SAFETY: there are as many flags and places as elements.
            let n = unsafe {
                let (to, from) = (found.as_mut_ptr().cast(), elements.as_ptr().cast());
                packer_at(level, size_of::<T>())(to, from, flags.as_ptr(), flags.len() as i64)
            };
            found.truncate(n as usize);
            assert_eq!((n as usize, &found), (wanted.len(), &wanted), "{level:?}");
        }
    }

    #[test]
    fn packs() {
        for n in [0, 1, 7, 8, 9, 16, 17, 511, 512] {
            for k in [1, 2, 5, 1000] {
                let flags: Vec<u8> = classes(n, k).iter().map(|c| u8::from(*c == 0)).collect();
                packed(&(0..n as u32).collect::<Vec<_>>(), &flags);
                packed(&(0..n as u64).collect::<Vec<_>>(), &flags);
                packed(&(0..n).map(|i| i as u8).collect::<Vec<_>>(), &flags);
                packed(&(0..n).map(|i| i as i16).collect::<Vec<_>>(), &flags);
            }
        }
    }

    #[test]
    fn scatters() {
        for (n, len) in [(0, 5), (1, 1), (100, 10), (512, 200_000)] {
            let indices: Vec<i64> = (0..n as i64).map(|i| i * 7919 % (len as i64 + 3) - 1).collect();
            let values: Vec<u16> = (0..n as u16).collect();
            let (mut found, mut wanted) = (vec![9u16; len], vec![9u16; len]);
            // SAFETY: there are so many places, elements and indices.
            unsafe {
                let (to, from) = (found.as_mut_ptr().cast(), values.as_ptr().cast());
                scatterer(2)(to, len as i64, from, indices.as_ptr(), n as i64);
            }
            for (i, x) in indices.iter().zip(&values) {
                if let Some(place) = wanted.get_mut(*i as usize) {
                    *place = *x;
                }
            }
            assert_eq!(found, wanted);
        }
    }
}
