//! Scans of floats with vectors of 16 bytes, which every such processor has: a block is four of them.

use super::{Add, Combine, Max, Min, Number, STREAM, one_by_one};
use std::arch::x86_64::*;

/// A block of 64 bytes.
type Block = [__m128i; 4];

/// `yes` where the mask has bits.
#[inline(always)]
fn choose(mask: __m128i, yes: __m128i, no: __m128i) -> __m128i {
    // SAFETY: every processor of this architecture has the instructions.
    unsafe { _mm_or_si128(_mm_and_si128(mask, yes), _mm_andnot_si128(mask, no)) }
}

#[inline(always)]
fn either(x: __m128i, y: __m128i) -> __m128i {
    // SAFETY: as above.
    unsafe { _mm_or_si128(x, y) }
}

#[inline(always)]
fn zero() -> __m128i {
    // SAFETY: as above.
    unsafe { _mm_setzero_si128() }
}

/// The last lane of 32 bits of a vector, and all but the last of the one that follows.
#[inline(always)]
fn up_one(before: __m128i, x: __m128i) -> __m128i {
    // SAFETY: as above.
    unsafe {
        let (before, x) = (_mm_castsi128_ps(before), _mm_castsi128_ps(x));
        let ends = _mm_shuffle_ps::<0b00_00_11_11>(before, x);
        _mm_castps_si128(_mm_shuffle_ps::<0b10_01_10_00>(ends, x))
    }
}

/// The upper half of a vector, and the lower one of the one that follows.
#[inline(always)]
fn up_half(before: __m128i, x: __m128i) -> __m128i {
    // SAFETY: as above.
    unsafe { _mm_castpd_si128(_mm_shuffle_pd::<0b01>(_mm_castsi128_pd(before), _mm_castsi128_pd(x))) }
}

/// Masks of 32 bits of the 16 flags at an address.
///
/// # Safety
/// There are so many.
#[inline(always)]
unsafe fn masks_32(flags: *const u8) -> Block {
    // SAFETY: the caller's promise.
    unsafe {
        let m = _mm_cmpgt_epi8(_mm_loadu_si128(flags.cast()), zero());
        let halves = [_mm_unpacklo_epi8(m, m), _mm_unpackhi_epi8(m, m)];
        let [a, b] = halves.map(|m| [_mm_unpacklo_epi16(m, m), _mm_unpackhi_epi16(m, m)]);
        [a[0], a[1], b[0], b[1]]
    }
}

/// Masks of 64 bits of the 8 flags at an address.
///
/// # Safety
/// There are so many.
#[inline(always)]
unsafe fn masks_64(flags: *const u8) -> Block {
    // SAFETY: the caller's promise.
    unsafe {
        let m = _mm_cmpgt_epi8(_mm_loadl_epi64(flags.cast()), zero());
        let m = _mm_unpacklo_epi8(m, m);
        let halves = [_mm_unpacklo_epi16(m, m), _mm_unpackhi_epi16(m, m)];
        let [a, b] = halves.map(|m| [_mm_unpacklo_epi32(m, m), _mm_unpackhi_epi32(m, m)]);
        [a[0], a[1], b[0], b[1]]
    }
}

/// Combines each number with the one some places before it, unless a segment has begun between them. `moved(r, y)` is the vector of those that
/// are so many places before the numbers of vector `r`; the lanes of `first` have none.
#[inline(always)]
fn step<T: Float, C: Vectors, const SEGMENTED: bool>(
    x: &mut Block,
    begun: &mut Block,
    first: Block,
    moved: impl Fn(usize, &Block) -> __m128i,
) {
    let (y, was) = (*x, *begun);
    for r in 0..4 {
        let kept = if SEGMENTED { either(was[r], first[r]) } else { first[r] };
        x[r] = choose(kept, y[r], C::on::<T>(moved(r, &y), y[r]));
        if SEGMENTED {
            begun[r] = either(was[r], moved(r, &was));
        }
    }
}

/// The vector so many places before one of a block, or nothing.
#[inline(always)]
fn before(y: &Block, r: usize, distance: usize) -> __m128i {
    if r < distance { zero() } else { y[r - distance] }
}

/// Floats in lanes.
pub trait Float: Number {
    /// Numbers in a vector.
    const LANES: usize;

