//! Statements that stay, with arrays where arrays are needed.

use super::{Tiny, shapes};
use crate::core::{Exp, Lambda, Stm};
use crate::ty::{Atom, Var};
use crate::visit::Code;
use par_runtime::Span;

impl Tiny<'_> {
    /// Adds a statement.
    pub(super) fn push(&mut self, stm: Stm, out: &mut Vec<Stm>) -> Option<()> {
        if self.strict && !stm.is_scalar() {
            return None;
        }
        out.push(stm);
        Some(())
    }

    /// A statement as it is, in the new names.
    pub(super) fn keep(&mut self, stm: &Stm, out: &mut Vec<Stm>) -> Option<()> {
        self.keep_operator(stm, false, out)
    }

    /// As [`Self::keep`], for an operator whose rows may be folded afterwards.
    pub(super) fn keep_operator(&mut self, stm: &Stm, folded: bool, out: &mut Vec<Stm>) -> Option<()> {
        let mut stm = stm.clone();
        if self.is_true(&stm.exp) {
            return Some(());
        }
        stm.exp = self.kept(&stm.exp, folded, out, stm.span)?;
        stm.pat.iter_mut().for_each(|p| p.ty.substitute(&self.subst));
        self.push(stm, out)
    }

    /// A check of what is known to hold.
    fn is_true(&self, exp: &Exp) -> bool {
        matches!(exp, Exp::Check { cond, .. } if self.atom(*cond) == Atom::bool(true))
    }

    fn kept(&mut self, exp: &Exp, folded: bool, out: &mut Vec<Stm>, span: Span) -> Option<Exp> {
        let mut exp = exp.clone();
        if self.strict && !exp.lambdas().is_empty() {
            return None;
        }
        exp.for_each_operand_mut(&mut |a| *a = self.whole(*a, out, span));
        for lam in exp.lambdas_mut() {
            self.lambda(lam, folded)?;
        }
        Some(exp)
    }

    /// The lambda of an operator that stays, whose results may be `folded` by what comes after it. None if its body must stay as it is;
    /// it is not changed then.
    pub fn lambda(&mut self, lam: &mut Lambda, folded: bool) -> Option<()> {
        for p in &mut lam.params {
            p.ty.substitute(&self.subst);
            self.types.insert(p.var, p.ty.clone());
            self.rows.insert(p.var);
        }
        let limits = self.limits;
        lam.body = self.body(&lam.body, folded)?;
        self.limits = limits;
        lam.ret.iter_mut().for_each(|t| t.substitute(&self.subst));
        Some(())
    }

    /// An operand; an array that was scalarised is put together.
    pub(super) fn whole(&mut self, a: Atom, out: &mut Vec<Stm>, span: Span) -> Atom {
        let Atom::Var(v) = a else { return a };
        if self.cheap.contains(&v) {
            return a;
        }
        if let Some((arr, indices)) = self.views.get(&v).cloned() {
            let ty = self.types[&v].clone();
            return self.bind(v, ty, Exp::Index(arr, indices), span, out);
        }
        match self.parts.get(&v).cloned() {
            Some(parts) => self.together(v, parts, out, span),
            None => self.atom(a),
        }
    }

    /// An array of these elements.
    fn together(&mut self, v: Var, parts: Vec<Atom>, out: &mut Vec<Stm>, span: Span) -> Atom {
        let ty = self.types[&v].clone();
        let mut shapes = shapes(&ty).into_iter();
        let flat = shapes.next().expect("an array has a dimension");
        let mut all = self.bind(v, flat, Exp::Literal(parts, ty.prim()), span, out);
        for shape in shapes {
            let Atom::Var(before) = all else { return all };
            all = self.bind(v, shape, Exp::Unflatten(before), span, out);
        }
        all
    }
}
