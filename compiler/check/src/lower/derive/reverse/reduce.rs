//! Reductions.
//!
//! ```text
//! reduce (+)     every element gets the result's adjoint
//! reduce min     the first element that is the result gets it
//! reduce op      the element gets it through op (op l x) r, where l combines what stands before and r what stands behind
//! ```

use super::inner::{Adjoints, Rows};
use super::operators::{Componentwise, componentwise, flipped};
use super::{Lower, R, Reverse};
use par_ir::core::{Exp, Lambda, Param, Schedule};
use par_ir::prim::{BinOp, CmpOp};
use par_ir::{Atom, Prim, PrimOp, Scalar, Type, Var};

impl Reverse {
    /// `pat` are the results.
    pub(super) fn back_reduce(
        &mut self,
        lo: &mut Lower,
        mut rows: Rows,
        (op, neutral): (&Lambda, &[Atom]),
        (pat, adjoints): (&[Param], &[Option<Atom>]),
    ) -> R<()> {
        let (n, k) = (rows.width, neutral.len());
        let kinds: Vec<_> = (0..k).map(|i| adjoints[i].and_then(|_| componentwise(op, i))).collect();
        if (0..k).any(|i| adjoints[i].is_some() && kinds[i].is_none()) {
            return self.back_general(lo, rows, op, neutral, adjoints);
        }
        // For least and greatest elements, the position of the first that is the result.
        let mut first = vec![None; k];
        let is_extremum = |i: &usize| kinds[*i].is_some_and(|c| c != Componentwise::Add);
        if (0..k).any(|i| is_extremum(&i)) {
            let elements = self.evaluated(lo, &rows, k)?;
            for i in (0..k).filter(is_extremum) {
                let (prim, result) = (op.ret[i].prim(), pat[i].var.into());
                first[i] = Some(lo.first_where(n, elements[i], &mut |lo, x| {
                    Ok(lo.prim(PrimOp::Cmp(CmpOp::Eq, prim), &[x, result]))
                })?);
            }
        }
        let given = self.per_row(lo, &mut rows, adjoints[k..].iter().copied().enumerate())?;
        rows.extra.push(lo.iota(n));
        self.back_rows(lo, &rows, &mut |_, lo, results, extra| {
            let mut out = Adjoints::new();
            for i in 0..k {
                let Some(d) = adjoints[i] else { continue };
                let prim = op.ret[i].prim();
                let d = first[i].map_or(d, |first| {
                    let here = lo.cmp(CmpOp::Eq, extra[given.len()], first);
                    lo.select(prim, here, d, Atom::Const(Scalar::zero(prim)))
                });
                out.push((results[i], d));
            }
            out.extend(given.iter().zip(extra).map(|(i, d)| (results[k + i], *d)));
            Ok(out)
        })
    }

    fn back_general(
        &mut self,
        lo: &mut Lower,
        mut rows: Rows,
        op: &Lambda,
        neutral: &[Atom],
        adjoints: &[Option<Atom>],
    ) -> R<()> {
        let k = neutral.len();
        let n = rows.width;
        let elements = self.evaluated(lo, &rows, k)?;
        let before = self.scanned(lo, n, &elements, op, neutral, true)?;
        let turned: Vec<Var> = elements.iter().map(|v| lo.reversed(n, *v)).collect();
        let behind = self.scanned(lo, n, &turned, &flipped(op), neutral, true)?;
        let behind: Vec<Var> = behind.iter().map(|v| lo.reversed(n, *v)).collect();
        rows.extra.extend(before.into_iter().chain(behind));
        let given = self.per_row(lo, &mut rows, adjoints[k..].iter().copied().enumerate())?;
        self.back_rows(lo, &rows, &mut |rev, lo, results, extra| {
            let (before, rest) = extra.split_at(k);
            let (behind, mapped) = rest.split_at(k);
            let mut out = rev.through(lo, op, (before, &results[..k], behind), &adjoints[..k])?;
            out.extend(given.iter().zip(mapped).map(|(i, d)| (results[k + i], *d)));
            Ok(out)
        })
    }
}

impl<'p> Lower<'p> {
    /// The first position at which a test holds, or `n`.
    fn first_where(
        &mut self,
        n: Atom,
        array: Var,
        test: &mut dyn FnMut(&mut Self, Atom) -> R<Atom>,
    ) -> R<Atom> {
        let prim = self.type_of(array).prim();
        let inputs = vec![self.iota(n), array];
        let (block, (params, found)) = self.in_block(|lo| {
            let params = vec![lo.param("i", Type::I64), lo.param("x", Type::scalar(prim))];
            let holds = test(lo, params[1].var.into())?;
            let found = lo.select(Prim::I64, holds, params[0].var.into(), n);
            Ok((params, found))
        })?;
        let body = par_ir::core::Body { stms: block.stms, results: vec![found] };
        let lam = Lambda { params, body, ret: vec![Type::I64], schedule: Schedule::Free };
        let op = self.scalar_lambda(BinOp::Min, Prim::I64)?;
        Ok(self.emit("first", Type::I64, Exp::Reduce { width: n, inputs, lam, op, neutral: vec![n] }).into())
    }
}
