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

/// As `a.mul_add(b, c)`: the product is exact as an `f64`.
#[inline(always)]
fn single(a: f32, b: f32, c: f32) -> f32 {
    odd_sum_or_special(f64::from(a) * f64::from(b), f64::from(c)) as f32
}

#[inline(always)]
fn odd_sum_or_special(a: f64, b: f64) -> f64 {
    if (a + b).is_finite() { odd_sum(a, b) } else { a + b }
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
