//! `sinh`, `cosh` and `tanh` by `e^x` or `e^x - 1`.

use super::Fused;
use super::exp::{expm1, expm1_short, half_exp};

/// `sinh x = (e^x - e^-x) / 2`, of `h = e^|x| / 2`; below 1, where that would cancel, by Taylor's polynomial.
#[inline(always)]
pub fn sinh(x: f64) -> f64 {
    /// `1/3!, 1/5!, …, 1/19!`.
    const FACTORS: [f64; 9] = [
        1.0 / 6.0,
        1.0 / 120.0,
        1.0 / 5_040.0,
        1.0 / 362_880.0,
        1.0 / 39_916_800.0,
        1.0 / 6_227_020_800.0,
        1.0 / 1_307_674_368_000.0,
        1.0 / 355_687_428_096_000.0,
        1.0 / 121_645_100_408_832_000.0,
    ];
    let a = x.abs();
    let h = half_exp(a.clamp(0.0, 711.0));
    let square = a * a;
    let tail = FACTORS.iter().rev().fold(0.0, |sum: f64, c| sum.fused(square, *c));
    let y = if a < 1.0 { (a * square).fused(tail, a) } else { h - 0.25 / h };
    y.copysign(x)
}

/// [`sinh`] of an `f32`.
#[inline(always)]
pub fn sinh_f32(x: f32) -> f32 {
    let e = expm1_short((x as f64).abs().clamp(0.0, 90.0));
    ((0.5 * (e + e / (e + 1.0))) as f32).copysign(x)
}

/// `cosh x = (e^x + e^-x) / 2`, of `h = e^|x| / 2`.
#[inline(always)]
pub fn cosh(x: f64) -> f64 {
    let h = half_exp(x.abs().clamp(0.0, 711.0));
    h + 0.25 / h
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
