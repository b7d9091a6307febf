//! Parallel operators: inputs that need not be read, results that need not be computed row by row.
//!
//! ```text
//! let ys = replicate n x                      let ks = lengths s
//! let (ks: [n]i64) (zs: [n]f32) =
//!   map n s xs ys (\k a b ->            =>    let (zs: [n]f32) =
//!     let c = add.f32 a b                       map n xs (\a -> let c = add.f32 a x in c)
//!     in k c)
//! ```
//!
//! Cheap functions of positions (`map (+ k) (iota n)`) are rematerialised where they are inputs.
//!
//! Inside the lambda an element of `iota n` is known to lie in `[0, n)`, a row length not to be negative, and the number of rows not to be 0.

use super::env::Env;
use super::gather;
use crate::core::views::View;
use par_ir::Prim;
use par_ir::core::{Body, Exp, Lambda, Param, Schedule, Stm};
use par_ir::cost::is_short_arithmetic;
use par_ir::hash::HashSet;
use par_ir::prim::{BinOp, CmpOp, PrimOp};
use par_ir::tuning;
use par_ir::ty::{Atom, Dim, Elem, Type, Var};
use par_ir::visit::{Code, Subst};
use par_runtime::Span;

/// Simplifies a parallel operator; its operands have been rewritten.
pub(super) fn simplify(env: &mut Env, mut stm: Stm, out: &mut Vec<Stm>) {
    let span = stm.span;
    match &mut stm.exp {
        Exp::Map { width, inputs, lam } => {
            rows(env, *width, inputs, lam, span);
            if stm.pat.is_empty() && inputs.is_empty() && lam.body.stms.iter().all(is_check) {
                return checks(env, *width, std::mem::take(&mut lam.body), span, out);
            }
            if lam.schedule != Schedule::Opaque {
                extract(env, *width, inputs, lam, &mut stm.pat, span, out);
            }
        }
        Exp::Filter { width, inputs, lam } => {
            rows(env, *width, inputs, lam, span);
            stm.pat.first().into_iter().for_each(|k| env.assume_size(k.var));
            if stm.pat.len() == 1 {
                stm.exp = count(env, *width, std::mem::take(inputs), lam.clone(), span);
            }
        }
        Exp::Scatter { width, inputs, lam, .. } => rows(env, *width, inputs, lam, span),
        Exp::Reduce { width, inputs, lam, op, .. }
        | Exp::Scan { width, inputs, lam, op, .. }
        | Exp::Hist { width, inputs, lam, op, .. } => {
            rows(env, *width, inputs, lam, span);
            lambda(env, op);
            if let Some(s) = sum_of_lengths(env, &stm.exp) {
                stm.exp = Exp::Total(s);
            }
        }
        _ => {}
    }
    if view(env, &stm.exp).is_some() || counted(env, &stm.exp).is_some() {
        env.define(stm.pat[0].var, &stm.exp);
    }
    env.emit(stm, out);
}

/// True for a check, and for scalar code.
fn is_check(stm: &Stm) -> bool {
    let is_read = matches!(stm.exp, Exp::Prim(..) | Exp::Index(..) | Exp::Atom(_));
    matches!(stm.exp, Exp::Check { .. }) || is_read && stm.pat.iter().all(|p| p.ty.is_scalar())
}

/// Checks that are invariant in a map, hoisted behind a test that it has rows.
fn checks(env: &mut Env, width: Atom, body: Body, span: Span, out: &mut Vec<Stm>) {
    let some = Param { var: env.vars.fresh("some"), ty: Type::BOOL };
    let cond = some.var.into();
    let exp = Exp::Prim(PrimOp::Cmp(CmpOp::Lt, Prim::I64), vec![Atom::i64(0), width]);
    env.stm(Stm { pat: vec![some], exp, span }, out);
    env.stm(Stm { pat: vec![], exp: Exp::If { cond, then: body, other: Body::default() }, span }, out);
}

/// The iota and the lambda of an array that is a cheap function of positions.
fn counted<'e>(env: &Env, exp: &'e Exp) -> Option<(Var, &'e Lambda)> {
    let Exp::Map { inputs, lam, .. } = exp else { return None };
    let [positions] = inputs.as_slice() else { return None };
    let is_cheap = is_short_arithmetic(&lam.body.stms, tuning::FREE_OPERATORS);
    let one = lam.body.results.len() == 1 && lam.schedule == Schedule::Free;
    let counts = matches!(env.def(*positions), Some(Exp::Iota(_)));
    (is_cheap && one && counts).then_some((*positions, lam))
}

