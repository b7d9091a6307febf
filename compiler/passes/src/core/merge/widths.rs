//! Matrices with rows of another length in every call.
//!
//! ```text
//! a = call f (n, k, xs : [n][k])        rows xs : [n][s]       where s has n lengths k
//! b = call f (m, l, ys : [m][l])        rows ys : [m][t]       where t has m lengths l
//!                                       map over both as a ragged array; the call inside is given [n][k] again
//! ```
//!
//! Arrays of higher rank have a descriptor for each dimension that differs. The lengths are copies of one, so nothing is made of them
//! (flattening passes one a call).

use super::{Lifted, Merger, size};
use par_ir::build::Statements;
use par_ir::core::{Exp, Lambda, Param, Schedule};
use par_ir::hash::HashMap;
use par_ir::{Atom, Dim, Elem, Span, Type, Var};
use std::collections::BTreeSet;

/// A matrix that is a ragged array outside the call.
pub(super) struct Ragged {
    /// As the function has it.
    matrix: Param,
    /// The dimensions that differ, each with the lengths of its rows; outermost first.
    descs: Vec<(usize, Param)>,
    /// The same elements.
    rows: Param,
}

/// True if a size of rows may differ between calls: not where descriptors have rows of that size.
pub(super) fn may_differ(v: Var, all: &[&Param]) -> bool {
    let mentions = |p: &Param| p.ty.dims.iter().skip(1).any(|d| *d == size(v));
    let is_matrix = |p: &Param| !p.ty.is_desc() && p.ty.dims.iter().all(|d| matches!(d, Dim::Size(_)));
    all.iter().filter(|p| mentions(p)).all(|p| is_matrix(p))
}

impl Merger {
    /// Parameters or results, with matrices whose rows differ as ragged arrays, each behind the lengths of its rows; and these.
    pub(super) fn ragged(
        &mut self,
        params: &[Param],
        differing: &BTreeSet<Var>,
    ) -> (Vec<Param>, HashMap<Var, Ragged>) {
        let (mut all, mut ragged) = (Vec::new(), HashMap::default());
        for p in params {
            let differs = |d: &Dim| matches!(d, Dim::Size(Atom::Var(v)) if differing.contains(v));
            if !p.ty.dims.iter().skip(1).any(differs) {
                all.push(p.clone());
                continue;
            }
            let (mut ty, mut descs) = (p.ty.clone(), Vec::new());
            for i in (1..ty.rank()).filter(|i| differs(&p.ty.dims[*i])) {
                let desc = Param { var: self.vars.fresh("s"), ty: lengths_of(&ty, i, Elem::Desc) };
                ty.dims[i] = Dim::Seg(desc.var);
                descs.push((i, desc));
            }
            let rows = Param { var: self.vars.fresh_like(p.var), ty };
            all.extend(descs.iter().map(|(_, desc)| desc.clone()).chain([rows.clone()]));
            ragged.insert(p.var, Ragged { matrix: p.clone(), descs, rows });
        }
        (all, ragged)
    }

    /// The arguments for these parameters.
    pub(super) fn ragged_args(
        &mut self,
        params: &[Param],
        args: Vec<Vec<Atom>>,
        ragged: &HashMap<Var, Ragged>,
        code: &mut Statements,
    ) -> Vec<Vec<Atom>> {
        let mut all = Vec::new();
        for (p, args) in params.iter().zip(args) {
            let Some(r) = ragged.get(&p.var) else {
                all.push(args);
                continue;
            };
            let at: Vec<usize> = r.descs.iter().map(|(i, _)| *i).collect();
            let mut columns = vec![Vec::new(); at.len() + 1];
            for v in args.into_iter().filter_map(|a| a.var()) {
                let ty = self.types[&v].clone();
                let values = self.as_ragged(v, &ty, &at, code);
                columns.iter_mut().zip(values).for_each(|(column, a)| column.push(a));
            }
            all.extend(columns);
        }
        all
    }

