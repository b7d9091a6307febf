//! Scalars of host loops that are the same in all iterations are computed once before.
//!
//! ```text
//! r = loop (a = x) for i < k do {        fits = mulhi n m == 0
//!     fits = mulhi n m == 0        ==>   r = loop (a = x) for i < k do {
//!     … }                                    … }
//! ```
//!
//! Operators have a result for all operands, so it does no harm if there is no iteration. Loops go from the inside out: a scalar may leave several.

use par_ir::flat::{Block, LoopForm, Op, Program, Stm};
use par_ir::hash::HashSet;
use par_ir::ty::Var;
use par_ir::visit::Code;

/// In every function of a program.
pub(crate) fn run(program: &mut Program) {
    program.funs.iter_mut().for_each(|f| in_block(&mut f.body));
}

fn in_block(block: &mut Block) {
    let mut stms = Vec::with_capacity(block.stms.len());
    for mut stm in std::mem::take(&mut block.stms) {
        stm.op.for_each_block_mut(in_block);
        stms.append(&mut invariants(&mut stm.op));
        stms.push(stm);
    }
    block.stms = stms;
}

/// Takes the operators out of a loop that need nothing of it.
fn invariants(op: &mut Op) -> Vec<Stm> {
    let Op::Loop { params, form, body } = op else { return vec![] };
    let mut varies: HashSet<Var> = params.iter().map(|(p, _)| p.var).collect();
    if let LoopForm::For { index, .. } = form {
        varies.insert(*index);
    }
    let mut taken = Vec::new();
    for stm in std::mem::take(&mut body.stms) {
        let is_same = matches!(stm.op, Op::Prim(..)) && stm.op.free().iter().all(|v| !varies.contains(v));
        if is_same {
            taken.push(stm);
        } else {
            varies.extend(stm.pat.iter().map(|p| p.var));
            body.stms.push(stm);
        }
    }
    taken
}
