//! `tanh x = (e^(2x) - 1) / (e^(2x) + 1)`.

use super::exp::{expm1, expm1_short};

/// `tanh x`.
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
