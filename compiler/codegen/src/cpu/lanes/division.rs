//! Divisions of integers on registers.
//!
//! ```text
//! x / 8      shr x 3
//! x % 8      and x 7
//! x / d      floor ((x + 1/2) * (1 / d))      in numbers of 64 bits, x and d of 32 bits or fewer
//! x % d      x - x / d * d
//! ```
//!
//! `x + 1/2` is at least half an integer away from all multiples of `d`, so its quotient is at least `1 / 2d` away from all integers, which is
//! much more than what rounding changes: the quotient is below 2^32, and a float has 53 digits.

use super::Group;
use super::convert::{halves, resize};
use super::value::Lanes;
use crate::cpu::convert::bits;
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

/// Float whose last digit counts ones, and to which numbers below 0 can be added: the lower half of a sum is the number added.
const ONES: f64 = 6_755_399_441_055_744.0;

impl Division {
    /// Of an operator, if there is one.
    pub fn of(op: PrimOp, operands: &[Atom]) -> Option<Division> {
        let PrimOp::Bin(op @ (BinOp::Div | BinOp::Mod | BinOp::Quot | BinOp::Rem), prim) = op else {
            return None;
        };
        if !prim.is_integer() {
            return None;
        }
        let by = match operands.get(1)?.as_i64() {
            Some(n) if n > 1 && n & (n - 1) == 0 && prim.size() >= 4 => By::Digits(n.trailing_zeros()),
            Some(n) if n != 0 => By::Constant,
            _ => By::Any,
        };
        // The remainder of a signed quotient that is rounded to zero is not its last digits.
        let has_digits = matches!(by, By::Digits(_)) && !(prim.is_signed() && op == BinOp::Rem);
        match prim.size() {
            8 => has_digits.then_some(Division { op, prim, by }),
            _ if has_digits || !matches!(by, By::Digits(_)) => Some(Division { op, prim, by }),
            _ => Some(Division { op, prim, by: By::Constant }),
        }
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
        let wide = if self.prim.size() < 4 { Prim::I32 } else { self.prim };
        let regs = resize(s, self.prim, wide, x);
        let divisors = resize(s, self.prim, wide, y);
        let quotients = self.quotients(s, wide, &regs, y, &divisors);
        let results: Vec<Value> = regs
            .into_iter()
            .zip(divisors)
            .zip(quotients)
            .map(|((x, y), quotient)| self.result(s, wide, x, y, quotient))
            .collect();
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

    /// The quotients, as integers of 32 bits.
    fn quotients(self, s: &mut Group, p: Prim, xs: &[Value], y: &Lanes, ys: &[Value]) -> Vec<Value> {
        let xs = floats(s, p, xs);
        let same = matches!(y, Lanes::Same(_));
        let mut ys = floats(s, p, if same { &ys[..1] } else { ys });
        if same {
            ys.truncate(1);
        }
        let one = s.constant(Scalar::F64(1.0));
        // One reciprocal for all.
        let reciprocal = same.then(|| s.e.b.ins().fdiv(one, ys[0]));
        let quotient = |s: &mut Group, (i, x): (usize, Value)| {
            let y = ys[if same { 0 } else { i }];
            let half = half_like(s, if self.truncates() { x } else { y });
            let x = s.e.b.ins().fadd(x, half);
            let quotient = match reciprocal {
                Some(r) => s.e.b.ins().fmul(x, r),
                None => s.e.b.ins().fdiv(x, y),
            };
            let ins = s.e.b.ins();
            let whole = if self.truncates() { ins.trunc(quotient) } else { ins.floor(quotient) };
            let ones = s.constant(Scalar::F64(ONES));
            let sum = s.e.b.ins().fadd(whole, ones);
            s.cast(sum, types::I64X2)
        };
        let sums: Vec<Value> = xs.into_iter().enumerate().map(|x| quotient(s, x)).collect();
        s.narrow(&sums)
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

/// One half, with the sign of a float.
fn half_like(s: &mut Group, x: Value) -> Value {
    let sign = s.constant(Scalar::from_bits(Prim::I64, 1 << 63));
    let half = s.constant(Scalar::from_bits(Prim::I64, 0.5f64.to_bits()));
    let x = s.cast(x, types::I64X2);
    let sign = s.e.b.ins().band(x, sign);
    let half = s.e.b.ins().bor(sign, half);
    s.e.b.ins().bitcast(types::F64X2, bits(), half)
}

/// Integers of 32 bits as floats of 64.
fn floats(s: &mut Group, p: Prim, regs: &[Value]) -> Vec<Value> {
    let float = |s: &mut Group, x: Value| {
        let wide = s.e.b.ins().swiden_low(x);
        s.e.b.ins().fcvt_from_sint(types::F64X2, wide)
    };
    if p.is_signed() {
        return halves(s, regs).into_iter().map(|x| float(s, x)).collect();
    }
    // From the middle of their range.
    let (middle, distance) =
        (s.constant(Scalar::U32(1 << 31)), s.constant(Scalar::F64(f64::from(1u32 << 31))));
    let signed: Vec<Value> = regs.iter().map(|x| s.e.b.ins().bxor(*x, middle)).collect();
    let from_middle = |s: &mut Group, x: Value| {
        let x = float(s, x);
        s.e.b.ins().fadd(x, distance)
    };
    halves(s, &signed).into_iter().map(|x| from_middle(s, x)).collect()
}
