//! Machine instructions before their registers are known.
//!
//! ```text
//! v7 = fsub v5, v6     ==>     operands: def r7, use r5, any r6     steps: vsubps 0 1 2
//! ```
//!
//! One instruction of the register allocator is a list of operands and of one or a few x86 instructions (steps), which name
//! the operands by number. An operand that may be in memory becomes a spill slot there.

use iced_x86::{Code, OpKind, Register};
use regalloc2::{Operand, PReg, RegClass, VReg};

/// The part of a register that a step works on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum View {
    /// 8 bits of a general register.
    B,
    /// 16 bits of it.
    W,
    /// 32 bits of it.
    D,
    /// All 64 bits of it.
    Q,
    /// 128 bits of a vector register.
    X,
    /// 256 bits of it.
    Y,
    /// 512 bits of it.
    Z,
    /// A mask register.
    K,
}

/// An operand of a step.
#[derive(Clone, Copy, Debug)]
pub enum Arg {
    /// The register or spill slot of an operand.
    Op(u8, View),
    /// Memory.
    Mem(Memory),
    /// Bytes of the constants behind the code, from this offset.
    Pool(u32),
    /// A number, and how it is encoded.
    Imm(OpKind, i64),
    /// A register by name.
    Fixed(Register),
    /// The mask register that an instruction works under, which is no operand of the encoding.
    Under(u8),
}

/// An address: numbers of operands where an [`Address`] has registers.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    pub base: Option<u8>,
    pub index: Option<(u8, u32)>,
    /// Offset, from the stack slots if there is no base.
    pub offset: i32,
}

/// An address before it is part of an instruction.
#[derive(Clone, Copy, Debug)]
pub struct Address {
    /// None: the function's stack slots.
    pub base: Option<VReg>,
    /// A register that is added, times 1, 2, 4 or 8.
    pub index: Option<(VReg, u32)>,
    pub offset: i32,
}

/// The last input operand of an instruction.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    Reg(VReg),
    Pool(u32),
    Mem(Address),
    Imm(i32),
    /// A number of 8 bits.
    Byte(u8),
}

/// An input operand of an instruction, with the width at which a register is read.
#[derive(Clone, Copy, Debug)]
pub enum Read {
    /// In a register.
    In(VReg, View),
    /// In a register or in memory, or a number.
    Any(Source, View),
}

/// An x86 instruction.
#[derive(Clone, Debug)]
pub enum Step {
    Code(Code, Vec<Arg>),
    /// Jumps over the next step.
    Skip(Code),
    /// A call of the function with this external name, which is in the same file or anywhere.
    Call {
        name: u32,
        near: bool,
    },
}

/// The place where control goes after an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    Next,
    /// To a block, with its parameters' values.
    Jump(usize),
    /// To the first block if the condition holds, else to the second.
    Branch(Condition, usize, usize),
    Return,
}

/// A condition of the flags, by its number in the encoding of jumps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Condition(pub u8);

impl Condition {
    pub const BELOW: Condition = Condition(2);
    pub const NOT_BELOW: Condition = Condition(3);
    pub const EQUAL: Condition = Condition(4);
    pub const NOT_EQUAL: Condition = Condition(5);
    pub const BELOW_EQUAL: Condition = Condition(6);
    pub const ABOVE: Condition = Condition(7);
    pub const SIGN: Condition = Condition(8);
    pub const PARITY: Condition = Condition(10);
    pub const NO_PARITY: Condition = Condition(11);
    pub const LESS: Condition = Condition(12);
    pub const NOT_LESS: Condition = Condition(13);
    pub const LESS_EQUAL: Condition = Condition(14);
    pub const GREATER: Condition = Condition(15);

    /// The condition that holds where this does not.
    pub fn inverse(self) -> Condition {
        Condition(self.0 ^ 1)
    }

    pub fn jump(self) -> Code {
        use Code::*;
        [
            Jo_rel32_64,
            Jno_rel32_64,
            Jb_rel32_64,
            Jae_rel32_64,
            Je_rel32_64,
            Jne_rel32_64,
            Jbe_rel32_64,
            Ja_rel32_64,
            Js_rel32_64,
            Jns_rel32_64,
            Jp_rel32_64,
            Jnp_rel32_64,
            Jl_rel32_64,
            Jge_rel32_64,
            Jle_rel32_64,
            Jg_rel32_64,
        ][self.0 as usize]
    }

    pub fn set(self) -> Code {
        use Code::*;
        [
            Seto_rm8, Setno_rm8, Setb_rm8, Setae_rm8, Sete_rm8, Setne_rm8, Setbe_rm8, Seta_rm8, Sets_rm8,
            Setns_rm8, Setp_rm8, Setnp_rm8, Setl_rm8, Setge_rm8, Setle_rm8, Setg_rm8,
        ][self.0 as usize]
    }

