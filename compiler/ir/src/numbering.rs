//! Value numbering: keys of expressions, by which common subexpressions are found. What was computed before, in this scope or one around
//! it, is not computed again.
//!
//! ```text
//! let s = makedesc ks             let s = makedesc ks
//! let t = makedesc ks       =>    let xss : [n][s]f32 = …
//! let xss : [n][t]f32 = …
//! ```
//!
//! This matters most for descriptors: two arrays over the same descriptor variable have the same shape, so they
//! zip without a check and fuse.

use crate::core::Exp;
use crate::prim::{BinOp, CmpOp, PrimOp};
use crate::ty::{Atom, Type, Var};
use par_runtime::Prim;
use std::mem::{Discriminant, discriminant};

/// Equal keys compute equal values of equal type.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Key {
    form: Discriminant<Exp>,
    op: Option<PrimOp>,
    prim: Option<Prim>,
    operands: Vec<Atom>,
    ty: Type,
}

/// The key of an expression without bodies that always gives the same value; `ty` is its pattern's type.
pub fn key(exp: &Exp, ty: &Type) -> Option<Key> {
    let var = |v: &Var| Atom::Var(*v);
    let (op, prim, operands) = match exp {
        Exp::Prim(op, args) => {
            let (op, args) = canonical(*op, args);
            (Some(op), None, args)
        }
        Exp::Literal(xs, p) => (None, Some(*p), xs.clone()),
        Exp::Index(a, is) => (None, None, [var(a)].into_iter().chain(is.iter().copied()).collect()),
        Exp::Slice { arr, start, len, stride } => (None, None, vec![var(arr), *start, *len, *stride]),
        Exp::Replicate(n, x) => (None, None, vec![*n, *x]),
        Exp::Iota(n) | Exp::Atom(n) => (None, None, vec![*n]),
        Exp::Concat(arrs) => (None, None, arrs.iter().map(var).collect()),
        Exp::Flatten(a) | Exp::Unflatten(a) | Exp::MakeDesc(a) | Exp::Lengths(a) | Exp::Total(a) => {
            (None, None, vec![var(a)])
        }
        _ => return None,
    };
    Some(Key { form: discriminant(exp), op, prim, operands, ty: ty.clone() })
}

/// One spelling for `x < y` and `y > x`, and for `x + y` and `y + x`.
fn canonical(op: PrimOp, args: &[Atom]) -> (PrimOp, Vec<Atom>) {
    let mut args = args.to_vec();
    let op = match op {
        PrimOp::Cmp(CmpOp::Gt, p) => {
            args.reverse();
            PrimOp::Cmp(CmpOp::Lt, p)
        }
        PrimOp::Cmp(CmpOp::Ge, p) => {
            args.reverse();
            PrimOp::Cmp(CmpOp::Le, p)
        }
        op => op,
    };
    if commutes(op) {
        args.sort_by_key(|a| match a {
            Atom::Var(v) => (0, u64::from(v.0)),
            Atom::Const(c) => (1, c.bits()),
        });
    }
    (op, args)
}

fn commutes(op: PrimOp) -> bool {
    use BinOp::{Add, And, Max, Min, Mul, MulHi, Or, Xor};
    match op {
        // Of floats `min` and `max` give the second of two zeros.
        PrimOp::Bin(Add | Mul, _) => true,
        PrimOp::Bin(And | Or | Xor | Min | Max | MulHi, p) => !p.is_float(),
        PrimOp::Cmp(op, _) => matches!(op, CmpOp::Eq | CmpOp::Ne),
        _ => false,
    }
}