    /// Masks of the flags of a block.
    ///
    /// # Safety
    /// There are as many at the address.
    unsafe fn masks(flags: *const u8) -> Block;
    fn splat(self) -> __m128i;
    fn first(x: __m128i) -> Self;
    /// The last lane in all.
    fn last(x: __m128i) -> __m128i;
    /// The steps whose distance is below the lanes of a vector.
    fn near<C: Vectors, const SEGMENTED: bool>(x: &mut Block, begun: &mut Block);
    fn sum(x: __m128i, y: __m128i) -> __m128i;
    /// The first operand, if the second is no number; the second, if the first is none or they are equal.
    fn lesser(x: __m128i, y: __m128i) -> __m128i;
    fn greater(x: __m128i, y: __m128i) -> __m128i;
}

/// An operator on vectors.
pub trait Vectors: Combine {
    fn on<T: Float>(x: __m128i, y: __m128i) -> __m128i;
}

impl Vectors for Add {
    #[inline(always)]
    fn on<T: Float>(x: __m128i, y: __m128i) -> __m128i {
        T::sum(x, y)
    }
}

impl Vectors for Min {
    #[inline(always)]
    fn on<T: Float>(x: __m128i, y: __m128i) -> __m128i {
        T::lesser(x, y)
    }
}

impl Vectors for Max {
    #[inline(always)]
    fn on<T: Float>(x: __m128i, y: __m128i) -> __m128i {
        T::greater(x, y)
    }
}

/// The operators of a type.
macro_rules! operators {
    ($from:ident, $to:ident, $add:ident, $min:ident, $max:ident, $unordered:ident) => {
        #[inline(always)]
        fn sum(x: __m128i, y: __m128i) -> __m128i {
            // SAFETY: every processor of this architecture has the instructions.
            unsafe { $to($add($from(x), $from(y))) }
        }
        #[inline(always)]
        fn lesser(x: __m128i, y: __m128i) -> __m128i {
            // SAFETY: as above.
            let (a, b) = unsafe { ($from(x), $from(y)) };
            // SAFETY: as above.
            unsafe { choose($to($unordered(b, b)), x, $to($min(a, b))) }
        }
        #[inline(always)]
        fn greater(x: __m128i, y: __m128i) -> __m128i {
            // SAFETY: as above.
            let (a, b) = unsafe { ($from(x), $from(y)) };
            // SAFETY: as above.
            unsafe { choose($to($unordered(b, b)), x, $to($max(a, b))) }
        }
    };
}

impl Float for f32 {
    const LANES: usize = 4;

    #[inline(always)]
    unsafe fn masks(flags: *const u8) -> Block {
        // SAFETY: the caller's promise.
        unsafe { masks_32(flags) }
    }
    #[inline(always)]
    fn splat(self) -> __m128i {
        // SAFETY: every processor of this architecture has the instructions.
        unsafe { _mm_castps_si128(_mm_set1_ps(self)) }
    }
    #[inline(always)]
    fn first(x: __m128i) -> f32 {
        // SAFETY: as above.
        unsafe { _mm_cvtss_f32(_mm_castsi128_ps(x)) }
    }
    #[inline(always)]
    fn last(x: __m128i) -> __m128i {
        // SAFETY: as above.
        unsafe { _mm_shuffle_epi32::<0b11_11_11_11>(x) }
    }
    #[inline(always)]
    fn near<C: Vectors, const SEGMENTED: bool>(x: &mut Block, begun: &mut Block) {
        // SAFETY: as above.
        let (one, half) = unsafe { (_mm_set_epi32(0, 0, 0, -1), _mm_set_epi32(0, 0, -1, -1)) };
        let firsts = |first| [first, zero(), zero(), zero()];
        step::<f32, C, SEGMENTED>(x, begun, firsts(one), |r, y| up_one(before(y, r, 1), y[r]));
        step::<f32, C, SEGMENTED>(x, begun, firsts(half), |r, y| up_half(before(y, r, 1), y[r]));
    }
    operators!(_mm_castsi128_ps, _mm_castps_si128, _mm_add_ps, _mm_min_ps, _mm_max_ps, _mm_cmpunord_ps);
}

impl Float for f64 {
    const LANES: usize = 2;

