//! Running kernels: the body at every position in order, its results into a sink that each kind of kernel has.

use super::flat::Host;
use super::memory::{counted, out_of_memory};
use super::value::Val;
use super::{Outcome, internal};
use crate::core::Lambda;
use crate::flat::{After, Kernel, KernelKind, Out, Param, Space, Stm, Ty};
use crate::ty::{Dim, Var};
use par_runtime::cancel::poll;
use par_runtime::{Array, Prim, Scalar, Span};

/// Uses of the results of a kernel's body.
trait Sink {
    /// Before a position: hands out the arrays that the body owns.
    fn lend(&mut self, _host: &mut Host) {}

    /// Results at a position: the scalars, and the arrays that were handed out.
    fn element(&mut self, host: &mut Host, pos: usize, xs: &[Scalar], owned: Vec<Val>) -> Outcome<()>;

    /// After the last position of a row, also of an empty one.
    fn end_row(&mut self, _host: &mut Host, _row: usize) -> Outcome<()> {
        Ok(())
    }

    /// Values that the statement binds.
    fn finish(self: Box<Self>, host: &mut Host) -> Vec<Val>;
}

impl Host<'_> {
    pub(super) fn kernel(&mut self, stm: &Stm, k: &Kernel) -> Outcome<Vec<Val>> {
        if let Some(values) = self.run_code(stm, k)? {
            return Ok(values);
        }
        let starts = self.starts(stm, &k.space)?;
        let offsets = &starts[starts.len() - 1];
        let rows = offsets.len() - 1;
        let total = self.positions(stm, offsets[rows])?;
        self.launch(0, 0);
        if matches!(k.space.innermost(), Dim::Seg(_)) {
            self.machine.work += rows as u64;
        }
        let mut sink = self.sink(stm, k, rows, total)?;
        let mut results = Vec::new();
        for (row, bounds) in offsets.windows(2).enumerate() {
            self.machine.set(k.row, Val::i64(row as i64));
            for (v, i) in k.index.iter().zip(indices(&starts[..starts.len() - 1], row as i64)) {
                self.machine.set(*v, Val::i64(i));
            }
            k.prologue.iter().try_for_each(|s| self.machine.stm(s))?;
            for pos in bounds[0]..bounds[1] {
                poll();
                self.machine.set(k.innermost(), Val::i64(pos - bounds[0]));
                self.machine.set(k.pos, Val::i64(pos));
                sink.lend(self);
                k.body.stms.iter().try_for_each(|s| self.machine.stm(s))?;
                results.clear();
                let mut owned = Vec::new();
                for x in self.machine.take_results(&k.body, &k.body.results) {
                    match x {
                        Val::Leaf(_) => owned.push(x),
                        x => results.push(x.scalar()?),
                    }
                }
                sink.element(self, pos as usize, &results, owned)?;
            }
            sink.end_row(self, row)?;
        }
        Ok(sink.finish(self))
    }

    /// Number of positions of a kernel. Out of memory if a `usize` cannot hold it.
    pub(super) fn positions(&self, stm: &Stm, total: i64) -> Outcome<usize> {
        let size = stm.pat.first().map_or(1, |p| prim(p).size() as u64);
        let bytes = |_| out_of_memory((total as u64).saturating_mul(size), stm.span);
        usize::try_from(total).map_err(bytes)
    }

    /// Offsets of the rows of a space's innermost dimension.
    pub(super) fn offsets(&self, stm: &Stm, space: &Space) -> Outcome<Vec<i64>> {
        self.starts(stm, space).map(|mut starts| starts.pop().unwrap_or_default())
    }

    /// For each dimension, where it starts at every position of the dimensions before it, with the total at the end.
    fn starts(&self, stm: &Stm, space: &Space) -> Outcome<Vec<Vec<i64>>> {
        let mut all: Vec<Vec<i64>> = Vec::new();
        for (d, dim) in space.0.iter().enumerate() {
            let rows = all.last().and_then(|starts| starts.last()).copied();
            let starts = self.starts_of(stm, rows, dim)?;
            if d + 1 < space.0.len() {
                let total = counted(starts[starts.len() - 1]);
                self.machine.memory.room(total, 8, 8, stm.span)?;
            }
            all.push(starts);
        }
        Ok(all)
    }

    /// Offsets of a dimension in `rows` rows, with the total at the end; `rows` is `None` for the outermost dimension.
    fn starts_of(&self, stm: &Stm, rows: Option<i64>, dim: &Dim) -> Outcome<Vec<i64>> {
        match (dim, rows) {
            (Dim::Size(n), None) => Ok(vec![0, self.machine.length(*n, stm.span)?]),
            (Dim::Size(m), Some(rows)) => {
                // Without rows nothing has checked that their length is one.
                let m = if rows == 0 { 0 } else { self.machine.length(*m, stm.span)? };
                if rows.checked_mul(m).is_none() {
                    return Err(out_of_memory(u64::MAX, stm.span));
                }
                Ok((0..=rows).map(|i| i * m).collect())
            }
            (Dim::Seg(s), rows) => {
                let (rows, desc) = (rows.unwrap_or(1), self.machine.get(*s).desc()?);
                if desc.rows() as i64 != rows {
                    return internal(format_args!("a space of {rows} rows by {} lengths", desc.rows()));
                }
                Ok(desc.offsets.slice::<i64>().to_vec())
            }
        }
    }

    fn sink<'k>(
        &mut self,
        stm: &'k Stm,
        k: &'k Kernel,
        rows: usize,
        total: usize,
    ) -> Outcome<Box<dyn Sink + 'k>> {
        Ok(match &k.kind {
            KernelKind::Map(outs) => Box::new(Map(self.outputs(stm, outs, total)?)),
            KernelKind::Reduce { op, neutral } => {
                let neutral = self.machine.scalars(neutral)?;
                let (folded, stored) = stm.pat.split_at(neutral.len().min(stm.pat.len()));
                let (reduced, rest) = (self.fresh(stm, folded, rows)?, self.fresh(stm, stored, total)?);
                Box::new(Reduce { op, prefix: neutral.clone(), neutral, reduced, rest })
            }
            KernelKind::Scan { op, neutral, exclusive, after } => {
                let neutral = self.machine.scalars(neutral)?;
                let outputs = match after {
                    None => Prefixes::Stored(self.fresh(stm, &stm.pat, total)?),
                    Some(after) => Prefixes::Used(after, Map(self.outputs(stm, &after.outs, total)?)),
                };
                Box::new(Scan { op, prefix: neutral.clone(), neutral, exclusive: *exclusive, outputs })
            }
            KernelKind::Filter => {
                let kept = stm.pat.get(2..).unwrap_or_default().iter().map(|p| (prim(p), Vec::new()));
                self.machine.memory.room(rows, 8, 16, stm.span)?;
                Box::new(Filter { counts: vec![0; rows], open: 0, kept: kept.collect(), span: stm.span })
            }
            KernelKind::Hist { dests, op, .. } => Box::new(Hist { op, dests: self.owned(stm, dests)? }),
        })
    }

    /// New arrays of the types that the pattern says.
    pub(super) fn fresh(&mut self, stm: &Stm, pat: &[Param], len: usize) -> Outcome<Vec<Array>> {
        pat.iter().map(|p| self.output(stm, prim(p), len)).collect()
    }

    fn output(&mut self, stm: &Stm, prim: Prim, len: usize) -> Outcome<Array> {
        self.machine.memory.room(len, prim.size(), prim.size(), stm.span)?;
        self.counters.bytes_materialised += (len * prim.size()) as u64;
        Ok(Array::zeros(prim, len))
    }

    pub(super) fn outputs(&mut self, stm: &Stm, outs: &[Out], total: usize) -> Outcome<Vec<Output>> {
        let all: Vec<Var> = outs
            .iter()
            .flat_map(|o| match o {
                Out::Elem(_) | Out::Row(..) => &[],
                Out::Scatter(dests) => dests.as_slice(),
                Out::Own { dest, .. } => std::slice::from_ref(dest),
            })
            .copied()
            .collect();
        let mut dests = self.owned(stm, &all)?.into_iter();
        let output = |out: &Out| {
            Ok(match out {
                Out::Elem(p) => Output::Row(self.output(stm, *p, total)?, 1),
                Out::Row(p, n) => Output::Row(self.output(stm, *p, total.saturating_mul(*n))?, *n),
                Out::Scatter(vs) => Output::Scatter(dests.by_ref().take(vs.len()).collect()),
                Out::Own { state, .. } => {
                    let array = dests.next().expect("one for each destination");
                    Output::Own(state.var, Val::Leaf(array))
                }
            })
        };
        outs.iter().map(output).collect()
    }

    fn stored(&mut self, arrays: &mut [Array], at: usize, xs: &[Scalar]) {
        self.machine.work += arrays.len() as u64;
        arrays.iter_mut().zip(xs).for_each(|(a, x)| a.set(at, *x));
    }
}

