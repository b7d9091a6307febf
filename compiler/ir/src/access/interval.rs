//! Intervals of the integers that scalar operators result in.

use crate::prim::{BinOp, PrimOp};
use par_runtime::{Prim, Scalar};

/// The numbers from `least` to `most`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub struct Interval {
    pub least: i128,
    pub most: i128,
}

impl Interval {
    /// All numbers of an integer type; 0 and 1 for bools.
    pub fn of(p: Prim) -> Option<Interval> {
        match p {
            Prim::Bool => Some(Interval { least: 0, most: 1 }),
            _ if !p.is_integer() => None,
            _ if p.is_signed() => {
                Some(Interval { least: -(1 << (p.bits() - 1)), most: (1 << (p.bits() - 1)) - 1 })
            }
            _ => Some(Interval { least: 0, most: (1 << p.bits()) - 1 }),
        }
    }

    /// One integer.
    pub fn of_constant(c: Scalar) -> Option<Interval> {
        let x = match c {
            Scalar::U64(x) => i128::from(x),
            _ => i128::from(c.as_i64()?),
        };
        Some(Interval { least: x, most: x })
    }

    /// True if all of it are numbers of a type.
    pub fn fits(self, p: Prim) -> bool {
        Interval::of(p).is_some_and(|all| all.least <= self.least && self.most <= all.most)
    }

    /// The smallest interval with both in it.
    pub fn join(self, other: Interval) -> Interval {
        Interval { least: self.least.min(other.least), most: self.most.max(other.most) }
    }

    /// Of results that are largest and smallest where operands are.
    fn of_ends(self, other: Interval, f: impl Fn(i128, i128) -> i128) -> Interval {
        let (a, b) = (self, other);
        let all = [f(a.least, b.least), f(a.least, b.most), f(a.most, b.least), f(a.most, b.most)];
        Interval { least: all.into_iter().min().unwrap_or(0), most: all.into_iter().max().unwrap_or(0) }
    }

    /// The results of an operator on operands from these intervals, as if no number were too large; for all that is known,
    /// none.
    pub fn of_result(op: PrimOp, xs: &[Option<Interval>]) -> Option<Interval> {
        match op {
            PrimOp::Conv(from, to) if to != Prim::Bool && !from.is_float() => xs[0],
            PrimOp::Select(_) => Some(xs[1]?.join(xs[2]?)),
            PrimOp::Bin(BinOp::And, _) => {
                let masks = xs.iter().flatten().filter(|r| r.least >= 0);
                masks.map(|r| r.most).min().map(|most| Interval { least: 0, most })
            }
            PrimOp::Bin(BinOp::Shr | BinOp::Lshr, _) => {
                xs[0].filter(|r| r.least >= 0).map(|r| Interval { least: 0, most: r.most })
            }
            PrimOp::Bin(op, _) => Interval::of_arithmetic(op, xs[0]?, xs[1]?),
            _ => None,
        }
    }

    fn of_arithmetic(op: BinOp, a: Interval, b: Interval) -> Option<Interval> {
        match op {
            BinOp::Add => Some(a.of_ends(b, i128::wrapping_add)),
            BinOp::Sub => Some(a.of_ends(b, i128::wrapping_sub)),
            BinOp::Mul => Some(a.of_ends(b, i128::saturating_mul)),
            BinOp::Min => Some(a.of_ends(b, i128::min)),
            BinOp::Max => Some(a.of_ends(b, i128::max)),
            BinOp::Mod if b.least > 0 => Some(Interval { least: 0, most: b.most - 1 }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const U32: Interval = Interval { least: 0, most: u32::MAX as i128 };

    fn of(op: PrimOp, xs: &[Interval]) -> (i128, i128) {
        let xs: Vec<Option<Interval>> = xs.iter().copied().map(Some).collect();
        let prim = op.result();
        let found = Interval::of_result(op, &xs).filter(|r| r.fits(prim)).or(Interval::of(prim));
        found.map(|r| (r.least, r.most)).unwrap()
    }

    fn number(x: Scalar) -> Interval {
        Interval::of_constant(x).unwrap()
    }

    #[test]
    fn small_numbers_stay_small() {
        let seven = number(Scalar::U32(7));
        assert_eq!(of(PrimOp::Bin(BinOp::And, Prim::U32), &[U32, seven]), (0, 7));
        let digit = Interval { least: 0, most: 7 };
        assert_eq!(of(PrimOp::Conv(Prim::U32, Prim::I64), &[digit]), (0, 7));
        assert_eq!(of(PrimOp::Bin(BinOp::Sub, Prim::I64), &[number(Scalar::I64(1)), digit]), (-6, 1));
        assert_eq!(of(PrimOp::Bin(BinOp::Mul, Prim::I64), &[digit, digit]), (0, 49));
        let all = Interval::of(Prim::I64).unwrap();
        assert_eq!(of(PrimOp::Bin(BinOp::Mod, Prim::I64), &[all, number(Scalar::I64(5))]), (0, 4));
    }

    #[test]
    fn what_may_overflow_is_any_number() {
        let square = Interval { least: 0, most: U32.most * U32.most };
        let more = of(PrimOp::Bin(BinOp::Mul, Prim::I64), &[square, number(Scalar::I64(4))]);
        assert_eq!(more, (i64::MIN.into(), i64::MAX.into()));
        let sum = of(PrimOp::Bin(BinOp::Add, Prim::U32), &[U32, number(Scalar::U32(1))]);
        assert_eq!(sum, (0, U32.most));
        assert_eq!(of(PrimOp::Conv(Prim::U32, Prim::I32), &[U32]), (i32::MIN.into(), i32::MAX.into()));
    }
}
