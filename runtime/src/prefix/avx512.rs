//! Scans with vectors of 64 bytes.

use super::STREAM;
use std::arch::x86_64::*;

/// The number of elements, and whether whole vectors of them are stored past the caches.
fn count_of(to: *mut u8, n: i64) -> (usize, bool) {
    ((n & !STREAM) as usize, n & STREAM != 0 && to.addr().is_multiple_of(64))
}

/// The scans of one type and operator. `$before` moves numbers up by so many places; `$combine` combines the second and the third where
/// the mask has a bit, and is the first elsewhere.
macro_rules! scans {
    (
        $t:ty, $lanes:literal, $mask:ty, $combine:ident, $splat:ident, $load:ident, $store:ident, $stream:ident,
        $last:expr, $up:ident, [$($distance:literal),*]
    ) => {
        const LANES: usize = $lanes;
        const ALL: u32 = <$mask>::MAX as u32;

        /// # Safety
        /// As for [`super::super::super::Prefixes`]; the processor has the instructions.
        #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx2,fma,bmi1,bmi2")]
        pub unsafe extern "C" fn plain(to: *mut u8, from: *const u8, _: *const u8, n: i64, before: *mut u8) {
            // SAFETY: as the caller promises.
            unsafe {
                match count_of(to, n) {
                    (n, false) => scan::<false, false>(to.cast(), from.cast(), std::ptr::null(), n, before.cast()),
                    (n, true) => scan::<false, true>(to.cast(), from.cast(), std::ptr::null(), n, before.cast()),
                }
            }
        }

        /// # Safety
        /// As for [`super::super::super::Prefixes`]; the processor has the instructions.
        #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx2,fma,bmi1,bmi2")]
        pub unsafe extern "C" fn segmented(
            to: *mut u8,
            from: *const u8,
            flags: *const u8,
            n: i64,
            before: *mut u8,
        ) {
            // SAFETY: as the caller promises.
            unsafe {
                match count_of(to, n) {
                    (n, false) => scan::<true, false>(to.cast(), from.cast(), flags, n, before.cast()),
                    (n, true) => scan::<true, true>(to.cast(), from.cast(), flags, n, before.cast()),
                }
            }
        }

        /// # Safety
        /// As for the functions above.
        #[inline]
        #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx2,fma,bmi1,bmi2")]
        unsafe fn scan<const SEGMENTED: bool, const STREAMS: bool>(
            to: *mut $t,
            from: *const $t,
            flags: *const u8,
            n: usize,
            before: *mut $t,
        ) {
            // SAFETY: all addresses are inside, as the caller promises.
            unsafe {
                let (mut last, mut all) = ($splat(*before), $splat(*before.add(1)));
                let mut at = 0;
                while at < n {
                    // What is left at the end is taken one by one.
                    let count = if at + LANES <= n { LANES } else { 1 };
                    let mut x = if count == 1 { $splat(*from.add(at)) } else { $load(from.add(at).cast()) };
                    let mut begun = match (SEGMENTED, count == 1) {
                        (false, _) => 0,
                        (true, true) => u32::from(*flags.add(at)),
                        (true, false) => mask(flags.add(at), LANES),
                    };
                    if count > 1 {
                        $(
                            let moved = $up::<{ LANES as i32 - $distance }>(x);
                            x = $combine(x, (ALL << $distance & !begun) as $mask, moved, x);
                            begun |= begun << $distance;
                        )*
                    }
                    let prefixes = $combine(x, !begun as $mask, last, x);
                    let (top, ended) = match count {
                        1 => (x, begun & 1 == 0),
                        _ => ($last(x), begun >> (LANES - 1) & 1 == 0),
                    };
                    match count {
                        1 => *to.add(at) = first(prefixes),
                        _ if STREAMS => $stream(to.add(at).cast(), prefixes),
                        _ => $store(to.add(at).cast(), prefixes),
                    }
                    let keep = if ended { ALL as $mask } else { 0 };
                    last = $combine(top, keep, last, top);
                    all = $combine(top, keep, all, top);
                    at += count;
                }
                *before = first(last);
                *before.add(1) = first(all);
            }
        }
    };
}

/// The flags from an address on as bits.
#[inline]
#[target_feature(enable = "sse2")]
unsafe fn mask(flags: *const u8, lanes: usize) -> u32 {
    // SAFETY: there are so many flags.
    unsafe {
        let bytes = match lanes {
            16 => _mm_loadu_si128(flags.cast()),
            _ => _mm_loadl_epi64(flags.cast()),
        };
        _mm_movemask_epi8(_mm_cmpgt_epi8(bytes, _mm_setzero_si128())) as u32
    }
}

