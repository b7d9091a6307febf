//! Integers of a body that are available before it: known outside its loops and arms, from the number of a position on.
//!
//! ```text
//! n, i                                    available: bound outside
//! loop (s = 0) for x < 3 {
//!     j = add i x                         not available: the loop counts x
//!     k = mul i n                         available: moved before the loop
//!     q = div i n                         available, if it is one of the divisions
//! ```
//!
//! An integer is available if it is a constant, if the body does not bind it, or if it is a sum, a difference, a product or one of the
//! divisions of available integers. Nothing else that is bound at any depth of the body is: no counter or state of a loop, no result of a
//! branch, no element. What is computed before the positions of a body may use available integers only.

use par_ir::core::{Body, Exp, Stm};
use par_ir::prim::{BinOp, PrimOp};
use par_ir::ty::Atom;
use par_ir::visit::Code;
use par_ir::{Prim, Var};
use std::collections::HashSet;

/// The integers that are available before a body.
pub struct Sums {
    divisions: HashSet<Var>,
    /// All that the body binds, at any depth.
    inside: HashSet<Var>,
    /// Of those, what is available.
    available: HashSet<Var>,
    /// The statements that compute these, in order.
    stms: Vec<Stm>,
}

impl Sums {
    /// Without divisions.
    pub fn new(body: &Body) -> Sums {
        Sums::with_divisions(body, HashSet::new())
    }

    /// With divisions that bind these variables.
    pub fn with_divisions(body: &Body, divisions: HashSet<Var>) -> Sums {
        let inside = body.bound().into_iter().collect();
        let mut sums = Sums { divisions, inside, available: HashSet::new(), stms: vec![] };
        sums.body(body);
        sums
    }

    fn body(&mut self, body: &Body) {
        for stm in &body.stms {
            if self.is_sum(stm) {
                self.available.extend(stm.pat.iter().map(|p| p.var));
                self.stms.push(stm.clone());
            }
            stm.exp.own_bodies().into_iter().for_each(|b| self.body(b));
        }
    }

    fn is_sum(&self, stm: &Stm) -> bool {
        match &stm.exp {
            Exp::Atom(a) => self.has(*a),
            Exp::Prim(PrimOp::Bin(BinOp::Add | BinOp::Sub | BinOp::Mul, Prim::I64), xs) => self.has_all(xs),
            Exp::Prim(_, xs) => self.divides(stm.pat[0].var) && self.has_all(xs),
            _ => false,
        }
    }

    fn has_all(&self, xs: &[Atom]) -> bool {
        xs.iter().all(|x| self.has(*x))
    }

    /// True if an operand is available.
    pub fn has(&self, a: Atom) -> bool {
        a.var().is_none_or(|v| !self.inside.contains(&v) || self.available.contains(&v))
    }

    /// True for one of the divisions.
    pub fn divides(&self, v: Var) -> bool {
        self.divisions.contains(&v)
    }

    /// The statements that these need, in order.
    pub fn needed(&self, atoms: Vec<Atom>) -> Vec<Stm> {
        let mut needed: HashSet<Var> = atoms.iter().filter_map(|a| a.var()).collect();
        let mut found = Vec::new();
        for stm in self.stms.iter().rev().filter(|s| s.pat.len() == 1) {
            if needed.contains(&stm.pat[0].var) {
                needed.extend(stm.exp.free());
                found.push(stm.clone());
            }
        }
        found.reverse();
        found
    }
}
