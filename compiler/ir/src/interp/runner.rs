//! Kernels that are run in another way than by interpretation, while the host's part of FLAT is interpreted.

use super::flat::Host;
use super::kernel::{Output, prim};
use super::memory::out_of_memory;
use super::value::Val;
use super::{Outcome, internal};
use crate::core::Fun;
use crate::flat::{Kernel, KernelKind, Out, Param, Space, Stm, Ty};
use crate::ty::{Dim, Var};
use par_runtime::{Array, Rope, RuntimeError, Scalar};
use std::rc::Rc;

/// The type of a variable that has a value.
pub type TypeOf<'a> = dyn Fn(Var) -> Option<Ty> + 'a;

/// Code for the kernels of one program. It does not count work.
pub trait Runner {
    /// The code of a kernel; none if the kernel is to be interpreted. `bound` is the first variable that its statement binds, which no other
    /// statement of the program does.
    fn code(&self, bound: Var, kernel: &Kernel, locals: &[Fun], ty: &TypeOf) -> Option<Rc<dyn Runs>>;
}

/// A kernel's code.
pub trait Runs {
    /// The host variables that it reads, in the order in which it wants them.
    fn inputs(&self) -> &[Var];

    /// Runs it.
    fn run(&self, launch: &mut Launch) -> Result<(), RuntimeError>;
}

/// A value that a kernel reads.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Input {
    Scalar(Scalar),
    Array(Array),
    Rope(Rc<Rope>),
}

/// The rows of a kernel's space; a flat space is one row.
#[derive(Clone, Debug)]
pub enum Rows {
    /// So many rows of one length.
    Uniform {
        /// Rows.
        count: usize,
        /// Positions of each.
        length: usize,
    },
    /// Starts of the rows, and the number of positions at the end.
    Ragged(Array),
}

impl Rows {
    /// Number of rows.
    pub fn count(&self) -> usize {
        match self {
            Rows::Uniform { count, .. } => *count,
            Rows::Ragged(offsets) => offsets.len() - 1,
        }
    }

    /// Number of positions.
    pub fn positions(&self) -> i64 {
        match self {
            Rows::Uniform { count, length } => (*count as i64).saturating_mul(*length as i64),
            Rows::Ragged(offsets) => offsets.slice::<i64>().last().copied().unwrap_or(0),
        }
    }
}

/// Input and output of a run of a kernel.
#[derive(Debug)]
pub struct Launch {
    /// Its space.
    pub rows: Rows,
    /// Neutral elements of its operator.
    pub neutral: Vec<Scalar>,
    /// Values of the variables that it reads.
    pub inputs: Vec<Input>,
    /// Arrays that are written, which nobody else holds: those that a map, scan or histogram binds; those of a reduction, one element for each row,
    /// then one for each position; of a filter the numbers kept in each row, then the values kept.
    pub outputs: Vec<Array>,
    /// For a filter: stores what is kept, and does not only count.
    pub store: bool,
    /// Result of a filter: how many positions were kept.
    pub kept: usize,
    /// Calls that may be active at a time.
    pub depth: usize,
}

