//! Conversions between scalar types.

use super::emit::clif_type;
use super::half;
use cranelift::prelude::*;
use cranelift_codegen::ir::{Endianness, MemFlagsData};
use par_ir::Prim;

/// For bit casts of the same width.
pub fn bits() -> MemFlagsData {
    MemFlagsData::new().with_endianness(Endianness::Little)
}

/// `x` of type `from` as `to`: integers wrap; floats truncate and saturate.
pub fn convert(b: &mut FunctionBuilder, from: Prim, to: Prim, x: Value) -> Value {
    match (from, to) {
        _ if from == to => x,
        // An `f16` is in a register what the same `f32` is.
        (Prim::F16, Prim::F32) => x,
        (Prim::F32, Prim::F16) => half::round(b, x),
        (Prim::F64, Prim::F16) => half::round_f64(b, x),
        (Prim::F16 | Prim::F32, Prim::F64) => b.ins().fpromote(types::F64, x),
        (Prim::F64, Prim::F32) => b.ins().fdemote(types::F32, x),
        (_, Prim::Bool) => not_zero(b, from, x),
        _ if from.is_float() => float_to_int(b, to, x),
        _ if to.is_float() => int_to_float(b, from, to, x),
        _ => resize(b, from, to, x),
    }
}

/// A narrow integer at 64 bits.
pub fn widen(b: &mut FunctionBuilder, from: Prim, x: Value) -> Value {
    resize(b, from, Prim::I64, x)
}

/// The bits of an integer at 64 bits.
pub fn zero_extend(b: &mut FunctionBuilder, x: Value) -> Value {
    if b.func.dfg.value_type(x) == types::I64 { x } else { b.ins().uextend(types::I64, x) }
}

fn resize(b: &mut FunctionBuilder, from: Prim, to: Prim, x: Value) -> Value {
    let ty = clif_type(to);
    match from.size().cmp(&to.size()) {
        std::cmp::Ordering::Equal => x,
        std::cmp::Ordering::Greater => b.ins().ireduce(ty, x),
        std::cmp::Ordering::Less if from.is_signed() => b.ins().sextend(ty, x),
        std::cmp::Ordering::Less => b.ins().uextend(ty, x),
    }
}

fn not_zero(b: &mut FunctionBuilder, from: Prim, x: Value) -> Value {
    match from {
        Prim::F16 | Prim::F32 => {
            let zero = b.ins().f32const(0.0);
            b.ins().fcmp(FloatCC::NotEqual, x, zero)
        }
        Prim::F64 => {
            let zero = b.ins().f64const(0.0);
            b.ins().fcmp(FloatCC::NotEqual, x, zero)
        }
        _ => b.ins().icmp_imm_s(IntCC::NotEqual, x, 0),
    }
}

/// Types below 32 bits have no saturating instruction: saturate at 32, then clamp.
fn float_to_int(b: &mut FunctionBuilder, to: Prim, x: Value) -> Value {
    let wide = if to.size() == 8 { types::I64 } else { types::I32 };
    let n =
        if to.is_signed() { b.ins().fcvt_to_sint_sat(wide, x) } else { b.ins().fcvt_to_uint_sat(wide, x) };
    if to.size() >= 4 {
        return n;
    }
    let (low, high, less) = if to.is_signed() {
        (-1i64 << (to.bits() - 1), (1i64 << (to.bits() - 1)) - 1, IntCC::SignedLessThan)
    } else {
        (0, (1i64 << to.bits()) - 1, IntCC::UnsignedLessThan)
    };
    let low = b.ins().iconst(types::I32, low as u32 as i64);
    let high = b.ins().iconst(types::I32, high);
    let below = b.ins().icmp(less, n, low);
    let n = b.ins().select(below, low, n);
    let above = b.ins().icmp(less, high, n);
    let n = b.ins().select(above, high, n);
    b.ins().ireduce(clif_type(to), n)
}

fn int_to_float(b: &mut FunctionBuilder, from: Prim, to: Prim, x: Value) -> Value {
    let ty = clif_type(to);
    let x = match from {
        Prim::U64 => b.ins().fcvt_from_uint(ty, x),
        _ => {
            let x = widen(b, from, x);
            b.ins().fcvt_from_sint(ty, x)
        }
    };
    // Integers that `f32` has to round are too large for `f16`.
    if to == Prim::F16 { half::round(b, x) } else { x }
}
