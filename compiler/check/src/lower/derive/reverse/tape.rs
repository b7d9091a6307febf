//! The tape of a loop: its state at the start of every iteration.
//!
//! ```text
//! loop (x, ys) = (x0, ys0) for i < n do …
//!
//! x     [n]f64               a scalar
//! ys    [n][m]f64            an array whose size does not change, all its dimensions in one
//! ys    [total]f64, starts   one whose size changes, iteration after iteration
//! ```
//!
//! Of an array of which an iteration changes some elements only (`ys with [i] = y`), what these were is kept, and where: going backward, they
//! are put back ([`super::undo`]).
//!
//! The number of iterations, and the size of the state in all of them, are found by running the loop once before, if they are not
//! known. So everything is written in place.

use super::columns::{Column, Plan};
use super::undo::{Overwrite, Overwritten, overwrites};
use super::{Lower, R, Reverse};
use par_ir::core::{Body, Exp, LoopForm, Param};
use par_ir::prim::BinOp;
use par_ir::visit::{Code, Subst};
use par_ir::{Atom, Prim, Type, Var};

/// Record of a loop.
pub(super) struct Tape {
    /// The number of iterations.
    pub count: Atom,
    /// For each variable of the state.
    columns: Vec<Column>,
}

/// An iteration: its state, and further variables.
struct Iteration<'a> {
    state: &'a [Param],
    extra: &'a [Param],
    index: Atom,
}

/// A loop that is run with more variables in its state.
struct Extended<'a> {
    params: &'a [(Param, Atom)],
    form: &'a LoopForm,
    body: &'a Body,
    extra: Vec<(Type, Atom)>,
    /// Updates before which what they overwrite is read.
    updates: Vec<&'a Overwrite>,
}

impl Reverse {
    /// Emits a loop that binds what the loop given does, and keeps its state.
    pub(super) fn record(
        &mut self,
        lo: &mut Lower,
        pat: &[Param],
        params: &[(Param, Atom)],
        form: &LoopForm,
        body: &Body,
    ) -> R<Tape> {
        let state: Vec<Var> = params.iter().map(|(p, _)| p.var).collect();
        let varying: Vec<bool> =
            params.iter().map(|(p, _)| state.iter().any(|v| p.ty.mentions(*v))).collect();
        let bound = match form {
            LoopForm::For { prim, bound, .. } => {
                let n = lo.conv(*prim, Prim::I64, *bound);
                Some(lo.bin(BinOp::Max, Prim::I64, n, Atom::i64(0)))
            }
            LoopForm::While(_) => None,
        };
        let mut totals = Vec::new();
        if bound.is_none() || varying.contains(&true) {
            totals = self.measured(lo, pat, (params, form, body), &varying)?;
        }
        let count = bound.unwrap_or_else(|| totals[0]);
        let mut totals = totals.into_iter().skip(1);
        let mut plans = Vec::new();
        for ((p, _), varying) in params.iter().zip(&varying) {
            let updates = overwrites(body, p.var, body.results[plans.len()], &p.ty);
            plans.push(match (varying, p.ty.is_scalar()) {
                (_, true) => Plan::Scalars(p.ty.prim()),
                (false, _) if updates.is_some() => Plan::Overwritten(updates.unwrap_or_default()),
                (false, _) => Plan::Rows(p.ty.prim(), lo.flat_size(&p.ty)?),
                (true, _) => Plan::Flat(p.ty.prim(), totals.next().unwrap_or(Atom::i64(0))),
            });
        }
        let (mut extra, mut overwritten) = (Vec::new(), Vec::new());
        for plan in &plans {
            let list = if let Plan::Overwritten(_) = plan { &mut overwritten } else { &mut extra };
            list.extend(lo.first_columns(count, plan)?);
        }
        let plain = extra.len();
        extra.extend(overwritten);
        let index = lo.fresh("i", Type::I64);
        let counted = LoopForm::For { index, prim: Prim::I64, bound: count };
        let again = self.again();
        let updates: Vec<&Overwrite> = plans.iter().flat_map(Plan::updates).collect();
        let all = Extended { params, form: &counted, body, extra, updates };
        let original =
            if let LoopForm::For { index, prim, .. } = form { Some((*index, *prim)) } else { None };
        let columns = self.extended(lo, pat.to_vec(), &all, original, again, &mut |lo, at| {
            let mut extra = at.extra.iter().map(|p| p.var);
            let mut out = Vec::new();
            for (p, plan) in at.state.iter().zip(&plans) {
                lo.write_column(p, plan, at.index, &mut extra, &mut out)?;
            }
            Ok(out)
        })?;
        Ok(Tape { count, columns: lo.kept_columns(&plans, columns.split_at(plain))? })
    }

