//! Running FLAT on the host's side: statements one after the other, with counters of what they cost, see
//! [`par_runtime::profile`].

use super::core::result_columns;
use super::memory::{Memory, counted, out_of_memory};
use super::prepared::Prepared;
use super::runner::Runner;
use super::scalar::{Machine, loop_index};
use super::sort;
use super::value::{Desc, Val, lengths_of, offsets_of};
use super::{Outcome, internal};
use crate::core::FunId;
use crate::flat::{Block, Fun, LoopForm, Op, Param, Program, Stm, Ty};
use crate::stack::deeper;
use crate::ty::{Atom, Var};
use crate::visit::Code;
use par_runtime::chunks::{self, Chunks};
use par_runtime::value::ColumnType;
use par_runtime::{Array, CheckKind, Column, Counters, Prim, Rope, RuntimeError, Scalar, Span};
use std::rc::Rc;

/// Runs function `fun` on columns in the order of its parameters (a size as `Size` or as an `i64` scalar). Gives
/// columns in the order of its results; sizes are `Size` where the function is an entry whose type says so. Adds to the
/// counters, also when the program fails.
pub fn run_flat(
    program: &Program,
    fun: FunId,
    args: Vec<Column>,
    counters: &mut Counters,
) -> Result<Vec<Column>, RuntimeError> {
    run_flat_with(program, fun, args, counters, None)
}

/// As [`run_flat`], with what is known of the program.
pub fn run_flat_prepared(
    program: &Program,
    prepared: &Prepared,
    fun: FunId,
    args: Vec<Column>,
    counters: &mut Counters,
) -> Result<Vec<Column>, RuntimeError> {
    run(program, prepared, fun, args, counters, None)
}

/// As [`run_flat`]; kernels that the runner takes are not interpreted, and their work is not counted.
pub fn run_flat_with(
    program: &Program,
    fun: FunId,
    args: Vec<Column>,
    counters: &mut Counters,
    runner: Option<&dyn Runner>,
) -> Result<Vec<Column>, RuntimeError> {
    run(program, &Prepared::of_flat(program), fun, args, counters, runner)
}

fn run(
    program: &Program,
    prepared: &Prepared,
    fun: FunId,
    args: Vec<Column>,
    counters: &mut Counters,
    runner: Option<&dyn Runner>,
) -> Outcome<Vec<Column>> {
    prepared.check(&program.funs)?;
    let Some(callee) = program.funs.get(fun.0 as usize) else {
        return internal(format_args!("there is no function {}", fun.0));
    };
    let mut machine = Machine::new(program.vars.len(), &program.locals, prepared);
    if runner.is_some() {
        machine.memory = Memory::ample();
    }
    let bound = &prepared.bound_by_host;
    let mut host = Host { machine, funs: &program.funs, bound, counters: *counters, runner };
    let results = host.call(fun, args.into_iter().map(argument).collect(), Span::default());
    *counters = host.counters;
    counters.work += host.machine.work;
    let results = results?;
    let wanted = result_columns(callee.entry.as_ref(), results.len());
    results.into_iter().zip(wanted).map(|(x, wanted)| column(x, wanted)).collect()
}

fn argument(column: Column) -> Val {
    match column {
        Column::Offsets(a) => Val::Desc(Rc::new(Desc::new(a))),
        other => Val::from_column(other),
    }
}

fn column(x: Val, wanted: Option<ColumnType>) -> Outcome<Column> {
    match x {
        Val::Scalar(x) if wanted == Some(ColumnType::Size) => Ok(Column::Size(x.as_i64().unwrap_or(0))),
        Val::Scalar(x) => Ok(Column::Scalar(x)),
        Val::Leaf(a) => Ok(Column::Data(a)),
        Val::Desc(d) => Ok(Column::Offsets(d.offsets.clone())),
        Val::Unset | Val::Node(_) | Val::Rope(_) => internal("a result is missing"),
    }
}

/// The host: its variables are the machine's, which also evaluates kernel bodies.
pub(super) struct Host<'a> {
    pub(super) machine: Machine<'a>,
    funs: &'a [Fun],
    /// Variables bound in each function.
    bound: &'a [Vec<Var>],
    pub(super) counters: Counters,
    pub(super) runner: Option<&'a dyn Runner>,
}

