//! Buffers, the names of their content, and what is written to them.

use super::{Generator, Places, Region};
use par_ir::build::Statements;
use par_ir::core::{At, Exp, Param};
use par_ir::loops::Loop;
use par_ir::prim::BinOp;
use par_ir::{Atom, Dim, Type, Var};

impl Generator<'_> {
    /// A new name for the content of an array, under which it is written to.
    pub(super) fn name(&mut self, ty: &Type, v: Var, out: &mut Statements) -> Var {
        let (name, ty) = (self.vars.fresh_like(v), self.roomy(ty));
        self.names.insert(name, ty.clone());
        out.bind(vec![Param { var: name, ty }], Exp::Atom(v.into()));
        name
    }

    /// The type with room for all sizes of the state.
    pub(super) fn roomy(&self, ty: &Type) -> Type {
        let first = |d: &Dim| match d {
            Dim::Size(Atom::Var(v)) => self.shrinking.get(v).map_or(*d, |n| Dim::Size(*n)),
            d => *d,
        };
        Type { dims: ty.dims.iter().map(first).collect(), ..ty.clone() }
    }

    /// The elements of an array, without the unused capacity behind them.
    pub(super) fn exact(&mut self, a: Atom, out: &mut Statements) -> Atom {
        let Some((v, ty)) = a.var().and_then(|v| Some((v, self.type_of(v)?.clone()))) else { return a };
        let Some(Dim::Size(len)) = ty.dims.first().copied() else { return a };
        if self.roomy(&ty) == ty {
            return a;
        }
        let part = Param { var: self.vars.fresh_like(v), ty };
        self.note(&part);
        out.bind(vec![part.clone()], Exp::Slice { arr: v, start: Atom::i64(0), len, stride: Atom::i64(1) });
        part.var.into()
    }

    /// Says that a buffer's content is a version from here on.
    pub(super) fn mark(&mut self, buffer: Var, version: Var, out: &mut Statements) {
        if let Some(ty) = self.names.get(&buffer).cloned() {
            out.bind(vec![Param { var: buffer, ty }], Exp::Atom(version.into()));
        }
    }

    /// Names the content of a buffer.
    pub(super) fn alias(&mut self, p: &Param, name: Var, out: &mut Statements) {
        out.bind(vec![p.clone()], Exp::Atom(name.into()));
        let own = self.owned.get(&name).copied().unwrap_or(name);
        self.owned.insert(p.var, own);
        if own != name {
            self.mark(own, p.var, out);
        }
    }

    /// Destinations of arrays: the requested regions, or new buffers, which are listed. `None`: a new buffer would be ragged.
    pub(super) fn places(&mut self, pat: &[Param], dests: Vec<Option<Region>>) -> Option<Places> {
        let (mut places, mut new) = (Vec::new(), Vec::new());
        for (p, dest) in pat.iter().zip(dests) {
            places.push(match dest {
                Some(region) => region,
                None => {
                    let buffer = self.buffer(&p.ty, p.var)?;
                    new.push((p.clone(), buffer));
                    Region::whole(buffer)
                }
            });
        }
        Some((places, new))
    }

    pub(super) fn aliases(&mut self, new: Vec<(Param, Var)>, out: &mut Statements) {
        new.into_iter().for_each(|(p, buffer)| self.alias(&p, buffer, out));
    }

    /// A buffer. Where its size is not known before the loop it has room enough for all iterations.
    pub(super) fn buffer(&mut self, ty: &Type, like: Var) -> Option<Var> {
        let dims = ty.dims.iter().map(|d| self.room(d)).collect::<Option<_>>()?;
        let ty = Type { dims, ..ty.clone() };
        let var = self.vars.fresh_like(like);
        self.buffers.push(Param { var, ty: ty.clone() });
        self.names.insert(var, ty);
        Some(var)
    }

    pub(super) fn room(&mut self, d: &Dim) -> Option<Dim> {
        let Dim::Size(size) = *d else { return None };
        let Some(v) = size.var().filter(|v| self.inside.contains(v)) else { return Some(*d) };
        if let Some(first) = self.shrinking.get(&v) {
            return Some(Dim::Size(*first));
        }
        if let Some((_, cap)) = self.caps.iter().find(|c| c.0 == v) {
            return Some(Dim::Size((*cap).into()));
        }
        let cap = self.vars.fresh("room");
        self.caps.push((v, cap));
        Some(Dim::Size(cap.into()))
    }

    pub(super) fn note(&mut self, p: &Param) {
        if !p.ty.is_scalar() {
            self.types.insert(p.var, p.ty.clone());
        }
    }

    pub(super) fn type_of(&self, v: Var) -> Option<&Type> {
        self.types.get(&v).or_else(|| self.outside.get(&v)).or_else(|| self.names.get(&v))
    }

    /// An array that may be changed: itself, if it is a version of one, or a copy.
    pub(super) fn changeable(&mut self, v: Var, ty: &Type, out: &mut Statements) -> Option<Var> {
        if self.owned.contains_key(&v) {
            return Some(v);
        }
        let buffer = self.buffer(ty, v)?;
        self.write(&Region::whole(buffer), v.into(), out)?;
        let copy = Param { var: self.vars.fresh_like(v), ty: ty.clone() };
        self.note(&copy);
        self.alias(&copy, buffer, out);
        Some(copy.var)
    }

    /// Binds the next version of an array.
    pub(super) fn version(&mut self, p: &Param, of: Var, exp: Exp, out: &mut Statements) {
        out.bind(vec![p.clone()], exp);
        self.is_version(p.var, of, out);
    }

    pub(super) fn is_version(&mut self, v: Var, of: Var, out: &mut Statements) {
        if let Some(own) = self.owned.get(&of).copied() {
            self.owned.insert(v, own);
            self.mark(own, v, out);
        }
    }

    /// Writes a value to a region.
    pub(super) fn write(&mut self, to: &Region, a: Atom, out: &mut Statements) -> Option<()> {
        if a.var().is_some_and(|v| self.regions.get(&v) == Some(to)) {
            return Some(());
        }
        match to.at.is_empty() {
            true => self.copy(to, a.var()?, Atom::i64(0), out),
            false => self.put(to.buffer, At::indices(&to.at), a, out),
        }
    }

    /// Writes a row or an element of a buffer.
    pub(super) fn put(&mut self, buffer: Var, at: Vec<At>, value: Atom, out: &mut Statements) -> Option<()> {
        let next = Param { var: self.vars.fresh_like(buffer), ty: self.names.get(&buffer)?.clone() };
        let value = self.exact(value, out);
        out.bind(vec![next.clone()], Exp::Update { arr: buffer, at, value });
        Some(())
    }

    /// Writes the rows of an array to a region, from an index on.
    pub(super) fn copy(&mut self, to: &Region, v: Var, first: Atom, out: &mut Statements) -> Option<()> {
        let ty = self.type_of(v)?.clone();
        let Dim::Size(n) = ty.dims[0] else { return None };
        let row = Param { var: self.vars.fresh_like(v), ty: Type { dims: ty.dims[1..].to_vec(), ..ty } };
        self.note(&row);
        let mut rows = Loop::new(out.span, self.vars);
        rows.code.index(row.clone(), v, vec![rows.index.into()]);
        let i = match first {
            first if first == Atom::i64(0) => rows.index,
            first => rows.code.arith("i", BinOp::Add, first, rows.index.into(), self.vars).var()?,
        };
        self.write(&to.row(i), row.var.into(), &mut rows.code)?;
        out.stms.push(rows.finish(n, vec![], vec![]));
        Some(())
    }

    pub(super) fn concat(&mut self, to: &Region, arrs: &[Var], out: &mut Statements) -> Option<()> {
        let mut first = Atom::i64(0);
        for v in arrs {
            let Dim::Size(n) = self.type_of(*v)?.dims[0] else { return None };
            self.copy(to, *v, first, out)?;
            first = out.arith("i", BinOp::Add, first, n, self.vars);
        }
        Some(())
    }
}
