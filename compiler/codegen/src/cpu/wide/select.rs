//! Instruction selection: Cranelift's IR, with vectors of any width, to machine instructions.
//!
//! Blocks are walked backwards, uses before definitions: what nothing uses is not computed, and what only goes into an
//! address, a comparison or an operand in memory is not computed by itself.

use super::inst::{ARGUMENTS, Arg, Block, Flow, Inst, Lowered, View, general, vector};
use super::values::class;
pub use crate::Result;
use cranelift_codegen::Context;
use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::ir::{self, BlockArg, BlockCall, Function, InstructionData, Opcode};
use cranelift_codegen::isa::CallConv;
use iced_x86::Code;
use par_ir::hash::{HashMap, HashSet};
use regalloc2::{RegClass, VReg};

/// A function on its way to machine instructions.
pub struct Select<'f> {
    pub func: &'f Function,
    /// The instructions of the Cranelift instruction that is being selected, in order.
    pub now: Vec<Inst>,
    pub registers: SecondaryMap<ir::Value, Option<VReg>>,
    /// Mask registers of comparisons at 512 bits, and of what is made of them.
    pub masks: SecondaryMap<ir::Value, Option<VReg>>,
    /// Parameters of blocks that are in mask registers.
    pub mask_params: HashSet<ir::Value>,
    pub next: usize,
    /// Constants behind the code.
    pub pool: Vec<u8>,
    pub constants: HashMap<Vec<u8>, u32>,
    /// Offsets of the stack slots, in bytes.
    pub slots: Vec<u32>,
    stack: u32,
    /// The block of the instruction that is being selected.
    pub block: Option<ir::Block>,
    /// Bytes of the widest vectors.
    pub width: usize,
}

/// The machine instructions of a function that was optimised.
pub fn select(context: &Context, width: usize) -> Result<Lowered> {
    let func = &context.func;
    let (slots, stack) = stack_slots(func);
    let mut select = Select {
        func,
        now: Vec::new(),
        registers: SecondaryMap::new(),
        masks: SecondaryMap::new(),
        mask_params: HashSet::default(),
        next: 0,
        pool: Vec::new(),
        constants: HashMap::default(),
        slots,
        stack,
        block: None,
        width,
    };
    select.find_mask_params();
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

impl<'f> Select<'f> {
    fn function(mut self, context: &Context) -> Result<Lowered> {
        let order = self.order(context);
        let numbers: HashMap<ir::Block, usize> = order.iter().enumerate().map(|(i, b)| (*b, i)).collect();
        let mut blocks: Vec<Block> = vec![Block::default(); order.len()];
        let mut edges: Vec<Vec<Edge>> = Vec::new();
        edges.resize_with(order.len(), Vec::new);
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
    fn enter(&mut self, entry: &mut Block) -> Result {
        if self.func.signature.call_conv != CallConv::SystemV {
            return Err("a calling convention".into());
        }
        let mut inst = Inst::new();
        let mut numbers = ARGUMENTS.into_iter();
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

    fn block(&mut self, block: ir::Block, context: &Context, edges: &mut Edges) -> Result<Block> {
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
            let is_mask = self.mask_params.contains(param);
            let r = if is_mask { self.mask_param(*param)? } else { self.of(*param) };
            result.params.push(r);
        }
        result.insts.append(&mut self.now);
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
    ) -> Result {
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

    fn block_args(&mut self, to: BlockCall) -> Result<Vec<VReg>> {
        let args: Vec<BlockArg> = to.args(&self.func.dfg.value_lists).collect();
        let value = |a: BlockArg| a.as_value().ok_or_else(|| "a block argument".to_string());
        let params = self.func.dfg.block_params(to.block(&self.func.dfg.value_lists));
        let mut passed = Vec::new();
        for (a, param) in args.into_iter().zip(params) {
            let lane = self.ty(*param).lane_type().bytes();
            let x = value(a)?;
            passed.push(if self.mask_params.contains(param) { self.mask(x, lane)? } else { self.reg(x)? });
        }
        Ok(passed)
    }

    /// The block that a branch leads to: one of its own if values are passed or others come there.
    fn edge(&mut self, to: BlockCall, context: &Context, edges: &mut Edges) -> Result<usize> {
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
        let is_cold = self.func.layout.is_cold(target);
        edges.blocks.push(Edge { block: Block { params: Vec::new(), insts, args }, is_cold });
        Ok(edges.number())
    }

    fn is_wanted(&self, inst: ir::Inst) -> bool {
        let results = self.func.dfg.inst_results(inst);
        results.iter().any(|v| self.registers[*v].is_some() || self.masks[*v].is_some())
    }

    fn inst(&mut self, inst: ir::Inst, data: InstructionData) -> Result {
        let opcode = data.opcode();
        match data {
            InstructionData::Store { args, offset, .. } => {
                return self.store(opcode, args, i32::from(offset));
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
                self.lea(d, address);
                Ok(())
            }
            InstructionData::NullAry { opcode: Opcode::GetStackPointer } => {
                let mut inst = Inst::new();
                let d = inst.def(d, View::Q);
                inst.step(Code::Mov_r64_rm64, &[d, Arg::Fixed(iced_x86::Register::RSP)]);
                self.now.push(inst);
                Ok(())
            }
            _ if ty.is_vector() || self.is_of_vectors(inst) => self.vectors(data, d, ty),
            _ if ty.is_float() || class(ty) == RegClass::Float => self.floats(data, d, ty),
            _ => self.integers(data, d, ty),
        }
    }

    fn is_of_vectors(&self, inst: ir::Inst) -> bool {
        self.func.dfg.inst_args(inst).iter().any(|a| self.ty(*a).is_vector())
    }
}

/// Outgoing edges of a block, with the blocks that are placed on them.
pub struct Edges<'n> {
    numbers: &'n HashMap<ir::Block, usize>,
    of: usize,
    blocks: Vec<Edge>,
}

/// A block between two others, for values that are passed.
struct Edge {
    block: Block,
    /// True if it leads to where control hardly ever comes.
    is_cold: bool,
}

/// Numbers of blocks on edges, until blocks are laid out: above all others.
const EDGE: usize = 1 << 32;

impl Edges<'_> {
    fn number(&self) -> usize {
        EDGE + self.of * 2 + self.blocks.len() - 1
    }
}

/// All blocks in order, those on edges behind the blocks that they come from. What leads to blocks that are hardly ever reached is behind all others: no jump has to lead
/// around it.
fn laid_out(blocks: Vec<Block>, edges: Vec<Vec<Edge>>) -> Vec<Block> {
    let mut places = HashMap::default();
    let (mut all, mut cold) = (Vec::new(), Vec::new());
    for (number, (block, edges)) in blocks.into_iter().zip(edges).enumerate() {
        places.insert(number, all.len());
        all.push(block);
        for (edge, number) in edges.into_iter().zip(EDGE + number * 2..) {
            if edge.is_cold {
                cold.push((number, edge.block));
            } else {
                places.insert(number, all.len());
                all.push(edge.block);
            }
        }
    }
    for (number, block) in cold {
        places.insert(number, all.len());
        all.push(block);
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