/// Rematerialises the elements of an input from positions. Not lengths of rows, which types mention.
fn rematerialise(env: &mut Env, i: usize, inputs: &mut [Var], lam: &mut Lambda, span: Span) {
    let v = lam.params[i].var;
    if lam.params.iter().map(|p| &p.ty).chain(&lam.ret).any(|ty| ty.mentions(v)) {
        return;
    }
    let Some(made) = env.def(inputs[i]).cloned() else { return };
    let Some((positions, made)) = counted(env, &made) else { return };
    let position = Param { var: env.vars.fresh_like(made.params[0].var), ty: Type::I64 };
    let mut subst = Subst::from_iter([(made.params[0].var, Atom::Var(position.var))]);
    let mut stms = made.body.stms.refreshed_with(env.vars, &mut subst);
    let result = made.body.results[0].substituted(&subst);
    inputs[i] = positions;
    let element = std::mem::replace(&mut lam.params[i], position);
    stms.push(Stm { pat: vec![element], exp: Exp::Atom(result), span });
    lam.body.stms.splice(..0, stms);
}

/// The array that one in another order of its dimensions shows.
pub(super) fn view(env: &Env, exp: &Exp) -> Option<View> {
    View::of(exp, &|v| matches!(env.def(v), Some(Exp::Iota(_))))
}

/// The descriptor the lengths of whose rows are added up.
fn sum_of_lengths(env: &Env, exp: &Exp) -> Option<Var> {
    let Exp::Reduce { inputs, lam, op, neutral, .. } = exp else { return None };
    let ([input], [p], [sum]) = (inputs.as_slice(), lam.params.as_slice(), op.body.stms.as_slice()) else {
        return None;
    };
    let is_itself = lam.body.stms.is_empty() && lam.body.results == [Atom::Var(p.var)] && p.ty.is_scalar();
    let adds = matches!(&sum.exp, Exp::Prim(PrimOp::Bin(BinOp::Add, Prim::I64), xs) if xs.iter().zip(&op.params).all(|(x, p)| *x == Atom::Var(p.var)));
    let result = op.body.results == [Atom::Var(sum.pat[0].var)] && *neutral == [Atom::i64(0)];
    let desc = match env.def(*input) {
        Some(Exp::Lengths(s)) => *s,
        _ => *input,
    };
    let is_desc = env.type_of(desc).is_some_and(|t| t.is_desc() && t.rank() == 1);
    (is_itself && adds && result && is_desc).then_some(desc)
}

/// The number of elements that a filter keeps, where nothing uses them.
fn count(env: &mut Env, width: Atom, inputs: Vec<Var>, mut lam: Lambda, span: Span) -> Exp {
    let flag = env.vars.fresh("kept");
    let one = Exp::Prim(PrimOp::Conv(Prim::Bool, Prim::I64), vec![lam.body.results[0]]);
    let pat = vec![Param { var: flag, ty: Type::scalar(Prim::I64) }];
    lam.body.stms.push(Stm { pat, exp: one, span });
    (lam.body.results, lam.ret) = (vec![flag.into()], vec![Type::scalar(Prim::I64)]);
    let op = Lambda::of_operator(BinOp::Add, Prim::I64, span, env.vars);
    Exp::Reduce { width, inputs, lam, op, neutral: vec![Atom::i64(0)] }
}

/// A lambda over rows of `inputs`.
fn rows(env: &mut Env, width: Atom, inputs: &mut Vec<Var>, lam: &mut Lambda, span: Span) {
    gather::simplify(env, width, inputs, lam);
    let mark = env.enter();
    env.assume_some(width);
    let mut i = 0;
    while i < inputs.len() {
        if lam.schedule == Schedule::Free {
            rematerialise(env, i, inputs, lam, span);
        }
        env.ty(&mut lam.params[i].ty);
        let p = &lam.params[i];
        match known_row(env, i, inputs, lam) {
            Some(row) => {
                env.copy(p.var, row);
                inputs.remove(i);
                lam.params.remove(i);
            }
            None => {
                row_range(env, inputs[i], p);
                i += 1;
            }
        }
    }
    lambda(env, lam);
    env.leave(mark);
}

