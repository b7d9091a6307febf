//! Reductions of rows by operators that work element by element: every column is reduced by itself.
//!
//! ```text
//! reduce (map2 (+)) (replicate m 0) (xs : [n][m]f64)
//!
//! map m (iota m) \ j ->
//!     reduce n (iota n) (\ i -> xs[i, j]) op (+) neutral 0
//! ```
//!
//! Elements may be several rows of one length. Other operators on rows are combined in rounds, see [`super::reduce`].

use super::small::with_components;
use super::value::Val;
use super::{Lower, R};
use par_ir::core::{Body, Exp, Lambda, Param, Schedule, Stm};
use par_ir::visit::Code;
use par_ir::{Atom, Dim, Type, Var};
use std::collections::HashMap;

/// Columns to be reduced.
struct Columns {
    /// Number of columns.
    width: Atom,
    /// The arrays of rows.
    rows: Vec<Var>,
    op: Lambda,
    neutral: Vec<Atom>,
}

impl<'p> Lower<'p> {
    /// `reduce op ne arr`, if `op` works element by element, and all elements of `ne` are the same.
    pub fn reduce_columns(&mut self, op: &Val<'p>, ne: &Val<'p>, arr: &Val<'p>) -> R<Option<Val<'p>>> {
        let n = self.size_of(arr)?;
        let Some(columns) = self.columns(op, ne, arr)? else { return Ok(None) };
        let Columns { width, rows, op, neutral } = columns;
        let ret = op.ret.clone();
        let js = self.iota(width);
        let (block, (j, results)) = self.in_block(|lo| {
            let j = lo.param("j", Type::I64);
            let (lam, is) = (lo.elements_of_column(&rows, j.var.into(), &ret)?, lo.iota(n));
            let pat: Vec<Param> = ret.iter().map(|ty| lo.param("r", ty.clone())).collect();
            let results = pat.iter().map(|p| Atom::Var(p.var)).collect();
            lo.push(pat, Exp::Reduce { width: n, inputs: vec![is], lam, op, neutral });
            Ok((j, results))
        })?;
        let body = Body { stms: block.stms, results };
        let lam = Lambda { params: vec![j], body, ret: ret.clone(), schedule: Schedule::Free };
        let size = vec![Dim::Size(width)];
        let pat: Vec<Param> =
            ret.iter().map(|ty| self.param("r", Type::array(size.clone(), ty.prim()))).collect();
        let mut results = pat.iter().map(|p| Atom::Var(p.var)).collect::<Vec<_>>().into_iter();
        self.push(pat, Exp::Map { width, inputs: vec![js], lam });
        Ok(Some(with_components(ne, &mut results)))
    }

    /// The elements of a column at the index of a row.
    fn elements_of_column(&mut self, rows: &[Var], column: Atom, ret: &[Type]) -> R<Lambda> {
        let (block, (i, results)) = self.in_block(|lo| {
            let i = lo.param("i", Type::I64);
            let at = vec![i.var.into(), column];
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
        let Some(Dim::Size(width)) = types.first().and_then(|ty| ty.dims.first()).copied() else {
            return Ok(None);
        };
        let is_row = |ty: &Type| ty.dims == [Dim::Size(width)];
        let fits = |(v, ty): (&Var, &Type)| {
            let whole = self.type_of(*v);
            is_row(ty) && whole.dims.get(1..) == Some(&ty.dims[..]) && whole.prim() == ty.prim()
        };
        let all = firsts.len() == own.len() && own.len() == rows.len();
        if !all || !rows.iter().zip(&types).all(fits) {
            return Ok(None);
        }
        let Some(neutral) = firsts.iter().map(|v| self.repeated(*v)).collect::<Option<Vec<Atom>>>() else {
            return Ok(None);
        };
        let op = self.operator_on_columns(op, ne, &types)?;
        Ok(op.map(|op| Columns { width, rows, op, neutral }))
    }

    /// The scalar of which all elements of an array are copies, if that is known.
    fn repeated(&self, array: Var) -> Option<Atom> {
        let stms = self.blocks.iter().rev().flat_map(|b| b.stms.iter().rev());
        let mut binding = stms.filter(|s| s.pat.iter().any(|p| p.var == array));
        match binding.next()?.exp {
            Exp::Replicate(_, x) => x.var().is_none_or(|v| self.type_of(v).is_scalar()).then_some(x),
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

/// The statements for one column that a statement over rows of these dims stands for; none if it is no map of scalar code over rows, or looks at another column.
fn of_one_column(stm: Stm, dims: &[Dim], of_column: &mut HashMap<Var, Atom>) -> Option<Vec<Stm>> {
    let Exp::Map { width, inputs, lam } = stm.exp else {
        // What cannot fail may be computed for every column, even if there is none.
        let is_scalar = matches!(stm.exp, Exp::Atom(_) | Exp::Prim(..));
        let is_apart = stm.exp.free().iter().all(|v| !of_column.contains_key(v));
        return (is_scalar && is_apart).then(|| vec![stm]);
    };
    if dims != [Dim::Size(width)] || lam.free().iter().any(|v| of_column.contains_key(v)) {
        return None;
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
