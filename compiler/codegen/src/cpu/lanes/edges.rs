//! Positions at which comparisons and quotients of a body change, known before they are reached.
//!
//! ```text
//! c = lt i k        i grows by one from position to position, k does not: the edge is at + (k - i), of the values at `at`
//! c = eq i k        one there, and one behind that position
//! q = div i n       at + (n - mod i n); up to there mod i n is i - q * n
//! ```

use super::class::{Class, Classes};
use super::sums::Sums;
use crate::cpu::emit::{Emitter, Unsupported};
use crate::cpu::fresh::Fresh;
use cranelift::prelude::*;
use par_ir::core::{Body, Exp, Param, Stm};
use par_ir::prim::{BinOp, CmpOp, PrimOp};
use par_ir::tuning;
use par_ir::ty::Atom;
use par_ir::{Prim, Var};
use std::collections::HashSet;

/// The edges of a body's comparisons.
#[derive(Default)]
pub struct Edges {
    /// What the operands are computed by.
    stms: Vec<Stm>,
    edges: Vec<Edge>,
    divisions: Vec<Division>,
    /// Comparisons and quotients that are one value between edges.
    settled: HashSet<Var>,
    /// Remainders that grow by one between edges.
    growing: HashSet<Var>,
    /// What divisors are computed by.
    before: Vec<Stm>,
}

/// Where the quotient of a number that grows by one changes.
#[derive(Clone, Copy, PartialEq)]
struct Division {
    dividend: Atom,
    divisor: Atom,
    /// It rounds towards zero.
    truncates: bool,
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

/// Numbers below can be subtracted, and counted on for as many positions as there may be.
const LARGE: i64 = 1 << 62;

impl Edges {
    /// Of a body at neighbouring positions.
    pub fn new(body: &Body, classes: &Classes) -> Edges {
        let plain = Sums::new(body);
        let mut edges = Edges::default();
        let (mut chosen, mut divided) = (Vec::new(), HashSet::new());
        for_each_division(body, &mut |v, division| {
            let grows = classes.atom(&division.dividend) == Class::Steps(1);
            let is_same = classes.atom(&division.divisor) == Class::Same && plain.has(division.divisor);
            let is_long = division.divisor.as_i64().is_none_or(|n| n >= tuning::EDGES_DIVISOR);
            let is_new = !chosen.contains(&division);
            if grows && is_same && is_long && (!is_new || chosen.len() < tuning::EDGES) {
                chosen.extend(is_new.then_some(division));
                divided.insert(v);
            }
        });
        let sums = Sums::with_divisions(body, divided);
        edges.body(body, classes, &sums);
        let compared = edges.edges.iter().flat_map(|e| [e.left, e.right]);
        let operands = compared.chain(edges.divisions.iter().flat_map(|d| [d.dividend, d.divisor])).collect();
        edges.stms = sums.needed(operands);
        edges.before = plain.needed(edges.divisions.iter().map(|d| d.divisor).collect());
        edges
    }

    pub fn is_empty(&self) -> bool {
        self.edges.is_empty() && self.divisions.is_empty()
    }

    /// Whether there are quotients among what changes.
    pub fn divides(&self) -> bool {
        !self.divisions.is_empty()
    }

    /// What the operands of the comparisons are computed by.
    pub fn operands(&self) -> &[Stm] {
        &self.stms
    }

    /// Whether a comparison or quotient is one value between edges.
    pub fn settles(&self, v: Var) -> bool {
        self.settled.contains(&v)
    }

    /// What is done before the positions between edges, and at each of them, for a remainder that grows there.
    pub fn remainder(&self, stm: &Stm, fresh: &Fresh) -> Option<([Stm; 2], Stm)> {
        let Exp::Prim(op, xs) = &stm.exp else { return None };
        let division = division(*op, xs).filter(|_| self.growing.contains(&stm.pat[0].var))?;
        let param = |name: &str| Param { var: fresh.var(name), ty: stm.pat[0].ty.clone() };
        let (quotient, product) = (param("quotient"), param("product"));
        let prim = |op| PrimOp::Bin(op, Prim::I64);
        let op = if division.truncates { BinOp::Quot } else { BinOp::Div };
        let multiply = vec![quotient.var.into(), division.divisor];
        let subtract = vec![division.dividend, product.var.into()];
        let with = |pat: Param, exp: Exp| Stm { pat: vec![pat], exp, span: stm.span };
        let rest = with(stm.pat[0].clone(), Exp::Prim(prim(BinOp::Sub), subtract));
        let before = [
            with(quotient, Exp::Prim(prim(op), xs.clone())),
            with(product, Exp::Prim(prim(BinOp::Mul), multiply)),
        ];
        Some((before, rest))
    }

