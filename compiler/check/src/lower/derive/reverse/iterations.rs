//! Calls in loops: each iteration keeps where what its calls keep ends, and where what the iteration before kept does.
//!
//! ```text
//! f> (x) = … loop (s = s0, last = 0) for i < n do              f* (x) = …
//!              let (y, e) = f> …                                 ends: of all iterations, found from the last one back
//!              in (…, push [e, last])                            loop s = s0 for i < n do      -- calls are read at ends[i]
//! ```
//!
//! So a recursion that goes over its calls in a loop makes each of them once, too.

use super::inner::Tapes;
use super::record::{ON_TAPE, Recorder};
use super::replay::Frame;
use super::sweep::Kept;
use super::{Lower, R, Reverse};
use par_ir::core::{At, Body, Exp, LoopForm, Param};
use par_ir::prim::BinOp;
use par_ir::{Atom, Dim, Prim, Type, Var};

/// A loop's state, form and body.
type Parts = (Vec<(Param, Atom)>, LoopForm, Body);

impl Recorder {
    /// Emits a loop with calls: where what it keeps ends and, if that is found out by running it, the number of iterations.
    pub(super) fn iterations(&mut self, lo: &mut Lower, mut pat: Vec<Param>, parts: Parts) -> R<Vec<Atom>> {
        let (mut params, form, mut body) = parts;
        let counts = matches!(form, LoopForm::While(_));
        let (block, (state, next)) = lo.in_block(|lo| {
            let last = lo.size_param("last");
            let end = self.body(lo, std::mem::take(&mut body.stms))?;
            let both = [end[0], last.var.into()].map(|a| lo.onto_tape(a, Prim::I64));
            let row = lo.kept_scalars(both.to_vec()).1;
            let (mut state, mut next) = (vec![last], vec![lo.pushed(row)]);
            if counts {
                let count = lo.size_param("count");
                next.push(lo.add(count.var.into(), Atom::i64(1)));
                state.push(count);
            }
            Ok((state, next))
        })?;
        body.stms = block.stms;
        body.results.extend(next);
        let last: Vec<Param> = state.iter().map(|_| lo.size_param("end")).collect();
        params.extend(state.into_iter().map(|p| (p, Atom::i64(0))));
        let kept = last.iter().map(|p| p.var.into()).collect();
        pat.extend(last);
        lo.push(pat, Exp::Loop { params, form, body });
        Ok(kept)
    }
}

impl Lower<'_> {
    /// Pushes an array: where it ends on the tape.
    pub(super) fn pushed(&mut self, row: Var) -> Atom {
        let end = self.emit("end", Type::I64, Exp::Push(row));
        self.facts.sizes.insert(end);
        end.into()
    }

    /// The ends of what so many iterations kept of their calls. What the last one kept ends at `last`.
    fn ends_of_iterations(&mut self, count: Atom, last: Atom, tape: Var) -> R<Var> {
        let ty = Type::array(vec![Dim::Size(count)], Prim::I64);
        let init = self.emit("ends", ty.clone(), Exp::Replicate(count, Atom::i64(0)));
        let (block, (index, state, results)) = self.in_block(|lo| {
            let index = lo.fresh("i", Type::I64);
            let state = [lo.param("last", Type::I64), lo.param("ends", ty.clone())];
            let number = |lo: &mut Self, back: i64| {
                let at = vec![lo.sub(state[0].var.into(), Atom::i64(back))];
                let x = lo.emit("kept", Type::scalar(ON_TAPE), Exp::Index(tape, at));
                lo.off_tape(x.into(), Prim::I64)
            };
            let (end, before) = (number(lo, 2), number(lo, 1));
            let behind = lo.sub(count, Atom::i64(1));
            let at = vec![At::Index(lo.sub(behind, index.into()))];
            let ends = lo.emit("ends", ty.clone(), Exp::Update { arr: state[1].var, at, value: end });
            Ok((index, state, vec![before, ends.into()]))
        })?;
        let params = state.into_iter().zip([last, init.into()]).collect();
        let pat = vec![self.param("first", Type::I64), self.param("ends", ty)];
        let ends = pat[1].var;
        let form = LoopForm::For { index, prim: Prim::I64, bound: count };
        self.push(pat, Exp::Loop { params, form, body: Body { stms: block.stms, results } });
        Ok(ends)
    }
}

impl Reverse {
    /// Emits a loop whose calls were kept, without the calls: what the way back needs.
    pub(super) fn replayed_loop(
        &mut self,
        lo: &mut Lower,
        frame: &mut Frame,
        pat: &[Param],
        (params, form, body): (&[(Param, Atom)], &LoopForm, &Body),
    ) -> R<Kept> {
        let Some(last) = frame.link(lo) else { return Err(lo.internal("a loop keeps where its part ends")) };
        let count = match form {
            LoopForm::For { prim, bound, .. } => {
                let n = lo.conv(*prim, Prim::I64, *bound);
                lo.bin(BinOp::Max, Prim::I64, n, Atom::i64(0))
            }
            LoopForm::While(_) => frame.scalar(lo, Prim::I64),
        };
        let of = frame.array;
        let ends = lo.ends_of_iterations(count, last, of)?;
        let (block, form) = lo.in_block(|lo| {
            let (index, prim) = match form {
                LoopForm::For { index, prim, .. } => (*index, *prim),
                LoopForm::While(_) => (lo.fresh("i", Type::I64), Prim::I64),
            };
            let i = lo.conv(prim, Prim::I64, index.into());
            let frame = lo.frame_of_iteration(ends, of, i);
            let before = self.tape.replace(frame);
            let done = self.forward(lo, body.stms.clone());
            self.tape = before;
            done?;
            let bound = if let LoopForm::For { bound, .. } = form { *bound } else { count };
            Ok(LoopForm::For { index, prim, bound })
        })?;
        let body = Body { stms: block.stms, results: body.results.clone() };
        if !pat.iter().any(|p| self.active.contains(&p.var)) {
            lo.push(pat.to_vec(), Exp::Loop { params: params.to_vec(), form, body });
            return Ok(Kept::Nothing);
        }
        let tape = self.record(lo, pat, params, &form, &body)?;
        Ok(Kept::Iterations(tape, Tapes::Ends { ends, of }))
    }
}

impl Lower<'_> {
    /// Place of the calls of an iteration.
    pub(super) fn frame_of_iteration(&mut self, ends: Var, of: Var, i: Atom) -> Frame {
        let end = self.emit("end", Type::I64, Exp::Index(ends, vec![i]));
        Frame::new((end.into(), of))
    }
}
