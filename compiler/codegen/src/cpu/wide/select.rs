//! Instruction selection: Cranelift's IR, with vectors of any width, to machine instructions.
//!
//! Blocks are walked backwards, uses before definitions: what nothing uses is not computed, and what only goes into an
//! address, a comparison or an operand in memory is not computed by itself.

use super::codes;
use super::inst::{
    Address, Arg, Block, Condition, Flow, Inst, Lowered, Source, Step, View, general, imm8, vector,
};
use cranelift::prelude::*;
use cranelift_codegen::Context;
use cranelift_codegen::entity::{EntityRef, SecondaryMap};
use cranelift_codegen::ir::condcodes::CondCode;
use cranelift_codegen::ir::{
    self, BlockArg, BlockCall, ExternalName, FuncRef, Function, InstructionData, MemFlags, Opcode, ValueDef,
};
use cranelift_codegen::isa::CallConv;
use iced_x86::{Code, OpKind};
use regalloc2::{RegClass, VReg};
use std::collections::HashMap;

/// Why a function has no code here: text for the developer. Cranelift compiles it, with shorter vectors.
pub type Unsupported = String;

/// A function on its way to machine instructions.
pub struct Select<'f> {
    pub func: &'f Function,
    /// The instructions of the Cranelift instruction that is being selected, in order.
    pub now: Vec<Inst>,
    pub registers: SecondaryMap<ir::Value, Option<VReg>>,
    /// Mask registers of comparisons at 512 bits, and of what is made of them.
    pub masks: SecondaryMap<ir::Value, Option<VReg>>,
    next: usize,
    /// Constants behind the code.
    pool: Vec<u8>,
    constants: HashMap<Vec<u8>, u32>,
    /// Where the stack slots are.
    slots: Vec<u32>,
    stack: u32,
    /// The block of the instruction that is being selected.
    block: Option<ir::Block>,
    /// Bytes of the widest vectors.
    pub width: usize,
}

/// The machine instructions of a function that was optimised.
pub fn select(context: &Context, width: usize) -> Result<Lowered, Unsupported> {
    let func = &context.func;
    let (slots, stack) = stack_slots(func);
    let select = Select {
        func,
        now: Vec::new(),
        registers: SecondaryMap::new(),
        masks: SecondaryMap::new(),
        next: 0,
        pool: Vec::new(),
        constants: HashMap::new(),
        slots,
        stack,
        block: None,
        width,
    };
    select.function(context)
}

/// Offsets of the stack slots, and how much they take.
fn stack_slots(func: &Function) -> (Vec<u32>, u32) {
    let mut at = 0u32;
    let mut offsets = Vec::new();
    for slot in func.sized_stack_slots.values() {
        at = at.next_multiple_of((1 << slot.align_shift.min(6)).max(8));
        offsets.push(at);
        at += slot.size;
    }
    (offsets, at)
}

/// The class of the registers that hold a type.
fn class(ty: Type) -> RegClass {
    if ty.is_int() && !ty.is_vector() && ty.bits() <= 64 { RegClass::Int } else { RegClass::Float }
}

impl<'f> Select<'f> {
    fn function(mut self, context: &Context) -> Result<Lowered, Unsupported> {
        let order = self.order(context);
        let numbers: HashMap<ir::Block, usize> = order.iter().enumerate().map(|(i, b)| (*b, i)).collect();
        let mut blocks: Vec<Block> = vec![Block::default(); order.len()];
        // Between the blocks, for edges.
        let mut edges: Vec<Vec<Block>> = vec![Vec::new(); order.len()];
        for block in context.domtree.cfg_postorder() {
            let number = numbers[block];
            let mut edge = Edges { numbers: &numbers, of: number, blocks: Vec::new() };
            blocks[number] = self.block(*block, context, &mut edge)?;
            edges[number] = edge.blocks;
        }
        self.enter(&mut blocks[0])?;
        let blocks = laid_out(blocks, edges);
        let (pool, registers, stack) = (self.pool, self.next, self.stack);
        Ok(Lowered { blocks, pool, registers, stack, width: self.width })
    }

