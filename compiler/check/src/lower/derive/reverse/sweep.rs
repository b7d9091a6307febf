//! The two sweeps over statements.

use super::super::rules::{no_derivative, transposed};
use super::checkpoints::Loop;
use super::inner::{Rows, Tapes};
use super::record;
use super::replay::Frame;
use super::tape::Tape;
use super::{Lower, R, Reverse};
use par_ir::core::{Body, Exp, Param, Stm};
use par_ir::prim::SpecialOp;
use par_ir::{Atom, PrimOp, Span, Var};

/// A statement to go back through.
pub(super) struct Step {
    pub pat: Vec<Param>,
    pub exp: Exp,
    pub span: Span,
    pub kept: Kept,
}

/// Values that the forward sweep keeps of a statement beside its results.
pub(super) enum Kept {
    Nothing,
    /// Positions that the elements of a filter or a sort come from.
    Origins(Var),
    /// The number of the row that gave the least or the greatest.
    First(Var),
    Tape(Tape),
    /// Of a call, or of the arm of a branch.
    Calls(record::Tape),
    /// Of the rows of a map.
    Rows(Tapes),
    /// Of a loop, and of the calls in its iterations.
    Iterations(Tape, Tapes),
}

impl Kept {
    fn calls(self) -> Option<record::Tape> {
        if let Kept::Calls(tape) = self { Some(tape) } else { None }
    }
}

impl Reverse {
    /// Emits statements. Gives those to go back through.
    pub(super) fn forward(&mut self, lo: &mut Lower, stms: Vec<Stm>) -> R<Vec<Step>> {
        let before = lo.place.span;
        if let Some(frame) = &mut self.tape {
            frame.begin(lo, &stms);
        }
        let mut steps = Vec::new();
        for stm in stms {
            lo.place.span = stm.span;
            steps.extend(super::super::super::deep(|| self.advance(lo, stm))?);
        }
        lo.place.span = before;
        Ok(steps)
    }

    fn advance(&mut self, lo: &mut Lower, stm: Stm) -> R<Option<Step>> {
        let Stm { pat, mut exp, span } = stm;
        if self.again() {
            exp.for_each_body_mut(silence);
        }
        self.scope().own.extend(pat.iter().map(|p| p.var));
        self.note_part(&pat, &exp);
        match &exp {
            Exp::Iota(n) => _ = self.positions.insert(pat[0].var, *n),
            Exp::Trace { .. } if self.again() => return Ok(None),
            Exp::Push(_) | Exp::Tape(_) | Exp::Accumulate(_) | Exp::Add { .. } | Exp::Accumulated(_) => {
                return Err(lo.derivative_of_tape());
            }
            Exp::Prim(PrimOp::Special(SpecialOp::FromBits, _), args)
                if args.iter().any(|a| a.var().is_some_and(|v| self.bits.contains(&v))) =>
            {
                return Err(no_derivative(lo, "of a number made of bits"));
            }
            _ => {}
        }
        let active = pat.iter().any(|p| self.active.contains(&p.var));
        let called = matches!(exp, Exp::Call(..)) && active;
        if (self.tape.is_some() || called) && lo.is_taped(&exp) {
            return self.taped_step(lo, pat, exp, span);
        }
        if !active {
            lo.push(pat, exp);
            return Ok(None);
        }
        let (exp, kept) = match exp {
            Exp::Filter { width, inputs, lam } => {
                let places = lo.iota(width);
                let kept = self.filter_with_places(lo, &pat, (width, &inputs, &lam), places)?;
                (Exp::Filter { width, inputs, lam }, Kept::Origins(kept))
            }
            Exp::Sort { keys, values } => {
                let order = self.sort_with_places(lo, &pat, keys, values)?;
                (Exp::Sort { keys, values }, Kept::Origins(order))
            }
            Exp::Loop { params, form, body } => {
                let l = self.with_checkpoints(lo, &pat, Loop { params, form, body })?;
                let Loop { params, form, body } = l;
                let tape = self.record(lo, &pat, &params, &form, &body)?;
                (Exp::Loop { params, form, body }, Kept::Tape(tape))
            }
            exp => match self.extremum(lo, &pat, &exp)? {
                Some(first) => (exp, Kept::First(first)),
                None => {
                    lo.push(pat.clone(), exp.clone());
                    (exp, Kept::Nothing)
                }
            },
        };
        Ok(Some(Step { pat, exp, span, kept }))
    }

    /// True if what is emitted was run before.
    pub(super) fn again(&self) -> bool {
        self.called || self.scopes.len() > 1
    }

