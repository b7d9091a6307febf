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
//! Known are: the index of a `for`, the elements of an `iota`, remainders (each with its exclusive upper bound),
//! these shifted by constants (`is[i + 1]` for `i < n - 1`, or of `n + 1` elements for `i < n`) or counted from the last one (`n - 1 - i`), ranges (`i + t` for `i < n - t`), that sizes are not negative, and what comparisons with
//! constants have told (`i - 1` where `i` is not 0), counters with a constant added (`i + 2` is not 0), digits (`x & 255`), numbers that were narrower before, the larger and the smaller of two of these (`max 0 (i - 1)`), and choices
//! between two.

use super::env::Env;
use par_ir::access::Interval;
use par_ir::core::Exp;
use par_ir::prim::{BinOp, CmpOp, PrimOp};
use par_ir::ty::{Atom, Var};
use par_runtime::Scalar;

/// True if `x < y`, if it is certain (both of one integer type).
pub(super) fn less(env: &Env, x: Atom, y: Atom) -> Option<bool> {
    if surely_below(env, x, y) {
        return Some(true);
    }
    at_most(env, y, x).then_some(false)
}

/// True if `x` is not `y`, for certain: one is below the other, or they are sums of the same number and
/// small constants, which differ in integers of any width.
pub(super) fn differ(env: &Env, x: Atom, y: Atom) -> bool {
    let ((i, c), (j, d)) = (offset(env, x), offset(env, y));
    i == j && (1..128).contains(&(c - d).abs()) || surely_below(env, x, y) || surely_below(env, y, x)
}

fn surely_below(env: &Env, x: Atom, y: Atom) -> bool {
    all_below(env, x, y, DEPTH)
}

/// As `surely_below`; of the larger of two numbers both are, of the smaller one is.
fn all_below(env: &Env, x: Atom, y: Atom, depth: usize) -> bool {
    let one = |x: &Atom| all_below(env, *x, y, depth - 1);
    is_below(env, x, y)
        || match extremum(env, x).filter(|_| depth > 0) {
            Some((BinOp::Max, xy)) => xy.iter().all(one),
            Some((_, xy)) => xy.iter().any(one),
            None => false,
        }
}

/// The operands of which a number is the larger one, or the smaller one.
fn extremum<'e>(env: &'e Env, a: Atom) -> Option<(BinOp, &'e [Atom])> {
    match env.def_of(a) {
        Some(Exp::Prim(PrimOp::Bin(op @ (BinOp::Max | BinOp::Min), p), xy)) if p.is_integer() => {
            Some((*op, xy))
        }
        _ => None,
    }
}

fn is_below(env: &Env, x: Atom, y: Atom) -> bool {
    let (i, c) = offset(env, x);
    env.uppers(i).iter().any(|&u| reaches(env, u, c, y))
        || remainder_of(env, x).is_some_and(|n| n == y || le_constants(n, y))
        || end_of_range(env, x).is_some_and(|n| n == y)
        || counted_back(env, x).is_some_and(|n| n == y)
        || successor_of(env, y).is_some_and(|i| has_upper(env, i) && at_most(env, x, i))
        || negative(x) && not_negative(env, y)
        || c < 0 && i == y && not_negative(env, i)
        || matches!((largest(env, x), constant(y)), (Some(largest), Some(y)) if largest < y)
        || matches!((constant(x), lower(env, y)), (Some(x), Some(least)) if x < least)
}

/// Upper bound of `a`, which is then not negative.
fn largest(env: &Env, a: Atom) -> Option<i128> {
    interval(env, a, DEPTH).filter(|i| i.least >= 0).map(|i| i.most)
}

/// Operators that an interval is followed through.
const DEPTH: usize = 4;

/// The interval of an integer, by what it is below and the operators that gave it.
fn interval(env: &Env, a: Atom, depth: usize) -> Option<Interval> {
    if let Atom::Const(c) = a {
        return Interval::of_constant(c);
    }
    let most_of = |u: &Atom| match constant(*u) {
        None if depth > 0 => interval(env, *u, depth - 1).map(|i| i.most),
        most => most,
    };
    if let Some(most) = env.uppers(a).iter().filter_map(most_of).min() {
        return Some(Interval { least: 0, most: most - 1 });
    }
    let Exp::Prim(op, xy) = env.def_of(a).filter(|_| depth > 0)? else { return None };
    let operands = op.operands().into_iter().zip(xy);
    let operands: Vec<_> = operands.map(|(p, x)| interval(env, *x, depth - 1).or(Interval::of(p))).collect();
    Interval::of_result(*op, &operands).filter(|i| i.fits(op.result()))
}

/// The comparison that holds where one gave `value`.
fn holding(op: CmpOp, value: bool) -> CmpOp {
    if value { op } else { op.negated() }
}