    /// A conditional move of 64 bits.
    pub fn choose(self) -> Code {
        use Code::*;
        [
            Cmovo_r64_rm64,
            Cmovno_r64_rm64,
            Cmovb_r64_rm64,
            Cmovae_r64_rm64,
            Cmove_r64_rm64,
            Cmovne_r64_rm64,
            Cmovbe_r64_rm64,
            Cmova_r64_rm64,
            Cmovs_r64_rm64,
            Cmovns_r64_rm64,
            Cmovp_r64_rm64,
            Cmovnp_r64_rm64,
            Cmovl_r64_rm64,
            Cmovge_r64_rm64,
            Cmovle_r64_rm64,
            Cmovg_r64_rm64,
        ][self.0 as usize]
    }
}

/// An instruction for the register allocator.
#[derive(Clone, Debug)]
pub struct Inst {
    pub operands: Vec<Operand>,
    pub steps: Vec<Step>,
    pub flow: Flow,
    /// Changes all registers that a callee may change.
    pub calls: bool,
}

impl Inst {
    pub fn new() -> Inst {
        Inst { operands: Vec::new(), steps: Vec::new(), flow: Flow::Next, calls: false }
    }

    fn operand(&mut self, operand: Operand) -> u8 {
        self.operands.push(operand);
        self.operands.len() as u8 - 1
    }

    pub fn def(&mut self, r: VReg, view: View) -> Arg {
        Arg::Op(self.operand(Operand::reg_def(r)), view)
    }

    /// A use of a mask register to work under.
    pub fn under(&mut self, r: VReg) -> Arg {
        Arg::Under(self.operand(Operand::reg_use(r)))
    }

    /// A definition that shares no register with a use.
    pub fn early(&mut self, r: VReg, view: View) -> Arg {
        Arg::Op(self.operand(Operand::reg_temp(r)), view)
    }

    /// A definition in the register of a use.
    pub fn reuse(&mut self, r: VReg, of: Arg, view: View) -> Arg {
        let Arg::Op(n, _) = of else { unreachable!("a register is reused") };
        Arg::Op(self.operand(Operand::reg_reuse_def(r, n as usize)), view)
    }

    pub fn using(&mut self, r: VReg, view: View) -> Arg {
        Arg::Op(self.operand(Operand::reg_use(r)), view)
    }

    pub fn fixed_use(&mut self, r: VReg, at: PReg, view: View) -> Arg {
        Arg::Op(self.operand(Operand::reg_fixed_use(r, at)), view)
    }

    pub fn fixed_def(&mut self, r: VReg, at: PReg, view: View) -> Arg {
        Arg::Op(self.operand(Operand::reg_fixed_def(r, at)), view)
    }

    /// A use that may be in memory.
    pub fn source(&mut self, s: Source, view: View) -> Arg {
        match s {
            Source::Reg(r) => Arg::Op(self.operand(Operand::any_use(r)), view),
            Source::Pool(at) => Arg::Pool(at),
            Source::Mem(address) => self.memory(address),
            Source::Imm(x) => imm32(view, x),
            Source::Byte(x) => imm8(x),
        }
    }

    pub fn memory(&mut self, address: Address) -> Arg {
        let base = address.base.map(|r| self.operand(Operand::reg_use(r)));
        let index = address.index.map(|(r, scale)| (self.operand(Operand::reg_use(r)), scale));
        Arg::Mem(Memory { base, index, offset: address.offset })
    }

    pub fn step(&mut self, code: Code, args: &[Arg]) {
        self.steps.push(Step::Code(code, args.to_vec()));
    }
}

/// A number as the last operand of arithmetic.
fn imm32(view: View, x: i32) -> Arg {
    let kind = match view {
        View::B => OpKind::Immediate8,
        View::W => OpKind::Immediate16,
        View::D => OpKind::Immediate32,
        _ => OpKind::Immediate32to64,
    };
    Arg::Imm(kind, x as i64)
}

/// A number of 8 bits.
pub fn imm8(x: u8) -> Arg {
    Arg::Imm(OpKind::Immediate8, x as i64)
}

/// A basic block: the last of its instructions says where control goes.
#[derive(Clone, Debug, Default)]
pub struct Block {
    pub params: Vec<VReg>,
    pub insts: Vec<Inst>,
    /// The values that a jump at the end passes.
    pub args: Vec<VReg>,
}

/// A function in machine instructions.
pub struct Lowered {
    pub blocks: Vec<Block>,
    pub pool: Vec<u8>,
    pub registers: usize,
    /// Bytes of stack slots.
    pub stack: u32,
    /// Bytes of a vector register as it is spilled.
    pub width: usize,
}

/// The registers of a function's first arguments that are integers.
pub const ARGUMENTS: [u8; 6] = [7, 6, 2, 1, 8, 9];

pub fn general(n: u8) -> PReg {
    PReg::new(n as usize, RegClass::Int)
}

pub fn vector(n: u8) -> PReg {
    PReg::new(n as usize, RegClass::Float)
}
