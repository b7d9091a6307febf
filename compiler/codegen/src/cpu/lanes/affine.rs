//! Integers of a body that are linear in its index, and code that computes them outside of it.
//!
//! ```text
//! n, i                                    of what is bound outside
//! loop (s = 0) for x < 3 {
//!     j = add i x                         not available: the loop counts x
//!     k = mul i n                         k, wherever i is known
//!     q = quot i n                        available, if it is one of the divisions
//! ```
//!
//! Code outside of a body may use what is bound before it, the index, and operators on these; no counter or state of a loop, no
//! element, no result of a branch.

use crate::cpu::fresh::Fresh;
use par_ir::Var;
use par_ir::access::{Access, Emit, Form, Symbol};
use par_ir::core::Stm;
use par_ir::hash::HashMap;
use par_ir::prim::{BinOp, PrimOp};
use par_ir::ty::Atom;
use std::collections::BTreeSet;

/// The index of a body.
const INDEX: Symbol = Symbol::Index(0);

/// Code for integers of a body.
pub struct Affine<'a> {
    access: &'a Access<'a>,
    fresh: &'a Fresh,
    names: HashMap<Symbol, Atom>,
    divisions: BTreeSet<Symbol>,
    /// So far.
    pub stms: Vec<Stm>,
}

impl<'a> Affine<'a> {
    /// For a body with this index, analysed by [`Access::along`].
    pub fn new(access: &'a Access<'a>, index: Var, fresh: &'a Fresh) -> Affine<'a> {
        let names = HashMap::from_iter([(INDEX, index.into())]);
        Affine { access, fresh, names, divisions: BTreeSet::new(), stms: vec![] }
    }

    /// Allows the result of a division, whose dividend grows by one, where that does not reach the next quotient.
    pub fn allow(&mut self, division: Var) {
        self.divisions.insert(Symbol::Var(division));
    }

    /// An operand, if it is an `i64`.
    pub fn form(&self, a: Atom) -> Option<Form> {
        self.access.form(a)
    }

    /// Growth of a form from index to index. `None`: unknown, or not the same everywhere.
    pub fn growth(&self, f: &Form) -> Option<i64> {
        f.growth(|s| match s {
            Symbol::Var(v) if self.divisions.contains(&s) => match self.access.operator(v)?.0 {
                PrimOp::Bin(BinOp::Mod | BinOp::Rem, _) => Some(1),
                _ => Some(0),
            },
            s if s == INDEX => Some(1),
            s => (!self.access.varies(&s.into(), 0)).then_some(0),
        })
    }

    /// A form's value, if it is available.
    pub fn atom(&mut self, f: &Form) -> Option<Atom> {
        let (names, stms) = (self.names.clone(), self.stms.clone());
        let vars = &mut self.fresh.table();
        let mut emit = Emit { vars, divisions: &self.divisions, names, stms, span: Default::default() };
        let value = self.access.emit(f, &mut emit)?;
        (self.names, self.stms) = (emit.names, emit.stms);
        Some(value)
    }

    /// An operand's value, if it is available and grows by this much.
    pub fn growing(&mut self, a: Atom, growth: i64) -> Option<Atom> {
        let form = self.form(a)?;
        if self.growth(&form) == Some(growth) { self.atom(&form) } else { None }
    }
}
