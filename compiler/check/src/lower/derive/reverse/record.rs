//! Functions that keep what the sweep backward needs of the calls in them.
//!
//! A function with the suffix `^` gives a tape of floats beside its results, to be read from its end. There stand, the last first, for each call
//! in its body in order, how long the call's own tape is, and those of its results that are scalars; before these, in the same order, its other
//! results and its tape. An arm of a branch and the rows of a map are framed alike.
//! So what a recursion computes is kept once, and going backward every call is entered once. The tape of the last statement of a body is
//! what is left of the body's: how long it is is not kept, and for many functions no number is kept for a call but its result. It stands
//! first, and nobody else holds it: what the body adds is appended in place, so that what a deep recursion keeps is written once.
//!
//! ```text
//! f^ (x) = … let (y, t) = f^ (z) …                            in (result, t ++ [y])
//! f^ (x) = … let (a, s) = f^ (z) … let (b, t) = f^ (y) …      in (result, t ++ s ++ [b, a, length s])
//! ```
//!
//! Appending takes the square of the depth where calls are lifted: their rows are appended at each depth. So a function with the suffix `>` pushes what it keeps
//! ([`Exp::Push`]) to the tape of a function with the suffix `^`, which does nothing but to call it. What it keeps of a call is where
//! that call's part ends. Tapes that are joined are for programs with derivatives of derivatives: they are arrays like others.
//!
//! ```text
//! f> (x) = … let (b, e) = f> (y) …                            in (result, push [b, e])
//! f^ (x) = let (result, e) = f> (x)                           in (result, tape e)
//! ```
//!
//! Integers are floats of the same bits there. One tape of floats has derivatives of its own, and takes half the copies that two would.
//!
//! Calls in loops are kept where tapes are not joined ([`super::iterations`]). Those inside of reductions, and of loops over strips of iterations, are
//! made again.

use super::super::{Mode, is_float};
use super::need::needed;
use super::{Lower, R};
use par_ir::core::{Body, Exp, FunId, Lambda, LoopForm, Param, Stm};
use par_ir::hash::HashSet;
use par_ir::prim::{CmpOp, SpecialOp};
use par_ir::visit::{Code, Subst};
use par_ir::{Atom, Dim, Prim, PrimOp, Scalar, Type, Var};
use par_syntax::diagnostic::Diagnostic;

/// The type of the numbers on a tape.
pub(super) const ON_TAPE: Prim = Prim::F64;

/// So many directions are taken forward rather than one backward.
const FEW: usize = 8;

/// A tape: its size, and the array. The array may go on.
pub(super) type Tape = (Atom, Var);

/// A tape being made.
#[derive(Default)]
pub(super) struct Recorder {
    needed: HashSet<Var>,
    /// Arrays with their sizes.
    pieces: Vec<(Atom, Var)>,
    /// Scalars behind them.
    scalars: Vec<Atom>,
    /// Statements with calls that are still to come in the body.
    left: usize,
    /// The end of the part of a branch, where nothing else is kept of the body.
    end: Option<Atom>,
}

