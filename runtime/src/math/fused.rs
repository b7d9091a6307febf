//! `a * b + c`, rounded once. WebAssembly has no instruction for it, and what stands in for it in general takes a hundred times as long as other
//! operators do: there the result is put together from a product and sums whose errors are known.
//!
//! Source: Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums" (2008): the sum of the parts that are lost is rounded to an odd last
//! bit, so that rounding once more is as if rounded once.

/// Numbers that can be multiplied and added, rounding once.
pub trait Fused {
    /// `self * b + c`.
    fn fused(self, b: Self, c: Self) -> Self;
}

impl Fused for f64 {
    #[inline(always)]
    fn fused(self, b: f64, c: f64) -> f64 {
        if cfg!(target_family = "wasm") { double(self, b, c) } else { self.mul_add(b, c) }
    }
}

impl Fused for f32 {
    #[inline(always)]
    fn fused(self, b: f32, c: f32) -> f32 {
        if cfg!(target_family = "wasm") { single(self, b, c) } else { self.mul_add(b, c) }
    }
}

/// A sum, and what it lacks.
#[inline(always)]
fn sum(a: f64, b: f64) -> (f64, f64) {
    let s = a + b;
    let part = s - a;
    (s, (a - (s - part)) + (b - part))
}

/// The upper half of a number's digits, and the lower one.
#[inline(always)]
fn halves(x: f64) -> (f64, f64) {
    let shifted = x * 134_217_729.0;
    let high = shifted - (shifted - x);
    (high, x - high)
}

/// A product, and what it lacks.
#[inline(always)]
fn product(a: f64, b: f64) -> (f64, f64) {
    let p = a * b;
    let ((ah, al), (bh, bl)) = (halves(a), halves(b));
    (p, ((ah * bh - p) + ah * bl + al * bh) + al * bl)
}

/// A sum whose last bit is odd if it is not exact.
#[inline(always)]
fn odd_sum(a: f64, b: f64) -> f64 {
    let (s, rest) = sum(a, b);
    let bits = s.to_bits();
    if rest == 0.0 || bits & 1 == 1 {
        return s;
    }
    // Away from zero, or towards it.
    let outwards = (rest > 0.0) == (s > 0.0);
    f64::from_bits(if outwards { bits + 1 } else { bits - 1 })
}

/// True for numbers whose products have all their digits.
#[inline(always)]
fn is_moderate(x: f64) -> bool {
    /// 2^-400 and 2^400.
    const RANGE: std::ops::RangeInclusive<f64> = 3.872_591_914_849_318e-121..=2.582_249_878_086_908_6e120;
    RANGE.contains(&x.abs())
}

/// As `a.mul_add(b, c)`.
#[inline(always)]
fn double(a: f64, b: f64, c: f64) -> f64 {
    if a == 0.0 || b == 0.0 || c == 0.0 && is_moderate(a) && is_moderate(b) {
        return a * b + c;
    }
    if !is_moderate(a) || !is_moderate(b) || c.is_nan() || c.abs() >= 1e300 {
        return a.mul_add(b, c);
    }
    let (high, low) = product(a, b);
    let (first, lost) = sum(c, low);
    let (upper, rest) = sum(high, first);
    upper + odd_sum(lost, rest)
}

