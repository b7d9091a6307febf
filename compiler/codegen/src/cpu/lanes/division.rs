//! Divisions of integers on registers.
//!
//! ```text
//! x / 8      shr x 3
//! x % 8      and x 7
//! x / d      floor ((x + 1/2) * (1 / d))      in floats of 64 bits, or of 32 bits if x and d have fewer than these
//! x % d      x - x / d * d
//! ```
//!
//! `x + 1/2` is at least half an integer away from all multiples of `d`, so its quotient is at least `1 / 2d` away from all integers, which is
//! more than what rounding changes: the quotient is below 2^32 and a float has 53 digits, or below 2^16 and it has 24. Integers of 64 bits are
//! divided so if they have no more than [`DIGITS`], so that the quotient is wrong by less than 2^50 / d * 2^-52; a group with others is left.

use super::Group;
use super::convert::resize;
use super::value::Lanes;
use super::whole::{DIGITS, Float, stay_if_small};
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
            Some(n) if prim.size() == 8 && size(prim, n) >> DIGITS > 0 => return None,
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
            4 | 8 => (self.prim, Float::WIDE),
            _ => (Prim::I32, Float::NARROW),
        };
        let [xs, ys] = [x, y].map(|lanes| resize(s, self.prim, wide, lanes));
        if self.prim.size() == 8 {
            stay_if_small(s, wide, &xs);
            if matches!(self.by, By::Any) {
                stay_if_small(s, wide, &ys);
            }
        }
        let floats = [&xs, &ys].map(|regs| float.of(s, wide, regs));
        let same = matches!(y, Lanes::Same(_));
        let results = match self.prim.size() {
            8 => self.of_longs(s, floats, same),
            _ => self.of_words(s, float, (&xs, &ys), floats, same),
        };
        let results = results.into_iter().zip(ys).map(|(r, y)| self.unless_by_zero(s, wide, r, y)).collect();
        Lanes::Vector(resize(s, wide, self.prim, &Lanes::Vector(results)))
    }

    /// The results on integers of 64 bits: products of floats are exact, and those of integers slow.
    fn of_longs(self, s: &mut Group, floats: [Vec<Value>; 2], same: bool) -> Vec<Value> {
        let quotients = self.quotients(s, Float::WIDE, &floats, same);
        if matches!(self.op, BinOp::Div | BinOp::Quot) {
            return Float::WIDE.to_integers(s, &quotients);
        }
        let [xs, ys] = floats;
        let rest = |s: &mut Group, ((x, y), quotient): ((Value, Value), Value)| {
            let product = s.e.b.ins().fmul(quotient, y);
            s.e.b.ins().fsub(x, product)
        };
        let rests: Vec<Value> = xs.into_iter().zip(ys).zip(quotients).map(|all| rest(s, all)).collect();
        Float::WIDE.to_integers(s, &rests)
    }

    /// The results on integers of 32 bits.
    fn of_words(
        self,
        s: &mut Group,
        float: Float,
        (xs, ys): (&[Value], &[Value]),
        floats: [Vec<Value>; 2],
        same: bool,
    ) -> Vec<Value> {
        let quotients = self.quotients(s, float, &floats, same);
        let quotients = float.to_words(s, &quotients);
        if matches!(self.op, BinOp::Div | BinOp::Quot) {
            return quotients;
        }
        let rest = |s: &mut Group, ((x, y), quotient): ((&Value, &Value), Value)| {
            let product = s.e.b.ins().imul(quotient, *y);
            s.e.b.ins().isub(*x, product)
        };
        xs.iter().zip(ys).zip(quotients).map(|all| rest(s, all)).collect()
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

    /// The quotients, as floats; by the `same` number in all lanes, or not.
    fn quotients(self, s: &mut Group, float: Float, [xs, ys]: &[Vec<Value>; 2], same: bool) -> Vec<Value> {
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
        xs.iter().zip(ys).map(|(x, y)| quotient(s, (*x, *y))).collect()
    }

    /// Instead of a result, 0 where the divisor is.
    fn unless_by_zero(self, s: &mut Group, p: Prim, result: Value, y: Value) -> Value {
        if matches!(self.by, By::Constant) {
            return result;
        }
        let zero = s.constant(Scalar::zero(p));
        let divides = s.e.b.ins().icmp(IntCC::NotEqual, y, zero);
        s.blend_register(divides, result, zero)
    }
}

/// The size of a constant, which is there as an `i64`.
fn size(p: Prim, n: i64) -> u64 {
    if p.is_signed() { n.unsigned_abs() } else { n as u64 }
}
