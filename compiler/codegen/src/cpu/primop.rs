//! Scalar operators as Cranelift instructions, with exactly the meaning of `PrimOp::eval`.
//!
//! Integers are in registers of their width; bools are `i8`, 0 or 1. Division never traps: dividing by zero gives 0, and the
//! smallest number divided by -1 wraps.

use super::emit::{Emitter, clif_type};
use super::{convert, half};
use cranelift::prelude::*;
use par_ir::prim::{BinOp, CmpOp, PrimOp, SpecialOp, UnOp};
use par_ir::{Prim, Scalar};
use par_runtime::op::call::is_call;

impl Emitter<'_> {
    /// One operator. `divisor` is the second operand, if it is a constant.
    pub fn prim(&mut self, op: PrimOp, x: &[Value], divisor: Option<i64>) -> Value {
        if is_call(op) {
            return self.call(op, x);
        }
        if let Some(result) = self.half(op, x).or_else(|| self.chained(op, x)) {
            return result;
        }
        match op {
            PrimOp::Un(op, p) if p.is_float() => self.float_unary(op, p, x[0]),
            PrimOp::Un(op, p) => self.int_unary(op, p, x[0]),
            PrimOp::Bin(op, p) if p.is_float() => self.float_binary(op, x[0], x[1]),
            PrimOp::Bin(op @ (BinOp::Div | BinOp::Mod | BinOp::Quot | BinOp::Rem), p) => {
                self.divide(op, p, x[0], x[1], divisor)
            }
            PrimOp::Bin(op @ (BinOp::Shl | BinOp::Shr | BinOp::Lshr), p) => {
                self.shift(op, p, x[0], x[1], divisor)
            }
            PrimOp::Bin(op, p) => self.int_binary(op, p, x[0], x[1]),
            PrimOp::Cmp(op, p) if p.is_float() => self.b.ins().fcmp(float_condition(op), x[0], x[1]),
            PrimOp::Cmp(op, p) => self.b.ins().icmp(int_condition(op, p), x[0], x[1]),
            PrimOp::Conv(from, to) => convert::convert(&mut self.b, from, to, x[0]),
            PrimOp::Select(_) => self.b.ins().select(x[0], x[1], x[2]),
            PrimOp::Special(op, p) => self.special(op, p, x),
        }
    }

    /// The operators of `f16` that are not those of `f32`: the result is rounded, or the bits count.
    fn half(&mut self, op: PrimOp, x: &[Value]) -> Option<Value> {
        use BinOp::{Add, Div, Mul, Sub};
        use UnOp::{Recip, Rsqrt, Sqrt};
        let single = match op {
            PrimOp::Un(op @ (Sqrt | Recip | Rsqrt), Prim::F16) => self.float_unary(op, Prim::F32, x[0]),
            PrimOp::Bin(op @ (Add | Sub | Mul | Div), Prim::F16) => self.float_binary(op, x[0], x[1]),
            PrimOp::Special(op, Prim::F16) => return self.half_special(op, x),
            _ => return None,
        };
        Some(half::round(&mut self.b, single))
    }

    fn half_special(&mut self, op: SpecialOp, x: &[Value]) -> Option<Value> {
        let bin = |e: &mut Self, op, a, b| e.prim(PrimOp::Bin(op, Prim::F16), &[a, b], None);
        Some(match op {
            SpecialOp::ToBits => {
                let bits = half::compress(&mut self.b, x[0]);
                self.b.ins().ireduce(types::I16, bits)
            }
            SpecialOp::FromBits => {
                let bits = self.b.ins().uextend(types::I32, x[0]);
                half::expand(&mut self.b, bits)
            }
            SpecialOp::Fma => {
                let [a, c, d] = [0, 1, 2].map(|i| self.b.ins().fpromote(types::F64, x[i]));
                let product = self.b.ins().fmul(a, c);
                let sum = self.b.ins().fadd(product, d);
                half::round_f64(&mut self.b, sum)
            }
            SpecialOp::Mad => {
                let product = bin(self, BinOp::Mul, x[0], x[1]);
                bin(self, BinOp::Add, product, x[2])
            }
            SpecialOp::Lerp => {
                let range = bin(self, BinOp::Sub, x[1], x[0]);
                let part = bin(self, BinOp::Mul, range, x[2]);
                bin(self, BinOp::Add, x[0], part)
            }
            _ => return None,
        })
    }

    fn int(&mut self, p: Prim, x: i64) -> Value {
        self.constant(Scalar::from_bits(p, x as u64))
    }

    fn float(&mut self, p: Prim, x: f64) -> Value {
        self.constant(Scalar::from_f64(p, x).unwrap_or(Scalar::zero(p)))
    }

    fn int_unary(&mut self, op: UnOp, p: Prim, x: Value) -> Value {
        match op {
            UnOp::Neg => self.b.ins().ineg(x),
            UnOp::Not if p == Prim::Bool => self.b.ins().bxor_imm_s(x, 1),
            UnOp::Not => self.b.ins().bnot(x),
            UnOp::Abs if p.is_signed() => {
                let zero = self.int(p, 0);
                let negative = self.b.ins().icmp(IntCC::SignedLessThan, x, zero);
                let minus = self.b.ins().ineg(x);
                self.b.ins().select(negative, minus, x)
            }
            UnOp::Sgn => self.int_sign(p, x),
            // The absolute value of an unsigned number; other functions exist on floats only.
            _ => x,
        }
    }

    fn int_sign(&mut self, p: Prim, x: Value) -> Value {
        let zero = self.int(p, 0);
        let above = if p.is_signed() { IntCC::SignedGreaterThan } else { IntCC::NotEqual };
        let positive = self.b.ins().icmp(above, x, zero);
        let negative = self.b.ins().icmp(IntCC::SignedLessThan, x, zero);
        let sign = if p.is_signed() { self.b.ins().isub(positive, negative) } else { positive };
        if p.size() == 1 { sign } else { self.b.ins().sextend(clif_type(p), sign) }
    }

    fn float_unary(&mut self, op: UnOp, p: Prim, x: Value) -> Value {
        match op {
            UnOp::Neg => self.b.ins().fneg(x),
            UnOp::Abs => self.b.ins().fabs(x),
            UnOp::Sqrt => self.b.ins().sqrt(x),
            UnOp::Floor => self.b.ins().floor(x),
            UnOp::Ceil => self.b.ins().ceil(x),
            UnOp::Trunc => self.b.ins().trunc(x),
            UnOp::Round => self.b.ins().nearest(x),
            UnOp::Recip => {
                let one = self.float(p, 1.0);
                self.b.ins().fdiv(one, x)
            }
            UnOp::Rsqrt => {
                let (one, root) = (self.float(p, 1.0), self.b.ins().sqrt(x));
                self.b.ins().fdiv(one, root)
            }
            UnOp::Sgn => {
                let (zero, one, minus) = (self.float(p, 0.0), self.float(p, 1.0), self.float(p, -1.0));
                let positive = self.b.ins().fcmp(FloatCC::GreaterThan, x, zero);
                let negative = self.b.ins().fcmp(FloatCC::LessThan, x, zero);
                let otherwise = self.b.ins().select(negative, minus, x);
                self.b.ins().select(positive, one, otherwise)
            }
            // The rest are calls.
            _ => x,
        }
    }

    fn float_binary(&mut self, op: BinOp, x: Value, y: Value) -> Value {
        match op {
            BinOp::Add => self.b.ins().fadd(x, y),
            BinOp::Sub => self.b.ins().fsub(x, y),
            BinOp::Mul => self.b.ins().fmul(x, y),
            BinOp::Min => self.float_extremum([x, y], x, y),
            BinOp::Max => self.float_extremum([y, x], x, y),
            BinOp::Copysign => self.b.ins().fcopysign(x, y),
            // Division; the rest are calls.
            _ => self.b.ins().fdiv(x, y),
        }
    }

    /// `x` if the first of two numbers is less than the second or `y` is NaN, else `y`. The first choice is one instruction of most processors; the second one is a jump
    /// that is hardly ever taken, for which nothing waits.
    fn float_extremum(&mut self, [less, more]: [Value; 2], x: Value, y: Value) -> Value {
        let is_better = self.b.ins().fcmp(FloatCC::LessThan, less, more);
        let better = self.b.ins().select(is_better, x, y);
        let no_number = self.b.ins().fcmp(FloatCC::Unordered, y, y);
        self.b.ins().select(no_number, x, better)
    }

    fn int_binary(&mut self, op: BinOp, p: Prim, x: Value, y: Value) -> Value {
        match op {
            BinOp::Add => self.b.ins().iadd(x, y),
            BinOp::Sub => self.b.ins().isub(x, y),
            BinOp::Mul => self.b.ins().imul(x, y),
            BinOp::And => self.b.ins().band(x, y),
            BinOp::Or => self.b.ins().bor(x, y),
            BinOp::Xor => self.b.ins().bxor(x, y),
            BinOp::Min | BinOp::Max => {
                let less = self.b.ins().icmp(int_condition(CmpOp::Lt, p), x, y);
                let (a, b) = if op == BinOp::Min { (x, y) } else { (y, x) };
                self.b.ins().select(less, a, b)
            }
            // High half of the product; the rest are calls or exist on floats only.
            _ => self.high_half(p, x, y),
        }
    }

    fn high_half(&mut self, p: Prim, x: Value, y: Value) -> Value {
        if p.size() == 8 {
            return if p.is_signed() { self.b.ins().smulhi(x, y) } else { self.b.ins().umulhi(x, y) };
        }
        let (x, y) = (convert::widen(&mut self.b, p, x), convert::widen(&mut self.b, p, y));
        let product = self.b.ins().imul(x, y);
        let high = self.b.ins().ushr_imm_u(product, p.bits() as i64);
        self.b.ins().ireduce(clif_type(p), high)
    }

    /// Division of either rounding. Narrow types are divided at 32 bits.
    fn divide(&mut self, op: BinOp, p: Prim, x: Value, y: Value, divisor: Option<i64>) -> Value {
        if p.size() < 4 {
            let wide = if p.is_signed() { Prim::I32 } else { Prim::U32 };
            let (x, y) =
                (convert::convert(&mut self.b, p, wide, x), convert::convert(&mut self.b, p, wide, y));
            let result = self.divide(op, wide, x, y, divisor);
            return convert::convert(&mut self.b, wide, p, result);
        }
        let is_quotient = matches!(op, BinOp::Div | BinOp::Quot);
        let result = match (p.is_signed(), divisor) {
            (false, Some(d)) if d != 0 => self.unsigned_division(is_quotient, x, y),
            (true, Some(d)) if d > 0 && d.count_ones() == 1 && matches!(op, BinOp::Div | BinOp::Mod) => {
                self.signed_digits(op, x, d)
            }
            (true, Some(d)) if d > 0 && matches!(op, BinOp::Div | BinOp::Mod) => {
                self.division_by_positive(op, p, x, y)
            }
            (true, Some(d)) if d != 0 && d != -1 => self.signed_division(op, p, x, y),
            (false, _) => {
                let (zero, one) = (self.int(p, 0), self.int(p, 1));
                let is_zero = self.b.ins().icmp(IntCC::Equal, y, zero);
                let safe = self.b.ins().select(is_zero, one, y);
                let result = self.unsigned_division(is_quotient, x, safe);
                self.b.ins().select(is_zero, zero, result)
            }
            (true, _) => self.guarded_signed_division(op, p, x, y),
        };
        debug_assert_eq!(self.b.func.dfg.value_type(result), clif_type(p));
        result
    }

    fn unsigned_division(&mut self, is_quotient: bool, x: Value, y: Value) -> Value {
        if is_quotient { self.b.ins().udiv(x, y) } else { self.b.ins().urem(x, y) }
    }

    /// By 0 or -1 the quotient is 0 or the negated dividend, and the remainder 0.
    fn guarded_signed_division(&mut self, op: BinOp, p: Prim, x: Value, y: Value) -> Value {
        let (zero, one) = (self.int(p, 0), self.int(p, 1));
        let next = self.b.ins().iadd(y, one);
        let special = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, next, one);
        let safe = self.b.ins().select(special, one, y);
        let result = self.signed_division(op, p, x, safe);
        let instead = if matches!(op, BinOp::Div | BinOp::Quot) { self.b.ins().imul(x, y) } else { zero };
        self.b.ins().select(special, instead, result)
    }

    /// By a power of two, rounded down: digits are cut off.
    fn signed_digits(&mut self, op: BinOp, x: Value, d: i64) -> Value {
        if op == BinOp::Div {
            self.b.ins().sshr_imm_u(x, i64::from(d.trailing_zeros()))
        } else {
            self.b.ins().band_imm_s(x, d - 1)
        }
    }

    /// Rounded down: what is left of a quotient that is rounded to zero has a sign if that is one too much.
    fn division_by_positive(&mut self, op: BinOp, p: Prim, x: Value, y: Value) -> Value {
        let quotient = self.b.ins().sdiv(x, y);
        let product = self.b.ins().imul(quotient, y);
        let rest = self.b.ins().isub(x, product);
        let below = self.b.ins().sshr_imm_u(rest, i64::from(p.bits()) - 1);
        if op == BinOp::Div {
            return self.b.ins().iadd(quotient, below);
        }
        let up = self.b.ins().band(below, y);
        self.b.ins().iadd(rest, up)
    }

    fn signed_division(&mut self, op: BinOp, p: Prim, x: Value, y: Value) -> Value {
        match op {
            BinOp::Quot => self.b.ins().sdiv(x, y),
            BinOp::Div => {
                let quotient = self.b.ins().sdiv(x, y);
                let product = self.b.ins().imul(quotient, y);
                let rest = self.b.ins().isub(x, product);
                let is_above = self.is_rounded_up(p, rest, y);
                let above = self.b.ins().uextend(clif_type(p), is_above);
                self.b.ins().isub(quotient, above)
            }
            _ => {
                let rest = self.b.ins().srem(x, y);
                if op == BinOp::Rem {
                    return rest;
                }
                let is_above = self.is_rounded_up(p, rest, y);
                let up = self.b.ins().iadd(rest, y);
                self.b.ins().select(is_above, up, rest)
            }
        }
    }

    /// True if a quotient that is rounded to zero, which leaves this rest, is above the exact one.
    fn is_rounded_up(&mut self, p: Prim, rest: Value, y: Value) -> Value {
        let zero = self.int(p, 0);
        let signs = self.b.ins().bxor(rest, y);
        let differ = self.b.ins().icmp(IntCC::SignedLessThan, signs, zero);
        let inexact = self.b.ins().icmp(IntCC::NotEqual, rest, zero);
        self.b.ins().band(differ, inexact)
    }

    /// Shifts by the width or more (or a negative count) give 0, or the sign.
    fn shift(&mut self, op: BinOp, p: Prim, x: Value, y: Value, count: Option<i64>) -> Value {
        let width = p.bits() as i64;
        let fills_sign = op == BinOp::Shr && p.is_signed();
        let known_inside = count.is_some_and(|n| (0..width).contains(&n));
        let limit = self.int(p, width);
        let inside = self.b.ins().icmp(IntCC::UnsignedLessThan, y, limit);
        if fills_sign {
            let last = self.int(p, width - 1);
            let y = if known_inside { y } else { self.b.ins().select(inside, y, last) };
            return self.b.ins().sshr(x, y);
        }
        let shifted = if op == BinOp::Shl { self.b.ins().ishl(x, y) } else { self.b.ins().ushr(x, y) };
        if known_inside {
            return shifted;
        }
        let zero = self.int(p, 0);
        self.b.ins().select(inside, shifted, zero)
    }

    fn special(&mut self, op: SpecialOp, p: Prim, x: &[Value]) -> Value {
        match op {
            SpecialOp::IsNan => self.b.ins().fcmp(FloatCC::Unordered, x[0], x[0]),
            SpecialOp::IsInf => {
                let (infinity, size) = (self.float(p, f64::INFINITY), self.b.ins().fabs(x[0]));
                self.b.ins().fcmp(FloatCC::Equal, size, infinity)
            }
            SpecialOp::ToBits => {
                let ty = self.b.func.dfg.value_type(x[0]).as_int();
                self.b.ins().bitcast(ty, convert::bits(), x[0])
            }
            SpecialOp::FromBits => self.b.ins().bitcast(clif_type(p), convert::bits(), x[0]),
            SpecialOp::Fma => self.b.ins().fma(x[0], x[1], x[2]),
            SpecialOp::Mad => {
                let product = self.b.ins().fmul(x[0], x[1]);
                self.b.ins().fadd(product, x[2])
            }
            SpecialOp::Lerp => {
                let range = self.b.ins().fsub(x[1], x[0]);
                let part = self.b.ins().fmul(range, x[2]);
                self.b.ins().fadd(x[0], part)
            }
            SpecialOp::Popc | SpecialOp::Clz | SpecialOp::Ctz => self.count_bits(op, p, x[0]),
            SpecialOp::GetBit => self.get_bit(p, x[0], x[1]),
            SpecialOp::SetBit => self.set_bit(p, x),
            // A call.
            SpecialOp::Ldexp => x[0],
        }
    }

    /// Counted in 64 bits.
    fn count_bits(&mut self, op: SpecialOp, p: Prim, x: Value) -> Value {
        let wide = convert::zero_extend(&mut self.b, x);
        let spare = 64 - p.bits() as i64;
        let n = match op {
            SpecialOp::Popc => self.b.ins().popcnt(wide),
            SpecialOp::Clz => {
                let zeros = self.b.ins().clz(wide);
                self.b.ins().iadd_imm_s(zeros, -spare)
            }
            _ if spare == 0 => self.b.ins().ctz(wide),
            _ => {
                let stop = self.b.ins().iconst(types::I64, 1 << p.bits());
                let stopped = self.b.ins().bor(wide, stop);
                self.b.ins().ctz(stopped)
            }
        };
        self.b.ins().ireduce(types::I32, n)
    }

    /// The position as `i64`, and whether it is inside the width.
    fn bit_position(&mut self, p: Prim, at: Value) -> (Value, Value) {
        let at = self.b.ins().sextend(types::I64, at);
        let width = self.b.ins().iconst(types::I64, p.bits() as i64);
        (at, self.b.ins().icmp(IntCC::UnsignedLessThan, at, width))
    }

    fn get_bit(&mut self, p: Prim, x: Value, at: Value) -> Value {
        let (at, inside) = self.bit_position(p, at);
        let wide = convert::zero_extend(&mut self.b, x);
        let shifted = self.b.ins().ushr(wide, at);
        let bit = self.b.ins().band_imm_s(shifted, 1);
        let zero = self.b.ins().iconst(types::I64, 0);
        let bit = self.b.ins().select(inside, bit, zero);
        self.b.ins().ireduce(types::I32, bit)
    }

    fn set_bit(&mut self, p: Prim, x: &[Value]) -> Value {
        let (at, inside) = self.bit_position(p, x[1]);
        let wide = convert::zero_extend(&mut self.b, x[0]);
        let one = self.b.ins().iconst(types::I64, 1);
        let mask = self.b.ins().ishl(one, at);
        let cleared = self.b.ins().band_not(wide, mask);
        let bit = self.b.ins().sextend(types::I64, x[2]);
        let bit = self.b.ins().band_imm_s(bit, 1);
        let bit = self.b.ins().ishl(bit, at);
        let set = self.b.ins().bor(cleared, bit);
        let result = self.b.ins().select(inside, set, wide);
        if p.size() == 8 { result } else { self.b.ins().ireduce(clif_type(p), result) }
    }
}

