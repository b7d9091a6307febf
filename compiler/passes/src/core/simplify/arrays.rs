//! Algebra of array and descriptor operations.
//!
//! ```text
//! let s = makedesc ks                     let s = makedesc ks
//! let ls = lengths s                      -- ls is ks
//! let r = xss[i]                    =>    let x = xss[i, j]
//! let x = r[j]
//! let y = (transpose xs)[i, j]            let y = xs[j, i]
//! let ys = xs[a : n]                      let k = add.i64 a i
//! let y = ys[i]                           let y = xs[k]
//! let zs = concat (xs[0 : k], xs[k : n])  -- zs is xs
//! let vs = concat (us, ws)                let vs = concat (us, ws)
//! let zs = concat (vs, xs)                let zs = concat (us, ws, xs)
//! ```

use super::{env::Env, soac};
use par_ir::core::{At, Exp, Param, Stm};
use par_ir::prim::{BinOp, PrimOp};
use par_ir::tuning;
use par_ir::ty::{Atom, Dim, Type, Var};
use par_runtime::{Prim, Span};

/// A simpler expression for `p`, if there is one; index arithmetic it needs goes to `out`.
pub(super) fn simplify(env: &mut Env, exp: &Exp, p: &Param, span: Span, out: &mut Vec<Stm>) -> Option<Exp> {
    match exp {
        Exp::Atom(a) => retyped(env, *a, p),
        Exp::Index(arr, indices) => index(env, *arr, indices, p, span, out),
        Exp::Slice { arr, start, len, stride } => whole_slice(env, *arr, *start, *len, *stride, p),
        Exp::Lengths(s) => inverse(env, *s, p, |e| if let Exp::MakeDesc(ls) = e { Some(*ls) } else { None }),
        Exp::MakeDesc(ls) => inverse(env, *ls, p, |e| if let Exp::Lengths(s) = e { Some(*s) } else { None }),
        Exp::Flatten(x) => inverse(env, *x, p, |e| if let Exp::Unflatten(y) = e { Some(*y) } else { None }),
        Exp::Unflatten(x) => inverse(env, *x, p, |e| if let Exp::Flatten(y) = e { Some(*y) } else { None }),
        Exp::Concat(arrs) => match arrs.as_slice() {
            [only] if env.has_type(Atom::Var(*only), &p.ty) => Some(Exp::Atom(Atom::Var(*only))),
            parts => slice_of_slices(env, parts, p).or_else(|| spliced(env, parts, p)),
        },
        _ => None,
    }
}

/// An `iota` or `replicate` at another size is made anew; a second change of type undoes the first.
fn retyped(env: &Env, a: Atom, p: &Param) -> Option<Exp> {
    match (env.def_of(a)?, p.ty.dims.as_slice()) {
        (Exp::Iota(m), [Dim::Size(n)]) if m != n => Some(Exp::Iota(*n)),
        (Exp::Replicate(m, x), [Dim::Size(n)]) if m != n => Some(Exp::Replicate(*n, *x)),
        (Exp::Atom(original), _) => Some(Exp::Atom(*original)),
        _ => None,
    }
}

/// `f (g x)` is `x`, where its type says so.
fn inverse(env: &Env, v: Var, p: &Param, undo: impl Fn(&Exp) -> Option<Var>) -> Option<Exp> {
    let original = Atom::Var(undo(env.def(v)?)?);
    env.has_type(original, &p.ty).then_some(Exp::Atom(original))
}

/// `xs[0 : n]` is `xs`.
fn whole_slice(env: &Env, arr: Var, start: Atom, len: Atom, stride: Atom, p: &Param) -> Option<Exp> {
    let whole = start == Atom::i64(0) && stride == Atom::i64(1);
    let same = env.type_of(arr) == Some(&p.ty) && p.ty.dims.first() == Some(&Dim::Size(len));
    (whole && same).then_some(Exp::Atom(Atom::Var(arr)))
}

/// Slices of one array that follow each other are a slice again.
fn slice_of_slices(env: &Env, parts: &[Var], p: &Param) -> Option<Exp> {
    let one = Atom::i64(1);
    let slice = |v: &Var| match env.def(*v)? {
        Exp::Slice { arr, start, len, stride } if *stride == one => Some((*arr, *start, *len)),
        _ => None,
    };
    let parts: Vec<(Var, Atom, Atom)> = parts.iter().map(slice).collect::<Option<_>>()?;
    let (arr, start, _) = *parts.first()?;
    let (ty, inner) = (env.type_of(arr)?, &p.ty.dims[1..]);
    if ty.elem != p.ty.elem || ty.dims[1..] != *inner || inner.iter().any(|d| matches!(d, Dim::Seg(_))) {
        return None;
    }
    let follow = parts.windows(2).all(|w| w[0].0 == w[1].0 && is_sum(env, w[1].1, w[0].1, w[0].2));
    let &Dim::Size(len) = p.ty.dims.first()? else { return None };
    let exp =
        whole_slice(env, arr, start, len, one, p).unwrap_or(Exp::Slice { arr, start, len, stride: one });
    follow.then_some(exp)
}

