//! Host statements: control flow, and the bulk operations that need no kernel.

use super::device::{Device, Held, Results, Rows, Values};
use super::frame::{Frame, HostValue};
use super::{Run, export, internal, out_of_memory};
use crate::array::OutOfMemory;
use crate::check::{CheckKind, RuntimeError, Span};
use crate::op::PrimOp;
use crate::plan::{Block, Loop, LoopForm, Op, Operand, Space, Stm};
use crate::prim::Scalar;
use crate::value::Value;
use smallvec::smallvec;

/// Stack below which a call continues on a new segment, and the size of one.
const RED_ZONE: usize = 256 << 10;
const STACK_SEGMENT: usize = 4 << 20;

impl<D: Device> Run<'_, D> {
    /// Calls function `fun` from `span`; recursion lives on segments of stack, as deep as `max_depth`.
    pub fn function(&self, fun: usize, args: Values<D>, span: Span) -> Results<D> {
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

    pub fn block(&self, block: &Block<D::Kernel>, frame: &mut Frame<D>) -> Results<D> {
        self.go_on()?;
        frame.drop_slots(&block.drop_first);
        for stm in &block.stms {
            self.stm(stm, frame)?;
        }
        Ok(frame.take_all(&block.results))
    }

    fn stm(&self, stm: &Stm<D::Kernel>, frame: &mut Frame<D>) -> Result<(), RuntimeError> {
        let before = self.begin(stm);
        let done = self.run_stm(stm, frame);
        self.end(stm, before);
        done
    }

    fn run_stm(&self, stm: &Stm<D::Kernel>, frame: &mut Frame<D>) -> Result<(), RuntimeError> {
        if let Op::Scalar(f, args) = &stm.op {
            self.count(|c| c.work += 1);
            if !frame.set_common(stm.pat[0], *f, args) {
                let x = scalar_op(*f, args, frame)?;
                frame.set(stm.pat[0], x.into());
            }
            return Ok(());
        }
        self.go_on()?;
        match &stm.op {
            Op::Check { cond, .. } if frame.flag(*cond) == Some(true) => {
                frame.drop_slots(&stm.drop_after);
                return Ok(());
            }
            Op::Read(a, i) => {
                self.sync();
                let x = self.read(*a, *i, frame).or_else(|e| self.first_failure(e))?;
                frame.set(stm.pat[0], x.into());
                frame.drop_slots(&stm.drop_after);
                return Ok(());
            }
            _ => {}
        }
        let results = self.op(&stm.op, frame, stm.span).or_else(|e| self.first_failure(e))?;
        if results.len() != stm.pat.len() {
            return Err(internal("an operation's results do not fit its pattern"));
        }
        for (slot, value) in stm.pat.iter().zip(results) {
            frame.set(*slot, value);
        }
        frame.drop_slots(&stm.drop_after);
        Ok(())
    }

    fn op(&self, op: &Op<D::Kernel>, frame: &mut Frame<D>, span: Span) -> Results<D> {
        match op {
            Op::If { cond, then, other, serial } => {
                let takes_first = frame.bool(*cond)? && (D::HAS_FAST_THREADS || !serial);
                let arm = if takes_first { then } else { other };
                self.block(arm, frame)
            }
            Op::Loop(l) => self.host_loop(l, frame),
            Op::Split(s) => self.split(s, frame, span),
            Op::Call(fun, args) => {
                let args = frame.take_all(args);
                self.function(*fun, args, span)
            }
            Op::Check { cond, kind, args } => self.check(*cond, kind, args, frame, span),
            Op::Trace { label, ty, args } => {
                let columns = export(self, Some(&ty.columns()), frame.take_all(args), false)?;
                self.traces.write(label, &Value { ty: ty.clone(), columns });
                Ok(Values::new())
            }
            Op::Kernel(k) => D::kernel(self, k, frame, span),
            Op::Append(xs, prim) => {
                let (rope, origins) = D::append(self, frame.take_all(xs), *prim, span)?;
                let origins = origins.into_iter().map(|at| Scalar::I64(at).into());
                Ok(std::iter::once(HostValue::Rope(rope)).chain(origins).collect())
            }
            Op::Compact { rope, starts, lens, kept } => {
                let rows = (frame.array(*starts)?, frame.array(*lens)?);
                let kept = kept.map(|b| frame.rope(b)).transpose()?;
                let (rope, starts) = D::compact(self, frame.rope(*rope)?, rows, kept, span)?;
                Ok(smallvec![HostValue::Rope(rope), HostValue::Array(starts)])
            }
            Op::NeedsCollection { rope, base } => {
                let base = base.map(|b| frame.rope(b)).transpose()?;
                let (rope, needs_collection) = D::needs_collection(frame.rope(*rope)?, base);
                Ok(smallvec![HostValue::Rope(rope), Scalar::Bool(needs_collection).into()])
            }
            Op::Collect { rope, starts, weight } => {
                let (starts, weight) = (frame.rope(*starts)?, frame.size(*weight)? as i64);
                let (rope, sparse) = D::collect(self, frame.rope(*rope)?, starts, weight)?;
                Ok(smallvec![HostValue::Rope(rope), Scalar::Bool(sparse).into()])
            }
            Op::Sort { space, keys, values } => {
                let rows = self.rows(*space, frame)?;
                let keys = frame.array(*keys)?;
                let values = values.map(|v| frame.array(v)).transpose()?;
                self.count(|c| c.sort(keys.prim(), values.as_ref().map(Held::prim), keys.len()));
                let sorted = D::sort(self, &rows, keys, values, span)?;
                Ok(sorted.into_iter().map(HostValue::Array).collect())
            }
            _ => Ok(smallvec![self.simple(op, frame, span)?]),
        }
    }

    /// The rows of a space.
    fn rows(&self, space: Space, frame: &mut Frame<D>) -> Result<Rows<D>, RuntimeError> {
        Ok(match space {
            Space::Flat(_) => Rows::One,
            Space::Uniform { rows, m } => {
                let (rows, m) = frame.rows_of(rows, m)?;
                Rows::Uniform(rows, m)
            }
            Space::Ragged { desc, .. } => Rows::Ragged(frame.desc(desc)?),
        })
    }

    fn host_loop(&self, l: &Loop<D::Kernel>, frame: &mut Frame<D>) -> Results<D> {
        let initial: Values<D> = l.params.iter().map(|(_, x)| frame.take(*x)).collect();
        let set_params = |frame: &mut Frame<D>, values: Values<D>| {
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
                    D::end_iteration(self)?;
                }
            }
            LoopForm::While(cond) => {
                set_params(frame, initial);
                while self.condition(cond, frame)? {
                    let next = self.block(&l.body, frame)?;
                    set_params(frame, next);
                    D::end_iteration(self)?;
                }
            }
        }
        Ok(l.params.iter().map(|(slot, _)| frame.take(Operand::Move(*slot))).collect())
    }

    fn condition(&self, cond: &Block<D::Kernel>, frame: &mut Frame<D>) -> Result<bool, RuntimeError> {
        match self.block(cond, frame)?.first() {
            Some(HostValue::Scalar(Scalar::Bool(b))) => Ok(*b),
            _ => Err(internal("the condition of a loop")),
        }
    }

    /// Operations of one result and without blocks.
    fn simple(
        &self,
        op: &Op<D::Kernel>,
        frame: &mut Frame<D>,
        span: Span,
    ) -> Result<HostValue<D>, RuntimeError> {
        let size = |n: usize| HostValue::Scalar(Scalar::I64(n as i64));
        Ok(match op {
            Op::Atom(x) => frame.take(*x),
            Op::Offsets(d) => HostValue::Array(D::offsets(&frame.desc(*d)?)),
            Op::Rows(d) => size(D::rows(&frame.desc(*d)?)),
            Op::Length(a) => size(frame.array(*a)?.len()),
            Op::Total(d) => {
                self.sync();
                size(D::total(self, &frame.desc(*d)?)?)
            }
            _ => return self.array(op, frame, span),
        })
    }

    /// Operations that make an array or a descriptor.
    fn array(
        &self,
        op: &Op<D::Kernel>,
        frame: &mut Frame<D>,
        span: Span,
    ) -> Result<HostValue<D>, RuntimeError> {
        let made = match op {
            Op::Write { arr, index, value } => {
                let (index, value) = (frame.size(*index)?, frame.scalar(*value)?);
                let mut arr = frame.array(*arr)?;
                self.count_update(&mut arr);
                self.count(|c| c.launch(1, 0));
                if index >= arr.len() {
                    return Err(internal(&format!("write at {index} of an array of length {}", arr.len())));
                }
                D::write(self, arr, index, value, span)
            }
            Op::Literal(xs, p) => {
                self.count(|c| c.launch(xs.len(), xs.len() * p.size()));
                D::literal(self, *p, &frame.scalars(xs)?, span)
            }
            Op::Iota(n) => {
                let n = frame.size(*n)?;
                self.count(|c| c.launch(n, 8 * n));
                D::iota(self, n, span)
            }
            Op::Replicate(n, x) => {
                let (n, x) = (frame.size(*n)?, frame.scalar(*x)?);
                self.count(|c| c.launch(n, n * x.prim().size()));
                D::replicate(self, n, x, span)
            }
            Op::Slice { arr, start, len } => {
                let (start, len, arr) = (frame.size(*start)?, frame.size(*len)?, frame.array(*arr)?);
                self.count(|c| c.launch(2 * len, len * arr.prim().size()));
                if start > arr.len() || len > arr.len() - start {
                    let n = arr.len();
                    return Err(internal(&format!("slice {start}..+{len} of an array of length {n}")));
                }
                D::slice(self, arr, start, len, span)
            }
            Op::Concat(xs, p) => D::concat(self, self.arrays(xs, frame)?, *p, span),
            Op::Lengths(d) => D::lengths(self, &frame.desc(*d)?, span),
            Op::SegIds(d) => D::seg_ids(self, &frame.desc(*d)?, span),
            _ => return self.descriptor(op, frame, span).map(HostValue::Desc),
        };
        made.map(HostValue::Array)
    }

    /// Operations that make descriptors.
    fn descriptor(
        &self,
        op: &Op<D::Kernel>,
        frame: &mut Frame<D>,
        span: Span,
    ) -> Result<D::Desc, RuntimeError> {
        match op {
            Op::MakeDesc(lengths) => D::make_desc(self, frame.array(*lengths)?, span),
            Op::UniformDesc { rows, m } => {
                let (rows, m) = frame.rows_of(*rows, *m)?;
                let total = rows.checked_mul(m).filter(|n| *n <= i64::MAX as usize);
                total.ok_or_else(|| out_of_memory(OutOfMemory(u64::MAX), span))?;
                D::uniform_desc(self, rows, m, span)
            }
            Op::ConcatDesc(xs) => {
                let parts: Result<Vec<_>, _> = xs.iter().map(|x| frame.desc(*x)).collect();
                D::concat_desc(self, &parts?, span)
            }
            _ => Err(internal("an operation without its executor")),
        }
    }

    /// An element. The array is looked at where it is, unless this is its last use.
    fn read(&self, a: Operand, i: Operand, frame: &mut Frame<D>) -> Result<Scalar, RuntimeError> {
        let i = frame.int(i)?;
        match a {
            Operand::Copy(slot) => self.element(frame.value(slot), i),
            a => self.element(&frame.take(a), i),
        }
    }

    /// Counts a value that the host waits for.
    fn sync(&self) {
        self.count(|c| {
            c.syncs += 1;
            c.work += 1;
        });
    }

    /// Counts the copy of an array that is to be updated, if somebody else holds it.
    pub fn count_update(&self, a: &mut D::Array) {
        if self.recorder.is_some() && !a.is_unique() {
            self.count(|c| c.copy(a.len(), a.size()));
        }
    }

    /// A device may have failed before, at what it has not reported yet.
    fn first_failure<T>(&self, e: RuntimeError) -> Result<T, RuntimeError> {
        D::settle(self)?;
        Err(e)
    }

    fn check(
        &self,
        cond: Operand,
        kind: &CheckKind,
        args: &[Operand],
        frame: &Frame<D>,
        span: Span,
    ) -> Results<D> {
        if frame.bool(cond)? {
            return Ok(Values::new());
        }
        Err(RuntimeError::check(kind, &frame.scalars(args)?, span))
    }
}

fn scalar_op<D: Device>(op: PrimOp, args: &[Operand], frame: &Frame<D>) -> Result<Scalar, RuntimeError> {
    Ok(match args {
        [a] => op.eval(&[frame.scalar(*a)?]),
        [a, b] => op.eval(&[frame.scalar(*a)?, frame.scalar(*b)?]),
        _ => op.eval(&frame.scalars(args)?),
    })
}
