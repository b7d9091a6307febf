//! Vectors of 16 bytes as x86-64 has them, with the shuffle of SSSE3.

use std::arch::x86_64::*;

pub type Vector = __m128i;

/// True if this processor has the instructions.
pub fn is_here() -> bool {
    is_x86_feature_detected!("ssse3")
}

/// The vector at an address.
///
/// # Safety
/// It is there.
#[inline]
#[target_feature(enable = "ssse3")]
pub unsafe fn load(from: *const u8) -> Vector {
    // SAFETY: as the caller promises.
    unsafe { _mm_loadu_si128(from.cast()) }
}

/// Stores a vector of chosen bytes of another one.
///
/// # Safety
/// There is room for it.
#[inline]
#[target_feature(enable = "ssse3")]
pub unsafe fn store_chosen(to: *mut u8, x: Vector, bytes: &[u8; 16]) {
    // SAFETY: as the caller promises.
    unsafe { _mm_storeu_si128(to.cast(), _mm_shuffle_epi8(x, _mm_loadu_si128(bytes.as_ptr().cast()))) }
}

/// A bit for each of 4 classes that is `c`.
///
/// # Safety
/// There are so many classes.
#[inline]
#[target_feature(enable = "ssse3")]
pub unsafe fn equal_4(classes: *const u32, c: i32) -> usize {
    // SAFETY: as the caller promises.
    let x = unsafe { _mm_loadu_si128(classes.cast()) };
    _mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(x, _mm_set1_epi32(c)))) as usize
}

/// A bit for each of 2 classes that is `c`.
///
/// # Safety
/// There are so many classes.
#[inline]
#[target_feature(enable = "ssse3")]
pub unsafe fn equal_2(classes: *const u32, c: i32) -> usize {
    // SAFETY: as the caller promises.
    let x = unsafe { _mm_loadl_epi64(classes.cast()) };
    let same = _mm_cmpeq_epi32(x, _mm_set1_epi32(c));
    _mm_movemask_pd(_mm_castsi128_pd(_mm_unpacklo_epi32(same, same))) as usize
}

/// A bit for each of the 4 flags at an address.
///
/// # Safety
/// There are so many flags.
#[inline]
#[target_feature(enable = "ssse3")]
pub unsafe fn set_4(flags: *const u8) -> usize {
    // SAFETY: as the caller promises.
    let x = unsafe { _mm_cvtsi32_si128(flags.cast::<i32>().read_unaligned()) };
    _mm_movemask_epi8(_mm_cmpgt_epi8(x, _mm_setzero_si128())) as usize & 15
}

/// A bit for each of the 2 flags at an address.
///
/// # Safety
/// There are so many flags.
#[inline]
#[target_feature(enable = "ssse3")]
pub unsafe fn set_2(flags: *const u8) -> usize {
    // SAFETY: as the caller promises.
    unsafe { usize::from(*flags != 0) | usize::from(*flags.add(1) != 0) << 1 }
}
