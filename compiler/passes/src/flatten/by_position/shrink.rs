//! State whose size changes from iteration to iteration but is never larger than at first: an array of its first size has room for it.
//!
//! ```text
//! loop (n = m, xs: [n]t = as) while … do { let (k, ys: [k]t) = filter … xs  in (k, ys) }        k <= n <= m
//! ```

use par_ir::core::{Body, Exp, Param, Stm};
use par_ir::prim::{BinOp, PrimOp};
use par_ir::visit::{Code, Subst};
use par_ir::{Atom, Dim, Prim, Type, Var, Vars};
use std::collections::HashMap;

/// Sizes among the state of a loop, each with what it is at first; none if one of them may grow.
pub(super) fn sizes(
    params: &[(Param, Atom)],
    body: &Body,
    types: &HashMap<Var, Type>,
) -> Option<HashMap<Var, Atom>> {
    let mut sizes = HashMap::new();
    for ty in params.iter().map(|(p, _)| &p.ty) {
        for (i, d) in ty.dims.iter().enumerate() {
            let Dim::Size(Atom::Var(v)) = d else { continue };
            let Some(k) = params.iter().position(|(p, _)| p.var == *v) else { continue };
            let scope = Scope { bodies: vec![body], types, params };
            (i == 0 && scope.is_at_most(body.results[k], *v)).then_some(())?;
            sizes.insert(*v, params[k].1);
        }
    }
    Some(sizes)
}

/// The results of a loop whose arrays keep their first size, and the statements that take from them what is there in the end.
pub(super) fn results(stm: &Stm, sizes: &HashMap<Var, Atom>, vars: &mut Vars) -> (Vec<Param>, Vec<Stm>) {
    let Exp::Loop { params, .. } = &stm.exp else { return (stm.pat.clone(), Vec::new()) };
    let first: Subst = stm
        .pat
        .iter()
        .zip(params)
        .filter_map(|(made, (p, _))| Some((made.var, *sizes.get(&p.var)?)))
        .collect();
    let (mut pat, mut after) = (Vec::new(), Vec::new());
    for p in &stm.pat {
        let ty = p.ty.substituted(&first);
        let (false, Some(Dim::Size(len))) = (ty == p.ty, p.ty.dims.first().copied()) else {
            pat.push(p.clone());
            continue;
        };
        let whole = Param { var: vars.fresh_like(p.var), ty };
        let exp = Exp::Slice { arr: whole.var, start: Atom::i64(0), len, stride: Atom::i64(1) };
        after.push(Stm { pat: vec![p.clone()], exp, span: stm.span });
        pat.push(whole);
    }
    (pat, after)
}

/// Code that is run as a whole: a body, and those that it stands in.
struct Scope<'s> {
    bodies: Vec<&'s Body>,
    types: &'s HashMap<Var, Type>,
    params: &'s [(Param, Atom)],
}

impl<'s> Scope<'s> {
    /// True if a size is known to be at most another one.
    fn is_at_most(&self, a: Atom, most: Var) -> bool {
        a == most.into()
            || a.as_i64().is_some_and(|n| n <= 0)
            || self.statements().any(|stm| self.bounds(stm, a, most))
    }

    fn statements(&self) -> impl Iterator<Item = &'s Stm> {
        self.bodies.iter().rev().flat_map(|b| &b.stms)
    }

    /// True if a statement says of a number that it is at most a size.
    fn bounds(&self, stm: &'s Stm, a: Atom, most: Var) -> bool {
        if let Exp::Slice { arr, len, .. } = &stm.exp
            && *len == a
        {
            return self.size(*arr).is_some_and(|n| n != a && self.is_at_most(n, most));
        }
        let Some(k) = stm.pat.iter().position(|p| a == p.var.into()) else { return false };
        match &stm.exp {
            Exp::Atom(a) => self.is_at_most(*a, most),
            Exp::Filter { width, .. } => k == 0 && self.is_at_most(*width, most),
            Exp::Prim(PrimOp::Bin(BinOp::Min, Prim::I64), xs) => xs.iter().any(|x| self.is_at_most(*x, most)),
            Exp::Prim(PrimOp::Bin(BinOp::Sub, Prim::I64), xs) => {
                xs[1].as_i64().is_some_and(|c| c >= 0) && self.is_at_most(xs[0], most)
            }
            Exp::If { then, other, .. } => [then, other].into_iter().all(|arm| {
                let bodies = [&self.bodies[..], &[arm]].concat();
                Scope { bodies, ..*self }.is_at_most(arm.results[k], most)
            }),
            _ => false,
        }
    }

    /// The first dimension of an array.
    fn size(&self, arr: Var) -> Option<Atom> {
        let made = self.statements().flat_map(|s| &s.pat).chain(self.params.iter().map(|(p, _)| p));
        let ty = made.into_iter().find(|p| p.var == arr).map(|p| &p.ty).or_else(|| self.types.get(&arr))?;
        let Some(Dim::Size(n)) = ty.dims.first() else { return None };
        Some(*n)
    }
}
