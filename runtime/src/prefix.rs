//! Scans of strips of numbers by the commonest operators, also of segments that begin where a flag is set.
//!
//! The numbers of a vector of 64 bytes are combined by doubling distances; what came before them is combined with all of them at once. So
//! the chain of operations from one vector to the next is one operation long. Where rounding shows the order of operations, it is the same
//! on processors that do not have such vectors.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod sixteen;
#[cfg(target_arch = "x86_64")]
mod sse2;

use crate::prim::Prim;
use crate::simd::{Level, level};
use std::ops::BitOr;

/// `(to, from, flags, n, before)`: stores the prefixes of `n` numbers, where `before[0]` stands for all numbers before them, and replaces
/// that by the last prefix; replaces `before[1]` by what it is combined with all the numbers. A segment begins where a
/// flag is set; without flags that address is not used. `to` may be `from`. With [`STREAM`] in their number the prefixes are stored past
/// the caches, if that can be; [`settle`] before another thread reads them.
pub type Prefixes = unsafe extern "C" fn(*mut u8, *const u8, *const u8, i64, *mut u8);

/// A bit of the number of elements: what is stored is part of more than a cache holds.
pub const STREAM: i64 = 1 << 62;

/// Bytes of an array of which no cache holds enough for the next reader.
pub const LARGE: usize = 1 << 26;

/// Waits until what was stored past the caches can be seen by all threads.
pub fn settle() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every such processor has the instruction.
    unsafe {
        std::arch::x86_64::_mm_sfence()
    };
}

/// An operator whose scans are here.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Operator {
    Add,
    Min,
    Max,
}

impl Operator {
    /// All of them.
    pub const ALL: [Operator; 3] = [Operator::Add, Operator::Min, Operator::Max];
}

trait Number: Copy + Default {
    /// A mask of all bits of a number, or none.
    type Mask: Copy + BitOr<Output = Self::Mask>;

    fn mask(flag: bool) -> Self::Mask;
    fn is_set(mask: Self::Mask) -> bool;
    /// `yes` where the mask has bits.
    fn choose(mask: Self::Mask, yes: Self, no: Self) -> Self;
    fn plus(self, other: Self) -> Self;
    fn least(self, other: Self) -> Self;
    fn most(self, other: Self) -> Self;
}

macro_rules! integers {
    ($($t:ty),*) => {
        $(impl Number for $t {
            type Mask = $t;

            #[inline(always)]
            fn mask(flag: bool) -> $t {
                (0 as $t).wrapping_sub(flag as $t)
            }
            #[inline(always)]
            fn is_set(mask: $t) -> bool {
                mask != 0
            }
            #[inline(always)]
            fn choose(mask: $t, yes: Self, no: Self) -> Self {
                no ^ (mask & (yes ^ no))
            }
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn least(self, other: Self) -> Self {
                Ord::min(self, other)
            }
            #[inline(always)]
            fn most(self, other: Self) -> Self {
                Ord::max(self, other)
            }
        })*
    };
}
integers!(u8, i32, i64, u32, u64);

macro_rules! floats {
    ($($t:ty: $bits:ty),*) => {
        $(impl Number for $t {
            type Mask = $bits;

            #[inline(always)]
            fn mask(flag: bool) -> $bits {
                (0 as $bits).wrapping_sub(flag as $bits)
            }
            #[inline(always)]
            fn is_set(mask: $bits) -> bool {
                mask != 0
            }
            #[inline(always)]
            fn choose(mask: $bits, yes: Self, no: Self) -> Self {
                let (yes, no) = (yes.to_bits(), no.to_bits());
                <$t>::from_bits(no ^ (mask & (yes ^ no)))
            }
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }
            // As the operators of the language: numbers before what is none, the later of two that are equal. It does not matter how they are grouped.
            #[inline(always)]
            fn least(self, other: Self) -> Self {
                if self < other || other.is_nan() { self } else { other }
            }
            #[inline(always)]
            fn most(self, other: Self) -> Self {
                if self > other || other.is_nan() { self } else { other }
            }
        })*
    };
}
floats!(f32: u32, f64: u64);

/// The operator of a scan, known when it is compiled.
trait Combine {
    fn of<T: Number>(x: T, y: T) -> T;
}

struct Add;
struct Min;
struct Max;

