//! Proofs of bounds: which comparisons hold because of where an index comes from.
//!
//! ```text
//! let is = iota n
//! map (\i ->                          map (\i ->
//!   let a = le.i64 0 i                  let x = xs[i]
//!   let b = lt.i64 i n          =>      … ) is
//!   let c = and.bool a b
//!   check c bounds i n
//!   let x = xs[i] … ) is
//! ```
//!
//! Known are: the index of a `for`, the elements of an `iota`, remainders (each with its exclusive upper bound)
//! and that sizes are not negative.

use super::env::Env;
use par_ir::core::Exp;
use par_ir::prim::{BinOp, PrimOp};
use par_ir::ty::{Atom, Var};
use par_runtime::Scalar;

/// Whether `x < y`, if it is certain (both of one integer type).
pub(super) fn less(env: &Env, x: Atom, y: Atom) -> Option<bool> {
    if surely_below(env, x, y) {
        return Some(true);
    }
    at_most(env, y, x).then_some(false)
}

fn surely_below(env: &Env, x: Atom, y: Atom) -> bool {
    env.uppers(x).iter().any(|&u| u == y || le_constants(u, y))
        || remainder_of(env, x).is_some_and(|n| n == y || le_constants(n, y))
        || successor_of(env, y).is_some_and(|i| has_upper(env, i) && at_most(env, x, i))
        || negative(x) && not_negative(env, y)
}

/// `x <= y` for certain.
fn at_most(env: &Env, x: Atom, y: Atom) -> bool {
    x == y
        || surely_below(env, x, y)
        || not_negative(env, y) && !positive(x) && constant(x).is_some()
        || successor_of(env, x).is_some_and(|i| surely_below(env, i, y))
}

/// `0 <= a` for certain.
pub(super) fn not_negative(env: &Env, a: Atom) -> bool {
    match a {
        Atom::Const(c) => !negative(Atom::Const(c)),
        Atom::Var(v) => {
            env.is_size(v)
                || has_upper(env, a)
                || remainder_of(env, a).is_some()
                || successor_of(env, a).is_some_and(|i| has_upper(env, i))
                || quotient(env, v)
        }
    }
}

fn has_upper(env: &Env, a: Atom) -> bool {
    !env.uppers(a).is_empty()
}

/// `i` if `a` is `i + 1`. No overflow if something bounds `i`.
fn successor_of(env: &Env, a: Atom) -> Option<Atom> {
    match env.def_of(a) {
        Some(Exp::Prim(PrimOp::Bin(BinOp::Add, _), xy)) if xy[1].as_i64() == Some(1) => Some(xy[0]),
        _ => None,
    }
}

/// `n` if `a` is `x mod n` with `n` not negative: division has established that `n` is not zero.
fn remainder_of(env: &Env, a: Atom) -> Option<Atom> {
    match env.def_of(a) {
        Some(Exp::Prim(PrimOp::Bin(BinOp::Mod, p), xy)) if p.is_integer() => {
            let known = match xy[1] {
                Atom::Const(_) => positive(xy[1]),
                Atom::Var(n) => env.is_size(n),
            };
            known.then_some(xy[1])
        }
        _ => None,
    }
}

/// `v` is a size or index divided by a positive constant.
fn quotient(env: &Env, v: Var) -> bool {
    match env.def(v) {
        Some(Exp::Prim(PrimOp::Bin(BinOp::Div | BinOp::Quot, p), xy)) if p.is_integer() => {
            positive(xy[1]) && not_negative(env, xy[0])
        }
        _ => false,
    }
}

fn constant(a: Atom) -> Option<i128> {
    match a {
        Atom::Const(Scalar::U64(x)) => Some(i128::from(x)),
        Atom::Const(c) => c.as_i64().map(i128::from),
        Atom::Var(_) => None,
    }
}

fn le_constants(x: Atom, y: Atom) -> bool {
    matches!((constant(x), constant(y)), (Some(x), Some(y)) if x <= y)
}

fn negative(a: Atom) -> bool {
    constant(a).is_some_and(|x| x < 0)
}

fn positive(a: Atom) -> bool {
    constant(a).is_some_and(|x| x > 0)
}
