//! Conversions on registers.

use super::Group;
use super::cost::width;
use super::value::Lanes;
use crate::cpu::half;
use cranelift::prelude::*;
use par_ir::prim::PrimOp;
use par_ir::{Prim, Scalar};

/// Whether a conversion has code on registers.
pub fn has_form(from: Prim, to: Prim) -> bool {
    match (from, to) {
        (Prim::F16, Prim::F32) | (Prim::F32, Prim::F16 | Prim::F64) | (Prim::F64, Prim::F32) => true,
        (_, Prim::F16) | (Prim::F16, _) => from == to,
        (_, Prim::Bool) | (Prim::Bool, _) => true,
        // Numbers of 64 bits do not have it, but steps do.
        (Prim::I64, _) if to.is_float() => true,
        _ if to.is_float() => from.is_float() || width(from) < 4 || (width(from) == 4 && from.is_signed()),
        _ if from.is_float() => from == Prim::F32 && width(to) == 4,
        _ => true,
    }
}

/// The conversion of a value that differs between lanes.
pub fn apply(s: &mut Group, from: Prim, to: Prim, x: &Lanes) -> Lanes {
    match (from, to) {
        _ if from == to => x.clone(),
        (Prim::F16, Prim::F32) => Lanes::Vector(s.vector(x, from)),
        (_, Prim::Bool) => Lanes::Vector(not_zero(s, from, x)),
        (Prim::Bool, _) => Lanes::Vector(from_bool(s, to, x)),
        _ if from.is_float() && to.is_float() => Lanes::Vector(between_floats(s, to, x, from)),
        _ if from.is_float() => Lanes::Vector(to_int(s, to, x)),
        _ if to.is_float() => to_float(s, from, to, x),
        _ => Lanes::Vector(resize(s, from, to, x)),
    }
}

fn not_zero(s: &mut Group, from: Prim, x: &Lanes) -> Vec<Value> {
    let regs = s.vector(x, from);
    let zero = s.constant(Scalar::zero(from));
    let register = |s: &mut Group, x: Value| {
        if from.is_float() {
            s.e.b.ins().fcmp(FloatCC::NotEqual, x, zero)
        } else {
            s.e.b.ins().icmp(IntCC::NotEqual, x, zero)
        }
    };
    regs.into_iter().map(|x| register(s, x)).collect()
}

fn from_bool(s: &mut Group, to: Prim, x: &Lanes) -> Vec<Value> {
    let one = match to.is_float() {
        true => Scalar::from_f64(to, 1.0).unwrap_or(Scalar::zero(to)),
        false => Scalar::from_bits(to, 1),
    };
    let one = s.constant(one);
    let ty = s.e.b.func.dfg.value_type(one);
    let masks = s.mask(x, Some(width(to)));
    let register = |s: &mut Group, mask: Value| {
        let mask = s.cast(mask, ty);
        s.e.b.ins().band(mask, one)
    };
    masks.into_iter().map(|m| register(s, m)).collect()
}

fn between_floats(s: &mut Group, to: Prim, x: &Lanes, from: Prim) -> Vec<Value> {
    let regs = s.vector(x, from);
    match to {
        Prim::F16 => regs.into_iter().map(|x| half::round(&mut s.e.b, x)).collect(),
        Prim::F64 => halves(s, &regs).into_iter().map(|x| s.e.b.ins().fvpromote_low(x)).collect(),
        _ => {
            let single: Vec<Value> = regs.into_iter().map(|x| s.e.b.ins().fvdemote(x)).collect();
            join_halves(s, &single)
        }
    }
}

/// The upper half of a register as the lower.
const UPPER: [u8; 16] = [8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15];
/// The lower halves of two registers.
const LOWER: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23];

/// Every half of registers of 32 bits a lane, as the lower half of a register.
pub fn halves(s: &mut Group, regs: &[Value]) -> Vec<Value> {
    let ty = s.e.b.func.dfg.value_type(regs[0]);
    let mut halves: Vec<Value> = regs.iter().flat_map(|r| [*r, s.shuffle(*r, *r, UPPER, ty)]).collect();
    halves.truncate(s.registers(8));
    halves
}

fn join_halves(s: &mut Group, regs: &[Value]) -> Vec<Value> {
    let ty = s.e.b.func.dfg.value_type(regs[0]);
    regs.chunks(2).map(|c| s.shuffle(c[0], c[c.len() - 1], LOWER, ty)).collect()
}

fn to_int(s: &mut Group, to: Prim, x: &Lanes) -> Vec<Value> {
    let regs = s.vector(x, Prim::F32);
    let signed = to.is_signed();
    let register = |s: &mut Group, x: Value| {
        let ins = s.e.b.ins();
        if signed { ins.fcvt_to_sint_sat(types::I32X4, x) } else { ins.fcvt_to_uint_sat(types::I32X4, x) }
    };
    regs.into_iter().map(|x| register(s, x)).collect()
}

fn to_float(s: &mut Group, from: Prim, to: Prim, x: &Lanes) -> Lanes {
    let regs = match x {
        // Positions are small; where they are not, scalar code does it.
        Lanes::Steps(first, step) => {
            s.small_steps(*first, *step);
            s.progression(*first, *step, Prim::I32)
        }
        _ if width(from) == 8 => return s.by_lane(PrimOp::Conv(from, to), std::slice::from_ref(x), None),
        _ => resize(s, from, Prim::I32, x),
    };
    if to == Prim::F32 {
        return Lanes::Vector(
            regs.into_iter().map(|x| s.e.b.ins().fcvt_from_sint(types::F32X4, x)).collect(),
        );
    }
    let register = |s: &mut Group, x: Value| {
        let wide = s.e.b.ins().swiden_low(x);
        s.e.b.ins().fcvt_from_sint(types::F64X2, wide)
    };
    Lanes::Vector(halves(s, &regs).into_iter().map(|x| register(s, x)).collect())
}

/// Integers of another width.
pub fn resize(s: &mut Group, from: Prim, to: Prim, x: &Lanes) -> Vec<Value> {
    if let Lanes::Steps(first, step) = x {
        return s.progression(*first, *step, to);
    }
    let mut regs = s.vector(x, from);
    while s.lane_bytes(regs[0]) < width(to) {
        regs = s.widen(&regs, from.is_signed());
    }
    while s.lane_bytes(regs[0]) > width(to) {
        regs = s.narrow(&regs);
    }
    regs
}

/// Bools as they are stored: bytes 0 or 1.
pub fn stored_bools(s: &mut Group, x: &Lanes) -> Vec<Value> {
    from_bool(s, Prim::U8, x)
}
