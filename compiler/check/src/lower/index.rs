//! Indexing and slicing.
//!
//! ```text
//! xss[i, j]     xss : [n][s]f32     check 0 <= i < n   k = s[i]   check 0 <= j < k   xss[i, j]
//! xs[a:b]       check 0 <= a <= b <= n; the result has size b - a
//! ```

use super::build::Key;
use super::env::Env;
use super::rebuild::Rebuild;
use super::value::Val;
use super::{Lower, R};
use crate::thir::{Expr, IndexArg};
use par_ir::core::Exp;
use par_ir::prim::{BinOp, CmpOp, UnOp};
use par_ir::{Atom, CheckKind, Dim, Prim, PrimOp, Span, Type};

/// An index or slice, evaluated.
#[derive(Clone, Copy)]
pub(super) enum At {
    Index(Atom, Span),
    Slice { start: Option<Atom>, end: Option<Atom>, stride: Option<Atom>, span: Span },
}

/// A slice whose bounds were checked.
#[derive(Clone, Copy)]
pub(super) struct Cut {
    pub start: Atom,
    pub len: Atom,
    pub stride: Atom,
}

/// Takes the element or row at some indices.
struct Row<'a> {
    at: &'a [Atom],
}

impl<'p> Rebuild<'p> for Row<'_> {
    fn dim(&mut self, lo: &mut Lower<'p>, dim: Dim, old: &[Dim], new: &[Dim]) -> R<Dim> {
        let Dim::Seg(s) = dim else { return Ok(dim) };
        let key = Key::Index(s, self.at.to_vec());
        let exp = Exp::Index(s, self.at.to_vec());
        Ok(if old.len() == self.at.len() {
            let k = lo.share(key, "k", Type::I64, exp);
            lo.facts.sizes.insert(k);
            Dim::Size(Atom::Var(k))
        } else {
            Dim::Seg(lo.share(key, "s", Type::desc(new.to_vec()), exp))
        })
    }

    fn leaf(&mut self, lo: &mut Lower<'p>, a: Atom, prim: Prim, _old: &[Dim], new: &[Dim]) -> R<Atom> {
        let v = lo.leaf_var(a)?;
        let (key, exp) = (Key::Index(v, self.at.to_vec()), Exp::Index(v, self.at.to_vec()));
        Ok(Atom::Var(lo.share(key, "t", Type::array(new.to_vec(), prim), exp)))
    }
}

/// Takes a slice of the outermost dimension.
struct SliceRows {
    cut: Cut,
}

impl<'p> Rebuild<'p> for SliceRows {
    fn dim(&mut self, lo: &mut Lower<'p>, dim: Dim, _old: &[Dim], new: &[Dim]) -> R<Dim> {
        let Dim::Seg(s) = dim else { return Ok(dim) };
        let Cut { start, len, stride } = self.cut;
        let exp = Exp::Slice { arr: s, start, len, stride };
        let ty = Type::desc(new.to_vec());
        Ok(Dim::Seg(lo.share(Key::Slice(s, start, len, stride), "s", ty, exp)))
    }

    fn leaf(&mut self, lo: &mut Lower<'p>, a: Atom, prim: Prim, _old: &[Dim], new: &[Dim]) -> R<Atom> {
        let arr = lo.leaf_var(a)?;
        let Cut { start, len, stride } = self.cut;
        let ty = Type::array(new.to_vec(), prim);
        let exp = Exp::Slice { arr, start, len, stride };
        Ok(Atom::Var(lo.share(Key::Slice(arr, start, len, stride), "t", ty, exp)))
    }
}

