//! The machine that evaluates CORE bodies, and its scalar part: what kernels of FLAT consist of too.

use super::memory::{Memory, out_of_memory};
use super::moves::Moves;
use super::prepared::Prepared;
use super::trace::Traces;
use super::trail::Trail;
use super::value::Val;
use super::{Outcome, internal};
use crate::core::{Body, Exp, Fun, LoopForm, Param, Stm};
use crate::prim::PrimOp;
use crate::stack::deeper;
use crate::ty::{Atom, Dim, Var};
use par_runtime::check::max_depth;
use par_runtime::{Array, CheckKind, Prim, RuntimeError, Scalar, Span};

/// Variables' values and counters while a program runs.
pub(super) struct Machine<'a> {
    /// By variable. A call saves its callee's variables and restores them.
    pub(super) env: Vec<Val>,
    pub(super) moves: &'a Moves,
    pub(super) funs: &'a [Fun],
    /// Variables bound in each function.
    pub(super) bound: &'a [Vec<Var>],
    pub(super) depth: usize,
    pub(super) max_depth: usize,
    pub(super) memory: Memory,
    /// Scalar operations and element reads.
    pub(super) work: u64,
    pub(super) traces: Traces,
    pub(super) trail: Trail,
    /// Of the functions being run, the innermost last.
    pub(super) tapes: Vec<Array>,
    /// Accumulators; a variable has the number of one.
    pub(super) accumulators: Vec<Option<Array>>,
}

