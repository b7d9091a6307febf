//! Values of a group of lanes, and moving them between their forms.
//!
//! A vector of `p` is as many registers as the lanes need; the upper lanes of a register that is not
//! full hold anything. A bool in vectors is a mask: all bits of a lane or none, at any width.
//!
//! Registers have 128 bits, or 256 or 512 in functions that `cpu::wide` compiles. Their types are those of 128 bits all the same:
//! operators on whole registers do not mind how many lanes there are.

use super::cost::{BYTES, width};
use super::{Group, prim};
use crate::cpu::convert::bits;
use crate::cpu::emit::clif_type;
use cranelift::prelude::*;
use cranelift_codegen::ir::Opcode;
use par_ir::{Prim, Scalar};

/// A value in all lanes.
#[derive(Clone, Debug)]
pub enum Lanes {
    /// The same in every lane.
    Same(Value),
    /// An `i64` that grows by a constant from lane to lane.
    Steps(Value, i64),
    /// In vector registers.
    Vector(Vec<Value>),
    /// One scalar a lane.
    Apart(Vec<Value>),
}

/// Width of masks where paths of control meet.
pub const MASK: usize = 4;

impl Group<'_, '_> {
    /// Registers of a value.
    pub fn registers(&self, bytes: usize) -> usize {
        (self.lanes * bytes).div_ceil(self.bytes)
    }

    pub fn splat(&mut self, x: Value, registers: usize) -> Vec<Value> {
        let lane = self.e.b.func.dfg.value_type(x);
        let ty = vector_of(lane);
        vec![self.e.b.ins().splat(ty, x); registers]
    }

    /// A constant in every lane of one register.
    pub fn constant(&mut self, x: Scalar) -> Value {
        let x = self.e.constant(x);
        self.splat(x, 1)[0]
    }

    /// The lanes in registers; of a bool the mask at some width.
    pub fn vector(&mut self, x: &Lanes, p: Prim) -> Vec<Value> {
        if p == Prim::Bool {
            return self.mask(x, None);
        }
        match x {
            Lanes::Vector(regs) => regs.clone(),
            Lanes::Same(x) => self.splat(*x, self.registers(width(p))),
            Lanes::Apart(xs) => self.pack(xs),
            Lanes::Steps(first, step) => self.progression(*first, *step, p),
        }
    }

    /// `first`, `first + step`, … wrapped to an integer type.
    pub fn progression(&mut self, first: Value, step: i64, p: Prim) -> Vec<Value> {
        let first = match width(p) {
            8 => first,
            _ => self.e.b.ins().ireduce(clif_type(p), first),
        };
        let per = self.bytes / width(p);
        let base = self.splat(first, 1)[0];
        let ty = self.e.b.func.dfg.value_type(base);
        let register = |s: &mut Self, r: usize| {
            let offsets: Vec<u8> = (0..per)
                .flat_map(|l| ((r * per + l) as i64).wrapping_mul(step).to_le_bytes()[..width(p)].to_vec())
                .collect();
            let constant = s.e.b.func.dfg.constants.insert(offsets.into());
            let offsets = s.e.b.ins().vconst(ty, constant);
            s.e.b.ins().iadd(base, offsets)
        };
        (0..self.registers(width(p))).map(|r| register(self, r)).collect()
    }

    /// One scalar a lane.
    pub fn apart(&mut self, x: &Lanes, p: Prim) -> Vec<Value> {
        match x {
            Lanes::Apart(xs) => xs.clone(),
            Lanes::Same(x) => vec![*x; self.lanes],
            Lanes::Steps(first, step) => {
                (0..self.lanes as i64).map(|l| self.e.b.ins().iadd_imm_s(*first, l * step)).collect()
            }
            Lanes::Vector(regs) => self.unpack(regs, self.lanes, p),
        }
    }

