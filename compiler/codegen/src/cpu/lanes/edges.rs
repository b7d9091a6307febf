//! Positions at which comparisons of a body change, known before they are reached.
//!
//! ```text
//! c = lt i k        i grows by one from position to position, k does not: the edge is at + (k - i), of the values at `at`
//! c = eq i k        one there, and one behind that position
//! ```

use super::class::{Class, Classes};
use super::turns::Sums;
use crate::cpu::emit::{Emitter, Unsupported};
use cranelift::prelude::*;
use par_ir::core::{Body, Exp, Stm};
use par_ir::prim::{BinOp, CmpOp, PrimOp};
use par_ir::ty::Atom;
use par_ir::{Prim, Var};
use std::collections::HashSet;

/// The edges of a body's comparisons.
#[derive(Default)]
pub struct Edges {
    /// What the operands are computed by.
    stms: Vec<Stm>,
    edges: Vec<Edge>,
    /// Comparisons that have one answer between edges.
    settled: HashSet<Var>,
}

/// Where `left - right`, which grows or falls by one from position to position, becomes zero.
#[derive(Clone, Copy, PartialEq)]
struct Edge {
    left: Atom,
    right: Atom,
    grows: bool,
    /// The edge is behind that position, not before it.
    behind: bool,
}

/// Edges that are looked for: each costs some operations a piece.
const MANY: usize = 6;
/// Numbers below can be subtracted, and counted on for as many positions as there may be.
const LARGE: i64 = 1 << 62;

impl Edges {
    /// Of a body at neighbouring positions.
    pub fn new(body: &Body, classes: &Classes) -> Edges {
        let sums = Sums::new(body);
        let mut edges = Edges::default();
        edges.body(body, classes, &sums);
        let operands = edges.edges.iter().flat_map(|e| [e.left, e.right]).collect();
        edges.stms = sums.needed(operands);
        edges
    }

    pub fn is_empty(&self) -> bool {
        self.edges.is_empty()
    }

    /// What the operands of the comparisons are computed by.
    pub fn operands(&self) -> &[Stm] {
        &self.stms
    }

    /// Whether a comparison has one answer between edges.
    pub fn settles(&self, v: Var) -> bool {
        self.settled.contains(&v)
    }

    fn body(&mut self, body: &Body, classes: &Classes, sums: &Sums) {
        for stm in &body.stms {
            if let (Exp::Prim(op, xs), [p]) = (&stm.exp, stm.pat.as_slice())
                && let Some(found) = edges(*op, xs, classes)
                && found.iter().all(|e| sums.has(e.left) && sums.has(e.right))
            {
                self.add(p.var, &found);
            }
            stm.exp.own_bodies().into_iter().for_each(|b| self.body(b, classes, sums));
        }
    }

    fn add(&mut self, var: Var, found: &[Edge]) {
        let new: Vec<Edge> = found.iter().filter(|e| !self.edges.contains(e)).copied().collect();
        if self.edges.len() + new.len() <= MANY {
            self.edges.extend(new);
            self.settled.insert(var);
        }
    }
}

/// Where the result of an operator changes, or which of its operands it is, if that is known.
fn edges(op: PrimOp, xs: &[Atom], classes: &Classes) -> Option<Vec<Edge>> {
    let step = |a: &Atom| match classes.atom(a) {
        Class::Same => Some(0),
        Class::Steps(s) => Some(s),
        Class::Each => None,
    };
    let op = match op {
        PrimOp::Cmp(op, Prim::I64) => op,
        PrimOp::Bin(BinOp::Min, Prim::I64) => CmpOp::Le,
        PrimOp::Bin(BinOp::Max, Prim::I64) => CmpOp::Ge,
        _ => return None,
    };
    let (left, right) = (xs[0], xs[1]);
    let growth = step(&left)? - step(&right)?;
    let grows = growth == 1;
    let behind: &[bool] = match op {
        _ if growth.abs() != 1 => return None,
        CmpOp::Eq | CmpOp::Ne => &[false, true],
        CmpOp::Lt | CmpOp::Ge => &[!grows],
        CmpOp::Le | CmpOp::Gt => &[grows],
    };
    Some(behind.iter().map(|behind| Edge { left, right, grows, behind: *behind }).collect())
}

/// Where the edges of a range are.
pub struct Places {
    places: Vec<Value>,
    /// There are numbers that may run over the end of the integers.
    any_large: Option<Value>,
}

impl Emitter<'_> {
    /// The edges, as seen from the position `start`, which the variables are bound for.
    pub fn places(&mut self, edges: &Edges, start: Value) -> Result<Places, Unsupported> {
        self.stms(&edges.stms)?;
        let (mut places, mut large, mut seen) = (Vec::new(), None, HashSet::new());
        for edge in &edges.edges {
            let (left, right) = (self.atom(&edge.left)?, self.atom(&edge.right)?);
            let (ahead, behind) = if edge.grows { (right, left) } else { (left, right) };
            let distance = self.b.ins().isub(ahead, behind);
            let place = self.b.ins().iadd(start, distance);
            places.push(self.b.ins().iadd_imm_s(place, i64::from(edge.behind)));
            for (x, a) in [(left, edge.left), (right, edge.right)] {
                if a.var().is_none_or(|v| !seen.insert(v)) {
                    continue;
                }
                let sum = self.b.ins().iadd_imm_s(x, LARGE);
                large = Some(match large {
                    Some(others) => self.b.ins().bor(others, sum),
                    None => sum,
                });
            }
        }
        let any_large = large.map(|x| self.b.ins().icmp_imm_s(IntCC::SignedLessThan, x, 0));
        Ok(Places { places, any_large })
    }

    /// The first edge after `at`, or `end`, if that is sooner.
    pub fn next_edge(&mut self, places: &Places, at: Value, end: Value) -> Value {
        let mut stop = end;
        for place in &places.places {
            let is_ahead = self.b.ins().icmp(IntCC::SignedGreaterThan, *place, at);
            let ahead = self.b.ins().select(is_ahead, *place, end);
            stop = self.b.ins().smin(stop, ahead);
        }
        let Some(any_large) = places.any_large else { return stop };
        // Of such only is known what they are at one position.
        let next = self.b.ins().iadd_imm_s(at, 1);
        self.b.ins().select(any_large, next, stop)
    }
}
