//! Operators of floats. An `f16` is in a register of `f32`: what is exact there is the same operator, other results are rounded.

use super::{is_wide, round};
use crate::emit::{Emitter, Operand, constant};
use crate::module::Import;
use par_ir::prim::{BinOp, PrimOp, SpecialOp, UnOp};
use par_runtime::{Prim, Scalar};
use wasm_encoder::Instruction as I;

/// The instruction at `f32` or at `f64`.
macro_rules! sized {
    ($p:expr, $narrow:ident, $wide:ident) => {
        if is_wide($p) { I::$wide } else { I::$narrow }
    };
}

/// True if an operator of `f16` is that of `f32`, which is called.
pub fn is_called_at_half(op: PrimOp) -> bool {
    op.result() == Prim::F16 && !matches!(op, PrimOp::Special(SpecialOp::Fma, _))
}

fn number(p: Prim, x: f64) -> I<'static> {
    constant(Scalar::from_f64(p, x).unwrap_or(Scalar::zero(p)))
}

fn rounded(e: &mut Emitter, p: Prim) {
    if p == Prim::F16 {
        round(e);
    }
}

pub fn unary(e: &mut Emitter, op: UnOp, p: Prim, x: Operand) {
    match op {
        UnOp::Recip | UnOp::Rsqrt => {
            e.emit([number(p, 1.0)]);
            e.push(x);
            if op == UnOp::Rsqrt {
                e.emit([sized!(p, F32Sqrt, F64Sqrt)]);
            }
            e.emit([sized!(p, F32Div, F64Div)]);
            return rounded(e, p);
        }
        UnOp::Sgn => return sign(e, p, x),
        _ => e.push(x),
    }
    e.emit([match op {
        UnOp::Neg => sized!(p, F32Neg, F64Neg),
        UnOp::Abs => sized!(p, F32Abs, F64Abs),
        UnOp::Sqrt => sized!(p, F32Sqrt, F64Sqrt),
        UnOp::Floor => sized!(p, F32Floor, F64Floor),
        UnOp::Ceil => sized!(p, F32Ceil, F64Ceil),
        UnOp::Trunc => sized!(p, F32Trunc, F64Trunc),
        // To the nearest; the rest are calls.
        _ => sized!(p, F32Nearest, F64Nearest),
    }]);
    if op == UnOp::Sqrt {
        rounded(e, p);
    }
}

/// Zeros and NaN are their own sign.
fn sign(e: &mut Emitter, p: Prim, x: Operand) {
    e.emit([number(p, 1.0), number(p, -1.0)]);
    e.push(x);
    e.push(x);
    e.emit([number(p, 0.0), sized!(p, F32Lt, F64Lt), I::Select]);
    e.push(x);
    e.emit([number(p, 0.0), sized!(p, F32Gt, F64Gt), I::Select]);
}

pub fn binary(e: &mut Emitter, op: BinOp, p: Prim, x: Operand, y: Operand) {
    e.push(x);
    e.push(y);
    match op {
        BinOp::Add => e.emit([sized!(p, F32Add, F64Add)]),
        BinOp::Sub => e.emit([sized!(p, F32Sub, F64Sub)]),
        BinOp::Mul => e.emit([sized!(p, F32Mul, F64Mul)]),
        BinOp::Min => return extremum(e, sized!(p, F32Lt, F64Lt), p, x, y),
        BinOp::Max => return extremum(e, sized!(p, F32Gt, F64Gt), p, x, y),
        BinOp::Copysign => return e.emit([sized!(p, F32Copysign, F64Copysign)]),
        // Division; the rest are calls.
        _ => e.emit([sized!(p, F32Div, F64Div)]),
    }
    rounded(e, p);
}

/// Of `x` and `y` on the stack `x` if it compares so to `y` or `y` is NaN, else `y`.
fn extremum(e: &mut Emitter, better: I<'static>, p: Prim, x: Operand, y: Operand) {
    e.push(x);
    e.push(y);
    e.emit([better]);
    e.push(y);
    e.push(y);
    e.emit([sized!(p, F32Ne, F64Ne), I::I32Or, I::Select]);
}

pub fn special(e: &mut Emitter, op: SpecialOp, p: Prim, x: &[Operand]) {
    let bin = |e: &mut Emitter, i: I<'static>| {
        e.emit([i]);
        rounded(e, p);
    };
    let (add, sub, mul) = (sized!(p, F32Add, F64Add), sized!(p, F32Sub, F64Sub), sized!(p, F32Mul, F64Mul));
    match op {
        SpecialOp::IsNan => {
            e.push(x[0]);
            e.push(x[0]);
            e.emit([sized!(p, F32Ne, F64Ne)]);
        }
        SpecialOp::IsInf => {
            e.push(x[0]);
            e.emit([sized!(p, F32Abs, F64Abs), number(p, f64::INFINITY), sized!(p, F32Eq, F64Eq)]);
        }
        SpecialOp::ToBits | SpecialOp::FromBits => {
            e.push(x[0]);
            bits(e, op, p);
        }
        SpecialOp::Mad => {
            e.push(x[0]);
            e.push(x[1]);
            bin(e, mul);
            e.push(x[2]);
            bin(e, add);
        }
        SpecialOp::Lerp => {
            e.push(x[0]);
            e.push(x[1]);
            e.push(x[0]);
            bin(e, sub);
            e.push(x[2]);
            bin(e, mul);
            bin(e, add);
        }
        // `Fma` of `f16`; the rest are calls.
        _ => {
            for x in &x[..2] {
                e.push(*x);
                e.emit([I::F64PromoteF32]);
            }
            e.emit([I::F64Mul]);
            e.push(x[2]);
            e.emit([I::F64PromoteF32, I::F64Add]);
            e.call(Import::Narrow);
        }
    }
}

fn bits(e: &mut Emitter, op: SpecialOp, p: Prim) {
    match (op, p) {
        (SpecialOp::ToBits, Prim::F16) => e.call(Import::Compress),
        (_, Prim::F16) => e.call(Import::Expand),
        (SpecialOp::ToBits, _) => e.emit([sized!(p, I32ReinterpretF32, I64ReinterpretF64)]),
        (_, _) => e.emit([sized!(p, F32ReinterpretI32, F64ReinterpretI64)]),
    }
}
