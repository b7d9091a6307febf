//! Operators of integers and bools. Those of less than 32 bits are in registers of 32, extended as their sign says.

use super::{compare, is_wide};
use crate::emit::{Emitter, Operand, constant};
use crate::module::val_type;
use par_ir::prim::{BinOp, CmpOp, SpecialOp, UnOp};
use par_runtime::{Prim, Scalar};
use wasm_encoder::{BlockType, Instruction as I};

/// The instruction at 32 or at 64 bits.
macro_rules! sized {
    ($p:expr, $narrow:ident, $wide:ident) => {
        if is_wide($p) { I::$wide } else { I::$narrow }
    };
}

/// Extends a number of less than 32 bits on the stack as its sign says.
pub fn normalise(e: &mut Emitter, p: Prim) {
    match p {
        Prim::I8 => e.emit([I::I32Extend8S]),
        Prim::I16 => e.emit([I::I32Extend16S]),
        Prim::U8 => e.emit([I::I32Const(0xff), I::I32And]),
        Prim::U16 => e.emit([I::I32Const(0xffff), I::I32And]),
        _ => {}
    }
}

fn number(p: Prim, x: i64) -> I<'static> {
    constant(Scalar::from_bits(p, x as u64))
}

/// A local of its own for the value on the stack.
fn kept(e: &mut Emitter, p: Prim) -> Operand {
    let local = e.local_for(p);
    e.emit([I::LocalSet(local)]);
    Operand::Local(local)
}

pub fn unary(e: &mut Emitter, op: UnOp, p: Prim, x: Operand) {
    match op {
        UnOp::Neg => {
            e.emit([number(p, 0)]);
            e.push(x);
            e.emit([sized!(p, I32Sub, I64Sub)]);
            normalise(e, p);
        }
        UnOp::Not if p == Prim::Bool => {
            e.push(x);
            e.emit([I::I32Eqz]);
        }
        UnOp::Not => {
            e.push(x);
            e.emit([number_raw(p, -1), sized!(p, I32Xor, I64Xor)]);
            normalise(e, p);
        }
        UnOp::Abs if p.is_signed() => {
            unary(e, UnOp::Neg, p, x);
            e.push(x);
            e.push(x);
            e.emit([number(p, 0), compare(CmpOp::Lt, p), I::Select]);
        }
        UnOp::Sgn => {
            // (x > 0) - (x < 0)
            e.push(x);
            e.emit([number(p, 0), compare(CmpOp::Gt, p)]);
            e.push(x);
            e.emit([number(p, 0), compare(CmpOp::Lt, p), I::I32Sub]);
            if is_wide(p) {
                e.emit([I::I64ExtendI32S]);
            }
        }
        // The absolute value of an unsigned number; others exist on floats only.
        _ => e.push(x),
    }
}

/// All bits of a register, without regard to the type's width.
fn number_raw(p: Prim, x: i64) -> I<'static> {
    if is_wide(p) { I::I64Const(x) } else { I::I32Const(x as i32) }
}

pub fn binary(e: &mut Emitter, op: BinOp, p: Prim, x: Operand, y: Operand) {
    let instruction = match op {
        BinOp::Add => sized!(p, I32Add, I64Add),
        BinOp::Sub => sized!(p, I32Sub, I64Sub),
        BinOp::Mul => sized!(p, I32Mul, I64Mul),
        BinOp::And => sized!(p, I32And, I64And),
        BinOp::Or => sized!(p, I32Or, I64Or),
        BinOp::Xor => sized!(p, I32Xor, I64Xor),
        BinOp::Min | BinOp::Max => {
            let better = if op == BinOp::Min { CmpOp::Lt } else { CmpOp::Gt };
            [x, y, x, y].iter().for_each(|x| e.push(*x));
            return e.emit([compare(better, p), I::Select]);
        }
        BinOp::Shl | BinOp::Shr | BinOp::Lshr => return shift(e, op, p, x, y),
        BinOp::MulHi => return high_half(e, p, x, y),
        _ => return divide(e, op, p, x, y),
    };
    e.push(x);
    e.push(y);
    e.emit([instruction]);
    if !matches!(op, BinOp::And | BinOp::Or | BinOp::Xor) {
        normalise(e, p);
    }
}