impl<'a> Machine<'a> {
    pub(super) fn new(variables: usize, funs: &'a [Fun], prepared: &'a Prepared) -> Machine<'a> {
        Machine {
            env: vec![Val::Unset; variables],
            moves: &prepared.moves,
            funs,
            bound: &prepared.bound,
            depth: 0,
            max_depth: max_depth(),
            memory: Memory::new(),
            work: 0,
            traces: Traces::default(),
            trail: Trail::default(),
            tapes: Vec::new(),
            accumulators: Vec::new(),
        }
    }

    pub(super) fn set(&mut self, v: Var, x: Val) {
        self.env[v.0 as usize] = x;
    }

    pub(super) fn get(&self, v: Var) -> Val {
        self.env[v.0 as usize].clone()
    }

    pub(super) fn take(&mut self, v: Var) -> Val {
        std::mem::replace(&mut self.env[v.0 as usize], Val::Unset)
    }

    pub(super) fn value(&self, a: Atom) -> Val {
        match a {
            Atom::Var(v) => self.get(v),
            Atom::Const(c) => Val::Scalar(c),
        }
    }

    pub(super) fn values(&self, xs: &[Atom]) -> Vec<Val> {
        xs.iter().map(|a| self.value(*a)).collect()
    }

    pub(super) fn scalar(&self, a: Atom) -> Outcome<Scalar> {
        match a {
            Atom::Var(v) => self.env[v.0 as usize].scalar(),
            Atom::Const(c) => Ok(c),
        }
    }

    pub(super) fn integer(&self, a: Atom) -> Outcome<i64> {
        match self.scalar(a)?.as_i64() {
            Some(x) => Ok(x),
            None => internal("an integer is needed"),
        }
    }

    pub(super) fn integers(&self, xs: &[Atom]) -> Outcome<Vec<i64>> {
        xs.iter().map(|a| self.integer(*a)).collect()
    }

    pub(super) fn condition(&self, a: Atom) -> Outcome<bool> {
        Ok(self.scalar(a)? == Scalar::Bool(true))
    }

    /// A size that an array is about to have; a negative one is the user's error.
    pub(super) fn size(&self, a: Atom, span: Span) -> Outcome<usize> {
        self.size_of(a, 1, span)
    }

    /// A size that is not negative, whether or not this machine can count so many elements.
    pub(super) fn length(&self, a: Atom, span: Span) -> Outcome<i64> {
        let n = self.integer(a)?;
        if n < 0 {
            return Err(RuntimeError::check(&CheckKind::NegativeSize, &[Scalar::I64(n)], span));
        }
        Ok(n)
    }

    /// As [`Machine::size`], of elements of so many bytes.
    fn size_of(&self, a: Atom, bytes: usize, span: Span) -> Outcome<usize> {
        let n = self.length(a, span)? as u64;
        usize::try_from(n).map_err(|_| out_of_memory(n.saturating_mul(bytes as u64), span))
    }

    /// The size of an array whose elements take `size` bytes, and `held` bytes each while it is made: neither negative
    /// nor more than there is memory for.
    pub(super) fn extent(&self, a: Atom, size: usize, held: usize, span: Span) -> Outcome<usize> {
        let n = self.size_of(a, size, span)?;
        self.memory.room(n, size, held, span)?;
        Ok(n)
    }

    pub(super) fn prim(&mut self, op: PrimOp, xs: &[Atom]) -> Outcome<Scalar> {
        let mut operands = [Scalar::Bool(false); 3];
        for (slot, x) in operands.iter_mut().zip(xs) {
            *slot = self.scalar(*x)?;
        }
        self.work += 1;
        Ok(op.eval(&operands[..xs.len()]))
    }

    pub(super) fn check(&self, cond: Atom, kind: &CheckKind, args: &[Atom], span: Span) -> Outcome<()> {
        if self.condition(cond)? {
            return Ok(());
        }
        let args = args.iter().map(|a| self.scalar(*a)).collect::<Outcome<Vec<Scalar>>>()?;
        Err(RuntimeError::check(kind, &args, span))
    }

    fn index(&mut self, v: Var, indices: &[Atom]) -> Outcome<Val> {
        self.work += 1;
        let (first, rest) = match indices {
            [first, rest @ ..] => (*first, rest),
            [] => return internal("no index"),
        };
        let mut row = self.env[v.0 as usize].row(self.integer(first)?)?;
        for i in rest {
            row = row.row(self.integer(*i)?)?;
        }
        Ok(row)
    }

    /// Binds a variable. An array must have as many rows as its type says, if it does.
    pub(super) fn bind(&mut self, p: &Param, x: Val) -> Outcome<()> {
        if let Some(Dim::Size(n)) = p.ty.dims.first()
            && !p.ty.is_flat_array()
            && self.integer(*n)? != x.len() as i64
        {
            let n = self.integer(*n)?;
            return internal(format_args!("variable {} has {} rows, its type says {n}", p.var.0, x.len()));
        }
        self.set(p.var, x);
        Ok(())
    }

    pub(super) fn bind_all(&mut self, params: &[Param], values: Vec<Val>) -> Outcome<()> {
        if params.len() != values.len() {
            return internal(format_args!("{} values for {} variables", values.len(), params.len()));
        }
        params.iter().zip(values).try_for_each(|(p, x)| self.bind(p, x))
    }

    /// Takes operands that are not needed any more out of the environment.
    pub(super) fn release<S>(&mut self, stm: &S) {
        for v in self.moves.after(stm) {
            if !matches!(self.env[v.0 as usize], Val::Scalar(_)) {
                self.env[v.0 as usize] = Val::Unset;
            }
        }
    }

    /// Forgets what only another arm or nothing at all uses.
    pub(super) fn drop_first<B>(&mut self, block: &B) {
        for v in self.moves.first(block) {
            self.env[v.0 as usize] = Val::Unset;
        }
    }

    /// Forgets what nothing uses after the statement.
    pub(super) fn drop_after<S>(&mut self, stm: &S) {
        for v in self.moves.dead(stm) {
            self.env[v.0 as usize] = Val::Unset;
        }
    }

    /// A body's results, taken where nothing else needs them.
    pub(super) fn take_results<B>(&mut self, body: &B, results: &[Atom]) -> Vec<Val> {
        let taken = self.moves.results(body);
        let mut values = Vec::with_capacity(results.len());
        for (i, a) in results.iter().enumerate() {
            values.push(match a {
                Atom::Const(c) => Val::Scalar(*c),
                Atom::Var(v) => match &mut self.env[v.0 as usize] {
                    Val::Scalar(x) => Val::Scalar(*x),
                    slot if taken.get(i) == Some(&true) => std::mem::replace(slot, Val::Unset),
                    slot => slot.clone(),
                },
            });
        }
        values
    }

    /// Runs one step below the present place of the program, see [`Traces`].
    fn step<T>(&mut self, i: u32, run: impl FnOnce(&mut Self) -> T) -> T {
        self.traces.path.push(i);
        let result = run(self);
        self.traces.path.pop();
        result
    }

    pub(super) fn body(&mut self, body: &Body) -> Outcome<Vec<Val>> {
        self.trail.step()?;
        deeper(|| body.stms.iter().enumerate().try_for_each(|(i, stm)| self.step(i as u32, |m| m.stm(stm))))?;
        Ok(self.take_results(body, &body.results))
    }

    pub(super) fn stm(&mut self, stm: &Stm) -> Outcome<()> {
        let value = match &stm.exp {
            Exp::Check { cond, kind, args } => return self.check(*cond, kind, args, stm.span),
            Exp::Trace { label, ty, args } => return self.trace(label, ty, args, stm.span),
            Exp::Prim(op, xs) => Val::Scalar(self.prim(*op, xs)?),
            Exp::Index(v, indices) => self.index(*v, indices)?,
            Exp::Atom(a) => {
                let value = self.value(*a);
                self.release(stm);
                value
            }
            Exp::If { cond, then, other } => {
                let (arm, i) = if self.condition(*cond)? { (then, 0) } else { (other, 1) };
                let values = self.step(i, |m| m.body(arm))?;
                return self.bind_all(&stm.pat, values);
            }
            Exp::Loop { params, form, body } => {
                let values = self.core_loop(stm, params, form, body)?;
                return self.bind_all(&stm.pat, values);
            }
            _ => {
                let values = self.parallel(stm)?;
                return self.bind_all(&stm.pat, values);
            }
        };
        match stm.pat.as_slice() {
            [p] => self.bind(p, value),
            pat => internal(format_args!("one value for {} variables", pat.len())),
        }
    }

    fn core_loop(
        &mut self,
        stm: &Stm,
        params: &[(Param, Atom)],
        form: &LoopForm,
        body: &Body,
    ) -> Outcome<Vec<Val>> {
        let mut state: Vec<Val> = params.iter().map(|(_, init)| self.value(*init)).collect();
        let limit = match form {
            LoopForm::For { bound, .. } => self.integer(*bound)?,
            LoopForm::While(_) => i64::MAX,
        };
        self.release(stm);
        for i in 0..limit {
            for ((p, _), x) in params.iter().zip(state.drain(..)) {
                self.bind(p, x)?;
            }
            match form {
                LoopForm::For { index, prim, .. } => self.set(*index, loop_index(*prim, i)),
                LoopForm::While(cond) => {
                    let more = self.iteration(i, 0, cond);
                    let more = self.trail.inside(more, i, stm)?;
                    if more[0].scalar()? != Scalar::Bool(true) {
                        return Ok(params.iter().map(|(p, _)| self.take(p.var)).collect());
                    }
                }
            }
            let next = self.iteration(i, 1, body);
            state = self.trail.inside(next, i, stm)?;
        }
        Ok(state)
    }

    /// The condition (`part` is 0) or the body of a loop.
    fn iteration(&mut self, i: i64, part: u32, body: &Body) -> Outcome<Vec<Val>> {
        self.step(i as u32, |m| m.step(part, |m| m.body(body)))
    }
}

pub(super) fn loop_index(prim: Prim, i: i64) -> Val {
    Val::Scalar(Scalar::from_i64(prim, i))
}