    /// Runs the loop, to know how many iterations it has and how large those variables are in all of them whose size changes.
    pub(super) fn measured(
        &mut self,
        lo: &mut Lower,
        pat: &[Param],
        (params, form, body): (&[(Param, Atom)], &LoopForm, &Body),
        varying: &[bool],
    ) -> R<Vec<Atom>> {
        let arrays: Vec<usize> =
            (0..params.len()).filter(|i| varying[*i] && !params[*i].0.ty.is_scalar()).collect();
        let extra = vec![(Type::I64, Atom::i64(0)); 1 + arrays.len()];
        let mut subst = Subst::default();
        let mut copies = Vec::new();
        for p in pat {
            let copy = lo.param("last", p.ty.substituted(&subst));
            subst.insert(p.var, copy.var.into());
            copies.push(copy);
        }
        let original =
            if let LoopForm::For { index, prim, .. } = form { Some((*index, *prim)) } else { None };
        let form = match form {
            LoopForm::For { prim, bound, .. } => {
                LoopForm::For { index: lo.fresh("i", Type::scalar(*prim)), prim: *prim, bound: *bound }
            }
            LoopForm::While(cond) => LoopForm::While(cond.clone()),
        };
        let all = Extended { params, form: &form, body, extra, updates: Vec::new() };
        let totals = self.extended(lo, copies, &all, original, true, &mut |lo, at| {
            let mut out = vec![lo.add(at.extra[0].var.into(), Atom::i64(1))];
            for (i, sum) in arrays.iter().zip(&at.extra[1..]) {
                let size = lo.flat_size(&at.state[*i].ty)?;
                out.push(lo.add(sum.var.into(), size));
            }
            Ok(out)
        })?;
        Ok(totals.into_iter().map(Atom::Var).collect())
    }

    /// Emits a loop with more in its state: the final values of that.
    fn extended<'p>(
        &mut self,
        lo: &mut Lower<'p>,
        mut pat: Vec<Param>,
        all: &Extended,
        original: Option<(Var, Prim)>,
        silent: bool,
        step: &mut dyn FnMut(&mut Lower<'p>, &Iteration) -> R<Vec<Atom>>,
    ) -> R<Vec<Var>> {
        let Extended { params, form, body, extra, updates } = all;
        let mut subst = Subst::default();
        let (block, (state, more, results)) = lo.in_block(|lo| {
            let state = self.state_again(lo, params.iter().map(|(p, _)| p), &mut subst);
            let more: Vec<Param> = extra.iter().map(|(ty, _)| lo.param("tape", ty.clone())).collect();
            let mut index = Atom::i64(0);
            if let LoopForm::For { index: new, prim: from, .. } = form {
                let level = lo.scope.blocks.len() as u32 - 1;
                lo.scope.levels[new.0 as usize] = level;
                index = (*new).into();
                if let Some((old, prim)) = original {
                    subst.insert(old, lo.conv(*from, prim, index));
                }
            }
            let mut next = step(lo, &Iteration { state: &state, extra: &more, index })?;
            let mut copy = self.copy(lo, *body, &mut subst.clone());
            if silent {
                super::sweep::silence(&mut copy);
            }
            let originals = body.stms.iter().filter(|s| !silent || !matches!(s.exp, Exp::Trace { .. }));
            let mut rest = more.iter().map(|p| p.var).skip(next.len());
            let mut group = |u: &Overwrite| rest.by_ref().take(u.indices + 1).collect();
            let each = updates.iter().map(|u| (0..u.count).map(|_| group(u)).collect());
            let mut columns: Vec<Vec<Vec<Var>>> = each.collect();
            for (old, mut stm) in originals.zip(copy.stms) {
                for (u, columns) in updates.iter().zip(&mut columns) {
                    let Some(k) = old.pat.iter().position(|p| p.var == u.made) else { continue };
                    let made = stm.pat[k].var;
                    *columns = lo.keep_overwritten(&mut stm, made, index, columns)?;
                }
                lo.push_stm(stm);
            }
            next.extend(columns.into_iter().flatten().flatten().map(Atom::Var));
            let results: Vec<Atom> = copy.results.into_iter().chain(next).collect();
            Ok((state, more, results))
        })?;
        let form = match form {
            LoopForm::While(cond) => {
                let (_, cond) = lo.in_block(|lo| Ok(self.copy(lo, cond, &mut subst.clone())))?;
                LoopForm::While(cond)
            }
            counted => (*counted).clone(),
        };
        let inits = params.iter().map(|(_, a)| *a).chain(extra.iter().map(|(_, a)| *a));
        let added: Vec<Param> = extra.iter().map(|(ty, _)| lo.param("tape", ty.clone())).collect();
        let vars = added.iter().map(|p| p.var).collect();
        pat.extend(added);
        let params = state.into_iter().chain(more).zip(inits).collect();
        lo.push(pat, Exp::Loop { params, form, body: Body { stms: block.stms, results } });
        Ok(vars)
    }
}

