//! Calls in branches, taken out of them: the runtime's functions for strips take all elements.
//!
//! ```text
//! y = if c then 2 * x else { l = log x  in l + 1 }      ==>      a = 2 * x;  l = log x;  b = l + 1;  y = select c a b
//! ```
//!
//! Only branches that compute, and can neither fail nor read: both ways then take a fraction of what one call of a scalar function does.

use super::stage::{call, is_safe};
use par_ir::core::{Body, Exp, Stm};
use par_ir::prim::PrimOp;
use par_ir::ty::Atom;

/// The body without branches around calls; none if there are no such branches.
pub fn without_branches(body: &Body) -> Option<Body> {
    let mut stms = Vec::new();
    body.stms.iter().for_each(|s| straighten(s, &mut stms));
    (stms.len() != body.stms.len()).then(|| Body { stms, results: body.results.clone() })
}

fn straighten(stm: &Stm, stms: &mut Vec<Stm>) {
    let Exp::If { cond, then, other } = &stm.exp else { return stms.push(stm.clone()) };
    if !is_safe(stm) || !calls(stm) {
        return stms.push(stm.clone());
    }
    then.stms.iter().chain(&other.stms).for_each(|s| straighten(s, stms));
    for ((p, x), y) in stm.pat.iter().zip(&then.results).zip(&other.results) {
        let operands: Vec<Atom> = vec![*cond, *x, *y];
        let exp = Exp::Prim(PrimOp::Select(p.ty.prim()), operands);
        stms.push(Stm { pat: vec![p.clone()], exp, span: stm.span });
    }
}

fn calls(stm: &Stm) -> bool {
    call(stm).is_some() || stm.exp.own_bodies().iter().any(|b| b.stms.iter().any(calls))
}