/// As `a.mul_add(b, c)`: the product is exact as an `f64`, and the sum is rounded to an odd last bit before it is rounded again. No branches, for vectors.
#[inline(always)]
fn single(a: f32, b: f32, c: f32) -> f32 {
    let (p, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let (s, rest) = sum(p, c);
    let bits = s.to_bits();
    // Towards zero, then odd.
    let odd = bits.wrapping_sub((rest.to_bits() ^ bits) >> 63) | 1;
    // What an infinite sum lacks is no number.
    f64::from_bits(if rest.abs() > 0.0 { odd } else { bits }) as f32
}

/// Multiplication and addition of `f32`s with one rounding, for formulas.
pub trait Multiply {
    /// `a * b + c`.
    fn fused(&mut self, a: f32, b: f32, c: f32) -> f32;
}

/// By an instruction, where there is one.
pub struct Native;

impl Multiply for Native {
    #[inline(always)]
    fn fused(&mut self, a: f32, b: f32, c: f32) -> f32 {
        a.fused(b, c)
    }
}

/// Put together from other operators.
pub struct Composed;

impl Multiply for Composed {
    #[inline(always)]
    fn fused(&mut self, a: f32, b: f32, c: f32) -> f32 {
        single(a, b, c)
    }
}

/// Rounded twice, as an `f64` before: nearly always the same.
#[derive(Default)]
pub struct Twice {
    /// Not 0 if some result may be another than that of rounding once.
    pub doubtful: u32,
}

impl Multiply for Twice {
    #[inline(always)]
    fn fused(&mut self, a: f32, b: f32, c: f32) -> f32 {
        /// The bits that an `f32` lacks, and the number in the middle between two.
        const LOST: u32 = (1 << 29) - 1;
        const MIDDLE: u32 = 1 << 28;
        /// The upper half of the least normal `f32`. Smaller ones lack more.
        const NORMAL: u32 = 0x3810_0000;
        let s = f64::from(a) * f64::from(b) + f64::from(c);
        let (high, low) = ((s.to_bits() >> 32) as u32, s.to_bits() as u32);
        let is_small = (high & 0x7fff_ffff).wrapping_sub(1) < NORMAL - 1;
        self.doubtful |= u32::from((low & LOST == MIDDLE) | is_small);
        s as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of many sizes, and close ones, so that much cancels.
    #[test]
    fn results_are_those_of_the_processor() {
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state ^ (state >> 29)
        };
        let special =
            [0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NAN, f64::MAX, f64::MIN_POSITIVE, 5e-324, 1e-200];
        for i in 0..400_000u64 {
            let mut number = |spread: u64| {
                let exponent = 1023 - spread / 2 + random() % spread.max(1);
                f64::from_bits(((random() >> 63) << 63) | (exponent << 52) | (random() >> 12))
            };
            let spread = [1, 4, 60, 200, 2000][i as usize % 5];
            let (a, b) = (number(spread), number(spread));
            let near = -(a * b);
            let c = match i / 5 % 5 {
                0 => near,
                1 => f64::from_bits(near.to_bits().wrapping_add(i % 7)),
                2 => special[(i / 25) as usize % special.len()],
                3 => near * 0.5,
                _ => number(spread),
            };
            let a = if i % 97 == 0 { special[(i / 97) as usize % special.len()] } else { a };
            let (found, wanted) = (double(a, b, c), a.mul_add(b, c));
            assert!(
                found.to_bits() == wanted.to_bits() || found.is_nan() && wanted.is_nan(),
                "{a:e} {b:e} {c:e}"
            );
            let (a, b, c) = (a as f32, b as f32, c as f32);
            let (found, wanted) = (single(a, b, c), a.mul_add(b, c));
            assert!(
                found.to_bits() == wanted.to_bits() || found.is_nan() && wanted.is_nan(),
                "{a:e} {b:e} {c:e}"
            );
            let mut twice = Twice::default();
            let found = twice.fused(a, b, c);
            assert!(
                twice.doubtful != 0
                    || found.to_bits() == wanted.to_bits()
                    || found.is_nan() && wanted.is_nan(),
                "{a:e} {b:e} {c:e}"
            );
        }
    }

    /// Sums just beside the middle between two numbers, where rounding twice goes wrong.
    #[test]
    fn nothing_is_rounded_twice() {
        for k in 1..200 {
            let small = f64::from(k) * 2f64.powi(-30);
            for (a, b) in [(1.0 + small, 1.0 - small), (1.0 + small, small - 1.0), (1.0 - small, 1.0 - small)]
            {
                for step in 0..8 {
                    let c = 2f64.powi(53) + f64::from(2 * step);
                    for c in [c, -c] {
                        assert_eq!(double(a, b, c), a.mul_add(b, c), "{a:e} {b:e} {c:e}");
                    }
                }
            }
        }
    }
}
