//! Scans of floats with vectors of 16 bytes, which every processor has for which there are such: a block is four of them.

#[cfg(target_arch = "aarch64")]
use super::neon as machine;
#[cfg(target_arch = "x86_64")]
use super::sse2 as machine;
use super::{Add, Combine, Max, Min, Number, STREAM, one_by_one};
use machine::*;

/// A block of 64 bytes.
pub type Block = [Vector; 4];

/// All bits of so many bytes of a vector, the first ones, and none of the others.
#[inline(always)]
fn lowest(bytes: usize) -> Vector {
    const ONES: [u8; 16] = [u8::MAX; 16];
    const BYTES: [[u8; 16]; 2] = [ONES, [0; 16]];
    // SAFETY: these are 16 bytes of 32.
    unsafe { load(BYTES.as_ptr().cast::<u8>().add(16 - bytes)) }
}

/// Combines each number with the one some places before it, unless a segment has begun between them. `moved(r, y)` is the vector of those that
/// are so many places before the numbers of vector `r`; the lanes of `first` have none.
#[inline(always)]
fn step<T: Float, C: Vectors, const SEGMENTED: bool>(
    x: &mut Block,
    begun: &mut Block,
    first: Block,
    moved: impl Fn(usize, &Block) -> Vector,
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
fn before(y: &Block, r: usize, distance: usize) -> Vector {
    if r < distance { zero() } else { y[r - distance] }
}

/// Operators of floats in the lanes of a vector.
pub trait Lanes: Number {
    fn splat(self) -> Vector;
    fn first(x: Vector) -> Self;
    /// The last lane in all.
    fn last(x: Vector) -> Vector;
    fn sum(x: Vector, y: Vector) -> Vector;
    /// The first operand, if the second is no number; the second, if the first is none or they are equal.
    fn lesser(x: Vector, y: Vector) -> Vector;
    fn greater(x: Vector, y: Vector) -> Vector;
}

/// Floats in lanes.
pub trait Float: Lanes {
    /// Numbers in a vector.
    const LANES: usize;

    /// Masks of the flags of a block.
    ///
    /// # Safety
    /// There are as many at the address.
    unsafe fn masks(flags: *const u8) -> Block;
    /// The steps whose distance is below the lanes of a vector.
    fn near<C: Vectors, const SEGMENTED: bool>(x: &mut Block, begun: &mut Block);
}

impl Float for f32 {
    const LANES: usize = 4;

    #[inline(always)]
    unsafe fn masks(flags: *const u8) -> Block {
        // SAFETY: the caller's promise.
        unsafe { masks_32(flags) }
    }
    #[inline(always)]
    fn near<C: Vectors, const SEGMENTED: bool>(x: &mut Block, begun: &mut Block) {
        let firsts = |bytes| [lowest(bytes), zero(), zero(), zero()];
        step::<f32, C, SEGMENTED>(x, begun, firsts(4), |r, y| up_one(before(y, r, 1), y[r]));
        step::<f32, C, SEGMENTED>(x, begun, firsts(8), |r, y| up_half(before(y, r, 1), y[r]));
    }
}

impl Float for f64 {
    const LANES: usize = 2;

    #[inline(always)]
    unsafe fn masks(flags: *const u8) -> Block {
        // SAFETY: the caller's promise.
        unsafe { masks_64(flags) }
    }
    #[inline(always)]
    fn near<C: Vectors, const SEGMENTED: bool>(x: &mut Block, begun: &mut Block) {
        let firsts = [lowest(8), zero(), zero(), zero()];
        step::<f64, C, SEGMENTED>(x, begun, firsts, |r, y| up_half(before(y, r, 1), y[r]));
    }
}

/// An operator on vectors.
pub trait Vectors: Combine {
    fn on<T: Float>(x: Vector, y: Vector) -> Vector;
}

impl Vectors for Add {
    #[inline(always)]
    fn on<T: Float>(x: Vector, y: Vector) -> Vector {
        T::sum(x, y)
    }
}

impl Vectors for Min {
    #[inline(always)]
    fn on<T: Float>(x: Vector, y: Vector) -> Vector {
        T::lesser(x, y)
    }
}

impl Vectors for Max {
    #[inline(always)]
    fn on<T: Float>(x: Vector, y: Vector) -> Vector {
        T::greater(x, y)
    }
}

/// The prefixes of a block by doubling distances, and the masks of where segments have begun.
#[inline(always)]
fn block<T: Float, C: Vectors, const SEGMENTED: bool>(mut x: Block, mut begun: Block) -> (Block, Block) {
    let (all, none) = (lowest(16), zero());
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
#[cfg(target_arch = "x86_64")]
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
            let mut x = [zero(); 4];
            for (r, x) in x.iter_mut().enumerate() {
                *x = load(from.add(at + r * T::LANES).cast());
            }
            let begun = if SEGMENTED { T::masks(flags.add(at)) } else { [zero(); 4] };
            let (x, begun) = block::<T, C, SEGMENTED>(x, begun);
            for r in 0..4 {
                let mut prefixes = C::on::<T>(last, x[r]);
                if SEGMENTED {
                    prefixes = choose(begun[r], x[r], prefixes);
                }
                let to = to.add(at + r * T::LANES).cast();
                if streams { store_past_caches(to, prefixes) } else { store(to, prefixes) }
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
