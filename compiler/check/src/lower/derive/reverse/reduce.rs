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
use par_ir::core::{Exp, Lambda, Schedule};
use par_ir::prim::{BinOp, CmpOp};
use par_ir::{Atom, Prim, PrimOp, Scalar, Type, Var};

impl Reverse {
    pub(super) fn back_reduce(
        &mut self,
        lo: &mut Lower,
        mut rows: Rows,
        op: &Lambda,
        neutral: &[Atom],
        adjoints: &[Option<Atom>],
    ) -> R<()> {
        let k = neutral.len();
        let (reduced, mapped) = adjoints.split_at(k);
        let kinds: Option<Vec<Componentwise>> =
            (0..k).filter(|i| reduced[*i].is_some()).map(|i| componentwise(op, i)).collect();
        match kinds.as_deref() {
            Some(kinds) if kinds.iter().all(|c| *c == Componentwise::Add) => {
                let given = self.per_row(lo, &mut rows, mapped.iter().copied().enumerate())?;
                self.back_rows(lo, &rows, &mut |_, _, results, extra| {
                    let sums = (0..k).filter_map(|i| Some((results[i], reduced[i]?)));
                    Ok(sums.chain(given.iter().zip(extra).map(|(i, d)| (results[k + i], *d))).collect())
                })
            }
            Some(_) => self.back_extremum(lo, rows, op, neutral, adjoints),
            None => self.back_general(lo, rows, op, neutral, adjoints),
        }
    }

    /// Sums, and least and greatest elements: their adjoint goes to the first that is equal.
    fn back_extremum(
        &mut self,
        lo: &mut Lower,
        mut rows: Rows,
        op: &Lambda,
        neutral: &[Atom],
        adjoints: &[Option<Atom>],
    ) -> R<()> {
        let k = neutral.len();
        let (n, op) = (rows.width, op.clone());
        let elements = self.evaluated(lo, &rows, k)?;
        let mut found = vec![None; k];
        for i in (0..k).filter(|i| adjoints[*i].is_some()) {
            if componentwise(&op, i) == Some(Componentwise::Add) {
                continue;
            }
            let best = self.reduced(lo, n, &elements, &op, neutral)?[i];
            let prim = op.ret[i].prim();
            let least = lo.first_where(n, elements[i], &mut |lo, x| {
                Ok(lo.prim(PrimOp::Cmp(CmpOp::Eq, prim), &[x, best]))
            })?;
            found[i] = Some(least);
        }
        let given = self.per_row(lo, &mut rows, adjoints[k..].iter().copied().enumerate())?;
        rows.extra.push(lo.iota(n));
        self.back_rows(lo, &rows, &mut |_, lo, results, extra| {
            let mut out = Adjoints::new();
            let place = extra[extra.len() - 1];
            for i in 0..k {
                let Some(d) = adjoints[i] else { continue };
                let prim = op.ret[i].prim();
                let d = match found[i] {
                    Some(first) => {
                        let here = lo.cmp(CmpOp::Eq, place, first);
                        lo.select(prim, here, d, Atom::Const(Scalar::zero(prim)))
                    }
                    None => d,
                };
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
