//! `exp`, `exp2`, `expm1`: `e^x = 2^k * e^r` with `|r| <= ln 2 / 2`, and a Taylor polynomial for `e^r`.

use super::Fused;
use super::{LN2, LN2_LOW, polynomial, power_of_two, round};
use std::f64::consts::LOG2_E;

/// `1/2! + r/3! + … + r^(N-1)/(N+1)!`, so that `e^r = 1 + r + r^2 * tail(r)`.
#[inline(always)]
fn tail<const N: usize>(r: f64) -> f64 {
    const FACTORS: [f64; 12] = [
        1.0 / 2.0,
        1.0 / 6.0,
        1.0 / 24.0,
        1.0 / 120.0,
        1.0 / 720.0,
        1.0 / 5_040.0,
        1.0 / 40_320.0,
        1.0 / 362_880.0,
        1.0 / 3_628_800.0,
        1.0 / 39_916_800.0,
        1.0 / 479_001_600.0,
        1.0 / 6_227_020_800.0,
    ];
    polynomial(r, &FACTORS[..N])
}

/// `e^r - 1`; `low` is what `r` lacks.
#[inline(always)]
fn fraction<const N: usize>(r: f64, low: f64) -> f64 {
    (r * r).fused(tail::<N>(r), r + low)
}

/// `k` and `r` with `x = k * ln 2 + r`. The first difference is exact.
#[inline(always)]
pub fn reduce(x: f64) -> (f64, i64, f64) {
    let (n, k) = round(x * LOG2_E);
    let r = (-n).fused(LN2_LOW, (-n).fused(LN2, x));
    (n, k, r)
}

/// `x * 2^k` where the power alone may be outside the range of finite numbers; rounds once.
#[inline(always)]
fn scale(x: f64, k: i64) -> f64 {
    let half = k >> 1;
    x * power_of_two(half) * power_of_two(k - half)
}

/// `e^x`.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    let (_, k, r) = reduce(x.clamp(-746.0, 710.0));
    scale(1.0 + fraction::<12>(r, 0.0), k)
}

/// `2^x`; exact for integers.
#[inline(always)]
pub fn exp2(x: f64) -> f64 {
    let x = x.clamp(-1076.0, 1024.0);
    let (n, k) = round(x);
    let part = x - n;
    let r = part * LN2;
    let low = part.fused(LN2, -r) + part * LN2_LOW;
    scale(1.0 + fraction::<12>(r, low), k)
}

/// `e^x - 1`, also where that is small.
#[inline(always)]
pub fn expm1(x: f64) -> f64 {
    let (_, k, r) = reduce(x.clamp(-50.0, 710.0));
    // Half of the power, because the largest is not a finite number.
    let half = power_of_two(k - 1);
    (2.0 * half.fused(fraction::<12>(r, 0.0), half - 0.5)).copysign(x)
}

/// [`expm1`] of an `f32`.
#[inline(always)]
pub fn expm1_f32(x: f32) -> f32 {
    (expm1_short((x as f64).clamp(-50.0, 90.0)) as f32).copysign(x)
}

/// `e^x - 1` for `-50 <= x <= 90`, to the precision of an `f32` with some bits to spare.
#[inline(always)]
pub fn expm1_short(x: f64) -> f64 {
    let (_, k, r) = reduce(x);
    let power = power_of_two(k);
    power.fused(fraction::<7>(r, 0.0), power - 1.0)
}