/// The index inside each dimension, outermost first, of the position with this number; `starts` are those of the dimensions.
fn indices(starts: &[Vec<i64>], mut number: i64) -> Vec<i64> {
    let mut found: Vec<i64> = starts
        .iter()
        .rev()
        .map(|starts| {
            let row = starts.partition_point(|s| *s <= number) - 1;
            let index = number - starts[row];
            number = row as i64;
            index
        })
        .collect();
    found.reverse();
    found
}

pub(super) fn prim(p: &Param) -> Prim {
    match p.ty {
        Ty::Scalar(p) | Ty::Array(p) | Ty::Rope(p) => p,
        Ty::Desc => Prim::I64,
    }
}

fn leaves(arrays: Vec<Array>) -> Vec<Val> {
    arrays.into_iter().map(Val::Leaf).collect()
}

pub(super) enum Output {
    /// So many elements for each position.
    Row(Array, usize),
    Scatter(Vec<Array>),
    /// The array, except while the body has it, and what it is called there.
    Own(Var, Val),
}

struct Map(Vec<Output>);

impl Sink for Map {
    fn lend(&mut self, host: &mut Host) {
        for output in &mut self.0 {
            if let Output::Own(state, array) = output {
                host.machine.set(*state, std::mem::replace(array, Val::Unset));
            }
        }
    }

