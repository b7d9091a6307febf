//! Reading and changing elements of arrays that were scalarised.
//!
//! ```text
//! let x = v[1]                 x is v1
//! let x = v[i]                 let c1 = i == 1  let a = select c1 v1 v0  let c2 = i == 2  let x = select c2 v2 a
//! let w = v with [i] = x       w0 = select (i == 0) x v0, …
//! ```

use super::{Tiny, leaves, sizes};
use crate::core::{At, Exp, Param, Stm};
use crate::prim::{CmpOp, PrimOp};
use crate::tuning;
use crate::ty::{Atom, Type, Var};
use par_runtime::{Prim, Scalar, Span};

impl Tiny<'_> {
    /// An element or row.
    pub(super) fn index(
        &mut self,
        p: &Param,
        arr: Var,
        indices: &[Atom],
        span: Span,
        out: &mut Vec<Stm>,
    ) -> Option<()> {
        let indices: Vec<Atom> = indices.iter().map(|a| self.atom(*a)).collect();
        let ty = self.types[&p.var].clone();
        let is_small = ty.is_scalar() || sizes(&ty, tuning::TINY_ELEMENTS).is_some();
        if is_small && let Some(parts) = self.parts.get(&arr).cloned() {
            let sizes = sizes(self.types.get(&arr)?, tuning::TINY_ELEMENTS)?;
            let mut picked = self.pick(&parts, &sizes, &indices, span, out);
            // Nothing is picked from nothing: that is behind a check that fails.
            picked.resize(leaves(&p.ty), Atom::Const(Scalar::zero(p.ty.prim())));
            return self.found(p, picked);
        }
        let (arr, indices) = match self.views.get(&arr) {
            Some((base, before)) => (*base, [before.as_slice(), &indices].concat()),
            // An array without elements may have large rows.
            None if self.strict && self.parts.contains_key(&arr) => return None,
            None => (self.whole(arr.into(), out, span).var()?, indices),
        };
        if self.strict && !ty.is_scalar() {
            self.views.insert(p.var, (arr, indices));
            return Some(());
        }
        out.push(Stm { pat: vec![Param { var: p.var, ty }], exp: Exp::Index(arr, indices), span });
        Some(())
    }

    /// Binds a variable to a scalar or to the elements of an array.
    pub(super) fn found(&mut self, p: &Param, parts: Vec<Atom>) -> Option<()> {
        if p.ty.is_scalar() {
            self.subst.insert(p.var, *parts.first()?);
        } else {
            self.parts.insert(p.var, parts);
        }
        Some(())
    }

    /// The elements at these indices of an array of these sizes.
    fn pick(
        &mut self,
        parts: &[Atom],
        sizes: &[usize],
        indices: &[Atom],
        span: Span,
        out: &mut Vec<Stm>,
    ) -> Vec<Atom> {
        let (Some((n, inner)), Some((index, rest))) = (sizes.split_first(), indices.split_first()) else {
            return parts.to_vec();
        };
        let chunk: usize = inner.iter().product();
        let mut rows = parts.chunks(chunk.max(1)).take(*n);
        if let Some(i) = index.as_i64() {
            let row = usize::try_from(i).ok().and_then(|i| rows.clone().nth(i));
            // An index that is outside is behind a check that fails.
            return self.pick(row.or(rows.next()).unwrap_or_default(), inner, rest, span, out);
        }
        let Some(first) = rows.next() else { return parts.to_vec() };
        let mut found = self.pick(first, inner, rest, span, out);
        for (i, row) in (1..).zip(rows) {
            let row = self.pick(row, inner, rest, span, out);
            let here = self.is_index(*index, i, span, out);
            found = self.choose(here, &row, &found, span, out);
        }
        found
    }

    fn is_index(&mut self, index: Atom, i: i64, span: Span, out: &mut Vec<Stm>) -> Atom {
        let exp = Exp::Prim(PrimOp::Cmp(CmpOp::Eq, Prim::I64), vec![index, Atom::i64(i)]);
        let like = self.vars.fresh("here");
        self.bind(like, Type::BOOL, exp, span, out)
    }

    /// One of two lists of elements.
    pub(super) fn choose(
        &mut self,
        here: Atom,
        then: &[Atom],
        other: &[Atom],
        span: Span,
        out: &mut Vec<Stm>,
    ) -> Vec<Atom> {
        let mut select = |(a, b): (&Atom, &Atom)| {
            if a == b {
                return *a;
            }
            let prim = self.prim_of(*a);
            let like = self.vars.fresh("picked");
            let exp = Exp::Prim(PrimOp::Select(prim), vec![here, *a, *b]);
            self.bind(like, Type::scalar(prim), exp, span, out)
        };
        then.iter().zip(other).map(&mut select).collect()
    }

    fn prim_of(&self, a: Atom) -> Prim {
        match a {
            Atom::Const(c) => c.prim(),
            Atom::Var(v) => self.types.get(&v).map(Type::prim).expect("types of all variables are noted"),
        }
    }

    /// `arr with [indices] = value`: of a small array its elements; to a larger one a small row is written element by element.
    pub(super) fn update(
        &mut self,
        stm: &Stm,
        arr: Var,
        indices: &[Atom],
        value: Atom,
        out: &mut Vec<Stm>,
    ) -> Option<()> {
        let p = &stm.pat[0];
        let Some(sizes) = self.sizes(&p.ty) else { return self.update_large(stm, arr, indices, value, out) };
        let parts = self.elements(arr, out, stm.span)?;
        let value = self.element_list(value, out, stm.span)?;
        let indices: Vec<Atom> = indices.iter().map(|a| self.atom(*a)).collect();
        let parts = self.replaced(&parts, &sizes, &indices, &value, stm.span, out);
        self.taken = true;
        self.found(p, parts)
    }

    /// The elements with those at the indices replaced.
    fn replaced(
        &mut self,
        parts: &[Atom],
        sizes: &[usize],
        indices: &[Atom],
        value: &[Atom],
        span: Span,
        out: &mut Vec<Stm>,
    ) -> Vec<Atom> {
        let (Some((n, inner)), Some((index, rest))) = (sizes.split_first(), indices.split_first()) else {
            return value.to_vec();
        };
        let chunk: usize = inner.iter().product();
        let mut all = Vec::new();
        for i in 0..*n {
            let row = &parts[i * chunk..(i + 1) * chunk];
            match index.as_i64() {
                Some(at) if at == i as i64 => all.extend(self.replaced(row, inner, rest, value, span, out)),
                Some(_) => all.extend(row),
                None => {
                    let new = self.replaced(row, inner, rest, value, span, out);
                    let here = self.is_index(*index, i as i64, span, out);
                    all.extend(self.choose(here, &new, row, span, out));
                }
            }
        }
        all
    }

    fn update_large(
        &mut self,
        stm: &Stm,
        arr: Var,
        indices: &[Atom],
        value: Atom,
        out: &mut Vec<Stm>,
    ) -> Option<()> {
        let sizes = value.var().filter(|v| self.parts.contains_key(v)).and_then(|v| {
            let ty = self.types.get(&v)?.clone();
            self.sizes(&ty)
        });
        let [n] = sizes.as_deref().unwrap_or_default() else { return self.keep(stm, out) };
        let parts = self.element_list(value, out, stm.span)?;
        let indices: Vec<Atom> = indices.iter().map(|a| self.atom(*a)).collect();
        let (p, mut before) = (&stm.pat[0], self.atom(arr.into()).var()?);
        let ty = self.types[&p.var].clone();
        if *n == 0 {
            return self.keep(stm, out);
        }
        for (i, value) in parts.into_iter().enumerate() {
            let indices = [indices.as_slice(), &[Atom::i64(i as i64)]].concat();
            let var = if i + 1 == *n { p.var } else { self.vars.fresh_like(p.var) };
            let exp = Exp::Update { arr: before, at: At::indices(&indices), value };
            self.push(Stm { pat: vec![Param { var, ty: ty.clone() }], exp, span: stm.span }, out)?;
            before = var;
        }
        Some(())
    }
}
