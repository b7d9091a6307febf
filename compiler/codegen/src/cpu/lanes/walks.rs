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
use par_ir::core::{Body, Exp, Param, Stm};
use par_ir::prim::{BinOp, PrimOp};
use par_ir::ty::Atom;
use std::collections::HashSet;

/// True if lanes read elements at places of their own, and all of these are at counters of the loop.
pub fn walks(params: &[(Param, Atom)], cond: &Body, body: &Body, classes: &Classes) -> bool {
    let counters = params.iter().zip(&body.results).filter(|((p, _), next)| {
        let mut stms = body.stms.iter();
        stms.any(|s| {
            s.pat.len() == 1 && Atom::Var(s.pat[0].var) == **next && steps(s, classes, |v| v == p.var)
        })
    });
    let counters = counters.map(|((p, _), _)| p.var).collect();
    let mut walk = Walk { classes, counters };
    (classes.goes_apart(cond) || classes.goes_apart(body)) && walk.body(cond) && walk.body(body)
}

/// True for sums and differences of a variable, of those that are asked for, and what is the same in all lanes.
fn steps(stm: &Stm, classes: &Classes, from: impl Fn(Var) -> bool) -> bool {
    let is_from = |a: &Atom| a.var().is_some_and(&from);
    let is_same = |a: &Atom| classes.atom(a) == Class::Same;
    match &stm.exp {
        Exp::Prim(PrimOp::Bin(BinOp::Add | BinOp::Sub, _), xs) => {
            is_from(&xs[0]) && is_same(&xs[1]) || is_same(&xs[0]) && is_from(&xs[1])
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
}

impl Walk<'_> {
    /// True if all elements that lanes read at places of their own are at counters, and none is updated.
    fn body(&mut self, body: &Body) -> bool {
        body.stms.iter().all(|s| {
            if steps(s, self.classes, |v| self.counters.contains(&v)) {
                self.counters.extend(s.pat.iter().map(|p| p.var));
            }
            match &s.exp {
                Exp::Index(_, index) if self.classes.atom(&index[0]) == Class::Each => {
                    index[0].var().is_some_and(|v| self.counters.contains(&v))
                }
                Exp::Update { .. } => false,
                e => e.own_bodies().into_iter().all(|b| self.body(b)),
            }
        })
    }
}
