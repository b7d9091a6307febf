//! CORE's operations on whole arrays.

use super::memory::{counted, out_of_memory};
use super::scalar::Machine;
use super::sort;
use super::value::Val;
use super::{Outcome, internal};
use crate::core::{Exp, FunId, Stm};
use crate::prim::{BinOp, PrimOp};
use crate::ty::{Atom, Dim, Type, Var};
use par_runtime::{Array, CheckKind, RuntimeError, Span};
use std::rc::Rc;

/// Bytes of a row or element while an array is put together.
pub(super) const VAL: usize = size_of::<Val>();

impl Machine<'_> {
    /// Everything but scalar statements.
    pub(super) fn parallel(&mut self, stm: &Stm) -> Outcome<Vec<Val>> {
        match &stm.exp {
            Exp::Call(f, args) => {
                let args = self.values(args);
                self.release(stm);
                let results = self.call(*f, args, stm.span);
                self.trail.called(results, stm)
            }
            exp if exp.is_soac() => self.soac(stm),
            Exp::Sort { keys, values } => {
                let arrays = self.sortable(*keys, *values)?;
                let row = [0, arrays[0].len() as i64];
                let sorted = sort::rows(&self.memory, &row, &arrays, stm.span)?;
                Ok(sorted.into_iter().map(Val::Leaf).collect())
            }
            Exp::Accumulate(dest) => {
                let dest = self.get(*dest).array()?;
                self.release(stm);
                self.accumulators.push(Some(dest));
                Ok(vec![Val::i64(self.accumulators.len() as i64 - 1), Val::i64(0)])
            }
            Exp::Add { acc, places, values } => {
                self.add(*acc, *places, *values)?;
                Ok(vec![])
            }
            Exp::Accumulated(acc) => {
                let made = self.accumulator(*acc)?.take();
                while let Some(None) = self.accumulators.last() {
                    self.accumulators.pop();
                }
                made.map_or_else(|| internal("an accumulator has ended"), |a| Ok(vec![Val::Leaf(a)]))
            }
            _ => match stm.pat.as_slice() {
                [p] => Ok(vec![self.array_exp(stm, &p.ty)?]),
                _ => internal("an array operation binds one variable"),
            },
        }
    }

    fn array_exp(&mut self, stm: &Stm, ty: &Type) -> Outcome<Val> {
        match &stm.exp {
            Exp::Slice { arr, start, len, stride } => {
                let (start, stride) = (self.integer(*start)?, self.integer(*stride)?);
                let arr = self.get(*arr);
                let len = self.extent(*len, ty.prim().size(), VAL, stm.span)? as i64;
                let rows = (0..len).map(|i| arr.row(start + i * stride));
                Val::collect(rows.collect::<Outcome<_>>()?, ty.rank(), ty.prim())
            }
            Exp::Update { arr, at, value } => {
                let (mut arr, value) = (self.get(*arr), self.value(*value));
                let places: Vec<Vec<i64>> =
                    at.iter().map(|a| self.integers(&a.atoms())).collect::<Outcome<_>>()?;
                self.release(stm);
                let is_row = places.iter().all(|p| p.len() == 1);
                self.work += if is_row { 1 } else { value.count() as u64 };
                arr.update(&places, value)?;
                Ok(arr)
            }
            Exp::Iota(n) => {
                let n = self.extent(*n, 8, VAL, stm.span)? as i64;
                Ok(Val::leaf(&(0..n).collect::<Vec<i64>>()))
            }
            Exp::Replicate(n, x) => {
                let (n, x) = (self.size(*n, stm.span)?, self.value(*x));
                // Rows share their memory, but results and flat copies of them do not.
                let (scalars, size) = (n.saturating_mul(x.count()), ty.prim().size());
                self.memory.room(scalars, size, size, stm.span)?;
                self.memory.room(n, size, VAL, stm.span)?;
                let rows = vec![x; n];
                Val::collect(rows, ty.rank(), ty.prim())
            }
            Exp::Literal(xs, _) => Val::collect(self.values(xs), ty.rank(), ty.prim()),
            Exp::Concat(vs) => self.concat(stm, vs, ty),
            Exp::Flatten(v) => {
                let v = self.get(*v);
                self.memory.room(v.inner_rows(), ty.prim().size(), VAL, stm.span)?;
                let rows = v.rows().iter().flat_map(Val::rows).collect();
                Val::collect(rows, ty.rank(), ty.prim())
            }
            Exp::Unflatten(v) => {
                let v = self.get(*v);
                self.memory.room(v.len(), ty.prim().size(), VAL, stm.span)?;
                v.cut(&self.row_lengths(ty, stm.span)?, ty.rank(), ty.prim())
            }
            Exp::MakeDesc(v) | Exp::Lengths(v) => Ok(self.get(*v)),
            Exp::Total(v) => {
                let sum = self.get(*v).integers().iter().try_fold(0i64, |sum, n| sum.checked_add(*n));
                sum.map(Val::i64).ok_or_else(|| out_of_memory(u64::MAX, stm.span))
            }
            Exp::Push(v) => self.push(*v, stm.span),
            Exp::Tape(n) => self.tape(*n, ty, stm.span),
            _ => internal("not an operation on arrays"),
        }
    }

    /// Length of the tape with these numbers.
    fn push(&mut self, v: Var, span: Span) -> Outcome<Val> {
        let (more, tape) = (self.get(v), self.tapes.pop());
        let Some(tape) = tape else { return internal("no function around has a tape") };
        self.memory.room(more.len(), 8, 8, span)?;
        let Val::Leaf(tape) = append(tape, std::iter::once(more), span)? else {
            return internal("a tape is an array");
        };
        let len = tape.len() as i64;
        self.tapes.push(tape);
        Ok(Val::i64(len))
    }

    /// The first `n` numbers of the tape.
    fn tape(&mut self, n: Atom, ty: &Type, span: Span) -> Outcome<Val> {
        let n = self.extent(n, 8, VAL, span)?;
        let Some(tape) = self.tapes.last() else { return internal("the function has no tape") };
        let tape = Val::Leaf(tape.clone());
        let rows = (0..n as i64).map(|i| tape.row(i));
        Val::collect(rows.collect::<Outcome<_>>()?, ty.rank(), ty.prim())
    }

    fn accumulator(&mut self, acc: Var) -> Outcome<&mut Option<Array>> {
        let number = self.integer(acc.into())? as usize;
        self.accumulators.get_mut(number).map_or_else(|| internal("no accumulator"), Ok)
    }

    fn add(&mut self, acc: Var, places: Var, values: Var) -> Outcome<()> {
        let (places, values) = (self.get(places).integers(), self.get(values).array()?);
        self.work += places.len() as u64;
        let Some(sums) = self.accumulator(acc)? else { return internal("an accumulator has ended") };
        for (i, place) in places.into_iter().enumerate() {
            if place < 0 || sums.is_empty() {
                continue;
            }
            let place = place as usize;
            if place >= sums.len() {
                return internal("a place outside of an accumulator");
            }
            let sum = PrimOp::Bin(BinOp::Add, sums.prim()).eval(&[sums.get(place), values.get(i)]);
            sums.set(place, sum);
        }
        Ok(())
    }

    /// The arrays of a sort.
    pub(super) fn sortable(&self, keys: Var, values: Option<Var>) -> Outcome<Vec<Array>> {
        std::iter::once(keys).chain(values).map(|v| self.get(v).array()).collect()
    }

    fn concat(&mut self, stm: &Stm, vs: &[Var], ty: &Type) -> Outcome<Val> {
        let mut parts = vs.iter().map(|v| self.get(*v)).collect::<Vec<_>>().into_iter();
        self.release(stm);
        let len = parts.as_slice().iter().map(Val::len).sum();
        let element = if ty.rank() > 1 { VAL } else { ty.prim().size() };
        self.memory.room(len, ty.prim().size(), element, stm.span)?;
        match parts.next() {
            Some(Val::Node(mut rows)) => {
                Rc::make_mut(&mut rows).extend(parts.flat_map(|p| p.rows()));
                Ok(Val::Node(rows))
            }
            Some(Val::Leaf(first)) => append(first, parts, stm.span),
            _ => internal("a concatenation of no arrays"),
        }
    }

    /// Lengths of the outermost rows of an array of type `ty`.
    fn row_lengths(&self, ty: &Type, span: Span) -> Outcome<Vec<i64>> {
        match ty.dims.as_slice() {
            [Dim::Size(n), Dim::Size(m), ..] => {
                let n = self.extent(*n, 8, VAL, span)?;
                Ok(vec![self.integer(*m)?; n])
            }
            [_, Dim::Seg(s), ..] => Ok(self.get(*s).integers()),
            _ => internal("an array of arrays is needed"),
        }
    }

    /// An array of type `ty` from all its scalars in order.
    pub(super) fn nest(&self, flat: Val, ty: &Type) -> Outcome<Val> {
        let rank = ty.rank();
        if rank < 2 {
            return Ok(flat);
        }
        let mut rows = match ty.dims[0] {
            Dim::Size(n) => self.size(n, Span::default())?,
            Dim::Seg(_) => return internal("a ragged outermost dimension"),
        };
        let mut levels = Vec::new();
        for dim in &ty.dims[1..] {
            self.memory.room(rows, 8, VAL, Span::default())?;
            let lengths = match dim {
                Dim::Size(m) => vec![self.integer(*m)?; rows],
                Dim::Seg(s) => self.get(*s).integers(),
            };
            rows = lengths.iter().fold(0, |sum: usize, n| sum.saturating_add(counted(*n)));
            levels.push(lengths);
        }
        let mut value = flat;
        for (i, lengths) in levels.iter().rev().enumerate() {
            value = value.cut(lengths, i + 2, ty.prim())?;
        }
        Ok(value)
    }

    /// Calls a function. Variables of the callee keep their values for the caller.
    pub(super) fn call(&mut self, f: FunId, args: Vec<Val>, span: Span) -> Outcome<Vec<Val>> {
        if self.depth >= self.max_depth {
            return Err(RuntimeError::check(&CheckKind::TooDeep, &[], span));
        }
        let fun = &self.funs[f.0 as usize];
        let bound = &self.bound[f.0 as usize];
        let saved = self.save(bound);
        self.depth += 1;
        self.bind_all(&fun.params, args)?;
        let has_tape = fun.begins_tape();
        if has_tape {
            self.tapes.push(Val::leaf::<f64>(&[]).array()?);
        }
        let results = self.body(&fun.body)?;
        if has_tape {
            self.tapes.pop();
        }
        self.depth -= 1;
        self.restore(bound, saved);
        Ok(results)
    }

    /// Takes the values of a function's variables out of the environment.
    pub(super) fn save(&mut self, bound: &[Var]) -> Vec<Val> {
        let env = &mut self.env;
        bound.iter().map(|v| std::mem::replace(&mut env[v.0 as usize], Val::Unset)).collect()
    }

    pub(super) fn restore(&mut self, bound: &[Var], saved: Vec<Val>) {
        for (v, x) in bound.iter().zip(saved) {
            self.env[v.0 as usize] = x;
        }
    }

    /// Scalars of neutral elements.
    pub(super) fn scalars(&self, xs: &[Atom]) -> Outcome<Vec<par_runtime::Scalar>> {
        xs.iter().map(|a| self.scalar(*a)).collect()
    }
}

/// Appends flat arrays, in place where nobody else holds the first.
fn append(mut first: Array, rest: impl Iterator<Item = Val>, span: Span) -> Outcome<Val> {
    for part in rest {
        first.append(&part.array()?).map_err(|e| out_of_memory(e.0, span))?;
    }
    Ok(Val::Leaf(first))
}
