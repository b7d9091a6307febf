//! Scans with two vectors of 32 bytes at a time: the order of operations is that of one vector of 64 bytes.
//!
//! A vector's lanes move up by some bytes, into the lowest come the highest of the vector before. Where segments have begun is a vector of
//! masks, all bits of a lane, that moves like the numbers.

use super::{STREAM, one_by_one};
use std::arch::x86_64::*;

/// `x` moved up by `16 - REST` bytes, below it the top of `before`; by 16 bytes if `REST` is 0.
#[inline]
#[target_feature(enable = "avx2")]
fn up<const REST: i32>(x: __m256i, before: __m256i) -> __m256i {
    let between = _mm256_permute2x128_si256::<0x21>(before, x);
    if REST == 0 { between } else { _mm256_alignr_epi8::<REST>(x, between) }
}

/// `a` where a mask has no bits, and `b` elsewhere.
#[inline]
#[target_feature(enable = "avx2")]
fn choose(a: __m256i, b: __m256i, mask: __m256i) -> __m256i {
    _mm256_blendv_epi8(a, b, mask)
}

/// Masks of as many flags as a vector has numbers of 4 or of 8 bytes.
///
/// # Safety
/// There are so many flags.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn masks<const SIZE: usize>(flags: *const u8) -> __m256i {
    // SAFETY: as the caller promises.
    unsafe {
        let zero = _mm256_setzero_si256();
        match SIZE {
            4 => _mm256_cmpgt_epi32(_mm256_cvtepi8_epi32(_mm_loadl_epi64(flags.cast())), zero),
            _ => {
                let four = _mm_cvtsi32_si128(flags.cast::<i32>().read_unaligned());
                _mm256_cmpgt_epi64(_mm256_cvtepi8_epi64(four), zero)
            }
        }
    }
}

