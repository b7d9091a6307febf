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
            let ran = Ran { stms: body.stms.iter().collect(), types, params };
            (i == 0 && ran.is_at_most(body.results[k], *v)).then_some(())?;
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

/// Statements that have run, in order.
struct Ran<'s> {
    stms: Vec<&'s Stm>,
    types: &'s HashMap<Var, Type>,
    params: &'s [(Param, Atom)],
}

impl<'s> Ran<'s> {
    /// True if a size is known to be at most another one.
    fn is_at_most(&self, a: Atom, most: Var) -> bool {
        a == most.into()
            || a.as_i64().is_some_and(|n| n <= 0)
            || (0..self.stms.len()).rev().any(|i| self.bounds(i, a, most))
    }

    /// True if a statement, with those before it, says of a number that it is at most a size. Only what is before counts: sizes of slices
    /// may bound each other.
    fn bounds(&self, i: usize, a: Atom, most: Var) -> bool {
        let stm = self.stms[i];
        let slice = match &stm.exp {
            Exp::Slice { arr, len, .. } if *len == a => Some(*arr),
            _ => None,
        };
        let made = stm.pat.iter().position(|p| a == p.var.into());
        if slice.is_none() && made.is_none() {
            return false;
        }
        let before = Ran { stms: self.stms[..i].to_vec(), ..*self };
        if let Some(arr) = slice {
            return before.size(arr).is_some_and(|n| before.is_at_most(n, most));
        }
        let Some(k) = made else { return false };
        match &stm.exp {
            Exp::Atom(a) => before.is_at_most(*a, most),
            Exp::Filter { width, .. } => k == 0 && before.is_at_most(*width, most),
            Exp::Prim(PrimOp::Bin(BinOp::Min, Prim::I64), xs) => {
                xs.iter().any(|x| before.is_at_most(*x, most))
            }
            Exp::Prim(PrimOp::Bin(BinOp::Sub, Prim::I64), xs) => {
                xs[1].as_i64().is_some_and(|c| c >= 0) && before.is_at_most(xs[0], most)
            }
            Exp::If { then, other, .. } => [then, other].into_iter().all(|arm| {
                let stms = before.stms.iter().copied().chain(&arm.stms).collect();
                Ran { stms, ..before }.is_at_most(arm.results[k], most)
            }),
            _ => false,
        }
    }

    /// The first dimension of an array.
    fn size(&self, arr: Var) -> Option<Atom> {
        let made = self.stms.iter().flat_map(|s| &s.pat).chain(self.params.iter().map(|(p, _)| p));
        let ty = made.into_iter().find(|p| p.var == arr).map(|p| &p.ty).or_else(|| self.types.get(&arr))?;
        let Some(Dim::Size(n)) = ty.dims.first() else { return None };
        Some(*n)
    }
}
