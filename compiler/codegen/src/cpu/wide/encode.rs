//! From allocated instructions to bytes.
//!
//! ```text
//! push rbp; mov rbp, rsp; push saved …; sub rsp, frame; and rsp, -64     where anything is saved, spilled or called
//! blocks in order, jumps to empty blocks led on
//! constants
//! ```
//!
//! The frame has the spill slots first, the function's own stack slots behind them.

use super::alloc::{SAVED, View as Allocated};
use super::inst::{Arg, Flow, Inst, Lowered, Memory, Step, View};
use super::select::Result;
use super::values::view_of;
use iced_x86::{Code, Encoder, Instruction, OpKind, Register};
use regalloc2::{Allocation, Block as RaBlock, Edit, Function, InstOrEdit, Output, RegClass};

/// A call in the code: where its address is, and the number of the function's external name.
pub struct Call {
    pub offset: u32,
    pub name: u32,
    /// By its distance.
    pub near: bool,
}

/// The bytes of a function.
pub struct Encoded {
    pub bytes: Vec<u8>,
    pub calls: Vec<Call>,
}

struct Encode<'a> {
    code: &'a Lowered,
    encoder: Encoder,
    /// Bytes so far.
    at: usize,
    /// Ends of jumps, with the blocks that they lead to.
    jumps: Vec<(usize, usize)>,
    /// Places of the distances to constants, the ends of their instructions, and the constants.
    constants: Vec<(usize, usize, u32)>,
    calls: Vec<Call>,
    starts: Vec<usize>,
    /// Bytes of all spill slots.
    spilled: i32,
    saved: Vec<Register>,
    has_frame: bool,
}

/// The bytes of a function whose registers are allocated.
pub fn encode(code: &Lowered, view: &Allocated, out: &Output) -> Result<Encoded> {
    let saved = saved(out);
    let spilled = (8 * out.num_spillslots).next_multiple_of(64) as i32;
    let calls = code.blocks.iter().flat_map(|b| &b.insts).any(|i| i.calls);
    let mut e = Encode {
        code,
        encoder: Encoder::new(64),
        at: 0,
        jumps: Vec::new(),
        constants: Vec::new(),
        calls: Vec::new(),
        starts: vec![0; code.blocks.len()],
        has_frame: spilled > 0 || code.stack > 0 || calls || !saved.is_empty(),
        spilled,
        saved,
    };
    e.enter()?;
    e.blocks(view, out)?;
    e.finish()
}

/// The registers that the function must save.
fn saved(out: &Output) -> Vec<Register> {
    let moved = out.edits.iter().flat_map(|(_, Edit::Move { from, to })| [*from, *to]);
    let used: Vec<Allocation> = out.allocs.iter().copied().chain(moved).collect();
    let is_used = |n: u8| {
        let mut regs = used.iter().filter_map(|a| a.as_reg());
        regs.any(|r| r.class() == RegClass::Int && r.hw_enc() == n as usize)
    };
    SAVED.into_iter().filter(|n| is_used(*n)).map(|n| Register::RAX + n as u32).collect()
}

/// The name of a register's part.
fn register(a: Allocation, view: View) -> Option<Register> {
    let n = a.as_reg()?.hw_enc() as u32;
    Some(match view {
        // With four exceptions, which need a prefix that the encoder adds.
        View::B if n < 4 => Register::AL + n,
        View::B => Register::SPL + (n - 4),
        View::W => Register::AX + n,
        View::D => Register::EAX + n,
        View::Q => Register::RAX + n,
        View::X => Register::XMM0 + n,
        View::Y => Register::YMM0 + n,
        View::Z => Register::ZMM0 + n,
        View::K => Register::K0 + n,
    })
}