    /// The first lanes of registers; of a mask 0 or 1.
    pub fn unpack(&mut self, regs: &[Value], count: usize, p: Prim) -> Vec<Value> {
        let per = self.bytes / self.lane_bytes(regs[0]);
        (0..count).map(|l| self.scalar_of(regs[l / per], l % per, p)).collect()
    }

    /// One lane of a register; of a mask 0 or 1.
    pub fn scalar_of(&mut self, reg: Value, lane: usize, p: Prim) -> Value {
        let x = self.e.b.ins().extractlane(reg, lane as u8);
        if p == Prim::Bool { self.bit(x) } else { x }
    }

    /// Of a lane of a mask, 0 or 1.
    fn bit(&mut self, x: Value) -> Value {
        let ty = self.e.b.func.dfg.value_type(x);
        let x = if ty == types::I8 { x } else { self.e.b.ins().ireduce(types::I8, x) };
        self.e.b.ins().band_imm_s(x, 1)
    }

    /// Scalars into registers.
    pub fn pack(&mut self, xs: &[Value]) -> Vec<Value> {
        let ty = vector_of(self.e.b.func.dfg.value_type(xs[0]));
        let register = |s: &mut Self, lanes: &[Value]| {
            // Narrow scalars have no way into a register but this.
            let narrow = ty.lane_type().bytes() < 4;
            let ins = s.e.b.ins();
            let mut reg = if narrow { ins.splat(ty, lanes[0]) } else { ins.scalar_to_vector(ty, lanes[0]) };
            for (i, x) in lanes.iter().enumerate().skip(1) {
                reg = s.e.b.ins().insertlane(reg, *x, i as u8);
            }
            reg
        };
        let parts =
            xs.chunks(ty.lane_count() as usize).map(|lanes| register(self, lanes)).collect::<Vec<_>>();
        self.whole_registers(&parts)
    }

    /// Registers of parts of 128 bits.
    pub fn whole_registers(&mut self, parts: &[Value]) -> Vec<Value> {
        parts.chunks(self.bytes / BYTES).map(|parts| self.joined(parts)).collect()
    }

    /// One register of parts of 128 bits.
    fn joined(&mut self, parts: &[Value]) -> Value {
        let ty = self.e.b.func.dfg.value_type(parts[0]);
        let (mut parts, mut bytes) = (parts.to_vec(), 16 * BYTES / self.bytes);
        while parts.len() > 1 {
            let join = |c: &[Value]| if let [a, b] = c { self.concat(*a, *b, bytes, ty) } else { c[0] };
            parts = parts.chunks(2).map(join).collect();
            bytes *= 2;
        }
        parts[0]
    }

    /// The first parts of two registers, each of so many of the 16 bytes that a type has.
    pub fn concat(&mut self, a: Value, b: Value, bytes: usize, ty: Type) -> Value {
        let chosen = std::array::from_fn(|i| (i % (2 * bytes) / bytes * 16 + i % bytes) as u8);
        self.shuffle(a, b, chosen, ty)
    }

    /// The parts of 128 bits that registers have, in order, each first in a register.
    pub fn parts(&mut self, regs: &[Value]) -> Vec<Value> {
        let ty = self.e.b.func.dfg.value_type(regs[0]);
        let count = self.bytes / BYTES;
        let part = |s: &mut Self, r: Value, k: usize| match k {
            0 => r,
            k => s.shuffle(r, r, std::array::from_fn(|i| ((i + k * 16 / count) % 16) as u8), ty),
        };
        regs.iter().flat_map(|r| (0..count).map(|k| part(self, *r, k)).collect::<Vec<_>>()).collect()
    }

    /// A bool as a mask, at a width if that matters.
    pub fn mask(&mut self, x: &Lanes, at: Option<usize>) -> Vec<Value> {
        let regs = match x {
            Lanes::Vector(regs) => regs.clone(),
            Lanes::Apart(xs) => {
                let bytes = self.pack(xs);
                self.flags_to_masks(&bytes)
            }
            Lanes::Same(x) | Lanes::Steps(x, _) => {
                let zero = self.e.i64(0);
                let all = self.e.i64(-1);
                let x = self.e.b.ins().select(*x, all, zero);
                let ty = int_of(at.unwrap_or(MASK)).lane_type();
                let x = if ty == types::I64 { x } else { self.e.b.ins().ireduce(ty, x) };
                self.splat(x, self.registers(at.unwrap_or(MASK)))
            }
        };
        match at {
            Some(bytes) => self.resize_mask(regs, bytes),
            None => regs,
        }
    }

