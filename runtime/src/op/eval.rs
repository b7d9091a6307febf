//! Evaluation of scalar operators: the meaning that every back end has to reproduce.
//!
//! Integers are widened to `i128`, where no operator overflows except a product of two `u64` (whose low bits
//! are right nevertheless), and cut back to their width. Choices that the language leaves open:
//!
//! - integer `Div`/`Mod`/`Quot`/`Rem` by zero give 0;
//! - `pow` with a negative integer exponent gives the exact quotient rounded towards zero (0, 1 or -1);
//! - float `min a b` is `a` if `a < b` or `b` is NaN, else `b`; `max` likewise with `>`;
//! - `sgn` of a float keeps zeros and NaN;
//! - `getbit` outside the width gives 0, `setbit` outside changes nothing.

use super::{BinOp, CmpOp, PrimOp, SpecialOp, UnOp, pi};
use crate::math::{Fused, Rare};
use crate::{Prim, Scalar, f16, float16};

impl PrimOp {
    /// Applies the operator to operands of the types [`PrimOp::operands`] says. Never panics on a valid operator.
    pub fn eval(&self, xs: &[Scalar]) -> Scalar {
        match *self {
            PrimOp::Un(op, p) => unary(op, p, xs[0]),
            PrimOp::Bin(op, p) => binary(op, p, xs[0], xs[1]),
            PrimOp::Cmp(op, _) => Scalar::Bool(compare(op, xs[0], xs[1])),
            PrimOp::Conv(_, to) => convert(to, xs[0]),
            PrimOp::Select(_) if xs[0] == Scalar::Bool(true) => xs[1],
            PrimOp::Select(_) => xs[2],
            PrimOp::Special(op, p) if op.on_integers() => special_int(op, p, xs),
            PrimOp::Special(op, p) => special_float(op, p, xs),
        }
    }

    /// The value of an operator on constants, unless it divides by zero: that stands behind a check that fails.
    pub fn fold(&self, xs: &[Scalar]) -> Option<Scalar> {
        let by_zero = self.divides() && xs[1] == Scalar::zero(xs[1].prim());
        (!by_zero).then(|| self.eval(xs))
    }
}

/// The exact value of an integer (0 or 1 for a bool).
fn wide(x: Scalar) -> i128 {
    match x {
        Scalar::U64(x) => x as i128,
        Scalar::Bool(x) => x as i128,
        x => x.as_i64().unwrap_or(0) as i128,
    }
}

/// Cuts an integer to its type's width.
fn narrow(p: Prim, x: i128) -> Scalar {
    Scalar::from_bits(p, x as u64)
}

fn unary(op: UnOp, p: Prim, x: Scalar) -> Scalar {
    match x {
        Scalar::F16(x) => half(unary_f32(op, x.to_f32())),
        Scalar::F32(x) => Scalar::F32(unary_f32(op, x)),
        Scalar::F64(x) => Scalar::F64(unary_f64(op, x)),
        x => unary_int(op, p, wide(x)),
    }
}

fn unary_int(op: UnOp, p: Prim, x: i128) -> Scalar {
    let y = match op {
        UnOp::Neg => -x,
        UnOp::Not => !x,
        UnOp::Abs => x.abs(),
        UnOp::Sgn => x.signum(),
        _ => unreachable!("{}.{p} does not exist", op.name()),
    };
    narrow(p, y)
}

fn binary(op: BinOp, p: Prim, a: Scalar, b: Scalar) -> Scalar {
    match (a, b) {
        (Scalar::F16(a), Scalar::F16(b)) => half(binary_f32(op, a.to_f32(), b.to_f32())),
        (Scalar::F32(a), Scalar::F32(b)) => Scalar::F32(binary_f32(op, a, b)),
        (Scalar::F64(a), Scalar::F64(b)) => Scalar::F64(binary_f64(op, a, b)),
        (a, b) => narrow(p, binary_int(op, p, wide(a), wide(b))),
    }
}

