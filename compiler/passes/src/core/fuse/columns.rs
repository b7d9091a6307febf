//! Rows of which only sums over columns are used: what they are made of is kept, and an element is computed where it is read.
//!
//! ```text
//! let (rss: [n][m]f32) = map n xss (\xs -> let t = … in map m xs (\x -> mul.f32 x t))
//! let ys = map m is (\j -> reduce add.f32 0 n is (\i -> rss[i, j]))
//!
//! let (ts: [n]f32) = map n xss (\xs -> … t)
//! let ys = map m is (\j -> reduce add.f32 0 n is (\i -> let xs = xss[i]  let t = ts[i]  let x = xs[j]  in mul.f32 x t))
//! ```
//!
//! Every element is read once, so nothing is computed twice. Irregular arrays stay as they are.

use super::users::Users;
use super::{Fuser, may_sink};
use par_ir::core::{Body, Exp, Lambda, Param, Schedule, Stm};
use par_ir::effects::Effects;
use par_ir::ty::{Atom, Dim, Var};
use par_ir::visit::Code;

/// Two maps: the first makes rows, the second reads columns.
struct Pair {
    first: usize,
    /// The rows, among what the first makes.
    result: usize,
    second: usize,
}

/// Changes one such pair of a body. Says whether there was one.
pub(super) fn sweep(body: &mut Body, fuser: &mut Fuser) -> bool {
    let users = Users::of(body);
    let found = (0..body.stms.len()).find_map(|at| {
        let pair = pair(body, &users, at)?;
        let parts = taken_out(&body.stms[at], pair.result, fuser)?;
        Some((pair, parts))
    });
    let Some((pair, (rest, rows))) = found else { return false };
    fuser.register(&rest.pat);
    let array = rows.pat[0].var;
    body.stms[pair.first] = rest;
    let mut reader = body.stms[pair.second].exp.clone();
    reader.for_each_body_mut(|b| put_element(b, array, &rows, fuser));
    body.stms[pair.second].exp = reader;
    true
}

fn pair(body: &Body, users: &Users, first: usize) -> Option<Pair> {
    let stm = &body.stms[first];
    let Exp::Map { lam, .. } = &stm.exp else { return None };
    let result = stm.pat.iter().enumerate().position(|(i, p)| {
        let fits = p.ty.rank() > 1 && p.ty.is_regular() && !users.is_result(p.var);
        fits && is_nest(&lam.body, lam.body.results[i], p.ty.rank() - 1)
    })?;
    let array = stm.pat[result].var;
    let mut after = users.after(array, first);
    let second = after.next()?;
    let once = after.next().is_none() && body.stms[second].uses_of(array) == 1;
    let free = lam.schedule == Schedule::Free && once;
    (free && reads_columns(&body.stms[second].exp, array, &mut Vec::new()) && may_sink(body, first, second))
        .then_some(Pair { first, result, second })
}

/// True for a result that only so many maps inside each other make, of scalar code.
fn is_nest(body: &Body, a: Atom, depth: usize) -> bool {
    let Some(stm) = body.stms.iter().find(|s| s.pat.iter().any(|p| a == p.var.into())) else { return false };
    let Exp::Map { lam, .. } = &stm.exp else { return false };
    let Some(result) = stm.pat.iter().position(|p| a == p.var.into()).map(|i| lam.body.results[i]) else {
        return false;
    };
    let binds = |s: &Stm| s.pat.iter().any(|p| result == p.var.into());
    let others_are_scalar = |nested: bool| lam.body.stms.iter().all(|s| s.is_scalar() || nested && binds(s));
    let uses = body.stms.iter().any(|s| a.var().is_some_and(|v| s.mentions(v)));
    let results = body.results.iter().filter(|r| **r == a).count();
    let alone = !uses && results <= 1;
    let plain = lam.schedule == Schedule::Free && !stm.has_effect() && lam.params.iter().all(|p| p.ty.is_regular());
    alone
        && plain
        && match depth {
            1 => others_are_scalar(false),
            _ => others_are_scalar(true) && is_nest(&lam.body, result, depth - 1),
        }
}

/// True for maps around a reduction that reads the array once, at an element for each of their rows.
fn reads_columns(exp: &Exp, array: Var, indices: &mut Vec<Atom>) -> bool {
    let (Exp::Map { lam, .. } | Exp::Reduce { lam, .. }) = exp else { return false };
    indices.extend(lam.params.iter().map(|p| Atom::Var(p.var)));
    let Some(stm) = lam.body.stms.iter().find(|s| s.mentions(array)) else { return false };
    match (&stm.exp, exp) {
        (Exp::Index(_, at), Exp::Reduce { .. }) => {
            let own = lam.params.iter().any(|p| at[0] == p.var.into());
            let different = at.iter().enumerate().all(|(i, a)| !at[..i].contains(a) && indices.contains(a));
            own && different && stm.pat[0].ty.is_scalar()
        }
        (inner, Exp::Map { .. }) => reads_columns(inner, array, indices),
        _ => false,
    }
}

