//! Checks of kernels that say the same at every position are made once, on the host.
//!
//! ```text
//! ys = kernel map over n {            empty = n <= 0
//!     ok = m != 0                     ok    = m != 0
//!     check ok division               check (empty or ok) division
//!     in pos / m }              ==>   ys    = kernel map over n { pos / m }
//! ```
//!
//! Only checks before all that may fail otherwise: at the first position they would have failed first. A kernel that is left without
//! any may be fused with others.

use par_ir::Vars;
use par_ir::build::Host;
use par_ir::core::{self, Exp};
use par_ir::effects::Effects;
use par_ir::flat::{Block, Kernel, Op, Program, Stm};
use par_ir::hash::HashSet;
use par_ir::prim::{BinOp, CmpOp, PrimOp};
use par_ir::ty::{Atom, Dim, Var};
use par_ir::visit::{Code, Subst};
use par_runtime::Prim;

/// In every function of a program.
pub(crate) fn run(program: &mut Program) {
    let vars = &mut program.vars;
    program.funs.iter_mut().for_each(|f| in_block(&mut f.body, vars));
}

fn in_block(block: &mut Block, vars: &mut Vars) {
    let mut stms = Vec::with_capacity(block.stms.len());
    for mut stm in std::mem::take(&mut block.stms) {
        stm.op.for_each_block_mut(|b| in_block(b, vars));
        let found = if let Op::Kernel(k) = &mut stm.op { take(k) } else { vec![] };
        if !found.is_empty() {
            let mut host = Host::new(&stm, vars);
            make(&mut host, &found);
            stms.append(&mut host.stms);
        }
        stms.push(stm);
    }
    block.stms = stms;
}

/// Takes checks out of a kernel, with the operators that they need.
fn take(k: &mut Kernel) -> Vec<core::Stm> {
    if k.space.is_ragged() {
        return vec![];
    }
    let mut varies: HashSet<Var> = k.binders().into_iter().collect();
    let same = |s: &core::Stm, varies: &HashSet<Var>| s.free().iter().all(|v| !varies.contains(v));
    let mut operators: Vec<core::Stm> = Vec::new();
    let mut checks = Vec::new();
    for (i, stm) in k.prologue.iter().chain(&k.body.stms).enumerate() {
        match &stm.exp {
            Exp::Prim(op, _) if !op.divides() && same(stm, &varies) => operators.push(stm.clone()),
            Exp::Check { .. } if same(stm, &varies) => checks.push(i - k.prologue.len()),
            exp if exp.has_effect() => break,
            _ => varies.extend(stm.pat.iter().map(|p| p.var)),
        }
    }
    let taken: Vec<core::Stm> = checks.iter().map(|i| k.body.stms[*i].clone()).collect();
    checks.iter().rev().for_each(|i| drop(k.body.stms.remove(*i)));
    let mut needed: HashSet<Var> = taken.iter().flat_map(|s| s.free()).collect();
    let mut found = taken;
    for stm in operators.into_iter().rev() {
        if stm.pat.iter().any(|p| needed.contains(&p.var)) {
            needed.extend(stm.free());
            found.insert(0, stm);
        }
    }
    found
}

/// Makes checks on the host, with the operators that they need.
fn make(host: &mut Host<'_>, stms: &[core::Stm]) {
    let Op::Kernel(k) = &host.like.op else { unreachable!("taken out of a kernel") };
    let sizes = k.space.0.iter().map(|dim| match dim {
        Dim::Size(n) => *n,
        Dim::Seg(_) => unreachable!("ragged spaces keep their checks"),
    });
    let sizes: Vec<Atom> = sizes.collect();
    let empty: Vec<Atom> = sizes.into_iter().filter_map(|n| is_empty(host, n)).collect();
    let mut names = Subst::default();
    for stm in stms {
        match stm.exp.substituted(&names) {
            Exp::Prim(op, args) => {
                let x = host.prim("same", op, args);
                names.insert(stm.pat[0].var, x);
            }
            Exp::Check { cond, kind, args } => {
                let or = PrimOp::Bin(BinOp::Or, Prim::Bool);
                let cond = empty.iter().fold(cond, |c, e| host.prim("holds", or, vec![c, *e]));
                let (op, place) = (Op::Check { cond, kind, args }, host.like.place);
                host.stms.push(Stm { pat: vec![], op, span: stm.span, place });
            }
            _ => unreachable!("only operators and checks are taken"),
        }
    }
}

/// Test that a size is 0, if it may be.
fn is_empty(host: &mut Host<'_>, n: Atom) -> Option<Atom> {
    match n.as_i64() {
        Some(n) if n > 0 => None,
        _ => Some(host.compare("empty", CmpOp::Le, n, Atom::i64(0))),
    }
}