fn binary_int(op: BinOp, p: Prim, a: i128, b: i128) -> i128 {
    use BinOp::*;
    match op {
        Add => a + b,
        Sub => a - b,
        Mul => a.wrapping_mul(b),
        Div | Mod | Quot | Rem if b == 0 => 0,
        Div => floor_div(a, b),
        Mod => a - floor_div(a, b) * b,
        Quot => a / b,
        Rem => a % b,
        Pow => pow_int(p, a, b),
        Min => a.min(b),
        Max => a.max(b),
        And => a & b,
        Or => a | b,
        Xor => a ^ b,
        Shl => shift_count(p, b).map_or(0, |n| a << n),
        Shr => a >> shift_count(p, b).unwrap_or(p.bits()),
        Lshr => shift_count(p, b).map_or(0, |n| unsigned(p, a) >> n),
        MulHi if p.is_signed() => (a * b) >> p.bits(),
        MulHi => ((a as u128 * b as u128) >> p.bits()) as i128,
        Atan2 | Atan2pi | Hypot | Copysign => unreachable!("{}.{p} does not exist", op.name()),
    }
}

fn floor_div(a: i128, b: i128) -> i128 {
    let q = a / b;
    if a % b != 0 && (a < 0) != (b < 0) { q - 1 } else { q }
}

/// The bits of `a` at width `p`, read as unsigned.
fn unsigned(p: Prim, a: i128) -> i128 {
    a & ((1i128 << p.bits()) - 1)
}

/// The shift count, unless it is at least the width; a negative count is a huge unsigned one.
fn shift_count(p: Prim, b: i128) -> Option<u32> {
    (0..p.bits() as i128).contains(&b).then_some(b as u32)
}

fn pow_int(p: Prim, base: i128, exponent: i128) -> i128 {
    if exponent < 0 {
        return match base {
            1 => 1,
            -1 if exponent % 2 == 0 => 1,
            -1 => -1,
            _ => 0,
        };
    }
    let (mut result, mut square, mut left) = (1i128, base, exponent);
    while left > 0 {
        if left & 1 == 1 {
            result = unsigned(p, result.wrapping_mul(square));
        }
        square = unsigned(p, square.wrapping_mul(square));
        left >>= 1;
    }
    result
}

fn compare(op: CmpOp, a: Scalar, b: Scalar) -> bool {
    let order = match (a, b) {
        (Scalar::F16(a), Scalar::F16(b)) => a.partial_cmp(&b),
        (Scalar::F32(a), Scalar::F32(b)) => a.partial_cmp(&b),
        (Scalar::F64(a), Scalar::F64(b)) => a.partial_cmp(&b),
        (a, b) => Some(wide(a).cmp(&wide(b))),
    };
    match op {
        CmpOp::Eq => order.is_some_and(|o| o.is_eq()),
        CmpOp::Ne => !order.is_some_and(|o| o.is_eq()),
        CmpOp::Lt => order.is_some_and(|o| o.is_lt()),
        CmpOp::Le => order.is_some_and(|o| o.is_le()),
        CmpOp::Gt => order.is_some_and(|o| o.is_gt()),
        CmpOp::Ge => order.is_some_and(|o| o.is_ge()),
    }
}

fn convert(to: Prim, x: Scalar) -> Scalar {
    match x {
        Scalar::F16(x) => from_float(to, x.to_f64()),
        Scalar::F32(x) => from_float(to, x as f64),
        Scalar::F64(x) => from_float(to, x),
        x => match to {
            Prim::F16 => Scalar::F16(float16::from_f64(wide(x) as f64)),
            Prim::F32 => Scalar::F32(wide(x) as f32),
            Prim::F64 => Scalar::F64(wide(x) as f64),
            Prim::Bool => Scalar::Bool(wide(x) != 0),
            _ => narrow(to, wide(x)),
        },
    }
}

