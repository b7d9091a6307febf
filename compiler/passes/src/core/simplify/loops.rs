//! Sequential loops: state that never changes is no state.
//!
//! ```text
//! let (k: i64) (zs: [k]f32) =               let (zs: [n]f32) =
//!   loop (m = n, ys: [m]f32 = xs)     =>      loop (ys: [n]f32 = xs)
//!   for i < t { … in m ys' }                  for i < t { … in ys' }
//! ```
//!
//! A loop of no iterations is its initial state. A `while` whose state never changes keeps some of it: it may never end, which is
//! no reason to give a result.

use super::env::Env;
use par_ir::core::{Body, Exp, LoopForm, Param, Stm};
use par_ir::ty::{Atom, Type};

/// Simplifies a `loop`; its operands have been rewritten.
pub(super) fn simplify(env: &mut Env, stm: Stm, out: &mut Vec<Stm>) {
    let Exp::Loop { mut params, mut form, mut body } = stm.exp else { return };
    let (mut pat, span) = (stm.pat, stm.span);
    if matches!(form, LoopForm::For { bound, .. } if bound.as_i64().is_some_and(|n| n <= 0)) {
        for (p, (_, init)) in pat.into_iter().zip(params) {
            env.stm(Stm { pat: vec![p], exp: Exp::Atom(init), span }, out);
        }
        return;
    }
    let kept = usize::from(matches!(form, LoopForm::While(_)));
    drop_invariant(env, &mut pat, &mut params, &mut body, kept);
    let mark = env.enter();
    params.iter().for_each(|(p, _)| env.bind(p));
    enter_iteration(env, &mut form);
    env.body(&mut body);
    env.leave(mark);
    env.emit(Stm { pat, exp: Exp::Loop { params, form, body }, span }, out);
}

fn enter_iteration(env: &mut Env, form: &mut LoopForm) {
    match form {
        LoopForm::For { index, prim, bound } => {
            let index = Param { var: *index, ty: Type::scalar(*prim) };
            env.bind(&index);
            env.count_to(&index, *bound);
        }
        LoopForm::While(cond) => {
            let mark = env.enter();
            env.body(cond);
            env.leave(mark);
        }
    }
}

/// Replaces parameters whose next value is their own or the initial one, but for so many. Also rewrites the parameters'
/// types.
fn drop_invariant(
    env: &mut Env,
    pat: &mut Vec<Param>,
    params: &mut Vec<(Param, Atom)>,
    body: &mut Body,
    kept: usize,
) {
    let mut i = 0;
    while i < params.len() {
        let many = params.len() > kept;
        let (p, init) = &mut params[i];
        env.ty(&mut p.ty);
        env.ty(&mut pat[i].ty);
        let next = env.atom(body.results[i]);
        let stays = next == Atom::Var(p.var) || next == *init;
        if stays && many && env.has_type(*init, &p.ty) && env.has_type(*init, &pat[i].ty) {
            env.copy(p.var, *init);
            env.copy(pat[i].var, *init);
            params.remove(i);
            pat.remove(i);
            body.results.remove(i);
        } else {
            i += 1;
        }
    }
}
