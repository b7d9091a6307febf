//! Functions whose result's sizes come from the expected type: `unflatten`, `split`, `rep`.
//!
//! ```text
//! unflatten xs :> [n][m]i64                 check n * m == length xs
//! let (a: [k]i64, b) = split xs             a = xs[:k], b = xs[k:]
//! let (a, b) = split (xs ++ ys)             a = xs, b = ys
//! map2 (+) xs (rep 1)                       the other arguments are looked at first
//! let a = rep 1 in a[0]                     no size is known here: an error
//! ```

use super::calls::{def_env, unpack};
use super::env::Env;
use super::index::At;
use super::sizes::is_informative;
use super::value::{Extent, Fun, Shape, Val};
use super::widths::mentions;
use super::{Lower, R};
use crate::thir::{Def, Expr, ExprKind, LocalId, Pat, Size, Ty};
use par_ir::prim::{BinOp, CmpOp};
use par_ir::{Atom, Dim, Prim};
use par_syntax::diagnostic::Diagnostic;

impl<'p> Lower<'p> {
    /// `unflatten xs` and those that make more dimensions. One size may be open, or all may come from a size that was
    /// computed as a product.
    pub fn unflatten(&mut self, xs: &Val<'p>, rank: usize, want: Option<&Shape>) -> R<Val<'p>> {
        let k = self.size_of(xs)?;
        let sizes = self.factors(k, &outer_extents(want, rank))?;
        sizes.iter().for_each(|n| self.check_size(*n));
        let product = sizes[1..].iter().fold(sizes[0], |product, n| self.mul(product, *n));
        self.equate(product, k, "the product of the sizes and the length of the array in unflatten", None)?;
        let mut val = xs.clone();
        for i in (1..rank).rev() {
            let outer = sizes[1..i].iter().fold(sizes[0], |product, n| self.mul(product, *n));
            val = self.split_outer(&val, Dim::Size(outer), Dim::Size(sizes[i]))?;
        }
        Ok(val)
    }

    /// The sizes whose product is `k`.
    fn factors(&mut self, k: Atom, extents: &[Extent]) -> R<Vec<Atom>> {
        let sizes: Vec<Atom> = extents.iter().filter_map(known).collect();
        if sizes.len() == extents.len() {
            return Ok(sizes);
        }
        if sizes.len() + 1 == extents.len() {
            let others = sizes[1..].iter().fold(sizes[0], |product, n| self.mul(product, *n));
            let open = self.quotient(k, others);
            return Ok(extents.iter().map(|e| known(e).unwrap_or(open)).collect());
        }
        let product = k.var().and_then(|v| self.products.get(&v).copied());
        match (product, extents) {
            (Some((n, m)), [_, _]) => Ok(vec![n, m]),
            _ => Err(self.open_size("unflatten", "`unflatten xs :> [n][m]f32`")),
        }
    }

    /// `k / n`, and 0 for a zero `n`.
    pub fn quotient(&mut self, k: Atom, n: Atom) -> Atom {
        let (zero, one) = (Atom::i64(0), Atom::i64(1));
        let none = self.cmp(CmpOp::Eq, n, zero);
        let by = self.select(Prim::I64, none, one, n);
        let q = self.bin(BinOp::Quot, Prim::I64, k, by);
        self.select(Prim::I64, none, zero, q)
    }

    /// `split xs`.
    pub fn split(&mut self, xs: &Val<'p>, want: Option<&Shape>) -> R<Val<'p>> {
        let (first, second) = match want {
            Some(Shape::Tuple(parts)) if parts.len() == 2 => {
                (known(&outer_extents(Some(&parts[0]), 1)[0]), known(&outer_extents(Some(&parts[1]), 1)[0]))
            }
            _ => (None, None),
        };
        let n = self.size_of(xs)?;
        let at = match (first, second) {
            (Some(k), _) => k,
            (None, Some(rest)) => self.sub(n, rest),
            (None, None) => match self.cut_at.take() {
                Some(at) => at,
                None if let Some((first, _)) = n.var().and_then(|v| self.sums.get(&v)) => *first,
                None => return Err(self.open_size("split", "`let (a: [k]i64, b) = split xs`")),
            },
        };
        let span = self.span;
        let half = |start, end| At::Slice { start, end, stride: None, span };
        let cut = self.cut(xs, &half(None, Some(at)))?;
        let left = self.slice(xs, cut)?;
        let cut = self.cut(xs, &half(Some(at), None))?;
        Ok(Val::Tuple(vec![left, self.slice(xs, cut)?]))
    }

    /// `rep x`.
    pub fn rep(&mut self, x: &Val<'p>, want: Option<&Shape>) -> R<Val<'p>> {
        match known(&outer_extents(want, 1)[0]) {
            Some(n) => self.replicate(n, x),
            None => Err(self.open_size("rep", "`rep x : [n]f32`, or use `replicate`")),
        }
    }

    /// The arguments of a call. Those whose sizes are what is wanted are looked at last: their parameters' types say what
    /// the other arguments want.
    pub fn arguments(&mut self, fun: &Val<'p>, args: &'p [Expr], env: &Env<'p>) -> R<Vec<Val<'p>>> {
        let open: Vec<bool> = args.iter().map(|a| self.is_open(a)).collect();
        let mut vals = vec![None; args.len()];
        for (i, arg) in args.iter().enumerate().filter(|(i, _)| !open[*i]) {
            vals[i] = Some(self.eval(arg, env, None)?);
        }
        for (i, arg) in args.iter().enumerate().filter(|(i, _)| open[*i]) {
            let want = self.wanted_of_argument(fun, &vals, i)?;
            vals[i] = Some(self.eval(arg, env, want.as_ref())?);
        }
        Ok(vals.into_iter().flatten().collect())
    }

    /// True if an expression calls a function with sizes in its result that its arguments do not say.
    fn is_open(&self, e: &Expr) -> bool {
        let ExprKind::Apply(f, args) = &e.kind else { return false };
        let ExprKind::Def(d, _) = &f.kind else { return false };
        let def = &self.program.defs[d.0 as usize];
        let said = |l: &LocalId| def.params.iter().any(|p| names(&p.ty, *l));
        def.params.len() == args.len() && def.size_params.iter().any(|l| names(&def.ret, *l) && !said(l))
    }

    /// Expected shape of an argument, as far as the known arguments determine it.
    fn wanted_of_argument(&mut self, fun: &Val<'p>, vals: &[Option<Val<'p>>], i: usize) -> R<Option<Shape>> {
        let Val::Fun(fun) = fun else { return Ok(None) };
        let (mut fun, first) = unpack(fun.clone(), Vec::new());
        while let Fun::Sized(s) = &*fun {
            fun = s.fun.clone();
        }
        let (params, mut env): (&'p [Pat], _) = match &*fun {
            Fun::Def(d, types) => {
                let program = self.program;
                let def: &'p Def = &program.defs[d.0 as usize];
                (&def.params, def_env(def, types))
            }
            Fun::Closure(c) => (c.params, c.env.clone()),
            _ => return Ok(None),
        };
        let mut found = Vec::new();
        for (pat, val) in params.iter().zip(first.iter().map(Some).chain(vals.iter().map(Option::as_ref))) {
            val.iter().for_each(|val| mentions(val, &pat.ty, &env, &mut found));
        }
        for (name, dim) in found {
            if let (Dim::Size(n), None) = (dim, env.get(name)) {
                env.bind(name, Val::i64(n));
            }
        }
        let Some(pat) = params.get(first.len() + i) else { return Ok(None) };
        Ok(Some(self.shape(&pat.ty, &env)?).filter(is_informative))
    }

    fn open_size(&self, function: &str, example: &str) -> Box<Diagnostic> {
        let message = format!("the sizes of the result of {function} are not known here");
        let note = format!("write the type that is meant, as in {example}");
        Box::new(Diagnostic::error("E0402", message, self.span).note(note))
    }
}

/// The outermost sizes of a shape, as many as asked for.
fn outer_extents(shape: Option<&Shape>, rank: usize) -> Vec<Extent> {
    let mut extents = Vec::with_capacity(rank);
    let mut shape = shape;
    while extents.len() < rank {
        let (extent, inner) = match shape {
            Some(Shape::Array(e, inner)) => (*e, Some(&**inner)),
            _ => (Extent::Any, None),
        };
        extents.push(extent);
        shape = inner;
    }
    extents
}

fn known(extent: &Extent) -> Option<Atom> {
    match extent {
        Extent::Is(n) => Some(*n),
        _ => None,
    }
}

/// True if a dimension in a type has a size of this name.
fn names(ty: &Ty, name: LocalId) -> bool {
    match ty {
        Ty::Array(size, t) => matches!(size, Size::Local(l) if *l == name) || names(t, name),
        Ty::Unique(t) => names(t, name),
        Ty::Tuple(ts) => ts.iter().any(|t| names(t, name)),
        Ty::Record(fs) => fs.iter().any(|(_, t)| names(t, name)),
        _ => false,
    }
}