impl Encode<'_> {
    fn put(&mut self, instruction: &Instruction) -> Result {
        let length = self.encoder.encode(instruction, self.at as u64);
        self.at += length.map_err(|e| format!("{:?}: {e}", instruction.code()))?;
        Ok(())
    }

    fn simple(&mut self, made: std::result::Result<Instruction, iced_x86::IcedError>) -> Result {
        self.put(&made.map_err(|e| e.to_string())?)
    }

    fn enter(&mut self) -> Result {
        if !self.has_frame {
            return Ok(());
        }
        let frame = self.spilled + self.code.stack.next_multiple_of(64) as i32;
        self.simple(Instruction::with1(Code::Push_r64, Register::RBP))?;
        self.simple(Instruction::with2(Code::Mov_r64_rm64, Register::RBP, Register::RSP))?;
        for r in self.saved.clone() {
            self.simple(Instruction::with1(Code::Push_r64, r))?;
        }
        self.simple(Instruction::with2(Code::Sub_rm64_imm32, Register::RSP, frame))?;
        self.simple(Instruction::with2(Code::And_rm64_imm8, Register::RSP, -64))
    }

    fn leave(&mut self) -> Result {
        self.simple(Ok(Instruction::with(Code::VEX_Vzeroupper)))?;
        if self.has_frame {
            let below = iced_x86::MemoryOperand::with_base_displ(Register::RBP, -8 * self.saved.len() as i64);
            self.simple(Instruction::with2(Code::Lea_r64_m, Register::RSP, below))?;
            for r in self.saved.clone().into_iter().rev() {
                self.simple(Instruction::with1(Code::Pop_r64, r))?;
            }
            self.simple(Instruction::with1(Code::Pop_r64, Register::RBP))?;
        }
        self.simple(Ok(Instruction::with(Code::Retnq)))
    }

    fn blocks(&mut self, view: &Allocated, out: &Output) -> Result {
        let n = self.code.blocks.len();
        let on: Vec<Option<usize>> = (0..n).map(|b| self.leads_on(view, out, b)).collect();
        let target = |mut b: usize| {
            // A loop without any instruction leads on for ever.
            for _ in 0..n {
                match on[b] {
                    Some(next) => b = next,
                    None => break,
                }
            }
            b
        };
        for b in (0..n).filter(|b| on[*b].is_none()) {
            let next = (b + 1..n).find(|b| on[*b].is_none());
            if view.block_preds(RaBlock::new(b)).iter().any(|p| p.index() >= b) {
                self.align();
            }
            self.starts[b] = self.at;
            for item in out.block_insts_and_edits(view, RaBlock::new(b)) {
                match item {
                    InstOrEdit::Edit(Edit::Move { from, to }) => self.moved(*from, *to)?,
                    InstOrEdit::Inst(i) => {
                        let inst = view.inst(i);
                        self.inst(inst, out.inst_allocs(i))?;
                        self.flow(inst.flow, next, &target)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The block that an empty one jumps to.
    fn leads_on(&self, view: &Allocated, out: &Output, b: usize) -> Option<usize> {
        let [Inst { flow: Flow::Jump(to), steps, .. }] = &self.code.blocks[b].insts[..] else { return None };
        let mut items = out.block_insts_and_edits(view, RaBlock::new(b));
        let moves = items.any(|i| matches!(i, InstOrEdit::Edit(_)));
        (!moves && steps.is_empty() && *to != b).then_some(*to)
    }

    fn flow(&mut self, flow: Flow, next: Option<usize>, target: &impl Fn(usize) -> usize) -> Result {
        match flow {
            Flow::Next => Ok(()),
            Flow::Return => self.leave(),
            Flow::Jump(to) => self.jump(Code::Jmp_rel32_64, target(to), next),
            Flow::Branch(condition, yes, no) => {
                let (yes, no) = (target(yes), target(no));
                if Some(yes) == next {
                    return self.jump(condition.inverse().jump(), no, None);
                }
                self.jump(condition.jump(), yes, None)?;
                self.jump(Code::Jmp_rel32_64, no, next)
            }
        }
    }

    /// A jump, unless the next block is where it leads.
    fn jump(&mut self, code: Code, to: usize, next: Option<usize>) -> Result {
        if Some(to) == next {
            return Ok(());
        }
        self.simple(Instruction::with_branch(code, self.at as u64))?;
        self.jumps.push((self.at, to));
        Ok(())
    }

    fn align(&mut self) {
        const NOPS: [&[u8]; 8] = [
            &[0x90],
            &[0x66, 0x90],
            &[0x0f, 0x1f, 0],
            &[0x0f, 0x1f, 0x40, 0],
            &[0x0f, 0x1f, 0x44, 0, 0],
            &[0x66, 0x0f, 0x1f, 0x44, 0, 0],
            &[0x0f, 0x1f, 0x80, 0, 0, 0, 0],
            &[0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0],
        ];
        while !self.at.is_multiple_of(16) {
            let nop = NOPS[(16 - self.at % 16).min(8) - 1];
            nop.iter().for_each(|b| self.encoder.write_u8(*b));
            self.at += nop.len();
        }
    }

    fn moved(&mut self, from: Allocation, to: Allocation) -> Result {
        let class = from.as_reg().or(to.as_reg()).ok_or("a move from memory to memory")?.class();
        let (view, load, store) = match (class, self.code.width) {
            (RegClass::Int, _) => (View::Q, Code::Mov_r64_rm64, Code::Mov_rm64_r64),
            (RegClass::Vector, _) => (View::K, Code::VEX_Kmovq_kr_km64, Code::VEX_Kmovq_m64_kr),
            (_, 64) => (View::Z, Code::EVEX_Vmovups_zmm_k1z_zmmm512, Code::EVEX_Vmovups_zmmm512_k1z_zmm),
            _ => (View::Y, Code::VEX_Vmovaps_ymm_ymmm256, Code::VEX_Vmovaps_ymmm256_ymm),
        };
        let allocs = [to, from];
        let code = if to.is_reg() { load } else { store };
        self.step(code, &[Arg::Op(0, view), Arg::Op(1, view)], &allocs)
    }

    fn inst(&mut self, inst: &Inst, allocs: &[Allocation]) -> Result {
        let mut skip = None;
        for step in &inst.steps {
            let start = skip.take();
            match step {
                Step::Code(code, args) => self.step(*code, args, allocs)?,
                Step::Skip(code) => {
                    self.simple(Instruction::with_branch(*code, self.at as u64))?;
                    skip = Some(self.at);
                }
                Step::Call { name, near } => self.call(*name, *near)?,
            }
            if let Some(from) = start {
                // Jumps are patched when all is known; a target beyond all blocks is a place.
                self.jumps.push((from, self.code.blocks.len() + self.at));
            }
        }
        Ok(())
    }

    /// A call near by, by its distance, or anywhere, by its address.
    fn call(&mut self, name: u32, near: bool) -> Result {
        self.simple(Ok(Instruction::with(Code::VEX_Vzeroupper)))?;
        if near {
            self.simple(Instruction::with_branch(Code::Call_rel32_64, self.at as u64))?;
            self.calls.push(Call { offset: self.at as u32 - 4, name, near });
            return Ok(());
        }
        self.simple(Instruction::with2(Code::Mov_r64_imm64, Register::RAX, u64::MAX >> 1))?;
        self.calls.push(Call { offset: self.at as u32 - 8, name, near });
        self.simple(Instruction::with1(Code::Call_rm64, Register::RAX))
    }

    fn step(&mut self, code: Code, args: &[Arg], allocs: &[Allocation]) -> Result {
        let mut i = Instruction::default();
        i.set_code(code);
        let mut constant = None;
        for (n, arg) in args.iter().enumerate() {
            let n = n as u32;
            match *arg {
                Arg::Op(at, view) => match register(allocs[at as usize], view) {
                    Some(r) => set_register(&mut i, n, r),
                    None => {
                        let slot = allocs[at as usize].as_stack().ok_or("an operand without a place")?;
                        self.set_memory(&mut i, n, Register::RSP, None, 8 * slot.index() as i64)
                    }
                },
                Arg::Under(at) => {
                    let mask = register(allocs[at as usize], View::K).ok_or("a mask in memory")?;
                    i.set_op_mask(mask)
                }
                Arg::Fixed(r) => set_register(&mut i, n, r),
                Arg::Imm(kind, x) => set_immediate(&mut i, n, kind, x),
                Arg::Pool(at) => {
                    constant = Some(at);
                    self.set_memory(&mut i, n, Register::RIP, None, self.at as i64)
                }
                Arg::Mem(memory) => self.set_address(&mut i, n, memory, allocs)?,
            }
        }
        let start = self.at;
        self.put(&i)?;
        if let Some(pool) = constant {
            let place = start + self.encoder.get_constant_offsets().displacement_offset();
            self.constants.push((place, self.at, pool));
        }
        Ok(())
    }

    fn set_memory(
        &self,
        i: &mut Instruction,
        n: u32,
        base: Register,
        index: Option<(Register, u32)>,
        offset: i64,
    ) {
        i.set_op_kind(n, OpKind::Memory);
        i.set_memory_base(base);
        if let Some((index, scale)) = index {
            i.set_memory_index(index);
            i.set_memory_index_scale(scale);
        }
        i.set_memory_displacement64(offset as u64);
        let size = match offset {
            0 => 0,
            _ if i8::try_from(offset).is_ok() => 1,
            _ => 8,
        };
        i.set_memory_displ_size(if base == Register::RIP { 8 } else { size });
    }

    fn set_address(&self, i: &mut Instruction, n: u32, memory: Memory, allocs: &[Allocation]) -> Result {
        let name = |at: u8| register(allocs[at as usize], View::Q).ok_or("an address in memory");
        let (base, offset) = match memory.base {
            Some(at) => (name(at)?, memory.offset),
            None => (Register::RSP, self.spilled + memory.offset),
        };
        let index = memory.index.map(|(at, scale)| self.index(allocs[at as usize]).map(|r| (r, scale)));
        let index = index.transpose()?;
        self.set_memory(i, n, base, index, offset as i64);
        Ok(())
    }

    /// The register of an index, or of one for each lane.
    fn index(&self, a: Allocation) -> Result<Register> {
        let is_vector = a.as_reg().is_some_and(|r| r.class() == RegClass::Float);
        let view = if is_vector { view_of(self.code.width) } else { View::Q };
        register(a, view).ok_or_else(|| "an address in memory".into())
    }

    fn finish(mut self) -> Result<Encoded> {
        while !self.at.is_multiple_of(64) {
            self.encoder.write_u8(0xcc);
            self.at += 1;
        }
        let pool = self.at;
        let mut bytes = self.encoder.take_buffer();
        bytes.extend(&self.code.pool);
        let blocks = self.code.blocks.len();
        for (end, to) in self.jumps {
            let target = if to < blocks { self.starts[to] } else { to - blocks };
            bytes[end - 4..end].copy_from_slice(&(target as i32 - end as i32).to_le_bytes());
        }
        for (place, end, constant) in self.constants {
            let distance = (pool + constant as usize) as i32 - end as i32;
            bytes[place..place + 4].copy_from_slice(&distance.to_le_bytes());
        }
        Ok(Encoded { bytes, calls: self.calls })
    }
}

fn set_register(i: &mut Instruction, n: u32, r: Register) {
    i.set_op_kind(n, OpKind::Register);
    i.set_op_register(n, r);
}

fn set_immediate(i: &mut Instruction, n: u32, kind: OpKind, x: i64) {
    i.set_op_kind(n, kind);
    match kind {
        OpKind::Immediate8 => i.set_immediate8(x as u8),
        OpKind::Immediate16 => i.set_immediate16(x as u16),
        OpKind::Immediate32 => i.set_immediate32(x as u32),
        OpKind::Immediate32to64 => i.set_immediate32to64(x),
        _ => i.set_immediate64(x as u64),
    }
}
