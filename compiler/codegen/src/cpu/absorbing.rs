//! Short-circuit evaluation of disjunctions and conjunctions: a reduction ends once its accumulator has the absorbing value of the operator.
//!
//! ```text
//! acc = false                          acc = false
//! for pos in start .. end              for pos in start .. end while !acc
//!     acc = acc || p (xs[pos])   ==>       acc = acc || p (xs[pos])
//! ```
//!
//! Groups of positions end after the one in which that happens, groups of rows when it has happened in all of their rows. Elements that may fail are all computed, for
//! the program fails wherever one of them does.

use super::emit::Emitter;
use super::lanes::{Group, Lanes};
use cranelift::prelude::*;
use par_ir::core::{Body, Exp, Lambda, Param};
use par_ir::effects::Effects;
use par_ir::prim::{BinOp, PrimOp};
use par_ir::{Atom, Prim};

/// The absorbing value of a reduction's operator, if it has one and its elements do not fail.
pub fn of_operator(op: &Lambda, elements: &Body) -> Option<bool> {
    let is_only = elements.results.len() == 1 && !elements.has_effect();
    let acc = op.params.first().filter(|_| op.ret.len() == 1 && is_only)?;
    of_accumulator(acc, &op.body)
}

/// The same for a loop with a single variable.
pub fn of_loop(params: &[(Param, Atom)], body: &Body) -> Option<bool> {
    let [(acc, _)] = params else { return None };
    if body.has_effect() { None } else { of_accumulator(acc, body) }
}

/// The same for a body whose result is the next value of an accumulator.
fn of_accumulator(acc: &Param, body: &Body) -> Option<bool> {
    let result = body.results.first()?.var()?;
    let stm = body.stms.iter().find(|s| s.pat.iter().any(|p| p.var == result))?;
    let Exp::Prim(PrimOp::Bin(op, Prim::Bool), xs) = &stm.exp else { return None };
    let value = match op {
        BinOp::Or => true,
        BinOp::And => false,
        _ => return None,
    };
    xs.contains(&acc.var.into()).then_some(value)
}

impl Emitter<'_> {
    /// True if a loop goes on: as far as this says, and its accumulator has not the absorbing value.
    pub fn not_absorbed(&mut self, absorbing: Option<bool>, goes_on: Value, state: &[Value]) -> Value {
        match (absorbing, state) {
            (Some(true), [acc]) => self.b.ins().band_not(goes_on, *acc),
            (Some(false), [acc]) => self.b.ins().band(goes_on, *acc),
            _ => goes_on,
        }
    }
}

impl Group<'_, '_> {
    /// The same for accumulators in lanes, each of the same reduction.
    pub fn none_absorbed(&mut self, absorbing: Option<bool>, goes_on: Value, acc: &[Value]) -> Value {
        let Some(value) = absorbing else { return goes_on };
        let acc = Lanes::Vector(acc.to_vec());
        if value {
            let any = self.any(&acc);
            self.e.b.ins().band_not(goes_on, any)
        } else {
            let all = self.all(&acc);
            self.e.b.ins().band(goes_on, all)
        }
    }

    /// Mask of the lanes, each with an accumulator of its own, in which a loop goes on.
    pub fn where_not_absorbed(&mut self, absorbing: Option<bool>, goes_on: Lanes, acc: &[Lanes]) -> Lanes {
        match (absorbing, acc) {
            (Some(true), [acc @ Lanes::Vector(_)]) => self.without(&goes_on, acc),
            (Some(false), [acc @ Lanes::Vector(_)]) => self.both(&goes_on, acc),
            _ => goes_on,
        }
    }
}
