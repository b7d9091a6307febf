//! `sin`, `cos`, `tan`: `x = n * pi/2 + r` with `|r| <= pi/4`, and Taylor polynomials. Beyond [`LIMIT`] the reduction
//! needs more digits of pi than are kept here: the standard library's functions take over.

use super::Fused;
use super::{polynomial, round};
use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

/// Largest argument of this module's reduction.
pub const LIMIT: f64 = 1_000_000.0;

/// Remainder of pi/2 as an `f64`, and the remainder of both.
const MIDDLE: f64 = 6.123_233_995_736_766e-17;
const LOW: f64 = -1.497_384_904_859_169_8e-33;

/// `n mod 4`, and `r` in two parts.
#[inline(always)]
fn reduce(x: f64) -> (i64, f64, f64) {
    let (n, quadrant) = round(x * FRAC_2_PI);
    // Exact: both are multiples of one small power of two, and cancel. So is the next difference, since `n * MIDDLE` is
    // at most half of `first`, or all of `r`.
    let first = (-n).fused(FRAC_PI_2, x);
    let r = (-n).fused(MIDDLE, first);
    let low = (-n).fused(MIDDLE, first - r) - n * LOW;
    (quadrant, r, low)
}

/// `sin (r + low)`.
#[inline(always)]
fn sine<const N: usize>(r: f64, low: f64) -> f64 {
    const FACTORS: [f64; 8] = [
        -1.0 / 6.0,
        1.0 / 120.0,
        -1.0 / 5_040.0,
        1.0 / 362_880.0,
        -1.0 / 39_916_800.0,
        1.0 / 6_227_020_800.0,
        -1.0 / 1_307_674_368_000.0,
        1.0 / 355_687_428_096_000.0,
    ];
    let z = r * r;
    let sum = polynomial(z, &FACTORS[..N]);
    r + (z * r).fused(sum, low * (-0.5f64).fused(z, 1.0))
}

/// `cos (r + low)`.
#[inline(always)]
fn cosine<const N: usize>(r: f64, low: f64) -> f64 {
    const FACTORS: [f64; 8] = [
        1.0 / 24.0,
        -1.0 / 720.0,
        1.0 / 40_320.0,
        -1.0 / 3_628_800.0,
        1.0 / 479_001_600.0,
        -1.0 / 87_178_291_200.0,
        1.0 / 20_922_789_888_000.0,
        -1.0 / 6_402_373_705_728_000.0,
    ];
    let z = r * r;
    let sum = polynomial(z, &FACTORS[..N]);
    let half = 0.5 * z;
    let high = 1.0 - half;
    high + (((1.0 - high) - half) + (z * z).fused(sum, -r * low))
}

/// The sine of `n` quarter turns more than the angle whose sine and cosine these are.
#[inline(always)]
fn turned(n: i64, sin: f64, cos: f64) -> f64 {
    let y = if n & 1 == 0 { sin } else { cos };
    f64::from_bits(y.to_bits() ^ ((n as u64 & 2) << 62))
}

/// `sin x` for `|x| <= LIMIT`.
#[inline(always)]
pub fn sin(x: f64) -> f64 {
    let (n, r, low) = reduce(x);
    let y = turned(n, sine::<8>(r, low), cosine::<8>(r, low));
    if x == 0.0 { x } else { y }
}

/// `cos x` for `|x| <= LIMIT`.
#[inline(always)]
pub fn cos(x: f64) -> f64 {
    let (n, r, low) = reduce(x);
    turned(n + 1, sine::<8>(r, low), cosine::<8>(r, low))
}

/// `tan x` for `|x| <= LIMIT`.
#[inline(always)]
pub fn tan(x: f64) -> f64 {
    let (n, r, low) = reduce(x);
    let y = quotient(n, sine::<8>(r, low), cosine::<8>(r, low));
    if x == 0.0 { x } else { y }
}

#[inline(always)]
fn quotient(n: i64, sin: f64, cos: f64) -> f64 {
    let (above, below) = if n & 1 == 0 { (sin, cos) } else { (-cos, sin) };
    above / below
}

/// As `reduce`, to the precision that `f32` needs.
#[inline(always)]
fn reduce_short(x: f64) -> (i64, f64) {
    let (n, quadrant) = round(x * FRAC_2_PI);
    (quadrant, (-n).fused(MIDDLE, (-n).fused(FRAC_PI_2, x)))
}

/// [`sin`] of an `f32`.
#[inline(always)]
pub fn sin_f32(x: f32) -> f32 {
    let (n, r) = reduce_short(x as f64);
    let y = turned(n, sine::<5>(r, 0.0), cosine::<5>(r, 0.0)) as f32;
    if x == 0.0 { x } else { y }
}

/// [`cos`] of an `f32`.
#[inline(always)]
pub fn cos_f32(x: f32) -> f32 {
    let (n, r) = reduce_short(x as f64);
    turned(n + 1, sine::<5>(r, 0.0), cosine::<5>(r, 0.0)) as f32
}

/// [`tan`] of an `f32`.
#[inline(always)]
pub fn tan_f32(x: f32) -> f32 {
    let (n, r) = reduce_short(x as f64);
    let y = quotient(n, sine::<5>(r, 0.0), cosine::<5>(r, 0.0)) as f32;
    if x == 0.0 { x } else { y }
}
