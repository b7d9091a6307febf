//! Integers that iterations hand on by way of minima and maxima stay in vector registers.
//!
//! ```text
//! loop x = x0 for i < n do max (as[i]) (x - gap)
//!     x: i32x4                        one instruction for a maximum, where scalars take a comparison and a move that depends on it
//! ```
//!
//! The next iteration waits for all of them. Only the first lane counts; what else is done with a number reads it there. Cells of an alignment, each from
//! the one before it, take three cycles instead of five.

use super::emit::Emitter;
use super::loops::scalars;
use cranelift::prelude::*;
use par_ir::Prim::{I32, U32};
use par_ir::Var;
use par_ir::core::{Body, Exp, Param, Stm};
use par_ir::hash::HashMap;
use par_ir::prim::{BinOp, PrimOp};
use par_ir::ty::Atom;
use par_ir::visit::Code;

/// For each scalar of a loop's state, whether it stays in a vector register.
pub fn chains(params: &[(Param, Atom)], body: &Body) -> Vec<bool> {
    let results = params.iter().zip(&body.results).filter(|((p, _), _)| p.ty.is_scalar()).map(|(_, r)| *r);
    let hands_on = |(p, _): &(Param, Atom)| chain(p, body);
    scalars(params).zip(results).map(|(p, next)| hands_on(p).is_some_and(|c| c.ends_in(next))).collect()
}

/// Variables that are computed from a number of the iteration before, and whether an extremum is on the way there.
struct Chain(HashMap<Var, bool>);

impl Chain {
    fn ends_in(&self, a: Atom) -> bool {
        self.of(&a) == Some(true)
    }

    fn of(&self, a: &Atom) -> Option<bool> {
        a.var().and_then(|v| self.0.get(&v)).copied()
    }

    /// Goes on through a body; false if an operator there has no vector form.
    fn body(&mut self, body: &Body) -> bool {
        body.stms.iter().all(|s| self.stm(s))
    }

    fn stm(&mut self, stm: &Stm) -> bool {
        let has_extremum = match &stm.exp {
            Exp::Atom(a) => self.of(a),
            Exp::Prim(op, xs) if is_in_vectors(*op) => {
                let from = xs.iter().filter_map(|x| self.of(x)).reduce(|a, b| a || b);
                from.map(|is| is || matches!(op, PrimOp::Bin(BinOp::Min | BinOp::Max, _)))
            }
            Exp::If { cond, then, other } if self.of(cond).is_none() => return self.branch(stm, then, other),
            Exp::Update { .. } => None,
            _ => return !stm.free().iter().any(|v| self.0.contains_key(v)),
        };
        self.0.extend(has_extremum.map(|is| (stm.pat[0].var, is)));
        true
    }

    fn branch(&mut self, stm: &Stm, then: &Body, other: &Body) -> bool {
        let plain = self.body(then) && self.body(other);
        for (p, (a, b)) in stm.pat.iter().zip(then.results.iter().zip(&other.results)) {
            let from = [a, b].into_iter().filter_map(|x| self.of(x)).reduce(|a, b| a || b);
            self.0.extend(from.map(|is| (p.var, is)));
        }
        plain
    }
}

/// None if operators need it that have no vector form here.
fn chain(start: &Param, body: &Body) -> Option<Chain> {
    if !matches!(start.ty.prim(), I32 | U32) {
        return None;
    }
    let mut chain = Chain(HashMap::from_iter([(start.var, false)]));
    chain.body(body).then_some(chain)
}

fn is_in_vectors(op: PrimOp) -> bool {
    match op {
        PrimOp::Bin(BinOp::Add | BinOp::Sub | BinOp::Min | BinOp::Max, p) | PrimOp::Select(p) => {
            matches!(p, I32 | U32)
        }
        _ => false,
    }
}

impl Emitter<'_> {
    /// The state of a loop as it is handed on.
    pub fn vectors_of(&mut self, state: &[Value], chains: &[bool]) -> Vec<Value> {
        let handed = |(x, in_vector): (&Value, &bool)| if *in_vector { self.vector(*x) } else { *x };
        state.iter().zip(chains).map(handed).collect()
    }

    /// The state of a loop as scalars.
    pub fn first_lanes(&mut self, state: &[Value], chains: &[bool]) -> Vec<Value> {
        let scalar = |(x, in_vector): (&Value, &bool)| if *in_vector { self.first_lane(*x) } else { *x };
        state.iter().zip(chains).map(scalar).collect()
    }

    /// For each value, whether it is in a vector too.
    pub fn in_vectors(&self, xs: &[Value]) -> Vec<bool> {
        xs.iter().map(|x| self.bound.vectors.contains_key(x)).collect()
    }

    fn first_lane(&mut self, vector: Value) -> Value {
        let x = self.b.ins().extractlane(vector, 0);
        self.bound.vectors.insert(x, vector);
        x
    }

    /// A vector with this scalar in its first lane.
    fn vector(&mut self, x: Value) -> Value {
        match self.bound.vectors.get(&x) {
            Some(vector) => *vector,
            None => self.b.ins().scalar_to_vector(types::I32X4, x),
        }
    }

    /// An operator on vectors, if one of its operands is in one.
    pub fn chained(&mut self, op: PrimOp, xs: &[Value]) -> Option<Value> {
        if !is_in_vectors(op) || !xs.iter().any(|x| self.bound.vectors.contains_key(x)) {
            return None;
        }
        let [x, y] = [xs.len() - 2, xs.len() - 1].map(|i| self.vector(xs[i]));
        let vector = match op {
            PrimOp::Bin(BinOp::Add, _) => self.b.ins().iadd(x, y),
            PrimOp::Bin(BinOp::Sub, _) => self.b.ins().isub(x, y),
            PrimOp::Bin(BinOp::Min, p) if p.is_signed() => self.b.ins().smin(x, y),
            PrimOp::Bin(BinOp::Min, _) => self.b.ins().umin(x, y),
            PrimOp::Bin(_, p) if p.is_signed() => self.b.ins().smax(x, y),
            PrimOp::Bin(..) => self.b.ins().umax(x, y),
            _ => {
                let bit = self.b.ins().uextend(types::I32, xs[0]);
                let all = self.b.ins().ineg(bit);
                let mask = self.b.ins().scalar_to_vector(types::I32X4, all);
                self.b.ins().bitselect(mask, x, y)
            }
        };
        Some(self.first_lane(vector))
    }
}
