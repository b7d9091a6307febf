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
        let mut first = body.stms[at].clone();
        let depth = first.pat[pair.result].ty.rank() - 1;
        let Exp::Map { lam, .. } = &mut first.exp else { return None };
        let value = lam.body.results[pair.result];
        let alone = lam.body.results.iter().filter(|r| **r == value).count() == 1;
        if !alone || !make_nest(&mut lam.body, value, depth, fuser) {
            return None;
        }
        let parts = taken_out(&first, pair.result, fuser)?;
        Some((pair, parts))
    });
    let Some((pair, (rest, rows))) = found else { return false };
    fuser.register(&rest.pat);
    let array = rows.pat[0].var;
    body.stms[pair.first] = rest;
    put_element(&mut body.stms[pair.second].exp, array, &rows, fuser);
    true
}

fn pair(body: &Body, users: &Users, first: usize) -> Option<Pair> {
    let stm = &body.stms[first];
    let Exp::Map { lam, .. } = &stm.exp else { return None };
    let makes_rows = |i: usize, p: &Param| {
        let is_map = |s: &Stm| {
            matches!(s.exp, Exp::Map { .. }) && s.pat.iter().any(|q| lam.body.results[i] == q.var.into())
        };
        let fits = p.ty.rank() > 1 && p.ty.is_regular() && !users.is_result(p.var);
        fits && lam.body.stms.iter().any(is_map)
    };
    if lam.schedule != Schedule::Free {
        return None;
    }
    let mut rows = stm.pat.iter().enumerate().filter(|(i, p)| makes_rows(*i, p));
    rows.find_map(|(result, p)| {
        let mut after = users.after(p.var, first);
        let second = after.next()?;
        let once = after.next().is_none() && body.stms[second].uses_of(p.var) == 1;
        (once
            && reads_columns(&body.stms[second].exp, p.var, &mut Vec::new())
            && may_sink(body, first, second))
        .then_some(Pair { first, result, second })
    })
}

/// Sees to it that a value is made by so many maps inside each other of which all but the innermost do nothing else. False if that
/// cannot be.
fn make_nest(body: &mut Body, value: Atom, depth: usize, fuser: &mut Fuser) -> bool {
    let Some(at) = body.stms.iter().position(|s| s.pat.iter().any(|p| value == p.var.into())) else {
        return false;
    };
    if body.stms.iter().any(|s| value.var().is_some_and(|v| s.mentions(v))) {
        return false;
    }
    let stm = &mut body.stms[at];
    let Some(result) = stm.pat.iter().position(|p| value == p.var.into()) else { return false };
    let Exp::Map { lam, .. } = &mut stm.exp else { return false };
    if lam.schedule != Schedule::Free || !lam.params.iter().all(|p| p.ty.is_regular()) {
        return false;
    }
    let inner = lam.body.results[result];
    if depth > 1 && !make_nest(&mut lam.body, inner, depth - 1, fuser) {
        return false;
    }
    let makes = |s: &Stm| depth > 1 && s.pat.iter().any(|p| inner == p.var.into());
    if lam.body.stms.iter().all(|s| s.is_scalar() || makes(s)) {
        return !stm.has_effect();
    }
    if depth == 1 {
        return false;
    }
    let Some((rest, rows)) = taken_out(stm, result, fuser) else { return false };
    fuser.register(&rest.pat);
    let pure = !rows.has_effect();
    body.stms.splice(at..=at, [rest, rows]);
    pure
}

/// True for maps around a reduction that reads the array once, at an element for each of their rows.
fn reads_columns(exp: &Exp, array: Var, indices: &mut Vec<Atom>) -> bool {
    let (Exp::Map { inputs, lam, .. } | Exp::Reduce { inputs, lam, .. }) = exp else { return false };
    let different = |at: &[Atom], all: &[Atom]| {
        at.iter().enumerate().all(|(i, a)| !at[..i].contains(a) && all.contains(a))
    };
    if let (Exp::Reduce { .. }, Some(i)) = (exp, inputs.iter().position(|v| *v == array)) {
        let row = lam.params[i].var;
        let Some(stm) = lam.body.stms.iter().find(|s| s.mentions(row)) else { return false };
        let once = lam.body.uses_of(row) == 1 && !lam.body.results.contains(&row.into());
        return once
            && matches!(&stm.exp, Exp::Index(v, at) if *v == row && different(at, indices))
            && stm.pat[0].ty.is_scalar();
    }
    indices.extend(lam.params.iter().map(|p| Atom::Var(p.var)));
    let Some(stm) = lam.body.stms.iter().find(|s| s.mentions(array)) else { return false };
    match (&stm.exp, exp) {
        (Exp::Index(_, at), Exp::Reduce { .. }) => {
            let own = lam.params.iter().any(|p| at[0] == p.var.into());
            own && different(at, indices) && stm.pat[0].ty.is_scalar()
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
fn put_element(exp: &mut Exp, array: Var, rows: &Stm, fuser: &mut Fuser) {
    let (Exp::Map { inputs, lam, .. } | Exp::Reduce { inputs, lam, .. }) = exp else { return };
    let mut stms = Vec::new();
    if let Some(i) = inputs.iter().position(|v| *v == array) {
        // Its rows are inputs: the rows of what they are made of take their place.
        let Exp::Map { inputs: sources, lam: made, .. } = &rows.exp else { return };
        let Lambda { params, body: mut made, .. } = made.refreshed(fuser.vars);
        let row = lam.params.remove(i).var;
        inputs.remove(i);
        inputs.extend(sources);
        fuser.register(&params);
        lam.params.extend(params);
        let (Some(nest), Some(at)) = (made.stms.pop(), lam.body.stms.iter().position(|s| s.mentions(row)))
        else {
            return;
        };
        let Exp::Index(_, indices) = lam.body.stms[at].exp.clone() else { return };
        let value = element(&nest, made.results[0], &indices, &mut stms, fuser);
        replace(&mut lam.body, at, value, stms, fuser);
        return;
    }
    let Some(at) = lam.body.stms.iter().position(|s| s.mentions(array)) else { return };
    let Exp::Index(_, indices) = &lam.body.stms[at].exp else {
        return put_element(&mut lam.body.stms[at].exp, array, rows, fuser);
    };
    let value = element(rows, array.into(), &indices.clone(), &mut stms, fuser);
    replace(&mut lam.body, at, value, stms, fuser);
}

/// Puts statements and their value in the place of a read.
fn replace(body: &mut Body, at: usize, value: Atom, stms: Vec<Stm>, fuser: &mut Fuser) {
    fuser.register(stms.iter().flat_map(|s| &s.pat));
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
