//! Functions of real numbers, for single numbers and for strips of them.
//!
//! Each is one formula without branches, so that a loop over a strip runs on the widest vectors that the processor has,
//! and so that a number gives the same result, to the bit, in a strip, alone, and on every processor: the fused
//! multiply-add is part of the formula. Accurate to 2 units in the last place over the whole domain; those of `f32` are computed
//! in `f64`, but for the commonest.
//!
//! Source: the reductions are textbook ones (Muller, "Elementary Functions", chapters 11 and 9); the polynomials are
//! Taylor's, with as many terms as the precision asks for.

mod composed;
mod exp;
mod fused;
mod hyperbolic;
mod log;
mod rare;
mod single;
mod strip;
mod trig;

pub use fused::Fused;
use fused::Native;
pub use rare::Rare;
pub use strip::{STRIP, Strip};

/// ln 2, and what that lacks.
const LN2: f64 = std::f64::consts::LN_2;
const LN2_LOW: f64 = 2.319_046_813_846_299_6e-17;

/// Adding it to a small number leaves the nearest integer in the lowest bits.
const MAGIC: f64 = 6_755_399_441_055_744.0;

/// The nearest integer to a number below 2^51.
#[inline(always)]
fn round(x: f64) -> (f64, i64) {
    let shifted = x + MAGIC;
    (shifted - MAGIC, shifted.to_bits().wrapping_sub(MAGIC.to_bits()) as i64)
}

/// An integer below 2^51 as a number.
#[inline(always)]
fn to_float(k: i64) -> f64 {
    f64::from_bits(MAGIC.to_bits().wrapping_add(k as u64)) - MAGIC
}

/// `2^k` for `-1022 <= k <= 1023`.
#[inline(always)]
fn power_of_two(k: i64) -> f64 {
    f64::from_bits((k.wrapping_add(1023) << 52) as u64)
}

/// The value of a polynomial with these factors, the constant one first.
///
/// A plain loop, like all others here that see each number: a closure or an iterator's method that is compiled as a function of its own has none
/// of the instructions that its caller was compiled for, and each fused multiply-add there is a call.
#[inline(always)]
fn polynomial(x: f64, factors: &[f64]) -> f64 {
    let (mut sum, mut i) = (0.0, factors.len());
    while i > 0 {
        i -= 1;
        sum = Fused::fused(sum, x, factors[i]);
    }
    sum
}

/// A function of this module.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Function {
    Exp,
    Exp2,
    Expm1,
    Log,
    Log2,
    Log10,
    Log1p,
    Sin,
    Cos,
    Tan,
    Sinh,
    Cosh,
    Tanh,
}

impl Function {
    /// All of them.
    pub const ALL: [Function; 13] = {
        use Function::*;
        [Exp, Exp2, Expm1, Log, Log2, Log10, Log1p, Sin, Cos, Tan, Sinh, Cosh, Tanh]
    };

    /// Its value at a number. Always inlined: a version for some processors has their instructions.
    #[inline(always)]
    pub fn f32(self, x: f32) -> f32 {
        let (is_smallest, is_small) = (x.abs() <= single::LIMIT, (x as f64).abs() <= trig::LIMIT);
        match self {
            Function::Exp => single::exp(&mut Native, x),
            Function::Exp2 => single::exp2(&mut Native, x),
            Function::Expm1 => exp::expm1_f32(x),
            Function::Log => single::log(&mut Native, x),
            Function::Log2 => log::log2_f32(x),
            Function::Log10 => log::log10_f32(x),
            Function::Log1p => log::log1p_f32(x),
            Function::Sin if is_smallest => single::sin(&mut Native, x),
            Function::Cos if is_smallest => single::cos(&mut Native, x),
            Function::Sin if is_small => trig::sin_f32(x),
            Function::Cos if is_small => trig::cos_f32(x),
            Function::Tan if is_small => trig::tan_f32(x),
            Function::Sin => libm::sinf(x),
            Function::Cos => libm::cosf(x),
            Function::Tan => libm::tanf(x),
            Function::Sinh => hyperbolic::sinh_f32(x),
            Function::Cosh => hyperbolic::cosh_f32(x),
            Function::Tanh => hyperbolic::tanh_f32(x),
        }
    }

    /// Its value at a number. Always inlined: a version for some processors has their instructions.
    #[inline(always)]
    pub fn f64(self, x: f64) -> f64 {
        let is_small = x.abs() <= trig::LIMIT;
        match self {
            Function::Exp => exp::exp(x),
            Function::Exp2 => exp::exp2(x),
            Function::Expm1 => exp::expm1(x),
            Function::Log => log::log(x),
            Function::Log2 => log::log2(x),
            Function::Log10 => log::log10(x),
            Function::Log1p => log::log1p(x),
            Function::Sin if is_small => trig::sin(x),
            Function::Cos if is_small => trig::cos(x),
            Function::Tan if is_small => trig::tan(x),
            Function::Sin => libm::sin(x),
            Function::Cos => libm::cos(x),
            Function::Tan => libm::tan(x),
            Function::Sinh => hyperbolic::sinh(x),
            Function::Cosh => hyperbolic::cosh(x),
            Function::Tanh => hyperbolic::tanh(x),
        }
    }
}

#[cfg(test)]
mod tests;
