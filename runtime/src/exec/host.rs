//! Host statements: control flow, and the bulk operations that need no kernel.

use super::frame::{Frame, HostValue};
use super::{Desc, Run, export, internal, out_of_memory, threads};
use crate::array::{Array, OutOfMemory};
use crate::blocks::Blocks;
use crate::check::{CheckKind, RuntimeError, Span};
use crate::plan::{Block, Loop, LoopForm, Op, Operand, Stm};
use crate::prim::{Prim, Scalar};
use crate::profile::{Counters, Rows};
use crate::value::Value;
use std::sync::Arc;

type Results = Result<Vec<HostValue>, RuntimeError>;

/// Stack below which a call continues on a new segment, and the size of one.
const RED_ZONE: usize = 256 << 10;
const STACK_SEGMENT: usize = 4 << 20;

impl Run<'_> {
    /// Calls function `fun` from `span`; recursion lives on segments of stack, as deep as `max_depth`.
    pub fn function(&self, fun: usize, args: Vec<HostValue>, span: Span) -> Results {
        let function = self.plan.functions.get(fun).ok_or_else(|| internal("no such function"))?;
        let depth = self.depth.get() + 1;
        if depth > self.max_depth {
            return Err(RuntimeError::check(&CheckKind::TooDeep, &[], span));
        }
        self.depth.set(depth);
        let results = stacker::maybe_grow(RED_ZONE, STACK_SEGMENT, || {
            let mut frame = Frame::new(function.slots);
            for ((slot, _), value) in function.params.iter().zip(args) {
                frame.set(*slot, value);
            }
            self.block(&function.body, &mut frame)
        });
        self.depth.set(depth - 1);
        results
    }

    pub fn block(&self, block: &Block, frame: &mut Frame) -> Results {
        self.go_on()?;
        frame.drop_slots(&block.drop_first);
        for stm in &block.stms {
            self.stm(stm, frame)?;
        }
        Ok(frame.take_all(&block.results))
    }

    fn stm(&self, stm: &Stm, frame: &mut Frame) -> Result<(), RuntimeError> {
        let before = self.begin(stm);
        let done = self.run_stm(stm, frame);
        self.end(stm, before);
        done
    }

    fn run_stm(&self, stm: &Stm, frame: &mut Frame) -> Result<(), RuntimeError> {
        if let Op::Scalar(f, args) = &stm.op {
            self.count(|c| c.work += 1);
            let x = scalar_op(f.as_ref(), args, frame)?;
            frame.set(stm.pat[0], x.into());
            return Ok(());
        }
        self.go_on()?;
        let results = self.op(&stm.op, frame, stm.span)?;
        if results.len() != stm.pat.len() {
            return Err(internal("an operation's results do not fit its pattern"));
        }
        for (slot, value) in stm.pat.iter().zip(results) {
            frame.set(*slot, value);
        }
        frame.drop_slots(&stm.drop_after);
        Ok(())
    }

    fn op(&self, op: &Op, frame: &mut Frame, span: Span) -> Results {
        match op {
            Op::If { cond, then, other } => {
                let arm = if frame.bool(*cond)? { then } else { other };
                self.block(arm, frame)
            }
            Op::Loop(l) => self.host_loop(l, frame),
            Op::Split(s) => self.split(s, frame, span),
            Op::Call(fun, args) => {
                let args = frame.take_all(args);
                self.function(*fun, args, span)
            }
            Op::Check { cond, kind, args } => check(*cond, kind, args, frame, span),
            Op::Trace { label, ty, args } => {
                let columns = export(Some(&ty.columns()), frame.take_all(args));
                self.traces.write(label, &Value { ty: ty.clone(), columns });
                Ok(Vec::new())
            }
            Op::Kernel(k) => self.kernel(k, frame, span),
            Op::Join(xs, prim) => join(frame, xs, *prim),
            Op::Tidy { blocks, starts, lens } => self.tidy(frame, [*blocks, *starts, *lens], span),
            _ => Ok(vec![self.simple(op, frame, span)?]),
        }
    }

    fn host_loop(&self, l: &Loop, frame: &mut Frame) -> Results {
        let initial: Vec<HostValue> = l.params.iter().map(|(_, x)| frame.take(*x)).collect();
        let set_params = |frame: &mut Frame, values: Vec<HostValue>| {
            l.params.iter().zip(values).for_each(|((slot, _), v)| frame.set(*slot, v));
        };
        match &l.form {
            LoopForm::For { index, prim, bound } => {
                let bound = frame.scalar(*bound)?;
                set_params(frame, initial);
                let n = match bound {
                    Scalar::U64(n) => n as i128,
                    n => n.as_i64().ok_or_else(|| internal("the bound of a loop"))? as i128,
                };
                for i in 0..n {
                    frame.set(*index, Scalar::from_bits(*prim, i as u64).into());
                    let next = self.block(&l.body, frame)?;
                    set_params(frame, next);
                }
            }
            LoopForm::While(cond) => {
                set_params(frame, initial);
                while self.condition(cond, frame)? {
                    let next = self.block(&l.body, frame)?;
                    set_params(frame, next);
                }
            }
        }
        Ok(l.params.iter().map(|(slot, _)| frame.take(Operand::Move(*slot))).collect())
    }

    fn condition(&self, cond: &Block, frame: &mut Frame) -> Result<bool, RuntimeError> {
        match self.block(cond, frame)?.first() {
            Some(HostValue::Scalar(Scalar::Bool(b))) => Ok(*b),
            _ => Err(internal("the condition of a loop")),
        }
    }

    /// Operations of one result and without blocks.
    fn simple(&self, op: &Op, frame: &mut Frame, span: Span) -> Result<HostValue, RuntimeError> {
        let size = |n: usize| HostValue::Scalar(Scalar::I64(n as i64));
        let memory = |e: OutOfMemory| out_of_memory(e, span);
        Ok(match op {
            Op::Atom(x) => frame.take(*x),
            Op::Offsets(d) => frame.desc(*d)?.offsets().clone().into(),
            Op::Rows(d) => size(frame.desc(*d)?.rows()),
            Op::Length(a) => size(frame.array(*a)?.len()),
            Op::Total(d) => {
                self.sync();
                size(frame.desc(*d)?.total())
            }
            Op::Read(a, i) => {
                self.sync();
                read(frame.take(*a), frame.int(*i)?)?.into()
            }
            Op::Write { arr, index, value } => {
                let (index, value) = (frame.size(*index)?, frame.scalar(*value)?);
                let mut arr = frame.array(*arr)?;
                self.count_update(&mut arr);
                self.count(|c| c.launch(1, 0));
                write(arr, index, value, span)?.into()
            }
            Op::Literal(xs, p) => {
                self.count(|c| c.launch(xs.len(), xs.len() * p.size()));
                Array::from_scalars(*p, &frame.scalars(xs)?).into()
            }
            Op::Iota(n) => {
                let n = frame.size(*n)?;
                self.count(|c| c.launch(n, 8 * n));
                self.iota(n).map_err(memory)?.into()
            }
            Op::Replicate(n, x) => {
                let (n, x) = (frame.size(*n)?, frame.scalar(*x)?);
                self.count(|c| c.launch(n, n * x.prim().size()));
                self.replicate(n, x).map_err(memory)?.into()
            }
            Op::Slice { arr, start, len } => {
                let (start, len, arr) = (frame.size(*start)?, frame.size(*len)?, frame.array(*arr)?);
                self.count(|c| c.launch(2 * len, len * arr.prim().size()));
                slice(arr, start, len, span)?.into()
            }
            Op::Concat(xs, p) => {
                let parts = xs.iter().map(|x| frame.array(*x)).collect::<Result<Vec<_>, _>>()?;
                let mut cost = Counters::default();
                let joined = Array::concat(parts, *p, &mut cost).map_err(memory)?;
                self.count(|c| *c += cost);
                joined.into()
            }
            _ => return self.descriptor(op, frame, memory),
        })
    }

    fn tidy(&self, frame: &mut Frame, [blocks, starts, lens]: [Operand; 3], span: Span) -> Results {
        let (mut blocks, starts, lens) = (frame.blocks(blocks)?, frame.array(starts)?, frame.array(lens)?);
        if blocks.count() <= 1 {
            return Ok(vec![HostValue::Blocks(blocks), starts.into()]);
        }
        let tidied = Arc::make_mut(&mut blocks).tidy(starts.slice(), lens.slice());
        let moved = tidied.map_err(|e| out_of_memory(e, span))?;
        let copied = moved.as_ref().map_or(0, |m| m.copied);
        let size = blocks.prim().size();
        self.count(|c| c.launch(2 * starts.len() + 2 * copied, copied * size));
        Ok(vec![HostValue::Blocks(blocks), moved.map_or(starts, |m| m.starts).into()])
    }

    /// Operations that make descriptors, and arrays of them.
    fn descriptor(
        &self,
        op: &Op,
        frame: &mut Frame,
        memory: impl Fn(OutOfMemory) -> RuntimeError + Copy,
    ) -> Result<HostValue, RuntimeError> {
        let overflow = || memory(OutOfMemory(u64::MAX));
        Ok(match op {
            Op::MakeDesc(lengths) => {
                let lengths = frame.array(*lengths)?;
                self.new_desc(Desc::from_lengths(lengths).map_err(memory)?.ok_or_else(overflow)?)
            }
            Op::UniformDesc { rows, m } => {
                let (rows, m) = (frame.size(*rows)?, frame.size(*m)?);
                rows.checked_mul(m).filter(|n| *n <= i64::MAX as usize).ok_or_else(overflow)?;
                self.new_desc(Desc::uniform(rows, m).map_err(memory)?)
            }
            Op::ConcatDesc(xs) => {
                let parts: Result<Vec<_>, _> = xs.iter().map(|x| frame.desc(*x)).collect();
                self.new_desc(Desc::concat(&parts?).map_err(memory)?.ok_or_else(overflow)?)
            }
            Op::Lengths(d) => {
                let d = frame.desc(*d)?;
                if !d.has_lengths() {
                    self.count(|c| c.launch(2 * d.rows(), 8 * d.rows()));
                }
                d.lengths().map_err(memory)?.into()
            }
            Op::SegIds(d) => {
                let d = frame.desc(*d)?;
                if !d.has_seg_ids() {
                    self.count(|c| c.launch(d.rows() + d.total(), 8 * d.total()));
                }
                d.seg_ids(self.threads).map_err(memory)?.into()
            }
            _ => return Err(internal("an operation without its executor")),
        })
    }

    fn new_desc(&self, d: Desc) -> HostValue {
        self.count(|c| c.launch(2 * d.rows() + 1, 8 * (d.rows() + 1)));
        self.note_rows(|| Rows::of(&d));
        HostValue::Desc(Arc::new(d))
    }

    /// Counts a value that the host waits for.
    fn sync(&self) {
        self.count(|c| {
            c.syncs += 1;
            c.work += 1;
        });
    }

    /// Counts the copy of an array that is to be updated, if somebody else holds it.
    pub fn count_update(&self, a: &mut Array) {
        if self.recorder.is_some() && !a.is_unique() {
            self.count(|c| c.copy(a.len(), a.bytes().len()));
        }
    }

    fn iota(&self, n: usize) -> Result<Array, OutOfMemory> {
        let mut a = Array::try_uninit(Prim::I64, n)?;
        threads::fill(self.threads, a.slice_mut::<i64>(), |start, part| {
            part.iter_mut().enumerate().for_each(|(i, x)| *x = (start + i) as i64);
        });
        Ok(a)
    }

    /// `n` copies of `x`.
    pub fn replicate(&self, n: usize, x: Scalar) -> Result<Array, OutOfMemory> {
        let a = Array::try_uninit(x.prim(), n)?;
        let bits = x.bits();
        match x.prim().size() {
            1 => self.fill(&a, bits as u8),
            2 => self.fill(&a, bits as u16),
            4 => self.fill(&a, bits as u32),
            _ => self.fill(&a, bits),
        }
        Ok(a)
    }

    /// Fills a fresh array; `T` has the size of its elements.
    fn fill<T: Copy + Send + Sync>(&self, a: &Array, x: T) {
        // SAFETY: the caller has just made the array, and nobody else holds it; sizes agree.
        let out = unsafe { std::slice::from_raw_parts_mut(a.as_ptr() as *mut T, a.len()) };
        threads::fill(self.threads, out, |_, part| part.fill(x));
    }
}

