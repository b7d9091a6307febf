//! While loops that walk along rows: every position reads one element after the other, up to an end of its own.
//!
//! ```text
//! while j < end && s < 1 do (s + a[j], j + 1)      j is a counter, a[j] is read along a row
//! while i < m && j < n do (if a[i] < b[j] then (i + 1, j) else (i, j + 1))     they are counters, too: each element is read in order
//! while a[m] != x do (if a[m] < x then … else …)   m is none: elements come from anywhere
//! ```
//!
//! One position after the other, such elements are in the cache before they are needed; lanes would gather them, and wait for the longest row.

use super::class::{Class, Classes};
use par_ir::core::{At, Body, Exp, Param, Stm};
use par_ir::hash::HashSet;
use par_ir::prim::{BinOp, PrimOp};
use par_ir::ty::Atom;
use par_ir::visit::Code;
use par_ir::{Prim, Var};

/// True if lanes read elements at places of their own, and all of these are at counters of the loop.
pub fn walks(params: &[(Param, Atom)], cond: &Body, body: &Body, classes: &Classes) -> bool {
    let counters = params.iter().zip(&body.results).filter(|((p, _), next)| {
        let next = next.var().filter(|next| *next != p.var);
        next.is_some_and(|next| advances(next, p.var, &[body], classes))
    });
    let counters = counters.map(|((p, _), _)| p.var).collect();
    let moving = params.iter().map(|(p, _)| p.var).collect();
    let mut walk = Walk { classes, counters, moving };
    (classes.goes_apart(cond) || classes.goes_apart(body)) && walk.body(cond) && walk.body(body)
}

/// True for a sum or difference of a variable and a step; `from` selects the variables.
fn steps(stm: &Stm, is_step: &dyn Fn(&Atom) -> bool, from: impl Fn(Var) -> bool) -> bool {
    let is_from = |a: &Atom| a.var().is_some_and(&from);
    match &stm.exp {
        Exp::Prim(PrimOp::Bin(BinOp::Add | BinOp::Sub, _), xs) => {
            is_from(&xs[0]) && is_step(&xs[1]) || is_step(&xs[0]) && is_from(&xs[1])
        }
        Exp::Prim(PrimOp::Conv(..), xs) => is_from(&xs[0]),
        Exp::Atom(a) => is_from(a),
        _ => false,
    }
}

/// True if a variable bound in these bodies is a step from a counter, or the unchanged counter in some branches.
fn advances(next: Var, counter: Var, bodies: &[&Body], classes: &Classes) -> bool {
    let stms = || bodies.iter().flat_map(|b| &b.stms);
    let made = stms().find_map(|s| Some((s, s.pat.iter().position(|p| p.var == next)?)));
    let Some((stm, k)) = made else { return next == counter };
    let inner = |a: &Atom| a.var().is_some_and(|v| advances(v, counter, bodies, classes));
    let is_truth = |a: &Atom| {
        let of_bool = |s: &Stm| matches!(s.exp, Exp::Prim(PrimOp::Conv(Prim::Bool, _), _));
        a.var().is_some_and(|v| stms().any(|s| s.pat.iter().any(|p| p.var == v) && of_bool(s)))
    };
    match &stm.exp {
        Exp::If { then, other, .. } => [then, other].into_iter().all(|arm| {
            let bodies: Vec<&Body> = bodies.iter().copied().chain([arm]).collect();
            arm.results[k].var().is_some_and(|v| advances(v, counter, &bodies, classes))
        }),
        Exp::Prim(PrimOp::Select(_), xs) => xs[1..].iter().all(inner),
        Exp::Prim(PrimOp::Bin(BinOp::Add, _), xs) if is_truth(&xs[0]) || is_truth(&xs[1]) => {
            xs.iter().any(inner)
        }
        _ => steps(stm, &|a| classes.atom(a) == Class::Same, |v| v == counter),
    }
}

struct Walk<'c> {
    classes: &'c Classes,
    /// Counters, and what is computed from one by steps.
    counters: HashSet<Var>,
    /// Variables that are not invariant in the loop.
    moving: HashSet<Var>,
}

impl Walk<'_> {
    /// True if lanes read and update elements of their own at counters only.
    fn body(&mut self, body: &Body) -> bool {
        body.stms.iter().all(|s| {
            let is_fixed = |a: &Atom| a.var().is_none_or(|v| !self.moving.contains(&v));
            if steps(s, &is_fixed, |v| self.counters.contains(&v)) {
                self.counters.extend(s.pat.iter().map(|p| p.var));
            }
            if s.exp.free().iter().any(|v| self.moving.contains(v)) {
                self.moving.extend(s.pat.iter().map(|p| p.var));
            }
            match &s.exp {
                Exp::Index(_, index) if self.classes.atom(&index[0]) == Class::Each => {
                    index[0].var().is_some_and(|v| self.counters.contains(&v))
                }
                Exp::Update { at, .. } => {
                    let is_counter = |i: &Atom| i.var().is_some_and(|v| self.counters.contains(&v));
                    at.iter().all(|at| matches!(at, At::Index(i) if is_counter(i)))
                }
                e => e.own_bodies().into_iter().all(|b| self.body(b)),
            }
        })
    }
}
