//! Values on their way into instructions: their registers, constants and addresses.

use super::access::load_code;
use super::inst::{Address, Arg, Inst, Source, View};
use super::select::{Result, Select};
use cranelift::prelude::*;
use cranelift_codegen::entity::EntityRef;
use cranelift_codegen::ir::{self, InstructionData, Opcode, ValueDef};
use iced_x86::{Code, OpKind};
use regalloc2::{RegClass, VReg};

/// The class of the registers that hold a type.
pub fn class(ty: Type) -> RegClass {
    if ty.is_int() && !ty.is_vector() && ty.bits() <= 64 { RegClass::Int } else { RegClass::Float }
}

impl Select<'_> {
    pub fn ty(&self, v: ir::Value) -> Type {
        self.func.dfg.value_type(v)
    }

    /// Bytes of a type in a vector register: a type of 16 bytes stands for all of it.
    pub fn bytes_of(&self, ty: Type) -> usize {
        if ty.is_vector() { (ty.bytes() as usize * self.width / 16).max(16) } else { 16 }
    }

    /// The part of a vector register that a type takes.
    pub fn view(&self, ty: Type) -> View {
        view_of(self.bytes_of(ty))
    }

    pub fn fresh(&mut self, class: RegClass) -> VReg {
        self.next += 1;
        VReg::new(self.next - 1, class)
    }

    pub fn fresh_like(&mut self, v: ir::Value) -> VReg {
        self.fresh(class(self.ty(v)))
    }

    /// The register of a value itself.
    pub fn of(&mut self, v: ir::Value) -> VReg {
        if let Some(r) = self.registers[v] {
            return r;
        }
        let r = self.fresh_like(v);
        self.registers[v] = Some(r);
        r
    }

    /// The instruction that defines a value, without those that leave the register as it is.
    pub fn root(&self, v: ir::Value) -> ir::Value {
        let v = self.func.dfg.resolve_aliases(v);
        match self.definition(v) {
            Some(InstructionData::Unary { opcode: Opcode::Ireduce, arg }) if !self.ty(arg).is_vector() => {
                if self.ty(arg).bits() > 64 {
                    v
                } else {
                    self.root(arg)
                }
            }
            // Between types of one register file a cast does nothing; a longer one leaves the rest as it is.
            Some(InstructionData::LoadNoOffset { opcode: Opcode::Bitcast, arg, .. })
                if class(self.ty(arg)) == class(self.ty(v)) =>
            {
                self.root(arg)
            }
            _ => v,
        }
    }

    pub fn definition(&self, v: ir::Value) -> Option<InstructionData> {
        let v = self.func.dfg.resolve_aliases(v);
        match self.func.dfg.value_def(v) {
            ValueDef::Result(inst, _) => Some(self.func.dfg.insts[inst]),
            _ => None,
        }
    }

    /// True if a value is computed in the block that is being selected.
    pub fn is_here(&self, v: ir::Value) -> bool {
        match self.func.dfg.value_def(self.func.dfg.resolve_aliases(v)) {
            ValueDef::Result(inst, _) => self.func.layout.inst_block(inst) == self.block,
            _ => false,
        }
    }

    /// The register of a value; constants are made where they are used.
    pub fn reg(&mut self, v: ir::Value) -> Result<VReg> {
        let v = self.root(v);
        if let Some(x) = self.int(v) {
            let r = self.fresh(RegClass::Int);
            self.int_constant(r, x);
            return Ok(r);
        }
        if let Some(bytes) = self.bytes(v) {
            let r = self.fresh(RegClass::Float);
            self.float_constant(r, self.ty(v), &bytes)?;
            return Ok(r);
        }
        Ok(self.of(v))
    }

    /// A value as the last operand, which may be a constant in memory.
    pub fn source(&mut self, v: ir::Value) -> Result<Source> {
        let v = self.root(v);
        if let Some(x) = self.int(v) {
            if let Ok(x) = i32::try_from(x) {
                return Ok(Source::Imm(x));
            }
        } else if let Some(bytes) = self.bytes(v) {
            return Ok(Source::Pool(self.constant(&bytes)));
        }
        Ok(Source::Reg(self.reg(v)?))
    }

    /// A value as an operand in a register or in memory, but no number.
    pub fn operand(&mut self, v: ir::Value) -> Result<Source> {
        match self.source(v)? {
            Source::Imm(_) => Ok(Source::Reg(self.reg(v)?)),
            source => Ok(source),
        }
    }

    /// The address where a value is read, in the block that is being selected and from what never changes: an instruction may read it instead.
    pub fn read_here(&mut self, v: ir::Value) -> Result<Option<Address>> {
        match self.definition(v) {
            Some(InstructionData::Load { opcode: Opcode::Load, arg, flags, offset })
                if self.func.dfg.mem_flags[flags].readonly() && self.is_here(v) =>
            {
                self.address(arg, i32::from(offset)).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// An integer constant, as its type has it with its sign.
    pub fn int(&self, v: ir::Value) -> Option<i64> {
        let v = self.func.dfg.resolve_aliases(v);
        let InstructionData::UnaryImm { opcode: Opcode::Iconst, imm } = self.definition(v)? else {
            return None;
        };
        let unused = 64 - self.ty(v).bits().min(64);
        Some(imm.bits() << unused >> unused)
    }

    /// The bytes of a constant that lives in vector registers.
    pub fn bytes(&self, v: ir::Value) -> Option<Vec<u8>> {
        let ty = self.ty(v);
        match self.definition(v)? {
            InstructionData::UnaryIeee32 { imm, .. } => Some(imm.bits().to_le_bytes().to_vec()),
            InstructionData::UnaryIeee64 { imm, .. } => Some(imm.bits().to_le_bytes().to_vec()),
            InstructionData::UnaryConst { opcode: Opcode::Vconst, constant_handle } => {
                let bytes = self.func.dfg.constants.get(constant_handle).as_slice();
                // The optimiser writes only what repeats itself.
                Some(bytes.repeat((self.bytes_of(ty) / bytes.len()).max(1)))
            }
            InstructionData::Unary { opcode: Opcode::Splat, arg } => {
                let lane = match self.int(arg) {
                    Some(x) => x.to_le_bytes()[..ty.lane_type().bytes() as usize].to_vec(),
                    None if self.ty(arg).is_float() => self.bytes(arg)?,
                    None => return None,
                };
                Some(lane.repeat(self.bytes_of(ty) / lane.len()))
            }
            _ => None,
        }
    }

    /// The place of a constant in memory.
    pub fn constant(&mut self, bytes: &[u8]) -> u32 {
        if let Some(at) = self.constants.get(bytes) {
            return *at;
        }
        let align = bytes.len().next_power_of_two();
        self.pool.resize(self.pool.len().next_multiple_of(align), 0);
        let at = self.pool.len() as u32;
        self.pool.extend(bytes);
        self.constants.insert(bytes.to_vec(), at);
        at
    }

    pub fn int_constant(&mut self, r: VReg, x: i64) {
        let mut inst = Inst::new();
        let d = inst.def(r, View::Q);
        let d32 = Arg::Op(0, View::D);
        match (u32::try_from(x), i32::try_from(x)) {
            (Ok(x), _) => inst.step(Code::Mov_r32_imm32, &[d32, Arg::Imm(OpKind::Immediate32, x as i64)]),
            (_, Ok(_)) => inst.step(Code::Mov_rm64_imm32, &[d, Arg::Imm(OpKind::Immediate32to64, x)]),
            _ => inst.step(Code::Mov_r64_imm64, &[d, Arg::Imm(OpKind::Immediate64, x)]),
        }
        self.now.push(inst);
    }

    pub fn float_constant(&mut self, r: VReg, ty: Type, bytes: &[u8]) -> Result {
        if bytes.iter().all(|b| *b == 0) {
            self.clear(r);
        } else {
            let (at, view) = (Source::Pool(self.constant(bytes)), self.view(ty));
            self.two(load_code(ty, view)?, (r, view), (at, view));
        }
        Ok(())
    }

    /// Zeros in a vector register.
    pub fn clear(&mut self, r: VReg) {
        let mut inst = Inst::new();
        let d = inst.def(r, View::X);
        inst.step(Code::VEX_Vxorps_xmm_xmm_xmmm128, &[d, d, d]);
        self.now.push(inst);
    }

    /// The address of what is at an offset from a pointer.
    pub fn address(&mut self, pointer: ir::Value, offset: i32) -> Result<Address> {
        let (v, offset) = self.without_constants(pointer, offset, 1);
        if let Some(InstructionData::StackAddr { stack_slot, offset: more, .. }) = self.definition(v) {
            let at = self.slots[stack_slot.index()] as i32 + i32::from(more);
            return Ok(Address { base: None, index: None, offset: at + offset });
        }
        let Some(InstructionData::Binary { opcode: Opcode::Iadd, args }) =
            self.definition(v).filter(|_| self.is_here(v))
        else {
            return Ok(Address { base: Some(self.reg(v)?), index: None, offset });
        };
        let [x, y] = if self.scaled(args[0]).is_some() { [args[1], args[0]] } else { args };
        let (x, offset) = self.without_constants(x, offset, 1);
        let (y, scale) = self.scaled(y).unwrap_or((y, 1));
        let (y, offset) = self.without_constants(y, offset, scale);
        Ok(Address { base: Some(self.reg(x)?), index: Some((self.reg(y)?, scale)), offset })
    }

    /// A value without the constants that are added to it, and the offset with them.
    pub fn without_constants(&self, mut v: ir::Value, mut offset: i32, scale: u32) -> (ir::Value, i32) {
        while let Some(InstructionData::Binary { opcode: Opcode::Iadd, args: [x, c] }) = self.definition(v) {
            let (x, c) = if self.int(x).is_some() { (c, x) } else { (x, c) };
            let constant = self.int(c).and_then(|c| c.checked_mul(scale as i64)?.checked_add(offset as i64));
            match constant.and_then(|sum| i32::try_from(sum).ok()) {
                Some(sum) => (v, offset) = (x, sum),
                None => break,
            }
        }
        (self.func.dfg.resolve_aliases(v), offset)
    }

    /// The value that is shifted left by up to three bits, and by what that multiplies.
    pub fn scaled(&self, v: ir::Value) -> Option<(ir::Value, u32)> {
        let InstructionData::Binary { opcode: Opcode::Ishl, args: [x, n] } = self.definition(v)? else {
            return None;
        };
        let n = self.int(n).filter(|n| (1..4).contains(n))?;
        self.is_here(v).then_some((x, 1 << n))
    }
}

/// The part of a vector register with so many bytes.
pub fn view_of(bytes: usize) -> View {
    match bytes {
        32 => View::Y,
        64 => View::Z,
        _ => View::X,
    }
}

/// The part of a general register that a type takes.
pub fn int_view(ty: Type) -> Result<View> {
    match ty {
        types::I8 => Ok(View::B),
        types::I16 => Ok(View::W),
        types::I32 => Ok(View::D),
        types::I64 => Ok(View::Q),
        _ => Err(format!("an integer of type {ty}")),
    }
}

pub fn by_view(view: View, codes: [Code; 4]) -> Code {
    match view {
        View::B => codes[0],
        View::W => codes[1],
        View::D => codes[2],
        _ => codes[3],
    }
}
