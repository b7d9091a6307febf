//! Tangents of parallel operators. Those that combine do so with pairs of values and tangents.

use super::super::{Lower, R};
use super::forward::Forward;
use super::is_float;
use par_ir::core::{Body, Exp, Lambda, Param};
use par_ir::{Atom, Prim, Type, Var};

/// The function of an operator's rows, taken apart, with the tangents of its results.
struct Rows {
    inputs: Vec<Var>,
    lam: Lambda,
    tangents: Vec<Option<Atom>>,
}

impl Rows {
    /// The results from the first to the last of a range, behind them the tangents of the floats that `active` says.
    fn take(
        &mut self,
        range: std::ops::Range<usize>,
        active: impl Fn(usize) -> bool,
    ) -> (Vec<Atom>, Vec<Type>) {
        let mut results = self.lam.body.results[range.clone()].to_vec();
        let mut ret = self.lam.ret[range.clone()].to_vec();
        for i in range.filter(|i| active(*i)) {
            let zero = Atom::Const(par_ir::Scalar::zero(self.lam.ret[i].prim()));
            results.push(self.tangents[i].unwrap_or(zero));
            ret.push(self.lam.ret[i].clone());
        }
        (results, ret)
    }
}

impl Forward {
    fn rows(&mut self, lo: &mut Lower, mut inputs: Vec<Var>, lam: Lambda) -> R<Rows> {
        let Lambda { mut params, body, ret, schedule } = lam;
        let results = body.results;
        let (block, ()) = lo.in_block(|lo| {
            for i in 0..params.len() {
                if self.bits.contains(&inputs[i]) {
                    self.bits.insert(params[i].var);
                }
                if let Some(tangent) = self.of_var(inputs[i]) {
                    let p = lo.param("d", params[i].ty.clone());
                    self.set(params[i].var, p.var.into());
                    inputs.push(tangent);
                    params.push(p);
                }
            }
            self.statements(lo, body.stms)
        })?;
        let tangents = results.iter().map(|a| self.of(*a)).collect();
        let lam = Lambda { params, body: Body { stms: block.stms, results }, ret, schedule };
        Ok(Rows { inputs, lam, tangents })
    }

    /// An operator on `k` values as one on these and the tangents of the floats among them.
    fn combining(&mut self, lo: &mut Lower, op: Lambda, k: usize) -> R<Lambda> {
        let Lambda { params, body, mut ret, schedule } = op;
        let (left, right) = params.split_at(k);
        let (block, (params, results)) = lo.in_block(|lo| {
            let mut all: Vec<Param> = Vec::new();
            for side in [left, right] {
                let tangents = super::tangents_of(lo, side);
                for (p, t) in side.iter().filter(|p| is_float(&p.ty)).zip(&tangents) {
                    self.set(p.var, t.var.into());
                }
                all.extend(side.iter().cloned().chain(tangents));
            }
            self.statements(lo, body.stms)?;
            let mut results = body.results.clone();
            for (a, ty) in body.results.iter().zip(&ret).filter(|(_, ty)| is_float(ty)) {
                results.push(self.or_zeros(lo, *a, ty)?);
            }
            Ok((all, results))
        })?;
        let floats: Vec<Type> = ret.iter().filter(|ty| is_float(ty)).cloned().collect();
        ret.extend(floats);
        Ok(Lambda { params, body: Body { stms: block.stms, results }, ret, schedule })
    }

    fn with_neutral(&self, lo: &mut Lower, mut neutral: Vec<Atom>, types: &[Type]) -> R<Vec<Atom>> {
        for i in 0..neutral.len() {
            if is_float(&types[i]) {
                neutral.push(self.or_zeros(lo, neutral[i], &types[i])?);
            }
        }
        Ok(neutral)
    }

    /// Adds tangents to a pattern's variables `range`.
    fn extend(
        &mut self,
        lo: &mut Lower,
        pat: &[Param],
        range: std::ops::Range<usize>,
        active: impl Fn(usize) -> bool,
    ) -> Vec<Param> {
        let mut out = pat[range.clone()].to_vec();
        for i in range.filter(|i| active(*i)) {
            let tangent = lo.param("d", pat[i].ty.clone());
            self.set(pat[i].var, tangent.var.into());
            out.push(tangent);
        }
        out
    }