/// From a float, given exactly.
fn from_float(to: Prim, x: f64) -> Scalar {
    match to {
        Prim::I8 => Scalar::I8(x as i8),
        Prim::I16 => Scalar::I16(x as i16),
        Prim::I32 => Scalar::I32(x as i32),
        Prim::I64 => Scalar::I64(x as i64),
        Prim::U8 => Scalar::U8(x as u8),
        Prim::U16 => Scalar::U16(x as u16),
        Prim::U32 => Scalar::U32(x as u32),
        Prim::U64 => Scalar::U64(x as u64),
        Prim::F16 => Scalar::F16(float16::from_f64(x)),
        Prim::F32 => Scalar::F32(x as f32),
        Prim::F64 => Scalar::F64(x),
        Prim::Bool => Scalar::Bool(x != 0.0),
    }
}

fn special_int(op: SpecialOp, p: Prim, xs: &[Scalar]) -> Scalar {
    let bits = xs[0].bits();
    let at = |i: usize| xs.get(i).and_then(|x| x.as_i64()).unwrap_or(0);
    let inside = (0..p.bits() as i64).contains(&at(1));
    match op {
        SpecialOp::Popc => Scalar::I32(bits.count_ones() as i32),
        SpecialOp::Clz => Scalar::I32((bits.leading_zeros() + p.bits()) as i32 - 64),
        SpecialOp::Ctz => Scalar::I32(bits.trailing_zeros().min(p.bits()) as i32),
        SpecialOp::GetBit => Scalar::I32(if inside { (bits >> at(1)) as i32 & 1 } else { 0 }),
        SpecialOp::SetBit if !inside => xs[0],
        SpecialOp::SetBit => {
            let cleared = bits & !(1 << at(1));
            Scalar::from_bits(p, cleared | ((at(2) as u64 & 1) << at(1)))
        }
        _ => unreachable!("{}.{p} does not exist", op.name()),
    }
}

fn special_float(op: SpecialOp, p: Prim, xs: &[Scalar]) -> Scalar {
    match (op, xs[0]) {
        (SpecialOp::ToBits, x) => Scalar::from_bits(super::unsigned_of(p), x.bits()),
        (SpecialOp::FromBits, x) => Scalar::from_bits(p, x.bits()),
        (SpecialOp::IsNan, x) => Scalar::Bool(x.is_nan()),
        (SpecialOp::IsInf, x) => Scalar::Bool(x.is_infinite()),
        (SpecialOp::Ldexp, Scalar::F16(x)) => half(libm::ldexpf(x.to_f32(), exponent(xs[1]))),
        (SpecialOp::Ldexp, Scalar::F32(x)) => Scalar::F32(libm::ldexpf(x, exponent(xs[1]))),
        (SpecialOp::Ldexp, Scalar::F64(x)) => Scalar::F64(libm::ldexp(x, exponent(xs[1]))),
        _ => ternary(op, p, xs),
    }
}

fn exponent(x: Scalar) -> i32 {
    x.as_i64().unwrap_or(0) as i32
}

fn ternary(op: SpecialOp, p: Prim, xs: &[Scalar]) -> Scalar {
    match (xs[0], xs[1], xs[2]) {
        (Scalar::F16(a), Scalar::F16(b), Scalar::F16(c)) => Scalar::F16(ternary_half(op, a, b, c)),
        (Scalar::F32(a), Scalar::F32(b), Scalar::F32(c)) => Scalar::F32(match op {
            SpecialOp::Fma => a.fused(b, c),
            SpecialOp::Mad => a * b + c,
            _ => a + (b - a) * c,
        }),
        (Scalar::F64(a), Scalar::F64(b), Scalar::F64(c)) => Scalar::F64(match op {
            SpecialOp::Fma => a.fused(b, c),
            SpecialOp::Mad => a * b + c,
            _ => a + (b - a) * c,
        }),
        _ => unreachable!("operands of {}.{p}", op.name()),
    }
}

/// `a*b` is exact as `f64`, and adding `c` is too unless the smaller of the two is too small to decide the rounding.
fn ternary_half(op: SpecialOp, a: f16, b: f16, c: f16) -> f16 {
    match op {
        SpecialOp::Fma => float16::from_f64(a.to_f64() * b.to_f64() + c.to_f64()),
        SpecialOp::Mad => a * b + c,
        _ => a + (b - a) * c,
    }
}