    /// Blocks as they are laid out: those that are hardly ever reached last.
    fn order(&self, context: &Context) -> Vec<ir::Block> {
        let all: Vec<ir::Block> = context.domtree.cfg_rpo().copied().collect();
        let (cold, warm): (Vec<_>, Vec<_>) = all.into_iter().partition(|b| self.func.layout.is_cold(*b));
        [warm, cold].concat()
    }

    /// The parameters of the function, which come in fixed registers.
    fn enter(&mut self, entry: &mut Block) -> Result<(), Unsupported> {
        const GENERAL: [u8; 6] = [7, 6, 2, 1, 8, 9];
        if self.func.signature.call_conv != CallConv::SystemV {
            return Err("a calling convention".into());
        }
        let mut inst = Inst::new();
        let mut numbers = GENERAL.into_iter();
        for r in std::mem::take(&mut entry.params) {
            if r.class() != RegClass::Int {
                return Err("a parameter that is no integer".into());
            }
            let at = numbers.next().ok_or("more than six parameters")?;
            inst.fixed_def(r, general(at), View::Q);
        }
        entry.insts.insert(0, inst);
        Ok(())
    }

    fn block(
        &mut self,
        block: ir::Block,
        context: &Context,
        edges: &mut Edges,
    ) -> Result<Block, Unsupported> {
        self.block = Some(block);
        let mut reversed = Vec::new();
        let mut result = Block::default();
        let insts: Vec<ir::Inst> = self.func.layout.block_insts(block).collect();
        for inst in insts.into_iter().rev() {
            let data = self.func.dfg.insts[inst];
            if data.opcode().is_terminator() {
                self.terminator(inst, data, context, edges, &mut result)?;
            } else {
                self.inst(inst, data)?;
            }
            reversed.extend(self.now.drain(..).rev());
        }
        for param in self.func.dfg.block_params(block) {
            let r = self.of(*param);
            result.params.push(r);
        }
        result.insts.extend(reversed.into_iter().rev());
        Ok(result)
    }

    fn terminator(
        &mut self,
        inst: ir::Inst,
        data: InstructionData,
        context: &Context,
        edges: &mut Edges,
        block: &mut Block,
    ) -> Result<(), Unsupported> {
        let mut last = Inst::new();
        match data {
            InstructionData::Jump { destination, .. } => {
                block.args = self.block_args(destination)?;
                last.flow = Flow::Jump(edges.numbers[&destination.block(&self.func.dfg.value_lists)]);
            }
            InstructionData::Brif { arg, blocks, .. } => {
                let condition = self.condition(&mut last, arg)?;
                let [yes, no] = blocks;
                let yes = self.edge(yes, context, edges)?;
                let no = self.edge(no, context, edges)?;
                last.flow = Flow::Branch(condition, yes, no);
            }
            InstructionData::MultiAry { opcode: Opcode::Return, .. } => {
                let results = self.func.dfg.inst_args(inst).to_vec();
                if results.len() > 1 {
                    return Err("more than one result".into());
                }
                for x in results {
                    let r = self.reg(x)?;
                    let at = if r.class() == RegClass::Int { general(0) } else { vector(0) };
                    last.fixed_use(r, at, View::Q);
                }
                last.flow = Flow::Return;
            }
            _ => return Err(format!("{}", data.opcode())),
        }
        self.now.push(last);
        Ok(())
    }

    fn block_args(&mut self, to: BlockCall) -> Result<Vec<VReg>, Unsupported> {
        let args: Vec<BlockArg> = to.args(&self.func.dfg.value_lists).collect();
        let value = |a: BlockArg| a.as_value().ok_or_else(|| "a block argument".to_string());
        args.into_iter().map(|a| self.reg(value(a)?)).collect()
    }