impl Combine for Add {
    #[inline(always)]
    fn of<T: Number>(x: T, y: T) -> T {
        x.plus(y)
    }
}

impl Combine for Min {
    #[inline(always)]
    fn of<T: Number>(x: T, y: T) -> T {
        x.least(y)
    }
}

impl Combine for Max {
    #[inline(always)]
    fn of<T: Number>(x: T, y: T) -> T {
        x.most(y)
    }
}

/// The scan, one number after the other.
///
/// # Safety
/// As for [`Prefixes`], for numbers of type `T`; no flags are at address 0.
#[inline(always)]
unsafe fn one_by_one<T: Number, C: Combine>(
    (to, from, flags): (*mut T, *const T, *const bool),
    n: usize,
    before: &mut [T; 2],
) {
    let [mut last, mut all] = *before;
    for at in 0..n {
        // SAFETY: the number is inside.
        unsafe {
            let x = *from.add(at);
            let begins = !flags.is_null() && *flags.add(at);
            last = if begins { x } else { C::of(last, x) };
            all = if begins { x } else { C::of(all, x) };
            *to.add(at) = last;
        }
    }
    *before = [last, all];
}

/// Combines each number with the one a distance `D` before it, unless a segment has begun between them. Distance and number are known, so that
/// the compiler makes vectors of it.
#[inline(always)]
fn step<T: Number, C: Combine, const N: usize, const D: usize, const SEGMENTED: bool>(
    x: &mut [T; N],
    begun: &mut [T::Mask; N],
) {
    let (y, was) = (*x, *begun);
    for i in D..N {
        let combined = C::of(y[i - D], y[i]);
        x[i] = if SEGMENTED { T::choose(was[i], y[i], combined) } else { combined };
        if SEGMENTED {
            begun[i] = was[i] | was[i - D];
        }
    }
}

/// The prefixes of a block of `N` numbers, at most 16, and masks of those before which a segment has begun, by doubling distances.
#[inline(always)]
fn block<T: Number, C: Combine, const N: usize, const SEGMENTED: bool>(
    mut x: [T; N],
    mut begun: [T::Mask; N],
) -> ([T; N], [T::Mask; N]) {
    step::<T, C, N, 1, SEGMENTED>(&mut x, &mut begun);
    step::<T, C, N, 2, SEGMENTED>(&mut x, &mut begun);
    step::<T, C, N, 4, SEGMENTED>(&mut x, &mut begun);
    step::<T, C, N, 8, SEGMENTED>(&mut x, &mut begun);
    (x, begun)
}

/// The scan in blocks of `N` numbers; what is left at the end is taken one by one.
///
/// # Safety
/// As for [`one_by_one`].
#[inline(always)]
unsafe fn in_blocks<T: Number, C: Combine, const N: usize, const SEGMENTED: bool>(
    (to, from, flags): (*mut T, *const T, *const bool),
    n: usize,
    before: &mut [T; 2],
) {
    let whole = n - n % N;
    let [mut last, mut all] = *before;
    for at in (0..whole).step_by(N) {
        // SAFETY: the numbers and flags are inside.
        unsafe {
            let x = from.add(at).cast::<[T; N]>().read_unaligned();
            let mut begun = [T::mask(false); N];
            if SEGMENTED {
                for (i, begun) in begun.iter_mut().enumerate() {
                    *begun = T::mask(*flags.add(at + i));
                }
            }
            let (x, begun) = block::<T, C, N, SEGMENTED>(x, begun);
            let mut prefixes = x;
            for i in 0..N {
                let combined = C::of(last, x[i]);
                prefixes[i] = if SEGMENTED { T::choose(begun[i], x[i], combined) } else { combined };
            }
            to.add(at).cast::<[T; N]>().write_unaligned(prefixes);
            let ended = SEGMENTED && T::is_set(begun[N - 1]);
            all = if ended { x[N - 1] } else { C::of(all, x[N - 1]) };
            last = prefixes[N - 1];
        }
    }
    *before = [last, all];
    // SAFETY: as the caller promises.
    unsafe {
        let flags = if SEGMENTED { flags.add(whole) } else { flags };
        one_by_one::<T, C>((to.add(whole), from.add(whole), flags), n - whole, before);
    }
}

