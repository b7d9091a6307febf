//! Divisions of integers on registers.
//!
//! ```text
//! x / 8      shr x 3
//! x % 8      and x 7
//! x / d      floor ((x + 1/2) * (1 / d))      in floats of 64 bits, x and d of 32 bits; in floats of 32 bits, if they have fewer
//! x % d      x - x / d * d
//! ```
//!
//! `x + 1/2` is at least half an integer away from all multiples of `d`, so its quotient is at least `1 / 2d` away from all integers, which is
//! much more than what rounding changes: the quotient is below 2^32 and a float has 53 digits, or below 2^16 and it has 24.

use super::Group;
use super::convert::{halves, resize};
use super::value::Lanes;
use cranelift::prelude::*;
use par_ir::prim::{BinOp, PrimOp};
use par_ir::ty::Atom;
use par_ir::{Prim, Scalar};

/// A division that has code on registers.
#[derive(Clone, Copy)]
pub struct Division {
    op: BinOp,
    prim: Prim,
    by: By,
}

#[derive(Clone, Copy)]
enum By {
    /// A power of two, of so many digits.
    Digits(u32),
    /// A number that is not zero.
    Constant,
    /// Any number. By 0 the quotient is 0, and so is the remainder.
    Any,
}

impl Division {
    /// Of an operator, if there is one.
    pub fn of(op: PrimOp, operands: &[Atom]) -> Option<Division> {
        let PrimOp::Bin(op @ (BinOp::Div | BinOp::Mod | BinOp::Quot | BinOp::Rem), prim) = op else {
            return None;
        };
        let divisor = operands.get(1)?.as_i64();
        // The remainder of a signed quotient that is rounded to zero is not its last digits.
        let has_digits = prim.size() >= 4 && !(prim.is_signed() && op == BinOp::Rem);
        let by = match divisor {
            Some(n) if has_digits && n > 1 && n & (n - 1) == 0 => By::Digits(n.trailing_zeros()),
            _ if prim.size() == 8 => return None,
            Some(n) if n != 0 => By::Constant,
            _ => By::Any,
        };
        prim.is_integer().then_some(Division { op, prim, by })
    }

    /// True if it takes about as long as an addition.
    pub fn is_cheap(self) -> bool {
        matches!(self.by, By::Digits(_))
    }

    /// Of numbers in registers.
    pub fn apply(self, s: &mut Group, x: &Lanes, y: &Lanes) -> Lanes {
        if let By::Digits(digits) = self.by {
            let regs = s.vector(x, self.prim);
            return Lanes::Vector(regs.into_iter().map(|x| self.digits(s, x, digits)).collect());
        }
        let (wide, float) = match self.prim.size() {
            4 => (self.prim, Float::WIDE),
            _ => (Prim::I32, Float::NARROW),
        };
        let xs = resize(s, self.prim, wide, x);
        let ys = resize(s, self.prim, wide, y);
        let same = matches!(y, Lanes::Same(_));
        let floats = [&xs, &ys].map(|regs| float.of(s, wide, regs));
        let quotients = self.quotients(s, float, floats, same);
        let all = xs.into_iter().zip(ys).zip(quotients);
        let results = all.map(|((x, y), quotient)| self.result(s, wide, x, y, quotient)).collect();
        Lanes::Vector(resize(s, wide, self.prim, &Lanes::Vector(results)))
    }

    fn digits(self, s: &mut Group, x: Value, digits: u32) -> Value {
        let Division { op, prim, .. } = self;
        let count = s.e.b.ins().iconst(types::I32, digits as i64);
        match op {
            BinOp::Mod | BinOp::Rem => {
                let left = s.constant(Scalar::from_bits(prim, (1 << digits) - 1));
                s.e.b.ins().band(x, left)
            }
            _ if !prim.is_signed() => s.e.b.ins().ushr(x, count),
            BinOp::Div => s.e.b.ins().sshr(x, count),
            // What is below 0 is rounded up.
            _ => {
                let sign = s.e.b.ins().iconst(types::I32, prim.bits() as i64 - 1);
                let rest = s.e.b.ins().iconst(types::I32, prim.bits() as i64 - digits as i64);
                let signs = s.e.b.ins().sshr(x, sign);
                let most = s.e.b.ins().ushr(signs, rest);
                let x = s.e.b.ins().iadd(x, most);
                s.e.b.ins().sshr(x, count)
            }
        }
    }

    fn truncates(self) -> bool {
        self.prim.is_signed() && matches!(self.op, BinOp::Quot | BinOp::Rem)
    }