/// The scans of one type and operator: which combines lanes, what copies a number to all lanes and the last lane to all, and how lanes move
/// within a vector: (what `up` takes, the blend that keeps the lanes into which nothing comes).
macro_rules! scans {
    ($t:ident, $operator:ident, $combine:expr, $splat:expr, $last:expr, [$(($rest:literal, $low:literal)),*]) => {
        #[allow(non_snake_case)]
        pub mod $operator {
            use super::super::*;

            /// Numbers in a vector.
            const LANES: usize = 32 / size_of::<$t>();

            /// # Safety
            /// As for [`super::super::super::Prefixes`]; the processor has the instructions.
            #[target_feature(enable = "avx2,fma,bmi1,bmi2")]
            pub unsafe extern "C" fn plain(to: *mut u8, from: *const u8, _: *const u8, n: i64, before: *mut u8) {
                // SAFETY: as the caller promises.
                unsafe { scan::<false>(to.cast(), from.cast(), std::ptr::null(), n, before.cast()) }
            }

            /// # Safety
            /// As for [`super::super::super::Prefixes`]; the processor has the instructions.
            #[target_feature(enable = "avx2,fma,bmi1,bmi2")]
            pub unsafe extern "C" fn segmented(
                to: *mut u8,
                from: *const u8,
                flags: *const u8,
                n: i64,
                before: *mut u8,
            ) {
                // SAFETY: as the caller promises.
                unsafe { scan::<true>(to.cast(), from.cast(), flags, n, before.cast()) }
            }

            #[inline]
            #[target_feature(enable = "avx2")]
            fn combine(x: __m256i, y: __m256i) -> __m256i {
                $combine(x, y)
            }

            /// The prefixes of two vectors by doubling distances, and the masks of where segments have begun.
            #[inline]
            #[target_feature(enable = "avx2")]
            fn block<const SEGMENTED: bool>(
                [mut low, mut high]: [__m256i; 2],
                [mut begun, mut begun_high]: [__m256i; 2],
            ) -> ([__m256i; 2], [__m256i; 2]) {
                let zero = _mm256_setzero_si256();
                $(
                    let top = combine(up::<$rest>(high, low), high);
                    let bottom = _mm256_blend_epi32::<$low>(combine(up::<$rest>(low, zero), low), low);
                    if SEGMENTED {
                        (high, low) = (choose(top, high, begun_high), choose(bottom, low, begun));
                        begun_high = _mm256_or_si256(begun_high, up::<$rest>(begun_high, begun));
                        begun = _mm256_or_si256(begun, up::<$rest>(begun, zero));
                    } else {
                        (high, low) = (top, bottom);
                    }
                )*
                let top = combine(low, high);
                if SEGMENTED {
                    high = choose(top, high, begun_high);
                    ([low, high], [begun, _mm256_or_si256(begun_high, begun)])
                } else {
                    ([low, top], [begun, begun_high])
                }
            }

            /// # Safety
            /// As for the functions above.
            #[inline]
            #[target_feature(enable = "avx2")]
            unsafe fn scan<const SEGMENTED: bool>(
                to: *mut $t,
                from: *const $t,
                flags: *const u8,
                n: i64,
                before: *mut $t,
            ) {
                let streams = n & STREAM != 0 && to.addr().is_multiple_of(32);
                let n = (n & !STREAM) as usize;
                let whole = n - n % (2 * LANES);
                // SAFETY: all addresses are inside, as the caller promises.
                unsafe {
                    let (mut last, mut all) = ($splat(*before), $splat(*before.add(1)));
                    for at in (0..whole).step_by(2 * LANES) {
                        // No closures: without optimisation at link time they would be calls.
                        let (from, second) = (from.add(at), from.add(at + LANES));
                        let x = [_mm256_loadu_si256(from.cast()), _mm256_loadu_si256(second.cast())];
                        let begun = match SEGMENTED {
                            true => [
                                masks::<{ size_of::<$t>() }>(flags.add(at)),
                                masks::<{ size_of::<$t>() }>(flags.add(at + LANES)),
                            ],
                            false => [_mm256_setzero_si256(); 2],
                        };
                        let (x, begun) = block::<SEGMENTED>(x, begun);
                        for i in 0..2 {
                            let mut prefixes = combine(last, x[i]);
                            if SEGMENTED {
                                prefixes = choose(prefixes, x[i], begun[i]);
                            }
                            let to = to.add(at + i * LANES).cast();
                            if streams { _mm256_stream_si256(to, prefixes) } else { _mm256_storeu_si256(to, prefixes) }
                        }
                        let top = $last(x[1]);
                        (last, all) = (combine(last, top), combine(all, top));
                        if SEGMENTED {
                            let ended = $last(begun[1]);
                            (last, all) = (choose(last, top, ended), choose(all, top, ended));
                        }
                    }
                    let mut lasts: [[$t; LANES]; 2] = [[Default::default(); LANES]; 2];
                    _mm256_storeu_si256(lasts[0].as_mut_ptr().cast(), last);
                    _mm256_storeu_si256(lasts[1].as_mut_ptr().cast(), all);
                    let mut rest = [lasts[0][0], lasts[1][0]];
                    let flags = if SEGMENTED { flags.add(whole).cast() } else { std::ptr::null() };
                    let ends = (to.add(whole), from.add(whole), flags);
                    one_by_one::<$t, super::super::super::$operator>(ends, n - whole, &mut rest);
                    (*before, *before.add(1)) = (rest[0], rest[1]);
                }
            }
        }
    };
}

macro_rules! of_32 {
    ($t:ident, $operator:ident, $combine:expr, $splat:expr) => {
        scans!(
            $t,
            $operator,
            $combine,
            $splat,
            |x| _mm256_permutevar8x32_epi32(x, _mm256_set1_epi32(7)),
            [(12, 0b1), (8, 0b11), (0, 0b1111)]
        );
    };
}