fn scalar_op(
    f: &(dyn Fn(&[Scalar]) -> Scalar + Send + Sync),
    args: &[Operand],
    frame: &Frame,
) -> Result<Scalar, RuntimeError> {
    Ok(match args {
        [a] => f(&[frame.scalar(*a)?]),
        [a, b] => f(&[frame.scalar(*a)?, frame.scalar(*b)?]),
        _ => f(&frame.scalars(args)?),
    })
}

fn check(cond: Operand, kind: &CheckKind, args: &[Operand], frame: &Frame, span: Span) -> Results {
    if frame.bool(cond)? {
        return Ok(Vec::new());
    }
    Err(RuntimeError::check(kind, &frame.scalars(args)?, span))
}

fn read(a: HostValue, i: i64) -> Result<Scalar, RuntimeError> {
    let element = match &a {
        HostValue::Array(a) if i >= 0 && (i as usize) < a.len() => Some(a.get(i as usize)),
        HostValue::Blocks(b) => b.get(i),
        _ => None,
    };
    element.ok_or_else(|| internal(&format!("a read at {i}, where nothing is")))
}

/// Arrays and blocks as one set of blocks, and what is added to the indices of each.
fn join(frame: &mut Frame, xs: &[Operand], prim: Prim) -> Results {
    let mut joined = Arc::new(Blocks::new(prim));
    let mut origins = Vec::with_capacity(xs.len());
    for x in xs {
        origins.push(match frame.take(*x) {
            HostValue::Array(a) => Arc::make_mut(&mut joined).add(a),
            HostValue::Blocks(b) if joined.count() == 0 => {
                joined = b;
                0
            }
            HostValue::Blocks(b) => {
                Arc::make_mut(&mut joined).add_all(&b);
                0
            }
            other => return Err(internal(&format!("{other:?} where arrays are joined"))),
        });
    }
    let origins = origins.into_iter().map(|at| Scalar::I64(at).into());
    Ok(std::iter::once(HostValue::Blocks(joined)).chain(origins).collect())
}

fn write(mut a: Array, i: usize, x: Scalar, span: Span) -> Result<Array, RuntimeError> {
    if i >= a.len() {
        return Err(internal(&format!("write at {i} of an array of length {}", a.len())));
    }
    a.try_make_unique().map_err(|e| out_of_memory(e, span))?;
    a.set(i, x);
    Ok(a)
}

fn slice(mut a: Array, start: usize, len: usize, span: Span) -> Result<Array, RuntimeError> {
    if start > a.len() || len > a.len() - start {
        return Err(internal(&format!("slice {start}..+{len} of an array of length {}", a.len())));
    }
    if start == 0 && len >= a.len() / 2 && a.is_unique() {
        a.truncate(len);
        return Ok(a);
    }
    a.try_slice(start, len).map_err(|e| out_of_memory(e, span))
}
