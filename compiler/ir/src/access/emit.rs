//! Code that computes a form somewhere else.

use super::{Access, Form, Origin, Symbol, Value};
use crate::core::{Exp, Param, Stm};
use crate::hash::HashMap;
use crate::prim::{BinOp, PrimOp};
use crate::ty::{Atom, Type, Vars};
use par_runtime::{Prim, Span};
use std::collections::BTreeSet;

/// Statements under construction.
pub struct Emit<'e> {
    /// For new names.
    pub vars: &'e mut Vars,
    /// Symbols that are computed again although they result from divisions.
    pub divisions: &'e BTreeSet<Symbol>,
    /// The variables that symbols have where the code goes.
    pub names: HashMap<Symbol, Atom>,
    /// So far.
    pub stms: Vec<Stm>,
    /// Of all of them.
    pub span: Span,
}

impl Emit<'_> {
    fn bind(&mut self, op: PrimOp, xs: Vec<Atom>) -> Atom {
        let var = self.vars.fresh("i");
        let pat = vec![Param { var, ty: Type::scalar(op.result()) }];
        self.stms.push(Stm { pat, exp: Exp::Prim(op, xs), span: self.span });
        var.into()
    }

    fn arithmetic(&mut self, op: BinOp, x: Atom, y: Atom) -> Atom {
        self.bind(PrimOp::Bin(op, Prim::I64), vec![x, y])
    }
}

impl Access<'_> {
    /// Computes a form from host scalars and the symbols that have names; none if it needs anything else, or another operator
    /// that divides.
    pub fn emit(&self, f: &Form, to: &mut Emit) -> Option<Atom> {
        let mut sum: Option<Atom> = None;
        for (product, n) in f.terms() {
            let factors = product.iter().map(|s| self.emit_symbol(*s, to)).collect::<Option<Vec<Atom>>>()?;
            let constant =
                if n.unsigned_abs() == 1 && !factors.is_empty() { None } else { Some(Atom::i64(n)) };
            let term = factors.into_iter().chain(constant).reduce(|x, y| to.arithmetic(BinOp::Mul, x, y))?;
            let negative = n == -1 && constant.is_none();
            sum = Some(match sum {
                Some(sum) => to.arithmetic(if negative { BinOp::Sub } else { BinOp::Add }, sum, term),
                None if negative => to.arithmetic(BinOp::Sub, Atom::i64(0), term),
                None => term,
            });
        }
        Some(sum.unwrap_or(Atom::i64(0)))
    }

    fn emit_symbol(&self, s: Symbol, to: &mut Emit) -> Option<Atom> {
        if let Some(name) = to.names.get(&s) {
            return Some(*name);
        }
        let Symbol::Var(v) = s else { return None };
        if self.is_outside(s) {
            return Some(v.into());
        }
        let Origin::Prim(op, xs) = &self.bound.get(&v)?.origin else { return None };
        if op.divides() && !to.divisions.contains(&s) {
            return None;
        }
        let xs = xs.iter().map(|x| match x {
            Value::Known(c) => Some(Atom::Const(*c)),
            Value::Form(f) => self.emit(f, to),
        });
        let xs = xs.collect::<Option<_>>()?;
        let name = to.bind(*op, xs);
        to.names.insert(s, name);
        Some(name)
    }
}