impl Host<'_> {
    /// The values that a kernel's statement binds, if there is code for the kernel.
    pub(super) fn run_code(&mut self, stm: &Stm, k: &Kernel) -> Outcome<Option<Vec<Val>>> {
        let Some(runner) = self.runner else { return Ok(None) };
        if k.space.0.len() > 2 {
            return Ok(None);
        }
        let ty = |v: Var| type_of(&self.machine.env[v.0 as usize]);
        let Some(bound) = stm.pat.first().map(|p| p.var) else { return Ok(None) };
        let Some(code) = runner.code(bound, k, self.machine.funs, &ty) else { return Ok(None) };
        let inputs = code.inputs().iter().map(|v| input(self.machine.get(*v))).collect::<Outcome<_>>()?;
        let rows = self.rows_of(stm, &k.space)?;
        let total = self.positions(stm, rows.positions())?;
        self.launch(0, 0);
        let depth = self.machine.max_depth.saturating_sub(self.machine.depth);
        let neutral = match &k.kind {
            KernelKind::Reduce { neutral, .. } | KernelKind::Scan { neutral, .. } => {
                self.machine.scalars(neutral)?
            }
            _ => Vec::new(),
        };
        let outputs = Vec::new();
        let mut launch = Launch { rows, neutral, inputs, outputs, store: true, kept: 0, depth };
        if let KernelKind::Filter = k.kind {
            return self.filter(stm, &*code, launch, total).map(Some);
        }
        launch.outputs = self.results(stm, k, launch.rows.count(), total)?;
        code.run(&mut launch)?;
        Ok(Some(launch.outputs.into_iter().map(Val::Leaf).collect()))
    }

    fn rows_of(&self, stm: &Stm, space: &Space) -> Outcome<Rows> {
        match space.0[..] {
            [Dim::Size(n)] => {
                let length = self.positions(stm, self.machine.length(n, stm.span)?)?;
                Ok(Rows::Uniform { count: 1, length })
            }
            [Dim::Size(n), Dim::Size(m)] => {
                let rows = self.machine.length(n, stm.span)?;
                // Without rows nothing has checked that their length is one.
                let m = if rows == 0 { 0 } else { self.machine.length(m, stm.span)? };
                if rows.checked_mul(m).is_none() {
                    return Err(out_of_memory(u64::MAX, stm.span));
                }
                let [count, length] = [rows, m].map(|n| self.positions(stm, n));
                Ok(Rows::Uniform { count: count?, length: length? })
            }
            [Dim::Size(n), Dim::Seg(s)] => {
                let (rows, desc) = (self.machine.length(n, stm.span)?, self.machine.get(s).desc()?);
                if desc.rows() as i64 != rows {
                    return internal(format_args!("a space of {rows} rows by {} lengths", desc.rows()));
                }
                Ok(Rows::Ragged(desc.offsets.clone()))
            }
            _ => internal("a space of other dimensions"),
        }
    }

    /// The arrays that a kernel writes.
    fn results(&mut self, stm: &Stm, k: &Kernel, rows: usize, total: usize) -> Outcome<Vec<Array>> {
        match &k.kind {
            KernelKind::Map(outs) => self.arrays_of(stm, outs, total),
            KernelKind::Reduce { neutral, .. } => {
                let (folded, stored) = stm.pat.split_at(neutral.len().min(stm.pat.len()));
                let mut arrays = self.fresh(stm, folded, rows)?;
                arrays.extend(self.fresh(stm, stored, total)?);
                Ok(arrays)
            }
            KernelKind::Scan { after: None, .. } => self.fresh(stm, &stm.pat, total),
            KernelKind::Scan { after: Some(after), .. } => self.arrays_of(stm, &after.outs, total),
            KernelKind::Hist { dests, .. } => self.owned(stm, dests),
            KernelKind::Filter => internal("a filter makes its arrays itself"),
        }
    }

    fn arrays_of(&mut self, stm: &Stm, outs: &[Out], total: usize) -> Outcome<Vec<Array>> {
        let mut arrays = Vec::new();
        for output in self.outputs(stm, outs, total)? {
            match output {
                Output::Row(a, _) => arrays.push(a),
                Output::Scatter(dests) => arrays.extend(dests),
                Output::Own(_, array) => arrays.push(array.array()?),
            }
        }
        Ok(arrays)
    }

    /// A filter: with room for all positions, or where there is none, once more when their number is known.
    fn filter(&mut self, stm: &Stm, code: &dyn Runs, mut launch: Launch, total: usize) -> Outcome<Vec<Val>> {
        let columns = stm.pat.get(2..).unwrap_or_default();
        let counts = self.room_for(stm, &stm.pat[1..2], launch.rows.count())?;
        launch.outputs = counts;
        match self.room_for(stm, columns, total) {
            Ok(arrays) => launch.outputs.extend(arrays),
            Err(_) => {
                launch.store = false;
                launch.outputs.extend(columns.iter().map(|p| Array::zeros(prim(p), 0)));
                code.run(&mut launch)?;
                let arrays = self.room_for(stm, columns, launch.kept)?;
                launch.outputs.truncate(1);
                launch.outputs.extend(arrays);
                launch.store = true;
            }
        }
        code.run(&mut launch)?;
        let kept = launch.kept;
        self.counters.syncs += 1;
        let mut values = vec![Val::i64(kept as i64)];
        for (i, mut array) in launch.outputs.into_iter().enumerate() {
            if i > 0 {
                array.truncate(kept);
                // What is held should not be much more than what is there.
                if array.capacity() / 2 > kept {
                    array = array.try_slice(0, kept).map_err(|e| out_of_memory(e.0, stm.span))?;
                }
            }
            self.counters.bytes_materialised += array.bytes().len() as u64;
            values.push(Val::Leaf(array));
        }
        Ok(values)
    }

    /// New arrays that do not count.
    fn room_for(&self, stm: &Stm, pat: &[Param], len: usize) -> Outcome<Vec<Array>> {
        let sizes: usize = pat.iter().map(|p| prim(p).size()).sum();
        self.machine.memory.room(len, sizes, sizes, stm.span)?;
        Ok(pat.iter().map(|p| Array::uninit(prim(p), len)).collect())
    }
}

fn type_of(x: &Val) -> Option<Ty> {
    match x {
        Val::Scalar(x) => Some(Ty::Scalar(x.prim())),
        Val::Leaf(a) => Some(Ty::Array(a.prim())),
        Val::Rope(b) => Some(Ty::Rope(b.prim())),
        Val::Desc(_) => Some(Ty::Desc),
        Val::Unset | Val::Node(_) => None,
    }
}

fn input(x: Val) -> Outcome<Input> {
    match x {
        Val::Scalar(x) => Ok(Input::Scalar(x)),
        Val::Leaf(a) => Ok(Input::Array(a)),
        Val::Rope(b) => Ok(Input::Rope(b)),
        _ => internal("a kernel reads something that is no array"),
    }
}
