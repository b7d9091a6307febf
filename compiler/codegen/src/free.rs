//! Captures of kernels, and the types of a program's variables.

use par_ir::Var;
use par_ir::core::{Body, FunId, Stm};
use par_ir::flat::{self, Kernel, KernelKind, Ty};
use par_ir::hash::{HashMap, HashSet};
use par_ir::visit::Code as _;
use std::collections::BTreeSet;

/// The type of every host variable of a program, and of the scalars in kernels.
pub fn types(program: &flat::Program) -> HashMap<Var, Ty> {
    let mut types = HashMap::default();
    for fun in &program.funs {
        types.extend(fun.params.iter().map(|p| (p.var, p.ty)));
        block_types(&fun.body, &mut types);
    }
    types
}

fn block_types(block: &flat::Block, types: &mut HashMap<Var, Ty>) {
    for stm in &block.stms {
        types.extend(stm.pat.iter().map(|p| (p.var, p.ty)));
        match &stm.op {
            flat::Op::If { then, other, .. } => {
                block_types(then, types);
                block_types(other, types);
            }
            flat::Op::Loop { params, form, body } => {
                types.extend(params.iter().map(|(p, _)| (p.var, p.ty)));
                match form {
                    flat::LoopForm::For { index, prim, .. } => {
                        types.insert(*index, Ty::Scalar(*prim));
                    }
                    flat::LoopForm::While(cond) => block_types(cond, types),
                }
                block_types(body, types);
            }
            flat::Op::Split { first, count, body, .. } => {
                types.extend([first, count].map(|v| (*v, Ty::Scalar(par_ir::Prim::I64))));
                block_types(body, types);
            }
            _ => {}
        }
    }
}

/// Variables that the code of a kernel (prologue, body, operator) reads and does not bind, in order of first use.
pub fn captures(kernel: &Kernel) -> Vec<Var> {
    let mut seen: HashSet<Var> = kernel.bound().into_iter().collect();
    let mut captures = Vec::new();
    let mut capture = |v: Var| captures.extend(seen.insert(v).then_some(v));
    kernel.prologue.iter().for_each(|s| for_each_use(s, &mut capture));
    kernel.bodies().into_iter().for_each(|b| for_each_use_in(b, &mut capture));
    captures
}

/// Calls `f` on all variables that a statement uses, also deep inside, but for those in types.
pub fn for_each_use(stm: &Stm, f: &mut dyn FnMut(Var)) {
    stm.exp.for_each_operand(&mut |a| a.var().into_iter().for_each(&mut *f));
    stm.exp.own_bodies().into_iter().for_each(|b| for_each_use_in(b, f));
}

/// [`for_each_use`] of the statements and results of a body.
pub fn for_each_use_in(body: &Body, f: &mut dyn FnMut(Var)) {
    body.stms.iter().for_each(|s| for_each_use(s, f));
    body.results.iter().filter_map(|a| a.var()).for_each(f);
}

/// Destinations and first versions of the arrays that a kernel owns.
pub fn owned(kernel: &Kernel) -> impl Iterator<Item = (Var, &par_ir::core::Param)> {
    let outs = if let KernelKind::Map(outs) = &kernel.kind { outs.as_slice() } else { &[] };
    outs.iter().filter_map(|o| match o {
        flat::Out::Own { dest, state } => Some((*dest, state)),
        _ => None,
    })
}

/// The local functions that the code of a kernel may call, directly or not, in the order of their numbers.
pub fn callees(kernel: &Kernel, locals: &[par_ir::core::Fun]) -> Vec<FunId> {
    let mut found = BTreeSet::new();
    let mut open = Vec::new();
    kernel.body.callees(&mut open);
    kernel.after().into_iter().for_each(|a| a.body.callees(&mut open));
    while let Some(f) = open.pop() {
        if found.insert(f) {
            locals[f.0 as usize].body.callees(&mut open);
        }
    }
    found.into_iter().collect()
}
