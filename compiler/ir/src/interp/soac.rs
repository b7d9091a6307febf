//! CORE's parallel operators, row after row.

use super::array::VAL;
use super::memory::counted;
use super::scalar::Machine;
use super::value::Val;
use super::{Outcome, internal};
use crate::core::{Body, Exp, Lambda, Param, Stm};
use crate::ty::{Atom, Var};
use par_runtime::{Array, Scalar};

/// Results of all rows, by result.
type Columns = Vec<Vec<Val>>;

impl Machine<'_> {
    pub(super) fn soac(&mut self, stm: &Stm) -> Outcome<Vec<Val>> {
        match &stm.exp {
            Exp::Map { width, inputs, lam } => {
                let columns = self.columns(stm, *width, inputs, lam)?;
                collect(columns, &stm.pat)
            }
            Exp::Reduce { width, inputs, lam, op, neutral } => {
                let mut columns = self.columns(stm, *width, inputs, lam)?;
                let mut reduced = self.scalars(neutral)?;
                let rest = columns.split_off(reduced.len());
                for i in 0..columns.first().map_or(0, Vec::len) {
                    let row = scalar_row(&columns, i)?;
                    reduced = self.combine(op, &reduced, &row)?;
                }
                let mut out: Vec<Val> = reduced.into_iter().map(Val::Scalar).collect();
                out.extend(collect(rest, stm.pat.get(out.len()..).unwrap_or_default())?);
                Ok(out)
            }
            Exp::Scan { width, inputs, lam, op, neutral, exclusive } => {
                let mut columns = self.columns(stm, *width, inputs, lam)?;
                let mut prefix = self.scalars(neutral)?;
                for i in 0..columns.first().map_or(0, Vec::len) {
                    let row = scalar_row(&columns[..prefix.len()], i)?;
                    let next = self.combine(op, &prefix, &row)?;
                    let stored = if *exclusive { &prefix } else { &next };
                    for (column, x) in columns.iter_mut().zip(stored) {
                        column[i] = Val::Scalar(*x);
                    }
                    prefix = next;
                }
                collect(columns, &stm.pat)
            }
            Exp::Filter { width, inputs, lam } => {
                let mut columns = self.columns(stm, *width, inputs, lam)?;
                let keep = columns.remove(0);
                for column in &mut columns {
                    let mut kept = keep.iter();
                    column.retain(|_| is_true(kept.next()));
                }
                let count = keep.iter().filter(|k| is_true(Some(k))).count();
                let mut out = vec![Val::i64(count as i64)];
                out.extend(collect(columns, stm.pat.get(1..).unwrap_or_default())?);
                Ok(out)
            }
            Exp::Scatter { dests, width, inputs, lam } => {
                let columns = self.columns(stm, *width, inputs, lam)?;
                self.write(stm, dests, &columns, None)
            }
            Exp::Hist { dests, width, inputs, lam, op, .. } => {
                let columns = self.columns(stm, *width, inputs, lam)?;
                self.write(stm, dests, &columns, Some(op))
            }
            _ => internal("not a parallel operator"),
        }
    }

    /// Runs the lambda on every row.
    fn columns(&mut self, stm: &Stm, width: Atom, inputs: &[Var], lam: &Lambda) -> Outcome<Columns> {
        let width = self.integer(width)?;
        let inputs: Vec<Val> = inputs.iter().map(|v| self.get(*v)).collect();
        if inputs.iter().any(|x| x.len() as i64 != width) {
            return internal(format_args!("an input has not the operator's width of {width} rows"));
        }
        let mut columns = vec![Vec::new(); lam.ret.len()];
        let size = stm.pat.first().map_or(1, |p| p.ty.prim().size());
        let rows = counted(width.max(0));
        self.memory.room(rows, size, lam.ret.len() * VAL, stm.span)?;
        columns.iter_mut().for_each(|c| c.reserve_exact(rows));
        self.traces.enter();
        for i in 0..width {
            for (p, x) in lam.params.iter().zip(&inputs) {
                let row = x.row(i)?;
                self.bind(p, row)?;
            }
            let results = self.body(&lam.body);
            let results = self.trail.inside(results, i, stm)?;
            for (column, x) in columns.iter_mut().zip(results) {
                column.push(x);
            }
        }
        self.traces.leave();
        Ok(columns)
    }

    /// Applies a scalar operator to `2k` operands.
    pub(super) fn combine(&mut self, op: &Lambda, a: &[Scalar], b: &[Scalar]) -> Outcome<Vec<Scalar>> {
        self.apply(&op.params, &op.body, &[a, b].concat())
    }

    /// The results of a scalar body for these values of its parameters.
    pub(super) fn apply(&mut self, params: &[Param], body: &Body, xs: &[Scalar]) -> Outcome<Vec<Scalar>> {
        for (p, x) in params.iter().zip(xs) {
            self.set(p.var, Val::Scalar(*x));
        }
        self.body(body)?.iter().map(Val::scalar).collect()
    }

    /// Writes the rows' values into the destinations, or combines them with what is there.
    fn write(
        &mut self,
        stm: &Stm,
        dests: &[Var],
        columns: &Columns,
        op: Option<&Lambda>,
    ) -> Outcome<Vec<Val>> {
        let mut arrays = dests.iter().map(|d| self.get(*d).array()).collect::<Outcome<Vec<Array>>>()?;
        self.release(stm);
        for i in 0..columns[0].len() {
            let row = scalar_row(columns, i)?;
            self.write_row(&mut arrays, row[0].as_i64().unwrap_or(-1), &row[1..], op)?;
        }
        Ok(arrays.into_iter().map(Val::Leaf).collect())
    }

    /// One write; whether the index was inside.
    pub(super) fn write_row(
        &mut self,
        arrays: &mut [Array],
        index: i64,
        values: &[Scalar],
        op: Option<&Lambda>,
    ) -> Outcome<bool> {
        let len = arrays.first().map_or(0, Array::len);
        if index < 0 || index >= len as i64 {
            return Ok(false);
        }
        let index = index as usize;
        let values = match op {
            Some(op) => {
                let old: Vec<Scalar> = arrays.iter().map(|a| a.get(index)).collect();
                self.combine(op, &old, values)?
            }
            None => values.to_vec(),
        };
        arrays.iter_mut().zip(values).for_each(|(a, x)| a.set(index, x));
        Ok(true)
    }
}

fn is_true(x: Option<&Val>) -> bool {
    matches!(x, Some(Val::Scalar(Scalar::Bool(true))))
}

fn scalar_row(columns: &[Vec<Val>], i: usize) -> Outcome<Vec<Scalar>> {
    columns.iter().map(|c| c[i].scalar()).collect()
}

fn collect(columns: Columns, pat: &[Param]) -> Outcome<Vec<Val>> {
    if columns.len() != pat.len() {
        return internal(format_args!("{} results for {} variables", columns.len(), pat.len()));
    }
    columns.into_iter().zip(pat).map(|(c, p)| Val::collect(c, p.ty.rank(), p.ty.prim())).collect()
}