impl Lower<'_> {
    /// The columns of a tape, of which those with what is overwritten are `last`.
    fn kept_columns(&self, plans: &[Plan], (first, last): (&[Var], &[Var])) -> R<Vec<Column>> {
        let (mut first, mut last) = (first.iter().copied(), last.iter().copied());
        let mut kept = Vec::new();
        for plan in plans {
            let from = if let Plan::Overwritten(_) = plan { &mut last } else { &mut first };
            let mut next = || from.next().ok_or_else(|| self.internal("a tape with too few columns"));
            kept.push(match plan {
                Plan::Scalars(_) => Column::Scalars(next()?),
                Plan::Rows(..) => Column::Rows(next()?),
                Plan::Flat(..) => {
                    let (values, starts) = (next()?, next()?);
                    next()?;
                    Column::Flat { values, starts }
                }
                Plan::Overwritten(updates) => {
                    let mut all = Vec::new();
                    for u in updates.iter().flat_map(|u| std::iter::repeat_n(u, u.count)) {
                        let at = (0..u.indices).map(|_| next()).collect::<R<_>>()?;
                        let (ty, sometimes) = (u.ty.clone(), u.sometimes);
                        all.push(Overwritten { at, old: next()?, ty, sometimes });
                    }
                    Column::Overwritten(all)
                }
            });
        }
        Ok(kept)
    }
}

impl Tape {
    /// Columns with the variables of the state.
    pub(super) fn columns<'a>(
        &'a self,
        params: &'a [(Param, Atom)],
    ) -> impl Iterator<Item = (&'a Param, &'a Column)> {
        params.iter().map(|(p, _)| p).zip(&self.columns)
    }

    /// The numbers of the arrays that are not kept themselves: the backward loop takes them along.
    pub(super) fn carried(&self) -> Vec<usize> {
        let columns = self.columns.iter().enumerate();
        columns.filter(|(_, c)| matches!(c, Column::Overwritten(_))).map(|(i, _)| i).collect()
    }

    /// The state before iteration `i`, as variables; also what stands for the loop's own variables. `after` is what the arrays taken
    /// along are behind that iteration.
    pub(super) fn state(
        &self,
        lo: &mut Lower,
        params: &[(Param, Atom)],
        i: Atom,
        after: &[Param],
    ) -> R<(Vec<Var>, Subst)> {
        let (mut state, mut subst) = (Vec::new(), Subst::default());
        let mut after = after.iter();
        for ((p, _), column) in params.iter().zip(&self.columns) {
            let ty = p.ty.substituted(&subst);
            let v = match column {
                Column::Overwritten(updates) => {
                    let Some(array) = after.next() else {
                        return Err(lo.internal("an array is taken along"));
                    };
                    lo.restored(array, updates, i)?
                }
                column => lo.read_column(column, &ty, i)?,
            };
            if lo.facts.sizes.contains(&p.var) {
                lo.facts.sizes.insert(v);
            }
            subst.insert(p.var, v.into());
            state.push(v);
        }
        Ok((state, subst))
    }
}
