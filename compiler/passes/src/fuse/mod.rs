//! Fusion: maps are joined with the operator that consumes them, then with their neighbours, so that
//! nothing is written only to be read once.
//!
//! ```text
//! let ys = map n xs (\x -> mul.f32 x x)
//! let zs = map n ys (\y -> add.f32 y 1)    =>    let s = reduce add.f32 0 n xs (\x ->
//! let s  = reduce add.f32 0 n zs                   let y = mul.f32 x x
//!                                                  let z = add.f32 y 1
//!                                                  in z)
//! ```
//!
//! This happens before flattening, inside lambdas, arms and loop bodies too, from the inside out; a lambda made by
//! fusion is fused again inside. No work is done twice, and no code is copied.

mod horizontal;
mod parts;
mod vertical;

use crate::effects::may_fail;
use par_ir::core::{Body, Exp, Program, Stm};
use par_ir::ty::Var;
use par_ir::visit::Code;
use std::collections::BTreeSet;

/// Fuses in all functions.
pub fn run(program: &mut Program) {
    program.funs.iter_mut().for_each(|fun| body(&mut fun.body));
}

/// Fuses in a body, innermost first. Every step leaves one statement less, which bounds the loop.
fn body(body: &mut Body) {
    body.stms.iter_mut().for_each(inside);
    while vertical::step(body) || horizontal::step(body) {}
}

fn inside(stm: &mut Stm) {
    stm.exp.bodies_mut().into_iter().for_each(self::body);
}

/// Puts `fused` in the place of the statements `first` and `second` of `body`, where the second was.
fn replace(body: &mut Body, first: usize, second: usize, mut fused: Stm) {
    inside(&mut fused);
    body.stms[second] = fused;
    body.stms.remove(first);
}

/// The first statement after `first` that depends on it.
fn first_user(body: &Body, first: usize) -> Option<usize> {
    let made: BTreeSet<Var> = body.stms[first].pat.iter().map(|p| p.var).collect();
    let rest = body.stms.iter().enumerate().skip(first + 1);
    rest.filter(|(_, s)| !s.free().is_disjoint(&made)).map(|(i, _)| i).next()
}

/// Whether the statement `first`, of which nothing before `second` depends, may take place as late as
/// `second`. A failure must not come after one that it came before, and what `first` reads must not have been
/// updated in place by then (the update would have to copy it).
fn may_sink(body: &Body, first: usize, second: usize) -> bool {
    let (stm, between) = (&body.stms[first], &body.stms[first + 1..second]);
    let in_order = !may_fail(&stm.exp) || !between.iter().any(|s| may_fail(&s.exp));
    let mut updated = Vec::new();
    body.stms[first + 1..=second].iter().for_each(|s| consumed(&s.exp, &mut updated));
    in_order && (updated.is_empty() || stm.free().iter().all(|v| !updated.contains(v)))
}

/// Arrays that an expression may update in place.
fn consumed(exp: &Exp, out: &mut Vec<Var>) {
    match exp {
        Exp::Update { arr, .. } => out.push(*arr),
        Exp::Scatter { dests, .. } | Exp::Hist { dests, .. } => out.extend(dests),
        Exp::Loop { params, .. } => out.extend(params.iter().filter_map(|(_, init)| init.var())),
        Exp::Call(_, args) => out.extend(args.iter().filter_map(|a| a.var())),
        _ => {}
    }
    exp.bodies().into_iter().flat_map(|b| &b.stms).for_each(|s| consumed(&s.exp, out));
}
