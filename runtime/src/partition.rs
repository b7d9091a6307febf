//! Strips of elements that go to places of their own, class by class: what scatters do whose indices only count.
//!
//! For every strip the elements of each class are counted first ([`count`]), so that those that stay inside their range can be moved
//! as a whole, and the others one by one.

#[cfg(target_arch = "x86_64")]
mod wide;

#[cfg(target_arch = "x86_64")]
use crate::simd::{Level, level};

/// Classes that a partition has at most.
pub const MOST: usize = 16;

/// Where the elements of the classes go.
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

    /// Whether all elements of the strip stay in the ranges of their classes.
    fn is_inside(&self) -> bool {
        (0..self.classes).all(|c| self.heads[c] >= 0 && self.next[c] <= self.ends[c])
    }
}

/// Counts the classes of the next `n` elements. What has a number that is no class goes nowhere.
///
/// # Safety
/// There are `n` classes.
pub unsafe extern "C" fn count(classes: *const u32, n: i64, places: *mut Places) {
    // SAFETY: as the caller promises.
    let (classes, places) = unsafe { (std::slice::from_raw_parts(classes, n as usize), &mut *places) };
    places.heads = places.next;
    let mut counts = [0; MOST];
    #[cfg(target_arch = "x86_64")]
    let counted = if level() >= Level::Avx512 {
        // SAFETY: the processor has the instructions.
        unsafe { wide::count(classes, &mut counts[..places.classes]) };
        true
    } else {
        false
    };
    #[cfg(not(target_arch = "x86_64"))]
    let counted = false;
    if !counted {
        for c in classes {
            if let Some(n) = counts[..places.classes].get_mut(*c as usize) {
                *n += 1;
            }
        }
    }
    for (c, n) in counts.iter().enumerate().take(places.classes) {
        places.next[c] = places.heads[c].wrapping_add(*n);
        // Of those before the end none is a stray, of those after it all are.
        let inside = places.next[c].min(places.ends[c]).saturating_sub(places.heads[c]).clamp(0, *n);
        places.strays += if places.heads[c] < 0 { *n } else { *n - inside };
    }
}

/// `(to, from, classes, n, places)`: moves the `n` elements that were counted last.
pub type Move = unsafe extern "C" fn(*mut u8, *const u8, *const u32, i64, *const Places);

/// Moves the elements one by one.
///
/// # Safety
/// As for [`Move`]: there are so many elements and classes, and the array `to` has the length that `places` says.
unsafe fn one_by_one<T: Copy>(to: *mut T, from: *const T, classes: *const u32, n: usize, places: &Places) {
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
            // SAFETY: the place is inside.
            unsafe { *to.add(at as usize) = *from.add(i) };
        }
    }
}

macro_rules! moves {
    ($name:ident, $t:ident) => {
        /// Moves elements of so many bytes.
        ///
        /// # Safety
        /// As for [`Move`].
        unsafe extern "C" fn $name(
            to: *mut u8,
            from: *const u8,
            classes: *const u32,
            n: i64,
            places: *const Places,
        ) {
            // SAFETY: as the caller promises; the processor has the instructions.
            unsafe {
                #[cfg(target_arch = "x86_64")]
                if level() >= Level::Avx512 && (*places).classes <= wide::CLASSES && (*places).is_inside() {
                    return wide::$t(to.cast(), from.cast(), classes, n as usize, &*places);
                }
                one_by_one::<$t>(to.cast(), from.cast(), classes, n as usize, &*places);
            }
        }
    };
}
moves!(move_u32, u32);
moves!(move_u64, u64);

macro_rules! narrow_moves {
    ($name:ident, $t:ident) => {
        /// Moves elements of so few bytes.
        ///
        /// # Safety
        /// As for [`Move`].
        unsafe extern "C" fn $name(
            to: *mut u8,
            from: *const u8,
            classes: *const u32,
            n: i64,
            places: *const Places,
        ) {
            // SAFETY: as the caller promises.
            unsafe { one_by_one::<$t>(to.cast(), from.cast(), classes, n as usize, &*places) };
        }
    };
}
narrow_moves!(move_u8, u8);
narrow_moves!(move_u16, u16);

/// The function that moves elements of so many bytes: 1, 2, 4 or 8.
pub fn mover(size: usize) -> Move {
    match size {
        1 => move_u8,
        2 => move_u16,
        4 => move_u32,
        _ => move_u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What moving strips gives, and what a loop gives; the strays.
    fn moved<T: Copy + Default + PartialEq + std::fmt::Debug>(
        elements: &[T],
        classes: &[u32],
        first: &[i64],
        len: usize,
    ) -> i64 {
        let (mut found, mut wanted) = (vec![T::default(); len], vec![T::default(); len]);
        let mut places = Places::new(first, len);
        for (x, c) in elements.chunks(512).zip(classes.chunks(512)) {
            // SAFETY: the chunks are equally long.
            unsafe {
                count(c.as_ptr(), c.len() as i64, &mut places);
                let (to, from) = (found.as_mut_ptr().cast(), x.as_ptr().cast());
                mover(size_of::<T>())(to, from, c.as_ptr(), c.len() as i64, &places);
            }
        }
        let mut next = first.to_vec();
        for (x, c) in elements.iter().zip(classes) {
            let Some(at) = next.get_mut(*c as usize) else { continue };
            if (0..len as i64).contains(at) {
                wanted[*at as usize] = *x;
            }
            *at += 1;
        }
        assert_eq!(found, wanted);
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
        assert_eq!(moved(&elements, &classes, &[-1, 3000], 3000), 3000);
        assert_eq!(moved(&elements, &classes, &[i64::MAX, i64::MIN], 3000), 3000);
        assert_eq!(moved(&elements, &classes, &[7, 7], 3000), 3000);
    }
}
