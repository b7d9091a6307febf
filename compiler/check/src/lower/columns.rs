//! Reductions and scans of rows by operators that work element by element: every column is reduced, or scanned, by itself.
//!
//! ```text
//! reduce (map2 (+)) (replicate m 0) (xs : [n][m]f64)
//!
//! map m (iota m) \ j ->
//!     reduce n (iota n) (\ i -> xs[i, j]) op (+) neutral 0
//! ```
//!
//! The same goes for matrices, and arrays of more dimensions. A scan's result is transposed back. A histogram of rows is a histogram of their elements. Elements may be tuples of
//! rows of one length. Other operators on rows are applied in rounds, see [`super::reduce`].

use super::small::with_components;
use super::value::Val;
use super::{Lower, R};
use par_ir::core::{Body, Exp, Lambda, Param, Schedule, Stm};
use par_ir::hash::HashMap;
use par_ir::prim::CmpOp;
use par_ir::visit::Code;
use par_ir::{Atom, Dim, Prim, Type, Var};

/// Columns to be reduced.
struct Columns {
    /// Number of columns in each dimension.
    dims: Vec<Atom>,
    /// The arrays of rows.
    rows: Vec<Var>,
    op: Lambda,
    neutral: Vec<Atom>,
}

impl<'p> Lower<'p> {
    /// `reduce op ne arr`, if `op` works element by element, and all elements of `ne` are the same.
    pub fn reduce_columns(&mut self, op: &Val<'p>, ne: &Val<'p>, arr: &Val<'p>) -> R<Option<Val<'p>>> {
        let n = self.size_of(arr)?;
        let reduce = |(inputs, lam), op, neutral| Exp::Reduce { width: n, inputs, lam, op, neutral };
        let Some(leaves) = self.by_column((op, ne, arr), &[], &reduce)? else { return Ok(None) };
        Ok(Some(with_components(ne, &mut leaves.into_iter())))
    }

    /// `scan op ne arr`, `exscan op ne arr`, under the same conditions.
    pub fn scan_columns(
        &mut self,
        op: &Val<'p>,
        ne: &Val<'p>,
        arr: &Val<'p>,
        exclusive: bool,
    ) -> R<Option<Val<'p>>> {
        let n = self.size_of(arr)?;
        let scan = |(inputs, lam), op, neutral| Exp::Scan { width: n, inputs, lam, op, neutral, exclusive };
        let Some(leaves) = self.by_column((op, ne, arr), &[Dim::Size(n)], &scan)? else { return Ok(None) };
        let mut rows = Vec::new();
        for leaf in leaves {
            let ty = self.type_of(self.leaf_var(leaf)?).clone();
            let column = Val::Array(ty.dims[1], Box::new(Val::Scalar(leaf, ty.prim())));
            let columns = Val::Array(ty.dims[0], Box::new(column));
            rows.extend(self.transpose(&columns)?.leaves().into_iter().map(|l| l.0));
        }
        self.with_leaves(arr, rows).map(Some)
    }

