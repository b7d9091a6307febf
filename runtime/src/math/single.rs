//! The functions that matter most once more in `f32` alone, twice as fast as through `f64`. The formulas are those of
//! [`super::exp`], [`super::log`] and [`super::trig`], with fewer terms. Each is for any way to multiply and add.

use super::fused::Multiply;
use std::f32::consts::{FRAC_2_PI, FRAC_PI_2, LN_2, LOG2_E, SQRT_2};

/// Largest argument of this module's `sin` and `cos`.
pub const LIMIT: f32 = 8192.0;

/// Remainder of ln 2 as an `f32`.
const LN2_LOW: f32 = -1.904_654_3e-9;
/// The upper 16 bits of ln 2, so that an exponent times it is exact, and the rest.
const LN2_HIGH: f32 = f32::from_bits(0x3f31_7200);
const LN2_REST: f32 = 1.428_606_8e-6;
/// Remainder of pi/2 as an `f32`, and the remainder of both.
const PI_MIDDLE: f32 = -4.371_139e-8;
const PI_LOW: f32 = -1.715_124_5e-15;

/// Adding it to a small number leaves the nearest integer in the lowest bits.
const MAGIC: f32 = 12_582_912.0;

/// The nearest integer to a number below 2^22.
#[inline(always)]
fn round(x: f32) -> (f32, i32) {
    let shifted = x + MAGIC;
    (shifted - MAGIC, shifted.to_bits().wrapping_sub(MAGIC.to_bits()) as i32)
}

/// `2^k` for `-126 <= k <= 127`.
#[inline(always)]
fn power_of_two(k: i32) -> f32 {
    f32::from_bits((k.wrapping_add(127) << 23) as u32)
}

/// The value of a polynomial with these factors, the constant one first; a plain loop as in [`super::polynomial`].
#[inline(always)]
fn polynomial(m: &mut impl Multiply, x: f32, factors: &[f32]) -> f32 {
    let mut i = factors.len() - 1;
    let mut sum = factors[i];
    while i > 0 {
        i -= 1;
        sum = m.fused(sum, x, factors[i]);
    }
    sum
}

/// `2^k * e^(r + low)`; rounds once where the result is subnormal.
#[inline(always)]
fn power(m: &mut impl Multiply, k: i32, r: f32, low: f32) -> f32 {
    const TAIL: [f32; 6] = [1.0 / 2.0, 1.0 / 6.0, 1.0 / 24.0, 1.0 / 120.0, 1.0 / 720.0, 1.0 / 5_040.0];
    let tail = polynomial(m, r, &TAIL);
    let y = 1.0 + m.fused(r * r, tail, r + low);
    let half = k >> 1;
    y * power_of_two(half) * power_of_two(k.wrapping_sub(half))
}

/// `e^x`.
#[inline(always)]
pub fn exp(m: &mut impl Multiply, x: f32) -> f32 {
    let x = x.clamp(-105.0, 89.0);
    let (n, k) = round(x * LOG2_E);
    let first = m.fused(-n, LN_2, x);
    let r = m.fused(-n, LN2_LOW, first);
    power(m, k, r, 0.0)
}

/// `2^x`; exact for integers.
#[inline(always)]
pub fn exp2(m: &mut impl Multiply, x: f32) -> f32 {
    let x = x.clamp(-151.0, 128.0);
    let (n, k) = round(x);
    let part = x - n;
    let r = part * LN_2;
    let low = m.fused(part, LN_2, -r) + part * LN2_LOW;
    power(m, k, r, low)
}

/// `ln x`.
#[inline(always)]
pub fn log(m: &mut impl Multiply, x: f32) -> f32 {
    const SERIES: [f32; 5] = [2.0 / 3.0, 2.0 / 5.0, 2.0 / 7.0, 2.0 / 9.0, 2.0 / 11.0];
    // Subnormal numbers are brought into the range of the others.
    let (normal, bias) = if x < f32::MIN_POSITIVE { (x * power_of_two(25), 25.0) } else { (x, 0.0) };
    let bits = normal.to_bits();
    let exponent = (bits.wrapping_sub((SQRT_2 / 2.0).to_bits()) as i32) >> 23;
    let f = f32::from_bits(bits.wrapping_sub((exponent << 23) as u32)) - 1.0;
    let k = exponent as f32 - bias;
    let s = f / (2.0 + f);
    let z = s * s;
    let half = 0.5 * f * f;
    let series = polynomial(m, z, &SERIES);
    let rest = s * m.fused(z, series, half);
    let y = k * LN2_HIGH - ((half - (rest + k * LN2_REST)) - f);
    let y = if x < f32::INFINITY { y } else { x };
    let y = if x == 0.0 { f32::NEG_INFINITY } else { y };
    if x < 0.0 { f32::NAN } else { y }
}

/// Sine and cosine of the angle that remains when quarter turns are taken away, and their number.
#[inline(always)]
fn remainder(m: &mut impl Multiply, x: f32) -> (i32, f32, f32) {
    const SINE: [f32; 4] = [-1.0 / 6.0, 1.0 / 120.0, -1.0 / 5_040.0, 1.0 / 362_880.0];
    const COSINE: [f32; 4] = [1.0 / 24.0, -1.0 / 720.0, 1.0 / 40_320.0, -1.0 / 3_628_800.0];
    let (n, quadrant) = round(x * FRAC_2_PI);
    let first = m.fused(-n, FRAC_PI_2, x);
    let r = m.fused(-n, PI_MIDDLE, first);
    let low = m.fused(-n, PI_MIDDLE, first - r) - n * PI_LOW;
    let z = r * r;
    let sine = polynomial(m, z, &SINE);
    let sin = r + m.fused(z * r, sine, low);
    let half = 0.5 * z;
    let high = 1.0 - half;
    let cosine = polynomial(m, z, &COSINE);
    let cos = high + (((1.0 - high) - half) + m.fused(z * z, cosine, -r * low));
    (quadrant, sin, cos)
}

/// The sine of `n` quarter turns more than the angle whose sine and cosine these are.
#[inline(always)]
fn turned(n: i32, sin: f32, cos: f32) -> f32 {
    let y = if n & 1 == 0 { sin } else { cos };
    f32::from_bits(y.to_bits() ^ ((n as u32 & 2) << 30))
}

/// `sin x` for `|x| <= LIMIT`.
#[inline(always)]
pub fn sin(m: &mut impl Multiply, x: f32) -> f32 {
    let (n, sin, cos) = remainder(m, x);
    let y = turned(n, sin, cos);
    if x == 0.0 { x } else { y }
}

/// `cos x` for `|x| <= LIMIT`.
#[inline(always)]
pub fn cos(m: &mut impl Multiply, x: f32) -> f32 {
    let (n, sin, cos) = remainder(m, x);
    turned(n.wrapping_add(1), sin, cos)
}
