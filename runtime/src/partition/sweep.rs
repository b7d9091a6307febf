//! Shared parts of moves in vectors. The elements of a class are packed in a buffer, which is copied to its place: storing less than a vector
//! at a time is slow.

use super::{FAR, Places, Word, one_by_one};
use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
use std::mem::MaybeUninit;

/// Calls the sweep for a number of classes, which is known in its code. Going over the elements for each of more classes is no faster than
/// moving one by one: then nothing is done, and the result is false.
macro_rules! by_classes {
    ($sweep:ident, $classes:expr, ($($arg:expr),*)) => {
        match $classes {
            1 => $sweep::<1>($($arg),*),
            2 => $sweep::<2>($($arg),*),
            3 => $sweep::<3>($($arg),*),
            4 => $sweep::<4>($($arg),*),
            5 => $sweep::<5>($($arg),*),
            6 => $sweep::<6>($($arg),*),
            7 => $sweep::<7>($($arg),*),
            8 => $sweep::<8>($($arg),*),
            _ => false,
        }
    };
}
pub(super) use by_classes;

/// Asks for the lines that the next strip will be stored to, if it is like this one.
#[inline]
fn expect<T>(to: *const T, n: usize) {
    for at in (0..n).step_by(64 / size_of::<T>()) {
        // SAFETY: what is asked for need not be there.
        unsafe { _mm_prefetch::<_MM_HINT_ET0>(to.wrapping_add(at).cast()) };
    }
}

/// Copies the packed elements of each class to their places, or moves the elements one by one if some are outside the range of their class.
///
/// # Safety
/// As for [`super::Move`]; so many elements of each class are packed.
#[inline(always)]
pub(super) unsafe fn settle<T: Word, const K: usize, const N: usize>(
    to: *mut T,
    (from, classes, n): (*const T, *const u32, usize),
    (packed, counts): (&[[MaybeUninit<T>; N]; K], [usize; K]),
    places: &mut Places,
    first: bool,
) {
    if first {
        places.advance(&counts.map(|n| n as i64));
    }
    if !places.is_inside() {
        // SAFETY: as the caller promises.
        return unsafe { one_by_one(to, from, classes, n, places) };
    }
    for c in 0..K {
        // SAFETY: the places are inside, and no other thread has elements of this class for them. Another thread's stray elements may
        // go there at the same time; Rust has no copy of words that are atomic each, which the instructions of this one are.
        unsafe {
            let head = to.add(places.heads[c] as usize);
            head.copy_from_nonoverlapping(packed[c].as_ptr().cast(), counts[c]);
        }
    }
    if places.len as usize * size_of::<T>() > FAR {
        for (c, n) in counts.into_iter().enumerate() {
            expect(to.wrapping_offset(places.next[c] as isize), n);
        }
    }
}
