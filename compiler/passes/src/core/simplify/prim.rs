//! Scalar operators: constant folding, and algebra that is exact for every value.
//!
//! ```text
//! let a = add.i32 2 3             let a = 5
//! let b = mul.i32 x 1       =>    let b = x
//! let c = le.i64 0 i              let c = true      -- i counts the rows of an iota
//! let e = div.f64 y 8             let e = mul.f64 y 0.125
//! let d = add.i64 (x + 2) 3       let d = add.i64 x 5
//! ```
//!
//! On floats only what keeps every bit is done: `x * 1` is `x`, but `x + 0` is not (x may be -0).

use super::env::Env;
use super::{linear, range};
use par_ir::core::Exp;
use par_ir::prim::{BinOp, CmpOp, PrimOp, UnOp};
use par_ir::ty::Atom;
use par_runtime::{Prim, Scalar};

/// A simpler expression of the same value, if there is one.
pub(super) fn simplify(env: &Env, op: PrimOp, args: &[Atom]) -> Option<Exp> {
    constant(op, args).or_else(|| match (op, args) {
        (PrimOp::Bin(op, p), &[x, y]) if p.is_integer() => integer(env, op, p, x, y),
        (PrimOp::Bin(op, Prim::Bool), &[x, y]) => boolean(op, x, y).map(Exp::Atom),
        (PrimOp::Bin(op, p), &[x, y]) => {
            float(op, p, x, y).map(Exp::Atom).or_else(|| multiplication(op, p, x, y))
        }
        (PrimOp::Cmp(op, p), &[x, y]) => compare(env, op, p, x, y),
        (PrimOp::Un(UnOp::Not, p), &[x]) if !p.is_float() => double_negation(env, p, x),
        (PrimOp::Conv(from, to), &[x]) if from == to => Some(Exp::Atom(x)),
        (PrimOp::Select(p), &[c, x, y]) => select(p, c, x, y),
        _ => None,
    })
}

fn constant(op: PrimOp, args: &[Atom]) -> Option<Exp> {
    let values: Option<Vec<Scalar>> = args.iter().map(|a| constant_of(*a)).collect();
    op.fold(&values?).map(|c| Exp::Atom(Atom::Const(c)))
}

fn constant_of(a: Atom) -> Option<Scalar> {
    match a {
        Atom::Const(c) => Some(c),
        Atom::Var(_) => None,
    }
}

fn is(a: Atom, p: Prim, x: i64) -> bool {
    a == Atom::Const(Scalar::from_i64(p, x))
}

fn integer(env: &Env, op: BinOp, p: Prim, x: Atom, y: Atom) -> Option<Exp> {
    use BinOp::{Add, And, Max, Min, Mul, Or, Xor};
    if matches!(op, Add | Mul | And | Or | Xor | Min | Max) && constant_of(x).is_some() {
        return Some(Exp::Prim(PrimOp::Bin(op, p), vec![y, x]));
    }
    // Sizes are compared as they are written.
    if op == Add && x == y && p == Prim::I64 {
        return Some(Exp::Prim(PrimOp::Bin(Mul, p), vec![x, Atom::i64(2)]));
    }
    if matches!(op, Min | Max)
        && let Some(less) = range::less(env, x, y)
    {
        return Some(Exp::Atom(if less == (op == Min) { x } else { y }));
    }
    let exp = identity(op, p, x, y).map(Exp::Atom).or_else(|| product(env, op, p, x, y));
    exp.or_else(|| linear::simplify(env, op, p, x, y))
}

/// Identities that leave an operand or a constant.
fn identity(op: BinOp, p: Prim, x: Atom, y: Atom) -> Option<Atom> {
    let zero = Atom::Const(Scalar::zero(p));
    let (y0, y1) = (is(y, p, 0), is(y, p, 1));
    Some(match op {
        BinOp::Add | BinOp::Sub | BinOp::Or | BinOp::Xor if y0 => x,
        BinOp::Shl | BinOp::Shr | BinOp::Lshr if y0 => x,
        BinOp::Mul | BinOp::Div | BinOp::Quot if y1 => x,
        BinOp::Mul | BinOp::And if y0 => zero,
        BinOp::Mod | BinOp::Rem if y1 => zero,
        BinOp::And if is(y, p, -1) => x,
        BinOp::Sub | BinOp::Xor if x == y => zero,
        BinOp::And | BinOp::Or | BinOp::Min | BinOp::Max if x == y => x,
        _ => return None,
    })
}

/// `(x * c) * d`: wrapping arithmetic is a ring.
fn product(env: &Env, op: BinOp, p: Prim, x: Atom, y: Atom) -> Option<Exp> {
    let Some(Exp::Prim(PrimOp::Bin(BinOp::Mul, q), ab)) = env.def_of(x) else { return None };
    let constants = [constant_of(ab[1])?, constant_of(y)?];
    (op == BinOp::Mul && *q == p).then(|| {
        let c = Atom::Const(PrimOp::Bin(BinOp::Mul, p).eval(&constants));
        Exp::Prim(PrimOp::Bin(BinOp::Mul, p), vec![ab[0], c])
    })
}