/// Upper bound of a variable that is not negative, from a comparison that gave `value`. An index that is not the last is
/// below the last.
pub(super) fn below(env: &Env, op: CmpOp, value: bool, x: Atom, y: Atom) -> Option<(Var, Atom)> {
    let is_last = |i: Atom, last: Atom| {
        let (n, c) = offset(env, last);
        c == -1 && env.uppers(i).contains(&n)
    };
    let (v, bound) = match holding(op, value) {
        CmpOp::Lt => (x, y),
        CmpOp::Gt => (y, x),
        CmpOp::Ne if is_last(x, y) => (x, y),
        CmpOp::Ne if is_last(y, x) => (y, x),
        _ => return None,
    };
    v.var().filter(|_| not_negative(env, v)).map(|v| (v, bound))
}

/// Lower bound of a variable, from a comparison with a constant that gave `value`.
pub(super) fn least(env: &Env, op: CmpOp, value: bool, x: Atom, y: Atom) -> Option<(Var, i128)> {
    match (holding(op, value), x, constant(y), constant(x), y) {
        (CmpOp::Ne, Atom::Var(v), Some(0), ..) if not_negative(env, x) => Some((v, 1)),
        (CmpOp::Ne, _, _, Some(0), Atom::Var(v)) if not_negative(env, y) => Some((v, 1)),
        (CmpOp::Ge | CmpOp::Eq, Atom::Var(v), Some(c), ..) => Some((v, c)),
        (CmpOp::Gt, Atom::Var(v), Some(c), ..) => Some((v, c + 1)),
        (CmpOp::Le | CmpOp::Eq, _, _, Some(c), Atom::Var(v)) => Some((v, c)),
        (CmpOp::Lt, _, _, Some(c), Atom::Var(v)) => Some((v, c + 1)),
        _ => None,
    }
}

/// Notes that the number `v`, which is the first of `arms` where `cond` holds and else the second, is not negative and below a bound, if
/// both arms are, each where it is taken: `if i == 0 then n - 1 else i - 1`.
pub(super) fn choose(env: &mut Env, v: Var, cond: Atom, arms: [Atom; 2]) {
    let bounds = arms.map(|x| offset(env, x).0).into_iter().flat_map(|base| {
        let size = base.var().filter(|n| env.is_size(*n)).map(Atom::Var);
        env.uppers(base).iter().copied().chain(size)
    });
    let bounds: Vec<Atom> = bounds.collect();
    let inside = |env: &mut Env, bound: Atom| {
        [true, false].into_iter().zip(arms).all(|(holds, x)| {
            let mark = env.enter();
            env.assume(cond, holds);
            let inside = not_negative(env, x) && surely_below(env, x, bound);
            env.leave(mark);
            inside
        })
    };
    if let Some(bound) = bounds.into_iter().find(|bound| inside(env, *bound)) {
        env.bound_above(v, bound);
    }
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
    none_negative(env, a, DEPTH)
}

/// As `not_negative`; of the larger of two numbers one is not, of the smaller both.
fn none_negative(env: &Env, a: Atom, depth: usize) -> bool {
    let one = |x: &Atom| none_negative(env, *x, depth - 1);
    is_not_negative(env, a)
        || match extremum(env, a).filter(|_| depth > 0) {
            Some((BinOp::Max, xy)) => xy.iter().any(one),
            Some((_, xy)) => xy.iter().all(one),
            None => false,
        }
}

fn is_not_negative(env: &Env, a: Atom) -> bool {
    match a {
        Atom::Const(c) => !negative(Atom::Const(c)),
        Atom::Var(v) => {
            env.is_size(v)
                || has_upper(env, a)
                || remainder_of(env, a).is_some()
                || end_of_range(env, a).is_some()
                || counted_back(env, a).is_some()
                || successor_of(env, a).is_some_and(|i| has_upper(env, i))
                || quotient(env, v)
                || shifted_up(env, a)
                || lower(env, a).is_some_and(|least| least >= 0)
                || shifted_down(env, a)
                || largest(env, a).is_some()
        }
    }
}

/// `a` is `i + c` with `0 <= i < n - c` and `c` not negative: it does not overflow.
fn shifted_up(env: &Env, a: Atom) -> bool {
    let (i, c) = offset(env, a);
    c >= 0 && env.uppers(i).iter().any(|&u| from_size(env, u).is_some_and(|(_, d)| c + d <= 0))
}

/// Lower bound of a number: one that is known, or of what a constant is added to that has been counted up to.
fn lower(env: &Env, a: Atom) -> Option<i128> {
    let counted = || {
        let (i, c) = offset(env, a);
        let is_small = (1..=i128::from(u32::MAX)).contains(&c);
        (is_small && env.is_counter(i)).then(|| env.lower(i).unwrap_or(0) + c)
    };
    env.lower(a).or_else(counted)
}

