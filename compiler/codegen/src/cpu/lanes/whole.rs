//! Whole numbers in registers of floats, and back.
//!
//! ```text
//! x of 64 bits, exactly      (x + bits c) as a float - c            |x| < 2^51, c = 3 * 2^51, whose last digit counts ones
//! x of 64 bits, rounded      ((x >> 32) above 2^84 - c) + (x & (2^32 - 1)) above 2^52
//! a float, cut off           bits (trunc x + c) - bits c            |x| < 2^51
//! ```

use super::Group;
use super::convert::halves;
use super::value::Lanes;
use cranelift::prelude::*;
use cranelift_codegen::ir::{InstructionData, Opcode};
use par_ir::{Prim, Scalar};

/// Digits of the integers of 64 bits that floats of 64 bits are computed with here.
pub const DIGITS: u32 = 50;

/// The floats that integers are computed as.
#[derive(Clone, Copy)]
pub struct Float {
    pub prim: Prim,
    lanes: Type,
    ints: Type,
    /// A float whose last digit counts ones, and to which numbers below 0 can be added: the last digits of a sum are those of the number added.
    ones: f64,
}

impl Float {
    /// For integers of 32 and 64 bits.
    pub const WIDE: Float =
        Float { prim: Prim::F64, lanes: types::F64X2, ints: types::I64X2, ones: 6_755_399_441_055_744.0 };
    /// For integers of 16 bits and fewer, each of which has 32.
    pub const NARROW: Float =
        Float { prim: Prim::F32, lanes: types::F32X4, ints: types::I32X4, ones: 12_582_912.0 };

    pub fn number(self, x: f64) -> Scalar {
        Scalar::from_f64(self.prim, x).unwrap_or(Scalar::zero(self.prim))
    }

    /// The digits of a number in each lane.
    fn digits(self, s: &mut Group, x: f64) -> Value {
        let digits = s.constant(self.number(x));
        s.cast(digits, self.ints)
    }

    /// One half, with the sign of a float.
    pub fn half_like(self, s: &mut Group, x: Value) -> Value {
        let (sign, half) = (self.digits(s, -0.0), self.digits(s, 0.5));
        let x = s.cast(x, self.ints);
        let sign = s.e.b.ins().band(x, sign);
        let half = s.e.b.ins().bor(sign, half);
        s.cast(half, self.lanes)
    }

    /// Integers as floats, exactly: of 64 bits, if they have no more than [`DIGITS`].
    pub fn of(self, s: &mut Group, p: Prim, regs: &[Value]) -> Vec<Value> {
        match p.size() {
            8 => regs.iter().map(|x| self.of_long(s, *x)).collect(),
            _ if self.prim == Prim::F32 => {
                regs.iter().map(|x| s.e.b.ins().fcvt_from_sint(self.lanes, *x)).collect()
            }
            _ => self.of_words(s, p, regs),
        }
    }

    fn of_long(self, s: &mut Group, x: Value) -> Value {
        let (ones, digits) = (s.constant(self.number(self.ones)), self.digits(s, self.ones));
        let sum = s.e.b.ins().iadd(x, digits);
        let sum = s.cast(sum, self.lanes);
        s.e.b.ins().fsub(sum, ones)
    }

    /// Integers of 32 bits.
    fn of_words(self, s: &mut Group, p: Prim, regs: &[Value]) -> Vec<Value> {
        let float = |s: &mut Group, x: Value| {
            let wide = s.e.b.ins().swiden_low(x);
            s.e.b.ins().fcvt_from_sint(self.lanes, wide)
        };
        if p.is_signed() || regs.iter().all(|x| has_no_sign(s, *x)) {
            return halves(s, regs).into_iter().map(|x| float(s, x)).collect();
        }
        // From the middle of their range.
        let (middle, distance) =
            (s.constant(Scalar::U32(1 << 31)), s.constant(self.number(f64::from(1u32 << 31))));
        let signed: Vec<Value> = regs.iter().map(|x| s.e.b.ins().bxor(*x, middle)).collect();
        let from_middle = |s: &mut Group, x: Value| {
            let x = float(s, x);
            s.e.b.ins().fadd(x, distance)
        };
        halves(s, &signed).into_iter().map(|x| from_middle(s, x)).collect()
    }

    /// Whole numbers as integers of 32 bits.
    pub fn to_words(self, s: &mut Group, regs: &[Value]) -> Vec<Value> {
        match self.prim {
            Prim::F64 => {
                let sums = self.sums(s, regs);
                s.narrow(&sums)
            }
            _ => self.to_integers(s, regs),
        }
    }

    /// Whole numbers as integers with as many bits as the floats.
    pub fn to_integers(self, s: &mut Group, regs: &[Value]) -> Vec<Value> {
        let ones = self.digits(s, self.ones);
        self.sums(s, regs).into_iter().map(|x| s.e.b.ins().isub(x, ones)).collect()
    }