    fn element(&mut self, host: &mut Host, pos: usize, mut xs: &[Scalar], owned: Vec<Val>) -> Outcome<()> {
        let mut owned = owned.into_iter();
        for output in &mut self.0 {
            match output {
                Output::Row(a, n) => {
                    let (row, rest) = xs.split_at(*n);
                    row.iter().enumerate().for_each(|(i, x)| a.set(pos * *n + i, *x));
                    host.machine.work += *n as u64;
                    xs = rest;
                }
                Output::Scatter(dests) => {
                    let (row, rest) = xs.split_at(1 + dests.len());
                    if host.machine.write_row(dests, row[0].as_i64().unwrap_or(-1), &row[1..], None)? {
                        host.machine.work += dests.len() as u64;
                    }
                    xs = rest;
                }
                Output::Own(_, array) => *array = owned.next().unwrap_or(Val::Unset),
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>, _: &mut Host) -> Vec<Val> {
        let arrays = self.0.into_iter().flat_map(|o| match o {
            Output::Row(a, _) => vec![Val::Leaf(a)],
            Output::Scatter(dests) => leaves(dests),
            Output::Own(_, array) => vec![array],
        });
        arrays.collect()
    }
}

struct Reduce<'k> {
    op: &'k Lambda,
    neutral: Vec<Scalar>,
    prefix: Vec<Scalar>,
    reduced: Vec<Array>,
    rest: Vec<Array>,
}

impl Sink for Reduce<'_> {
    fn element(&mut self, host: &mut Host, pos: usize, xs: &[Scalar], _: Vec<Val>) -> Outcome<()> {
        let (folded, stored) = xs.split_at(self.neutral.len());
        self.prefix = host.machine.combine(self.op, &self.prefix, folded)?;
        host.stored(&mut self.rest, pos, stored);
        Ok(())
    }

    fn end_row(&mut self, host: &mut Host, row: usize) -> Outcome<()> {
        host.stored(&mut self.reduced, row, &self.prefix);
        self.prefix.clone_from(&self.neutral);
        Ok(())
    }

