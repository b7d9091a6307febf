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

/// The nearest integer that there is, by conversions to integers with a sign: types below 32 bits are clamped behind that of 32 bits, 32 bits
/// without a sign behind that of 64.
fn float_to_int(b: &mut FunctionBuilder, to: Prim, x: Value) -> Value {
    let wide = if to.size() == 8 || to == Prim::U32 { types::I64 } else { types::I32 };
    if to == Prim::U64 {
        return float_to_unsigned_long(b, x);
    }
    let n = b.ins().fcvt_to_sint_sat(wide, x);
    if to.is_signed() && to.size() >= 4 {
        return n;
    }
    let (low, high) = match to.is_signed() {
        true => (-1i64 << (to.bits() - 1), (1i64 << (to.bits() - 1)) - 1),
        false => (0, (1i64 << to.bits()) - 1),
    };
    let low = if wide == types::I32 { low as u32 as i64 } else { low };
    let [low, high] = [low, high].map(|x| b.ins().iconst(wide, x));
    let n = b.ins().smax(n, low);
    let n = b.ins().smin(n, high);
    b.ins().ireduce(clif_type(to), n)
}

/// Conversion to an unsigned integer by the signed one: a number above its range is reduced by 2 to the power of the sign bit, which is set afterwards.
fn float_to_unsigned_long(b: &mut FunctionBuilder, x: Value) -> Value {
    let middle = match b.func.dfg.value_type(x) {
        types::F32 => b.ins().f32const((1u64 << 63) as f32),
        _ => b.ins().f64const((1u64 << 63) as f64),
    };
    let is_large = b.ins().fcmp(FloatCC::GreaterThanOrEqual, x, middle);
    let less = b.ins().fsub(x, middle);
    let x = b.ins().select(is_large, less, x);
    let n = b.ins().fcvt_to_sint_sat(types::I64, x);
    let zero = b.ins().iconst(types::I64, 0);
    let n = b.ins().smax(n, zero);
    let large = b.ins().bxor_imm_s(n, i64::MIN);
    b.ins().select(is_large, large, n)
}

fn int_to_float(b: &mut FunctionBuilder, from: Prim, to: Prim, x: Value) -> Value {
    let ty = clif_type(to);
    let x = match from {
        Prim::U64 => unsigned_long_to_float(b, ty, x),
        _ => {
            let x = widen(b, from, x);
            b.ins().fcvt_from_sint(ty, x)
        }
    };
    // Integers that `f32` has to round are too large for `f16`.
    if to == Prim::F16 { half::round(b, x) } else { x }
}

/// Half of an integer whose first digit is set, where the last digit says whether any was lost, twice.
fn unsigned_long_to_float(b: &mut FunctionBuilder, ty: Type, x: Value) -> Value {
    let half = b.ins().ushr_imm_u(x, 1);
    let last = b.ins().band_imm_s(x, 1);
    let half = b.ins().bor(half, last);
    let is_large = b.ins().icmp_imm_s(IntCC::SignedLessThan, x, 0);
    let x = b.ins().select(is_large, half, x);
    let float = b.ins().fcvt_from_sint(ty, x);
    let twice = b.ins().fadd(float, float);
    b.ins().select(is_large, twice, float)
}