    /// A matrix as an array that is ragged in these dimensions: the lengths of their rows, and the rows.
    fn as_ragged(&mut self, matrix: Var, ty: &Type, at: &[usize], code: &mut Statements) -> Vec<Atom> {
        let (mut ragged, mut values) = (ty.clone(), Vec::new());
        for i in at {
            let Dim::Size(m) = ty.dims[*i] else { unreachable!("matrices have sizes") };
            let lens = self.copies(&ty.dims[..*i], m, code.span);
            let lens = self.bind("lens", lengths_of(ty, *i, Type::I64.elem), lens, code);
            let mut desc = self.bind("s", lengths_of(ty, *i, Elem::Desc), Exp::MakeDesc(lens), code);
            if !values.is_empty() {
                let same = Exp::Atom(desc.into());
                desc = self.bind("s", lengths_of(&ragged, *i, Elem::Desc), same, code);
            }
            ragged.dims[*i] = Dim::Seg(desc);
            values.push(desc.into());
        }
        values.push(self.bind("rows", ragged, Exp::Atom(matrix.into()), code).into());
        values
    }

    /// An array with these dimensions of copies of a size.
    fn copies(&mut self, dims: &[Dim], m: Atom, span: Span) -> Exp {
        let Some((Dim::Size(n), rest)) = dims.split_first() else { unreachable!("matrices have sizes") };
        if rest.is_empty() {
            return Exp::Replicate(*n, m);
        }
        let (ty, mut code) = (Type { dims: rest.to_vec(), elem: Type::I64.elem }, Statements::new(span));
        let row = self.copies(rest, m, span);
        let row = self.bind("lens", ty.clone(), row, &mut code);
        let body = code.results(vec![row.into()]);
        let lam = Lambda { params: vec![], body, ret: vec![ty], schedule: Schedule::Free };
        Exp::Map { width: *n, inputs: vec![], lam }
    }

    /// In the map: the matrices that the call is given.
    pub(super) fn matrices(&mut self, ragged: &HashMap<Var, Ragged>, l: &mut Lifted, code: &mut Statements) {
        for r in in_order(ragged) {
            let rows = Exp::Atom(l.inner[&r.rows.var]);
            let matrix = self.bind("matrix", l.inside(&r.matrix.ty), rows, code);
            l.inner.insert(r.matrix.var, matrix.into());
        }
    }

    /// In the map: the matrices that the call results in, as ragged arrays.
    pub(super) fn rows_of_matrices(
        &mut self,
        ragged: &HashMap<Var, Ragged>,
        l: &mut Lifted,
        code: &mut Statements,
    ) {
        for r in in_order(ragged) {
            let (matrix, ty) = (l.inner[&r.matrix.var].var(), l.inside(&r.matrix.ty));
            let matrix = matrix.expect("a matrix is a variable");
            let at: Vec<usize> = r.descs.iter().map(|(i, _)| *i).collect();
            let values = self.as_ragged(matrix, &ty, &at, code);
            let vars = r.descs.iter().map(|(_, desc)| desc.var).chain([r.rows.var]);
            l.inner.extend(vars.zip(values));
        }
    }

    /// Takes the result `q` of call `j` out of the map's, as `p`.
    pub(super) fn result(
        &mut self,
        p: &Param,
        q: &Param,
        j: Atom,
        results: &HashMap<Var, Var>,
        ragged: &HashMap<Var, Ragged>,
        code: &mut Statements,
    ) {
        let Some(r) = ragged.get(&q.var) else { return code.index(p.clone(), results[&q.var], vec![j]) };
        let row_of = |v: Var| Exp::Index(results[&v], vec![j]);
        let mut ty = p.ty.clone();
        for (i, desc) in &r.descs {
            let desc = self.bind("s", lengths_of(&ty, *i, Elem::Desc), row_of(desc.var), code);
            ty.dims[*i] = Dim::Seg(desc);
        }
        let rows = self.bind("rows", ty, row_of(r.rows.var), code);
        code.bind(vec![p.clone()], Exp::Atom(rows.into()));
    }
}

/// As they were numbered, so that a program is always compiled to the same.
fn in_order(ragged: &HashMap<Var, Ragged>) -> Vec<&Ragged> {
    let mut all: Vec<&Ragged> = ragged.values().collect();
    all.sort_by_key(|r| r.matrix.var);
    all
}

/// The type of the lengths of rows in a dimension.
fn lengths_of(ty: &Type, dim: usize, elem: Elem) -> Type {
    Type { dims: ty.dims[..dim].to_vec(), elem }
}