    /// Bytes 0 or 1 as a mask of bytes.
    pub fn flags_to_masks(&mut self, bytes: &[Value]) -> Vec<Value> {
        let zero = self.constant(Scalar::U8(0));
        bytes.iter().map(|r| self.e.b.ins().icmp(IntCC::NotEqual, *r, zero)).collect()
    }

    fn resize_mask(&mut self, mut regs: Vec<Value>, bytes: usize) -> Vec<Value> {
        loop {
            let now = self.lane_bytes(regs[0]);
            match now.cmp(&bytes) {
                std::cmp::Ordering::Equal => return regs,
                std::cmp::Ordering::Less => regs = self.widen(&regs, true),
                std::cmp::Ordering::Greater => regs = self.narrow_mask(&regs),
            }
        }
    }

    /// Bytes of a lane of a register.
    pub fn lane_bytes(&self, reg: Value) -> usize {
        self.e.b.func.dfg.value_type(reg).lane_type().bytes() as usize
    }

    /// Integers at twice their width.
    pub fn widen(&mut self, regs: &[Value], signed: bool) -> Vec<Value> {
        let count = self.registers(2 * self.lane_bytes(regs[0]));
        let mut wide = Vec::new();
        for r in regs {
            let ins = self.e.b.ins();
            wide.push(if signed { ins.swiden_low(*r) } else { ins.uwiden_low(*r) });
            let ins = self.e.b.ins();
            wide.push(if signed { ins.swiden_high(*r) } else { ins.uwiden_high(*r) });
        }
        wide.truncate(count);
        wide
    }

    fn pairs(regs: &[Value]) -> Vec<(Value, Value)> {
        regs.chunks(2).map(|c| (c[0], c[c.len() - 1])).collect()
    }

    fn narrow_mask(&mut self, regs: &[Value]) -> Vec<Value> {
        if self.lane_bytes(regs[0]) == 8 {
            return self.narrow(regs);
        }
        Self::pairs(regs).into_iter().map(|(a, b)| self.e.b.ins().snarrow(a, b)).collect()
    }

    /// Integers at half their width, wrapped.
    pub fn narrow(&mut self, regs: &[Value]) -> Vec<Value> {
        let low = match self.lane_bytes(regs[0]) {
            8 => {
                let even = [0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27];
                let narrow = |s: &mut Self, (a, b)| s.shuffle(a, b, even, types::I32X4);
                return Self::pairs(regs).into_iter().map(|ab| narrow(self, ab)).collect();
            }
            4 => Scalar::U32(0xffff),
            _ => Scalar::U16(0xff),
        };
        let low = self.constant(low);
        let narrow = |s: &mut Self, (a, b)| {
            let (a, b) = (s.e.b.ins().band(a, low), s.e.b.ins().band(b, low));
            s.e.b.ins().unarrow(a, b)
        };
        Self::pairs(regs).into_iter().map(|ab| narrow(self, ab)).collect()
    }

    /// Bytes of two registers, chosen.
    pub fn shuffle(&mut self, a: Value, b: Value, bytes: [u8; 16], ty: Type) -> Value {
        let chosen = self.e.b.func.dfg.immediates.push(bytes.to_vec().into());
        let (a, b) = (self.cast(a, types::I8X16), self.cast(b, types::I8X16));
        let mixed = self.e.b.ins().shuffle(a, b, chosen);
        self.cast(mixed, ty)
    }

