//! Divisions by powers of two, as shifts and masks.

use super::Group;
use super::value::Lanes;
use cranelift::prelude::*;
use par_ir::prim::{BinOp, PrimOp};
use par_ir::ty::Atom;
use par_ir::{Prim, Scalar};

/// What a division by a power of two is on registers of integers.
#[derive(Clone, Copy)]
pub struct Shift {
    op: BinOp,
    prim: Prim,
    bits: u32,
}

impl Shift {
    /// Of an operator, if there is one. The remainder of a signed quotient that is rounded to zero has none.
    pub fn of(op: PrimOp, operands: &[Atom]) -> Option<Shift> {
        let PrimOp::Bin(op @ (BinOp::Div | BinOp::Mod | BinOp::Quot | BinOp::Rem), prim) = op else {
            return None;
        };
        let divisor = operands.get(1)?.as_i64().filter(|n| *n > 1 && n & (n - 1) == 0)?;
        let fits = prim.is_integer() && prim.size() >= 4;
        let has_form = fits && !(prim.is_signed() && op == BinOp::Rem);
        has_form.then(|| Shift { op, prim, bits: divisor.trailing_zeros() })
    }

    /// Of numbers in registers.
    pub fn apply(self, s: &mut Group, x: &Lanes) -> Lanes {
        let regs = s.vector(x, self.prim);
        Lanes::Vector(regs.into_iter().map(|x| self.register(s, x)).collect())
    }

    fn register(self, s: &mut Group, x: Value) -> Value {
        let Shift { op, prim, bits } = self;
        let count = s.e.b.ins().iconst(types::I32, bits as i64);
        match op {
            BinOp::Mod | BinOp::Rem => {
                let left = s.constant(Scalar::from_bits(prim, (1 << bits) - 1));
                s.e.b.ins().band(x, left)
            }
            _ if !prim.is_signed() => s.e.b.ins().ushr(x, count),
            BinOp::Div => s.e.b.ins().sshr(x, count),
            // What is below 0 is rounded up.
            _ => {
                let sign = s.e.b.ins().iconst(types::I32, prim.bits() as i64 - 1);
                let rest = s.e.b.ins().iconst(types::I32, prim.bits() as i64 - bits as i64);
                let signs = s.e.b.ins().sshr(x, sign);
                let most = s.e.b.ins().ushr(signs, rest);
                let x = s.e.b.ins().iadd(x, most);
                s.e.b.ins().sshr(x, count)
            }
        }
    }
}
