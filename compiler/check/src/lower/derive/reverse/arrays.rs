//! Arrays of adjoints: zeros, sums, flat forms and positions in them.

use super::super::super::value::Val;
use super::{List, Lower, R, Reverse};
use par_ir::core::{Body, Exp, Lambda, Schedule};
use par_ir::prim::{BinOp, CmpOp};
use par_ir::{Atom, Dim, Prim, Scalar, Type, Var};

impl<'p> Lower<'p> {
    /// A variable as a value; a descriptor as an array of that shape without anything in it.
    pub(super) fn val_of(&self, v: Var) -> Val<'p> {
        let ty = self.type_of(v);
        let below = if ty.is_desc() {
            Val::Array(Dim::Seg(v), Box::new(Val::Tuple(Vec::new())))
        } else if ty.is_scalar() {
            Val::Scalar(v.into(), ty.prim())
        } else {
            Val::Leaf(v, ty.prim())
        };
        ty.dims.iter().rev().fold(below, |val, d| Val::Array(*d, Box::new(val)))
    }

    /// An atom at a type that has other names for the same sizes.
    pub(super) fn as_type(&mut self, a: Atom, ty: &Type) -> Atom {
        match a {
            Atom::Var(v) if !ty.is_scalar() => self.retype_var(v, ty.clone()).into(),
            a => a,
        }
    }

    /// The sum of two floats, or of two arrays of them of one shape.
    pub(super) fn plus(&mut self, a: Atom, b: Atom, ty: &Type) -> R<Atom> {
        if ty.is_scalar() {
            return Ok(self.bin(BinOp::Add, ty.prim(), a, b));
        }
        let Dim::Size(n) = ty.dims[0] else { return Err(self.internal("an outer dimension has a size")) };
        let (a, b) = (self.leaf_var(a)?, self.leaf_var(b)?);
        let arrays = [self.val_of(a), self.val_of(b)];
        let sum = self.map_over(n, &arrays, &mut |lo, rows| {
            let (x, y) = (rows[0].leaves()[0].0, rows[1].leaves()[0].0);
            let row = x.var().map_or(Type::scalar(ty.prim()), |v| lo.type_of(v).clone());
            let sum = lo.plus(x, y, &row)?;
            Ok(lo.atom_val(sum, &row))
        })?;
        let sum = self.leaf_var(sum.leaves()[0].0)?;
        Ok(self.retype_var(sum, ty.clone()).into())
    }

    /// An atom of a type as a value.
    pub(super) fn atom_val(&self, a: Atom, ty: &Type) -> Val<'p> {
        match a {
            Atom::Var(v) if !ty.is_scalar() => {
                let leaf = Val::Leaf(v, ty.prim());
                ty.dims.iter().rev().fold(leaf, |val, d| Val::Array(*d, Box::new(val)))
            }
            a => Val::Scalar(a, ty.prim()),
        }
    }

    /// The elements of an array in one dimension, and how many there are.
    pub(super) fn flat(&mut self, v: Var) -> R<(Atom, Var)> {
        let mut val = self.val_of(v);
        while matches!(&val, Val::Array(_, elem) if matches!(**elem, Val::Array(..))) {
            val = self.flatten(&val)?;
        }
        let size = self.size_of(&val)?;
        Ok((size, self.leaf_var(val.leaves()[0].0)?))
    }

    /// The number of elements of an array of a type.
    pub(super) fn flat_size(&mut self, ty: &Type) -> R<Atom> {
        let steps = self.flat_steps(ty)?;
        match steps.last().map(|dims| dims[0]) {
            Some(Dim::Size(n)) => Ok(n),
            _ => Ok(Atom::i64(1)),
        }
    }

    /// The dimensions of a type, then those with the first two joined, and so on until there is one.
    fn flat_steps(&mut self, ty: &Type) -> R<Vec<Vec<Dim>>> {
        let mut val = ty.dims.iter().rev().fold(Val::Tuple(Vec::new()), |v, d| Val::Array(*d, Box::new(v)));
        let mut steps = vec![val.dims()];
        while matches!(&val, Val::Array(_, elem) if matches!(**elem, Val::Array(..))) {
            val = self.flatten(&val)?;
            steps.push(val.dims());
        }
        Ok(steps)
    }

    /// An array of a type from its elements in one dimension.
    pub(super) fn unflat(&mut self, flat: Var, ty: &Type) -> R<Var> {
        let steps = self.flat_steps(ty)?;
        let Some((one, above)) = steps.split_last() else { return Ok(flat) };
        let flat = self.retype_var(flat, Type { dims: one.clone(), elem: ty.elem });
        Ok(above.iter().rev().fold(flat, |v, dims| {
            self.emit("d", Type { dims: dims.clone(), elem: ty.elem }, Exp::Unflatten(v))
        }))
    }

    /// `[start, start + 1, …]`.
    pub(super) fn places_from(&mut self, start: Atom, count: Atom) -> R<Var> {
        if start == Atom::i64(0) {
            return Ok(self.iota(count));
        }
        let places = Val::vector(count, self.iota(count), Prim::I64);
        let places = self.map_over(count, &[places], &mut |lo, rows| {
            let i = rows[0].leaves()[0].0;
            Ok(Val::i64(lo.add(start, i)))
        })?;
        self.leaf_var(places.leaves()[0].0)
    }

    /// A value, or an array of values, as a list of what belongs from a place on.
    pub(super) fn as_list(&mut self, start: Atom, d: Atom, ty: &Type) -> R<List> {
        if !ty.is_scalar() {
            let (count, values) = self.flat(self.leaf_var(d)?)?;
            return Ok(List { count, places: self.places_from(start, count)?, values });
        }
        Ok(self.list_of(vec![start], vec![d], ty.prim()))
    }

    /// Single values at places as a list.
    pub(super) fn list_of(&mut self, places: Vec<Atom>, values: Vec<Atom>, prim: Prim) -> List {
        let count = Atom::i64(places.len() as i64);
        let mut literal =
            |p, atoms| self.emit("list", Type::array(vec![Dim::Size(count)], p), Exp::Literal(atoms, p));
        List { count, places: literal(Prim::I64, places), values: literal(prim, values) }
    }

    /// The positions of a list, all so much further on.
    pub(super) fn moved_places(&mut self, list: List, start: Atom) -> R<Var> {
        let places = self.retype_var(list.places, Type::array(vec![Dim::Size(list.count)], Prim::I64));
        let places = Val::vector(list.count, places, Prim::I64);
        let moved = self.map_over(list.count, &[places], &mut |lo, rows| {
            let i = rows[0].leaves()[0].0;
            Ok(Val::i64(lo.add(start, i)))
        })?;
        self.leaf_var(moved.leaves()[0].0)
    }

    /// The array with values added at positions.
    pub(super) fn added_at(&mut self, flat: Var, list: List) -> R<Var> {
        let ty = self.type_of(flat).clone();
        let prim = ty.prim();
        let size = vec![Dim::Size(list.count)];
        let places = self.retype_var(list.places, Type::array(size.clone(), Prim::I64));
        let values = self.retype_var(list.values, Type::array(size, prim));
        let lam = self.identity_of(&[Type::I64, Type::scalar(prim)])?;
        let op = self.scalar_lambda(BinOp::Add, prim)?;
        let neutral = vec![Atom::Const(Scalar::zero(prim))];
        let inputs = vec![places, values];
        Ok(self.emit("d", ty, Exp::Hist { dests: vec![flat], width: list.count, inputs, lam, op, neutral }))
    }

    /// The lambda that passes scalars on.
    pub(super) fn identity_of(&mut self, types: &[Type]) -> R<Lambda> {
        let (_, params) =
            self.in_block(|lo| Ok(types.iter().map(|ty| lo.param("x", ty.clone())).collect::<Vec<_>>()))?;
        let results = params.iter().map(|p| p.var.into()).collect();
        let body = Body { stms: Vec::new(), results };
        Ok(Lambda { params, body, ret: types.to_vec(), schedule: Schedule::Free })
    }

    /// `reduce (+) 0 (map f (iota n))`, of floats.
    pub(super) fn sum_over(
        &mut self,
        n: Atom,
        prim: Prim,
        f: &mut dyn FnMut(&mut Self, Atom) -> R<Atom>,
    ) -> R<Atom> {
        let inputs = vec![self.iota(n)];
        let ty = Type::scalar(prim);
        let (block, (i, x)) = self.in_block(|lo| {
            let i = lo.param("i", Type::I64);
            let x = f(lo, i.var.into())?;
            Ok((i, x))
        })?;
        let body = Body { stms: block.stms, results: vec![x] };
        let lam = Lambda { params: vec![i], body, ret: vec![ty.clone()], schedule: Schedule::Free };
        let op = self.scalar_lambda(BinOp::Add, prim)?;
        let neutral = vec![Atom::Const(Scalar::zero(prim))];
        Ok(self.emit("d", ty, Exp::Reduce { width: n, inputs, lam, op, neutral }).into())
    }

    /// The sum of the `n` rows of an array, each of type `ty`.
    pub(super) fn sum_of_rows(&mut self, n: Atom, rows: Var, ty: &Type) -> R<Atom> {
        if ty.is_regular() || ty.is_scalar() {
            return self.column_sums(n, rows, ty, &mut Vec::new());
        }
        let size = self.flat_size(ty)?;
        let rows = self.val_of(rows);
        let flat = self.map_over(n, &[rows], &mut |lo, rows| {
            let (_, flat) = lo.flat(lo.leaf_var(rows[0].leaves()[0].0)?)?;
            let flat = lo.retype_var(flat, Type::array(vec![Dim::Size(size)], ty.prim()));
            Ok(lo.val_of(flat))
        })?;
        let flat = self.leaf_var(flat.leaves()[0].0)?;
        let sums =
            self.column_sums(n, flat, &Type::array(vec![Dim::Size(size)], ty.prim()), &mut Vec::new())?;
        Ok(self.unflat(self.leaf_var(sums)?, ty)?.into())
    }

    /// The sums over rows at the elements that begin with some indices; what is left of the type is `ty`.
    fn column_sums(&mut self, n: Atom, rows: Var, ty: &Type, at: &mut Vec<Atom>) -> R<Atom> {
        let prim = ty.prim();
        let Some((first, rest)) = ty.dims.split_first() else {
            return self.sum_over(n, prim, &mut |lo, i| {
                let indices = std::iter::once(i).chain(at.iter().copied()).collect();
                Ok(lo.emit("x", Type::scalar(prim), Exp::Index(rows, indices)).into())
            });
        };
        let Dim::Size(size) = *first else { return Err(self.internal("a regular array was expected")) };
        let columns = Val::vector(size, self.iota(size), Prim::I64);
        let rest = Type::array(rest.to_vec(), prim);
        let sums = self.map_over(size, &[columns], &mut |lo, places| {
            at.push(places[0].leaves()[0].0);
            let sum = lo.column_sums(n, rows, &rest, at)?;
            at.pop();
            Ok(lo.atom_val(sum, &rest))
        })?;
        let sums = self.leaf_var(sums.leaves()[0].0)?;
        Ok(self.retype_var(sums, ty.clone()).into())
    }

    /// Runs `f` in the block that binds a variable.
    pub(super) fn where_bound<T>(&mut self, v: Var, f: impl FnOnce(&mut Self) -> T) -> T {
        let level = self.scope.levels[v.0 as usize] as usize;
        let inner = self.scope.blocks.split_off((level + 1).min(self.scope.blocks.len()));
        let result = f(self);
        self.scope.blocks.extend(inner);
        result
    }
}

