//! `f16` on a processor that computes with `f32`.
//!
//! An `f16` is two bytes in memory and an `f32` of the same value in registers. Each operator computes at `f32` and rounds the
//! result to the numbers that `f16` has, which is as good as computing at `f16`: `f32` has more than twice as many bits. All
//! here is straight-line code on vectors, without a call, and does not touch subnormal `f32`s,
//! which are slow.
//!
//! Rounding to the nearest, ties to even, is left to an addition: with `m = 1.5 * 2^(e + 13)` for a number `x` of exponent `e`,
//! the last bit of `x + m` is worth `2^(e - 10)`, that of an `f16`; subtracting `m` again is exact.

use super::convert::bits;
use cranelift::prelude::*;

/// Exponents and signs of `f32`, at their place.
const EXPONENT: i64 = 0x7f80_0000;
const SIGN: i64 = 0x8000_0000;
/// The exponent of the smallest normal `f16`, of the largest, and of infinity.
const LOW: i64 = 113 << 23;
const HIGH: i64 = 142 << 23;
const INFINITY: i64 = 143 << 23;
/// Between the exponents of `f16` and `f32`.
const BIAS: i64 = 112 << 23;

/// `f32` rounded to a number that `f16` has.
pub fn round(b: &mut FunctionBuilder, x: Value) -> Value {
    on_vector(b, x, types::F32X4, round_lanes)
}

/// The 16 bits of an `f16`, extended with zeros to 32, as `f32`.
pub fn expand(b: &mut FunctionBuilder, half: Value) -> Value {
    on_vector(b, half, types::I32X4, expand_lanes)
}

/// The bits of an `f32` that is an `f16`, extended with zeros to 32.
pub fn compress(b: &mut FunctionBuilder, x: Value) -> Value {
    on_vector(b, x, types::F32X4, compress_lanes)
}

/// A scalar is done as the first lane of a vector too: what alternates between the arithmetic of integers and of floats need
/// not leave the vector registers, which would take longer than the arithmetic.
fn on_vector(
    b: &mut FunctionBuilder,
    x: Value,
    vector: Type,
    code: fn(&mut FunctionBuilder, Value) -> Value,
) -> Value {
    if b.func.dfg.value_type(x).is_vector() {
        return code(b, x);
    }
    let x = b.ins().scalar_to_vector(vector, x);
    let result = code(b, x);
    b.ins().extractlane(result, 0)
}

fn round_lanes(b: &mut FunctionBuilder, x: Value) -> Value {
    let ty = b.func.dfg.value_type(x);
    let whole = b.ins().bitcast(ty.as_int(), bits(), x);
    let exponent = mask(b, whole, EXPONENT);
    let magic = magic(b, exponent, LOW, HIGH, (13 << 23) | (1 << 22));
    let magic = b.ins().bitcast(ty, bits(), magic);
    let sum = b.ins().fadd(x, magic);
    let rounded = b.ins().fsub(sum, magic);
    let rounded = overflow(b, rounded);
    with_sign_of(b, rounded, whole)
}

/// `f64` rounded, once, to a number that `f16` has, as `f32`.
pub fn round_f64(b: &mut FunctionBuilder, x: Value) -> Value {
    let whole = b.ins().bitcast(types::I64, bits(), x);
    let exponent = mask(b, whole, 0x7ff << 52);
    let magic = magic(b, exponent, (1023 - 14) << 52, (1023 + 15) << 52, (42 << 52) | (1 << 51));
    let magic = b.ins().bitcast(types::F64, bits(), magic);
    let sum = b.ins().fadd(x, magic);
    let rounded = b.ins().fsub(sum, magic);
    let rounded = b.ins().fdemote(types::F32, rounded);
    let rounded = overflow(b, rounded);
    let high = b.ins().ushr_imm_u(whole, 32);
    let high = b.ins().ireduce(types::I32, high);
    with_sign_of(b, rounded, high)
}

/// The bits of the number to add, for a number with these bits of the exponent.
fn magic(b: &mut FunctionBuilder, exponent: Value, low: i64, high: i64, add: i64) -> Value {
    let ty = b.func.dfg.value_type(exponent);
    let (low, high, add) = (int(b, ty, low), int(b, ty, high), int(b, ty, add));
    let exponent = b.ins().smax(exponent, low);
    let exponent = b.ins().smin(exponent, high);
    b.ins().iadd(exponent, add)
}