impl<'p> Lower<'p> {
    /// `a[…]`.
    pub fn index_expr(&mut self, a: &'p Expr, index: &'p [IndexArg], env: &Env<'p>) -> R<Val<'p>> {
        let arr = self.eval(a, env, None)?;
        let at = self.index_args(index, env)?;
        self.index(&arr, &at)
    }

    /// Evaluates indices and slices, left to right.
    pub fn index_args(&mut self, index: &'p [IndexArg], env: &Env<'p>) -> R<Vec<At>> {
        index
            .iter()
            .map(|arg| match arg {
                IndexArg::Index(e) => Ok(At::Index(self.integer(e, env)?, e.span)),
                IndexArg::Slice { start, end, stride, span } => {
                    let mut part = |e: &'p Option<Expr>| e.as_ref().map(|e| self.integer(e, env)).transpose();
                    Ok(At::Slice { start: part(start)?, end: part(end)?, stride: part(stride)?, span: *span })
                }
            })
            .collect()
    }

    /// Indexes with evaluated arguments, checking bounds.
    pub fn index(&mut self, arr: &Val<'p>, at: &[At]) -> R<Val<'p>> {
        let leading: Vec<(Atom, Span)> =
            at.iter().map_while(|a| if let At::Index(i, s) = a { Some((*i, *s)) } else { None }).collect();
        if !leading.is_empty() {
            let row = self.rows(arr, &leading)?;
            return if leading.len() == at.len() { Ok(row) } else { self.index(&row, &at[leading.len()..]) };
        }
        let Some((slice, rest)) = at.split_first() else { return Ok(arr.clone()) };
        let cut = self.cut(arr, slice)?;
        let part = self.slice(arr, cut)?;
        if rest.is_empty() {
            return Ok(part);
        }
        self.map_over(cut.len, &[part], &mut |lo, rows| lo.index(&rows[0], rest))
    }

    /// The row (or element) at one or more indices, which are checked.
    fn rows(&mut self, arr: &Val<'p>, at: &[(Atom, Span)]) -> R<Val<'p>> {
        let (mut elem, mut above, mut taken) = (arr, Vec::new(), Vec::new());
        for (i, span) in at {
            let Val::Array(d, inner) = elem else {
                return Err(self.internal("too many indices"));
            };
            let before = self.enter(*span);
            let size = match d {
                Dim::Size(a) => *a,
                Dim::Seg(s) => {
                    let exp = Exp::Index(*s, taken.clone());
                    Atom::Var(self.share(Key::Index(*s, taken.clone()), "k", Type::I64, exp))
                }
            };
            self.check_bounds(*i, size);
            self.place.span = before;
            above.push(*d);
            taken.push(*i);
            elem = inner;
        }
        self.rebuild(elem, &mut above, &mut Vec::new(), &mut Row { at: &taken })
    }

    pub fn check_bounds(&mut self, i: Atom, size: Atom) {
        let low = self.cmp(CmpOp::Le, Atom::i64(0), i);
        let high = self.cmp(CmpOp::Lt, i, size);
        let inside = self.and(low, high);
        self.check_if_needed(inside, CheckKind::Bounds, vec![i, size]);
    }

    /// The row at an index that is known to be inside.
    pub fn row(&mut self, arr: &Val<'p>, i: Atom) -> R<Val<'p>> {
        match arr {
            Val::Array(d, elem) => self.rebuild(elem, &mut vec![*d], &mut Vec::new(), &mut Row { at: &[i] }),
            _ => Err(self.internal("an array was expected")),
        }
    }

    /// `head`, `last`, or all but one of them, of an array that must not be empty; if it is, `called` says what was asked for.
    pub fn end_of(&mut self, name: &str, called: &str, arr: &Val<'p>) -> R<Val<'p>> {
        let (zero, one) = (Atom::i64(0), Atom::i64(1));
        let size = self.size_of(arr)?;
        let last = self.sub(size, one);
        let some = self.cmp(CmpOp::Le, zero, last);
        self.check(some, CheckKind::Empty(called.to_string()), Vec::new());
        match name {
            "head" => self.row(arr, zero),
            "last" => self.row(arr, last),
            "init" => self.slice(arr, Cut { start: zero, len: last, stride: one }),
            _ => self.slice(arr, Cut { start: one, len: last, stride: one }),
        }
    }

    /// A slice that was checked.
    pub fn slice(&mut self, arr: &Val<'p>, cut: Cut) -> R<Val<'p>> {
        match arr {
            Val::Array(d, elem) => {
                let new = Dim::Size(cut.len);
                let elem = self.rebuild(elem, &mut vec![*d], &mut vec![new], &mut SliceRows { cut })?;
                Ok(Val::Array(new, Box::new(elem)))
            }
            _ => Err(self.internal("an array was expected")),
        }
    }

    /// Bounds of a slice of the outermost dimension, with defaults filled in and checked.
    pub fn cut(&mut self, arr: &Val<'p>, slice: &At) -> R<Cut> {
        let size = self.size_of(arr)?;
        self.cut_of(size, slice)
    }

    /// As [`Self::cut`], of a dimension of that size.
    pub fn cut_of(&mut self, size: Atom, slice: &At) -> R<Cut> {
        let At::Slice { start, end, stride, span } = *slice else {
            return Err(self.internal("a slice was expected"));
        };
        let before = self.enter(span);
        let stride = stride.unwrap_or(Atom::i64(1));
        let cut = match stride.as_i64() {
            Some(s) if s > 0 => self.cut_up(start, end, stride, size),
            Some(s) if s < 0 => self.cut_down(start, end, stride, size),
            _ => self.cut_any(start, end, stride, size),
        };
        self.place.span = before;
        Ok(cut)
    }

    fn cut_up(&mut self, start: Option<Atom>, end: Option<Atom>, stride: Atom, size: Atom) -> Cut {
        let (i, j) = (start.unwrap_or(Atom::i64(0)), end.unwrap_or(size));
        let a = if start.is_none() { Atom::bool(true) } else { self.cmp(CmpOp::Le, Atom::i64(0), i) };
        let full = start.is_none() && end.is_none();
        let b = if full { Atom::bool(true) } else { self.cmp(CmpOp::Le, i, j) };
        let c = if end.is_none() { Atom::bool(true) } else { self.cmp(CmpOp::Le, j, size) };
        let ab = self.and(a, b);
        let ok = self.and(ab, c);
        self.check_if_needed(ok, CheckKind::Slice, vec![i, j, size]);
        let distance = self.sub(j, i);
        Cut { start: i, len: self.steps(distance, stride), stride }
    }

    fn cut_down(&mut self, start: Option<Atom>, end: Option<Atom>, stride: Atom, size: Atom) -> Cut {
        let minus = Atom::i64(-1);
        let last = self.sub(size, Atom::i64(1));
        let (i, j) = (start.unwrap_or(last), end.unwrap_or(minus));
        let a = if end.is_none() { Atom::bool(true) } else { self.cmp(CmpOp::Le, minus, j) };
        let full = start.is_none() && end.is_none();
        let b = if full { Atom::bool(true) } else { self.cmp(CmpOp::Le, j, i) };
        let c = if start.is_none() { Atom::bool(true) } else { self.cmp(CmpOp::Lt, i, size) };
        let ab = self.and(a, b);
        let ok = self.and(ab, c);
        self.check_if_needed(ok, CheckKind::Slice, vec![i, j, size]);
        let distance = self.sub(i, j);
        let step = self.prim(PrimOp::Un(UnOp::Neg, Prim::I64), &[stride]);
        Cut { start: i, len: self.steps(distance, step), stride }
    }

    /// The direction is known at run time only.
    fn cut_any(&mut self, start: Option<Atom>, end: Option<Atom>, stride: Atom, size: Atom) -> Cut {
        let p = Prim::I64;
        let (zero, one) = (Atom::i64(0), Atom::i64(1));
        let nonzero = self.cmp(CmpOp::Ne, stride, zero);
        self.check_if_needed(nonzero, CheckKind::ZeroStep, Vec::new());
        let up = self.cmp(CmpOp::Lt, zero, stride);
        let last = self.sub(size, one);
        let (first, stop) = (self.select(p, up, zero, last), self.select(p, up, size, Atom::i64(-1)));
        let (i, j) = (start.unwrap_or(first), end.unwrap_or(stop));
        let low = self.select(p, up, i, j);
        let high = self.select(p, up, j, i);
        let least = self.select(p, up, zero, Atom::i64(-1));
        let most = self.select(p, up, size, last);
        let a = self.cmp(CmpOp::Le, least, low);
        let b = self.cmp(CmpOp::Le, low, high);
        let c = self.cmp(CmpOp::Le, high, most);
        let ab = self.and(a, b);
        let ok = self.and(ab, c);
        self.check_if_needed(ok, CheckKind::Slice, vec![i, j, size]);
        let distance = self.sub(high, low);
        let step = self.prim(PrimOp::Un(UnOp::Abs, p), &[stride]);
        Cut { start: i, len: self.steps(distance, step), stride }
    }

    /// Number of steps of a positive size that begin before `distance >= 0`: the quotient, rounded up.
    pub fn steps(&mut self, distance: Atom, step: Atom) -> Atom {
        if step.as_i64() == Some(1) {
            return distance;
        }
        let up = self.add(distance, step);
        let up = self.sub(up, Atom::i64(1));
        self.bin(BinOp::Quot, Prim::I64, up, step)
    }
}

impl<'p> Lower<'p> {
    /// The element or row at indices that are known to be inside.
    pub fn element(&mut self, arr: &Val<'p>, at: &[Atom]) -> R<Val<'p>> {
        let (mut elem, mut above) = (arr, Vec::new());
        for _ in at {
            let Val::Array(d, inner) = elem else {
                return Err(self.internal("too many indices"));
            };
            above.push(*d);
            elem = inner;
        }
        self.rebuild(elem, &mut above, &mut Vec::new(), &mut Row { at })
    }
}