/// `a` is `i - c`, where `i` is known to be at least `c`, which is not negative.
fn shifted_down(env: &Env, a: Atom) -> bool {
    let (i, c) = offset(env, a);
    c <= 0 && env.lower(i).is_some_and(|least| least + c >= 0)
}

/// True if `u + c <= y`, and neither side overflows.
fn reaches(env: &Env, u: Atom, c: i128, y: Atom) -> bool {
    match (constant(u), constant(y)) {
        (Some(u), Some(y)) => u + c <= y,
        _ if c == 0 && u == y => true,
        _ if (0..=1).contains(&c) && (env.uppers(u).contains(&y) || end_of_range(env, u) == Some(y)) => true,
        _ => match (from_size(env, u), from_size(env, y)) {
            (Some((u, d)), Some((y, e))) if u == y && d + c <= e => true,
            _ => smaller_of(env, u).is_some_and(|xy| xy.iter().any(|x| reaches(env, *x, c, y))),
        },
    }
}

/// The operands of which `u` is the smaller one.
fn smaller_of<'e>(env: &'e Env, u: Atom) -> Option<&'e [Atom]> {
    extremum(env, u).filter(|(op, _)| *op == BinOp::Min).map(|(_, xy)| xy)
}

/// `a` as the sum of a size and a constant that does not overflow: the constant is not positive, or the sum is a size, too.
fn from_size(env: &Env, a: Atom) -> Option<(Atom, i128)> {
    let (n, d) = offset(env, a);
    let is_size = |a: Atom| a.var().is_some_and(|v| env.is_size(v));
    ((d <= 0 || is_size(a)) && (is_size(n) || has_upper(env, n))).then_some((n, d))
}

/// `a` as `x + c`, as the program computes it.
fn offset(env: &Env, a: Atom) -> (Atom, i128) {
    match env.def_of(a) {
        Some(Exp::Prim(PrimOp::Bin(BinOp::Add, p), xy)) if p.is_signed() => {
            constant(xy[1]).map_or((a, 0), |c| (xy[0], c))
        }
        Some(Exp::Prim(PrimOp::Bin(BinOp::Sub, p), xy)) if p.is_signed() => {
            constant(xy[1]).map_or((a, 0), |c| (xy[0], -c))
        }
        _ => (a, 0),
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

/// `n` if `a` is `n - c - i` with `i <= n - c` and a positive `c`: nothing overflows, and `a` is not negative.
fn counted_back(env: &Env, a: Atom) -> Option<Atom> {
    let Some(Exp::Prim(PrimOp::Bin(BinOp::Sub, p), xy)) = env.def_of(a) else { return None };
    let (n, d) = from_size(env, xy[0])?;
    let is_before = |u: &Atom| from_size(env, *u).is_some_and(|(m, e)| m == n && e - 1 <= d);
    (p.is_signed() && d < 0 && env.uppers(xy[1]).iter().any(is_before)).then_some(n)
}

/// `n` if `a` is `t + i` with `i < n - t`, where neither `n` nor `t` is negative: nothing overflows, and `a` is not negative.
fn end_of_range(env: &Env, a: Atom) -> Option<Atom> {
    let Some(Exp::Prim(PrimOp::Bin(BinOp::Add, p), xy)) = env.def_of(a) else { return None };
    let end = |t: Atom, i: Atom| env.uppers(i).iter().find_map(|u| with_added(env, *u, t));
    let (n, t) = end(xy[0], xy[1]).map(|n| (n, xy[0])).or_else(|| Some((end(xy[1], xy[0])?, xy[1])))?;
    (p.is_signed() && not_negative(env, n) && not_negative(env, t)).then_some(n)
}

/// `n` if `u` is `n - t`, or 0 if that is less; also where `t` is `k + c`, and `u` is `n - k - c` or `n - c - k`, for a constant `c`.
fn with_added(env: &Env, u: Atom, t: Atom) -> Option<Atom> {
    let (k, c) = offset(env, t);
    let (less, d) = offset(env, u);
    if d != 0
        && c == -d
        && let Some((n, start)) = difference(env, less)
        && start == k
    {
        return Some(n);
    }
    let (n, start) = difference(env, u)?;
    if start == t {
        return Some(n);
    }
    let (n, d) = offset(env, n);
    (start == k && d != 0 && c == -d).then_some(n)
}

/// `n` and `t` if `u` is `n - t`, or 0 if that is less.
fn difference(env: &Env, u: Atom) -> Option<(Atom, Atom)> {
    match env.def_of(u)? {
        Exp::Prim(PrimOp::Bin(BinOp::Sub, _), xy) => Some((xy[0], xy[1])),
        Exp::Prim(PrimOp::Bin(BinOp::Max, _), xy) => match (constant(xy[0]), constant(xy[1])) {
            (_, Some(0)) => difference(env, xy[0]),
            (Some(0), _) => difference(env, xy[1]),
            _ => None,
        },
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
