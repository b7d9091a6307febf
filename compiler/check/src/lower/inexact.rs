//! Arithmetic of floats where other roundings are permitted: `#[fast_math]`, `--fast-math`.
//!
//! ```text
//! a * b + c    fma a b c        rounded once; a chain of them waits half as long
//! a * b - c    fma a b (-c)
//! c - a * b    fma (-a) b c
//! x / 10       x * 0.1          a division by a constant
//! ```
//!
//! This is done where the program is lowered, so every back end computes the same.

use super::Lower;
use par_ir::prim::{BinOp, SpecialOp, UnOp};
use par_ir::{Atom, Prim, PrimOp, Scalar};

impl Lower<'_> {
    /// A built-in operator on floats, with the fewest roundings.
    pub fn inexact(&mut self, op: BinOp, p: Prim, a: Atom, b: Atom) -> Atom {
        match op {
            BinOp::Div => match reciprocal(b) {
                Some(factor) => self.product(p, a, factor),
                None => self.bin(op, p, a, b),
            },
            BinOp::Mul => self.product(p, a, b),
            // Of half precision there is no multiplication that adds.
            BinOp::Add | BinOp::Sub if p != Prim::F16 => self.sum(op, p, a, b),
            _ => self.bin(op, p, a, b),
        }
    }

    fn product(&mut self, p: Prim, a: Atom, b: Atom) -> Atom {
        let product = self.bin(BinOp::Mul, p, a, b);
        if let Atom::Var(var) = product {
            self.facts.inexact.insert(var, (a, b));
        }
        product
    }

    fn sum(&mut self, op: BinOp, p: Prim, a: Atom, b: Atom) -> Atom {
        let factors = |lo: &Self, of: Atom| of.var().and_then(|v| lo.facts.inexact.get(&v).copied());
        let negative = |lo: &mut Self, of: Atom| lo.prim(PrimOp::Un(UnOp::Neg, p), &[of]);
        let (x, y, z) = match (factors(self, a), factors(self, b), op) {
            (_, Some((x, y)), BinOp::Add) => (x, y, a),
            (_, Some((x, y)), _) => (negative(self, x), y, a),
            (Some((x, y)), None, BinOp::Add) => (x, y, b),
            (Some((x, y)), None, _) => (x, y, negative(self, b)),
            (None, None, _) => return self.bin(op, p, a, b),
        };
        self.prim(PrimOp::Special(SpecialOp::Fma, p), &[x, y, z])
    }
}

/// One divided by a constant, if neither is zero, infinite or so small that digits are lost.
fn reciprocal(of: Atom) -> Option<Atom> {
    let Atom::Const(constant) = of else { return None };
    let one = |x: Scalar| {
        Some(match x {
            Scalar::F32(x) if x.is_normal() && x.recip().is_normal() => Scalar::F32(x.recip()),
            Scalar::F64(x) if x.is_normal() && x.recip().is_normal() => Scalar::F64(x.recip()),
            _ => return None,
        })
    };
    one(constant).map(Atom::Const)
}