/// The row of input `i`, if it is at hand: an equal input comes before, or all rows are the same.
fn known_row(env: &Env, i: usize, inputs: &[Var], lam: &Lambda) -> Option<Atom> {
    let p = &lam.params[i];
    if let Some(j) = inputs[..i].iter().position(|&v| v == inputs[i])
        && lam.params[j].ty == p.ty
    {
        return Some(Atom::Var(lam.params[j].var));
    }
    match env.def(inputs[i]) {
        Some(Exp::Replicate(_, row)) if env.has_type(*row, &p.ty) => Some(*row),
        _ => None,
    }
}

fn row_range(env: &mut Env, input: Var, p: &Param) {
    if let Some(&Exp::Iota(n)) = env.def(input) {
        env.count_below(p, n);
    }
    if p.ty.is_scalar() && env.type_of(input).is_some_and(Type::is_desc) {
        env.assume_size(p.var);
    }
}

fn lambda(env: &mut Env, lam: &mut Lambda) {
    let mark = env.enter();
    for p in &mut lam.params {
        env.ty(&mut p.ty);
        env.bind(p);
    }
    env.nest += 1;
    env.body(&mut lam.body);
    env.nest -= 1;
    lam.ret.iter_mut().for_each(|t| env.ty(t));
    env.leave(mark);
}

/// Takes results out of a map that are an input as it is or the same scalar for every row.
fn extract(
    env: &mut Env,
    width: Atom,
    inputs: &[Var],
    lam: &mut Lambda,
    pat: &mut Vec<Param>,
    span: Span,
    out: &mut Vec<Stm>,
) {
    let mut inside: HashSet<Var> = lam.body.stms.iter().flat_map(|s| &s.pat).map(|p| p.var).collect();
    inside.extend(lam.params.iter().map(|p| p.var));
    let mut kept: HashSet<Var> = HashSet::default();
    let mut i = 0;
    while i < pat.len() {
        env.ty(&mut pat[i].ty);
        let p = pat[i].clone();
        let result = lam.body.results[i];
        let row = lam.params.iter().position(|q| result == Atom::Var(q.var)).map(|j| inputs[j]);
        let free = result.var().is_none_or(|v| !inside.contains(&v));
        let done = !mentions(&p.ty, &kept)
            && match row {
                Some(input) => whole_input(env, &p, input, span, out),
                None => free && same_for_all(env, &p, width, result, span, out),
            };
        if done {
            pat.remove(i);
            lam.body.results.remove(i);
            lam.ret.remove(i);
        } else {
            kept.insert(p.var);
            i += 1;
        }
    }
}

fn mentions(ty: &Type, vars: &HashSet<Var>) -> bool {
    ty.dims.iter().any(|d| match d {
        Dim::Size(Atom::Var(v)) | Dim::Seg(v) => vars.contains(v),
        Dim::Size(Atom::Const(_)) => false,
    })
}

/// `p` holds the rows of `input`, unchanged.
fn whole_input(env: &mut Env, p: &Param, input: Var, span: Span, out: &mut Vec<Stm>) -> bool {
    let Some(ty) = env.type_of(input) else { return false };
    if *ty == p.ty {
        env.copy(p.var, Atom::Var(input));
        return true;
    }
    if ty.dims != p.ty.dims {
        return false;
    }
    let exp = match (ty.elem, p.ty.elem) {
        (Elem::Desc, Elem::Prim(_)) => Exp::Lengths(input),
        (Elem::Prim(_), Elem::Desc) => Exp::MakeDesc(input),
        _ => return false,
    };
    env.stm(Stm { pat: vec![p.clone()], exp, span }, out);
    true
}

/// `p` holds `width` times the scalar `x` (as a descriptor: that length).
fn same_for_all(env: &mut Env, p: &Param, width: Atom, x: Atom, span: Span, out: &mut Vec<Stm>) -> bool {
    if p.ty.dims != [Dim::Size(width)] || !env.has_type(x, &Type::scalar(p.ty.prim())) {
        return false;
    }
    let replicate = Exp::Replicate(width, x);
    if !p.ty.is_desc() {
        env.stm(Stm { pat: vec![p.clone()], exp: replicate, span }, out);
        return true;
    }
    let lens = Param { var: env.vars.fresh("lens"), ty: Type::array(p.ty.dims.clone(), p.ty.prim()) };
    let exp = Exp::MakeDesc(env.var(lens.var));
    env.stm(Stm { pat: vec![lens], exp: replicate, span }, out);
    env.stm(Stm { pat: vec![p.clone()], exp, span }, out);
    true
}