macro_rules! of_64 {
    ($t:ident, $operator:ident, $combine:expr, $splat:expr) => {
        scans!(
            $t,
            $operator,
            $combine,
            $splat,
            |x| _mm256_permute4x64_epi64::<0xff>(x),
            [(8, 0b11), (0, 0b1111)]
        );
    };
}

pub mod i32 {
    of_32!(i32, Add, |x, y| _mm256_add_epi32(x, y), |x| _mm256_set1_epi32(x));
    of_32!(i32, Min, |x, y| _mm256_min_epi32(x, y), |x| _mm256_set1_epi32(x));
    of_32!(i32, Max, |x, y| _mm256_max_epi32(x, y), |x| _mm256_set1_epi32(x));
}

pub mod i64 {
    of_64!(i64, Add, |x, y| _mm256_add_epi64(x, y), |x| _mm256_set1_epi64x(x));
    of_64!(i64, Min, |x, y| choose(x, y, _mm256_cmpgt_epi64(x, y)), |x| _mm256_set1_epi64x(x));
    of_64!(i64, Max, |x, y| choose(y, x, _mm256_cmpgt_epi64(x, y)), |x| _mm256_set1_epi64x(x));
}

/// An operator on floats in registers of integers.
macro_rules! on_floats {
    ($name:ident, $from:ident, $to:ident, |$x:ident, $y:ident| $result:expr) => {
        #[inline]
        #[target_feature(enable = "avx2")]
        fn $name(x: __m256i, y: __m256i) -> __m256i {
            let ($x, $y) = ($from(x), $from(y));
            $to($result)
        }
    };
}

on_floats!(sum_f32, _mm256_castsi256_ps, _mm256_castps_si256, |x, y| _mm256_add_ps(x, y));
on_floats!(sum_f64, _mm256_castsi256_pd, _mm256_castpd_si256, |x, y| _mm256_add_pd(x, y));
// The first operand, if the second is no number; the second, if the first is none or they are equal.
on_floats!(least_f32, _mm256_castsi256_ps, _mm256_castps_si256, |x, y| {
    _mm256_blendv_ps(_mm256_min_ps(x, y), x, _mm256_cmp_ps::<_CMP_UNORD_Q>(y, y))
});
on_floats!(most_f32, _mm256_castsi256_ps, _mm256_castps_si256, |x, y| {
    _mm256_blendv_ps(_mm256_max_ps(x, y), x, _mm256_cmp_ps::<_CMP_UNORD_Q>(y, y))
});
on_floats!(least_f64, _mm256_castsi256_pd, _mm256_castpd_si256, |x, y| {
    _mm256_blendv_pd(_mm256_min_pd(x, y), x, _mm256_cmp_pd::<_CMP_UNORD_Q>(y, y))
});
on_floats!(most_f64, _mm256_castsi256_pd, _mm256_castpd_si256, |x, y| {
    _mm256_blendv_pd(_mm256_max_pd(x, y), x, _mm256_cmp_pd::<_CMP_UNORD_Q>(y, y))
});

pub mod f32 {
    of_32!(f32, Add, |x, y| sum_f32(x, y), |x| _mm256_castps_si256(_mm256_set1_ps(x)));
    of_32!(f32, Min, |x, y| least_f32(x, y), |x| _mm256_castps_si256(_mm256_set1_ps(x)));
    of_32!(f32, Max, |x, y| most_f32(x, y), |x| _mm256_castps_si256(_mm256_set1_ps(x)));
}

pub mod f64 {
    of_64!(f64, Add, |x, y| sum_f64(x, y), |x| _mm256_castpd_si256(_mm256_set1_pd(x)));
    of_64!(f64, Min, |x, y| least_f64(x, y), |x| _mm256_castpd_si256(_mm256_set1_pd(x)));
    of_64!(f64, Max, |x, y| most_f64(x, y), |x| _mm256_castpd_si256(_mm256_set1_pd(x)));
}