impl Host<'_> {
    fn call(&mut self, f: FunId, args: Vec<Val>, span: Span) -> Outcome<Vec<Val>> {
        if self.machine.depth >= self.machine.max_depth {
            return Err(RuntimeError::check(&CheckKind::TooDeep, &[], span));
        }
        let fun = &self.funs[f.0 as usize];
        if args.len() != fun.params.len() {
            return internal(format_args!("{} arguments for {}", args.len(), fun.name));
        }
        let saved = self.machine.save(&self.bound[f.0 as usize]);
        self.machine.depth += 1;
        fun.params.iter().zip(args).for_each(|(p, x)| self.machine.set(p.var, x));
        let results = self.block(&fun.body);
        self.machine.depth -= 1;
        self.machine.restore(&self.bound[f.0 as usize], saved);
        results
    }

    fn block(&mut self, block: &Block) -> Outcome<Vec<Val>> {
        self.machine.drop_first(block);
        deeper(|| {
            block.stms.iter().try_for_each(|stm| {
                let values = self.stm(stm)?;
                self.bind(&stm.pat, values)?;
                self.machine.drop_after(stm);
                Ok(())
            })
        })?;
        Ok(self.machine.take_results(block, &block.results))
    }

    fn bind(&mut self, pat: &[Param], values: Vec<Val>) -> Outcome<()> {
        if pat.len() != values.len() {
            return internal(format_args!("{} values for {} variables", values.len(), pat.len()));
        }
        pat.iter().zip(values).for_each(|(p, x)| self.machine.set(p.var, x));
        Ok(())
    }

    /// Counts a bulk operation that makes `made` bytes.
    pub(super) fn launch(&mut self, work: usize, made: usize) {
        self.counters.launch(work, made);
    }

    fn stm(&mut self, stm: &Stm) -> Outcome<Vec<Val>> {
        match &stm.op {
            Op::Check { cond, kind, args } => {
                self.machine.check(*cond, kind, args, stm.span)?;
                Ok(vec![])
            }
            Op::Trace { label, ty, args } => {
                self.machine.trace(label, ty, args, stm.span)?;
                Ok(vec![])
            }
            Op::Kernel(k) => self.kernel(stm, k),
            Op::If { cond, then, other, .. } => {
                let arm = if self.machine.condition(*cond)? { then } else { other };
                self.block(arm)
            }
            Op::Loop { params, form, body } => self.flat_loop(stm, params, form, body),
            Op::Split { rows, most, first, count, body } => {
                let rows = self.machine.size(*rows, stm.span)?;
                self.split(stm, Chunks::new(rows, *most), [*first, *count], body)
            }
            Op::Call(f, args) => {
                let args = self.machine.values(args);
                self.machine.release(stm);
                self.call(*f, args, stm.span)
            }
            Op::Append(vs) => self.rope_of(stm, vs),
            Op::Compact { rope, starts, lens, kept } => self.compact(stm, [*rope, *starts, *lens], *kept),
            Op::NeedsCollection { rope, base } => self.needs_collection(stm, *rope, *base),
            Op::Collect { rope, starts, weight } => self.collect(stm, [*rope, *starts], *weight),
            Op::Sort { space, keys, values } => {
                let arrays = self.machine.sortable(*keys, *values)?;
                let offsets = self.offsets(stm, space)?;
                self.counters.sort(arrays[0].prim(), arrays.get(1).map(Array::prim), arrays[0].len());
                let sorted = sort::rows(&self.machine.memory, &offsets, &arrays, stm.span)?;
                Ok(sorted.into_iter().map(Val::Leaf).collect())
            }
            op => Ok(vec![self.simple(stm, op)?]),
        }
    }

    /// Operations that give one value and have no body.
    fn simple(&mut self, stm: &Stm, op: &Op) -> Outcome<Val> {
        match op {
            Op::Atom(a) => {
                let value = self.machine.value(*a);
                self.machine.release(stm);
                Ok(value)
            }
            Op::Prim(op, xs) => self.machine.prim(*op, xs).map(Val::Scalar),
            Op::Read(v, i) => {
                self.counters.syncs += 1;
                self.machine.work += 1;
                self.machine.get(*v).row(self.machine.integer(*i)?)
            }
            Op::Length(v) => Ok(Val::i64(self.machine.get(*v).len() as i64)),
            Op::Write { arr, index, value } => {
                let (index, value) = (self.machine.integer(*index)?, self.machine.value(*value));
                let mut array = Val::Leaf(self.owned(stm, &[*arr])?.remove(0));
                self.launch(1, 0);
                array.update(&[vec![index]], value)?;
                Ok(array)
            }
            Op::Iota(n) => {
                let n = self.machine.extent(*n, 8, 16, stm.span)?;
                self.launch(n, 8 * n);
                Ok(Val::leaf(&(0..n as i64).collect::<Vec<i64>>()))
            }
            Op::Replicate(n, x) => {
                let x = self.machine.scalar(*x)?;
                let n = self.machine.extent(*n, x.prim().size(), x.prim().size(), stm.span)?;
                self.launch(n, n * x.prim().size());
                Ok(Val::Leaf(replicate(n, x)))
            }
            Op::Literal(xs, p) => {
                self.launch(xs.len(), xs.len() * p.size());
                Ok(Val::Leaf(Array::from_scalars(*p, &self.machine.scalars(xs)?)))
            }
            Op::Slice { arr, start, len } => self.slice(*arr, *start, *len, stm.span),
            Op::Concat(vs) => self.concat(stm, vs),
            op => self.descriptor(op, stm.span),
        }
    }

    fn descriptor(&mut self, op: &Op, span: Span) -> Outcome<Val> {
        match op {
            Op::MakeDesc(v) => {
                let lengths = self.machine.get(*v).array()?;
                let desc = self.new_desc(lengths.slice::<i64>(), span)?;
                if let Val::Desc(d) = &desc {
                    d.lengths.get_or_init(|| lengths);
                }
                Ok(desc)
            }
            Op::UniformDesc { rows, m } => {
                let (rows, m) = (self.machine.extent(*rows, 8, 16, span)?, self.machine.integer(*m)?);
                self.new_desc(&vec![m; rows], span)
            }
            Op::ConcatDesc(vs) => {
                let descs = vs.iter().map(|v| self.machine.get(*v).desc()).collect::<Outcome<Vec<_>>>()?;
                self.concat_descs(&descs, span)
            }
            Op::Offsets(v) => Ok(Val::Leaf(self.machine.get(*v).desc()?.offsets.clone())),
            Op::Rows(v) => Ok(Val::i64(self.machine.get(*v).desc()?.rows() as i64)),
            Op::Total(v) => {
                self.counters.syncs += 1;
                self.machine.work += 1;
                Ok(Val::i64(self.machine.get(*v).desc()?.total()))
            }
            Op::Lengths(v) => {
                let d = self.machine.get(*v).desc()?;
                if d.lengths.get().is_none() {
                    self.machine.memory.room(d.rows(), 8, 16, span)?;
                    self.launch(2 * d.rows(), 8 * d.rows());
                }
                Ok(Val::Leaf(d.lengths.get_or_init(|| lengths_of(&d.offsets)).clone()))
            }
            Op::SegIds(v) => {
                let d = self.machine.get(*v).desc()?;
                if d.segids.get().is_none() {
                    let total = counted(d.total());
                    self.machine.memory.room(total, 8, 16, span)?;
                    self.launch(d.rows() + total, 8 * total);
                }
                Ok(Val::Leaf(d.segids.get_or_init(|| segids(&d)).clone()))
            }
            _ => internal("not a descriptor operation"),
        }
    }

    fn concat_descs(&mut self, descs: &[Rc<Desc>], span: Span) -> Outcome<Val> {
        self.machine.memory.room(descs.iter().map(|d| d.rows()).sum(), 8, 16, span)?;
        let mut lengths = Vec::new();
        for d in descs {
            lengths.extend_from_slice(lengths_of(&d.offsets).slice::<i64>());
        }
        self.new_desc(&lengths, span)
    }

    fn new_desc(&mut self, lengths: &[i64], span: Span) -> Outcome<Val> {
        self.machine.memory.room(lengths.len() + 1, 8, 16, span)?;
        self.launch(2 * lengths.len() + 1, 8 * (lengths.len() + 1));
        let offsets = offsets_of(lengths).ok_or_else(|| out_of_memory(u64::MAX, span))?;
        Ok(Val::Desc(Rc::new(Desc::new(offsets))))
    }

    /// Arrays to update: those that others hold too are copied, which counts.
    pub(super) fn owned(&mut self, stm: &Stm, vs: &[Var]) -> Outcome<Vec<Array>> {
        let arrays = vs.iter().map(|v| self.machine.get(*v).array()).collect::<Outcome<Vec<Array>>>()?;
        self.machine.release(stm);
        arrays.into_iter().map(|a| self.unshared(a, stm.span)).collect()
    }

    fn unshared(&mut self, mut a: Array, span: Span) -> Outcome<Array> {
        if !a.is_unique() {
            self.machine.memory.room(a.len(), a.prim().size(), 0, span)?;
            self.counters.copy(a.len(), a.bytes().len());
            a.make_unique();
        }
        Ok(a)
    }

    fn slice(&mut self, arr: Var, start: Atom, len: Atom, span: Span) -> Outcome<Val> {
        let arr = self.machine.get(arr).array()?;
        let (start, len) = (self.machine.integer(start)?, self.machine.size(len, span)?);
        let inside = start >= 0 && len <= arr.len() && start <= (arr.len() - len) as i64;
        if !inside {
            return internal(format_args!("slice of {len} from {start} in {} elements", arr.len()));
        }
        let size = arr.prim().size();
        self.machine.memory.room(len, size, size, span)?;
        self.launch(2 * len, len * size);
        arr.try_slice(start as usize, len).map(Val::Leaf).map_err(|e| out_of_memory(e.0, span))
    }

    fn concat(&mut self, stm: &Stm, vs: &[Var]) -> Outcome<Val> {
        let parts = vs.iter().map(|v| self.machine.get(*v).array()).collect::<Outcome<Vec<Array>>>()?;
        self.machine.release(stm);
        self.concatenated(parts, stm.span)
    }

    fn concatenated(&mut self, parts: Vec<Array>, span: Span) -> Outcome<Val> {
        let prim = parts.first().map_or(Prim::I64, Array::prim);
        self.machine.memory.room(parts.iter().map(Array::len).sum(), prim.size(), prim.size(), span)?;
        let elements = Array::concat(parts, prim, &mut self.counters);
        elements.map(Val::Leaf).map_err(|e| out_of_memory(e.0, span))
    }

    fn rope_of(&mut self, stm: &Stm, vs: &[Var]) -> Outcome<Vec<Val>> {
        let parts: Vec<Val> = vs.iter().map(|v| self.machine.get(*v)).collect();
        self.machine.release(stm);
        let prim = match stm.pat.first().map(|p| p.ty) {
            Some(Ty::Rope(p)) => p,
            _ => return internal("appending binds no rope"),
        };
        let mut rope = Rope::new(prim);
        let mut origins = Vec::new();
        for part in parts {
            origins.push(match part {
                Val::Rope(b) => {
                    rope.add_all(&b);
                    0
                }
                part => rope.add(part.array()?),
            });
        }
        Ok(std::iter::once(Val::Rope(Rc::new(rope))).chain(origins.into_iter().map(Val::i64)).collect())
    }

    fn compact(&mut self, stm: &Stm, [rope, starts, lens]: [Var; 3], kept: Option<Var>) -> Outcome<Vec<Val>> {
        let mut rope = self.machine.get(rope).rope()?;
        let kept = kept.map(|b| self.machine.get(b).rope()).transpose()?;
        let (starts, lens) = (self.machine.get(starts).array()?, self.machine.get(lens).array()?);
        self.machine.release(stm);
        if rope.count() <= 1 {
            return Ok(vec![Val::Rope(rope), Val::Leaf(starts)]);
        }
        let compacted = Rc::make_mut(&mut rope).compact(starts.slice(), lens.slice(), kept.as_deref());
        let moved = compacted.map_err(|e| out_of_memory(e.0, stm.span))?;
        let copied = moved.as_ref().map_or(0, |m| m.copied);
        self.launch(2 * starts.len() + 2 * copied, copied * rope.prim().size());
        Ok(vec![Val::Rope(rope), Val::Leaf(moved.map_or(starts, |m| m.starts))])
    }

    fn needs_collection(&mut self, stm: &Stm, rope: Var, base: Option<Var>) -> Outcome<Vec<Val>> {
        let mut rope = self.machine.get(rope).rope()?;
        let base = base.map(|b| self.machine.get(b).rope()).transpose()?;
        self.machine.release(stm);
        let needs_collection = Rc::make_mut(&mut rope).needs_collection(base.as_deref());
        Ok(vec![Val::Rope(rope), Val::Scalar(Scalar::Bool(needs_collection))])
    }

    fn collect(&mut self, stm: &Stm, [rope, starts]: [Var; 2], weight: Atom) -> Outcome<Vec<Val>> {
        let mut rope = self.machine.get(rope).rope()?;
        let starts = self.machine.get(starts).rope()?;
        let weight = self.machine.scalar(weight)?.as_i64().unwrap_or(0);
        self.machine.release(stm);
        let Some(cost) = rope.pay_for_collection(&starts) else {
            return Ok(vec![Val::Rope(rope), Val::Scalar(Scalar::Bool(false))]);
        };
        self.launch(cost, 0);
        let sparse = Rc::make_mut(&mut rope).collect(starts.parts().map(Array::slice::<i64>), weight);
        Ok(vec![Val::Rope(rope), Val::Scalar(Scalar::Bool(sparse))])
    }

    fn flat_loop(
        &mut self,
        stm: &Stm,
        params: &[(Param, Atom)],
        form: &LoopForm,
        body: &Block,
    ) -> Outcome<Vec<Val>> {
        let mut state: Vec<Val> = params.iter().map(|(_, init)| self.machine.value(*init)).collect();
        let limit = match form {
            LoopForm::For { bound, .. } => self.machine.integer(*bound)?,
            LoopForm::While(_) => i64::MAX,
        };
        self.machine.release(stm);
        for i in 0..limit {
            for ((p, _), x) in params.iter().zip(state.drain(..)) {
                self.machine.set(p.var, x);
            }
            match form {
                LoopForm::For { index, prim, .. } => self.machine.set(*index, loop_index(*prim, i)),
                LoopForm::While(cond) => {
                    if self.block(cond)?[0].scalar()? != Scalar::Bool(true) {
                        return Ok(params.iter().map(|(p, _)| self.machine.take(p.var)).collect());
                    }
                }
            }
            state = self.block(body)?;
        }
        Ok(state)
    }
}

