//! Going forward in a function whose calls were kept: their results come from the tapes.

use super::record::{TAPES, Tapes, last_tapes, tape_of};
use super::sweep::{Kept, Step};
use super::{Lower, R, Reverse};
use par_ir::core::{Body, Exp, Lambda, Param};
use par_ir::{Atom, Dim, Prim, Span, Type, Var};

/// A place on two tapes.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    arrays: [Var; 2],
    at: [Atom; 2],
    /// Statements that are still to come whose calls were kept.
    pub left: usize,
}

impl Frame {
    /// The beginning of two tapes.
    pub fn new(arrays: [Var; 2]) -> Frame {
        Frame { arrays, at: [Atom::i64(0); 2], left: 0 }
    }

    /// The next number on a tape.
    fn scalar(&mut self, lo: &mut Lower, tape: usize) -> Atom {
        let ty = Type::scalar(TAPES[tape]);
        let x = lo.emit("kept", ty, Exp::Index(self.arrays[tape], vec![self.at[tape]]));
        self.at[tape] = lo.add(self.at[tape], Atom::i64(1));
        x.into()
    }

    /// The next so many numbers.
    fn array(&mut self, lo: &mut Lower, tape: usize, n: Atom) -> Var {
        let ty = Type::array(vec![Dim::Size(n)], TAPES[tape]);
        let (arr, start) = (self.arrays[tape], self.at[tape]);
        let part = lo.emit("kept", ty, Exp::Slice { arr, start, len: n, stride: Atom::i64(1) });
        self.at[tape] = lo.add(start, n);
        part
    }

    /// The remainder of both tapes.
    fn rest(&mut self, lo: &mut Lower) -> R<Tapes> {
        let mut rest = Vec::new();
        for i in 0..TAPES.len() {
            let Some(Dim::Size(n)) = lo.type_of(self.arrays[i]).dims.first().copied() else {
                return Err(lo.internal("a tape has a size"));
            };
            rest.push(if self.at[i] == Atom::i64(0) {
                (n, self.arrays[i])
            } else {
                let left = lo.sub(n, self.at[i]);
                (left, self.array(lo, i, left))
            });
        }
        Ok([rest[0], rest[1]])
    }

    /// Sizes of the tapes of the statement that begins here, unless it is the last: then they are what is left.
    fn sizes(&mut self, lo: &mut Lower) -> Option<[Atom; 2]> {
        (self.left > 0).then(|| [self.scalar(lo, 0), self.scalar(lo, 0)])
    }

    fn tapes_or_rest(&mut self, lo: &mut Lower, sizes: Option<[Atom; 2]>) -> R<Tapes> {
        match sizes {
            Some(sizes) => Ok(self.tapes(lo, sizes)),
            None => self.rest(lo),
        }
    }

    /// Tapes of these sizes.
    fn tapes(&mut self, lo: &mut Lower, sizes: [Atom; 2]) -> Tapes {
        [0, 1].map(|i| (sizes[i], self.array(lo, i, sizes[i])))
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
            let all: Vec<Param> = pat.iter().cloned().chain(lo.tape_params()).collect();
            let tapes = last_tapes(&all);
            lo.push(all, Exp::Call(made, args.clone()));
            return Ok(Kept::Tapes(tapes));
        };
        frame.left = frame.left.saturating_sub(1);
        let kept = match exp {
            Exp::Map { width, inputs, lam } => {
                self.replayed_rows(lo, &mut frame, pat, (*width, inputs, lam))?
            }
            Exp::If { cond, then, other } => {
                let sizes = frame.sizes(lo);
                let tapes = frame.tapes_or_rest(lo, sizes)?;
                let mut arms = Vec::new();
                for arm in [then, other] {
                    arms.push(self.replayed(lo, Frame::new(tapes.map(|t| t.1)), arm)?);
                }
                let (Some(other), Some(then)) = (arms.pop(), arms.pop()) else {
                    return Err(lo.internal("a branch has two arms"));
                };
                lo.push(pat.to_vec(), Exp::If { cond: *cond, then, other });
                Kept::Tapes(tapes)
            }
            Exp::Call(..) => {
                let sizes = frame.sizes(lo);
                for p in pat {
                    self.replay_result(lo, &mut frame, p)?;
                }
                Kept::Tapes(frame.tapes_or_rest(lo, sizes)?)
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
        let mut descs = Vec::new();
        for _ in TAPES {
            let lens = frame.array(lo, 0, width);
            descs.push(lo.emit("s", Type::desc(vec![Dim::Size(width)]), Exp::MakeDesc(lens)));
        }
        let (mut inputs, mut lam, mut tapes) = (inputs.to_vec(), lam.clone(), Vec::new());
        for (i, s) in descs.into_iter().enumerate() {
            let total = lo.total(s);
            let part = frame.array(lo, i, total);
            let ty = Type::array(vec![Dim::Size(width), Dim::Seg(s)], TAPES[i]);
            tapes.push((s, lo.emit("tapes", ty, Exp::Unflatten(part))));
        }
        let (_, rows) = lo.in_block(|lo| {
            let mut rows = Vec::new();
            for ((s, v), prim) in tapes.iter().zip(TAPES) {
                let k = lo.size_param("k");
                let row = lo.param("tape", Type::array(vec![Dim::Size(k.var.into())], prim));
                rows.push(row.var);
                inputs.extend([*s, *v]);
                lam.params.extend([k, row]);
            }
            Ok(rows)
        })?;
        lam.body = self.replayed(lo, Frame::new([rows[0], rows[1]]), &lam.body)?;
        lo.push(pat.to_vec(), Exp::Map { width, inputs, lam });
        Ok(Kept::Rows([tapes[0].1, tapes[1].1]))
    }

    /// Binds a call's result to what the tape says. Values that are not needed are zeros.
    fn replay_result(&mut self, lo: &mut Lower, frame: &mut Frame, p: &Param) -> R<()> {
        let prim = p.ty.prim();
        if p.ty.is_desc() {
            let n = lo.flat_size(&p.ty)?;
            let flat = frame.array(lo, 0, n);
            let lens = lo.unflat(flat, &Type::array(p.ty.dims.clone(), Prim::I64))?;
            lo.push(vec![p.clone()], Exp::MakeDesc(lens));
            return Ok(());
        }
        let value = if p.ty.is_scalar() {
            let x = frame.scalar(lo, tape_of(prim));
            lo.off_tape(x, prim)
        } else if self.needed.contains(&p.var) {
            let n = lo.flat_size(&p.ty)?;
            let flat = frame.array(lo, tape_of(prim), n);
            let flat = lo.converted((n, flat), prim, &|lo, a| lo.off_tape(a, prim))?;
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
