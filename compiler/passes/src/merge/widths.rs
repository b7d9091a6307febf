//! Matrices with rows of another length in every call.
//!
//! ```text
//! a = call f (n, k, xs : [n][k])        rows xs : [n][s]       where s has n lengths k
//! b = call f (m, l, ys : [m][l])        rows ys : [m][t]       where t has m lengths l
//!                                       map over both as a ragged array; the call inside is given [n][k] again
//! ```
//!
//! The lengths are copies of one, so nothing is made of them (flattening passes one a call).

use super::{Lifted, Merger, size};
use par_ir::core::{Exp, Param, Stm};
use par_ir::{Atom, Dim, Elem, Span, Type, Var};
use std::collections::{BTreeSet, HashMap};

/// A matrix that is a ragged array outside the call.
pub(super) struct Ragged {
    /// As the function has it.
    matrix: Param,
    /// The lengths of its rows.
    desc: Param,
    /// The same elements.
    rows: Param,
}

/// Whether a size of rows may differ between calls: only matrices have such rows.
pub(super) fn may_differ(v: Var, all: &[&Param]) -> bool {
    let mentions = |p: &Param| p.ty.dims.iter().skip(1).any(|d| *d == size(v));
    all.iter().filter(|p| mentions(p)).all(|p| p.ty.rank() == 2 && !p.ty.is_desc())
}

impl Merger {
    /// Parameters or results, with matrices whose rows differ as ragged arrays, each behind the lengths of its rows; and these.
    pub(super) fn ragged(
        &mut self,
        params: &[Param],
        differing: &BTreeSet<Var>,
    ) -> (Vec<Param>, HashMap<Var, Ragged>) {
        let (mut all, mut ragged) = (Vec::new(), HashMap::new());
        for p in params {
            let differs = |d: &Dim| matches!(d, Dim::Size(Atom::Var(v)) if differing.contains(v));
            if !p.ty.dims.iter().skip(1).any(differs) {
                all.push(p.clone());
                continue;
            }
            let desc = Param { var: self.vars.fresh("s"), ty: lengths_of(&p.ty, Elem::Desc) };
            let rows = Param { var: self.vars.fresh_like(p.var), ty: rows_by(&p.ty, desc.var) };
            all.extend([desc.clone(), rows.clone()]);
            ragged.insert(p.var, Ragged { matrix: p.clone(), desc, rows });
        }
        (all, ragged)
    }

    /// The arguments for these parameters.
    pub(super) fn ragged_args(
        &mut self,
        params: &[Param],
        args: Vec<Vec<Atom>>,
        ragged: &HashMap<Var, Ragged>,
        span: Span,
        out: &mut Vec<Stm>,
    ) -> Vec<Vec<Atom>> {
        let mut all = Vec::new();
        for (p, args) in params.iter().zip(args) {
            if !ragged.contains_key(&p.var) {
                all.push(args);
                continue;
            }
            let pairs = args.into_iter().filter_map(|a| a.var()).map(|v| {
                let ty = self.types[&v].clone();
                self.as_ragged(v, &ty, span, out)
            });
            let (descs, rows): (Vec<Atom>, Vec<Atom>) = pairs.unzip();
            all.extend([descs, rows]);
        }
        all
    }

    /// A matrix as a ragged array: the lengths of its rows, and the rows.
    fn as_ragged(&mut self, matrix: Var, ty: &Type, span: Span, out: &mut Vec<Stm>) -> (Atom, Atom) {
        let (Dim::Size(n), Dim::Size(m)) = (ty.dims[0], ty.dims[1]) else {
            unreachable!("matrices have sizes")
        };
        let lens = Exp::Replicate(n, m);
        let lens = self.bind("lens", lengths_of(ty, Type::I64.elem), lens, span, out);
        let desc = self.bind("s", lengths_of(ty, Elem::Desc), Exp::MakeDesc(lens), span, out);
        let rows = self.bind("rows", rows_by(ty, desc), Exp::Atom(matrix.into()), span, out);
        (desc.into(), rows.into())
    }

    /// In the map: the matrices that the call is given.
    pub(super) fn matrices(
        &mut self,
        ragged: &HashMap<Var, Ragged>,
        l: &mut Lifted,
        span: Span,
        out: &mut Vec<Stm>,
    ) {
        for r in in_order(ragged) {
            let rows = Exp::Atom(l.inner[&r.rows.var]);
            let matrix = self.bind("matrix", l.inside(&r.matrix.ty), rows, span, out);
            l.inner.insert(r.matrix.var, matrix.into());
        }
    }

    /// In the map: the matrices that the call results in, as ragged arrays.
    pub(super) fn rows_of_matrices(
        &mut self,
        ragged: &HashMap<Var, Ragged>,
        l: &mut Lifted,
        span: Span,
        out: &mut Vec<Stm>,
    ) {
        for r in in_order(ragged) {
            let (matrix, ty) = (l.inner[&r.matrix.var].var(), l.inside(&r.matrix.ty));
            let matrix = matrix.expect("a matrix is a variable");
            let (desc, rows) = self.as_ragged(matrix, &ty, span, out);
            l.inner.insert(r.desc.var, desc);
            l.inner.insert(r.rows.var, rows);
        }
    }

    /// Takes the result `q` of call `j` out of the map's, as `p`.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn result(
        &mut self,
        p: &Param,
        q: &Param,
        j: Atom,
        results: &HashMap<Var, Var>,
        ragged: &HashMap<Var, Ragged>,
        span: Span,
        out: &mut Vec<Stm>,
    ) {
        let pat = vec![p.clone()];
        let Some(r) = ragged.get(&q.var) else {
            out.push(Stm { pat, exp: Exp::Index(results[&q.var], vec![j]), span });
            return;
        };
        let row_of = |v: Var| Exp::Index(results[&v], vec![j]);
        let desc = self.bind("s", lengths_of(&p.ty, Elem::Desc), row_of(r.desc.var), span, out);
        let rows = self.bind("rows", rows_by(&p.ty, desc), row_of(r.rows.var), span, out);
        out.push(Stm { pat, exp: Exp::Atom(rows.into()), span });
    }
}

/// As they were numbered, so that a program is always compiled to the same.
fn in_order(ragged: &HashMap<Var, Ragged>) -> Vec<&Ragged> {
    let mut all: Vec<&Ragged> = ragged.values().collect();
    all.sort_by_key(|r| r.matrix.var);
    all
}

fn lengths_of(matrix: &Type, elem: Elem) -> Type {
    Type { dims: matrix.dims[..1].to_vec(), elem }
}

fn rows_by(matrix: &Type, desc: Var) -> Type {
    Type { dims: vec![matrix.dims[0], Dim::Seg(desc)], elem: matrix.elem }
}
