//! Scatters and sorts.
//!
//! A written value gets the adjoint of its place, if it is what stands there in the end; a value that is written over gets nothing.

use super::inner::Rows;
use super::{Lower, R, Reverse};
use par_ir::core::{Exp, Param};
use par_ir::prim::CmpOp;
use par_ir::visit::Subst;
use par_ir::{Atom, Dim, Prim, Scalar, Type, Var};

impl Reverse {
    pub(super) fn back_scatter(
        &mut self,
        lo: &mut Lower,
        mut rows: Rows,
        dests: &[Var],
        adjoints: &[Option<Atom>],
    ) -> R<()> {
        let Dim::Size(m) = lo.type_of(dests[0]).dims[0] else {
            return Err(lo.internal("a scatter's destination has a size"));
        };
        let writers = self.writers(lo, &rows, m)?;
        let mut given = Vec::new();
        for (i, d) in adjoints.iter().enumerate() {
            let Some(d) = d else { continue };
            let d = lo.leaf_var(*d)?;
            given.push((i, d));
            let kept = lo.kept_where(m, d, writers)?;
            self.contribute(lo, dests[i].into(), kept.into())?;
        }
        rows.extra = vec![lo.iota(rows.width)];
        self.back_rows(lo, &rows, &mut |_, lo, results, extra| {
            let (at, inside) = lo.clamped(results[0], m);
            let mut out = Vec::new();
            for (i, d) in &given {
                let prim = lo.type_of(*d).prim();
                let zero = Atom::Const(Scalar::zero(prim));
                let value = lo.if_scalar(
                    inside,
                    prim,
                    &mut |lo| {
                        let writer = lo.emit("writer", Type::I64, Exp::Index(writers, vec![at]));
                        let d = lo.emit("d", Type::scalar(prim), Exp::Index(*d, vec![at]));
                        let mine = lo.cmp(CmpOp::Eq, writer.into(), extra[0]);
                        Ok(lo.select(prim, mine, d.into(), zero))
                    },
                    &mut |_| Ok(zero),
                )?;
                out.push((results[1 + i], value));
            }
            Ok(out)
        })
    }

    /// For each element of a destination which row wrote it, or -1.
    fn writers(&mut self, lo: &mut Lower, rows: &Rows, m: Atom) -> R<Var> {
        let places = lo.iota(rows.width);
        let (_, (row, mut lam)) =
            lo.in_block(|lo| Ok((lo.param("i", Type::I64), self.copy(lo, rows.lam, &mut Subst::default()))))?;
        lam.body.results = vec![lam.body.results[0], row.var.into()];
        lam.ret = vec![Type::I64, Type::I64];
        lam.params.push(row);
        let inputs = rows.inputs.iter().copied().chain([places]).collect();
        let ty = Type::array(vec![Dim::Size(m)], Prim::I64);
        let nobody = lo.emit("writers", ty.clone(), Exp::Replicate(m, Atom::i64(-1)));
        Ok(lo.emit("writers", ty, Exp::Scatter { dests: vec![nobody], width: rows.width, inputs, lam }))
    }

    /// A sort of positions and the values found there: the array of positions.
    pub(super) fn sort_with_places(
        &mut self,
        lo: &mut Lower,
        pat: &[Param],
        keys: Var,
        values: Option<Var>,
    ) -> R<Var> {
        let ([sorted, value], Some(values)) = (pat, values) else {
            return Err(lo.internal("a sort of floats has values"));
        };
        let Dim::Size(n) = sorted.ty.dims[0] else { return Err(lo.internal("a sort has a size")) };
        let places = lo.iota(n);
        let order = lo.param("order", Type::array(sorted.ty.dims.clone(), Prim::I64));
        lo.push(vec![sorted.clone(), order.clone()], Exp::Sort { keys, values: Some(places) });
        lo.gather(n, order.var, values, value.clone())?;
        Ok(order.var)
    }

    pub(super) fn back_sort(&mut self, lo: &mut Lower, values: Var, d: Atom, order: Var) -> R<()> {
        let Dim::Size(n) = lo.type_of(values).dims[0] else {
            return Err(lo.internal("a sort has a size"));
        };
        let back = lo.spread(lo.leaf_var(d)?, order, n)?;
        self.contribute(lo, values.into(), back.into())
    }
}

impl Lower<'_> {
    /// An index, or 0 if it is not inside an array of size `m`, and whether it is.
    pub(super) fn clamped(&mut self, i: Atom, m: Atom) -> (Atom, Atom) {
        let low = self.cmp(CmpOp::Le, Atom::i64(0), i);
        let high = self.cmp(CmpOp::Lt, i, m);
        let inside = self.and(low, high);
        (self.select(Prim::I64, inside, i, Atom::i64(0)), inside)
    }

    /// The adjoint where nobody wrote (the writer is below 0), zero elsewhere.
    pub(super) fn kept_where(&mut self, m: Atom, d: Var, writers: Var) -> R<Var> {
        let prim = self.type_of(d).prim();
        let arrays = [self.val_of(d), self.val_of(writers)];
        let kept = self.map_over(m, &arrays, &mut |lo, rows| {
            let (d, writer) = (rows[0].leaves()[0].0, rows[1].leaves()[0].0);
            let free = lo.cmp(CmpOp::Lt, writer, Atom::i64(0));
            let zero = Atom::Const(Scalar::zero(prim));
            Ok(super::Val::Scalar(lo.select(prim, free, d, zero), prim))
        })?;
        self.leaf_var(kept.leaves()[0].0)
    }
}
