//! `sinh` and `cosh` by those of a remainder and a power of two, `tanh` by `e^x - 1`.

use super::exp::{expm1, expm1_short, reduce};
use super::{Fused, polynomial, power_of_two};

/// `1/2!, 1/4!, …, 1/12!`: `cosh r - 1 = r^2 * (1/2! + r^2 * …)`.
const EVEN: [f64; 6] =
    [1.0 / 2.0, 1.0 / 24.0, 1.0 / 720.0, 1.0 / 40_320.0, 1.0 / 3_628_800.0, 1.0 / 479_001_600.0];
/// `1/3!, 1/5!, …, 1/13!`: `sinh r = r + r^3 * (1/3! + r^2 * …)`.
const ODD: [f64; 6] =
    [1.0 / 6.0, 1.0 / 120.0, 1.0 / 5_040.0, 1.0 / 362_880.0, 1.0 / 39_916_800.0, 1.0 / 6_227_020_800.0];

/// `cosh r - 1` and `sinh r` with `x = k * ln 2 + r`, and quarters of `2^k + 2^-k` and `2^k - 2^-k`, for `0 <= x <= 710.5`. None is infinite.
#[inline(always)]
fn parts(x: f64) -> (f64, f64, f64, f64) {
    let (_, k, r) = reduce(x);
    let square = r * r;
    let even = square * polynomial(square, &EVEN);
    let odd = (r * square).fused(polynomial(square, &ODD), r);
    // The smallest power makes no difference any more.
    let (up, down) = (power_of_two(k - 2), power_of_two((-k - 2).max(-1022)));
    (even, odd, up + down, up - down)
}

/// `sinh x`.
#[inline(always)]
pub fn sinh(x: f64) -> f64 {
    let (even, odd, sum, difference) = parts(x.abs().clamp(0.0, 710.5));
    (2.0 * (difference + difference.fused(even, sum * odd))).copysign(x)
}

/// [`sinh`] of an `f32`.
#[inline(always)]
pub fn sinh_f32(x: f32) -> f32 {
    let e = expm1_short((x as f64).abs().clamp(0.0, 90.0));
    ((0.5 * (e + e / (e + 1.0))) as f32).copysign(x)
}

/// `cosh x`.
#[inline(always)]
pub fn cosh(x: f64) -> f64 {
    let (even, odd, sum, difference) = parts(x.abs().clamp(0.0, 710.5));
    2.0 * (sum + sum.fused(even, difference * odd))
}

/// [`cosh`] of an `f32`.
#[inline(always)]
pub fn cosh_f32(x: f32) -> f32 {
    let e = expm1_short((x as f64).abs().clamp(0.0, 90.0)) + 1.0;
    (0.5 * (e + 1.0 / e)) as f32
}

/// `tanh x = (e^(2x) - 1) / (e^(2x) + 1)`.
#[inline(always)]
pub fn tanh(x: f64) -> f64 {
    let e = expm1(2.0 * x.abs().min(22.0));
    let y = (e / (e + 2.0)).copysign(x);
    if x.is_nan() { x } else { y }
}

/// [`tanh`] of an `f32`.
#[inline(always)]
pub fn tanh_f32(x: f32) -> f32 {
    let e = expm1_short(2.0 * (x as f64).abs().min(11.0));
    let y = ((e / (e + 2.0)) as f32).copysign(x);
    if x.is_nan() { x } else { y }
}
