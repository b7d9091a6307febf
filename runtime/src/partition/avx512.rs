//! Moves with vectors of 64 bytes.

use super::Strip;
use super::sweep::{by_classes, settle};
use crate::math::STRIP;
use std::arch::x86_64::*;
use std::mem::MaybeUninit;

macro_rules! moves {
    ($name:ident, $sweep:ident, $t:ident, $lanes:literal, $mask:ty, $load:ident, $pack:ident, $classes:ident, $equal:ident, $splat:ident) => {
        /// Moves elements, and counts them if they are the first of their strip. False if nothing was done.
        ///
        /// # Safety
        /// As for [`super::Move`]; the processor has the instructions.
        pub unsafe fn $name(strip: &mut Strip<$t>) -> bool {
            // SAFETY: as the caller promises.
            unsafe { by_classes!($sweep, strip) }
        }

        /// # Safety
        /// As for [`super::Move`]; the processor has the instructions.
        #[target_feature(enable = "avx512f,avx512dq,avx512vl,popcnt")]
        unsafe fn $sweep<const K: usize>(strip: &mut Strip<$t>) -> bool {
            let Strip { from, classes, n, .. } = *strip;
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
            // SAFETY: as the caller promises; so many are packed.
            unsafe { settle(strip, (&packed, counts)) };
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
