//! Scalar operators on registers: the same meaning, lane by lane, as `primop` gives them on scalars.

use super::Group;
use super::convert;
use super::cost::{BYTES, shifts_by_lane, width};
use super::value::{Lanes, vector_of};
use crate::cpu::emit::clif_type;
use crate::cpu::half;
use crate::cpu::primop::{float_condition, int_condition};
use crate::cpu::wide::LaneShift;
use cranelift::prelude::*;
use par_ir::prim::{BinOp, CmpOp, PrimOp, SpecialOp, UnOp};
use par_ir::{Prim, Scalar};

/// True if an operator has vector code. Shifts have it if all lanes shift by one count, see [`apply`].
pub fn has_form(op: PrimOp) -> bool {
    use BinOp::*;
    match op {
        PrimOp::Un(op, Prim::F16) => matches!(op, UnOp::Neg | UnOp::Abs | UnOp::Sqrt | UnOp::Recip),
        PrimOp::Un(op, p) if p.is_float() => {
            use UnOp::*;
            matches!(op, Neg | Abs | Sgn | Sqrt | Floor | Ceil | Trunc | Round | Recip | Rsqrt)
        }
        PrimOp::Un(op, _) => matches!(op, UnOp::Neg | UnOp::Not | UnOp::Abs | UnOp::Sgn),
        PrimOp::Bin(op, p) if p.is_float() => matches!(op, Add | Sub | BinOp::Mul | Div | Min | Max),
        PrimOp::Bin(Mul, p) => p.size() > 1,
        PrimOp::Bin(op, _) => matches!(op, Add | Sub | Min | Max | And | Or | Xor | Shl | Shr | Lshr),
        PrimOp::Cmp(..) | PrimOp::Select(_) => true,
        PrimOp::Conv(from, to) => convert::has_form(from, to),
        PrimOp::Special(op, p) => match op {
            SpecialOp::IsNan | SpecialOp::IsInf => true,
            SpecialOp::Fma | SpecialOp::Mad | SpecialOp::Lerp => p != Prim::F16,
            SpecialOp::ToBits | SpecialOp::FromBits => p != Prim::F16,
            _ => false,
        },
    }
}

/// The operator on operands of which one at least differs between lanes.
pub fn apply(s: &mut Group, op: PrimOp, xs: &[Lanes]) -> Lanes {
    match op {
        PrimOp::Bin(op @ (BinOp::Shl | BinOp::Shr | BinOp::Lshr), p) => match &xs[1] {
            Lanes::Same(count) => shift(s, op, p, &xs[0], *count),
            _ if shifts_by_lane(PrimOp::Bin(op, p), s.bytes) && s.bytes == BYTES => {
                shift_by_powers(s, p, &xs[0], &xs[1])
            }
            _ if shifts_by_lane(PrimOp::Bin(op, p), s.bytes) => {
                let (numbers, counts) = (s.vector(&xs[0], p), s.vector(&xs[1], p));
                let shifts_signs = op == BinOp::Shr && p.is_signed();
                let by = match op {
                    BinOp::Shl => LaneShift::Left,
                    _ if shifts_signs => LaneShift::RightSigned,
                    _ => LaneShift::Right,
                };
                let registers = numbers.into_iter().zip(counts);
                Lanes::Vector(registers.map(|(x, n)| s.e.shift_lanes(by, x, n)).collect())
            }
            _ => s.by_lane(PrimOp::Bin(op, p), xs, None),
        },
        PrimOp::Select(p) => s.blend(&xs[0], &xs[1], &xs[2], p, false),
        PrimOp::Conv(from, to) => convert::apply(s, from, to, &xs[0]),
        _ if op.operands().contains(&Prim::Bool) => logic(s, op, xs),
        _ => {
            let prims = op.operands();
            let columns: Vec<Vec<Value>> = xs.iter().zip(prims).map(|(x, p)| s.vector(x, p)).collect();
            let register = |s: &mut Group, r: usize| {
                let operands: Vec<Value> = columns.iter().map(|c| c[r]).collect();
                Register { s }.apply(op, &operands)
            };
            Lanes::Vector((0..columns[0].len()).map(|r| register(s, r)).collect())
        }
    }
}

