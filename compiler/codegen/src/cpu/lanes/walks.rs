//! While loops that walk along rows: every position reads one element after the other, up to an end of its own.
//!
//! ```text
//! while j < end && s < 1 do (s + a[j], j + 1)      j is a counter, a[j] is read along a row
//! while a[m] != x do (if a[m] < x then … else …)   m is none: elements come from anywhere
//! ```
//!
//! One position after the other, such elements are in the cache before they are needed; lanes would gather them, and wait for the longest row.

use super::class::{Class, Classes};
use par_ir::Var;
use par_ir::core::{Body, Exp, Param};
use par_ir::prim::{BinOp, PrimOp};
use par_ir::ty::Atom;
use std::collections::HashSet;

/// True if lanes read elements at places of their own, and all of these are at counters of the loop.
pub fn walks(params: &[(Param, Atom)], cond: &Body, body: &Body, classes: &Classes) -> bool {
    let counters =
        params.iter().zip(&body.results).filter(|((p, _), next)| counts(p.var, next, body, classes));
    let counters = counters.map(|((p, _), _)| p.var).collect();
    let mut walk = Walk { classes, counters, reads: false };
    walk.body(cond) && walk.body(body) && walk.reads
}

/// True if the state after an iteration is that before it, and a step that is the same in all lanes.
fn counts(var: Var, next: &Atom, body: &Body, classes: &Classes) -> bool {
    let mut stms = body.stms.iter();
    stms.any(|s| {
        let is_next = next.var().is_some_and(|v| s.pat.len() == 1 && s.pat[0].var == v);
        is_next && steps(&s.exp, classes, false, |v| v == var)
    })
}

/// True for a variable, of those that are asked for, and a sum or difference of it and of what is the same in all lanes; `mirrored` also if the
/// variable is what is taken.
fn steps(exp: &Exp, classes: &Classes, mirrored: bool, from: impl Fn(Var) -> bool) -> bool {
    let is_from = |a: &Atom| a.var().is_some_and(&from);
    let is_same = |a: &Atom| classes.atom(a) == Class::Same;
    match exp {
        Exp::Prim(PrimOp::Bin(op @ (BinOp::Add | BinOp::Sub), _), xs) => {
            let other_way = mirrored || *op == BinOp::Add;
            is_from(&xs[0]) && is_same(&xs[1]) || other_way && is_same(&xs[0]) && is_from(&xs[1])
        }
        Exp::Prim(PrimOp::Conv(..), xs) => is_from(&xs[0]),
        Exp::Atom(a) => is_from(a),
        _ => false,
    }
}

struct Walk<'c> {
    classes: &'c Classes,
    /// Counters, and what is computed from one by steps.
    counters: HashSet<Var>,
    /// An element at a counter is read.
    reads: bool,
}

impl Walk<'_> {
    fn body(&mut self, body: &Body) -> bool {
        body.stms.iter().all(|s| {
            if steps(&s.exp, self.classes, true, |v| self.counters.contains(&v)) {
                self.counters.extend(s.pat.iter().map(|p| p.var));
            }
            match &s.exp {
                Exp::Index(_, index) if self.classes.atom(&index[0]) == Class::Each => {
                    self.reads = true;
                    index[0].var().is_some_and(|v| self.counters.contains(&v))
                }
                Exp::Update { .. } => false,
                e => e.own_bodies().into_iter().all(|b| self.body(b)),
            }
        })
    }
}
