//! Data that is moved: adjoints are moved back, and added where data was copied.

use super::super::super::index::Cut;
use super::super::super::value::Val;
use super::{List, Lower, R, Reverse};
use par_ir::core::{At, Exp, Param, Stm};
use par_ir::prim::BinOp;
use par_ir::{Atom, Dim, Prim, PrimOp, Type, Var};

impl Reverse {
    pub(super) fn back_moved(&mut self, lo: &mut Lower, p: &Param, exp: &Exp, d: Atom) -> R<()> {
        if let Exp::Atom(a) = exp {
            return self.contribute(lo, *a, d);
        }
        if let Exp::Index(arr, at) = exp {
            return self.contribute_at(lo, *arr, at, d, &p.ty);
        }
        let d = lo.leaf_var(d)?;
        match exp {
            Exp::Slice { arr, start, len, stride } => {
                self.back_slice(lo, *arr, Cut { start: *start, len: *len, stride: *stride }, d)
            }
            Exp::Update { arr, at, value } => self.back_update(lo, *arr, at, *value, d),
            Exp::Replicate(n, a) => match a.var() {
                Some(v) => {
                    let ty = lo.type_of(v).clone();
                    let sum = lo.sum_of_rows(*n, d, &ty)?;
                    self.contribute(lo, *a, sum)
                }
                None => Ok(()),
            },
            Exp::Literal(atoms, _) => {
                for (i, a) in atoms.iter().enumerate() {
                    if let Some(v) = a.var().filter(|v| self.active.contains(v)) {
                        let ty = lo.type_of(v).clone();
                        let row = lo.emit("d", ty, Exp::Index(d, vec![Atom::i64(i as i64)]));
                        self.contribute(lo, *a, row.into())?;
                    }
                }
                Ok(())
            }
            Exp::Concat(parts) => self.back_concat(lo, parts, d),
            Exp::Flatten(v) => {
                let ty = lo.type_of(*v).clone();
                let back = lo.emit("d", ty, Exp::Unflatten(d));
                self.contribute(lo, (*v).into(), back.into())
            }
            Exp::Unflatten(v) => {
                let ty = lo.type_of(*v).clone();
                let back = lo.emit("d", ty, Exp::Flatten(d));
                self.contribute(lo, (*v).into(), back.into())
            }
            _ => Err(lo.internal("a statement that moves data was expected")),
        }
    }

    pub(super) fn back_slice(&mut self, lo: &mut Lower, arr: Var, cut: Cut, d: Var) -> R<()> {
        if !self.active.contains(&arr) {
            return Ok(());
        }
        let arr = self.original_here(arr);
        let ty = lo.type_of(arr).clone();
        if ty.is_regular() && self.scope().own.contains(&arr) && !self.is_shared(arr) {
            let so_far = self.scope().adjoints.get(&arr).and_then(|d| d.var());
            if let Some(parts) = so_far.and_then(|all| lo.halves(all, cut, d)) {
                let both = lo.emit("d", ty, Exp::Concat(parts));
                self.scope().adjoints.insert(arr, both.into());
                return Ok(());
            }
            let Cut { start, len, stride } = cut;
            let part = lo.type_of(d).clone();
            let slice = |arr| Exp::Slice { arr, start, len, stride };
            let (all, value) = self.with_part(lo, arr, (d.into(), &part), &slice)?;
            let at = vec![At::Slice { start, stride }];
            let new = lo.emit("d", ty, Exp::Update { arr: all, at, value });
            self.scope().adjoints.insert(arr, new.into());
            return Ok(());
        }
        // Positions of all that was taken.
        let rows = [Val::vector(cut.len, lo.iota(cut.len), Prim::I64), lo.val_of(d)];
        let all = lo.map_over(cut.len, &rows, &mut |lo, rows| {
            let step = lo.mul(rows[0].leaves()[0].0, cut.stride);
            let row = lo.add(cut.start, step);
            let place = self.place(lo, arr, &[row])?;
            let value = rows[1].leaves()[0].0;
            match value.var().filter(|v| !lo.type_of(*v).is_scalar()) {
                None => Ok(Val::Tuple(vec![Val::i64(place), Val::Scalar(value, ty.prim())])),
                Some(v) => {
                    let (count, values) = lo.flat(v)?;
                    let places = lo.places_from(place, count)?;
                    Ok(lo.list_val(List { count, places, values }))
                }
            }
        })?;
        let all = if all.dims().len() > 1 { lo.flatten(&all)? } else { all };
        let leaves = all.leaves();
        let (places, values) = (lo.leaf_var(leaves[0].0)?, lo.leaf_var(leaves[1].0)?);
        self.contribute_list(lo, arr, List { count: lo.size_of(&all)?, places, values })
    }