    /// Goes back through statements.
    pub(super) fn back(&mut self, lo: &mut Lower, steps: Vec<Step>) -> R<()> {
        let before = lo.place.span;
        for step in steps.into_iter().rev() {
            lo.place.span = step.span;
            super::super::super::deep(|| self.retreat(lo, step))?;
        }
        lo.place.span = before;
        self.end_all_sums(lo)
    }

    fn retreat(&mut self, lo: &mut Lower, step: Step) -> R<()> {
        let Step { pat, exp, kept, .. } = step;
        for p in &pat {
            self.end_sums(lo, p.var)?;
        }
        let adjoints: Vec<Option<Atom>> = pat.iter().map(|p| self.scope().adjoints.remove(&p.var)).collect();
        if adjoints.iter().all(Option::is_none) {
            return Ok(());
        }
        lo.note_rule(&pat, &exp, &kept);
        self.rule(lo, (&pat, &adjoints), exp, kept)
    }

    /// Adds the contributions of an operation's adjoints to those of its operands.
    fn rule(
        &mut self,
        lo: &mut Lower,
        (pat, adjoints): (&[Param], &[Option<Atom>]),
        exp: Exp,
        kept: Kept,
    ) -> R<()> {
        let first = adjoints[0];
        match exp {
            Exp::Prim(op, args) => first.map_or(Ok(()), |d| self.scalar(lo, op, &args, pat[0].var, d)),
            Exp::If { cond, then, other } => {
                self.back_branch(lo, kept.calls().map(Frame::new), adjoints, cond, [&then, &other])
            }
            Exp::Loop { params, body, form } => match kept {
                Kept::Tape(tape) => {
                    self.back_loop(lo, (pat, adjoints), &params, (&form, &body), (&tape, None))
                }
                Kept::Iterations(tape, calls) => {
                    self.back_loop(lo, (pat, adjoints), &params, (&form, &body), (&tape, Some(calls)))
                }
                _ => Err(lo.internal("a loop without a tape")),
            },
            Exp::Call(id, args) => self.back_call(lo, (pat, adjoints), id, &args, kept.calls()),
            Exp::Map { width, inputs, lam } => {
                let tapes = if let Kept::Rows(tapes) = kept { Some(tapes) } else { None };
                let rows = Rows { tapes, ..Rows::new(width, &inputs, &lam) };
                self.repeated.extend(pat.iter().map(|p| p.var));
                self.back_map(lo, rows, adjoints)
            }
            Exp::Filter { width, inputs, lam } => match kept {
                Kept::Origins(places) => {
                    self.back_filter(lo, Rows::new(width, &inputs, &lam), adjoints, places)
                }
                _ => Err(lo.internal("a filter without positions")),
            },
            Exp::Sort { values: Some(values), .. } => match (kept, adjoints.get(1)) {
                (Kept::Origins(order), Some(Some(d))) => self.back_sort(lo, values, *d, order),
                _ => Ok(()),
            },
            Exp::Reduce { width, inputs, lam, op, neutral } => {
                let rows = Rows::new(width, &inputs, &lam);
                match (kept, first) {
                    (Kept::First(first), Some(d)) => self.back_extremum(lo, &rows, first.into(), d),
                    _ => self.back_reduce(lo, rows, (&op, &neutral), (pat, adjoints)),
                }
            }
            Exp::Scan { width, inputs, lam, op, neutral, exclusive } => {
                self.back_scan(lo, Rows::new(width, &inputs, &lam), (&op, &neutral, exclusive), adjoints)
            }
            Exp::Scatter { dests, width, inputs, lam } => {
                self.back_scatter(lo, Rows::new(width, &inputs, &lam), &dests, adjoints)
            }
            Exp::Hist { dests, width, inputs, lam, op, neutral } => {
                let rows = Rows::new(width, &inputs, &lam);
                self.back_hist(lo, rows, &dests, (&op, &neutral), (pat, adjoints))
            }
            exp => first.map_or(Ok(()), |d| self.back_moved(lo, &pat[0], &exp, d)),
        }
    }

    /// A scalar operator: its derivative in each operand, times the adjoint.
    fn scalar(&mut self, lo: &mut Lower, op: PrimOp, args: &[Atom], y: Var, d: Atom) -> R<()> {
        for (i, a) in args.iter().enumerate() {
            if self.is_active(*a)
                && let Some(d) = transposed(lo, op, args, y.into(), i, d)?
            {
                self.contribute(lo, *a, d)?;
            }
        }
        Ok(())
    }
}

/// Removes what shows values: it was shown before.
pub(super) fn silence(body: &mut Body) {
    body.stms.retain(|stm| !matches!(stm.exp, Exp::Trace { .. }));
    body.stms.iter_mut().for_each(|stm| stm.exp.for_each_body_mut(silence));
}
