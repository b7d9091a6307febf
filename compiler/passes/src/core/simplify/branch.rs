//! Branches: a decided condition leaves one arm, and what both arms agree on leaves the branch.
//!
//! ```text
//! let (k: i64) (ys: [k]f32) = if c            let (ys: [n]f32) = if c
//!   then { … in n as }                  =>      then { … in as }
//!   else { … in n bs }                          else { … in bs }
//! ```
//!
//! Scalar expressions that are common to both arms are hoisted, and a branch that only checks is merged with the next one on its condition. Inside the arms the condition is known. Arms that only choose between scalars become `select`, which for
//! bools is `and` or `or`. Under maps so do arms of a few short statements that can fail nowhere: `x > 0 || ys[i] > 0` reads `ys[i]` always.

use super::env::Env;
use super::range;
use par_ir::core::{Body, Exp, Param, Stm};
use par_ir::cost::{Time, time};
use par_ir::effects::Effects;
use par_ir::hash::HashSet;
use par_ir::prim::PrimOp;
use par_ir::tuning;
use par_ir::ty::{Atom, Dim, Elem, Var};
use par_ir::visit::{Code, Subst};
use par_runtime::{Scalar, Span};

/// Simplifies an `if`; its operands have been rewritten.
pub(super) fn simplify(env: &mut Env, stm: Stm, out: &mut Vec<Stm>) {
    let Exp::If { cond, then, other } = stm.exp else { return };
    let (pat, span) = (stm.pat, stm.span);
    match cond {
        Atom::Const(Scalar::Bool(true)) => inline(env, pat, then, span, out),
        Atom::Const(_) => inline(env, pat, other, span, out),
        Atom::Var(_) => branch(env, pat, cond, [then, other], span, out),
    }
}

/// The arm's statements in place of the branch.
fn inline(env: &mut Env, pat: Vec<Param>, arm: Body, span: Span, out: &mut Vec<Stm>) {
    env.stms(arm.stms, out);
    for (p, result) in pat.into_iter().zip(arm.results) {
        env.stm(Stm { pat: vec![p], exp: Exp::Atom(result), span }, out);
    }
}

fn branch(
    env: &mut Env,
    mut pat: Vec<Param>,
    cond: Atom,
    [mut then, mut other]: [Body; 2],
    span: Span,
    out: &mut Vec<Stm>,
) {
    absorb_checks(cond, [&mut then, &mut other], out);
    hoist_common(env, &mut then, &mut other, out);
    arm(env, cond, true, &mut then);
    arm(env, cond, false, &mut other);
    drop_common(env, &mut pat, &mut then, &mut other);
    if env.nest > 0
        && pat.iter().all(|p| p.ty.is_scalar())
        && [&then, &other].iter().all(|b| is_harmless(env, b))
    {
        env.stms(then.stms.drain(..).chain(other.stms.drain(..)).collect(), out);
    }
    if then.stms.is_empty() && other.stms.is_empty() && pat.iter().all(|p| p.ty.is_scalar()) {
        for ((p, a), b) in pat.into_iter().zip(then.results).zip(other.results) {
            let Elem::Prim(prim) = p.ty.elem else { continue };
            let exp = Exp::Prim(PrimOp::Select(prim), vec![cond, a, b]);
            env.stm(Stm { pat: vec![p], exp, span }, out);
        }
        return;
    }
    env.emit(Stm { pat, exp: Exp::If { cond, then, other }, span }, out);
}

fn arm(env: &mut Env, cond: Atom, value: bool, body: &mut Body) {
    let mark = env.enter();
    env.assume(cond, value);
    env.body(body);
    env.leave(mark);
}

/// True for a few short statements that may be done where they are not needed: they cannot fail, and read inside their arrays.
fn is_harmless(env: &Env, arm: &Body) -> bool {
    let reads = arm.stms.iter().filter(|s| matches!(s.exp, Exp::Index(..))).count();
    arm.stms.len() <= tuning::SPECULATED_STATEMENTS
        && reads <= tuning::SPECULATED_READS
        && arm.stms.iter().all(|s| match &s.exp {
            Exp::Prim(op, _) => time(*op) == Time::Short,
            Exp::Index(arr, indices) => s.pat[0].ty.is_scalar() && is_inside(env, *arr, indices),
            _ => false,
        })
}

fn is_inside(env: &Env, arr: Var, indices: &[Atom]) -> bool {
    let inside = |d: &Dim, i: Atom| match d {
        Dim::Size(n) => range::less(env, i, *n) == Some(true) && range::not_negative(env, i),
        Dim::Seg(_) => false,
    };
    env.type_of(arr).is_some_and(|ty| {
        !ty.is_desc()
            && ty.dims.len() == indices.len()
            && ty.dims.iter().zip(indices).all(|(d, i)| inside(d, env.atom(*i)))
    })
}

/// Merges a preceding branch on the same condition, which has no results, with this one. Nothing between them can fail or depends on its checks.
fn absorb_checks(cond: Atom, arms: [&mut Body; 2], out: &mut Vec<Stm>) {
    let is_arithmetic = |s: &&Stm| matches!(&s.exp, Exp::Prim(op, _) if !op.divides());
    let between = out.iter().rev().take_while(is_arithmetic).count();
    let Some(at) = out.len().checked_sub(between + 1) else { return };
    match &mut out[at] {
        Stm { exp: Exp::If { cond: before, then, other }, pat, .. } if *before == cond && pat.is_empty() => {
            for (arm, checks) in arms.into_iter().zip([then, other]) {
                arm.stms.splice(..0, std::mem::take(&mut checks.stms));
            }
            out.remove(at);
        }
        _ => {}
    }
}

/// Hoists scalar expressions that both arms evaluate before anything that may fail.
fn hoist_common(env: &mut Env, then: &mut Body, other: &mut Body, out: &mut Vec<Stm>) {
    let (mut at, mut bound) = (0, HashSet::default());
    while at < then.stms.len().min(tuning::COMMON_STATEMENTS) && !then.stms[at].has_effect() {
        let stm = &then.stms[at];
        let outside = is_scalar_code(stm) && stm.exp.free().iter().all(|v| !bound.contains(v));
        let before = other.stms.iter().take(tuning::COMMON_STATEMENTS).take_while(|s| !s.has_effect());
        let same = |s: &Stm| outside && is_scalar_code(s) && s.exp == stm.exp && s.pat[0].ty == stm.pat[0].ty;
        let Some(found) = before.into_iter().position(same) else {
            bound.extend(stm.pat.iter().map(|p| p.var));
            at += 1;
            continue;
        };
        let (stm, again) = (then.stms.remove(at), other.stms.remove(found));
        other.substitute(&Subst::from_iter([(again.pat[0].var, Atom::Var(stm.pat[0].var))]));
        env.stm(stm, out);
    }
}

/// True for an operator on scalars, or a read of one.
fn is_scalar_code(stm: &Stm) -> bool {
    matches!(stm.exp, Exp::Prim(..) | Exp::Index(..)) && stm.pat.len() == 1 && stm.pat[0].ty.is_scalar()
}

/// Results that are the same in both arms are copies.
fn drop_common(env: &mut Env, pat: &mut Vec<Param>, then: &mut Body, other: &mut Body) {
    let mut i = 0;
    while i < pat.len() {
        env.ty(&mut pat[i].ty);
        let (a, b) = (then.results[i], other.results[i]);
        if a == b && env.has_type(a, &pat[i].ty) {
            env.copy(pat[i].var, a);
            pat.remove(i);
            then.results.remove(i);
            other.results.remove(i);
        } else {
            i += 1;
        }
    }
}