impl Lower<'_> {
    /// True for a call that is kept, and for code with such calls that is framed.
    pub(super) fn is_taped(&self, exp: &Exp) -> bool {
        let inside = |b: &Body| b.stms.iter().any(|s| super::super::super::deep(|| self.is_taped(&s.exp)));
        match exp {
            Exp::Call(id, _) => !self.derivatives.given.contains_key(id) && !self.is_plain(*id),
            Exp::If { then, other, .. } => inside(then) || inside(other),
            Exp::Map { lam, .. } => inside(&lam.body),
            // Of a loop over strips of iterations the sweep backward runs the strips again, and their calls.
            Exp::Loop { body, .. } => {
                !self.derivatives.joined && self.options.checkpoints == 0 && inside(body)
            }
            _ => false,
        }
    }

    /// The number of statements that are taped.
    pub(super) fn taped_count(&self, stms: &[Stm]) -> usize {
        stms.iter().filter(|s| self.is_taped(&s.exp)).count()
    }

    /// The number of scalars at the end of a body's tape.
    pub(super) fn taped_scalars(&self, stms: &[Stm]) -> usize {
        if self.is_only_branch(stms) {
            return 0;
        }
        let taped: Vec<&Stm> = stms.iter().filter(|s| self.is_taped(&s.exp)).collect();
        let all_but_last = taped.split_last().map_or(&[][..], |(_, before)| before);
        let sizes = if self.derivatives.joined { all_but_last } else { &taped[..] };
        let sizes: usize = sizes.iter().map(|s| links(&s.exp)).sum();
        let calls = taped.iter().filter(|s| matches!(s.exp, Exp::Call(..)));
        sizes + calls.flat_map(|s| &s.pat).filter(|p| is_kept_scalar(p)).count()
    }

    /// True if nothing is kept of a body but the end of a branch's part: that is the end of its own part, too.
    pub(super) fn is_only_branch(&self, stms: &[Stm]) -> bool {
        let mut taped = stms.iter().filter(|s| self.is_taped(&s.exp));
        let first = taped.next();
        !self.derivatives.joined
            && first.is_some_and(|s| matches!(s.exp, Exp::If { .. }))
            && taped.next().is_none()
    }

    /// True for a function of a few scalars, which stays in a kernel: its derivative forward costs less than to keep its calls.
    pub(super) fn is_plain(&self, id: FunId) -> bool {
        let fun = &self.out.funs[id.0 as usize];
        let floats = fun.params.iter().filter(|p| is_float(&p.ty)).count();
        floats <= FEW && fun.params.iter().chain(&fun.ret).all(|p| p.ty.is_scalar())
    }

    /// The version of a function that gives a tape. Its body is made at the end.
    pub(super) fn recorded_function(&mut self, id: FunId) -> FunId {
        self.version(id, Mode::Record, |lo, fun| fun.ret.extend(lo.tape_params()))
    }

    /// The version of a function that is called where calls are kept. Its body is made at the end.
    fn kept_function(&mut self, id: FunId) -> FunId {
        match self.derivatives.joined {
            true => self.recorded_function(id),
            false => self.version(id, Mode::Push, |lo, fun| fun.ret.push(lo.size_param("end"))),
        }
    }

    /// Variables for what a function, or code with calls, gives of its tape.
    fn kept_params(&mut self) -> Vec<Param> {
        if self.derivatives.joined { self.tape_params().to_vec() } else { vec![self.size_param("end")] }
    }

    /// Emits the call of a function that pushes to this one's tape: its results and the tape.
    pub(in super::super) fn call_with_tape(&mut self, id: FunId, params: &[Param]) -> R<Vec<Atom>> {
        let made = self.kept_function(id);
        let fun = &self.out.funs[made.0 as usize];
        let (old, ret) = (fun.params.clone(), fun.ret.clone());
        let args: Vec<Atom> = params.iter().map(|p| p.var.into()).collect();
        let mut subst: Subst = old.iter().map(|p| p.var).zip(args.iter().copied()).collect();
        let mut pat = Vec::new();
        for p in ret {
            let ty = p.ty.substituted(&subst);
            let result = if ty == Type::I64 { self.size_param("k") } else { self.param("r", ty) };
            subst.insert(p.var, result.var.into());
            pat.push(result);
        }
        let mut results: Vec<Atom> = pat.iter().map(|p| p.var.into()).collect();
        self.push(pat, Exp::Call(made, args));
        let Some(end) = results.last().copied() else {
            return Err(self.internal("a function that pushes gives where it ends"));
        };
        let ty = Type::array(vec![Dim::Size(end)], ON_TAPE);
        results.push(self.emit("tape", ty, Exp::Tape(end)).into());
        Ok(results)
    }

    /// The array of a tape without what is behind its end.
    pub(super) fn up_to_end(&mut self, (len, arr): Tape) -> Tape {
        if self.derivatives.joined {
            return (len, arr);
        }
        let ty = Type::array(vec![Dim::Size(len)], ON_TAPE);
        (len, self.emit("tape", ty, Exp::Slice { arr, start: Atom::i64(0), len, stride: Atom::i64(1) }))
    }

    /// A program has a derivative of code with tapes: it is lowered once more, with tapes that have derivatives.
    pub(in super::super) fn derivative_of_tape(&mut self) -> Box<Diagnostic> {
        self.derivatives.of_tapes = true;
        self.internal("tapes have a derivative if they are joined")
    }

    /// Variables for a tape: its size, and the array.
    pub(super) fn tape_params(&mut self) -> [Param; 2] {
        let k = self.size_param("k");
        let ty = Type::array(vec![Dim::Size(k.var.into())], ON_TAPE);
        [k, self.param("tape", ty)]
    }

    /// Emits a function's body with a tape of its calls: its results.
    pub(in super::super) fn recorded_body(&mut self, body: Body) -> R<Vec<Atom>> {
        let mut recorder = Recorder { needed: needed(&body), ..Recorder::default() };
        let tape = recorder.body(self, body.stms)?;
        Ok(body.results.into_iter().chain(tape).collect())
    }

    /// A scalar as it stands on a tape.
    pub(super) fn onto_tape(&mut self, a: Atom, prim: Prim) -> Atom {
        let whole = match prim {
            p if p.is_float() => return self.conv(p, ON_TAPE, a),
            Prim::Bool => {
                let [one, zero] = [1, 0].map(|n| Atom::Const(Scalar::from_i64(Prim::U64, n)));
                self.select(Prim::U64, a, one, zero)
            }
            prim => self.conv(prim, Prim::U64, a),
        };
        self.prim(PrimOp::Special(SpecialOp::FromBits, ON_TAPE), &[whole])
    }

    /// Scalars, as they stand on a tape, as an array with its size.
    pub(super) fn kept_scalars(&mut self, scalars: Vec<Atom>) -> Tape {
        let n = Atom::i64(scalars.len() as i64);
        let ty = Type::array(vec![Dim::Size(n)], ON_TAPE);
        (n, self.emit("kept", ty, Exp::Literal(scalars, ON_TAPE)))
    }

    /// A scalar from a tape.
    pub(super) fn off_tape(&mut self, a: Atom, prim: Prim) -> Atom {
        if prim.is_float() {
            return self.conv(ON_TAPE, prim, a);
        }
        let whole = self.prim(PrimOp::Special(SpecialOp::ToBits, ON_TAPE), &[a]);
        match prim {
            Prim::Bool => {
                let zero = Atom::Const(Scalar::zero(Prim::U64));
                self.prim(PrimOp::Cmp(CmpOp::Ne, Prim::U64), &[whole, zero])
            }
            prim => self.conv(Prim::U64, prim, whole),
        }
    }

    /// An array in one dimension with each element converted.
    pub(super) fn converted(
        &mut self,
        (n, v): (Atom, Var),
        to: Prim,
        f: &dyn Fn(&mut Self, Atom) -> Atom,
    ) -> R<Var> {
        if self.type_of(v).prim() == to {
            return Ok(v);
        }
        let rows = [self.val_of(v)];
        let all = self.map_over(n, &rows, &mut |lo, rows| {
            let x = f(lo, rows[0].leaves()[0].0);
            Ok(super::Val::Scalar(x, to))
        })?;
        self.leaf_var(all.leaves()[0].0)
    }
}

