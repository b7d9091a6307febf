//! Conversions on registers.

use super::Group;
use super::cost::width;
use super::value::Lanes;
use super::whole::{DIGITS, Float, double_for_single, nearest_double, nearest_single};
use crate::cpu::half;
use cranelift::prelude::*;
use par_ir::{Prim, Scalar};

/// True if a conversion has vector code.
pub fn has_form(from: Prim, to: Prim) -> bool {
    match (from, to) {
        (Prim::F16, Prim::F32) | (Prim::F32, Prim::F16) => true,
        (_, Prim::F16) | (Prim::F16, _) => from == to,
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
        _ if from.is_float() => Lanes::Vector(to_int(s, from, to, x)),
        _ if to.is_float() => Lanes::Vector(to_float(s, from, to, x)),
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

/// Floats cut off; the nearest integer that there is, or 0 for what is no number.
fn to_int(s: &mut Group, from: Prim, to: Prim, x: &Lanes) -> Vec<Value> {
    let regs = s.vector(x, from);
    match (from, to) {
        (_, Prim::I64 | Prim::U64) => to_long(s, from, to, regs),
        (Prim::F32, Prim::I32) => regs.into_iter().map(|x| to_word(s, x)).collect(),
        (Prim::F32, Prim::U32) => regs.into_iter().map(|x| to_unsigned_word(s, x)).collect(),
        _ => {
            let clamped: Vec<Value> = regs.into_iter().map(|x| clamp(s, from, to, x)).collect();
            let words = match from {
                Prim::F32 => clamped.into_iter().map(|x| to_word(s, x)).collect(),
                _ => {
                    let whole: Vec<Value> = clamped.into_iter().map(|x| cut(s, x)).collect();
                    Float::WIDE.to_words(s, &whole)
                }
            };
            resize(s, Prim::I32, to, &Lanes::Vector(words))
        }
    }
}

fn to_word(s: &mut Group, x: Value) -> Value {
    s.e.b.ins().fcvt_to_sint_sat(types::I32X4, x)
}

/// Conversion to an unsigned integer by the signed one: a number above its range is reduced by 2 to the power of the sign bit, which is set afterwards.
fn to_unsigned_word(s: &mut Group, x: Value) -> Value {
    let (zero, middle) = (s.constant(Scalar::F32(0.0)), s.constant(Scalar::F32((1u32 << 31) as f32)));
    let x = at_least_zero(s, x, zero);
    let is_large = s.e.b.ins().fcmp(FloatCC::GreaterThanOrEqual, x, middle);
    let less = s.blend_register(is_large, middle, zero);
    let x = s.e.b.ins().fsub(x, less);
    let word = to_word(s, x);
    let (none, first) = (s.constant(Scalar::U32(0)), s.constant(Scalar::U32(1 << 31)));
    let first = s.blend_register(is_large, first, none);
    s.e.b.ins().bxor(word, first)
}

/// Zero instead of what is below it or no number.
fn at_least_zero(s: &mut Group, x: Value, zero: Value) -> Value {
    let is_above = s.e.b.ins().fcmp(FloatCC::GreaterThan, x, zero);
    s.blend_register(is_above, x, zero)
}

/// The nearest float between the ends of an integer type, which are floats; what is no number stays.
fn clamp(s: &mut Group, from: Prim, to: Prim, x: Value) -> Value {
    let bits = to.bits();
    let (lowest, highest) = match to.is_signed() {
        true => (-((1u64 << (bits - 1)) as f64), ((1u64 << (bits - 1)) - 1) as f64),
        false => (0.0, ((1u64 << bits) - 1) as f64),
    };
    let [lowest, highest] =
        [lowest, highest].map(|x| s.constant(Scalar::from_f64(from, x).unwrap_or(Scalar::zero(from))));
    let is_above = s.e.b.ins().fcmp(FloatCC::GreaterThan, x, highest);
    let x = s.blend_register(is_above, highest, x);
    let is_below = s.e.b.ins().fcmp(FloatCC::LessThan, x, lowest);
    s.blend_register(is_below, lowest, x)
}

/// A float of 64 bits without what is behind the point; 0 for what is no number.
fn cut(s: &mut Group, x: Value) -> Value {
    let zero = s.constant(Scalar::F64(0.0));
    let is_number = s.e.b.ins().fcmp(FloatCC::Ordered, x, x);
    let whole = s.e.b.ins().trunc(x);
    s.blend_register(is_number, whole, zero)
}

/// Integers of 64 bits, if they have no more than [`DIGITS`]: else the group is left.
fn to_long(s: &mut Group, from: Prim, to: Prim, regs: Vec<Value>) -> Vec<Value> {
    let mut regs = match from {
        Prim::F32 => between_floats(s, Prim::F64, &Lanes::Vector(regs), from),
        _ => regs,
    };
    if !to.is_signed() {
        let zero = s.constant(Scalar::F64(0.0));
        regs = regs.into_iter().map(|x| at_least_zero(s, x, zero)).collect();
    }
    let limit = s.constant(Scalar::F64((1u64 << DIGITS) as f64));
    let small = |s: &mut Group, x: Value| {
        let size = s.e.b.ins().fabs(x);
        s.e.b.ins().fcmp(FloatCC::LessThan, size, limit)
    };
    let small = regs.iter().map(|x| small(s, *x)).collect();
    s.check_lanes(Lanes::Vector(small));
    let whole: Vec<Value> = regs.into_iter().map(|x| s.e.b.ins().trunc(x)).collect();
    Float::WIDE.to_integers(s, &whole)
}

/// The nearest floats.
fn to_float(s: &mut Group, from: Prim, to: Prim, x: &Lanes) -> Vec<Value> {
    let single = to == Prim::F32;
    match (x, from) {
        // Positions are small; where they are not, scalar code does it.
        (Lanes::Steps(first, step), _) => {
            s.small_steps(*first, *step);
            let words = s.progression(*first, *step, Prim::I32);
            of_words(s, single, &words)
        }
        (_, Prim::I64 | Prim::U64) => {
            let nearest = if single { double_for_single } else { nearest_double };
            let regs = s.vector(x, from);
            let doubles: Vec<Value> = regs.into_iter().map(|x| nearest(s, from, x)).collect();
            if single { between_floats(s, to, &Lanes::Vector(doubles), Prim::F64) } else { doubles }
        }
        (_, Prim::U32) => {
            let regs = s.vector(x, from);
            match single {
                true => regs.into_iter().map(|x| nearest_single(s, x)).collect(),
                false => Float::WIDE.of(s, from, &regs),
            }
        }
        _ => {
            let words = resize(s, from, Prim::I32, x);
            of_words(s, single, &words)
        }
    }
}

/// Integers of 32 bits as floats.
fn of_words(s: &mut Group, single: bool, words: &[Value]) -> Vec<Value> {
    match single {
        true => words.iter().map(|x| s.e.b.ins().fcvt_from_sint(types::F32X4, *x)).collect(),
        false => Float::WIDE.of(s, Prim::I32, words),
    }
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