/// The scan of numbers of a type for processors that have no wide vectors.
macro_rules! narrow {
    ($t:ty, $operator:ty, $segmented:expr) => {{
        /// # Safety
        /// As for [`Prefixes`].
        unsafe extern "C" fn scan(to: *mut u8, from: *const u8, flags: *const u8, n: i64, before: *mut u8) {
            // Rounding shows how numbers are grouped: as in a vector of 64 bytes.
            const ROUNDS: bool = <$t>::MAX as i64 as $t != <$t>::MAX;
            const BLOCK: usize = 64 / size_of::<$t>();
            let n = (n & !STREAM) as usize;
            let flags = if $segmented { flags } else { std::ptr::null() };
            let ends = (to.cast(), from.cast(), flags.cast());
            // SAFETY: as the caller of `Prefixes` promises.
            unsafe {
                let before = &mut *before.cast::<[$t; 2]>();
                match ROUNDS {
                    true => in_blocks::<$t, $operator, BLOCK, $segmented>(ends, n, before),
                    false => one_by_one::<$t, $operator>(ends, n, before),
                }
            }
        }
        scan as Prefixes
    }};
}

/// The best scan of numbers of a type for this processor.
macro_rules! of_type {
    ($t:ident, $operator:ident, $segmented:expr, $level:expr) => {
        match ($level, $segmented) {
            #[cfg(target_arch = "x86_64")]
            (Level::Avx512, true) => avx512::$t::$operator::segmented as Prefixes,
            #[cfg(target_arch = "x86_64")]
            (Level::Avx512, false) => avx512::$t::$operator::plain as Prefixes,
            #[cfg(target_arch = "x86_64")]
            (Level::Avx2, true) => avx2::$t::$operator::segmented as Prefixes,
            #[cfg(target_arch = "x86_64")]
            (Level::Avx2, false) => avx2::$t::$operator::plain as Prefixes,
            (_, true) => narrow!($t, $operator, true),
            (_, false) => narrow!($t, $operator, false),
        }
    };
}

/// The best scan of floats for this processor.
macro_rules! of_floats {
    ($t:ident, $operator:ident, $segmented:expr, $level:expr) => {
        match ($level, $segmented) {
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            (Level::Baseline, true) => sixteen::prefixes::<$t, $operator, true> as Prefixes,
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            (Level::Baseline, false) => sixteen::prefixes::<$t, $operator, false> as Prefixes,
            _ => of_type!($t, $operator, $segmented, $level),
        }
    };
}

/// The best sums of floats for this processor: lanes move from one half of a vector of 32 bytes to the other more slowly than is gained.
macro_rules! of_sums {
    ($t:ident, $segmented:expr, $level:expr) => {
        match ($level, $segmented) {
            #[cfg(target_arch = "x86_64")]
            (Level::Avx2, false) => sixteen::sums_avx::<$t> as Prefixes,
            _ => of_floats!($t, Add, $segmented, $level),
        }
    };
}

impl Operator {
    /// The scan of numbers of a type with this operator, for this processor, if it is here.
    pub fn prefixes(self, prim: Prim, segmented: bool) -> Option<Prefixes> {
        self.prefixes_at(level(), prim, segmented)
    }

    /// As [`Operator::prefixes`], for a level that the processor has.
    fn prefixes_at(self, level: Level, prim: Prim, segmented: bool) -> Option<Prefixes> {
        Some(match (self, prim) {
            // What two's complement adds has no sign.
            (Operator::Add, Prim::I32 | Prim::U32) => of_type!(i32, Add, segmented, level),
            (Operator::Add, Prim::I64 | Prim::U64) => of_type!(i64, Add, segmented, level),
            (Operator::Add, Prim::F32) => of_sums!(f32, segmented, level),
            (Operator::Add, Prim::F64) => of_sums!(f64, segmented, level),
            (Operator::Min, Prim::I32) => of_type!(i32, Min, segmented, level),
            (Operator::Min, Prim::I64) => of_type!(i64, Min, segmented, level),
            (Operator::Min, Prim::F32) => of_floats!(f32, Min, segmented, level),
            (Operator::Min, Prim::F64) => of_floats!(f64, Min, segmented, level),
            (Operator::Max, Prim::I32) => of_type!(i32, Max, segmented, level),
            (Operator::Max, Prim::I64) => of_type!(i64, Max, segmented, level),
            (Operator::Max, Prim::F32) => of_floats!(f32, Max, segmented, level),
            (Operator::Max, Prim::F64) => of_floats!(f64, Max, segmented, level),
            // The larger of two flags is set if one is.
            (Operator::Max, Prim::Bool) if !segmented => narrow!(u8, Max, false),
            _ => return None,
        })
    }
}