/// On masks.
fn logic(s: &mut Group, op: PrimOp, xs: &[Lanes]) -> Lanes {
    let first = xs.iter().find_map(|x| match x {
        Lanes::Vector(regs) => Some(s.lane_bytes(regs[0])),
        _ => None,
    });
    let bytes = Some(first.unwrap_or(super::value::MASK));
    let columns: Vec<Vec<Value>> = xs.iter().map(|x| s.mask(x, bytes)).collect();
    let register = |s: &mut Group, r: usize| {
        let x = columns[0][r];
        let y = columns.get(1).map_or(x, |c| c[r]);
        let ins = s.e.b.ins();
        match op {
            PrimOp::Un(..) => ins.bnot(x),
            PrimOp::Bin(BinOp::And, _) => ins.band(x, y),
            PrimOp::Bin(BinOp::Or, _) => ins.bor(x, y),
            PrimOp::Bin(..) | PrimOp::Cmp(CmpOp::Ne, _) => ins.bxor(x, y),
            PrimOp::Cmp(CmpOp::Eq, _) => {
                let differ = s.e.b.ins().bxor(x, y);
                s.e.b.ins().bnot(differ)
            }
            // False is less than true.
            PrimOp::Cmp(CmpOp::Lt, _) => ins.band_not(y, x),
            PrimOp::Cmp(CmpOp::Gt, _) => ins.band_not(x, y),
            PrimOp::Cmp(CmpOp::Le, _) => ins.bor_not(y, x),
            _ => ins.bor_not(x, y),
        }
    };
    Lanes::Vector((0..columns[0].len()).map(|r| register(s, r)).collect())
}

/// All lanes by the same count: by the width or more (or a negative count) 0, or the sign.
fn shift(s: &mut Group, op: BinOp, p: Prim, x: &Lanes, count: Value) -> Lanes {
    let fills_sign = op == BinOp::Shr && p.is_signed();
    let regs = s.vector(x, p);
    if let Some(n) = s.e.known(count).filter(|n| (0..i64::from(p.bits())).contains(n)) {
        let n = s.e.b.ins().iconst(types::I32, n);
        return Lanes::Vector(regs.into_iter().map(|x| shifted(s, op, fills_sign, x, n)).collect());
    }
    let limit = s.e.constant(Scalar::from_bits(p, p.bits() as u64));
    let inside = s.e.b.ins().icmp(IntCC::UnsignedLessThan, count, limit);
    let last = s.e.constant(Scalar::from_bits(p, p.bits() as u64 - 1));
    let count = s.e.b.ins().select(inside, count, last);
    let count = match width(p) {
        8 => s.e.b.ins().ireduce(types::I32, count),
        4 => count,
        _ => s.e.b.ins().uextend(types::I32, count),
    };
    // A choice between vectors would be a jump.
    let (all, none) = (s.e.constant(Scalar::from_bits(p, u64::MAX)), s.e.constant(Scalar::zero(p)));
    let kept = s.e.b.ins().select(inside, all, none);
    let kept = s.vector(&Lanes::Same(kept), p);
    let register = |s: &mut Group, (x, kept): (Value, Value)| {
        let shifted = shifted(s, op, fills_sign, x, count);
        if fills_sign { shifted } else { s.e.b.ins().band(shifted, kept) }
    };
    Lanes::Vector(regs.into_iter().zip(kept).map(|x| register(s, x)).collect())
}

/// Lanes of 32 bits shifted to the left by counts of their own: the exponents of floats are powers of two. 2^31 is what a float that is too
/// large becomes, or itself as an unsigned number.
fn shift_by_powers(s: &mut Group, p: Prim, x: &Lanes, counts: &Lanes) -> Lanes {
    const BIAS: u32 = 127;
    const DIGITS: i64 = 23;
    let is_one = matches!(x, Lanes::Same(x) if s.e.known(*x) == Some(1));
    let (regs, counts) = (s.vector(x, p), s.vector(counts, p));
    let (bias, bits) = (s.constant(Scalar::U32(BIAS)), s.constant(Scalar::U32(u32::BITS)));
    let register = |s: &mut Group, (x, count): (Value, Value)| {
        let exponent = s.e.b.ins().iadd(count, bias);
        let float = s.e.b.ins().ishl_imm_u(exponent, DIGITS);
        let float = s.cast(float, types::F32X4);
        let power = match cfg!(target_arch = "x86_64") {
            true => s.e.b.ins().x86_cvtt2dq(types::I32X4, float),
            false => s.e.b.ins().fcvt_to_uint_sat(types::I32X4, float),
        };
        let shifted = if is_one { power } else { s.e.b.ins().imul(x, power) };
        let outside = s.e.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, count, bits);
        s.e.b.ins().band_not(shifted, outside)
    };
    Lanes::Vector(regs.into_iter().zip(counts).map(|x| register(s, x)).collect())
}

