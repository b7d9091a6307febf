//! The inner loops of contractions, compiled for several kinds of processor.

use crate::plan::{Combine, Pair};
#[cfg(target_arch = "x86_64")]
use crate::simd::Level;
use crate::simd::level;

/// Rows of a tile.
pub const ROWS: usize = 4;

/// The results of a tile: rows of `C` columns.
pub type Accumulators<T, const C: usize> = [[T; C]; ROWS];

/// Combines `f a[r, k] panel[k, c]` into a tile for all `k`: the number of steps, a pointer into each row, the stride from step
/// to step in bytes, the panel, the tile.
///
/// Unsafe: the elements must be readable, and the processor must have what the function was compiled for.
pub type Tile<T, const C: usize> =
    unsafe fn(usize, [*const T; ROWS], isize, *const T, &mut Accumulators<T, C>);

/// An element type of contractions, with the operators of `PrimOp`.
#[allow(missing_docs)]
pub trait Number: Copy + Default + Send + Sync + 'static {
    /// The lesser and the greater of two are no instructions.
    const IS_FLOAT: bool;

    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn least(self, other: Self) -> Self;
    fn most(self, other: Self) -> Self;
    /// Of floats only.
    fn distance(self, other: Self) -> Self;
    /// The square of that.
    fn square(self, other: Self) -> Self;
}

macro_rules! floats {
    ($($t:ty),*) => {$(
        impl Number for $t {
            const IS_FLOAT: bool = true;

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self * other
            }
            #[inline(always)]
            fn least(self, other: Self) -> Self {
                if self < other || other.is_nan() { self } else { other }
            }
            #[inline(always)]
            fn most(self, other: Self) -> Self {
                if self > other || other.is_nan() { self } else { other }
            }
            #[inline(always)]
            fn distance(self, other: Self) -> Self {
                (self - other).abs()
            }
            #[inline(always)]
            fn square(self, other: Self) -> Self {
                (self - other) * (self - other)
            }
        }
    )*};
}

macro_rules! integers {
    ($($t:ty),*) => {$(
        impl Number for $t {
            const IS_FLOAT: bool = false;

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline(always)]
            fn least(self, other: Self) -> Self {
                self.min(other)
            }
            #[inline(always)]
            fn most(self, other: Self) -> Self {
                self.max(other)
            }
            #[inline(always)]
            fn distance(self, _: Self) -> Self {
                unreachable!("contractions of integers have no distances")
            }
            #[inline(always)]
            fn square(self, _: Self) -> Self {
                unreachable!("contractions of integers have no distances")
            }
        }
    )*};
}

floats!(f32, f64);
integers!(i32, i64);

/// Update of an accumulator by a pair of elements.
trait Step<T> {
    /// It chooses a number.
    const CHOOSES: bool;

    fn step(acc: T, a: T, b: T) -> T;
}

macro_rules! steps {
    ($($name:ident: $combine:ident $pair:ident, $chooses:literal;)*) => {$(
        struct $name;
        impl<T: Number> Step<T> for $name {
            const CHOOSES: bool = $chooses;

            #[inline(always)]
            fn step(acc: T, a: T, b: T) -> T {
                acc.$combine(a.$pair(b))
            }
        }
    )*};
}

steps! {
    SumOfProducts: plus times, false;
    LeastSum: least plus, true;
    MostSum: most plus, true;
    LeastProduct: least times, true;
    MostProduct: most times, true;
    SumOfDistances: plus distance, false;
    MostDistance: most distance, true;
    SumOfSquares: plus square, false;
}

