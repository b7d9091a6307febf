//! Scalar operators as instructions, with exactly the meaning of `PrimOp::eval`. Operands are locals and constants; the result is on the stack.

mod convert;
mod float;
mod int;

use crate::emit::{Done, Emitter, Operand};
use crate::module::{Import, val_type};
use crate::support;
use par_ir::prim::{CmpOp, PrimOp};
use par_runtime::Prim;
use par_runtime::op::call::behind;
use wasm_encoder::{Instruction as I, ValType};

/// One operator.
pub fn emit(e: &mut Emitter, op: PrimOp, x: &[Operand]) -> Done {
    if support::is_call(op) || support::is_call(behind(op)) && float::is_called_at_half(op) {
        call(e, op, x);
        return Ok(());
    }
    match op {
        PrimOp::Un(op, p) if p.is_float() => float::unary(e, op, p, x[0]),
        PrimOp::Un(op, p) => int::unary(e, op, p, x[0]),
        PrimOp::Bin(op, p) if p.is_float() => float::binary(e, op, p, x[0], x[1]),
        PrimOp::Bin(op, p) => int::binary(e, op, p, x[0], x[1]),
        PrimOp::Cmp(op, p) => {
            x.iter().for_each(|x| e.push(*x));
            e.emit([compare(op, p)]);
        }
        PrimOp::Conv(from, to) => convert::convert(e, from, to, x[0]),
        PrimOp::Select(_) => {
            [x[1], x[2], x[0]].iter().for_each(|x| e.push(*x));
            e.emit([I::Select]);
        }
        PrimOp::Special(op, p) if p.is_float() => float::special(e, op, p, x),
        PrimOp::Special(op, p) => int::special(e, op, p, x),
    }
    Ok(())
}

/// A call; operators of `f16` are computed at `f32`, and rounded.
fn call(e: &mut Emitter, op: PrimOp, x: &[Operand]) {
    x.iter().for_each(|x| e.push(*x));
    e.call(Import::Operator(behind(op)));
    match op.result() {
        Prim::F16 => round(e),
        p => int::normalise(e, p),
    }
}

/// Rounds the `f32` on the stack to an `f16`.
fn round(e: &mut Emitter) {
    e.call(Import::Compress);
    e.call(Import::Expand);
}

/// Width of a register.
fn is_wide(p: Prim) -> bool {
    matches!(val_type(p), ValType::I64 | ValType::F64)
}

/// A comparison of what is on the stack.
pub fn compare(op: CmpOp, p: Prim) -> I<'static> {
    use CmpOp::*;
    match (val_type(p), op, p.is_signed()) {
        (ValType::F32, Eq, _) => I::F32Eq,
        (ValType::F32, Ne, _) => I::F32Ne,
        (ValType::F32, Lt, _) => I::F32Lt,
        (ValType::F32, Le, _) => I::F32Le,
        (ValType::F32, Gt, _) => I::F32Gt,
        (ValType::F32, Ge, _) => I::F32Ge,
        (ValType::F64, Eq, _) => I::F64Eq,
        (ValType::F64, Ne, _) => I::F64Ne,
        (ValType::F64, Lt, _) => I::F64Lt,
        (ValType::F64, Le, _) => I::F64Le,
        (ValType::F64, Gt, _) => I::F64Gt,
        (ValType::F64, Ge, _) => I::F64Ge,
        (ValType::I64, Eq, _) => I::I64Eq,
        (ValType::I64, Ne, _) => I::I64Ne,
        (ValType::I64, Lt, true) => I::I64LtS,
        (ValType::I64, Le, true) => I::I64LeS,
        (ValType::I64, Gt, true) => I::I64GtS,
        (ValType::I64, Ge, true) => I::I64GeS,
        (ValType::I64, Lt, false) => I::I64LtU,
        (ValType::I64, Le, false) => I::I64LeU,
        (ValType::I64, Gt, false) => I::I64GtU,
        (ValType::I64, Ge, false) => I::I64GeU,
        (_, Eq, _) => I::I32Eq,
        (_, Ne, _) => I::I32Ne,
        (_, Lt, true) => I::I32LtS,
        (_, Le, true) => I::I32LeS,
        (_, Gt, true) => I::I32GtS,
        (_, Ge, true) => I::I32GeS,
        (_, Lt, false) => I::I32LtU,
        (_, Le, false) => I::I32LeU,
        (_, Gt, false) => I::I32GtU,
        (_, Ge, false) => I::I32GeU,
    }
}
