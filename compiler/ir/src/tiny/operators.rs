//! Parallel operators over a few elements, written out.

use super::Tiny;
use crate::core::{Exp, Lambda, Param, Schedule, Stm};
use crate::prim::{BinOp, PrimOp};
use crate::tuning;
use crate::ty::{Atom, Type, Var};
use crate::visit::{Code, Site, Subst};

impl Tiny<'_> {
    /// The operator's rows one after the other, if that is scalar code and its results are small.
    pub(super) fn scalarise_operator(
        &mut self,
        stm: &Stm,
        rest: (&[Stm], &[Atom]),
        out: &mut Vec<Stm>,
    ) -> Option<()> {
        let (width, lam) = match &stm.exp {
            Exp::Map { width, lam, .. } | Exp::Reduce { width, lam, .. } | Exp::Scan { width, lam, .. } => {
                (width, lam)
            }
            _ => return None,
        };
        let width = usize::try_from(self.atom(*width).as_i64()?).ok()?;
        let small = |p: &Param| p.ty.is_scalar() || self.sizes(&p.ty).is_some();
        let fits = width <= self.limits.rows && lam.schedule != Schedule::Opaque && stm.pat.iter().all(small);
        if !fits || stm.pat.is_empty() || self.stays_flat(stm, rest) {
            return None;
        }
        self.attempt(tuning::TINY_STATEMENTS, out, |t, out| t.write_out(stm, width, out))?;
        self.taken = true;
        Some(())
    }

    /// A map from rows of larger arrays to a row of the result is done for all elements of all rows together; so is the product of
    /// two larger matrices.
    fn stays_flat(&self, stm: &Stm, (stms, results): (&[Stm], &[Atom])) -> bool {
        let (inputs, lam) = match &stm.exp {
            Exp::Map { inputs, lam, .. } => (inputs, lam),
            Exp::Reduce { width, inputs, lam, op, .. } if self.depth > 1 && is_product(*width, lam, op) => {
                (inputs, lam)
            }
            _ => return false,
        };
        let scalarised = |v: &Var| self.parts.contains_key(v) && !self.cheap.contains(v);
        let used = |v: Var| stms.iter().any(|s| mentions(s, v));
        let only_result = |p: &Param| !used(p.var) && results.contains(&p.var.into());
        !self.strict
            && !self.taken
            && !self.folded
            && !inputs.iter().any(scalarised)
            && !lam.free().iter().any(scalarised)
            && stm.pat.iter().all(only_result)
    }

    fn write_out(&mut self, stm: &Stm, width: usize, out: &mut Vec<Stm>) -> Option<()> {
        match &stm.exp {
            Exp::Map { inputs, lam, .. } => {
                let mut columns = vec![Vec::new(); stm.pat.len()];
                for i in 0..width {
                    self.row(inputs, lam, i, stm, &mut columns, out)?;
                }
                stm.pat.iter().zip(columns).try_for_each(|(p, column)| self.found(p, column))
            }
            Exp::Reduce { inputs, lam, op, neutral, .. } => {
                self.fold(stm, width, (inputs, lam), (op, neutral), None, out)
            }
            Exp::Scan { inputs, lam, op, neutral, exclusive, .. } => {
                self.fold(stm, width, (inputs, lam), (op, neutral), Some(*exclusive), out)
            }
            _ => None,
        }
    }

    /// Adds a row's results to the columns.
    fn row(
        &mut self,
        inputs: &[Var],
        lam: &Lambda,
        i: usize,
        stm: &Stm,
        columns: &mut [Vec<Atom>],
        out: &mut Vec<Stm>,
    ) -> Option<()> {
        let mut subst = Subst::default();
        let lam = lam.refreshed_with(self.vars, &mut subst);
        for (p, input) in lam.params.iter().zip(inputs) {
            let ty = p.ty.substituted(&self.subst);
            self.types.insert(p.var, ty);
            self.index(p, *input, &[Atom::i64(i as i64)], stm.span, out)?;
        }
        self.stms(&lam.body.stms, &lam.body.results, out)?;
        for (column, a) in columns.iter_mut().zip(&lam.body.results) {
            column.extend(self.element_list(*a, out, stm.span)?);
        }
        Some(())
    }

    /// A reduction, or a scan (`exclusive` or not).
    fn fold(
        &mut self,
        stm: &Stm,
        width: usize,
        (inputs, lam): (&[Var], &Lambda),
        (op, neutral): (&Lambda, &[Atom]),
        exclusive: Option<bool>,
        out: &mut Vec<Stm>,
    ) -> Option<()> {
        let k = neutral.len();
        let mut folded: Vec<Atom> = neutral.iter().map(|a| self.atom(*a)).collect();
        let mut prefixes = vec![Vec::new(); k];
        let mut columns = vec![Vec::new(); lam.ret.len()];
        for i in 0..width {
            let mut row = vec![Vec::new(); lam.ret.len()];
            self.row(inputs, lam, i, stm, &mut row, out)?;
            let values: Vec<Atom> = row[..k].iter().map(|column| column[0]).collect();
            columns.iter_mut().zip(row).for_each(|(all, new)| all.extend(new));
            let before = folded.clone();
            folded = self.combine(op, folded.into_iter().chain(values), out)?;
            let shown = if exclusive == Some(true) { &before } else { &folded };
            prefixes.iter_mut().zip(shown).for_each(|(all, a)| all.push(*a));
        }
        let combined: Vec<Vec<Atom>> = match exclusive {
            Some(_) => prefixes,
            None => folded.into_iter().map(|a| vec![a]).collect(),
        };
        let results = combined.into_iter().chain(columns.into_iter().skip(k));
        stm.pat.iter().zip(results).try_for_each(|(p, parts)| self.found(p, parts))
    }

    fn combine(
        &mut self,
        op: &Lambda,
        operands: impl Iterator<Item = Atom>,
        out: &mut Vec<Stm>,
    ) -> Option<Vec<Atom>> {
        let mut subst = Subst::default();
        let op = op.refreshed_with(self.vars, &mut subst);
        for (p, a) in op.params.iter().zip(operands) {
            self.types.insert(p.var, Type::scalar(p.ty.prim()));
            self.subst.insert(p.var, a);
        }
        self.stms(&op.body.stms, &op.body.results, out)?;
        Some(op.body.results.iter().map(|a| self.atom(*a)).collect())
    }
}

/// True if rows are multiplied and summed up, and are long enough that their products are done in tiles.
fn is_product(width: Atom, lam: &Lambda, op: &Lambda) -> bool {
    let is = |lam: &Lambda, wanted: BinOp| {
        let only =
            |s: &Stm| matches!(&s.exp, Exp::Prim(PrimOp::Bin(op, p), _) if *op == wanted && p.is_float());
        lam.params.len() == 2 && lam.body.stms.len() == 1 && lam.body.stms.iter().all(only)
    };
    width.as_i64().is_some_and(|n| n >= tuning::TINY_PRODUCT) && is(lam, BinOp::Mul) && is(op, BinOp::Add)
}

fn mentions(stm: &Stm, v: Var) -> bool {
    let mut found = false;
    stm.walk(&mut |site| found |= site == Site::Use(Atom::Var(v)));
    found
}
