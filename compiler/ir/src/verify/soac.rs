//! Verification of CORE's parallel operators.
//!
//! - One lambda parameter per input, typed as a row of it: a row of a descriptor of rank 1 is an `i64`.
//! - The lambda's body results in its result types.
//! - The operator of a reduce, scan or hist is scalar, with `2k` parameters and `k` results of the types of the `k`
//!   neutral elements and of the producer's first results.
//! - The pattern binds what the operator gives; a mapped `i64` may become a descriptor.

use super::core::Checker;
use super::shape::{agree, array_of, mapped, mismatch, row, same_kind};
use super::{Result, ensure, ensure_count};
use crate::core::{Exp, Lambda, Param};
use crate::ty::{Atom, Type, Var};

impl Checker<'_> {
    pub(super) fn soac(&mut self, exp: &Exp, pat: &[Param]) -> Result {
        match exp {
            Exp::Map { width, inputs, lam } => {
                self.producer(*width, inputs, lam)?;
                self.mapped_results(*width, lam, 0, pat)
            }
            Exp::Reduce { width, inputs, lam, op, neutral } => {
                self.producer(*width, inputs, lam)?;
                let types = self.operator(op, neutral, &lam.ret)?;
                let (reduced, rest) = split(pat, types.len())?;
                for (p, ty) in reduced.iter().zip(&types) {
                    agree("a reduced result", &p.ty, ty, self.scope.vars)?;
                }
                self.mapped_results(*width, lam, types.len(), rest)
            }
            Exp::Scan { width, inputs, lam, op, neutral, .. } => {
                self.producer(*width, inputs, lam)?;
                self.operator(op, neutral, &lam.ret)?;
                self.mapped_results(*width, lam, 0, pat)
            }
            Exp::Filter { width, inputs, lam } => {
                self.producer(*width, inputs, lam)?;
                self.filter(lam, pat)
            }
            Exp::Scatter { dests, width, inputs, lam } => {
                self.producer(*width, inputs, lam)?;
                self.indexed(dests, lam, pat)
            }
            Exp::Hist { dests, width, inputs, lam, op, neutral } => {
                self.producer(*width, inputs, lam)?;
                self.indexed(dests, lam, pat)?;
                let types = self.operator(op, neutral, lam.ret.get(1..).unwrap_or_default())?;
                ensure_count("combined values", types.len(), dests.len())
            }
            _ => Err("not an expression of CORE".to_string().into()),
        }
    }

    /// The width, the inputs, and the lambda over their rows.
    fn producer(&mut self, width: Atom, inputs: &[Var], lam: &Lambda) -> Result {
        self.operand("the width", width, &Type::I64)?;
        ensure_count("parameters of the lambda", lam.params.len(), inputs.len())?;
        for (v, p) in inputs.iter().zip(&lam.params) {
            let ty = self.scope.get(*v)?;
            let Some(row) = row(ty, 1) else {
                return Err(format!("the input {} is no array", self.scope.show(*v)).into());
            };
            let outer = Type { dims: ty.dims[..1].to_vec(), elem: ty.elem };
            let wanted = Type { elem: ty.elem, ..array_of(width, &Type::I64) };
            agree("an input's outer dimension", &outer, &wanted, self.scope.vars)?;
            // Dimensions of a row are the lambda's own names (a length, a descriptor of fewer rows).
            let vars = self.scope.vars;
            ensure(same_kind(&row, &p.ty), || mismatch("a parameter of the lambda", &p.ty, &row, vars))?;
        }
        self.lambda(lam)
    }

    /// Parameters, body, result types; these may mention what the body binds.
    pub(super) fn lambda(&mut self, lam: &Lambda) -> Result {
        let mark = self.scope.mark();
        self.params(&lam.params)?;
        let types = self.open_body(&lam.body)?;
        ensure_count("results of the lambda", types.len(), lam.ret.len())?;
        for (found, ty) in types.iter().zip(&lam.ret) {
            self.well_formed(ty)?;
            agree("a result of the lambda", found, ty, self.scope.vars)?;
        }
        self.scope.release(mark);
        Ok(())
    }

    /// Results of the lambda from number `skip` on become arrays of `width` rows. What the pattern itself binds is not
    /// comparable with the lambda's names, but constants are.
    fn mapped_results(&self, width: Atom, lam: &Lambda, skip: usize, pat: &[Param]) -> Result {
        ensure_count("bound variables", pat.len() + skip, lam.ret.len())?;
        for (p, ty) in pat.iter().zip(&lam.ret[skip..]) {
            agree("a mapped result", &p.ty, &mapped(width, ty, &p.ty), self.scope.vars)?;
        }
        Ok(())
    }

    /// A scalar operator on the first results of the producer: their types.
    pub(super) fn operator(&mut self, op: &Lambda, neutral: &[Atom], produced: &[Type]) -> Result<Vec<Type>> {
        let k = neutral.len();
        ensure(op.is_scalar(), || "the operator is not scalar".into())?;
        ensure_count("parameters of the operator", op.params.len(), 2 * k)?;
        ensure_count("results of the operator", op.ret.len(), k)?;
        ensure(produced.len() >= k, || "the producer has too few results for the operator".into())?;
        self.lambda(op)?;
        for (i, ty) in op.ret.iter().enumerate() {
            self.operand("a neutral element", neutral[i], ty)?;
            agree("a value to combine", &produced[i], ty, self.scope.vars)?;
            for p in [&op.params[i], &op.params[i + k]] {
                agree("a parameter of the operator", &p.ty, ty, self.scope.vars)?;
            }
        }
        Ok(op.ret.clone())
    }

    fn filter(&self, lam: &Lambda, pat: &[Param]) -> Result {
        ensure(lam.ret.first() == Some(&Type::BOOL), || "the filter's first result is no bool".into())?;
        ensure_count("bound variables", pat.len(), lam.ret.len())?;
        agree("the number kept", &pat[0].ty, &Type::I64, self.scope.vars)?;
        for (p, ty) in pat[1..].iter().zip(&lam.ret[1..]) {
            ensure(ty.is_scalar(), || "a filtered value is no scalar".into())?;
            let wanted = array_of(Atom::Var(pat[0].var), ty);
            agree("a filtered array", &p.ty, &wanted, self.scope.vars)?;
        }
        Ok(())
    }

    /// Results of a scatter or hist: an index, then one scalar per destination.
    fn indexed(&self, dests: &[Var], lam: &Lambda, pat: &[Param]) -> Result {
        ensure(lam.ret.first() == Some(&Type::I64), || "the first result is no i64 index".into())?;
        ensure_count("values to write", lam.ret.len() - 1, dests.len())?;
        ensure_count("bound variables", pat.len(), dests.len())?;
        for ((d, p), ty) in dests.iter().zip(pat).zip(&lam.ret[1..]) {
            let dest = self.scope.get(*d)?;
            ensure(dest.rank() == 1 && dest.elem == ty.elem && ty.is_scalar(), || {
                mismatch("a destination", dest, &array_of(Atom::i64(0), ty), self.scope.vars)
            })?;
            agree("the written array", &p.ty, dest, self.scope.vars)?;
        }
        Ok(())
    }
}

fn split(pat: &[Param], at: usize) -> Result<(&[Param], &[Param])> {
    pat.split_at_checked(at).ok_or_else(|| "too few bound variables".to_string().into())
}
