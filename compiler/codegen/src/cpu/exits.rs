//! Branches that leave loops, with the exit first.
//!
//! ```text
//! brif ok, on, failed      ==>      brif not ok, failed, on
//! ```
//!
//! Cranelift's optimiser walks over the dominator tree, and takes what a loop does not change out of the loop as long as the walk has
//! not left it. Of the successors of a branch it visits the last one first: if that is outside, what comes after the branch stays
//! in the loop.

use cranelift::prelude::*;
use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::condcodes::CondCode;
use cranelift_codegen::ir::{self, Function, InstructionData, Opcode};

/// Puts the cold one of the two successors of each branch first.
pub fn first(func: &mut Function) {
    let blocks: Vec<ir::Block> = func.layout.blocks().collect();
    for block in blocks {
        let Some(inst) = func.layout.last_inst(block) else { continue };
        let InstructionData::Brif { opcode, arg, blocks: [yes, no] } = func.dfg.insts[inst] else { continue };
        let is_cold = |to: ir::BlockCall| func.layout.is_cold(to.block(&func.dfg.value_lists));
        if is_cold(no) && !is_cold(yes) {
            let arg = inverse(func, inst, arg);
            func.dfg.insts[inst] = InstructionData::Brif { opcode, arg, blocks: [no, yes] };
        }
    }
}

/// The opposite of a condition, computed before an instruction.
fn inverse(func: &mut Function, before: ir::Inst, condition: Value) -> Value {
    let definition = func.dfg.value_def(condition).inst().map(|i| func.dfg.insts[i]);
    let is_one = |func: &Function, v: Value| {
        let definition = func.dfg.value_def(v).inst().map(|i| func.dfg.insts[i]);
        matches!(definition, Some(InstructionData::UnaryImm { imm, .. }) if imm.bits() == 1)
    };
    match definition {
        Some(InstructionData::IntCompare { cond, args: [x, y], .. }) => {
            FuncCursor::new(func).at_inst(before).ins().icmp(cond.complement(), x, y)
        }
        Some(InstructionData::FloatCompare { cond, args: [x, y], .. }) => {
            FuncCursor::new(func).at_inst(before).ins().fcmp(cond.complement(), x, y)
        }
        Some(InstructionData::Binary { opcode: Opcode::Bxor, args: [x, one] }) if is_one(func, one) => x,
        _ => FuncCursor::new(func).at_inst(before).ins().icmp_imm_s(IntCC::Equal, condition, 0),
    }
}