/// Concatenations of concatenations are one.
fn spliced(env: &Env, parts: &[Var], p: &Param) -> Option<Exp> {
    // The descriptors of ragged rows are concatenated as their arrays are.
    if !p.ty.dims.iter().all(|d| matches!(d, Dim::Size(_))) || p.ty.is_desc() {
        return None;
    }
    let inner = |v: &Var| match env.def(*v) {
        Some(Exp::Concat(inner)) if !inner.is_empty() => inner.clone(),
        _ => vec![*v],
    };
    let all: Vec<Var> = parts.iter().flat_map(inner).collect();
    (all.len() <= tuning::CONCATENATED_PARTS && all != parts).then_some(Exp::Concat(all))
}

/// True if `sum` is `a + b`.
fn is_sum(env: &Env, sum: Atom, a: Atom, b: Atom) -> bool {
    let zero = Atom::i64(0);
    (a == zero && sum == b)
        || (b == zero && sum == a)
        || matches!(env.def_of(sum), Some(Exp::Prim(PrimOp::Bin(BinOp::Add, Prim::I64), xy))
            if xy[..] == [a, b] || xy[..] == [b, a])
}

/// Reads through whatever made the array.
fn index(
    env: &mut Env,
    arr: Var,
    indices: &[Atom],
    p: &Param,
    span: Span,
    out: &mut Vec<Stm>,
) -> Option<Exp> {
    let rank = env.type_of(arr).map_or(0, Type::rank);
    let (&first, rest) = indices.split_first()?;
    let exp = match env.def(arr)?.clone() {
        Exp::Iota(_) => Exp::Atom(first),
        Exp::Replicate(_, x) => row_of(x, rest)?,
        Exp::Literal(xs, _) => row_of(*xs.get(usize::try_from(first.as_i64()?).ok()?)?, rest)?,
        Exp::Index(outer, before) => Exp::Index(outer, [before.as_slice(), indices].concat()),
        Exp::Lengths(s) | Exp::MakeDesc(s) if rank == indices.len() => Exp::Index(s, indices.to_vec()),
        Exp::Slice { arr, start, stride, .. } => {
            let i = sliced(env, first, start, stride, span, out);
            Exp::Index(arr, [&[i], rest].concat())
        }
        Exp::Update { at, value, .. } if At::only_indices(&at).as_deref() == Some(indices) => {
            Exp::Atom(value)
        }
        Exp::Unflatten(flat) => {
            let (Some(Dim::Size(m)), Some((second, rest))) =
                (env.type_of(arr)?.dims.get(1).copied(), rest.split_first())
            else {
                return None;
            };
            let row = arithmetic(env, BinOp::Mul, first, m, span, out);
            let at = arithmetic(env, BinOp::Add, row, *second, span, out);
            Exp::Index(flat, [&[at], rest].concat())
        }
        made @ Exp::Map { .. } => {
            let view = soac::view(env, &made)?;
            let indices = view.indices(indices)?.into_iter().map(|i| env.atom(i)).collect();
            Exp::Index(env.var(view.of), indices)
        }
        _ => return None,
    };
    match exp {
        Exp::Atom(a) if !env.has_type(a, &p.ty) => None,
        // That would keep what it was before the update: the update would copy it.
        Exp::Index(base, _) if env.updated.contains(&env.var(base)) => None,
        exp => Some(exp),
    }
}

fn row_of(row: Atom, rest: &[Atom]) -> Option<Exp> {
    match (row, rest) {
        (_, []) => Some(Exp::Atom(row)),
        (Atom::Var(v), _) => Some(Exp::Index(v, rest.to_vec())),
        (Atom::Const(_), _) => None,
    }
}

/// `start + i * stride`.
fn sliced(env: &mut Env, i: Atom, start: Atom, stride: Atom, span: Span, out: &mut Vec<Stm>) -> Atom {
    let scaled = arithmetic(env, BinOp::Mul, i, stride, span, out);
    arithmetic(env, BinOp::Add, start, scaled, span, out)
}

fn arithmetic(env: &mut Env, op: BinOp, x: Atom, y: Atom, span: Span, out: &mut Vec<Stm>) -> Atom {
    let v = env.vars.fresh("i");
    let exp = Exp::Prim(PrimOp::Bin(op, Prim::I64), vec![x, y]);
    env.stm(Stm { pat: vec![Param { var: v, ty: Type::scalar(Prim::I64) }], exp, span }, out);
    env.atom(Atom::Var(v))
}