fn boolean(op: BinOp, x: Atom, y: Atom) -> Option<Atom> {
    let (t, f) = (Atom::bool(true), Atom::bool(false));
    Some(match op {
        BinOp::And if x == f || y == f => f,
        BinOp::Or if x == t || y == t => t,
        BinOp::And if x == t => y,
        BinOp::And if y == t || x == y => x,
        BinOp::Or | BinOp::Xor if x == f => y,
        BinOp::Or | BinOp::Xor if y == f => x,
        BinOp::Or if x == y => x,
        BinOp::Xor if x == y => f,
        _ => return None,
    })
}

fn float(op: BinOp, p: Prim, x: Atom, y: Atom) -> Option<Atom> {
    let negative_zero = Scalar::from_f64(p, -0.0).map(Atom::Const);
    match op {
        BinOp::Mul | BinOp::Div if is(y, p, 1) => Some(x),
        BinOp::Mul if is(x, p, 1) => Some(y),
        BinOp::Sub if is(y, p, 0) => Some(x),
        BinOp::Add if Some(y) == negative_zero => Some(x),
        _ => None,
    }
}

/// `x / 8` as `x * 0.125`: both are rounded from the same number.
fn multiplication(op: BinOp, p: Prim, x: Atom, y: Atom) -> Option<Exp> {
    let divisor = constant_of(y).filter(|_| op == BinOp::Div)?.as_f64()?;
    let most = if p == Prim::F16 { 10 } else { 100 };
    let (mantissa, exponent) = (divisor.to_bits() << 12, (divisor.abs().to_bits() >> 52) as i32 - 1023);
    let is_power = mantissa == 0 && exponent.abs() <= most;
    let factor = Scalar::from_f64(p, 1.0 / divisor).filter(|_| is_power)?;
    Some(Exp::Prim(PrimOp::Bin(BinOp::Mul, p), vec![x, Atom::Const(factor)]))
}

fn compare(env: &Env, op: CmpOp, p: Prim, x: Atom, y: Atom) -> Option<Exp> {
    if p == Prim::Bool {
        return compare_bools(op, x, y);
    }
    if !p.is_integer() {
        return None;
    }
    let value = match op {
        _ if x == y => Some(matches!(op, CmpOp::Eq | CmpOp::Le | CmpOp::Ge)),
        CmpOp::Lt => range::less(env, x, y),
        CmpOp::Gt => range::less(env, y, x),
        CmpOp::Le => range::less(env, y, x).map(|b| !b),
        CmpOp::Ge => range::less(env, x, y).map(|b| !b),
        CmpOp::Eq | CmpOp::Ne => range::differ(env, x, y).then_some(op == CmpOp::Ne),
    };
    value.map(|b| Exp::Atom(Atom::bool(b)))
}

fn compare_bools(op: CmpOp, x: Atom, y: Atom) -> Option<Exp> {
    let positive = op == CmpOp::Eq;
    if !matches!(op, CmpOp::Eq | CmpOp::Ne) {
        return None;
    }
    if x == y {
        return Some(Exp::Atom(Atom::bool(positive)));
    }
    let (x, y) = if constant_of(x).is_some() { (y, x) } else { (x, y) };
    match y {
        Atom::Const(Scalar::Bool(b)) if b == positive => Some(Exp::Atom(x)),
        Atom::Const(Scalar::Bool(_)) => Some(not(x)),
        _ => None,
    }
}

fn not(x: Atom) -> Exp {
    Exp::Prim(PrimOp::Un(UnOp::Not, Prim::Bool), vec![x])
}

fn double_negation(env: &Env, p: Prim, x: Atom) -> Option<Exp> {
    match env.def_of(x) {
        Some(Exp::Prim(PrimOp::Un(UnOp::Not, q), y)) if *q == p => Some(Exp::Atom(y[0])),
        _ => None,
    }
}

/// `select c x y`; on bools with a constant side it is a connective.
pub(super) fn select(p: Prim, c: Atom, x: Atom, y: Atom) -> Option<Exp> {
    let (t, f) = (Atom::bool(true), Atom::bool(false));
    let connective = |op| Some(Exp::Prim(PrimOp::Bin(op, Prim::Bool), vec![c, if x == t { y } else { x }]));
    match c {
        _ if x == y => return Some(Exp::Atom(x)),
        Atom::Const(Scalar::Bool(b)) => return Some(Exp::Atom(if b { x } else { y })),
        _ => {}
    }
    match p {
        Prim::Bool if x == t && y == f => Some(Exp::Atom(c)),
        Prim::Bool if x == f && y == t => Some(not(c)),
        Prim::Bool if x == t => connective(BinOp::Or),
        Prim::Bool if y == f => connective(BinOp::And),
        _ => None,
    }
}
