//! Going forward in a function whose calls were kept: their results come from the tapes.

use super::inner::Tapes;
use super::record::{ON_TAPE, Tape, tape_of};
use super::sweep::{Kept, Step};
use super::{Lower, R, Reverse};
use par_ir::core::{Body, Exp, Lambda, Param, Stm};
use par_ir::{Atom, Dim, Prim, Span, Type, Var};

/// A place on a tape, which is read from its end.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    pub array: Var,
    size: Atom,
    /// Number of the scalars at the end that were read.
    scalar: i64,
    /// The end of the next array.
    at: Atom,
    /// Statements that are still to come whose calls were kept.
    left: usize,
    /// The part of a branch ends where this one does.
    is_only_branch: bool,
}

impl Frame {
    /// The end of a tape.
    pub fn new((size, array): Tape) -> Frame {
        Frame { array, size, scalar: 0, at: size, left: 0, is_only_branch: false }
    }

    /// Goes to what the statements of a body kept.
    pub fn begin(&mut self, lo: &mut Lower, stms: &[Stm]) {
        let scalars = lo.taped_scalars(stms) as i64;
        let at = lo.sub(self.size, Atom::i64(scalars));
        let (left, is_only_branch) = (lo.taped_count(stms), lo.is_only_branch(stms));
        *self = Frame { at, left, is_only_branch, ..Frame::new((self.size, self.array)) };
    }

    /// The next scalar.
    pub fn scalar(&mut self, lo: &mut Lower, prim: Prim) -> Atom {
        self.scalar += 1;
        let at = vec![lo.sub(self.size, Atom::i64(self.scalar))];
        let x = lo.emit("kept", Type::scalar(ON_TAPE), Exp::Index(self.array, at));
        lo.off_tape(x.into(), prim)
    }

    /// The next so many numbers, as they stand there.
    fn part(&mut self, lo: &mut Lower, n: Atom) -> Var {
        let ty = Type::array(vec![Dim::Size(n)], ON_TAPE);
        let (arr, start) = (self.array, lo.sub(self.at, n));
        self.at = start;
        lo.emit("kept", ty, Exp::Slice { arr, start, len: n, stride: Atom::i64(1) })
    }

    /// The next so many numbers of a type.
    fn numbers(&mut self, lo: &mut Lower, n: Atom, prim: Prim) -> R<Var> {
        let part = self.part(lo, n);
        lo.converted((n, part), prim, &|lo, a| lo.off_tape(a, prim))
    }

    /// The remainder.
    fn rest(&mut self, lo: &mut Lower) -> Tape {
        if self.at == self.size {
            return (self.size, self.array);
        }
        let (arr, len, start) = (self.array, self.at, Atom::i64(0));
        let ty = Type::array(vec![Dim::Size(len)], ON_TAPE);
        (len, lo.emit("kept", ty, Exp::Slice { arr, start, len, stride: Atom::i64(1) }))
    }

    /// The size of the tape of the statement that begins here, or the end of its part; not if that is all that is left.
    pub fn link(&mut self, lo: &mut Lower) -> Option<Atom> {
        let is_kept = if lo.derivatives.joined { self.left > 0 } else { !self.is_only_branch };
        is_kept.then(|| self.scalar(lo, Prim::I64))
    }

    /// The tape of a statement, by what [`Frame::link`] gave.
    fn linked(&mut self, lo: &mut Lower, link: Option<Atom>) -> Tape {
        match (link, lo.derivatives.joined) {
            (Some(size), true) => (size, self.part(lo, size)),
            (None, true) => self.rest(lo),
            (end, false) => (end.unwrap_or(self.size), self.array),
        }
    }
}

impl Reverse {
    /// Emits code with calls that are kept, or, where they were kept, without the calls. Gives what the way back needs.
    pub(super) fn taped(&mut self, lo: &mut Lower, pat: &[Param], exp: &Exp) -> R<Kept> {
        let Some(mut frame) = self.tape else {
            let Exp::Call(id, args) = exp else {
                lo.push(pat.to_vec(), exp.clone());
                return Ok(Kept::Nothing);
            };
            let made = lo.recorded_function(*id);
            let params = lo.tape_params();
            let tape = tape_of(&params);
            lo.push(pat.iter().cloned().chain(params).collect(), Exp::Call(made, args.clone()));
            return Ok(Kept::Calls(tape));
        };
        frame.left = frame.left.saturating_sub(1);
        let kept = match exp {
            Exp::Map { width, inputs, lam } => {
                self.replayed_rows(lo, &mut frame, pat, (*width, inputs, lam))?
            }
            Exp::If { cond, then, other } => {
                let link = frame.link(lo);
                let tape = frame.linked(lo, link);
                let mut arms = Vec::new();
                for arm in [then, other] {
                    arms.push(self.replayed(lo, Frame::new(tape), arm)?);
                }
                let (Some(other), Some(then)) = (arms.pop(), arms.pop()) else {
                    return Err(lo.internal("a branch has two arms"));
                };
                lo.push(pat.to_vec(), Exp::If { cond: *cond, then, other });
                Kept::Calls(tape)
            }
            Exp::Loop { params, form, body } => {
                self.replayed_loop(lo, &mut frame, pat, (params, form, body))?
            }
            Exp::Call(..) => {
                let link = frame.link(lo);
                for p in pat {
                    self.replay_result(lo, &mut frame, p)?;
                }
                Kept::Calls(frame.linked(lo, link))
            }
            _ => return Err(lo.internal("code with calls was expected")),
        };
        self.tape = Some(frame);
        Ok(kept)
    }