/// The code for two operators on this processor. A tile has `C` columns, two vectors of 512 bits; `H` of them are worked on together with
/// vectors of 256 bits, `Q` with those of 128. Two vectors of floats; of integers all, since the compiler makes vectors of no fewer.
pub fn choose<T: Number, const C: usize, const H: usize, const Q: usize>(
    combine: Combine,
    pair: Pair,
) -> Option<Tile<T, C>> {
    let has_distances = T::IS_FLOAT;
    Some(match (combine, pair) {
        (Combine::Add, Pair::Product) => version::<T, SumOfProducts, C, H, Q>(),
        (Combine::Min, Pair::Sum) => version::<T, LeastSum, C, H, Q>(),
        (Combine::Max, Pair::Sum) => version::<T, MostSum, C, H, Q>(),
        (Combine::Min, Pair::Product) => version::<T, LeastProduct, C, H, Q>(),
        (Combine::Max, Pair::Product) => version::<T, MostProduct, C, H, Q>(),
        (Combine::Add, Pair::Distance) if has_distances => version::<T, SumOfDistances, C, H, Q>(),
        (Combine::Max, Pair::Distance) if has_distances => version::<T, MostDistance, C, H, Q>(),
        (Combine::Add, Pair::Square) if has_distances => version::<T, SumOfSquares, C, H, Q>(),
        _ => return None,
    })
}

fn version<T: Number, S: Step<T>, const C: usize, const H: usize, const Q: usize>() -> Tile<T, C> {
    match level() {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => wide::<T, S, C>,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => half::<T, S, C, H>,
        #[cfg(target_arch = "x86_64")]
        _ if is_x86_feature_detected!("sse4.1") => quarter::<T, S, C, Q>,
        // There are twice as many registers as on x86-64. Choices between floats need them.
        _ if cfg!(target_arch = "aarch64") && !(T::IS_FLOAT && S::CHOOSES) => tile::<T, S, C, H>,
        _ => tile::<T, S, C, Q>,
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn wide<T: Number, S: Step<T>, const C: usize>(
    depth: usize,
    rows: [*const T; ROWS],
    stride: isize,
    panel: *const T,
    acc: &mut Accumulators<T, C>,
) {
    // SAFETY: the caller's promise.
    unsafe { tile::<T, S, C, C>(depth, rows, stride, panel, acc) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn half<T: Number, S: Step<T>, const C: usize, const H: usize>(
    depth: usize,
    rows: [*const T; ROWS],
    stride: isize,
    panel: *const T,
    acc: &mut Accumulators<T, C>,
) {
    // SAFETY: the caller's promise.
    unsafe { tile::<T, S, C, H>(depth, rows, stride, panel, acc) }
}

/// Products of integers and choices are instructions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.1")]
unsafe fn quarter<T: Number, S: Step<T>, const C: usize, const Q: usize>(
    depth: usize,
    rows: [*const T; ROWS],
    stride: isize,
    panel: *const T,
    acc: &mut Accumulators<T, C>,
) {
    // SAFETY: the caller's promise.
    unsafe { tile::<T, S, C, Q>(depth, rows, stride, panel, acc) }
}

/// `W` columns at a time, written so that the compiler keeps their sums in vector registers: eight, besides what is multiplied.
///
/// # Safety
/// As for [`Tile`].
#[inline(always)]
unsafe fn tile<T: Number, S: Step<T>, const C: usize, const W: usize>(
    depth: usize,
    rows: [*const T; ROWS],
    stride: isize,
    panel: *const T,
    acc: &mut Accumulators<T, C>,
) {
    for first in (0..C).step_by(W) {
        let mut sums = [[T::default(); W]; ROWS];
        for (sums, acc) in sums.iter_mut().zip(&*acc) {
            sums.copy_from_slice(&acc[first..first + W]);
        }
        for k in 0..depth {
            // SAFETY: the panel has `depth` lines of `C`, and each row an element at every step.
            let line = unsafe { &*(panel.add(k * C + first) as *const [T; W]) };
            for r in 0..ROWS {
                // SAFETY: as above.
                let a = unsafe { *rows[r].wrapping_byte_offset(k as isize * stride) };
                for c in 0..W {
                    sums[r][c] = S::step(sums[r][c], a, line[c]);
                }
            }
        }
        for (acc, sums) in acc.iter_mut().zip(&sums) {
            acc[first..first + W].copy_from_slice(sums);
        }
    }
}