    fn body(&mut self, body: &Body, classes: &Classes, sums: &Sums) {
        for stm in &body.stms {
            if let (Exp::Prim(op, xs), [p]) = (&stm.exp, stm.pat.as_slice())
                && let Some(found) = edges(*op, xs, classes)
                && found.iter().all(|e| sums.has(e.left) && sums.has(e.right))
            {
                self.add(p.var, &found);
            }
            if let (Exp::Prim(op, xs), [p]) = (&stm.exp, stm.pat.as_slice())
                && sums.divides(p.var)
                && let Some(division) = division(*op, xs)
                && sums.has(division.dividend)
            {
                self.add_division(p.var, *op, division);
            }
            stm.exp.for_each_body(|b| self.body(b, classes, sums));
        }
    }

    fn add(&mut self, var: Var, found: &[Edge]) {
        let new: Vec<Edge> = found.iter().filter(|e| !self.edges.contains(e)).copied().collect();
        if self.edges.len() + new.len() <= tuning::EDGES {
            self.edges.extend(new);
            self.settled.insert(var);
        }
    }

    fn add_division(&mut self, var: Var, op: PrimOp, division: Division) {
        if !self.divisions.contains(&division) {
            self.divisions.push(division);
        }
        match op {
            PrimOp::Bin(BinOp::Div | BinOp::Quot, _) => self.settled.insert(var),
            _ => self.growing.insert(var),
        };
    }
}

/// A division of integers that are positions or are counted from them.
fn division(op: PrimOp, xs: &[Atom]) -> Option<Division> {
    let truncates = match op {
        PrimOp::Bin(BinOp::Div | BinOp::Mod, Prim::I64) => false,
        PrimOp::Bin(BinOp::Quot | BinOp::Rem, Prim::I64) => true,
        _ => return None,
    };
    Some(Division { dividend: xs[0], divisor: xs[1], truncates })
}

fn for_each_division(body: &Body, f: &mut dyn FnMut(Var, Division)) {
    for stm in &body.stms {
        if let Exp::Prim(op, xs) = &stm.exp
            && let Some(division) = division(*op, xs)
        {
            f(stm.pat[0].var, division);
        }
        stm.exp.for_each_body(|b| for_each_division(b, f));
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
    /// Whether no divisor is so small that there would be edges everywhere; none: there is no divisor.
    pub fn is_seldom(&mut self, edges: &Edges) -> Result<Option<Value>, Unsupported> {
        self.stms(&edges.before)?;
        let mut all = None;
        for division in &edges.divisions {
            let divisor = self.atom(&division.divisor)?;
            let is_long =
                self.b.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, divisor, tuning::EDGES_DIVISOR);
            all = Some(match all {
                Some(others) => self.b.ins().band(others, is_long),
                None => is_long,
            });
        }
        Ok(all)
    }

    /// The edges, as seen from the position `at`, which the operands are bound for. Without quotients they are where they are from any position.
    pub fn places(&mut self, edges: &Edges, at: Value) -> Result<Places, Unsupported> {
        let (mut places, mut large, mut seen) = (Vec::new(), None, HashSet::new());
        for edge in &edges.edges {
            let (left, right) = (self.atom(&edge.left)?, self.atom(&edge.right)?);
            let (ahead, behind) = if edge.grows { (right, left) } else { (left, right) };
            let distance = self.b.ins().isub(ahead, behind);
            let place = self.b.ins().iadd(at, distance);
            places.push(self.b.ins().iadd_imm_s(place, i64::from(edge.behind)));
            self.note_large(edge.left, &mut seen, &mut large)?;
            self.note_large(edge.right, &mut seen, &mut large)?;
        }
        for division in &edges.divisions {
            let distance = self.left_of_quotient(division)?;
            places.push(self.b.ins().iadd(at, distance));
            self.note_large(division.dividend, &mut seen, &mut large)?;
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

    /// For how many positions a quotient stays what it is.
    fn left_of_quotient(&mut self, division: &Division) -> Result<Value, Unsupported> {
        let (dividend, divisor) = (self.atom(&division.dividend)?, self.atom(&division.divisor)?);
        let op = if division.truncates { BinOp::Rem } else { BinOp::Mod };
        let rest = self.prim(PrimOp::Bin(op, Prim::I64), &[dividend, divisor], division.divisor.as_i64());
        let left = self.b.ins().isub(divisor, rest);
        let most = self.i64(LARGE);
        let left = self.b.ins().smin(left, most);
        if !division.truncates {
            return Ok(left);
        }
        let (is_negative, one) = (self.b.ins().icmp_imm_s(IntCC::SignedLessThan, dividend, 0), self.i64(1));
        Ok(self.b.ins().select(is_negative, one, left))
    }

    /// Adds to what is negative if there are numbers that may run over the end of the integers.
    fn note_large(
        &mut self,
        a: Atom,
        seen: &mut HashSet<Var>,
        large: &mut Option<Value>,
    ) -> Result<(), Unsupported> {
        if a.var().is_none_or(|v| !seen.insert(v)) {
            return Ok(());
        }
        let x = self.atom(&a)?;
        let sum = self.b.ins().iadd_imm_s(x, LARGE);
        *large = Some(match *large {
            Some(others) => self.b.ins().bor(others, sum),
            None => sum,
        });
        Ok(())
    }
}