    /// A map over columns of an operation on elements, which `make` builds. Its results for a column have dimensions `dims`.
    fn by_column(
        &mut self,
        (op, ne, arr): (&Val<'p>, &Val<'p>, &Val<'p>),
        dims: &[Dim],
        make: &dyn Fn((Vec<Var>, Lambda), Lambda, Vec<Atom>) -> Exp,
    ) -> R<Option<Vec<Atom>>> {
        let n = self.size_of(arr)?;
        let Some(columns) = self.columns(op, ne, arr)? else { return Ok(None) };
        if columns.dims.len() > 1 && !dims.is_empty() {
            return Ok(None);
        }
        let elements = columns.op.ret.clone();
        let ret: Vec<Type> = elements.iter().map(|ty| Type::array(dims.to_vec(), ty.prim())).collect();
        let Columns { dims, rows, op, neutral } = columns;
        let of_column = &mut |lo: &mut Self, at: &[Atom]| {
            let (lam, is) = (lo.elements_of_column(&rows, at, &elements)?, lo.iota(n));
            let pat: Vec<Param> = ret.iter().map(|ty| lo.param("r", ty.clone())).collect();
            let results = pat.iter().map(|p| Atom::Var(p.var)).collect();
            lo.push(pat, make((vec![is], lam), op.clone(), neutral.clone()));
            Ok(results)
        };
        self.over_columns(&dims, &mut Vec::new(), &ret, of_column).map(Some)
    }

    /// Maps over all dimensions of columns, with the results of `make`, of types `ret`, for the indices of each.
    fn over_columns<F: FnMut(&mut Self, &[Atom]) -> R<Vec<Atom>>>(
        &mut self,
        dims: &[Atom],
        at: &mut Vec<Atom>,
        ret: &[Type],
        make: &mut F,
    ) -> R<Vec<Atom>> {
        let Some((width, inner)) = dims.split_first() else { return make(self, at) };
        let js = self.iota(*width);
        let (block, (j, results)) = self.in_block(|lo| {
            let j = lo.param("j", Type::I64);
            at.push(j.var.into());
            let results = lo.over_columns(inner, at, ret, make)?;
            at.pop();
            Ok((j, results))
        })?;
        let of = |dims: &[Atom], ty: &Type| {
            let sizes = dims.iter().map(|n| Dim::Size(*n)).chain(ty.dims.iter().copied());
            Type::array(sizes.collect(), ty.prim())
        };
        let body = Body { stms: block.stms, results };
        let rows = ret.iter().map(|ty| of(inner, ty)).collect();
        let lam = Lambda { params: vec![j], body, ret: rows, schedule: Schedule::Free };
        let pat: Vec<Param> = ret.iter().map(|ty| self.param("r", of(dims, ty))).collect();
        let results = pat.iter().map(|p| p.var.into()).collect();
        self.push(pat, Exp::Map { width: *width, inputs: vec![js], lam });
        Ok(results)
    }

    /// `reduce_by_index dest op ne is vs`, under the same conditions: one histogram of the elements of all rows.
    ///
    /// ```text
    /// unflatten k m (reduce_by_index (flatten dest) (+) 0 (flatten (map (\i -> map (\j -> i * m + j) (iota m)) is)) (flatten vs))
    /// ```
    pub fn hist_columns(
        &mut self,
        dest: &Val<'p>,
        (op, ne): (&Val<'p>, &Val<'p>),
        is: &Val<'p>,
        vs: &Val<'p>,
    ) -> R<Option<Val<'p>>> {
        let Some(Columns { dims, op, neutral, .. }) = self.columns(op, ne, vs)? else { return Ok(None) };
        let [width] = dims[..] else { return Ok(None) };
        let used = op.free().into_iter().chain(neutral.iter().filter_map(|a| a.var()));
        if used.into_iter().any(|v| self.may_vary(v)) {
            return Ok(None);
        }
        let (n, arrays) = self.together(vec![is.clone(), vs.clone()], "the arguments of reduce_by_index")?;
        let k = self.size_of(dest)?;
        let places = self.map_over(n, &arrays[..1], &mut |lo, row| lo.places_of_row(&row[0], k, width))?;
        let places = self.flatten(&places)?;
        let values = self.flatten(&rows_of_elements(&arrays[1], width))?;
        let flat = self.flatten(&rows_of_elements(dest, width))?;
        let hist = self.histogram(&flat, (op, neutral), places, values)?;
        let hist = self.split_outer(&hist, Dim::Size(k), Dim::Size(width))?;
        self.with_leaves(dest, hist.leaves().iter().map(|l| l.0).collect()).map(Some)
    }