    fn back_update(&mut self, lo: &mut Lower, arr: Var, at: &[At], value: Atom, d: Var) -> R<()> {
        let ty = match value {
            Atom::Var(v) => lo.type_of(v).clone(),
            Atom::Const(_) => Type::scalar(lo.type_of(arr).prim()),
        };
        if self.is_active(value) {
            let part = lo.part_of(d, at, &ty)?;
            self.contribute(lo, value, part)?;
        }
        if self.active.contains(&arr) {
            let zeros = lo.zeros(&ty)?;
            let all = lo.type_of(arr).clone();
            let d = lo.retype_var(d, all.clone());
            let rest = lo.emit("d", all, Exp::Update { arr: d, at: at.to_vec(), value: zeros });
            self.contribute(lo, arr.into(), rest.into())?;
        }
        Ok(())
    }

    fn back_concat(&mut self, lo: &mut Lower, parts: &[Var], d: Var) -> R<()> {
        let mut start = Atom::i64(0);
        let all = lo.val_of(d);
        for v in parts {
            let Dim::Size(len) = lo.type_of(*v).dims[0] else {
                return Err(lo.internal("an outer dimension has a size"));
            };
            if self.active.contains(v) {
                let part = lo.slice(&all, Cut { start, len, stride: Atom::i64(1) })?;
                self.contribute(lo, (*v).into(), part.leaves()[0].0)?;
            }
            start = lo.add(start, len);
        }
        Ok(())
    }
}

/// Statements among which the one that made an adjoint is looked for.
const NEAR: usize = 64;

impl Lower<'_> {
    /// The two parts that an array has, if it is zero but for one that was stored, and the cut, with these elements, is the other one: of arrays
    /// that are divided, as in `f xs[:k] + f xs[k:]`.
    fn halves(&mut self, all: Var, cut: Cut, part: Var) -> Option<Vec<Var>> {
        let Some(Exp::Update { arr, at, value: Atom::Var(stored) }) = self.made_by(all) else { return None };
        let [At::Slice { start, stride }] = at[..] else { return None };
        let (zero, one) = (Atom::i64(0), Atom::i64(1));
        let Dim::Size(stored_len) = *self.type_of(stored).dims.first()? else { return None };
        let Dim::Size(n) = *self.type_of(all).dims.first()? else { return None };
        if stride != one || cut.stride != one || !self.is_zeros(arr) {
            return None;
        }
        if cut.start == zero && cut.len == start && self.is_rest(stored_len, n, start) {
            return Some(vec![part, stored]);
        }
        (start == zero && stored_len == cut.start && self.is_rest(cut.len, n, cut.start))
            .then(|| vec![stored, part])
    }

    /// True for what is left of a size.
    fn is_rest(&self, rest: Atom, all: Atom, first: Atom) -> bool {
        let difference = Exp::Prim(PrimOp::Bin(BinOp::Sub, Prim::I64), vec![all, first]);
        let is_it = |s: &Stm| s.exp == difference && s.pat.iter().any(|p| Atom::Var(p.var) == rest);
        self.scope.blocks.iter().any(|b| b.stms.iter().any(is_it))
    }

    /// The expression of a variable that was bound a short while ago.
    fn made_by(&self, v: Var) -> Option<Exp> {
        let stms = &self.scope.blocks.last()?.stms;
        let made = stms.iter().rev().take(NEAR).find(|s| s.pat.len() == 1 && s.pat[0].var == v)?;
        Some(made.exp.clone())
    }

    fn is_zeros(&self, v: Var) -> bool {
        match self.made_by(v) {
            Some(Exp::Replicate(_, Atom::Const(x))) => x == par_ir::Scalar::zero(x.prim()),
            Some(Exp::Replicate(_, Atom::Var(row))) => self.is_zeros(row),
            _ => false,
        }
    }

    /// The part of an array that an update replaces by a value of type `ty`.
    fn part_of(&mut self, arr: Var, at: &[At], ty: &Type) -> R<Atom> {
        if let Some(indices) = At::only_indices(at) {
            return Ok(self.emit("d", ty.clone(), Exp::Index(arr, indices)).into());
        }
        let Some((first, rest)) = at.split_first() else { return Ok(arr.into()) };
        match first {
            At::Index(i) => {
                let mut row = self.type_of(arr).clone();
                row.dims.remove(0);
                let row = self.emit("d", row, Exp::Index(arr, vec![*i]));
                self.part_of(row, rest, ty)
            }
            At::Slice { start, stride } => {
                let Dim::Size(len) = ty.dims[0] else {
                    return Err(self.internal("an outer dimension has a size"));
                };
                let mut part = self.type_of(arr).clone();
                part.dims[0] = ty.dims[0];
                let slice = Exp::Slice { arr, start: *start, len, stride: *stride };
                let slice = self.emit("d", part, slice);
                if rest.is_empty() {
                    return Ok(slice.into());
                }
                let mut row = ty.clone();
                row.dims.remove(0);
                let rows = self.val_of(slice);
                let all = self.map_over(len, &[rows], &mut |lo, rows| {
                    let part = lo.leaf_var(rows[0].leaves()[0].0)?;
                    let part = lo.part_of(part, rest, &row)?;
                    Ok(lo.atom_val(part, &row))
                })?;
                Ok(all.leaves()[0].0)
            }
        }
    }
}
