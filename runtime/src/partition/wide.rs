//! Moves with vectors of 64 bytes. The elements of a class are packed in a buffer, which is copied to its place: storing less than a vector
//! at a time is slow.

use super::{FAR, Places};
use crate::math::STRIP;
use std::arch::x86_64::*;
use std::mem::MaybeUninit;

/// Asks for the lines that the next strip will be stored to, if it is like this one.
#[inline]
fn expect<T>(to: *const T, n: usize) {
    for at in (0..n).step_by(64 / size_of::<T>()) {
        // SAFETY: what is asked for need not be there.
        unsafe { _mm_prefetch::<_MM_HINT_ET0>(to.wrapping_add(at).cast()) };
    }
}

macro_rules! moves {
    ($name:ident, $sweep:ident, $t:ident, $lanes:literal, $mask:ty, $load:ident, $pack:ident, $classes:ident, $equal:ident, $splat:ident) => {
        /// Moves elements, and counts them if they are the first of their strip. False if nothing was done.
        ///
        /// # Safety
        /// As for [`super::Move`]; the processor has the instructions.
        pub unsafe fn $name(
            to: *mut $t,
            from: *const $t,
            classes: *const u32,
            n: usize,
            places: &mut Places,
            first: bool,
        ) -> bool {
            let sweep = match places.classes {
                1 => $sweep::<1>,
                2 => $sweep::<2>,
                3 => $sweep::<3>,
                4 => $sweep::<4>,
                5 => $sweep::<5>,
                6 => $sweep::<6>,
                7 => $sweep::<7>,
                8 => $sweep::<8>,
                // Going over the elements for each class is no faster than moving one by one.
                _ => return false,
            };
            // SAFETY: as the caller promises.
            unsafe { sweep(to, from, classes, n, places, first) }
        }

        /// # Safety
        /// As for [`super::Move`]; the processor has the instructions.
        #[target_feature(enable = "avx512f,avx512dq,avx512vl,popcnt")]
        unsafe fn $sweep<const K: usize>(
            to: *mut $t,
            from: *const $t,
            classes: *const u32,
            n: usize,
            places: &mut Places,
            first: bool,
        ) -> bool {
            // A whole vector is stored where the last element goes.
            let mut packed = [const { [const { MaybeUninit::<$t>::uninit() }; STRIP + $lanes] }; K];
            let mut counts = [0; K];
            let whole = n - n % $lanes;
            for at in (0..whole).step_by($lanes) {
                // SAFETY: what is read is there; no more is packed than was read.
                unsafe {
                    let class = $classes(<$mask>::MAX, classes.add(at).cast());
                    let x = $load(<$mask>::MAX, from.add(at).cast());
                    for c in 0..K {
                        let kept = $equal(<$mask>::MAX, class, $splat(c as i32));
                        _mm512_storeu_si512(packed[c].as_mut_ptr().add(counts[c]).cast(), $pack(kept, x));
                        counts[c] += kept.count_ones() as usize;
                    }
                }
            }
            let here = ((1u32 << (n - whole)) - 1) as $mask;
            // SAFETY: as above.
            unsafe {
                let class = $classes(here, classes.add(whole).cast());
                let x = $load(here, from.add(whole).cast());
                for c in 0..K {
                    let kept = $equal(here, class, $splat(c as i32));
                    _mm512_storeu_si512(packed[c].as_mut_ptr().add(counts[c]).cast(), $pack(kept, x));
                    counts[c] += kept.count_ones() as usize;
                }
            }
            if first {
                places.advance(&counts.map(|n| n as i64));
            }
            if !places.is_inside() {
                // SAFETY: as the caller promises.
                unsafe { super::one_by_one(to, from, classes, n, places) };
                return true;
            }
            for c in 0..K {
                // SAFETY: the places are inside, and no other thread has elements of this class for them. Another thread's stray elements
                // may go there at the same time; Rust has no copy of words that are atomic each, which the instructions of this one are.
                unsafe {
                    let head = to.add(places.heads[c] as usize);
                    head.copy_from_nonoverlapping(packed[c].as_ptr().cast(), counts[c]);
                }
            }
            if places.len as usize * size_of::<$t>() > FAR {
                for c in 0..K {
                    expect(to.wrapping_offset(places.next[c] as isize), counts[c]);
                }
            }
            true
        }
    };
}

moves!(
    move_u32,
    sweep_u32,
    u32,
    16,
    u16,
    _mm512_maskz_loadu_epi32,
    _mm512_maskz_compress_epi32,
    _mm512_maskz_loadu_epi32,
    _mm512_mask_cmpeq_epi32_mask,
    _mm512_set1_epi32
);
moves!(
    move_u64,
    sweep_u64,
    u64,
    8,
    u8,
    _mm512_maskz_loadu_epi64,
    _mm512_maskz_compress_epi64,
    _mm256_maskz_loadu_epi32,
    _mm256_mask_cmpeq_epi32_mask,
    _mm256_set1_epi32
);

/// The flags from an address on as bits.
///
/// # Safety
/// There are `n` flags.
#[inline]
#[target_feature(enable = "sse2")]
unsafe fn mask(flags: *const u8, n: usize, lanes: usize) -> u32 {
    // SAFETY: as the caller promises.
    unsafe {
        let bytes = match (n >= lanes, lanes) {
            (true, 16) => _mm_loadu_si128(flags.cast()),
            (true, _) => _mm_loadl_epi64(flags.cast()),
            (false, _) => {
                let mut left = [0u8; 16];
                std::ptr::copy_nonoverlapping(flags, left.as_mut_ptr(), n);
                _mm_loadu_si128(left.as_ptr().cast())
            }
        };
        !(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_setzero_si128())) as u32) & ((1 << lanes) - 1)
    }
}

macro_rules! packs {
    ($name:ident, $t:ident, $lanes:literal, $mask:ty, $load:ident, $pack:ident) => {
        /// # Safety
        /// As for [`super::Pack`]; the processor has the instructions.
        #[target_feature(enable = "avx512f,avx512dq,avx512vl,popcnt")]
        pub unsafe fn $name(to: *mut $t, from: *const $t, flags: *const u8, n: usize) -> i64 {
            let mut packed = [const { MaybeUninit::<$t>::uninit() }; STRIP + $lanes];
            let mut count = 0;
            for at in (0..n).step_by($lanes) {
                // SAFETY: what is read is there; no more is packed than was read.
                unsafe {
                    let kept = mask(flags.add(at), n - at, $lanes) as $mask;
                    let x = $pack(kept, $load(kept, from.add(at).cast()));
                    _mm512_storeu_si512(packed.as_mut_ptr().add(count).cast(), x);
                    count += kept.count_ones() as usize;
                }
            }
            // SAFETY: there are places for those that are kept, as the caller promises.
            unsafe { to.copy_from_nonoverlapping(packed.as_ptr().cast(), count) };
            count as i64
        }
    };
}

packs!(pack_u32, u32, 16, u16, _mm512_maskz_loadu_epi32, _mm512_maskz_compress_epi32);
packs!(pack_u64, u64, 8, u8, _mm512_maskz_loadu_epi64, _mm512_maskz_compress_epi64);