    #[inline(always)]
    unsafe fn masks(flags: *const u8) -> Block {
        // SAFETY: the caller's promise.
        unsafe { masks_64(flags) }
    }
    #[inline(always)]
    fn splat(self) -> __m128i {
        // SAFETY: every processor of this architecture has the instructions.
        unsafe { _mm_castpd_si128(_mm_set1_pd(self)) }
    }
    #[inline(always)]
    fn first(x: __m128i) -> f64 {
        // SAFETY: as above.
        unsafe { _mm_cvtsd_f64(_mm_castsi128_pd(x)) }
    }
    #[inline(always)]
    fn last(x: __m128i) -> __m128i {
        // SAFETY: as above.
        unsafe { _mm_unpackhi_epi64(x, x) }
    }
    #[inline(always)]
    fn near<C: Vectors, const SEGMENTED: bool>(x: &mut Block, begun: &mut Block) {
        // SAFETY: as above.
        let one = unsafe { _mm_set_epi32(0, 0, -1, -1) };
        let firsts = [one, zero(), zero(), zero()];
        step::<f64, C, SEGMENTED>(x, begun, firsts, |r, y| up_half(before(y, r, 1), y[r]));
    }
    operators!(_mm_castsi128_pd, _mm_castpd_si128, _mm_add_pd, _mm_min_pd, _mm_max_pd, _mm_cmpunord_pd);
}

/// The prefixes of a block by doubling distances, and the masks of where segments have begun.
#[inline(always)]
fn block<T: Float, C: Vectors, const SEGMENTED: bool>(mut x: Block, mut begun: Block) -> (Block, Block) {
    // SAFETY: every processor of this architecture has the instructions.
    let (all, none) = (unsafe { _mm_set1_epi32(-1) }, zero());
    T::near::<C, SEGMENTED>(&mut x, &mut begun);
    step::<T, C, SEGMENTED>(&mut x, &mut begun, [all, none, none, none], |r, y| before(y, r, 1));
    step::<T, C, SEGMENTED>(&mut x, &mut begun, [all, all, none, none], |r, y| before(y, r, 2));
    (x, begun)
}

/// # Safety
/// As for [`super::Prefixes`].
pub unsafe extern "C" fn prefixes<T: Float, C: Vectors, const SEGMENTED: bool>(
    to: *mut u8,
    from: *const u8,
    flags: *const u8,
    n: i64,
    before: *mut u8,
) {
    // SAFETY: as the caller promises.
    unsafe { scan::<T, C, SEGMENTED>(to, from, flags, n, before) }
}

/// Sums without segments, with instructions of three operands.
///
/// # Safety
/// As for [`super::Prefixes`]; the processor has the instructions.
#[target_feature(enable = "avx2,fma,bmi1,bmi2")]
pub unsafe extern "C" fn sums_avx<T: Float>(
    to: *mut u8,
    from: *const u8,
    flags: *const u8,
    n: i64,
    before: *mut u8,
) {
    // SAFETY: as the caller promises.
    unsafe { scan::<T, Add, false>(to, from, flags, n, before) }
}

/// # Safety
/// As for [`super::Prefixes`].
#[inline(always)]
unsafe fn scan<T: Float, C: Vectors, const SEGMENTED: bool>(
    to: *mut u8,
    from: *const u8,
    flags: *const u8,
    n: i64,
    before: *mut u8,
) {
    let (to, from) = (to.cast::<T>(), from.cast::<T>());
    let streams = n & STREAM != 0 && to.addr().is_multiple_of(16);
    let n = (n & !STREAM) as usize;
    let whole = n - n % (4 * T::LANES);
    // SAFETY: all addresses are inside, as the caller promises.
    unsafe {
        let before = &mut *before.cast::<[T; 2]>();
        let [mut last, mut all] = before.map(T::splat);
        for at in (0..whole).step_by(4 * T::LANES) {
            let x = std::array::from_fn(|r| _mm_loadu_si128(from.add(at + r * T::LANES).cast()));
            let begun = if SEGMENTED { T::masks(flags.add(at)) } else { [zero(); 4] };
            let (x, begun) = block::<T, C, SEGMENTED>(x, begun);
            for r in 0..4 {
                let mut prefixes = C::on::<T>(last, x[r]);
                if SEGMENTED {
                    prefixes = choose(begun[r], x[r], prefixes);
                }
                let to = to.add(at + r * T::LANES).cast();
                if streams { _mm_stream_si128(to, prefixes) } else { _mm_storeu_si128(to, prefixes) }
            }
            let top = T::last(x[3]);
            (last, all) = (C::on::<T>(last, top), C::on::<T>(all, top));
            if SEGMENTED {
                let ended = T::last(begun[3]);
                (last, all) = (choose(ended, top, last), choose(ended, top, all));
            }
        }
        *before = [T::first(last), T::first(all)];
        let flags = if SEGMENTED { flags.add(whole).cast() } else { std::ptr::null() };
        one_by_one::<T, C>((to.add(whole), from.add(whole), flags), n - whole, before);
    }
}