/// Of types up to 32 bits; wider ones are calls.
fn high_half(e: &mut Emitter, p: Prim, x: Operand, y: Operand) {
    let extend = || if p.is_signed() { I::I64ExtendI32S } else { I::I64ExtendI32U };
    for x in [x, y] {
        e.push(x);
        e.emit([extend()]);
    }
    e.emit([I::I64Mul, I::I64Const(i64::from(p.bits())), I::I64ShrU, I::I32WrapI64]);
    normalise(e, p);
}

/// Shifts by the width or more (or a negative count) give 0, or the sign.
fn shift(e: &mut Emitter, op: BinOp, p: Prim, x: Operand, y: Operand) {
    let width = i64::from(p.bits());
    let known = matches!(y, Operand::Const(c) if c.as_i64().is_some_and(|n| (0..width).contains(&n)));
    let below = || [number_raw(p, width), sized!(p, I32LtU, I64LtU)];
    if op == BinOp::Shr && p.is_signed() {
        e.push(x);
        e.push(y);
        if !known {
            e.emit([number_raw(p, width - 1)]);
            e.push(y);
            e.emit(below());
            e.emit([I::Select]);
        }
        return e.emit([sized!(p, I32ShrS, I64ShrS)]);
    }
    e.push(x);
    if p.is_signed() && width < 32 && op != BinOp::Shl {
        e.emit([I::I32Const((1 << width) - 1), I::I32And]);
    }
    e.push(y);
    e.emit([if op == BinOp::Shl { sized!(p, I32Shl, I64Shl) } else { sized!(p, I32ShrU, I64ShrU) }]);
    normalise(e, p);
    if !known {
        e.emit([number(p, 0)]);
        e.push(y);
        e.emit(below());
        e.emit([I::Select]);
    }
}

/// Division of either rounding; by 0 it gives 0.
fn divide(e: &mut Emitter, op: BinOp, p: Prim, x: Operand, y: Operand) {
    let divisor = match y {
        Operand::Const(c) => c.as_i64(),
        Operand::Local(_) => None,
    };
    let is_quotient = matches!(op, BinOp::Div | BinOp::Quot);
    match divisor {
        Some(0) => e.emit([number(p, 0)]),
        Some(d) if p.is_signed() && d > 0 && d.count_ones() == 1 && matches!(op, BinOp::Div | BinOp::Mod) => {
            e.push(x);
            if op == BinOp::Div {
                e.emit([number(p, i64::from(d.trailing_zeros())), sized!(p, I32ShrS, I64ShrS)]);
            } else {
                e.emit([number(p, d - 1), sized!(p, I32And, I64And)]);
            }
        }
        Some(d) if !p.is_signed() || d != -1 => plain(e, op, p, x, y),
        _ if !p.is_signed() => {
            e.push(y);
            e.emit([number(p, 0), sized!(p, I32Ne, I64Ne), I::If(BlockType::Result(val_type(p)))]);
            plain(e, op, p, x, y);
            e.emit([I::Else, number(p, 0), I::End]);
        }
        _ => {
            // By 0 or -1 the quotient is 0 or the negated dividend, and the remainder 0.
            e.push(y);
            e.emit([
                number_raw(p, 1),
                sized!(p, I32Add, I64Add),
                number_raw(p, 1),
                sized!(p, I32LeU, I64LeU),
            ]);
            e.emit([I::If(BlockType::Result(val_type(p)))]);
            if is_quotient {
                e.push(x);
                e.push(y);
                e.emit([sized!(p, I32Mul, I64Mul)]);
                normalise(e, p);
            } else {
                e.emit([number(p, 0)]);
            }
            e.emit([I::Else]);
            plain(e, op, p, x, y);
            e.emit([I::End]);
        }
    }
}

