//! Moves with vectors of 32 bytes, whose lanes are packed by a permutation from a table.

use super::Strip;
use super::sweep::{by_classes, settle};
use crate::math::STRIP;
use std::arch::x86_64::*;
use std::mem::MaybeUninit;

/// For each choice of 8 lanes: their numbers, one behind the other.
static CHOSEN: [[u8; 8]; 256] = {
    let mut table = [[0; 8]; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut lane, mut count) = (0, 0);
        while lane < 8 {
            if mask >> lane & 1 == 1 {
                table[mask][count] = lane as u8;
                count += 1;
            }
            lane += 1;
        }
        mask += 1;
    }
    table
};

/// For each choice of 4 lanes of 8 bytes: the choice of their halves.
static PAIRS: [u8; 16] = {
    let mut table = [0; 16];
    let mut mask = 0;
    while mask < 16 {
        let mut lane = 0;
        while lane < 4 {
            if mask >> lane & 1 == 1 {
                table[mask] |= 3 << (2 * lane);
            }
            lane += 1;
        }
        mask += 1;
    }
    table
};

/// The chosen lanes of 4 bytes, one behind the other.
#[inline]
#[target_feature(enable = "avx2")]
fn pack_32(mask: u32, x: __m256i) -> __m256i {
    let lanes = &CHOSEN[(mask & 0xff) as usize];
    // SAFETY: there are eight bytes.
    let lanes = unsafe { _mm256_cvtepu8_epi32(_mm_loadl_epi64(lanes.as_ptr().cast())) };
    _mm256_permutevar8x32_epi32(x, lanes)
}

/// The chosen lanes of 8 bytes, one behind the other.
#[inline]
#[target_feature(enable = "avx2")]
fn pack_64(mask: u32, x: __m256i) -> __m256i {
    pack_32(u32::from(PAIRS[(mask & 15) as usize]), x)
}

/// Mask of those of 8 numbers that are `c`.
///
/// # Safety
/// There are so many numbers.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn equal_8(classes: *const u32, c: i32) -> u32 {
    // SAFETY: as the caller promises.
    let x = unsafe { _mm256_loadu_si256(classes.cast()) };
    _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(x, _mm256_set1_epi32(c)))) as u32
}

/// Mask of those of 4 numbers that are `c`.
///
/// # Safety
/// There are so many numbers.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn equal_4(classes: *const u32, c: i32) -> u32 {
    // SAFETY: as the caller promises.
    let x = unsafe { _mm_loadu_si128(classes.cast()) };
    _mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(x, _mm_set1_epi32(c)))) as u32
}

macro_rules! moves {
    ($name:ident, $sweep:ident, $t:ident, $lanes:literal, $equal:ident, $pack:ident) => {
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
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
        unsafe fn $sweep<const K: usize>(strip: &mut Strip<$t>) -> bool {
            let Strip { from, classes, n, .. } = *strip;
            // A whole vector is stored where the last element goes.
            let mut packed = [const { [const { MaybeUninit::<$t>::uninit() }; STRIP + $lanes] }; K];
            let mut counts = [0; K];
            let whole = n - n % $lanes;
            for at in (0..whole).step_by($lanes) {
                // SAFETY: what is read is there; no more is packed than was read.
                unsafe {
                    let x = _mm256_loadu_si256(from.add(at).cast());
                    for c in 0..K {
                        let kept = $equal(classes.add(at), c as i32);
                        _mm256_storeu_si256(packed[c].as_mut_ptr().add(counts[c]).cast(), $pack(kept, x));
                        counts[c] += kept.count_ones() as usize;
                    }
                }
            }
            for at in whole..n {
                // SAFETY: as above.
                let (class, x) = unsafe { (*classes.add(at) as usize, *from.add(at)) };
                if class < K {
                    packed[class][counts[class]] = MaybeUninit::new(x);
                    counts[class] += 1;
                }
            }
            // SAFETY: as the caller promises; so many are packed.
            unsafe { settle(strip, (&packed, counts)) };
            true
        }
    };
}

moves!(move_u32, sweep_u32, u32, 8, equal_8, pack_32);
moves!(move_u64, sweep_u64, u64, 4, equal_4, pack_64);

macro_rules! packs {
    ($name:ident, $t:ident, $lanes:literal, $flags:ty, $pack:ident) => {
        /// # Safety
        /// As for [`super::Pack`]; the processor has the instructions.
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
        pub unsafe fn $name(to: *mut $t, from: *const $t, flags: *const u8, n: usize) -> i64 {
            let mut count = 0;
            let whole = n - n % $lanes;
            for at in (0..whole).step_by($lanes) {
                // SAFETY: what is read is there, and a vector stored behind those that are kept ends before the next that is read.
                unsafe {
                    let bytes = _mm_cvtsi64_si128(i64::from_le(
                        flags.add(at).cast::<$flags>().read_unaligned() as i64,
                    ));
                    let clear = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_setzero_si128())) as u32;
                    let kept = !clear & ((1 << $lanes) - 1);
                    let x = $pack(kept, _mm256_loadu_si256(from.add(at).cast()));
                    _mm256_storeu_si256(to.add(count).cast(), x);
                    count += kept.count_ones() as usize;
                }
            }
            for at in whole..n {
                // SAFETY: as above.
                unsafe {
                    *to.add(count) = *from.add(at);
                    count += usize::from(*flags.add(at) != 0);
                }
            }
            count as i64
        }
    };
}

packs!(pack_u32, u32, 8, u64, pack_32);
packs!(pack_u64, u64, 4, u32, pack_64);
