//! Functions that kernels' code calls: for operators without an instruction of their own, and for `f16`.

use crate::module::Import;
use par_ir::prim::{BinOp, PrimOp, SpecialOp};
use par_runtime::math::Fused;
use par_runtime::op::call;
use par_runtime::{Prim, f16, float16};

/// True if an operator is called.
pub fn is_call(op: PrimOp) -> bool {
    call::is_call(op) || own(op).is_some()
}

/// True if an operator that is called has a function.
pub fn exists(op: PrimOp) -> bool {
    own(op).is_some() || call::address(op).is_some()
}

/// The address of a function; in WebAssembly its place in the table of functions.
pub fn address(import: Import) -> Option<usize> {
    Some(match import {
        Import::Operator(op) => match own(op) {
            Some(f) => f as usize,
            None => call::address(op)? as usize,
        },
        Import::Expand => expand as *const u8 as usize,
        Import::Compress => compress as *const u8 as usize,
        Import::Narrow => narrow as *const u8 as usize,
        Import::Rope(_) => return None,
    })
}

/// Exponent bits of an `f16`, and of an `f32`.
const HALF_EXPONENT: u32 = 0x7c00;
const EXPONENT: u32 = 0x7f80_0000;
/// Bits of a fraction that an `f32` has more.
const MORE: u32 = 13;

/// The value of an `f16` from its bits; what is no number keeps them.
pub extern "C" fn expand(bits: u32) -> f32 {
    let x = f16::from_bits(bits as u16);
    if x.is_nan() {
        let (sign, fraction) = (bits & 0x8000, bits & 0x3ff);
        return f32::from_bits((sign << 16) | EXPONENT | (fraction << MORE));
    }
    x.to_f32()
}

/// The bits of the nearest `f16`; what is no number keeps those that there is room for.
pub extern "C" fn compress(x: f32) -> u32 {
    let bits = x.to_bits();
    let fraction = (bits >> MORE) & 0x3ff;
    if x.is_nan() && fraction != 0 {
        return ((bits >> 16) & 0x8000) | HALF_EXPONENT | fraction;
    }
    u32::from(f16::from_f32(x).to_bits())
}

/// The nearest `f16`.
pub extern "C" fn narrow(x: f64) -> f32 {
    float16::from_f64(x).to_f32()
}

extern "C" fn fma_f32(a: f32, b: f32, c: f32) -> f32 {
    a.fused(b, c)
}

extern "C" fn fma_f64(a: f64, b: f64, c: f64) -> f64 {
    a.fused(b, c)
}

extern "C" fn high_i64(a: i64, b: i64) -> i64 {
    ((i128::from(a) * i128::from(b)) >> 64) as i64
}

extern "C" fn high_u64(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 64) as u64
}

/// Functions that only WebAssembly needs.
fn own(op: PrimOp) -> Option<*const u8> {
    Some(match op {
        PrimOp::Special(SpecialOp::Fma, Prim::F32) => fma_f32 as *const u8,
        PrimOp::Special(SpecialOp::Fma, Prim::F64) => fma_f64 as *const u8,
        PrimOp::Bin(BinOp::MulHi, Prim::I64) => high_i64 as *const u8,
        PrimOp::Bin(BinOp::MulHi, Prim::U64) => high_u64 as *const u8,
        _ => return None,
    })
}