/// The number of scalars that say where what a statement keeps ends: none for a map, which keeps an array of them; also how often a loop runs whose
/// form does not say it.
fn links(exp: &Exp) -> usize {
    match exp {
        Exp::Map { .. } => 0,
        Exp::Loop { form: LoopForm::While(_), .. } => 2,
        _ => 1,
    }
}

/// True for a call's result that stands at the end of a tape.
fn is_kept_scalar(p: &Param) -> bool {
    p.ty.is_scalar() && !p.ty.is_desc()
}

/// A size and an array as results.
pub(super) fn flat((k, v): Tape) -> [Atom; 2] {
    [k, v.into()]
}

/// The tape of these variables.
pub(super) fn tape_of([k, v]: &[Param; 2]) -> Tape {
    (k.var.into(), v.var)
}

impl Recorder {
    /// Emits a body's statements: its tape, or where its part of it ends.
    pub(super) fn body(&mut self, lo: &mut Lower, stms: Vec<Stm>) -> R<Vec<Atom>> {
        let is_only_branch = lo.is_only_branch(&stms);
        let left = lo.taped_count(&stms);
        let outer = (
            std::mem::take(&mut self.pieces),
            std::mem::take(&mut self.scalars),
            std::mem::replace(&mut self.left, left),
        );
        for stm in stms {
            lo.place.span = stm.span;
            super::super::super::deep(|| self.statement(lo, stm))?;
        }
        let tape = match self.end.take().filter(|_| is_only_branch) {
            Some(end) => vec![end],
            None => self.tape(lo),
        };
        (self.pieces, self.scalars, self.left) = outer;
        Ok(tape)
    }

    fn statement(&mut self, lo: &mut Lower, stm: Stm) -> R<()> {
        if !lo.is_taped(&stm.exp) {
            lo.push_stm(stm);
            return Ok(());
        }
        let Stm { mut pat, exp, .. } = stm;
        let kept = pat.clone();
        let params = lo.kept_params();
        pat.extend(params.iter().cloned());
        self.left -= 1;
        match exp {
            Exp::Call(id, args) => {
                let made = lo.kept_function(id);
                lo.push(pat, Exp::Call(made, args));
                self.link(lo, &params);
                for p in &kept {
                    self.keep(lo, p)?;
                }
            }
            Exp::If { cond, then, other } => {
                let mut arms = Vec::new();
                for arm in [then, other] {
                    let (block, tape) = lo.in_block(|lo| self.body(lo, arm.stms))?;
                    let results = arm.results.into_iter().chain(tape).collect();
                    arms.push(Body { stms: block.stms, results });
                }
                let (Some(other), Some(then)) = (arms.pop(), arms.pop()) else {
                    return Err(lo.internal("a branch has two arms"));
                };
                lo.push(pat, Exp::If { cond, then, other });
                self.link(lo, &params);
                self.end = params.first().map(|p| p.var.into());
            }
            Exp::Map { width, inputs, lam } => return self.rows(lo, kept, (width, inputs, lam)),
            Exp::Loop { params, form, body } => {
                let kept = self.iterations(lo, kept, (params, form, body))?;
                let kept = kept.into_iter().map(|a| lo.onto_tape(a, Prim::I64));
                self.scalars.extend(kept.collect::<Vec<_>>());
                return Ok(());
            }
            _ => return Err(lo.internal("code with calls was expected")),
        }
        if let [size, tape] = &params[..] {
            self.pieces.push((size.var.into(), tape.var));
        }
        Ok(())
    }

