//! Trigonometry in half turns: `sin(pi x)` and its kin. The argument is reduced before it is multiplied, so that whole and
//! half turns give exact results and large arguments lose nothing.

use crate::math::{Fused, Rare};
use std::f64::consts::PI;

/// Remainder of `PI` to pi.
const PI_LOW: f64 = 1.224_646_799_147_353_2e-16;

/// `sin(pi b)` for `0 <= b <= 1/4`.
fn small_sin(b: f64) -> f64 {
    let (high, low) = times_pi(b);
    libm::sin(high) + low * libm::cos(high)
}

/// `cos(pi b)` for `0 <= b <= 1/4`.
fn small_cos(b: f64) -> f64 {
    let (high, low) = times_pi(b);
    libm::cos(high) - low * libm::sin(high)
}

/// `pi b` in two parts.
fn times_pi(b: f64) -> (f64, f64) {
    let high = b * PI;
    (high, b.fused(PI, -high) + b * PI_LOW)
}

/// Remainder of `x` after as many whole turns as possible, from -1 to 1; exact.
fn turn(x: f64) -> f64 {
    x - 2.0 * (x * 0.5).round_ties_even()
}

/// `sin(pi x)`, a zero with the sign of `x`.
pub fn sinpi(x: f64) -> f64 {
    let r = turn(x);
    let a = r.abs();
    let b = if a > 0.5 { 1.0 - a } else { a };
    let y = if b >= 0.25 { small_cos(0.5 - b) } else { small_sin(b) };
    y.copysign(if b == 0.0 { x } else { r })
}

/// `cos(pi x)`.
pub fn cospi(x: f64) -> f64 {
    let a = turn(x).abs();
    if a <= 0.25 {
        small_cos(a)
    } else if a >= 0.75 {
        -small_cos(1.0 - a)
    } else if a <= 0.5 {
        small_sin(0.5 - a)
    } else {
        -small_sin(a - 0.5)
    }
}

/// `tan(pi x)`, infinite at the poles.
pub fn tanpi(x: f64) -> f64 {
    sinpi(x) / cospi(x)
}

/// `asin(x) / pi`.
pub fn asinpi(x: f64) -> f64 {
    x.arc_sine() / PI
}

/// `acos(x) / pi`.
pub fn acospi(x: f64) -> f64 {
    x.arc_cosine() / PI
}

/// `atan(x) / pi`.
pub fn atanpi(x: f64) -> f64 {
    x.arc_tangent() / PI
}

/// `atan2(y, x) / pi`.
pub fn atan2pi(y: f64, x: f64) -> f64 {
    y.arc_tangent_of(x) / PI
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_turns_are_exact() {
        for (x, sin, cos) in [(0.0, 0.0, 1.0), (0.5, 1.0, 0.0), (1.0, 0.0, -1.0), (1.5, -1.0, 0.0)] {
            for turns in [0.0, 2.0, -4.0, 1e9, 4503599627370494.0] {
                if (x + turns) - turns == x {
                    assert_eq!((sinpi(x + turns), cospi(x + turns)), (sin, cos), "{x} + {turns}");
                }
            }
        }
        assert!(sinpi(-3.0).is_sign_negative() && sinpi(-0.0).is_sign_negative());
        assert_eq!((tanpi(0.25), tanpi(0.5), tanpi(-0.5)), (1.0, f64::INFINITY, f64::NEG_INFINITY));
        assert!(sinpi(f64::INFINITY).is_nan() && cospi(f64::NAN).is_nan());
    }
}