/// Rounds a result to `f16`. For `+ - * /` and the square root of `f16`s, the result is as if rounded once, since `f32`
/// has more than twice as many bits.
fn half(x: f32) -> Scalar {
    Scalar::F16(f16::from_f32(x))
}

/// Operators of one float type; the functions that the standard library lacks are named. Its inverse hyperbolic functions
/// lose digits near the ends of their range, so those of `libm` stand in.
macro_rules! float_operators {
    ($t:ident, $unary:ident, $binary:ident, $gamma:path, $lgamma:path, $erf:path, $erfc:path) => {
        fn $unary(op: UnOp, x: $t) -> $t {
            match op {
                UnOp::Neg => -x,
                UnOp::Abs => x.abs(),
                UnOp::Sgn if x > 0.0 => 1.0,
                UnOp::Sgn if x < 0.0 => -1.0,
                UnOp::Sgn => x,
                UnOp::Sqrt => x.sqrt(),
                UnOp::Cbrt => x.cube_root(),
                UnOp::Asin => x.arc_sine(),
                UnOp::Acos => x.arc_cosine(),
                UnOp::Atan => x.arc_tangent(),
                UnOp::Asinh => libm::asinh(x as f64) as $t,
                UnOp::Acosh => libm::acosh(x as f64) as $t,
                UnOp::Atanh => libm::atanh(x as f64) as $t,
                UnOp::Floor => x.floor(),
                UnOp::Ceil => x.ceil(),
                UnOp::Trunc => x.trunc(),
                UnOp::Round => x.round_ties_even(),
                UnOp::Gamma => $gamma(x),
                UnOp::Lgamma => $lgamma(x),
                UnOp::Erf => $erf(x),
                UnOp::Erfc => $erfc(x),
                UnOp::Recip => 1.0 / x,
                UnOp::Rsqrt => 1.0 / x.sqrt(),
                UnOp::Exp10 => (10.0 as $t).powf(x),
                UnOp::Sinpi => pi::sinpi(x as f64) as $t,
                UnOp::Cospi => pi::cospi(x as f64) as $t,
                UnOp::Tanpi => pi::tanpi(x as f64) as $t,
                UnOp::Asinpi => pi::asinpi(x as f64) as $t,
                UnOp::Acospi => pi::acospi(x as f64) as $t,
                UnOp::Atanpi => pi::atanpi(x as f64) as $t,
                UnOp::Not => unreachable!("not on a float"),
                _ => op.function().expect("all others are such functions").$t(x),
            }
        }

        fn $binary(op: BinOp, a: $t, b: $t) -> $t {
            match op {
                BinOp::Add => a + b,
                BinOp::Sub => a - b,
                BinOp::Mul => a * b,
                BinOp::Div => a / b,
                BinOp::Mod => {
                    let r = a % b;
                    if r != 0.0 && (r < 0.0) != (b < 0.0) { r + b } else { r }
                }
                BinOp::Pow => a.powf(b),
                BinOp::Min => {
                    if a < b || b.is_nan() {
                        a
                    } else {
                        b
                    }
                }
                BinOp::Max => {
                    if a > b || b.is_nan() {
                        a
                    } else {
                        b
                    }
                }
                BinOp::Atan2 => a.arc_tangent_of(b),
                BinOp::Atan2pi => pi::atan2pi(a as f64, b as f64) as $t,
                BinOp::Hypot => a.hypotenuse(b),
                BinOp::Copysign => a.copysign(b),
                _ => unreachable!("{} on floats", op.name()),
            }
        }
    };
}

float_operators!(f32, unary_f32, binary_f32, libm::tgammaf, libm::lgammaf, libm::erff, libm::erfcf);
float_operators!(f64, unary_f64, binary_f64, libm::tgamma, libm::lgamma, libm::erf, libm::erfc);