    /// The block that a branch leads to: one of its own if values are passed or others come there.
    fn edge(&mut self, to: BlockCall, context: &Context, edges: &mut Edges) -> Result<usize, Unsupported> {
        let target = to.block(&self.func.dfg.value_lists);
        let number = edges.numbers[&target];
        if to.len(&self.func.dfg.value_lists) == 0 && context.cfg.pred_iter(target).count() == 1 {
            return Ok(number);
        }
        let before = self.now.len();
        let args = self.block_args(to)?;
        let mut insts: Vec<Inst> = self.now.drain(before..).collect();
        let mut jump = Inst::new();
        jump.flow = Flow::Jump(number);
        insts.push(jump);
        edges.blocks.push(Block { params: Vec::new(), insts, args });
        Ok(edges.number())
    }

    // Values.

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
    pub fn reg(&mut self, v: ir::Value) -> Result<VReg, Unsupported> {
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
    pub fn source(&mut self, v: ir::Value) -> Result<Source, Unsupported> {
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
    pub fn operand(&mut self, v: ir::Value) -> Result<Source, Unsupported> {
        match self.source(v)? {
            Source::Imm(_) => Ok(Source::Reg(self.reg(v)?)),
            source => Ok(source),
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
    fn bytes(&self, v: ir::Value) -> Option<Vec<u8>> {
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

    fn int_constant(&mut self, r: VReg, x: i64) {
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

    fn float_constant(&mut self, r: VReg, ty: Type, bytes: &[u8]) -> Result<(), Unsupported> {
        let mut inst = Inst::new();
        if bytes.iter().all(|b| *b == 0) {
            let d = inst.def(r, View::X);
            inst.step(Code::VEX_Vxorps_xmm_xmm_xmmm128, &[d, d, d]);
        } else {
            let at = Arg::Pool(self.constant(bytes));
            let view = self.view(ty);
            let d = inst.def(r, view);
            inst.step(load_code(ty, view)?, &[d, at]);
        }
        self.now.push(inst);
        Ok(())
    }

    /// The address of what is at an offset from a pointer.
    pub fn address(&mut self, pointer: ir::Value, offset: i32) -> Result<Address, Unsupported> {
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
    fn without_constants(&self, mut v: ir::Value, mut offset: i32, scale: u32) -> (ir::Value, i32) {
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
    fn scaled(&self, v: ir::Value) -> Option<(ir::Value, u32)> {
        let InstructionData::Binary { opcode: Opcode::Ishl, args: [x, n] } = self.definition(v)? else {
            return None;
        };
        let n = self.int(n).filter(|n| (1..4).contains(n))?;
        self.is_here(v).then_some((x, 1 << n))
    }

    // Conditions.

    /// Flags of a bool, and the condition under which it holds.
    pub fn condition(&mut self, inst: &mut Inst, v: ir::Value) -> Result<Condition, Unsupported> {
        let v = self.func.dfg.resolve_aliases(v);
        if self.is_here(v) {
            match self.definition(v) {
                Some(InstructionData::IntCompare { args: [x, y], cond, .. }) if !self.ty(x).is_vector() => {
                    return self.compare(inst, x, y, cond);
                }
                Some(InstructionData::FloatCompare { args: [x, y], cond, .. }) if !self.ty(x).is_vector() => {
                    if let Some(condition) = self.compare_floats(inst, x, y, cond)? {
                        return Ok(condition);
                    }
                }
                Some(InstructionData::Unary { opcode: Opcode::VanyTrue, arg }) => {
                    return self.any_lane(inst, arg);
                }
                Some(InstructionData::Unary { opcode: Opcode::VallTrue, arg }) => {
                    return self.all_lanes(inst, arg);
                }
                _ => {}
            }
        }
        let view = int_view(self.ty(v))?;
        let r = self.reg(v)?;
        let x = inst.using(r, view);
        inst.step(
            by_view(view, [Code::Test_rm8_r8, Code::Test_rm16_r16, Code::Test_rm32_r32, Code::Test_rm64_r64]),
            &[x, x],
        );
        Ok(Condition::NOT_EQUAL)
    }

    pub fn compare(
        &mut self,
        inst: &mut Inst,
        x: ir::Value,
        y: ir::Value,
        cond: IntCC,
    ) -> Result<Condition, Unsupported> {
        let view = int_view(self.ty(x))?;
        let (x, y, cond) = if self.int(x).is_some() { (y, x, cond.swap_args()) } else { (x, y, cond) };
        let a = self.reg(x)?;
        let a = inst.using(a, view);
        let y = self.source(y)?;
        let b = inst.source(y, view);
        let codes = match y {
            Source::Imm(_) => {
                [Code::Cmp_rm8_imm8, Code::Cmp_rm16_imm16, Code::Cmp_rm32_imm32, Code::Cmp_rm64_imm32]
            }
            _ => [Code::Cmp_r8_rm8, Code::Cmp_r16_rm16, Code::Cmp_r32_rm32, Code::Cmp_r64_rm64],
        };
        inst.step(by_view(view, codes), &[a, b]);
        Ok(int_condition(cond))
    }

    /// Flags of a comparison of floats, if one condition of theirs says all.
    pub fn compare_floats(
        &mut self,
        inst: &mut Inst,
        x: ir::Value,
        y: ir::Value,
        cond: FloatCC,
    ) -> Result<Option<Condition>, Unsupported> {
        let (swaps, condition) = match cond {
            FloatCC::GreaterThan => (false, Condition::ABOVE),
            FloatCC::GreaterThanOrEqual => (false, Condition::NOT_BELOW),
            FloatCC::LessThan => (true, Condition::ABOVE),
            FloatCC::LessThanOrEqual => (true, Condition::NOT_BELOW),
            FloatCC::Unordered => (false, Condition::PARITY),
            FloatCC::Ordered => (false, Condition::NO_PARITY),
            FloatCC::UnorderedOrLessThan => (false, Condition::BELOW),
            FloatCC::UnorderedOrLessThanOrEqual => (false, Condition::BELOW_EQUAL),
            FloatCC::UnorderedOrGreaterThan => (true, Condition::BELOW),
            FloatCC::UnorderedOrGreaterThanOrEqual => (true, Condition::BELOW_EQUAL),
            FloatCC::UnorderedOrEqual => (false, Condition::EQUAL),
            FloatCC::OrderedNotEqual => (false, Condition::NOT_EQUAL),
            FloatCC::Equal | FloatCC::NotEqual => return Ok(None),
        };
        let (x, y) = if swaps { (y, x) } else { (x, y) };
        let code = if self.ty(x) == types::F64 {
            Code::VEX_Vucomisd_xmm_xmmm64
        } else {
            Code::VEX_Vucomiss_xmm_xmmm32
        };
        let (a, b) = (self.reg(x)?, self.source(y)?);
        let (a, b) = (inst.using(a, View::X), inst.source(b, View::X));
        inst.step(code, &[a, b]);
        Ok(Some(condition))
    }

    // Instructions.

    fn is_wanted(&self, inst: ir::Inst) -> bool {
        let results = self.func.dfg.inst_results(inst);
        results.iter().any(|v| self.registers[*v].is_some() || self.masks[*v].is_some())
    }

    fn inst(&mut self, inst: ir::Inst, data: InstructionData) -> Result<(), Unsupported> {
        let opcode = data.opcode();
        match data {
            InstructionData::Store { args, flags, offset, .. } => {
                return self.store(opcode, args, flags, i32::from(offset));
            }
            InstructionData::Call { func_ref, .. } => return self.call(inst, func_ref),
            _ if opcode.can_store() => return Err(format!("{opcode}")),
            _ => {}
        }
        if !self.is_wanted(inst) {
            return Ok(());
        }
        let result = self.func.dfg.first_result(inst);
        let ty = self.ty(result);
        if self.masks[result].is_some() || self.has_mask(result, ty.lane_type().bytes()) {
            return self.masks(result, data);
        }
        let d = self.of(result);
        // Constants and casts are made where they are used.
        match data {
            InstructionData::Load { arg, offset, .. } => self.load(opcode, ty, d, arg, i32::from(offset)),
            InstructionData::LoadNoOffset { opcode: Opcode::AtomicLoad, arg, .. } => {
                self.load(Opcode::Load, ty, d, arg, 0)
            }
            InstructionData::StackAddr { .. } => {
                let address = self.address(result, 0)?;
                self.lea(d, address)
            }
            InstructionData::NullAry { opcode: Opcode::GetStackPointer } => {
                let mut inst = Inst::new();
                let d = inst.def(d, View::Q);
                inst.step(Code::Mov_r64_rm64, &[d, Arg::Fixed(iced_x86::Register::RSP)]);
                self.now.push(inst);
                Ok(())
            }
            _ if ty.is_vector() || self.is_of_vectors(inst) => self.vectors(inst, data, d, ty),
            _ if ty.is_float() || class(ty) == RegClass::Float => self.floats(data, d, ty),
            _ => self.integers(data, d, ty),
        }
    }

    fn is_of_vectors(&self, inst: ir::Inst) -> bool {
        self.func.dfg.inst_args(inst).iter().any(|a| self.ty(*a).is_vector())
    }

    fn load(
        &mut self,
        opcode: Opcode,
        ty: Type,
        d: VReg,
        pointer: ir::Value,
        offset: i32,
    ) -> Result<(), Unsupported> {
        let address = self.address(pointer, offset)?;
        let code = match (opcode, ty) {
            (Opcode::Load, types::I8) | (Opcode::Uload8, _) => Code::Movzx_r32_rm8,
            (Opcode::Load, types::I16) | (Opcode::Uload16, _) => Code::Movzx_r32_rm16,
            (Opcode::Load, types::I32) | (Opcode::Uload32, _) => Code::Mov_r32_rm32,
            (Opcode::Load, types::I64) => Code::Mov_r64_rm64,
            (Opcode::Sload8, _) => Code::Movsx_r64_rm8,
            (Opcode::Sload16, _) => Code::Movsx_r64_rm16,
            (Opcode::Sload32, _) => Code::Movsxd_r64_rm32,
            (Opcode::Load, ty) => load_code(ty, self.view(ty))?,
            _ => return Err(format!("{opcode}")),
        };
        let view = match (opcode, ty) {
            (Opcode::Sload8 | Opcode::Sload16 | Opcode::Sload32, _) | (Opcode::Load, types::I64) => View::Q,
            _ if class(ty) == RegClass::Int => View::D,
            _ => self.view(ty),
        };
        let mut inst = Inst::new();
        let d = inst.def(d, view);
        let m = inst.memory(address);
        inst.step(code, &[d, m]);
        self.now.push(inst);
        Ok(())
    }

    fn store(
        &mut self,
        opcode: Opcode,
        [x, pointer]: [ir::Value; 2],
        _: MemFlags,
        offset: i32,
    ) -> Result<(), Unsupported> {
        let address = self.address(pointer, offset)?;
        let ty = self.ty(x);
        let (code, view) = match (opcode, ty) {
            (Opcode::Store, types::I8) | (Opcode::Istore8, _) => (Code::Mov_rm8_r8, View::B),
            (Opcode::Store, types::I16) | (Opcode::Istore16, _) => (Code::Mov_rm16_r16, View::W),
            (Opcode::Store, types::I32) | (Opcode::Istore32, _) => (Code::Mov_rm32_r32, View::D),
            (Opcode::Store, types::I64) => (Code::Mov_rm64_r64, View::Q),
            (Opcode::Store, types::F32) => (Code::VEX_Vmovss_m32_xmm, View::X),
            (Opcode::Store, types::F64) => (Code::VEX_Vmovsd_m64_xmm, View::X),
            (Opcode::Store, ty) => {
                let view = self.view(ty);
                (codes::MOVUPS_TO.at(view).ok_or_else(|| format!("a store of {ty}"))?, view)
            }
            _ => return Err(format!("{opcode}")),
        };
        let x = self.reg(x)?;
        let mut inst = Inst::new();
        let m = inst.memory(address);
        let x = inst.using(x, view);
        inst.step(code, &[m, x]);
        self.now.push(inst);
        Ok(())
    }

    pub fn lea(&mut self, d: VReg, address: Address) -> Result<(), Unsupported> {
        let mut inst = Inst::new();
        let d = inst.def(d, View::Q);
        let m = inst.memory(address);
        inst.step(Code::Lea_r64_m, &[d, m]);
        self.now.push(inst);
        Ok(())
    }

    fn call(&mut self, inst: ir::Inst, func_ref: FuncRef) -> Result<(), Unsupported> {
        const GENERAL: [u8; 6] = [7, 6, 2, 1, 8, 9];
        let callee = &self.func.dfg.ext_funcs[func_ref];
        let signature = &self.func.dfg.signatures[callee.signature];
        let ExternalName::User(name) = callee.name else { return Err("a call of no function".into()) };
        let results = self.func.dfg.inst_results(inst).to_vec();
        if signature.call_conv != CallConv::SystemV || results.len() > 1 {
            return Err("a call with more than one result".into());
        }
        let near = callee.colocated;
        let extensions: Vec<ir::ArgumentExtension> = signature.params.iter().map(|p| p.extension).collect();
        let args = self.func.dfg.inst_args(inst).to_vec();
        let (mut general_at, mut vector_at) = (0, 0);
        let mut call = Inst::new();
        call.calls = true;
        for (x, extension) in args.into_iter().zip(extensions) {
            let r = self.extended(x, extension)?;
            if r.class() == RegClass::Int {
                let at = *GENERAL.get(general_at).ok_or("a call with many arguments")?;
                call.fixed_use(r, general(at), View::Q);
                general_at += 1;
            } else {
                call.fixed_use(r, vector(vector_at), View::X);
                vector_at += 1;
            }
        }
        if vector_at > 8 {
            return Err("a call with many arguments".into());
        }
        for x in results {
            let r = self.of(x);
            let at = if r.class() == RegClass::Int { general(0) } else { vector(0) };
            call.fixed_def(r, at, View::Q);
        }
        call.steps.push(Step::Call { name: name.as_u32(), near });
        self.now.push(call);
        Ok(())
    }

    /// A value as it is passed.
    fn extended(&mut self, x: ir::Value, extension: ir::ArgumentExtension) -> Result<VReg, Unsupported> {
        let ty = self.ty(x);
        match extension {
            ir::ArgumentExtension::None => self.reg(x),
            _ if ty.bytes() >= 4 => self.reg(x),
            extension => {
                let d = self.fresh(RegClass::Int);
                self.extend(d, x, extension == ir::ArgumentExtension::Sext)?;
                Ok(d)
            }
        }
    }

    /// A number of 64 bits of a shorter one.
    pub fn extend(&mut self, d: VReg, x: ir::Value, signed: bool) -> Result<(), Unsupported> {
        let view = int_view(self.ty(x))?;
        let code = match (view, signed) {
            (View::B, true) => Code::Movsx_r64_rm8,
            (View::B, false) => Code::Movzx_r32_rm8,
            (View::W, true) => Code::Movsx_r64_rm16,
            (View::W, false) => Code::Movzx_r32_rm16,
            (View::D, true) => Code::Movsxd_r64_rm32,
            (View::D, false) => Code::Mov_r32_rm32,
            _ => Code::Mov_r64_rm64,
        };
        let to = if signed || view == View::Q { View::Q } else { View::D };
        let x = Source::Reg(self.reg(x)?);
        self.two(code, (d, to), (x, view));
        Ok(())
    }

    // Shapes of instructions.

    /// `d = code x`.
    pub fn two(&mut self, code: Code, (d, to): (VReg, View), (x, from): (Source, View)) {
        let mut inst = Inst::new();
        let d = inst.def(d, to);
        let x = inst.source(x, from);
        inst.step(code, &[d, x]);
        self.now.push(inst);
    }

    /// `d = code x n`.
    pub fn two_by(&mut self, code: Code, (d, to): (VReg, View), (x, from): (Source, View), n: u8) {
        let mut inst = Inst::new();
        let d = inst.def(d, to);
        let x = inst.source(x, from);
        inst.step(code, &[d, x, imm8(n)]);
        self.now.push(inst);
    }

    /// `d = code x y`, all of one width.
    pub fn three(&mut self, code: Code, view: View, d: VReg, x: VReg, y: Source) {
        let mut inst = Inst::new();
        let d = inst.def(d, view);
        let x = inst.using(x, view);
        let y = inst.source(y, view);
        inst.step(code, &[d, x, y]);
        self.now.push(inst);
    }

    /// `d = code x y n`, all of one width.
    pub fn three_by(&mut self, code: Code, view: View, d: VReg, x: VReg, y: Source, n: u8) {
        let mut inst = Inst::new();
        let d = inst.def(d, view);
        let x = inst.using(x, view);
        let y = inst.source(y, view);
        inst.step(code, &[d, x, y, imm8(n)]);
        self.now.push(inst);
    }

    /// `d = x; d = code d y`.
    pub fn onto(&mut self, code: Code, view: View, d: VReg, x: VReg, y: Source) {
        let mut inst = Inst::new();
        let x = inst.using(x, view);
        let d = inst.reuse(d, x, view);
        let y = inst.source(y, view);
        inst.step(code, &[d, y]);
        self.now.push(inst);
    }
}

/// Where the edges of a block lead.
pub struct Edges<'n> {
    numbers: &'n HashMap<ir::Block, usize>,
    of: usize,
    blocks: Vec<Block>,
}

/// Numbers of blocks on edges, until blocks are laid out: above all others.
const EDGE: usize = 1 << 32;

impl Edges<'_> {
    fn number(&self) -> usize {
        EDGE + self.of * 2 + self.blocks.len() - 1
    }
}

/// All blocks in order, those on edges behind the blocks that they come from.
fn laid_out(blocks: Vec<Block>, edges: Vec<Vec<Block>>) -> Vec<Block> {
    let mut places = HashMap::new();
    let mut all = Vec::new();
    for (number, (block, edges)) in blocks.into_iter().zip(edges).enumerate() {
        places.insert(number, all.len());
        all.push(block);
        for (i, edge) in edges.into_iter().enumerate() {
            places.insert(EDGE + number * 2 + i, all.len());
            all.push(edge);
        }
    }
    for block in &mut all {
        if let Some(last) = block.insts.last_mut() {
            last.flow = match last.flow {
                Flow::Jump(to) => Flow::Jump(places[&to]),
                Flow::Branch(c, yes, no) => Flow::Branch(c, places[&yes], places[&no]),
                flow => flow,
            };
        }
    }
    all
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
pub fn int_view(ty: Type) -> Result<View, Unsupported> {
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

/// A load into a vector register.
fn load_code(ty: Type, view: View) -> Result<Code, Unsupported> {
    match ty {
        types::F32 => Ok(Code::VEX_Vmovss_xmm_m32),
        types::F64 => Ok(Code::VEX_Vmovsd_xmm_m64),
        _ if ty.is_vector() => codes::MOVUPS.at(view).ok_or_else(|| format!("a load of {ty}")),
        _ => Err(format!("a load of {ty}")),
    }
}

pub fn int_condition(cond: IntCC) -> Condition {
    match cond {
        IntCC::Equal => Condition::EQUAL,
        IntCC::NotEqual => Condition::NOT_EQUAL,
        IntCC::SignedLessThan => Condition::LESS,
        IntCC::SignedGreaterThanOrEqual => Condition::NOT_LESS,
        IntCC::SignedGreaterThan => Condition::GREATER,
        IntCC::SignedLessThanOrEqual => Condition::LESS_EQUAL,
        IntCC::UnsignedLessThan => Condition::BELOW,
        IntCC::UnsignedGreaterThanOrEqual => Condition::NOT_BELOW,
        IntCC::UnsignedGreaterThan => Condition::ABOVE,
        IntCC::UnsignedLessThanOrEqual => Condition::BELOW_EQUAL,
    }
}