/// A map without one of its results, and that result as a map of its own, over what it needs.
fn taken_out(stm: &Stm, result: usize, fuser: &mut Fuser) -> Option<(Stm, Stm)> {
    let Exp::Map { width, inputs, lam } = &stm.exp else { return None };
    let mut rest = lam.clone();
    let mut rest_pat = stm.pat.clone();
    let made = rest_pat.remove(result);
    let value = rest.body.results.remove(result);
    let ret = rest.ret.remove(result);
    let at = rest.body.stms.iter().position(|s| s.pat.iter().any(|p| value == p.var.into()))?;
    let mut nest = rest.body.stms[at].clone();
    let kept = nest.pat.iter().position(|p| value == p.var.into())?;
    if nest.pat.len() > 1 {
        // Its other results stay.
        let Exp::Map { lam: inner, .. } = &mut rest.body.stms[at].exp else { return None };
        inner.body.results.remove(kept);
        inner.ret.remove(kept);
        rest.body.stms[at].pat.remove(kept);
        nest = nest.refreshed(fuser.vars);
        let Exp::Map { lam: inner, .. } = &mut nest.exp else { return None };
        inner.body.results = vec![inner.body.results[kept]];
        inner.ret = vec![inner.ret[kept].clone()];
        nest.pat = vec![nest.pat[kept].clone()];
    } else {
        rest.body.stms.remove(at);
    }
    let local: Vec<Var> = lam.params.iter().map(|p| p.var).chain(lam.body.bound()).collect();
    let (mut arrays, mut params) = (Vec::new(), Vec::new());
    for v in nest.free().into_iter().filter(|v| local.contains(v)) {
        let ty = fuser.types.get(&v)?.clone();
        let outside = |d: &Dim| matches!(d, Dim::Size(a) if a.var().is_none_or(|v| !local.contains(&v)));
        if ty.is_desc() || !ty.dims.iter().all(outside) {
            return None;
        }
        arrays.push(match lam.params.iter().position(|p| p.var == v) {
            Some(i) => inputs[i],
            None => {
                let mut outer = ty.clone();
                outer.dims.insert(0, Dim::Size(*width));
                let outer = Param { var: fuser.vars.fresh_like(v), ty: outer };
                rest.body.results.push(v.into());
                rest.ret.push(ty.clone());
                rest_pat.push(outer.clone());
                outer.var
            }
        });
        params.push(Param { var: v, ty });
    }
    let results = vec![nest.pat[0].var.into()];
    let body = Body { stms: vec![nest], results };
    let rows = Lambda { params, body, ret: vec![ret], schedule: Schedule::Free };
    let rows = Exp::Map { width: *width, inputs: arrays, lam: rows };
    let rest = Exp::Map { width: *width, inputs: inputs.clone(), lam: rest };
    Some((
        Stm { pat: rest_pat, exp: rest, span: stm.span },
        Stm { pat: vec![made], exp: rows, span: stm.span },
    ))
}

/// Puts the element of the maps `rows` in the place of the read of it.
fn put_element(body: &mut Body, array: Var, rows: &Stm, fuser: &mut Fuser) {
    let Some(at) = body.stms.iter().position(|s| s.mentions(array)) else { return };
    let Exp::Index(_, indices) = &body.stms[at].exp else {
        body.stms[at].exp.for_each_body_mut(|b| put_element(b, array, rows, fuser));
        return;
    };
    let (indices, mut stms) = (indices.clone(), Vec::new());
    let value = element(rows, array.into(), &indices, &mut stms, fuser);
    fuser.register(stms.iter().flat_map(|s: &Stm| &s.pat));
    body.stms[at].exp = Exp::Atom(value);
    body.stms.splice(at..at, stms);
}

/// The statements that compute an element of maps inside each other, and the element.
fn element(nest: &Stm, array: Atom, indices: &[Atom], stms: &mut Vec<Stm>, fuser: &mut Fuser) -> Atom {
    let (Exp::Map { inputs, lam, .. }, Some((first, rest))) = (&nest.exp, indices.split_first()) else {
        return array;
    };
    let result = nest.pat.iter().position(|p| array == p.var.into()).unwrap_or(0);
    let Lambda { params, body, .. } = lam.refreshed(fuser.vars);
    let read = |(p, input): (Param, &Var)| Stm {
        pat: vec![p],
        exp: Exp::Index(*input, vec![*first]),
        span: nest.span,
    };
    stms.extend(params.into_iter().zip(inputs).map(read));
    let value = body.results[result];
    let mut inner = None;
    for s in body.stms {
        if s.pat.iter().any(|p| value == p.var.into()) && !rest.is_empty() {
            inner = Some(s);
        } else {
            stms.push(s);
        }
    }
    match inner {
        Some(inner) => element(&inner, value, rest, stms, fuser),
        None => value,
    }
}