    fn sums(self, s: &mut Group, regs: &[Value]) -> Vec<Value> {
        let ones = s.constant(self.number(self.ones));
        let sum = |s: &mut Group, x: Value| {
            let sum = s.e.b.ins().fadd(x, ones);
            s.cast(sum, self.ints)
        };
        regs.iter().map(|x| sum(s, *x)).collect()
    }
}

/// Leaves the group unless integers of 64 bits have no more than [`DIGITS`].
pub fn stay_if_small(s: &mut Group, p: Prim, regs: &[Value]) {
    let (bias, digits) = if p.is_signed() { (1i64 << DIGITS, DIGITS + 1) } else { (0, DIGITS) };
    let (bias, above) = (s.constant(Scalar::I64(bias)), s.constant(Scalar::I64(-1 << digits)));
    let small = |s: &mut Group, x: Value| {
        let x = s.e.b.ins().iadd(x, bias);
        is_clear(s, x, above)
    };
    let small = regs.iter().map(|x| small(s, *x)).collect();
    s.check_lanes(Lanes::Vector(small));
}

/// The lanes in which none of some digits is set.
fn is_clear(s: &mut Group, x: Value, digits: Value) -> Value {
    let zero = s.constant(Scalar::I64(0));
    let set = s.e.b.ins().band(x, digits);
    s.e.b.ins().icmp(IntCC::Equal, set, zero)
}

/// A power of two with these digits below it, which count ones or 2^32.
fn above(s: &mut Group, digits: Value, exponent: u64) -> Value {
    let exponent = s.constant(Scalar::I64((exponent << 52) as i64));
    let bits = s.e.b.ins().bor(digits, exponent);
    s.cast(bits, types::F64X2)
}

/// An integer of 64 bits as the nearest float of 64 bits.
pub fn nearest_double(s: &mut Group, p: Prim, x: Value) -> Value {
    let (two_52, two_63, two_84) = ((1u64 << 52) as f64, (1u64 << 63) as f64, (1u128 << 84) as f64);
    let sign = s.constant(Scalar::I64(i64::MIN));
    let (x, bias) = match p.is_signed() {
        true => (s.e.b.ins().bxor(x, sign), two_84 + two_63 + two_52),
        false => (x, two_84 + two_52),
    };
    let half = s.e.b.ins().iconst(types::I32, 32);
    let (high, low) = (s.e.b.ins().ushr(x, half), s.constant(Scalar::I64((1 << 32) - 1)));
    let low = s.e.b.ins().band(x, low);
    let (high, low) = (above(s, high, 1023 + 84), above(s, low, 1023 + 52));
    let bias = s.constant(Scalar::F64(bias));
    let high = s.e.b.ins().fsub(high, bias);
    s.e.b.ins().fadd(high, low)
}

/// An integer of 64 bits as a float of 64 bits, of which the nearest float of 32 bits is that of the integer: digits that no float of 64 bits
/// holds are one digit that says whether any of them is set.
pub fn double_for_single(s: &mut Group, p: Prim, x: Value) -> Value {
    let digits = s.constant(Scalar::I64((1 << 11) - 1));
    let (bias, large) = if p.is_signed() { (1i64 << 52, -1i64 << 53) } else { (0, -1 << 53) };
    let (bias, large) = (s.constant(Scalar::I64(bias)), s.constant(Scalar::I64(large)));
    let moved = s.e.b.ins().iadd(x, bias);
    let small = is_clear(s, moved, large);
    let last = s.e.b.ins().band(x, digits);
    let carried = s.e.b.ins().iadd(last, digits);
    let sticky = s.e.b.ins().bor(x, carried);
    let sticky = s.e.b.ins().band_not(sticky, digits);
    let x = s.blend_register(small, x, sticky);
    nearest_double(s, p, x)
}

/// An integer of 32 bits without a sign as the nearest float of 32 bits: the sum of its halves is rounded once.
pub fn nearest_single(s: &mut Group, x: Value) -> Value {
    if has_no_sign(s, x) {
        return s.e.b.ins().fcvt_from_sint(types::F32X4, x);
    }
    let half = s.e.b.ins().iconst(types::I32, 16);
    let (low, factor) = (s.constant(Scalar::U32(0xffff)), s.constant(Scalar::F32(65536.0)));
    let high = s.e.b.ins().ushr(x, half);
    let low = s.e.b.ins().band(x, low);
    let [high, low] = [high, low].map(|x| s.e.b.ins().fcvt_from_sint(types::F32X4, x));
    let high = s.e.b.ins().fmul(high, factor);
    s.e.b.ins().fadd(high, low)
}

/// True if the first digits of an integer were shifted out.
fn has_no_sign(s: &Group, x: Value) -> bool {
    let dfg = &s.e.b.func.dfg;
    let definition = dfg.value_def(x).inst().map(|i| dfg.insts[i]);
    let Some(InstructionData::Binary { opcode: Opcode::Ushr, args: [_, n] }) = definition else {
        return false;
    };
    s.e.known(n).is_some_and(|n| n > 0)
}