    /// The rows of a map with calls: lengths of the rows' tapes, then these one after the other; or where their parts end.
    fn rows(
        &mut self,
        lo: &mut Lower,
        mut pat: Vec<Param>,
        (width, inputs, mut lam): (Atom, Vec<Var>, Lambda),
    ) -> R<()> {
        let (block, tape) = lo.in_block(|lo| self.body(lo, std::mem::take(&mut lam.body.stms)))?;
        lam.body.stms = block.stms;
        let [k, Atom::Var(v)] = tape[..] else {
            lam.body.results.extend(tape);
            lam.ret.push(Type::I64);
            let ends = lo.param("ends", Type::array(vec![Dim::Size(width)], Prim::I64));
            let of_rows = (width, ends.var);
            pat.push(ends);
            lo.push(pat, Exp::Map { width, inputs, lam });
            return self.numbers(lo, of_rows);
        };
        lam.body.results.extend([k, v.into()]);
        lam.ret.extend([Type::I64, Type::array(vec![Dim::Size(k)], ON_TAPE)]);
        let s = lo.param("s", Type::desc(vec![Dim::Size(width)]));
        let rows = lo.param("tapes", Type::array(vec![Dim::Size(width), Dim::Seg(s.var)], ON_TAPE));
        let (desc, tapes) = (s.var, rows.var);
        pat.extend([s, rows]);
        lo.push(pat, Exp::Map { width, inputs, lam });
        let lens = lo.lengths(desc);
        self.numbers(lo, (width, lens))?;
        self.pieces.push(lo.flat(tapes)?);
        Ok(())
    }

    /// Keeps a call's result: a size, a descriptor, or a value that is needed.
    fn keep(&mut self, lo: &mut Lower, p: &Param) -> R<()> {
        if p.ty.is_desc() {
            let lens = lo.lengths(p.var);
            let lens = lo.flat(lens)?;
            self.numbers(lo, lens)?;
        } else if is_kept_scalar(p) {
            let prim = p.ty.prim();
            let a = lo.onto_tape(p.var.into(), prim);
            self.scalars.push(a);
        } else if self.needed.contains(&p.var) {
            let all = lo.flat(p.var)?;
            self.numbers(lo, all)?;
        }
        Ok(())
    }

    /// Keeps how long a statement's tape is, or where its part ends. A tape of the last statement is what is left.
    fn link(&mut self, lo: &mut Lower, kept: &[Param]) {
        if self.left > 0 || !lo.derivatives.joined {
            let size = kept[0].var.into();
            let size = lo.onto_tape(size, Prim::I64);
            self.scalars.push(size);
        }
    }

    /// Keeps an array of any numbers.
    fn numbers(&mut self, lo: &mut Lower, (n, v): (Atom, Var)) -> R<()> {
        let prim = lo.type_of(v).prim();
        let all = lo.converted((n, v), ON_TAPE, &|lo, a| lo.onto_tape(a, prim))?;
        self.pieces.push((n, all));
        Ok(())
    }

    /// Pieces and scalars as one array, the last first; or where they end on the tape.
    fn tape(&mut self, lo: &mut Lower) -> Vec<Atom> {
        if !lo.derivatives.joined && self.pieces.is_empty() && self.scalars.is_empty() {
            return vec![Atom::i64(0)];
        }
        let (k, v) = self.array(lo);
        if lo.derivatives.joined {
            return vec![k, v.into()];
        }
        vec![lo.pushed(v)]
    }

    fn array(&mut self, lo: &mut Lower) -> Tape {
        let mut pieces = std::mem::take(&mut self.pieces);
        let mut scalars = std::mem::take(&mut self.scalars);
        pieces.reverse();
        scalars.reverse();
        if !scalars.is_empty() {
            pieces.push(lo.kept_scalars(scalars));
        }
        if let [one] = pieces[..] {
            return one;
        }
        let n = pieces.iter().fold(Atom::i64(0), |n, (k, _)| lo.add(n, *k));
        let ty = Type::array(vec![Dim::Size(n)], ON_TAPE);
        let parts: Vec<Var> = pieces.into_iter().map(|(_, v)| v).collect();
        let exp = match parts.is_empty() {
            true => Exp::Literal(Vec::new(), ON_TAPE),
            false => Exp::Concat(parts),
        };
        (n, lo.emit("tape", ty, exp))
    }
}