    /// The same bits as another type.
    pub fn cast(&mut self, x: Value, ty: Type) -> Value {
        if self.e.b.func.dfg.value_type(x) == ty { x } else { self.e.b.ins().bitcast(ty, bits(), x) }
    }

    /// `x` where the mask is set, else `y`; the mask has the width of the lanes.
    pub fn blend_register(&mut self, mask: Value, x: Value, y: Value) -> Value {
        let ty = self.e.b.func.dfg.value_type(x);
        if self.machine.blends && !self.is_compared(mask) {
            let ints = match ty.lane_type().bytes() {
                4 => types::I32X4,
                8 => types::I64X2,
                _ => types::I8X16,
            };
            let [mask, x, y] = [mask, x, y].map(|v| self.cast(v, ints));
            let blended = self.e.b.ins().blendv(mask, x, y);
            return self.cast(blended, ty);
        }
        let mask = self.cast(mask, ty);
        self.e.b.ins().bitselect(mask, x, y)
    }

    /// True if a mask is the result of a comparison instruction, so that it is known to be a mask.
    fn is_compared(&self, mask: Value) -> bool {
        let dfg = &self.e.b.func.dfg;
        let opcode = dfg.value_def(mask).inst().map(|i| dfg.insts[i].opcode());
        matches!(opcode, Some(Opcode::Icmp | Opcode::Fcmp))
    }

    /// `x` where the mask is set, else `y`.
    pub fn blend(&mut self, mask: &Lanes, x: &Lanes, y: &Lanes, p: Prim, apart: bool) -> Lanes {
        if apart {
            let (m, x, y) = (self.apart(mask, Prim::Bool), self.apart(x, p), self.apart(y, p));
            let lanes = m.into_iter().zip(x).zip(y);
            return Lanes::Apart(lanes.map(|((m, x), y)| self.e.b.ins().select(m, x, y)).collect());
        }
        let m = self.mask(mask, Some(lane_bytes(p)));
        let (x, y) = if p == Prim::Bool {
            (self.mask(x, Some(MASK)), self.mask(y, Some(MASK)))
        } else {
            (self.vector(x, p), self.vector(y, p))
        };
        let lanes = m.into_iter().zip(x).zip(y);
        Lanes::Vector(lanes.map(|((m, x), y)| self.blend_register(m, x, y)).collect())
    }

    /// Both masks.
    pub fn both(&mut self, a: &Lanes, b: &Lanes) -> Lanes {
        self.combine_masks(a, b, |s, a, b| s.e.b.ins().band(a, b))
    }

    /// One mask or the other.
    pub fn either(&mut self, a: &Lanes, b: &Lanes) -> Lanes {
        self.combine_masks(a, b, |s, a, b| s.e.b.ins().bor(a, b))
    }

    /// The first mask without the second.
    pub fn without(&mut self, a: &Lanes, b: &Lanes) -> Lanes {
        self.combine_masks(a, b, |s, a, b| s.e.b.ins().band_not(a, b))
    }

    fn combine_masks(&mut self, a: &Lanes, b: &Lanes, code: fn(&mut Self, Value, Value) -> Value) -> Lanes {
        let (a, b) = (self.mask(a, Some(MASK)), self.mask(b, Some(MASK)));
        Lanes::Vector(a.into_iter().zip(b).map(|(a, b)| code(self, a, b)).collect())
    }

    /// Test that a bool holds in any lane.
    pub fn any(&mut self, x: &Lanes) -> Value {
        self.in_one(x, false)
    }

    /// Test that a bool holds in all lanes.
    pub fn all(&mut self, x: &Lanes) -> Value {
        self.in_one(x, true)
    }

