//! Conversions.

use super::{int, is_wide, round};
use crate::emit::{Emitter, Operand};
use crate::module::{Import, val_type};
use par_runtime::Prim;
use wasm_encoder::{Instruction as I, ValType};

pub fn convert(e: &mut Emitter, from: Prim, to: Prim, x: Operand) {
    e.push(x);
    match (from.is_float(), to) {
        _ if from == to => {}
        (true, Prim::Bool) => {
            let wide = is_wide(from);
            let zero = if wide { I::F64Const(0.0.into()) } else { I::F32Const(0.0.into()) };
            e.emit([zero, if wide { I::F64Ne } else { I::F32Ne }]);
        }
        (false, Prim::Bool) if is_wide(from) => e.emit([I::I64Const(0), I::I64Ne]),
        (false, Prim::Bool) => e.emit([I::I32Const(0), I::I32Ne]),
        (true, _) if to.is_float() => resize(e, from, to),
        (true, _) => truncate(e, from, to),
        (false, _) if to.is_float() => to_float(e, from, to),
        (false, _) => {
            match (is_wide(from), is_wide(to)) {
                (true, false) => e.emit([I::I32WrapI64]),
                (false, true) if from.is_signed() => e.emit([I::I64ExtendI32S]),
                (false, true) => e.emit([I::I64ExtendI32U]),
                _ => {}
            }
            int::normalise(e, to);
        }
    }
}

/// Between floats.
fn resize(e: &mut Emitter, from: Prim, to: Prim) {
    match (is_wide(from), to) {
        (true, Prim::F16) => e.call(Import::Narrow),
        (true, Prim::F32) => e.emit([I::F32DemoteF64]),
        (false, Prim::F64) => e.emit([I::F64PromoteF32]),
        (false, Prim::F16) => round(e),
        _ => {}
    }
}

/// A float to an integer: rounded towards zero, the nearest there is, 0 for NaN.
fn truncate(e: &mut Emitter, from: Prim, to: Prim) {
    let wide = is_wide(from);
    e.emit([match (val_type(to), to.is_signed(), wide) {
        (ValType::I64, true, false) => I::I64TruncSatF32S,
        (ValType::I64, true, true) => I::I64TruncSatF64S,
        (ValType::I64, false, false) => I::I64TruncSatF32U,
        (ValType::I64, false, true) => I::I64TruncSatF64U,
        (_, true, false) => I::I32TruncSatF32S,
        (_, true, true) => I::I32TruncSatF64S,
        (_, false, false) => I::I32TruncSatF32U,
        (_, false, true) => I::I32TruncSatF64U,
    }]);
    if to.bits() < 32 {
        let bits = to.bits() - u32::from(to.is_signed());
        let most = (1 << bits) - 1;
        limit(e, most, I::I32LtU, to.is_signed().then_some(-most - 1));
    }
}

/// Limits the number on the stack to a range.
fn limit(e: &mut Emitter, most: i32, less: I<'static>, least: Option<i32>) {
    let x = e.local(ValType::I32);
    let less = if least.is_some() { I::I32LtS } else { less };
    e.emit([I::LocalTee(x), I::I32Const(most), I::LocalGet(x), I::I32Const(most), less, I::Select]);
    if let Some(least) = least {
        e.emit([
            I::LocalTee(x),
            I::I32Const(least),
            I::LocalGet(x),
            I::I32Const(least),
            I::I32GtS,
            I::Select,
        ]);
    }
}

fn to_float(e: &mut Emitter, from: Prim, to: Prim) {
    let (signed, wide) = (from.is_signed(), is_wide(from));
    if to == Prim::F32 {
        return e.emit([match (wide, signed) {
            (false, true) => I::F32ConvertI32S,
            (false, false) => I::F32ConvertI32U,
            (true, true) => I::F32ConvertI64S,
            (true, false) => I::F32ConvertI64U,
        }]);
    }
    e.emit([match (wide, signed) {
        (false, true) => I::F64ConvertI32S,
        (false, false) => I::F64ConvertI32U,
        (true, true) => I::F64ConvertI64S,
        (true, false) => I::F64ConvertI64U,
    }]);
    if to == Prim::F16 {
        e.call(Import::Narrow);
    }
}