    /// The quotients, as integers of 32 bits; by the `same` number in all lanes, or not.
    fn quotients(self, s: &mut Group, float: Float, [xs, ys]: [Vec<Value>; 2], same: bool) -> Vec<Value> {
        let one = s.constant(float.number(1.0));
        // One reciprocal for all.
        let reciprocal = same.then(|| s.e.b.ins().fdiv(one, ys[0]));
        let quotient = |s: &mut Group, (x, y): (Value, Value)| {
            let half = float.half_like(s, if self.truncates() { x } else { y });
            let x = s.e.b.ins().fadd(x, half);
            let quotient = match reciprocal {
                Some(r) => s.e.b.ins().fmul(x, r),
                None => s.e.b.ins().fdiv(x, y),
            };
            let ins = s.e.b.ins();
            if self.truncates() { ins.trunc(quotient) } else { ins.floor(quotient) }
        };
        let whole: Vec<Value> = xs.into_iter().zip(ys).map(|xy| quotient(s, xy)).collect();
        float.to_integers(s, &whole)
    }

    fn result(self, s: &mut Group, p: Prim, x: Value, y: Value, quotient: Value) -> Value {
        let result = match self.op {
            BinOp::Div | BinOp::Quot => quotient,
            _ => {
                let product = s.e.b.ins().imul(quotient, y);
                s.e.b.ins().isub(x, product)
            }
        };
        if matches!(self.by, By::Constant) {
            return result;
        }
        let zero = s.constant(Scalar::zero(p));
        let divides = s.e.b.ins().icmp(IntCC::NotEqual, y, zero);
        s.blend_register(divides, result, zero)
    }
}

/// The floats that integers are divided as.
#[derive(Clone, Copy)]
struct Float {
    prim: Prim,
    lanes: Type,
    ints: Type,
    /// A float whose last digit counts ones, and to which numbers below 0 can be added: the last digits of a sum are those of the number added.
    ones: f64,
}

impl Float {
    /// For integers of 32 bits.
    const WIDE: Float =
        Float { prim: Prim::F64, lanes: types::F64X2, ints: types::I64X2, ones: 6_755_399_441_055_744.0 };
    /// For integers of 16 bits and fewer, each of which has 32.
    const NARROW: Float =
        Float { prim: Prim::F32, lanes: types::F32X4, ints: types::I32X4, ones: 12_582_912.0 };

    fn number(self, x: f64) -> Scalar {
        Scalar::from_f64(self.prim, x).unwrap_or(Scalar::zero(self.prim))
    }

    /// The digits of a number in each lane.
    fn digits(self, s: &mut Group, x: f64) -> Value {
        let digits = s.constant(self.number(x));
        s.cast(digits, self.ints)
    }

    /// One half, with the sign of a float.
    fn half_like(self, s: &mut Group, x: Value) -> Value {
        let (sign, half) = (self.digits(s, -0.0), self.digits(s, 0.5));
        let x = s.cast(x, self.ints);
        let sign = s.e.b.ins().band(x, sign);
        let half = s.e.b.ins().bor(sign, half);
        s.cast(half, self.lanes)
    }

    /// Integers of 32 bits as floats.
    fn of(self, s: &mut Group, p: Prim, regs: &[Value]) -> Vec<Value> {
        if self.prim == Prim::F32 {
            return regs.iter().map(|x| s.e.b.ins().fcvt_from_sint(self.lanes, *x)).collect();
        }
        let float = |s: &mut Group, x: Value| {
            let wide = s.e.b.ins().swiden_low(x);
            s.e.b.ins().fcvt_from_sint(self.lanes, wide)
        };
        if p.is_signed() {
            return halves(s, regs).into_iter().map(|x| float(s, x)).collect();
        }
        // From the middle of their range.
        let (middle, distance) =
            (s.constant(Scalar::U32(1 << 31)), s.constant(self.number(f64::from(1u32 << 31))));
        let signed: Vec<Value> = regs.iter().map(|x| s.e.b.ins().bxor(*x, middle)).collect();
        let from_middle = |s: &mut Group, x: Value| {
            let x = float(s, x);
            s.e.b.ins().fadd(x, distance)
        };
        halves(s, &signed).into_iter().map(|x| from_middle(s, x)).collect()
    }

    /// Whole numbers as integers of 32 bits.
    fn to_integers(self, s: &mut Group, regs: &[Value]) -> Vec<Value> {
        let ones = s.constant(self.number(self.ones));
        let sum = |s: &mut Group, x: Value| {
            let sum = s.e.b.ins().fadd(x, ones);
            s.cast(sum, self.ints)
        };
        let sums: Vec<Value> = regs.iter().map(|x| sum(s, *x)).collect();
        if self.prim == Prim::F64 {
            return s.narrow(&sums);
        }
        let ones = self.digits(s, self.ones);
        sums.into_iter().map(|x| s.e.b.ins().isub(x, ones)).collect()
    }
}