/// From 2^16 on infinity: what is multiplied by 2^112 leaves the range of `f32` just there.
fn overflow(b: &mut FunctionBuilder, x: Value) -> Value {
    let ty = b.func.dfg.value_type(x);
    let (up, down) = (float(b, ty, (127 + 112) << 23), float(b, ty, (127 - 112) << 23));
    let far = b.ins().fmul(x, up);
    b.ins().fmul(far, down)
}

/// `x`, whose sign is right unless it is 0, with the sign in `whole`.
fn with_sign_of(b: &mut FunctionBuilder, x: Value, whole: Value) -> Value {
    let ty = b.func.dfg.value_type(x);
    let sign = mask(b, whole, SIGN);
    let x = b.ins().bitcast(ty.as_int(), bits(), x);
    let x = b.ins().bor(x, sign);
    b.ins().bitcast(ty, bits(), x)
}

fn expand_lanes(b: &mut FunctionBuilder, half: Value) -> Value {
    let (int_ty, ty) = (types::I32X4, types::F32X4);
    let magnitude = mask(b, half, 0x7fff);
    let shifted = b.ins().ishl_imm_u(magnitude, 13);
    let (bias, low) = (int(b, int_ty, BIAS), int(b, int_ty, LOW));
    // Infinity and not-a-number have the largest exponent in both types.
    let special = at_least(b, shifted, 31 << 23);
    let extra = b.ins().band(special, bias);
    let normal = b.ins().iadd(shifted, bias);
    let normal = b.ins().iadd(normal, extra);
    // A subnormal number lacks the 1 in front; with it, the number is 2^-14 larger.
    let larger = b.ins().iadd(shifted, low);
    let larger = b.ins().bitcast(ty, bits(), larger);
    let difference = float(b, ty, LOW);
    let subnormal = b.ins().fsub(larger, difference);
    let subnormal = b.ins().bitcast(int_ty, bits(), subnormal);
    let is_normal = at_least(b, shifted, 1 << 23);
    let magnitude = b.ins().bitselect(is_normal, normal, subnormal);
    let sign = mask(b, half, 0x8000);
    let sign = b.ins().ishl_imm_u(sign, 16);
    let whole = b.ins().bor(magnitude, sign);
    b.ins().bitcast(ty, bits(), whole)
}

fn compress_lanes(b: &mut FunctionBuilder, x: Value) -> Value {
    let (int_ty, ty) = (types::I32X4, types::F32X4);
    let whole = b.ins().bitcast(int_ty, bits(), x);
    let magnitude = mask(b, whole, SIGN - 1);
    let bias = int(b, int_ty, BIAS);
    let special = at_least(b, magnitude, INFINITY);
    let extra = b.ins().band(special, bias);
    let normal = b.ins().isub(magnitude, bias);
    let normal = b.ins().isub(normal, extra);
    let normal = b.ins().ushr_imm_u(normal, 13);
    // Subnormal numbers are multiples of 2^-24, the worth of the last bit of 0.5 + x.
    let half = float(b, ty, 126 << 23);
    let positive = b.ins().bitcast(ty, bits(), magnitude);
    let sum = b.ins().fadd(positive, half);
    let sum = b.ins().bitcast(int_ty, bits(), sum);
    let half = int(b, int_ty, 126 << 23);
    let subnormal = b.ins().isub(sum, half);
    let is_normal = at_least(b, magnitude, LOW);
    let bits16 = b.ins().bitselect(is_normal, normal, subnormal);
    let sign = b.ins().ushr_imm_u(whole, 16);
    let sign = mask(b, sign, 0x8000);
    b.ins().bor(bits16, sign)
}

/// All bits set where a positive integer is at least `limit`, none elsewhere.
fn at_least(b: &mut FunctionBuilder, x: Value, limit: i64) -> Value {
    let ty = b.func.dfg.value_type(x);
    let below = int(b, ty, limit - 1);
    b.ins().icmp(IntCC::SignedGreaterThan, x, below)
}

fn mask(b: &mut FunctionBuilder, x: Value, bits: i64) -> Value {
    let ty = b.func.dfg.value_type(x);
    let bits = int(b, ty, bits);
    b.ins().band(x, bits)
}

fn int(b: &mut FunctionBuilder, ty: Type, x: i64) -> Value {
    let x = b.ins().iconst(ty.lane_type(), x);
    if ty.is_vector() { b.ins().splat(ty, x) } else { x }
}

/// The `f32` of these bits.
fn float(b: &mut FunctionBuilder, ty: Type, bits: i64) -> Value {
    let x = b.ins().f32const(f32::from_bits(bits as u32));
    if ty.is_vector() { b.ins().splat(ty, x) } else { x }
}
