//! A map whose results only one other map reads, each at its own position, becomes part of that one.
//!
//! ```text
//! ls = kernel map over [n] { sqrt (xs[pos]) }                      ys = kernel map (row 2 f32) over [n] {
//! ys = kernel map (row 2 f32) over [n] {                               l = sqrt (xs[pos])
//!     (1 / ls[pos], 2 / ls[pos]) }                        ==>          in (1 / l, 2 / l) }
//! ```
//!
//! Maps of a program are fused in CORE. Flattening, and rows that are written out, leave maps over one space that were of different depth there.

use super::order;
use super::users::Users;
use super::{Fuser, reads};
use par_ir::core::{self, Body, Exp};
use par_ir::effects::Effects;
use par_ir::flat::{Block, Kernel, KernelKind, Op, Out, Stm};
use par_ir::tuning;
use par_ir::ty::Var;
use par_ir::visit::Code;

/// Fuses what can be fused, from the top down.
pub fn sweep(block: &mut Block, fuser: &mut Fuser) {
    let find = |block: &Block, users: &Users, first: usize, fuser: &Fuser| {
        let second = consumer(block, users, first, fuser)?;
        Some((second, order::together(&block.stms, first, second)?))
    };
    order::sweep(block, fuser, find, fuse);
}

/// The map that alone reads what another one makes.
fn consumer(block: &Block, users: &Users, first: usize, fuser: &Fuser) -> Option<usize> {
    let made = &block.stms[first];
    let a = straight(made).filter(|(_, outs)| outs.iter().all(|o| matches!(o, Out::Elem(_))))?.0;
    let mut all = users.of_any(&made.pat).into_iter();
    let (second, None) = (all.next()?, all.next()) else { return None };
    let kept = |v: Var| block.results.contains(&v.into()) || fuser.vars.is_opaque(v);
    let (b, _) = straight(&block.stms[second])?;
    let by_position = made.pat.iter().all(|p| {
        let here = b.body.stms.iter().filter(|s| is_read(s, p.var, b)).count();
        here == block.stms[second].op.uses_of(p.var)
    });
    let fits = a.space == b.space
        && by_position
        && !made.pat.iter().any(|p| kept(p.var))
        && !(a.has_effect() && b.has_effect())
        && a.body.stms.len() + b.body.stms.len() <= tuning::TWICE_STATEMENTS;
    fits.then_some(second)
}

/// A map without loops and branches, and its outputs.
fn straight(stm: &Stm) -> Option<(&Kernel, &[Out])> {
    let Op::Kernel(k) = &stm.op else { return None };
    let KernelKind::Map(outs) = &k.kind else { return None };
    let is_straight = k.body.stms.iter().all(|s| s.exp.own_bodies().is_empty());
    is_straight.then_some((k, outs))
}

/// True if a statement reads the element of an array at its own position.
fn is_read(stm: &core::Stm, array: Var, k: &Kernel) -> bool {
    matches!(&stm.exp, Exp::Index(arr, index) if *arr == array && index[..] == [k.pos.into()])
}

fn fuse(first: &Stm, second: &Stm, fuser: &mut Fuser) -> Stm {
    let (Op::Kernel(a), Op::Kernel(b)) = (&first.op, &second.op) else {
        unreachable!("only kernels are fused")
    };
    let names = b.position_of(a);
    let made = a.body.substituted(&names);
    let result = |s: &core::Stm| first.pat.iter().position(|p| is_read(s, p.var, b));
    let read = |s: &core::Stm| match result(s) {
        Some(i) => core::Stm { exp: Exp::Atom(made.results[i]), ..s.clone() },
        None => s.clone(),
    };
    let stms = made.stms.iter().cloned().chain(b.body.stms.iter().map(read)).collect();
    let prologue = [a.prologue.substituted(&names), b.prologue.clone()].concat();
    let body = Body { stms, results: b.body.results.clone() };
    let mut kernel = Kernel { prologue, body, ..(**b).clone() };
    reads::simplify(&mut kernel);
    fuser.fused(first, second, second.pat.clone(), kernel)
}