/// As a scan by `Max` of flags, of which only the last prefixes matter.
///
/// # Safety
/// As for [`Prefixes`].
pub unsafe extern "C" fn any(_: *mut u8, from: *const u8, _: *const u8, n: i64, before: *mut u8) {
    // SAFETY: as the caller promises.
    let (flags, before) =
        unsafe { (std::slice::from_raw_parts(from, n as usize), std::slice::from_raw_parts_mut(before, 2)) };
    let any = flags.iter().fold(0, |any, flag| any | flag);
    before.iter_mut().for_each(|b| *b |= any);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone)]
    #[repr(align(64))]
    struct Line([u8; 64]);

    /// The prefixes, which are the same if they are stored past the caches.
    fn scanned<T: Copy>(f: Prefixes, from: &[T], flags: &[bool], before: [T; 2]) -> (Vec<T>, [T; 2]) {
        let (mut to, mut before, mut again) = (from.to_vec(), before, before);
        let bytes = size_of_val(from);
        let mut streamed = vec![Line([0; 64]); bytes / 64 + 1];
        // SAFETY: there are as many flags as numbers, of the type that the scan is for, and room for as many.
        let found = unsafe {
            let (to, from, flags) = (to.as_mut_ptr(), from.as_ptr(), flags.as_ptr());
            let n = (bytes / size_of::<T>()) as i64;
            f(to.cast(), from.cast(), flags.cast(), n, before.as_mut_ptr().cast());
            let lines = streamed.as_mut_ptr().cast();
            f(lines, from.cast(), flags.cast(), n | STREAM, again.as_mut_ptr().cast());
            settle();
            std::slice::from_raw_parts(to.cast::<u8>(), bytes)
        };
        assert!(streamed.iter().flat_map(|line| line.0).take(bytes).eq(found.iter().copied()));
        (to, before)
    }

    /// The levels that this processor has.
    fn levels() -> impl Iterator<Item = Level> {
        Level::ALL.into_iter().filter(|l| *l <= Level::detected())
    }

    fn numbers(n: usize) -> (Vec<i64>, Vec<bool>) {
        let numbers = (0..n as i64).map(|i| i * 7919 % 1001 - 500).collect();
        (numbers, (0..n).map(|i| i * 31 % 17 == 3).collect())
    }

    #[test]
    fn prefixes_of_integers() {
        for (level, n) in levels().flat_map(|l| [0, 1, 15, 16, 17, 100, 512].map(|n| (l, n))) {
            let (xs, flags) = numbers(n);
            for (op, segmented) in Operator::ALL.into_iter().flat_map(|op| [(op, false), (op, true)]) {
                let combine = |a: i64, b: i64| match op {
                    Operator::Add => a + b,
                    Operator::Min => a.min(b),
                    Operator::Max => a.max(b),
                };
                let mut before = [3, 100];
                let mut wanted = Vec::new();
                for (x, flag) in xs.iter().zip(&flags) {
                    let begins = segmented && *flag;
                    before = before.map(|b| if begins { *x } else { combine(b, *x) });
                    wanted.push(before[0]);
                }
                let f = op.prefixes_at(level, Prim::I64, segmented).expect("it is there");
                assert_eq!(
                    scanned(f, &xs, &flags, [3, 100]),
                    (wanted.clone(), before),
                    "{level:?} {op:?} {n}"
                );
                let small: Vec<i32> = xs.iter().map(|x| *x as i32).collect();
                let f = op.prefixes_at(level, Prim::I32, segmented).expect("it is there");
                let (found, _) = scanned(f, &small, &flags, [3, 100]);
                assert_eq!(
                    found,
                    wanted.iter().map(|x| *x as i32).collect::<Vec<_>>(),
                    "{level:?} {op:?} {n}"
                );
            }
        }
    }

    /// For the prefixes and for the total alone, the sum is the same to the bit, at every level.
    #[test]
    fn sums_of_floats() {
        let (xs, flags) = numbers(300);
        let xs: Vec<f32> = xs.iter().map(|x| *x as f32 / 7.0).collect();
        for segmented in [false, true] {
            let sums = |level| {
                let f = Operator::Add.prefixes_at(level, Prim::F32, segmented).expect("it is there");
                let (prefixes, [last, all]) = scanned(f, &xs, &flags, [0.0, 0.0]);
                assert_eq!(prefixes[299].to_bits(), last.to_bits());
                assert_eq!(all.to_bits(), last.to_bits());
                prefixes
            };
            let prefixes = sums(Level::Baseline);
            let mut exact = 0.0f64;
            for ((x, flag), found) in xs.iter().zip(&flags).zip(&prefixes) {
                exact = f64::from(*x) + if segmented && *flag { 0.0 } else { exact };
                assert!((f64::from(*found) - exact).abs() < 1e-2, "{found} {exact}");
            }
            let bits = |xs: Vec<f32>| xs.into_iter().map(f32::to_bits).collect::<Vec<u32>>();
            let wanted = bits(prefixes);
            levels().for_each(|level| assert_eq!(bits(sums(level)), wanted, "{level:?}"));
        }
    }

    #[test]
    fn sums_of_long_floats_are_the_same_at_every_level() {
        let (xs, flags) = numbers(203);
        let xs: Vec<f64> = xs.iter().map(|x| *x as f64 / 7.0).chain([-0.0, f64::NAN, 1.0]).collect();
        let flags: Vec<bool> = flags.into_iter().chain([true, false, true]).collect();
        for segmented in [false, true] {
            let sums = |level| {
                let f = Operator::Add.prefixes_at(level, Prim::F64, segmented).expect("it is there");
                let (prefixes, ends) = scanned(f, &xs, &flags, [-0.0, 2.0]);
                prefixes.into_iter().chain(ends).map(f64::to_bits).collect::<Vec<u64>>()
            };
            levels().for_each(|level| assert_eq!(sums(level), sums(Level::Baseline), "{level:?}"));
        }
    }

    #[test]
    fn extrema_of_floats_are_those_of_one_after_the_other() {
        let (xs, flags) = numbers(203);
        let odd = [-0.0, 0.0, f64::NAN, -0.0, f64::INFINITY, f64::NEG_INFINITY, -f64::NAN, 0.0];
        let xs: Vec<f64> = xs
            .iter()
            .map(|x| *x as f64 / 7.0)
            .enumerate()
            .map(|(i, x)| if i % 5 == 0 { odd[i / 5 % 8] } else { x })
            .collect();
        let short: Vec<f32> = xs.iter().map(|x| *x as f32).collect();
        for (operator, segmented) in
            [Operator::Min, Operator::Max].into_iter().flat_map(|o| [(o, false), (o, true)])
        {
            let combine = |x: f64, y: f64| if operator == Operator::Min { x.least(y) } else { x.most(y) };
            let mut last = f64::NAN;
            let wanted: Vec<u64> = xs
                .iter()
                .zip(&flags)
                .map(|(x, flag)| {
                    last = if segmented && *flag { *x } else { combine(last, *x) };
                    last.to_bits()
                })
                .collect();
            for level in levels() {
                let f = operator.prefixes_at(level, Prim::F64, segmented).expect("it is there");
                let found: Vec<u64> =
                    scanned(f, &xs, &flags, [f64::NAN, 0.5]).0.into_iter().map(f64::to_bits).collect();
                assert_eq!(found, wanted, "{level:?} {operator:?} {segmented}");
                let f = operator.prefixes_at(level, Prim::F32, segmented).expect("it is there");
                let found: Vec<u32> =
                    scanned(f, &short, &flags, [f32::NAN, 0.5]).0.into_iter().map(f32::to_bits).collect();
                let wanted: Vec<u32> = wanted.iter().map(|x| (f64::from_bits(*x) as f32).to_bits()).collect();
                assert_eq!(found, wanted, "{level:?} {operator:?} {segmented}");
            }
        }
    }

    #[test]
    fn flags_that_were_set() {
        let f = Operator::Max.prefixes(Prim::Bool, false).expect("it is there");
        let flags: Vec<bool> = (0..40).map(|i| i == 20).collect();
        let (found, before) = scanned(f, &flags, &flags, [false, false]);
        assert!(found.iter().enumerate().all(|(i, f)| *f == (i >= 20)) && before[1]);
        assert!(Operator::Min.prefixes(Prim::F16, false).is_none());
    }
}
