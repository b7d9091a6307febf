//! The register allocator's view of a function.

use super::inst::{Block, Flow, Inst, Lowered, general};
use regalloc2::{
    self as ra, Block as RaBlock, Inst as RaInst, InstRange, MachineEnv, Operand, PReg, PRegSet, RegClass,
    VReg,
};

/// Saved by the function that changes them, in the System V convention: rbx, r12 to r15. rbp is the frame pointer.
pub const SAVED: [u8; 5] = [3, 12, 13, 14, 15];
/// General registers that a callee may change: rax, rcx, rdx, rsi, rdi, r8 to r11.
const CHANGED: [u8; 9] = [0, 1, 2, 6, 7, 8, 9, 10, 11];

/// A function with its instructions in one list.
pub struct View<'f> {
    code: &'f Lowered,
    insts: Vec<&'f Inst>,
    ranges: Vec<InstRange>,
    succs: Vec<Vec<RaBlock>>,
    preds: Vec<Vec<RaBlock>>,
    clobbers: PRegSet,
}

/// Vector registers and mask registers. Vector registers 16 to 31 have names in EVEX encodings only, which scalars do not use.
fn classes(width: usize) -> (u8, u8) {
    if width == 64 { (16, 8) } else { (16, 0) }
}

fn set(class: RegClass, numbers: impl Iterator<Item = u8>) -> PRegSet {
    numbers.map(|n| PReg::new(n as usize, class)).collect()
}

/// The registers of the processor.
pub fn machine(width: usize) -> MachineEnv {
    let (vectors, masks) = classes(width);
    let changed: PRegSet = CHANGED.into_iter().map(general).collect();
    let saved: PRegSet = SAVED.into_iter().map(general).collect();
    MachineEnv {
        preferred_regs_by_class: [
            changed,
            set(RegClass::Float, 0..vectors),
            // The first means "no mask".
            set(RegClass::Vector, 1.min(masks)..masks),
        ],
        non_preferred_regs_by_class: [saved, PRegSet::empty(), PRegSet::empty()],
        scratch_by_class: [None; 3],
        fixed_stack_slots: vec![],
    }
}

impl<'f> View<'f> {
    pub fn new(code: &'f Lowered) -> View<'f> {
        let (vectors, masks) = classes(code.width);
        let mut clobbers: PRegSet = CHANGED.into_iter().map(general).collect();
        clobbers.union_from(set(RegClass::Float, 0..vectors));
        clobbers.union_from(set(RegClass::Vector, 1.min(masks)..masks));
        let n = code.blocks.len();
        let mut view = View {
            code,
            insts: Vec::new(),
            ranges: Vec::new(),
            succs: Vec::new(),
            preds: vec![Vec::new(); n],
            clobbers,
        };
        for (number, block) in code.blocks.iter().enumerate() {
            view.block(number, block);
        }
        view
    }

    fn block(&mut self, number: usize, block: &'f Block) {
        let first = self.insts.len();
        self.insts.extend(&block.insts);
        self.ranges.push(InstRange::new(RaInst::new(first), RaInst::new(self.insts.len())));
        let succs = match block.insts.last().map(|i| i.flow) {
            Some(Flow::Jump(to)) => vec![RaBlock::new(to)],
            Some(Flow::Branch(_, yes, no)) => vec![RaBlock::new(yes), RaBlock::new(no)],
            _ => vec![],
        };
        for to in &succs {
            self.preds[to.index()].push(RaBlock::new(number));
        }
        self.succs.push(succs);
    }

    pub fn inst(&self, i: RaInst) -> &'f Inst {
        self.insts[i.index()]
    }
}

impl ra::Function for View<'_> {
    fn num_insts(&self) -> usize {
        self.insts.len()
    }

    fn num_blocks(&self) -> usize {
        self.ranges.len()
    }

    fn entry_block(&self) -> RaBlock {
        RaBlock::new(0)
    }

    fn block_insns(&self, block: RaBlock) -> InstRange {
        self.ranges[block.index()]
    }

    fn block_succs(&self, block: RaBlock) -> &[RaBlock] {
        &self.succs[block.index()]
    }

    fn block_preds(&self, block: RaBlock) -> &[RaBlock] {
        &self.preds[block.index()]
    }

    fn block_params(&self, block: RaBlock) -> &[VReg] {
        &self.code.blocks[block.index()].params
    }

    fn is_ret(&self, i: RaInst) -> bool {
        self.inst(i).flow == Flow::Return
    }

    fn is_branch(&self, i: RaInst) -> bool {
        matches!(self.inst(i).flow, Flow::Jump(_) | Flow::Branch(..))
    }

    /// Only jumps pass values: branches lead to blocks without parameters.
    fn branch_blockparams(&self, block: RaBlock, _: RaInst, _: usize) -> &[VReg] {
        &self.code.blocks[block.index()].args
    }

    fn inst_operands(&self, i: RaInst) -> &[Operand] {
        &self.inst(i).operands
    }

    fn inst_clobbers(&self, i: RaInst) -> PRegSet {
        if !self.inst(i).calls {
            return PRegSet::empty();
        }
        let mut clobbers = self.clobbers;
        for operand in &self.inst(i).operands {
            if let (ra::OperandKind::Def, Some(at)) = (operand.kind(), fixed(operand)) {
                clobbers.remove(at);
            }
        }
        clobbers
    }

    fn num_vregs(&self) -> usize {
        self.code.registers
    }

    /// In units of 8 bytes.
    fn spillslot_size(&self, class: RegClass) -> usize {
        if class == RegClass::Float { self.code.width / 8 } else { 1 }
    }
}

fn fixed(operand: &Operand) -> Option<PReg> {
    match operand.constraint() {
        ra::OperandConstraint::FixedReg(at) => Some(at),
        _ => None,
    }
}