impl Reverse {
    /// The position in the flattened array of the element at some indices, or of the first one of a row.
    pub(super) fn place(&mut self, lo: &mut Lower, arr: Var, at: &[Atom]) -> R<Atom> {
        let dims = lo.type_of(arr).dims.clone();
        let mut place = at[0];
        for (i, d) in dims.iter().enumerate().skip(1) {
            let start = match d {
                Dim::Size(m) => lo.mul(place, *m),
                Dim::Seg(s) => self.start(lo, *s, place)?,
            };
            place = at.get(i).map_or(start, |i| lo.add(start, *i));
        }
        Ok(place)
    }

    /// The position at which a row of a descriptor begins, all rows flat.
    fn start(&mut self, lo: &mut Lower, s: Var, row: Atom) -> R<Atom> {
        let ends = match self.ends.get(&s) {
            Some(ends) => *ends,
            None => {
                let ends = lo.where_bound(s, |lo| lo.row_ends(s))?;
                self.ends.insert(s, ends);
                ends
            }
        };
        let later = lo.cmp(CmpOp::Lt, Atom::i64(0), row);
        lo.if_scalar(
            later,
            Prim::I64,
            &mut |lo| {
                let before = lo.sub(row, Atom::i64(1));
                Ok(lo.emit("start", Type::I64, Exp::Index(ends, vec![before])).into())
            },
            &mut |_| Ok(Atom::i64(0)),
        )
    }
}

impl<'p> Lower<'p> {
    /// The ends of a descriptor's rows.
    fn row_ends(&mut self, s: Var) -> R<Var> {
        let lens = self.lengths(s);
        let (n, lens) = self.flat(lens)?;
        self.running_sums(n, lens)
    }

    /// Inclusive sums of integers.
    pub(super) fn running_sums(&mut self, n: Atom, lens: Var) -> R<Var> {
        let lam = self.identity_of(&[Type::I64])?;
        let op = self.scalar_lambda(BinOp::Add, Prim::I64)?;
        let ty = Type::array(vec![Dim::Size(n)], Prim::I64);
        let (inputs, neutral) = (vec![lens], vec![Atom::i64(0)]);
        Ok(self.emit("ends", ty, Exp::Scan { width: n, inputs, lam, op, neutral, exclusive: false }))
    }

    /// The elements of an array from the last to the first.
    pub(super) fn reversed(&mut self, n: Atom, v: Var) -> Var {
        let last = self.sub(n, Atom::i64(1));
        let ty = self.type_of(v).clone();
        self.emit("d", ty, Exp::Slice { arr: v, start: last, len: n, stride: Atom::i64(-1) })
    }
}