/// A register shifted by less than the width of a lane.
fn shifted(s: &mut Group, op: BinOp, fills_sign: bool, x: Value, count: Value) -> Value {
    match op {
        BinOp::Shl => s.e.b.ins().ishl(x, count),
        _ if fills_sign => s.e.b.ins().sshr(x, count),
        _ => s.e.b.ins().ushr(x, count),
    }
}

/// Operators on one register.
pub struct Register<'s, 'e, 'a> {
    pub s: &'s mut Group<'e, 'a>,
}

impl Register<'_, '_, '_> {
    /// An operator whose operands are registers of its types.
    pub fn apply(&mut self, op: PrimOp, x: &[Value]) -> Value {
        match op {
            PrimOp::Un(op, p) if p.is_float() => self.float_unary(op, p, x[0]),
            PrimOp::Un(op, p) => self.int_unary(op, p, x[0]),
            PrimOp::Bin(op, p) if p.is_float() => self.float_binary(op, p, x[0], x[1]),
            PrimOp::Bin(op, p) => self.int_binary(op, p, x[0], x[1]),
            PrimOp::Cmp(op, p) if p.is_float() => self.s.e.b.ins().fcmp(float_condition(op), x[0], x[1]),
            PrimOp::Cmp(op, p) => self.compare(op, p, x[0], x[1]),
            PrimOp::Special(op, p) => self.special(op, p, x),
            PrimOp::Conv(..) | PrimOp::Select(_) => x[0],
        }
    }

    fn constant(&mut self, p: Prim, x: f64) -> Value {
        let x = Scalar::from_f64(p, x).unwrap_or(Scalar::zero(p));
        self.s.constant(x)
    }

    fn int(&mut self, p: Prim, x: i64) -> Value {
        self.s.constant(Scalar::from_bits(p, x as u64))
    }

    fn rounded(&mut self, p: Prim, x: Value) -> Value {
        if p == Prim::F16 { half::round(&mut self.s.e.b, x) } else { x }
    }

    fn float_unary(&mut self, op: UnOp, p: Prim, x: Value) -> Value {
        match op {
            UnOp::Neg => self.s.e.b.ins().fneg(x),
            UnOp::Abs => self.s.e.b.ins().fabs(x),
            UnOp::Floor => self.s.e.b.ins().floor(x),
            UnOp::Ceil => self.s.e.b.ins().ceil(x),
            UnOp::Trunc => self.s.e.b.ins().trunc(x),
            UnOp::Round => self.s.e.b.ins().nearest(x),
            UnOp::Sqrt => {
                let root = self.s.e.b.ins().sqrt(x);
                self.rounded(p, root)
            }
            UnOp::Sgn => {
                let (zero, one, minus) =
                    (self.constant(p, 0.0), self.constant(p, 1.0), self.constant(p, -1.0));
                let positive = self.s.e.b.ins().fcmp(FloatCC::GreaterThan, x, zero);
                let negative = self.s.e.b.ins().fcmp(FloatCC::LessThan, x, zero);
                let otherwise = self.s.blend_register(negative, minus, x);
                self.s.blend_register(positive, one, otherwise)
            }
            // The reciprocal, of the root or of the number.
            _ => {
                let x = if op == UnOp::Rsqrt { self.s.e.b.ins().sqrt(x) } else { x };
                let one = self.constant(p, 1.0);
                let quotient = self.s.e.b.ins().fdiv(one, x);
                self.rounded(p, quotient)
            }
        }
    }

    fn float_binary(&mut self, op: BinOp, p: Prim, x: Value, y: Value) -> Value {
        let ins = self.s.e.b.ins();
        let result = match op {
            BinOp::Add => ins.fadd(x, y),
            BinOp::Sub => ins.fsub(x, y),
            BinOp::Mul => ins.fmul(x, y),
            BinOp::Min => return self.float_extremum(FloatCC::LessThan, x, y),
            BinOp::Max => return self.float_extremum(FloatCC::GreaterThan, x, y),
            _ => ins.fdiv(x, y),
        };
        self.rounded(p, result)
    }

    /// As the scalar operator: `x` if it compares so to `y` or `y` is NaN, else `y`.
    fn float_extremum(&mut self, condition: FloatCC, x: Value, y: Value) -> Value {
        let better = self.s.e.b.ins().fcmp(condition, x, y);
        let better = self.s.blend_register(better, x, y);
        let no_number = self.s.e.b.ins().fcmp(FloatCC::Unordered, y, y);
        self.s.blend_register(no_number, x, better)
    }

    fn int_unary(&mut self, op: UnOp, p: Prim, x: Value) -> Value {
        match op {
            UnOp::Neg => self.s.e.b.ins().ineg(x),
            UnOp::Not => self.s.e.b.ins().bnot(x),
            UnOp::Abs if p.is_signed() => self.s.e.b.ins().iabs(x),
            UnOp::Sgn => {
                let (zero, one) = (self.int(p, 0), self.int(p, 1));
                if !p.is_signed() {
                    let some = self.s.e.b.ins().icmp(IntCC::NotEqual, x, zero);
                    return self.s.e.b.ins().band(some, one);
                }
                let negative = self.s.e.b.ins().icmp(IntCC::SignedLessThan, x, zero);
                let positive = self.s.e.b.ins().icmp(IntCC::SignedGreaterThan, x, zero);
                let positive = self.s.e.b.ins().band(positive, one);
                self.s.e.b.ins().bor(negative, positive)
            }
            // The absolute value of an unsigned number.
            _ => x,
        }
    }

    fn int_binary(&mut self, op: BinOp, p: Prim, x: Value, y: Value) -> Value {
        let ins = self.s.e.b.ins();
        match op {
            BinOp::Add => ins.iadd(x, y),
            BinOp::Sub => ins.isub(x, y),
            BinOp::Mul => ins.imul(x, y),
            BinOp::And => ins.band(x, y),
            BinOp::Or => ins.bor(x, y),
            BinOp::Min | BinOp::Max => self.int_extremum(op, p, x, y),
            _ => ins.bxor(x, y),
        }
    }

    fn int_extremum(&mut self, op: BinOp, p: Prim, x: Value, y: Value) -> Value {
        if width(p) == 8 {
            let less = self.compare(CmpOp::Lt, p, x, y);
            let (a, b) = if op == BinOp::Min { (x, y) } else { (y, x) };
            return self.s.blend_register(less, a, b);
        }
        let ins = self.s.e.b.ins();
        match (op, p.is_signed()) {
            (BinOp::Min, true) => ins.smin(x, y),
            (BinOp::Min, false) => ins.umin(x, y),
            (_, true) => ins.smax(x, y),
            (_, false) => ins.umax(x, y),
        }
    }

    /// There is no comparison of unsigned numbers of 64 bits: their order is that of signed ones with the sign flipped.
    fn compare(&mut self, op: CmpOp, p: Prim, mut x: Value, mut y: Value) -> Value {
        if p != Prim::U64 {
            return self.s.e.b.ins().icmp(int_condition(op, p), x, y);
        }
        let sign = self.int(p, i64::MIN);
        for v in [&mut x, &mut y] {
            *v = self.s.e.b.ins().bxor(*v, sign);
        }
        self.s.e.b.ins().icmp(int_condition(op, Prim::I64), x, y)
    }

    fn special(&mut self, op: SpecialOp, p: Prim, x: &[Value]) -> Value {
        match op {
            SpecialOp::IsNan => self.s.e.b.ins().fcmp(FloatCC::Unordered, x[0], x[0]),
            SpecialOp::IsInf => {
                let (infinity, size) = (self.constant(p, f64::INFINITY), self.s.e.b.ins().fabs(x[0]));
                self.s.e.b.ins().fcmp(FloatCC::Equal, size, infinity)
            }
            SpecialOp::ToBits => {
                let ty = self.s.e.b.func.dfg.value_type(x[0]).as_int();
                self.s.cast(x[0], ty)
            }
            SpecialOp::FromBits => self.s.cast(x[0], vector_of(clif_type(p))),
            SpecialOp::Fma => self.s.e.b.ins().fma(x[0], x[1], x[2]),
            SpecialOp::Mad => {
                let product = self.s.e.b.ins().fmul(x[0], x[1]);
                self.s.e.b.ins().fadd(product, x[2])
            }
            // Interpolation; the rest is done lane by lane.
            _ => {
                let range = self.s.e.b.ins().fsub(x[1], x[0]);
                let part = self.s.e.b.ins().fmul(range, x[2]);
                self.s.e.b.ins().fadd(x[0], part)
            }
        }
    }
}