    /// A body without the calls in it.
    fn replayed(&mut self, lo: &mut Lower, frame: Frame, body: &Body) -> R<Body> {
        let before = self.tape.replace(frame);
        let done = lo.in_block(|lo| self.forward(lo, body.stms.clone()));
        self.tape = before;
        Ok(Body { stms: done?.0.stms, results: body.results.clone() })
    }

    fn replayed_rows(
        &mut self,
        lo: &mut Lower,
        frame: &mut Frame,
        pat: &[Param],
        (width, inputs, lam): (Atom, &[Var], &Lambda),
    ) -> R<Kept> {
        let lens = frame.numbers(lo, width, Prim::I64)?;
        if !lo.derivatives.joined {
            return self.replayed_parts(lo, pat, (width, inputs, lam), (lens, frame.array));
        }
        let s = lo.emit("s", Type::desc(vec![Dim::Size(width)]), Exp::MakeDesc(lens));
        let total = lo.total(s);
        let part = frame.part(lo, total);
        let ty = Type::array(vec![Dim::Size(width), Dim::Seg(s)], ON_TAPE);
        let tapes = lo.emit("tapes", ty, Exp::Unflatten(part));
        let (mut inputs, mut lam) = (inputs.to_vec(), lam.clone());
        let (_, params) = lo.in_block(|lo| Ok(lo.tape_params()))?;
        let row = tape_of(&params);
        inputs.extend([s, tapes]);
        lam.params.extend(params);
        lam.body = self.replayed(lo, Frame::new(row), &lam.body)?;
        lo.push(pat.to_vec(), Exp::Map { width, inputs, lam });
        Ok(Kept::Rows(Tapes::Joined(tapes)))
    }

    /// As [`Reverse::replayed_rows`], of rows whose parts of a tape have these ends.
    fn replayed_parts(
        &mut self,
        lo: &mut Lower,
        pat: &[Param],
        (width, inputs, lam): (Atom, &[Var], &Lambda),
        (ends, of): (Var, Var),
    ) -> R<Kept> {
        let (mut inputs, mut lam) = (inputs.to_vec(), lam.clone());
        let (_, end) = lo.in_block(|lo| Ok(lo.size_param("end")))?;
        inputs.push(ends);
        let frame = Frame::new((end.var.into(), of));
        lam.params.push(end);
        lam.body = self.replayed(lo, frame, &lam.body)?;
        lo.push(pat.to_vec(), Exp::Map { width, inputs, lam });
        Ok(Kept::Rows(Tapes::Ends { ends, of }))
    }

    /// Binds a call's result to what the tape says. Values that are not needed are zeros.
    fn replay_result(&mut self, lo: &mut Lower, frame: &mut Frame, p: &Param) -> R<()> {
        let prim = p.ty.prim();
        if p.ty.is_desc() {
            let n = lo.flat_size(&p.ty)?;
            let flat = frame.numbers(lo, n, Prim::I64)?;
            let lens = lo.unflat(flat, &Type::array(p.ty.dims.clone(), Prim::I64))?;
            lo.push(vec![p.clone()], Exp::MakeDesc(lens));
            return Ok(());
        }
        let value = if p.ty.is_scalar() {
            frame.scalar(lo, prim)
        } else if self.needed.contains(&p.var) {
            let n = lo.flat_size(&p.ty)?;
            let flat = frame.numbers(lo, n, prim)?;
            lo.unflat(flat, &p.ty)?.into()
        } else {
            lo.zeros(&p.ty)?
        };
        lo.push(vec![p.clone()], Exp::Atom(value));
        Ok(())
    }

    /// A step through code with calls.
    pub(super) fn taped_step(
        &mut self,
        lo: &mut Lower,
        pat: Vec<Param>,
        exp: Exp,
        span: Span,
    ) -> R<Option<Step>> {
        let kept = self.taped(lo, &pat, &exp)?;
        let active = pat.iter().any(|p| self.active.contains(&p.var));
        Ok(active.then_some(Step { pat, exp, span, kept }))
    }
}