    /// Notes results made of bits.
    fn note_bits(&mut self, pat: &[Param], results: &[Atom]) {
        for (p, a) in pat.iter().zip(results) {
            if a.var().is_some_and(|v| self.bits.contains(&v)) {
                self.bits.insert(p.var);
            }
        }
    }

    pub(super) fn operator(&mut self, lo: &mut Lower, pat: Vec<Param>, exp: Exp) -> R<()> {
        match exp {
            Exp::Map { width, inputs, lam } => {
                let (pat, inputs, lam) = self.mapped(lo, &pat, inputs, lam)?;
                lo.push(pat, Exp::Map { width, inputs, lam });
                Ok(())
            }
            Exp::Reduce { width, inputs, lam, op, neutral } => {
                let (pat, inputs, lam, op, neutral) = self.combined(lo, &pat, inputs, lam, op, neutral)?;
                lo.push(pat, Exp::Reduce { width, inputs, lam, op, neutral });
                Ok(())
            }
            Exp::Scan { width, inputs, lam, op, neutral, exclusive } => {
                let (pat, inputs, lam, op, neutral) = self.combined(lo, &pat, inputs, lam, op, neutral)?;
                lo.push(pat, Exp::Scan { width, inputs, lam, op, neutral, exclusive });
                Ok(())
            }
            Exp::Filter { width, inputs, lam } => {
                // The pattern has the number kept where the function has the bool.
                let (pat, inputs, lam) = self.mapped(lo, &pat, inputs, lam)?;
                lo.push(pat, Exp::Filter { width, inputs, lam });
                Ok(())
            }
            _ => Err(lo.internal("a parallel operator was expected")),
        }
    }

    /// The parts of an operator whose results are its function's, one by one: these, and behind them their tangents.
    fn mapped(
        &mut self,
        lo: &mut Lower,
        pat: &[Param],
        inputs: Vec<Var>,
        lam: Lambda,
    ) -> R<(Vec<Param>, Vec<Var>, Lambda)> {
        let mut rows = self.rows(lo, inputs, lam)?;
        self.note_bits(pat, &rows.lam.body.results);
        let active: Vec<bool> =
            pat.iter().zip(&rows.tangents).map(|(p, t)| t.is_some() && is_float(&p.ty)).collect();
        let (results, ret) = rows.take(0..pat.len(), |i| active[i]);
        let pat = self.extend(lo, pat, 0..pat.len(), |i| active[i]);
        let Rows { inputs, mut lam, .. } = rows;
        (lam.body.results, lam.ret) = (results, ret);
        Ok((pat, inputs, lam))
    }

    /// The parts of a reduction or scan: first what is combined with its tangents, then what is mapped with its tangents.
    #[allow(clippy::type_complexity, reason = "the parts of an expression")]
    fn combined(
        &mut self,
        lo: &mut Lower,
        pat: &[Param],
        inputs: Vec<Var>,
        lam: Lambda,
        op: Lambda,
        neutral: Vec<Atom>,
    ) -> R<(Vec<Param>, Vec<Var>, Lambda, Lambda, Vec<Atom>)> {
        let k = neutral.len();
        let mut rows = self.rows(lo, inputs, lam)?;
        self.note_bits(pat, &rows.lam.body.results);
        let has_tangents = rows.tangents[..k].iter().any(Option::is_some)
            || neutral.iter().any(|a| self.of(*a).is_some())
            || self.reaches(&op);
        let first = |i: usize| has_tangents && is_float(&pat[i].ty);
        let further: Vec<bool> = rows.tangents.iter().map(Option::is_some).collect();
        let further = |i: usize| further[i] && is_float(&pat[i].ty);
        let ((mut results, mut ret), (more, more_ret)) =
            (rows.take(0..k, first), rows.take(k..pat.len(), further));
        results.extend(more);
        ret.extend(more_ret);
        let (op, neutral) = match has_tangents {
            true => {
                let neutral = self.with_neutral(lo, neutral, &op.ret)?;
                (self.combining(lo, op, k)?, neutral)
            }
            false => (op, neutral),
        };
        let mut all = self.extend(lo, pat, 0..k, first);
        all.extend(self.extend(lo, pat, k..pat.len(), further));
        let Rows { inputs, mut lam, .. } = rows;
        (lam.body.results, lam.ret) = (results, ret);
        Ok((all, inputs, lam, op, neutral))
    }