macro_rules! moves {
    ($up:ident, $vector:ty, $align:ident, $to:ident, $from:ident) => {
        #[inline]
        #[target_feature(enable = "avx512f")]
        fn $up<const REST: i32>(x: $vector) -> $vector {
            $from($align::<REST>($to(x), _mm512_setzero_si512()))
        }
    };
}

#[inline]
#[target_feature(enable = "avx512f")]
fn same(x: __m512i) -> __m512i {
    x
}

moves!(up_i32, __m512i, _mm512_alignr_epi32, same, same);
moves!(up_i64, __m512i, _mm512_alignr_epi64, same, same);
moves!(up_f32, __m512, _mm512_alignr_epi32, _mm512_castps_si512, _mm512_castsi512_ps);
moves!(up_f64, __m512d, _mm512_alignr_epi64, _mm512_castpd_si512, _mm512_castsi512_pd);

/// The smaller or larger of two floats where a mask has a bit, the first operand there if the second is no number; elsewhere `other`.
macro_rules! extremum {
    ($name:ident, $vector:ty, $mask:ty, $extremum:ident, $compare:ident, $move:ident) => {
        #[inline]
        #[target_feature(enable = "avx512f")]
        fn $name(other: $vector, mask: $mask, x: $vector, y: $vector) -> $vector {
            // The second operand, if the first is no number or they are equal.
            let found = $extremum(other, mask, x, y);
            $move(found, $compare::<_CMP_UNORD_Q>(mask, y, y), x)
        }
    };
}

extremum!(least_f32, __m512, u16, _mm512_mask_min_ps, _mm512_mask_cmp_ps_mask, _mm512_mask_mov_ps);
extremum!(most_f32, __m512, u16, _mm512_mask_max_ps, _mm512_mask_cmp_ps_mask, _mm512_mask_mov_ps);
extremum!(least_f64, __m512d, u8, _mm512_mask_min_pd, _mm512_mask_cmp_pd_mask, _mm512_mask_mov_pd);
extremum!(most_f64, __m512d, u8, _mm512_mask_max_pd, _mm512_mask_cmp_pd_mask, _mm512_mask_mov_pd);

/// A module for each operator on one type.
macro_rules! operators {
    (
        $t:ident, $lanes:literal, $mask:ty, $vector:ty, $splat:ident, $load:ident, $store:ident, $stream:ident,
        $last:expr, $first:expr, $up:ident, $distances:tt, $($name:ident $combine:ident)*
    ) => {
        pub mod $t {
            $(#[allow(non_snake_case)]
            pub mod $name {
                use super::super::*;
                scans!(
                    $t, $lanes, $mask, $combine, $splat, $load, $store, $stream, $last, $up, $distances
                );
                #[inline]
                #[target_feature(enable = "avx512f")]
                fn first(x: $vector) -> $t {
                    $first(x)
                }
            })*
        }
    };
}

operators!(
    i32, 16, u16, __m512i, _mm512_set1_epi32, _mm512_loadu_si512, _mm512_storeu_si512, _mm512_stream_si512,
    |x| _mm512_permutexvar_epi32(_mm512_set1_epi32(15), x), |x| _mm512_cvtsi512_si32(x), up_i32, [1, 2, 4, 8],
    Add _mm512_mask_add_epi32 Min _mm512_mask_min_epi32 Max _mm512_mask_max_epi32
);
operators!(
    i64, 8, u8, __m512i, _mm512_set1_epi64, _mm512_loadu_si512, _mm512_storeu_si512, _mm512_stream_si512,
    |x| _mm512_permutexvar_epi64(_mm512_set1_epi64(7), x), |x| _mm_cvtsi128_si64(_mm512_castsi512_si128(x)), up_i64, [1, 2, 4],
    Add _mm512_mask_add_epi64 Min _mm512_mask_min_epi64 Max _mm512_mask_max_epi64
);
operators!(
    f32, 16, u16, __m512, _mm512_set1_ps, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_stream_ps,
    |x| _mm512_permutexvar_ps(_mm512_set1_epi32(15), x), |x| _mm512_cvtss_f32(x), up_f32, [1, 2, 4, 8],
    Add _mm512_mask_add_ps Min least_f32 Max most_f32
);
operators!(
    f64, 8, u8, __m512d, _mm512_set1_pd, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_stream_pd,
    |x| _mm512_permutexvar_pd(_mm512_set1_epi64(7), x), |x| _mm512_cvtsd_f64(x), up_f64, [1, 2, 4],
    Add _mm512_mask_add_pd Min least_f64 Max most_f64
);