/// Division by something that is neither 0 nor -1.
fn plain(e: &mut Emitter, op: BinOp, p: Prim, x: Operand, y: Operand) {
    let both = |e: &mut Emitter| [x, y].iter().for_each(|x| e.push(*x));
    if !p.is_signed() {
        both(e);
        let is_quotient = matches!(op, BinOp::Div | BinOp::Quot);
        return e.emit([if is_quotient { sized!(p, I32DivU, I64DivU) } else { sized!(p, I32RemU, I64RemU) }]);
    }
    both(e);
    match op {
        BinOp::Quot => return e.emit([sized!(p, I32DivS, I64DivS)]),
        BinOp::Rem => return e.emit([sized!(p, I32RemS, I64RemS)]),
        _ => {}
    }
    e.emit([sized!(p, I32RemS, I64RemS)]);
    let rest = kept(e, p);
    // Rounding down: the remainder has the divisor's sign, or is 0.
    let below = |e: &mut Emitter| {
        e.push(rest);
        e.emit([number(p, 0), sized!(p, I32Ne, I64Ne)]);
        e.push(rest);
        e.push(y);
        e.emit([sized!(p, I32Xor, I64Xor), number(p, 0), sized!(p, I32LtS, I64LtS), I::I32And]);
    };
    if op == BinOp::Div {
        both(e);
        e.emit([sized!(p, I32DivS, I64DivS)]);
        below(e);
        if is_wide(p) {
            e.emit([I::I64ExtendI32U]);
        }
        e.emit([sized!(p, I32Sub, I64Sub)]);
    } else {
        e.push(rest);
        e.push(y);
        e.emit([number(p, 0)]);
        below(e);
        e.emit([I::Select, sized!(p, I32Add, I64Add)]);
    }
}

pub fn special(e: &mut Emitter, op: SpecialOp, p: Prim, x: &[Operand]) {
    match op {
        SpecialOp::Popc | SpecialOp::Clz | SpecialOp::Ctz => count_bits(e, op, p, x[0]),
        SpecialOp::GetBit => {
            unsigned(e, p, x[0]);
            position(e, p, x[1]);
            e.emit([sized!(p, I32ShrU, I64ShrU), number_raw(p, 1), sized!(p, I32And, I64And)]);
            if is_wide(p) {
                e.emit([I::I32WrapI64]);
            }
            e.emit([I::I32Const(0)]);
            inside(e, p, x[1]);
            e.emit([I::Select]);
        }
        _ => set_bit(e, p, x),
    }
}

fn set_bit(e: &mut Emitter, p: Prim, x: &[Operand]) {
    let bit = |e: &mut Emitter| {
        position(e, p, x[1]);
        e.emit([sized!(p, I32Shl, I64Shl)]);
    };
    e.push(x[0]);
    e.emit([number_raw(p, 1)]);
    bit(e);
    e.emit([number_raw(p, -1), sized!(p, I32Xor, I64Xor), sized!(p, I32And, I64And)]);
    e.push(x[2]);
    if is_wide(p) {
        e.emit([I::I64ExtendI32U]);
    }
    e.emit([number_raw(p, 1), sized!(p, I32And, I64And)]);
    bit(e);
    e.emit([sized!(p, I32Or, I64Or)]);
    normalise(e, p);
    e.push(x[0]);
    inside(e, p, x[1]);
    e.emit([I::Select]);
}

/// A bit's position, as wide as the number.
fn position(e: &mut Emitter, p: Prim, at: Operand) {
    e.push(at);
    if is_wide(p) {
        e.emit([I::I64ExtendI32U]);
    }
}

/// Tells whether a bit's position is inside.
fn inside(e: &mut Emitter, p: Prim, at: Operand) {
    e.push(at);
    e.emit([I::I32Const(p.bits() as i32), I::I32LtU]);
}

/// The bits of a number of less than 32 bits without its sign.
fn unsigned(e: &mut Emitter, p: Prim, x: Operand) {
    e.push(x);
    if p.is_signed() && p.bits() < 32 {
        e.emit([I::I32Const((1 << p.bits()) - 1), I::I32And]);
    }
}

fn count_bits(e: &mut Emitter, op: SpecialOp, p: Prim, x: Operand) {
    unsigned(e, p, x);
    let spare = 32 - p.bits() as i32;
    match op {
        SpecialOp::Popc => e.emit([sized!(p, I32Popcnt, I64Popcnt)]),
        SpecialOp::Clz => {
            e.emit([sized!(p, I32Clz, I64Clz)]);
            if spare > 0 {
                e.emit([I::I32Const(spare), I::I32Sub]);
            }
        }
        _ => {
            if spare > 0 {
                e.emit([I::I32Const(1 << p.bits()), I::I32Or]);
            }
            e.emit([sized!(p, I32Ctz, I64Ctz)]);
        }
    }
    if is_wide(p) {
        e.emit([I::I32WrapI64]);
    }
}