    fn in_one(&mut self, x: &Lanes, all: bool) -> Value {
        let combine = |s: &mut Self, a, b| if all { s.e.b.ins().band(a, b) } else { s.e.b.ins().bor(a, b) };
        match x {
            Lanes::Apart(xs) => return self.tree(xs, combine),
            Lanes::Same(x) | Lanes::Steps(x, _) => return *x,
            Lanes::Vector(_) => {}
        }
        let regs = self.mask(x, Some(MASK));
        let mask = self.tree(&regs, combine);
        let mask = match self.unused() {
            Some(unused) if all => self.e.b.ins().bor(mask, unused),
            Some(unused) => self.e.b.ins().band_not(mask, unused),
            None => mask,
        };
        if all { self.e.b.ins().vall_true(mask) } else { self.e.b.ins().vany_true(mask) }
    }

    /// The lanes of a register of masks that belong to no position.
    fn unused(&mut self) -> Option<Value> {
        let used = self.lanes * MASK;
        (used < self.bytes).then(|| {
            let bytes: Vec<u8> = (0..self.bytes).map(|i| if i < used { 0 } else { 0xff }).collect();
            let constant = self.e.b.func.dfg.constants.insert(bytes.into());
            self.e.b.ins().vconst(int_of(MASK), constant)
        })
    }

    /// Combines neighbours until one is left.
    pub fn tree(&mut self, xs: &[Value], code: impl Fn(&mut Self, Value, Value) -> Value) -> Value {
        let mut xs = xs.to_vec();
        while xs.len() > 1 {
            xs = xs.chunks(2).map(|c| if let [a, b] = c { code(self, *a, *b) } else { c[0] }).collect();
        }
        xs[0]
    }

    /// An operator on all lanes, one after the other.
    pub fn by_lane(&mut self, op: par_ir::prim::PrimOp, xs: &[Lanes], divisor: Option<i64>) -> Lanes {
        let prims = op.operands();
        let columns: Vec<Vec<Value>> = xs.iter().zip(&prims).map(|(x, p)| self.apart(x, *p)).collect();
        let lane = |s: &mut Self, l: usize| {
            let operands: Vec<Value> = columns.iter().map(|c| c[l]).collect();
            s.e.prim(op, &operands, divisor)
        };
        Lanes::Apart((0..self.lanes).map(|l| lane(self, l)).collect())
    }

    /// The scalars of a value as they cross from block to block, in a class's form.
    pub fn flatten(&mut self, x: &Lanes, p: Prim, form: Form) -> Vec<Value> {
        match (form, x) {
            (Form::Same | Form::Steps(_), Lanes::Same(x) | Lanes::Steps(x, _)) => vec![*x],
            (Form::Apart, _) => self.apart(x, p),
            _ if p == Prim::Bool => self.mask(x, Some(MASK)),
            _ => self.vector(x, p),
        }
    }
}

/// The form of a value where paths of control meet.
#[derive(Clone, Copy, PartialEq, Debug)]
#[allow(missing_docs)]
pub enum Form {
    Same,
    Steps(i64),
    Vector,
    Apart,
}

impl Form {
    /// The value of these scalars.
    pub fn gather(self, xs: &[Value]) -> Lanes {
        match self {
            Form::Same => Lanes::Same(xs[0]),
            Form::Steps(s) => Lanes::Steps(xs[0], s),
            Form::Vector => Lanes::Vector(xs.to_vec()),
            Form::Apart => Lanes::Apart(xs.to_vec()),
        }
    }
}

/// Bytes of a lane where paths of control meet.
pub fn lane_bytes(p: Prim) -> usize {
    if p == Prim::Bool { MASK } else { width(p) }
}

/// The type of a register full of lanes.
pub fn vector_of(lane: Type) -> Type {
    lane.by((BYTES / lane.bytes() as usize) as u32).unwrap_or(types::I8X16)
}

/// The register type of integers of a width.
pub fn int_of(bytes: usize) -> Type {
    match bytes {
        1 => types::I8X16,
        2 => types::I16X8,
        4 => types::I32X4,
        _ => types::I64X2,
    }
}

impl Group<'_, '_> {
    /// An operator on registers.
    pub fn on_vectors(&mut self, op: par_ir::prim::PrimOp, xs: &[Lanes]) -> Lanes {
        prim::apply(self, op, xs)
    }
}
