//! Kernels in steps, on strips of positions: memory on the stack for what one step leaves to the next, and calls of the runtime's functions
//! for strips.

use super::emit::{Base, Ends, Result, Values, output};
use super::kernel::{KernelEmitter, KernelInfo};
use super::outputs::Target;
use super::scatter::Scattering;
use cranelift::prelude::*;
use cranelift_codegen::ir::{InstructionData, Opcode, StackSlot};
use par_ir::flat::Kernel;
use par_ir::visit::Code;
use par_ir::{Prim, Var};
use par_runtime::math::STRIP;
use std::collections::BTreeSet;

/// The name of a buffer, and the type of its elements: the values of a scalar on a strip.
#[derive(Clone, Copy, PartialEq)]
pub struct Scalar {
    pub var: Var,
    pub prim: Prim,
}

/// Memory of one strip on the stack; elements begin at an offset.
#[derive(Clone, Copy)]
pub struct Buffer {
    pub name: Var,
    pub prim: Prim,
    pub slot: StackSlot,
    pub offset: i32,
}

impl<'a, 'k> KernelEmitter<'_, 'a, 'k> {
    /// `code(ends, state)` for the positions `start..end`, strip by strip.
    pub fn by_strips(
        &mut self,
        (start, end): Ends,
        state: &[Value],
        code: impl FnOnce(&mut KernelEmitter<'_, 'a, 'k>, Ends, &[Value]) -> Result<Values>,
    ) -> Result<Values> {
        self.by_strips_of(STRIP, (start, end), state, code)
    }

    /// The same in strips of so many positions.
    pub fn by_strips_of(
        &mut self,
        length: usize,
        (start, end): Ends,
        state: &[Value],
        code: impl FnOnce(&mut KernelEmitter<'_, 'a, 'k>, Ends, &[Value]) -> Result<Values>,
    ) -> Result<Values> {
        self.counted_until(None, length as i64, (start, end), state, |k, first, state| {
            let ends = k.strip_from(length, first, end);
            code(k, ends, state)
        })
    }

    /// The ends of the strip that begins at a position.
    pub fn strip_from(&mut self, length: usize, first: Value, end: Value) -> Ends {
        let next = self.e.b.ins().iadd_imm_s(first, length as i64);
        (first, self.e.b.ins().smin(next, end))
    }

    pub fn strip_buffer(&mut self, scalar: Scalar, offset: i32) -> Buffer {
        self.strip_buffer_of(STRIP, scalar, offset)
    }

    /// A buffer for strips of so many positions.
    pub fn strip_buffer_of(&mut self, length: usize, Scalar { var, prim }: Scalar, offset: i32) -> Buffer {
        let bytes = offset as u32 + (length * prim.size()) as u32;
        // Aligned to 64 bytes.
        let data = StackSlotData::new(StackSlotKind::ExplicitSlot, bytes, 6);
        Buffer { name: var, prim, slot: self.e.b.create_sized_stack_slot(data), offset }
    }

    pub fn strip_buffers(&mut self, scalars: &[Scalar]) -> Vec<Buffer> {
        scalars.iter().map(|s| self.strip_buffer(*s, 0)).collect()
    }

    /// Makes a buffer an array of which the elements from position `first` on are there.
    pub fn name_strip(&mut self, buffer: &Buffer, first: Value, offset: i32) {
        let start = self.e.b.ins().stack_addr(types::I64, buffer.slot, offset);
        let before = self.e.b.ins().imul_imm_s(first, buffer.prim.size() as i64);
        let address = self.e.b.ins().isub(start, before);
        self.e.bound.arrays.insert(buffer.name, Base { address, prim: buffer.prim, changes: false });
    }

    pub fn name_strips(&mut self, buffers: &[Buffer], first: Value) {
        buffers.iter().for_each(|b| self.name_strip(b, first, b.offset));
    }

    /// A step whose results go to the buffers of these variables.
    pub fn store_step(&mut self, kernel: &Kernel, stored: &[Scalar], ends: Ends) -> Result {
        let targets: Vec<Target> = stored.iter().map(|s| Target::Elem(self.e.bound.arrays[&s.var])).collect();
        self.step(kernel, None, &targets, ends)
    }

    /// A step in vectors, with its scatters on strips.
    pub fn step(
        &mut self,
        kernel: &Kernel,
        scattering: Option<&Scattering>,
        targets: &[Target],
        ends: Ends,
    ) -> Result {
        let info = KernelInfo { scattering, ..KernelInfo::of_stage(kernel) };
        let params = self.params.clone();
        self.reloading(kernel, targets, |this, targets| {
            let mut k = KernelEmitter { e: this.e, info: &info, types: this.types, role: this.role, params };
            k.map_positions(targets, ends)
        })
    }

    /// Code in which words of the environment are loaded anew. A value whose live range has a call in it is spilled, and reloaded at each of its uses, in
    /// loops, too.
    pub fn reloading<T>(
        &mut self,
        kernel: &Kernel,
        targets: &[Target],
        code: impl FnOnce(&mut Self, &[Target]) -> T,
    ) -> T {
        let mut used = BTreeSet::new();
        kernel.for_each_used(&mut |v| _ = used.insert(v));
        let (mut arrays, mut scalars) = (Vec::new(), Vec::new());
        for v in used {
            if let Some(base) = self.e.bound.arrays.get(&v).copied() {
                let address = self.reloaded(base.address);
                arrays.push((v, base));
                self.e.bound.arrays.insert(v, Base { address, ..base });
            }
            if let Some(x) = self.e.bound.scalars.get(&v).copied() {
                scalars.push((v, x));
                let x = self.reloaded(x);
                self.e.bound.scalars.insert(v, x);
            }
        }
        let targets: Vec<Target> =
            targets.iter().map(|t| t.with_addresses(&mut |x| self.reloaded(x))).collect();
        let result = code(self, &targets);
        self.e.bound.arrays.extend(arrays);
        self.e.bound.scalars.extend(scalars);
        result
    }

    /// A value, loaded once more if it is a word of the environment.
    fn reloaded(&mut self, x: Value) -> Value {
        let dfg = &self.e.b.func.dfg;
        let Some(inst) = dfg.value_def(x).inst() else { return x };
        match dfg.insts[inst] {
            InstructionData::Load { opcode: Opcode::Load, arg, offset, .. } if arg == self.params[0] => {
                let ty = dfg.value_type(x);
                self.e.b.ins().load(ty, output(), arg, offset)
            }
            _ => x,
        }
    }

    /// Address of the element of a position.
    pub fn strip_address(&mut self, array: Var, start: Value) -> Result<Value> {
        let base = *self.e.bound.arrays.get(&array).ok_or("a strip is not bound")?;
        Ok(self.e.element(base, start))
    }

    /// Calls a function of the runtime that takes addresses and numbers.
    pub fn runtime_call(&mut self, name: String, args: &[Value]) {
        self.e.runtime_function(name, args, &[]);
    }

    /// As `runtime_call`, of a function that results in a number.
    pub fn runtime_result(&mut self, name: String, args: &[Value]) -> Value {
        let call = self.e.runtime_function(name, args, &[AbiParam::new(types::I64)]);
        self.e.b.inst_results(call)[0]
    }
}