/// The condition code of a comparison of integers.
pub fn int_condition(op: CmpOp, p: Prim) -> IntCC {
    match (op, p.is_signed()) {
        (CmpOp::Eq, _) => IntCC::Equal,
        (CmpOp::Ne, _) => IntCC::NotEqual,
        (CmpOp::Lt, true) => IntCC::SignedLessThan,
        (CmpOp::Le, true) => IntCC::SignedLessThanOrEqual,
        (CmpOp::Gt, true) => IntCC::SignedGreaterThan,
        (CmpOp::Ge, true) => IntCC::SignedGreaterThanOrEqual,
        (CmpOp::Lt, false) => IntCC::UnsignedLessThan,
        (CmpOp::Le, false) => IntCC::UnsignedLessThanOrEqual,
        (CmpOp::Gt, false) => IntCC::UnsignedGreaterThan,
        (CmpOp::Ge, false) => IntCC::UnsignedGreaterThanOrEqual,
    }
}

/// The condition code of a comparison of floats.
pub fn float_condition(op: CmpOp) -> FloatCC {
    match op {
        CmpOp::Eq => FloatCC::Equal,
        CmpOp::Ne => FloatCC::NotEqual,
        CmpOp::Lt => FloatCC::LessThan,
        CmpOp::Le => FloatCC::LessThanOrEqual,
        CmpOp::Gt => FloatCC::GreaterThan,
        CmpOp::Ge => FloatCC::GreaterThanOrEqual,
    }
}
