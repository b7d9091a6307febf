//! Logarithms: `x = 2^k * (1 + f)` with `sqrt(1/2) <= 1 + f < sqrt 2`, and with `s = f / (2 + f)`
//!
//! ```text
//! log (1 + f) = 2 atanh s = f - (f^2/2 - s * (f^2/2 + R)),   R = 2/3 s^2 + 2/5 s^4 + …
//! ```
//!
//! where the largest terms are exact.

use super::Fused;
use super::{polynomial, power_of_two};
use std::f64::consts::{LN_10, SQRT_2};

/// The upper 32 bits of ln 2, so that `k` times it is exact, and the rest.
const LN2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
const LN2_REST: f64 = 1.908_214_929_270_587_7e-10;
/// 1 / ln 2 and what that lacks.
const INV_LN2: f64 = std::f64::consts::LOG2_E;
const INV_LN2_LOW: f64 = 2.035_527_374_093_103_3e-17;
/// 1 / ln 10 and what that lacks.
const INV_LN10: f64 = std::f64::consts::LOG10_E;
const INV_LN10_LOW: f64 = 1.098_319_650_216_765e-17;
/// The upper 37 bits of log10 2, and the rest.
const LOG10_2_HIGH: f64 = f64::from_bits(0x3fd3_4413_509f_0000);
const LOG10_2_REST: f64 = 1.733_665_960_375_285_3e-12;

/// Exponent and `f`.
#[inline(always)]
fn split(x: f64) -> (f64, f64) {
    // Subnormal numbers are brought into the range of the others.
    let (x, bias) = if x < f64::MIN_POSITIVE { (x * power_of_two(54), 54.0) } else { (x, 0.0) };
    let bits = x.to_bits();
    let k = (bits.wrapping_sub((SQRT_2 / 2.0).to_bits()) as i64) >> 52;
    let f = f64::from_bits(bits.wrapping_sub((k << 52) as u64)) - 1.0;
    (super::to_float(k) - bias, f)
}

/// `f^2/2` and `s * (f^2/2 + R)`, of whose series `N` terms are taken.
#[inline(always)]
fn parts<const N: usize>(f: f64) -> (f64, f64) {
    const FACTORS: [f64; 11] = [
        2.0 / 3.0,
        2.0 / 5.0,
        2.0 / 7.0,
        2.0 / 9.0,
        2.0 / 11.0,
        2.0 / 13.0,
        2.0 / 15.0,
        2.0 / 17.0,
        2.0 / 19.0,
        2.0 / 21.0,
        2.0 / 23.0,
    ];
    let s = f / (2.0 + f);
    let z = s * s;
    let r = z * polynomial(z, &FACTORS[..N]);
    let half = 0.5 * f * f;
    (half, s * (half + r))
}

/// The values at the ends of the domain: of zero (`at`), below, infinity, NaN.
#[inline(always)]
fn ends(x: f64, zero: f64, y: f64) -> f64 {
    let y = if x < f64::INFINITY { y } else { x };
    let y = if x == zero { f64::NEG_INFINITY } else { y };
    if x < zero { f64::NAN } else { y }
}

/// `ln x`.
#[inline(always)]
pub fn log(x: f64) -> f64 {
    let (k, f) = split(x);
    let (half, rest) = parts::<11>(f);
    ends(x, 0.0, k * LN2_HIGH - ((half - (rest + k * LN2_REST)) - f))
}

/// `ln (1 + x)`, also for small `x`.
#[inline(always)]
pub fn log1p(x: f64) -> f64 {
    let u = 1.0 + x;
    let (k, f) = split(u);
    // What the sum lost, relative to it.
    let lost = if x < 1.0 { x - (u - 1.0) } else { 1.0 - (u - x) };
    let (f, c) = if k == 0.0 { (x, 0.0) } else { (f, lost / u) };
    let (half, rest) = parts::<11>(f);
    let y = k * LN2_HIGH - ((half - (rest + (k * LN2_REST + c))) - f);
    if x == 0.0 { x } else { ends(x, -1.0, y) }
}

/// `log (1 + f)` in two numbers, the first larger.
#[inline(always)]
fn two_parts(f: f64) -> (f64, f64) {
    let (half, rest) = parts::<11>(f);
    let high = f - half;
    (high, ((f - high) - half) + rest)
}

/// `(high + low) * (factor + factor_low) + (k + k_low)`, where `k` is 0 or the larger summand.
#[inline(always)]
fn scaled(f: f64, (factor, factor_low): (f64, f64), (k, k_low): (f64, f64)) -> f64 {
    let (high, low) = two_parts(f);
    let p = high * factor;
    let p_low = high.fused(factor, -p) + (high * factor_low + low * factor);
    let sum = k + p;
    sum + (((k - sum) + p) + (p_low + k_low))
}

/// `log2 x`; exact for powers of two.
#[inline(always)]
pub fn log2(x: f64) -> f64 {
    let (k, f) = split(x);
    ends(x, 0.0, scaled(f, (INV_LN2, INV_LN2_LOW), (k, 0.0)))
}

/// `log10 x`.
#[inline(always)]
pub fn log10(x: f64) -> f64 {
    let (k, f) = split(x);
    ends(x, 0.0, scaled(f, (INV_LN10, INV_LN10_LOW), (k * LOG10_2_HIGH, k * LOG10_2_REST)))
}

/// The natural logarithm of `x > 0` to the precision of an `f32` with some bits to spare.
#[inline(always)]
fn short(x: f64) -> f64 {
    let (k, f) = split(x);
    short_of(k, f)
}

#[inline(always)]
fn short_of(k: f64, f: f64) -> f64 {
    let (half, rest) = parts::<6>(f);
    k.fused(std::f64::consts::LN_2, f - (half - rest))
}

/// [`log1p`] of an `f32`.
#[inline(always)]
pub fn log1p_f32(x: f32) -> f32 {
    let wide = x as f64;
    let (k, f) = split(1.0 + wide);
    let f = if k == 0.0 { wide } else { f };
    let y = ends(wide, -1.0, short_of(k, f)) as f32;
    if x == 0.0 { x } else { y }
}

/// [`log2`] of an `f32`.
#[inline(always)]
pub fn log2_f32(x: f32) -> f32 {
    let (k, f) = split(x as f64);
    ends(x as f64, 0.0, short_of(0.0, f).fused(INV_LN2, k)) as f32
}

/// [`log10`] of an `f32`.
#[inline(always)]
pub fn log10_f32(x: f32) -> f32 {
    ends(x as f64, 0.0, short(x as f64) / LN_10) as f32
}