    fn finish(self: Box<Self>, _: &mut Host) -> Vec<Val> {
        leaves(self.reduced.into_iter().chain(self.rest).collect())
    }
}

struct Scan<'k> {
    op: &'k Lambda,
    neutral: Vec<Scalar>,
    prefix: Vec<Scalar>,
    exclusive: bool,
    outputs: Prefixes<'k>,
}

enum Prefixes<'k> {
    /// The prefixes, then the further results.
    Stored(Vec<Array>),
    /// Prefixes that are used and not stored.
    Used(&'k After, Map),
}

impl Sink for Scan<'_> {
    fn element(&mut self, host: &mut Host, pos: usize, xs: &[Scalar], _: Vec<Val>) -> Outcome<()> {
        let (folded, stored) = xs.split_at(self.neutral.len());
        let next = host.machine.combine(self.op, &self.prefix, folded)?;
        let prefix = if self.exclusive { &self.prefix } else { &next };
        match &mut self.outputs {
            Prefixes::Stored(arrays) => {
                let all: Vec<Scalar> = prefix.iter().chain(stored).copied().collect();
                host.stored(arrays, pos, &all);
            }
            Prefixes::Used(after, outputs) => {
                let results = host.machine.apply(&after.params, &after.body, prefix)?;
                outputs.element(host, pos, &results, vec![])?;
            }
        }
        self.prefix = next;
        Ok(())
    }

    fn end_row(&mut self, _: &mut Host, _: usize) -> Outcome<()> {
        self.prefix.clone_from(&self.neutral);
        Ok(())
    }

    fn finish(self: Box<Self>, host: &mut Host) -> Vec<Val> {
        match self.outputs {
            Prefixes::Stored(arrays) => leaves(arrays),
            Prefixes::Used(_, outputs) => Box::new(outputs).finish(host),
        }
    }
}

struct Filter {
    counts: Vec<i64>,
    /// Kept so far in the current row.
    open: i64,
    kept: Vec<(Prim, Vec<Scalar>)>,
    span: Span,
}

impl Sink for Filter {
    fn element(&mut self, host: &mut Host, _: usize, xs: &[Scalar], _: Vec<Val>) -> Outcome<()> {
        if xs[0] == Scalar::Bool(true) {
            self.open += 1;
            if let Some((prim, column)) = self.kept.first()
                && column.len() == column.capacity()
            {
                let held = 2 * size_of::<Scalar>() * self.kept.len();
                host.machine.memory.room(column.len() + 1, prim.size(), held, self.span)?;
            }
            self.kept.iter_mut().zip(&xs[1..]).for_each(|((_, column), x)| column.push(*x));
            host.machine.work += self.kept.len() as u64;
        }
        Ok(())
    }

    fn end_row(&mut self, _: &mut Host, row: usize) -> Outcome<()> {
        self.counts[row] = std::mem::take(&mut self.open);
        Ok(())
    }

    fn finish(self: Box<Self>, host: &mut Host) -> Vec<Val> {
        host.counters.syncs += 1;
        host.machine.work += self.counts.len() as u64;
        let arrays = std::iter::once(Array::from_slice(&self.counts))
            .chain(self.kept.iter().map(|(p, xs)| Array::from_scalars(*p, xs)));
        let arrays: Vec<Array> = arrays.collect();
        host.counters.bytes_materialised += arrays.iter().map(|a| a.bytes().len() as u64).sum::<u64>();
        let count = Val::i64(self.counts.iter().sum());
        std::iter::once(count).chain(leaves(arrays)).collect()
    }
}

struct Hist<'k> {
    op: &'k Lambda,
    dests: Vec<Array>,
}

impl Sink for Hist<'_> {
    fn element(&mut self, host: &mut Host, _: usize, xs: &[Scalar], _: Vec<Val>) -> Outcome<()> {
        let index = xs[0].as_i64().unwrap_or(-1);
        if host.machine.write_row(&mut self.dests, index, &xs[1..], Some(self.op))? {
            // Each destination is read and written.
            host.machine.work += 2 * self.dests.len() as u64;
        }
        Ok(())
    }

    fn finish(self: Box<Self>, _: &mut Host) -> Vec<Val> {
        leaves(self.dests)
    }
}