impl Host<'_> {
    /// Runs a body on all chunks; the results are those of the chunks one after the other.
    fn split(&mut self, stm: &Stm, mut chunks: Chunks, chunk: [Var; 2], body: &Block) -> Outcome<Vec<Val>> {
        if chunks::is_full() {
            return Err(out_of_memory(0, stm.span));
        }
        let mut parts: Vec<Vec<Val>> = body.results.iter().map(|_| Vec::new()).collect();
        while chunks.next().is_some() {
            let part = chunks.run(|first, rows| {
                chunk.iter().zip([first, rows]).for_each(|(v, n)| self.machine.set(*v, Val::i64(n as i64)));
                let part = self.block(body);
                if part.is_err() {
                    body.bound().into_iter().for_each(|v| self.machine.set(v, Val::Unset));
                }
                part
            })?;
            for (parts, part) in parts.iter_mut().zip(part.unwrap_or_default()) {
                self.append(parts, part, stm.span)?;
            }
        }
        parts.into_iter().map(|parts| self.put_together(parts, stm.span)).collect()
    }

    /// Arrays are appended to the first; others are put together at the end.
    fn append(&mut self, parts: &mut Vec<Val>, part: Val, span: Span) -> Outcome<()> {
        match (parts.pop(), part) {
            (Some(Val::Leaf(a)), Val::Leaf(b)) => parts.push(self.concatenated(vec![a, b], span)?),
            (before, part) => parts.extend(before.into_iter().chain([part])),
        }
        Ok(())
    }

    fn put_together(&mut self, mut parts: Vec<Val>, span: Span) -> Outcome<Val> {
        if parts.len() == 1 {
            return Ok(parts.remove(0));
        }
        match parts.first() {
            Some(Val::Desc(_)) => {
                let descs = parts.iter().map(Val::desc).collect::<Outcome<Vec<_>>>()?;
                self.concat_descs(&descs, span)
            }
            Some(Val::Rope(first)) => {
                let mut rope = Rope::new(first.prim());
                parts.into_iter().try_for_each(|b| b.rope().map(|b| rope.add_all(&b)))?;
                Ok(Val::Rope(Rc::new(rope)))
            }
            _ => internal("a chunk gives something that cannot be appended"),
        }
    }
}

fn replicate(n: usize, x: Scalar) -> Array {
    let mut a = Array::zeros(x.prim(), n);
    let word = x.bits().to_le_bytes();
    match x.prim().size() {
        _ if x.bits() == 0 => {}
        1 => fill::<1>(a.bytes_mut(), word),
        2 => fill::<2>(a.bytes_mut(), word),
        4 => fill::<4>(a.bytes_mut(), word),
        _ => fill::<8>(a.bytes_mut(), word),
    }
    a
}

/// Elements of `N` bytes, all the same. What is copied has a size that is known here, so that copying is no call.
fn fill<const N: usize>(bytes: &mut [u8], word: [u8; 8]) {
    if let Some(element) = word.first_chunk::<N>() {
        bytes.as_chunks_mut().0.fill(*element);
    }
}

/// For every element, its row.
fn segids(d: &Desc) -> Array {
    let rows = d.offsets.slice::<i64>().windows(2).enumerate();
    let ids: Vec<i64> =
        rows.flat_map(|(i, w)| std::iter::repeat_n(i as i64, (w[1] - w[0]) as usize)).collect();
    Array::from_slice(&ids)
}
