//! Walks over programs with what is known of their host scalars.

use par_ir::Vars;
use par_ir::access::Facts;
use par_ir::flat::{Block, Kernel, Op, Program, Stm};

/// Changes the body of every function, from the facts of its arguments.
pub(crate) fn bodies(program: &mut Program, change: impl Fn(&mut Block, &mut Facts, &mut Vars)) {
    let vars = &mut program.vars;
    for f in &mut program.funs {
        let mut facts = Facts::default();
        facts.note_arguments(f);
        change(&mut f.body, &mut facts, vars);
    }
}

/// Replaces statements by others, from the facts of what comes before each.
pub(crate) fn replace(program: &mut Program, change: impl Fn(&Stm, &Facts, &mut Vars) -> Option<Vec<Stm>>) {
    bodies(program, |block, facts, vars| replace_in_block(block, facts, vars, &change));
}

fn replace_in_block(
    block: &mut Block,
    facts: &mut Facts,
    vars: &mut Vars,
    change: &impl Fn(&Stm, &Facts, &mut Vars) -> Option<Vec<Stm>>,
) {
    let mut stms = Vec::with_capacity(block.stms.len());
    for mut stm in std::mem::take(&mut block.stms) {
        facts.note(&stm);
        stm.op.for_each_block_mut(|b| replace_in_block(b, facts, vars, change));
        match change(&stm, facts, vars) {
            Some(changed) => stms.extend(changed),
            None => stms.push(stm),
        }
    }
    block.stms = stms;
}

/// Changes every kernel, from the facts of what comes before it.
pub(crate) fn kernels(program: &mut Program, change: impl Fn(&mut Kernel, &Facts, &mut Vars)) {
    bodies(program, |block, facts, vars| in_block(block, facts, vars, &change));
}

fn in_block(
    block: &mut Block,
    facts: &mut Facts,
    vars: &mut Vars,
    change: &impl Fn(&mut Kernel, &Facts, &mut Vars),
) {
    for stm in &mut block.stms {
        facts.note(stm);
        stm.op.for_each_block_mut(|b| in_block(b, facts, vars, change));
        if let Op::Kernel(k) = &mut stm.op {
            change(k, facts, vars);
        }
    }
}
