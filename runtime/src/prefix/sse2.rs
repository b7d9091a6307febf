//! Vectors of 16 bytes as x86-64 has them.

use super::sixteen::{Block, Lanes};
use std::arch::x86_64::*;

pub type Vector = __m128i;

/// `yes` where the mask has bits.
#[inline(always)]
pub fn choose(mask: Vector, yes: Vector, no: Vector) -> Vector {
    // SAFETY: every processor of this architecture has the instructions.
    unsafe { _mm_or_si128(_mm_and_si128(mask, yes), _mm_andnot_si128(mask, no)) }
}

#[inline(always)]
pub fn either(x: Vector, y: Vector) -> Vector {
    // SAFETY: as above.
    unsafe { _mm_or_si128(x, y) }
}

#[inline(always)]
pub fn zero() -> Vector {
    // SAFETY: as above.
    unsafe { _mm_setzero_si128() }
}

/// The last lane of 32 bits of a vector, and all but the last of the one that follows.
#[inline(always)]
pub fn up_one(before: Vector, x: Vector) -> Vector {
    // SAFETY: as above.
    unsafe {
        let (before, x) = (_mm_castsi128_ps(before), _mm_castsi128_ps(x));
        let ends = _mm_shuffle_ps::<0b00_00_11_11>(before, x);
        _mm_castps_si128(_mm_shuffle_ps::<0b10_01_10_00>(ends, x))
    }
}

/// The upper half of a vector, and the lower one of the one that follows.
#[inline(always)]
pub fn up_half(before: Vector, x: Vector) -> Vector {
    // SAFETY: as above.
    unsafe { _mm_castpd_si128(_mm_shuffle_pd::<0b01>(_mm_castsi128_pd(before), _mm_castsi128_pd(x))) }
}

/// Masks of 32 bits of the 16 flags at an address.
///
/// # Safety
/// There are so many.
#[inline(always)]
pub unsafe fn masks_32(flags: *const u8) -> Block {
    // SAFETY: the caller's promise.
    unsafe {
        let m = _mm_cmpgt_epi8(_mm_loadu_si128(flags.cast()), zero());
        let (a, b) = (_mm_unpacklo_epi8(m, m), _mm_unpackhi_epi8(m, m));
        let ([a, b], [c, d]) = (
            [_mm_unpacklo_epi16(a, a), _mm_unpackhi_epi16(a, a)],
            [_mm_unpacklo_epi16(b, b), _mm_unpackhi_epi16(b, b)],
        );
        [a, b, c, d]
    }
}

/// Masks of 64 bits of the 8 flags at an address.
///
/// # Safety
/// There are so many.
#[inline(always)]
pub unsafe fn masks_64(flags: *const u8) -> Block {
    // SAFETY: the caller's promise.
    unsafe {
        let m = _mm_cmpgt_epi8(_mm_loadl_epi64(flags.cast()), zero());
        let m = _mm_unpacklo_epi8(m, m);
        let (a, b) = (_mm_unpacklo_epi16(m, m), _mm_unpackhi_epi16(m, m));
        let ([a, b], [c, d]) = (
            [_mm_unpacklo_epi32(a, a), _mm_unpackhi_epi32(a, a)],
            [_mm_unpacklo_epi32(b, b), _mm_unpackhi_epi32(b, b)],
        );
        [a, b, c, d]
    }
}

/// The vector at an address.
///
/// # Safety
/// It is there.
#[inline(always)]
pub unsafe fn load(from: *const u8) -> Vector {
    // SAFETY: the caller's promise.
    unsafe { _mm_loadu_si128(from.cast()) }
}

/// Stores a vector.
///
/// # Safety
/// There is room for it.
#[inline(always)]
pub unsafe fn store(to: *mut u8, x: Vector) {
    // SAFETY: the caller's promise.
    unsafe { _mm_storeu_si128(to.cast(), x) }
}

/// Stores a vector past the caches.
///
/// # Safety
/// There is room for it, and the address is a multiple of 16.
#[inline(always)]
pub unsafe fn store_past_caches(to: *mut u8, x: Vector) {
    // SAFETY: the caller's promise.
    unsafe { _mm_stream_si128(to.cast(), x) }
}

/// The operators of a type.
macro_rules! operators {
    ($from:ident, $to:ident, $add:ident, $min:ident, $max:ident, $unordered:ident) => {
        #[inline(always)]
        fn sum(x: Vector, y: Vector) -> Vector {
            // SAFETY: every processor of this architecture has the instructions.
            unsafe { $to($add($from(x), $from(y))) }
        }
        #[inline(always)]
        fn lesser(x: Vector, y: Vector) -> Vector {
            // SAFETY: as above.
            let (a, b) = unsafe { ($from(x), $from(y)) };
            // SAFETY: as above.
            unsafe { choose($to($unordered(b, b)), x, $to($min(a, b))) }
        }
        #[inline(always)]
        fn greater(x: Vector, y: Vector) -> Vector {
            // SAFETY: as above.
            let (a, b) = unsafe { ($from(x), $from(y)) };
            // SAFETY: as above.
            unsafe { choose($to($unordered(b, b)), x, $to($max(a, b))) }
        }
    };
}

impl Lanes for f32 {
    #[inline(always)]
    fn splat(self) -> Vector {
        // SAFETY: every processor of this architecture has the instructions.
        unsafe { _mm_castps_si128(_mm_set1_ps(self)) }
    }
    #[inline(always)]
    fn first(x: Vector) -> f32 {
        // SAFETY: as above.
        unsafe { _mm_cvtss_f32(_mm_castsi128_ps(x)) }
    }
    #[inline(always)]
    fn last(x: Vector) -> Vector {
        // SAFETY: as above.
        unsafe { _mm_shuffle_epi32::<0b11_11_11_11>(x) }
    }
    operators!(_mm_castsi128_ps, _mm_castps_si128, _mm_add_ps, _mm_min_ps, _mm_max_ps, _mm_cmpunord_ps);
}

impl Lanes for f64 {
    #[inline(always)]
    fn splat(self) -> Vector {
        // SAFETY: every processor of this architecture has the instructions.
        unsafe { _mm_castpd_si128(_mm_set1_pd(self)) }
    }
    #[inline(always)]
    fn first(x: Vector) -> f64 {
        // SAFETY: as above.
        unsafe { _mm_cvtsd_f64(_mm_castsi128_pd(x)) }
    }
    #[inline(always)]
    fn last(x: Vector) -> Vector {
        // SAFETY: as above.
        unsafe { _mm_unpackhi_epi64(x, x) }
    }
    operators!(_mm_castsi128_pd, _mm_castpd_si128, _mm_add_pd, _mm_min_pd, _mm_max_pd, _mm_cmpunord_pd);
}
