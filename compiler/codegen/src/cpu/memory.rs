//! Addresses of elements, and reads and writes of memory.

use super::emit::{Base, Emitter, clif_type, output};
use super::half;
use cranelift::prelude::*;
use cranelift_codegen::ir::{InstructionData, MemFlagsData, Opcode};
use par_ir::{Prim, tuning};

/// The terms of an index.
#[derive(Default)]
struct Terms {
    /// Made before the loop.
    before: Vec<Value>,
    /// Made in it.
    inside: Vec<Value>,
    /// The sum of those that are known.
    constant: i64,
}

impl Emitter<'_> {
    /// Address of element `i`.
    pub fn element(&mut self, base: Base, i: Value) -> Value {
        let offset = match base.prim.size().trailing_zeros() {
            0 => i,
            shift => self.b.ins().ishl_imm_u(i, shift as i64),
        };
        self.b.ins().iadd(base.address, offset)
    }

    /// The address of an element, and an offset in bytes from there: what is added to an index costs nothing in an address. The part of the index that is the
    /// same in all iterations of the loop is one number with the array's address, computed before.
    pub fn element_at(&mut self, base: Base, i: Value) -> (Value, i32) {
        let mut terms = Terms::default();
        self.terms(i, tuning::INDEX_TERMS, &mut terms);
        let size = base.prim.size() as i64;
        let offset = terms.constant.checked_mul(size).filter(|n| n.unsigned_abs() < 1 << 20);
        if let (Some(offset), Some(fixed), Some(varies)) =
            (offset, self.sum(&terms.before), self.sum(&terms.inside))
        {
            let address = self.element(base, fixed);
            return (self.element(Base { address, ..base }, varies), offset as i32);
        }
        let (mut from, mut offset) = (i, 0i64);
        while let Some((x, c)) = self.shifted(from) {
            let sum = offset.wrapping_add(c.wrapping_mul(size));
            if sum.unsigned_abs() >= 1 << 20 || c.unsigned_abs() >= 1 << 20 {
                break;
            }
            (from, offset) = (x, sum);
        }
        (self.element(base, from), offset as i32)
    }

    /// Takes a sum apart.
    fn terms(&mut self, x: Value, depth: usize, to: &mut Terms) {
        if let Some(c) = self.known(x) {
            to.constant = to.constant.wrapping_add(c);
            return;
        }
        if x.as_u32() < self.nest.inside {
            to.before.push(x);
            return;
        }
        let dfg = &self.b.func.dfg;
        match dfg.value_def(x).inst().map(|i| dfg.insts[i]) {
            Some(InstructionData::Binary { opcode: Opcode::Iadd, args: [a, b] }) if depth > 0 => {
                self.terms(a, depth - 1, to);
                self.terms(b, depth - 1, to);
            }
            Some(InstructionData::Binary { opcode: Opcode::Isub, args: [a, b] }) if depth > 0 => {
                match self.known(b) {
                    Some(c) => to.constant = to.constant.wrapping_sub(c),
                    None if b.as_u32() < self.nest.inside => {
                        let negative = self.b.ins().ineg(b);
                        to.before.push(negative);
                    }
                    None => return to.inside.push(x),
                }
                self.terms(a, depth - 1, to);
            }
            _ => to.inside.push(x),
        }
    }

    fn sum(&mut self, terms: &[Value]) -> Option<Value> {
        let (first, rest) = terms.split_first()?;
        Some(rest.iter().fold(*first, |sum, x| self.b.ins().iadd(sum, *x)))
    }

    /// A value and a constant of which this is the sum; the constant is 0 if there is no other.
    pub fn without_constant(&self, i: Value) -> (Value, i64) {
        let (mut from, mut constant) = (i, 0i64);
        while let Some((x, c)) = self.shifted(from) {
            (from, constant) = (x, constant.wrapping_add(c));
        }
        (from, constant)
    }

    /// The value and the constant of which this is the sum.
    fn shifted(&self, i: Value) -> Option<(Value, i64)> {
        let dfg = &self.b.func.dfg;
        let InstructionData::Binary { opcode: Opcode::Iadd, args: [x, c] } =
            dfg.insts[dfg.value_def(i).inst()?]
        else {
            return None;
        };
        Some((x, self.known(c)?))
    }

    /// An integer that is a constant.
    pub fn known(&self, x: Value) -> Option<i64> {
        let dfg = &self.b.func.dfg;
        match dfg.insts[dfg.value_def(x).inst()?] {
            InstructionData::UnaryImm { opcode: Opcode::Iconst, imm } => Some(imm.bits()),
            _ => None,
        }
    }

    pub fn load(&mut self, base: Base, i: Value, flags: MemFlagsData) -> Value {
        let (address, offset) = self.element_at(base, i);
        self.load_at(base.prim, flags, address, offset)
    }

    /// The scalar at an address.
    pub fn load_at(&mut self, prim: Prim, flags: MemFlagsData, address: Value, offset: i32) -> Value {
        if prim != Prim::F16 {
            return self.b.ins().load(clif_type(prim), flags, address, offset);
        }
        let bits = self.b.ins().uload16(types::I32, flags, address, offset);
        half::expand(&mut self.b, bits)
    }

    /// Stores a scalar at an address.
    pub fn store_at(&mut self, prim: Prim, x: Value, address: Value, offset: i32) {
        if prim != Prim::F16 {
            self.b.ins().store(output(), x, address, offset);
            return;
        }
        let bits = half::compress(&mut self.b, x);
        self.b.ins().istore16(output(), bits, address, offset);
    }

    pub fn store(&mut self, base: Base, i: Value, x: Value) {
        let (address, offset) = self.element_at(base, i);
        self.store_at(base.prim, x, address, offset);
    }
}
