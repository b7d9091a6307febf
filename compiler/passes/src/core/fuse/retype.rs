//! Changes of type move from a map's results to its inputs, so that they do not stand between producer and
//! consumer.
//!
//! ```text
//! let ys: [k]f32 = map k xs f             check (k == n) …
//! check (k == n) …                  =>    let xs': [n]f32 = xs
//! let zs: [n]f32 = ys                     let zs: [n]f32 = map n xs' f
//! ```
//!
//! The map gets the width that the others have with which it will be fused.

use super::users::Users;
use super::{Fuser, may_sink};
use par_ir::core::{Body, Exp, Param, Stm};
use par_ir::ty::{Atom, Dim, Var};
use par_ir::visit::{Code, Subst};

/// Moves the change of type of every map's results, from the bottom up.
pub(super) fn sweep(body: &mut Body, fuser: &mut Fuser) -> bool {
    let mut changed = false;
    let mut users = Users::of(body);
    for first in (0..body.stms.len()).rev() {
        let Some((width, pat)) = retyped(body, &users, first) else { continue };
        let Some(at) = users.first_user(body, first) else { continue };
        if may_sink(body, first, at) {
            rewrite(body, first, at, width, pat, fuser);
            users = Users::of(body);
            changed = true;
        }
    }
    changed
}

/// The common new width and the retyped results, if changing their width is all that happens to the map's results.
fn retyped(body: &Body, users: &Users, map: usize) -> Option<(Atom, Vec<Param>)> {
    let stm = &body.stms[map];
    let Exp::Map { .. } = stm.exp else { return None };
    let pat: Vec<Param> = stm.pat.iter().map(|p| only_retyped(body, users, map, p)).collect::<Option<_>>()?;
    let widths: Vec<Dim> = pat.iter().filter_map(|p| p.ty.dims.first().copied()).collect();
    match widths.first() {
        Some(Dim::Size(n)) if widths.iter().all(|w| *w == Dim::Size(*n)) => Some((*n, pat)),
        _ => None,
    }
}

/// Name of `p` after its change of type, if that is its only use and its rows stay as they are.
fn only_retyped(body: &Body, users: &Users, map: usize, p: &Param) -> Option<Param> {
    let mut after = users.after(p.var, map);
    let user = &body.stms[after.next()?];
    let alone = after.next().is_none() && !users.is_result(p.var);
    let [q] = user.pat.as_slice() else { return None };
    let rows = q.ty.dims.get(1..) == p.ty.dims.get(1..) && !p.ty.is_desc();
    (alone && rows && user.exp == Exp::Atom(p.var.into())).then(|| q.clone())
}

fn rewrite(body: &mut Body, map: usize, at: usize, width: Atom, pat: Vec<Param>, fuser: &mut Fuser) {
    let mut stm = body.stms[map].clone();
    let Exp::Map { width: old, inputs, .. } = &mut stm.exp else { return };
    *old = width;
    let mut stms = Vec::new();
    let mut renamed = Subst::default();
    for input in inputs {
        let original = *input;
        *input = fuser.vars.fresh_like(original);
        let p = Param { var: *input, ty: fuser.at_width(original, width).substituted(&renamed) };
        renamed.insert(original, Atom::Var(p.var));
        fuser.types.insert(p.var, p.ty.clone());
        stms.push(Stm { pat: vec![p], exp: Exp::Atom(original.into()), span: stm.span });
    }
    let results: Vec<Var> = stm.pat.iter().map(|p| p.var).collect();
    stm.pat = pat;
    stms.push(stm);
    let is_retype = |s: &Stm| matches!(s.exp, Exp::Atom(Atom::Var(v)) if results.contains(&v));
    let after: Vec<Stm> = body.stms.drain(at..).filter(|s| !is_retype(s)).collect();
    body.stms.remove(map);
    body.stms.extend(stms.into_iter().chain(after));
}
