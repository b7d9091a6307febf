//! Shared parts of moves in vectors. The elements of a class are packed in a buffer, which is copied to its place: storing less than a vector
//! at a time is slow.

use super::{FAR, Strip, Word, one_by_one};
use crate::math::STRIP;
use std::mem::MaybeUninit;

/// Calls the sweep for a number of classes, which is known in its code. Going over the elements for each of more classes is no faster than
/// moving one by one: then nothing is done, and the result is false.
macro_rules! by_classes {
    ($sweep:ident $(<$t:ident>)?, $strip:expr) => {
        match $strip.places.classes {
            1 => $sweep::<$($t,)? 1>($strip),
            2 => $sweep::<$($t,)? 2>($strip),
            3 => $sweep::<$($t,)? 3>($strip),
            4 => $sweep::<$($t,)? 4>($strip),
            5 => $sweep::<$($t,)? 5>($strip),
            6 => $sweep::<$($t,)? 6>($strip),
            7 => $sweep::<$($t,)? 7>($strip),
            8 => $sweep::<$($t,)? 8>($strip),
            _ => false,
        }
    };
}
pub(super) use by_classes;

/// Classes at most for which ordinary instructions go over the elements for all of them.
const FEW: usize = 4;

/// Moves elements with ordinary instructions, if there are few classes: each goes to the end of all buffers, and only one of them grows. So
/// no number has to be read from memory that was just written there. False if nothing was done.
///
/// # Safety
/// As for [`super::Move`].
pub(super) unsafe fn few<T: Word>(strip: &mut Strip<T>) -> bool {
    if strip.places.classes > FEW {
        return false;
    }
    // SAFETY: as the caller promises.
    unsafe { by_classes!(plain<T>, strip) }
}

/// # Safety
/// As for [`super::Move`].
unsafe fn plain<T: Word, const K: usize>(strip: &mut Strip<T>) -> bool {
    let Strip { from, classes, n, .. } = *strip;
    let mut packed = [const { [const { MaybeUninit::<T>::uninit() }; STRIP + 1] }; K];
    let mut counts = [0; K];
    for i in 0..n {
        // SAFETY: what is read is there; a class has no more elements than were read.
        unsafe {
            let (class, x) = (*classes.add(i) as usize, *from.add(i));
            for c in 0..K {
                packed[c].get_unchecked_mut(counts[c]).write(x);
                counts[c] += usize::from(class == c);
            }
        }
    }
    // SAFETY: as the caller promises; so many are packed.
    unsafe { settle(strip, (&packed, counts)) };
    true
}

/// Asks for the lines that the next strip will be stored to, if it is like this one.
#[inline]
fn expect<T>(to: *const T, n: usize) {
    for at in (0..n).step_by(64 / size_of::<T>()) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: what is asked for need not be there.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_ET0>(to.wrapping_add(at).cast());
        }
        #[cfg(target_arch = "aarch64")]
        crate::simd::will_store(to.wrapping_add(at).cast());
    }
}

/// Copies the packed elements of each class to their places, or moves the elements one by one if some are outside the range of their class.
///
/// # Safety
/// As for [`super::Move`]; so many elements of each class are packed.
#[inline(always)]
pub(super) unsafe fn settle<T: Word, const K: usize, const N: usize>(
    strip: &mut Strip<T>,
    (packed, counts): (&[[MaybeUninit<T>; N]; K], [usize; K]),
) {
    if strip.first {
        strip.places.advance(&counts.map(|n| n as i64));
    }
    if !strip.places.is_inside() {
        // SAFETY: as the caller promises.
        return unsafe { one_by_one(strip) };
    }
    let Strip { to, ref places, .. } = *strip;
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