    /// The places of a row's elements, by its index among `k` rows; nowhere if there is no such row.
    fn places_of_row(&mut self, index: &Val<'p>, k: Atom, width: Atom) -> R<Val<'p>> {
        let Val::Scalar(i, _) = *index else { return Err(self.internal("an index is a scalar")) };
        let (above, below) = (self.cmp(CmpOp::Le, Atom::i64(0), i), self.cmp(CmpOp::Lt, i, k));
        let (inside, start) = (self.and(above, below), self.mul(i, width));
        // A place of a row that is nowhere is negative, whatever its column.
        let start = self.select(Prim::I64, inside, start, Atom::i64(i64::MIN / 2));
        let columns = Val::vector(width, self.iota(width), Prim::I64);
        self.map_over(width, &[columns], &mut |lo, column| {
            let Val::Scalar(j, _) = column[0] else { return Err(lo.internal("an index is a scalar")) };
            Ok(Val::i64(lo.add(start, j)))
        })
    }

    /// The elements of a column at the index of a row.
    fn elements_of_column(&mut self, rows: &[Var], column: &[Atom], ret: &[Type]) -> R<Lambda> {
        let (block, (i, results)) = self.in_block(|lo| {
            let i = lo.param("i", Type::I64);
            let at = [&[i.var.into()], column].concat();
            let element =
                |(v, ty): (&Var, &Type)| lo.emit("x", ty.clone(), Exp::Index(*v, at.clone())).into();
            let results: Vec<Atom> = rows.iter().zip(ret).map(element).collect();
            Ok((i, results))
        })?;
        let body = Body { stms: block.stms, results };
        Ok(Lambda { params: vec![i], body, ret: ret.to_vec(), schedule: Schedule::Free })
    }

    fn columns(&mut self, op: &Val<'p>, ne: &Val<'p>, arr: &Val<'p>) -> R<Option<Columns>> {
        let (own, elems) = (ne.leaves(), arr.leaves());
        let rows: Vec<Var> = elems.iter().map(|l| self.leaf_var(l.0)).collect::<R<_>>()?;
        let firsts: Vec<Var> = own.iter().filter_map(|l| l.0.var()).collect();
        let types: Vec<Type> = firsts.iter().map(|v| self.type_of(*v).clone()).collect();
        let row = types.first().map(|ty| ty.dims.clone()).unwrap_or_default();
        let size = |dim: &Dim| if let Dim::Size(n) = dim { Some(*n) } else { None };
        let dims: Option<Vec<Atom>> = row.iter().map(size).collect();
        let Some(dims) = dims.filter(|dims| !dims.is_empty()) else { return Ok(None) };
        let fits = |(v, ty): (&Var, &Type)| {
            let whole = self.type_of(*v);
            ty.dims == row && whole.dims.get(1..) == Some(&ty.dims[..]) && whole.prim() == ty.prim()
        };
        let all = firsts.len() == own.len() && own.len() == rows.len();
        if !all || !rows.iter().zip(&types).all(fits) {
            return Ok(None);
        }
        let Some(neutral) = firsts.iter().map(|v| self.repeated(*v)).collect::<Option<Vec<Atom>>>() else {
            return Ok(None);
        };
        let op = self.operator_on_columns(op, ne, &types)?;
        Ok(op.map(|op| Columns { dims, rows, op, neutral }))
    }

    /// The scalar of which all elements of an array are copies, if that is known.
    fn repeated(&self, array: Var) -> Option<Atom> {
        let stms = self.scope.blocks.iter().rev().flat_map(|b| b.stms.iter().rev());
        let mut binding = stms.filter(|s| s.pat.iter().any(|p| p.var == array));
        match binding.next()?.exp {
            Exp::Replicate(_, Atom::Var(v)) if !self.type_of(v).is_scalar() => self.repeated(v),
            Exp::Replicate(_, x) => Some(x),
            _ => None,
        }
    }

    /// The operator on the scalars of a column, if it is nothing but maps over both operands and scalar code.
    fn operator_on_columns(&mut self, op: &Val<'p>, ne: &Val<'p>, types: &[Type]) -> R<Option<Lambda>> {
        let (block, params, results) = self.operator_on_operands(op, ne, types)?;
        let scalars = params.iter().map(|p| self.param("x", Type::scalar(p.ty.prim()))).collect::<Vec<_>>();
        let mut of_column: HashMap<Var, Atom> =
            params.iter().zip(&scalars).map(|(p, x)| (p.var, x.var.into())).collect();
        let dims = types[0].dims.clone();
        let mut stms = Vec::new();
        for stm in block {
            let Some(more) = of_one_column(stm, &dims, &mut of_column) else { return Ok(None) };
            stms.extend(more);
        }
        let column = |a: &Atom| of_column.get(&a.var()?).copied();
        let Some(results) = results.iter().map(column).collect::<Option<Vec<Atom>>>() else {
            return Ok(None);
        };
        let ret: Vec<Type> = types.iter().map(|ty| Type::scalar(ty.prim())).collect();
        let op = Lambda { params: scalars, body: Body { stms, results }, ret, schedule: Schedule::Free };
        Ok((op.body.results.len() == types.len() && op.is_scalar()).then_some(op))
    }
}

/// An array whose elements are rows of one length, or consist of such, as one of rows of elements.
fn rows_of_elements<'p>(array: &Val<'p>, width: Atom) -> Val<'p> {
    fn element<'p>(val: &Val<'p>) -> Val<'p> {
        match val {
            Val::Array(_, e) => (**e).clone(),
            Val::Tuple(vs) => Val::Tuple(vs.iter().map(element).collect()),
            Val::Record(fs) => Val::Record(fs.iter().map(|(n, v)| (n.clone(), element(v))).collect()),
            other => other.clone(),
        }
    }
    match array {
        Val::Array(n, e) => Val::Array(*n, Box::new(Val::Array(Dim::Size(width), Box::new(element(e))))),
        other => other.clone(),
    }
}