    /// Scatters and histograms: tangents go where the values go.
    pub(super) fn writes(&mut self, lo: &mut Lower, pat: Vec<Param>, exp: Exp) -> R<()> {
        let (dests, width, inputs, lam, combine) = match exp {
            Exp::Scatter { dests, width, inputs, lam } => (dests, width, inputs, lam, None),
            Exp::Hist { dests, width, inputs, lam, op, neutral } => {
                (dests, width, inputs, lam, Some((op, neutral)))
            }
            _ => return Err(lo.internal("a scatter was expected")),
        };
        let mut rows = self.rows(lo, inputs, lam)?;
        let combines = combine.as_ref().is_some_and(|(op, _)| self.reaches(op));
        // The function's first result is the index.
        let active: Vec<bool> = dests
            .iter()
            .zip(&rows.tangents[1..])
            .map(|(d, t)| t.is_some() || self.of((*d).into()).is_some())
            .collect();
        let whole = combines || combine.is_some() && active.iter().any(|a| *a);
        let active: Vec<bool> =
            active.iter().zip(&pat).map(|(a, p)| (*a || whole) && is_float(&p.ty)).collect();
        let mut all = dests.clone();
        for (d, _) in dests.iter().zip(&active).filter(|(_, a)| **a) {
            all.push(self.array(lo, *d)?);
        }
        let (results, ret) = rows.take(0..pat.len() + 1, |i| i > 0 && active[i - 1]);
        let pat = self.extend(lo, &pat, 0..pat.len(), |i| active[i]);
        let Rows { inputs, mut lam, .. } = rows;
        (lam.body.results, lam.ret) = (results, ret);
        let exp = match combine {
            None => Exp::Scatter { dests: all, width, inputs, lam },
            Some((op, neutral)) if !whole => Exp::Hist { dests: all, width, inputs, lam, op, neutral },
            Some((op, neutral)) => {
                let k = neutral.len();
                let neutral = self.with_neutral(lo, neutral, &op.ret)?;
                let op = self.combining(lo, op, k)?;
                Exp::Hist { dests: all, width, inputs, lam, op, neutral }
            }
        };
        lo.push(pat, exp);
        Ok(())
    }

    /// Sorts positions, and fetches values and tangents from there.
    pub(super) fn sort(&mut self, lo: &mut Lower, pat: Vec<Param>, keys: Var, values: Option<Var>) -> R<()> {
        if self.bits.contains(&keys) {
            self.bits.insert(pat[0].var);
        }
        let Some((values, tangents)) = values.and_then(|v| Some((v, self.of_var(v)?))) else {
            if values.is_some_and(|v| self.bits.contains(&v)) {
                self.bits.insert(pat[1].var);
            }
            lo.push(pat, Exp::Sort { keys, values });
            return Ok(());
        };
        let [sorted, value] = &pat[..] else { return Err(lo.internal("a sort binds keys and values")) };
        let par_ir::Dim::Size(n) = sorted.ty.dims[0] else { return Err(lo.internal("a sort has a size")) };
        let places = lo.iota(n);
        let order = lo.param("order", Type::array(sorted.ty.dims.clone(), Prim::I64));
        lo.push(vec![sorted.clone(), order.clone()], Exp::Sort { keys, values: Some(places) });
        let tangent = lo.param("d", value.ty.clone());
        self.set(value.var, tangent.var.into());
        lo.gather(n, order.var, values, value.clone())?;
        lo.gather(n, order.var, tangents, tangent)
    }
}
