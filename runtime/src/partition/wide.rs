//! Moves with vectors of 64 bytes. The elements of a class are packed in a buffer, which is copied to its place: storing less than a vector
//! at a time is slow.

use super::Places;
use crate::math::STRIP;
use std::arch::x86_64::*;
use std::mem::MaybeUninit;

/// With more classes than this going over the elements for each of them is no faster than moving one by one.
pub const CLASSES: usize = 8;

/// The lanes of a vector for which there are numbers, if so many are left.
fn first(n: usize, lanes: usize) -> u32 {
    (1 << n.min(lanes)) - 1
}

/// Adds how often each class occurs.
///
/// # Safety
/// The processor has the instructions.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,popcnt")]
pub unsafe fn count(classes: &[u32], counts: &mut [i64]) {
    for (c, count) in counts.iter_mut().enumerate() {
        let class = _mm512_set1_epi32(c as i32);
        for at in (0..classes.len()).step_by(16) {
            let here = first(classes.len() - at, 16) as u16;
            // SAFETY: only numbers that are there are read.
            let x = unsafe { _mm512_maskz_loadu_epi32(here, classes.as_ptr().add(at).cast()) };
            *count += i64::from(_mm512_mask_cmpeq_epi32_mask(here, x, class).count_ones());
        }
    }
}

macro_rules! moves {
    ($name:ident, $t:ident, $lanes:literal, $mask:ty, $load:ident, $pack:ident, $classes:ident, $equal:ident, $splat:ident) => {
        /// # Safety
        /// As for [`super::Move`]; the processor has the instructions, and the elements go to places inside.
        #[target_feature(enable = "avx512f,avx512dq,avx512vl,popcnt")]
        pub unsafe fn $name(to: *mut $t, from: *const $t, classes: *const u32, n: usize, places: &Places) {
            // A whole vector is stored where the last element goes.
            let mut packed = [const { MaybeUninit::<$t>::uninit() }; STRIP + $lanes];
            for c in 0..places.classes {
                let class = $splat(c as i32);
                let mut count = 0;
                for at in (0..n).step_by($lanes) {
                    let here = first(n - at, $lanes) as $mask;
                    // SAFETY: what is read is there; no more is packed than was read.
                    unsafe {
                        let kept = $equal(here, $classes(here, classes.add(at).cast()), class);
                        let x = $pack(kept, $load(here, from.add(at).cast()));
                        _mm512_storeu_si512(packed.as_mut_ptr().add(count).cast(), x);
                        count += kept.count_ones() as usize;
                    }
                }
                // SAFETY: the places are inside, as the caller promises.
                unsafe {
                    to.add(places.heads[c] as usize).copy_from_nonoverlapping(packed.as_ptr().cast(), count)
                };
            }
        }
    };
}

moves!(
    move_u32,
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