/// The statements for one column that a statement over rows of these dims stands for; none if it is no map of scalar code over rows, or looks at another column.
fn of_one_column(stm: Stm, dims: &[Dim], of_column: &mut HashMap<Var, Atom>) -> Option<Vec<Stm>> {
    let Exp::Map { width, inputs, lam } = stm.exp else {
        // What cannot fail may be computed for every column, even if there is none.
        let is_scalar = matches!(stm.exp, Exp::Atom(_) | Exp::Prim(..));
        let is_apart = stm.exp.free().iter().all(|v| !of_column.contains_key(v));
        return (is_scalar && is_apart).then(|| vec![stm]);
    };
    let (outer, inner) = dims.split_first()?;
    if *outer != Dim::Size(width) || lam.free().iter().any(|v| of_column.contains_key(v)) {
        return None;
    }
    if !inner.is_empty() {
        let rows: Vec<Atom> = inputs.iter().map(|v| of_column.get(v).copied()).collect::<Option<_>>()?;
        of_column.extend(lam.params.iter().map(|p| p.var).zip(rows));
        let mut stms = Vec::new();
        for stm in lam.body.stms {
            stms.extend(of_one_column(stm, inner, of_column)?);
        }
        let result = |a: &Atom| of_column.get(&a.var()?).copied();
        let results: Vec<Atom> = lam.body.results.iter().map(result).collect::<Option<_>>()?;
        of_column.extend(stm.pat.iter().map(|p| p.var).zip(results));
        return Some(stms);
    }
    let element = |(p, v): (&Param, &Var)| {
        let exp = Exp::Atom(*of_column.get(v)?);
        p.ty.is_scalar().then(|| Stm { pat: vec![p.clone()], exp, span: stm.span })
    };
    let mut stms: Vec<Stm> = lam.params.iter().zip(&inputs).map(element).collect::<Option<_>>()?;
    stms.extend(lam.body.stms);
    of_column.extend(stm.pat.iter().map(|p| p.var).zip(lam.body.results));
    Some(stms)
}
