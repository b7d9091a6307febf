//! Functions that keep what the sweep backward needs of the calls in them.
//!
//! A function with the suffix `^` gives two tapes beside its results, one of integers and one of floats. On them stand, for each call in its body
//! in order: how long the call's own tapes are, the call's results, and its tapes. An arm of a branch and the rows of a map are framed alike.
//! So what a recursion computes is kept once, and going backward every call is entered once. The tapes of the last statement of a body are
//! what is left of the body's: how long they are is not kept, and for many functions no number is kept for a call but its result.
//!
//! ```text
//! f^ (x) = … let (y, ti, tf) = f^ (z) …  in (result, ti, [y] ++ tf)
//! f^ (x) = … let (a, ai, af) = f^ (z) … let (b, bi, bf) = f^ (y) …  in (result, [length ai, length af] ++ ai ++ bi, [a] ++ af ++ [b] ++ bf)
//! ```
//!
//! Calls inside of loops and reductions are not kept: they are made again.

use super::super::{Mode, is_float};
use super::need::needed;
use super::{Lower, R};
use par_ir::core::{Body, Exp, FunId, Lambda, Param, Stm};
use par_ir::{Atom, Dim, Prim, Type, Var};
use std::collections::HashSet;

/// Types of the numbers on the two tapes.
pub(super) const TAPES: [Prim; 2] = [Prim::I64, Prim::F64];

/// So many directions are taken forward rather than one backward.
const FEW: usize = 4;

/// The tape that a type is kept on.
pub(super) fn tape_of(prim: Prim) -> usize {
    usize::from(prim.is_float())
}

/// Sizes and arrays of two tapes.
pub(super) type Tapes = [(Atom, Var); 2];

/// Tapes being made.
#[derive(Default)]
struct Recorder {
    needed: HashSet<Var>,
    /// Arrays with their sizes.
    pieces: [Vec<(Atom, Var)>; 2],
    /// Scalars behind them.
    last: [Vec<Atom>; 2],
    /// Statements with calls that are still to come in the body.
    left: usize,
}

impl Lower<'_> {
    /// True for a call that is kept, and for code with such calls that is framed.
    pub(super) fn is_taped(&self, exp: &Exp) -> bool {
        let inside = |b: &Body| b.stms.iter().any(|s| super::super::super::deep(|| self.is_taped(&s.exp)));
        match exp {
            Exp::Call(id, _) => !self.derivatives.given.contains_key(id) && !self.is_plain(*id),
            Exp::If { then, other, .. } => inside(then) || inside(other),
            Exp::Map { lam, .. } => inside(&lam.body),
            _ => false,
        }
    }

    /// The number of statements that are taped.
    pub(super) fn taped_count(&self, stms: &[Stm]) -> usize {
        stms.iter().filter(|s| self.is_taped(&s.exp)).count()
    }

    /// True for a function of a few scalars, which stays in a kernel: its derivative forward costs less than to keep its calls.
    pub(super) fn is_plain(&self, id: FunId) -> bool {
        let fun = &self.out.funs[id.0 as usize];
        let floats = fun.params.iter().filter(|p| is_float(&p.ty)).count();
        floats <= FEW && fun.params.iter().chain(&fun.ret).all(|p| p.ty.is_scalar())
    }

    /// The version of a function that keeps its calls. Its body is made at the end.
    pub(super) fn recorded_function(&mut self, id: FunId) -> FunId {
        self.version(id, Mode::Record, |lo, fun| fun.ret.extend(lo.tape_params()))
    }

    /// Variables for two tapes: a size and an array each.
    pub(super) fn tape_params(&mut self) -> Vec<Param> {
        let mut out = Vec::new();
        for prim in TAPES {
            let k = self.size_param("k");
            let ty = Type::array(vec![Dim::Size(k.var.into())], prim);
            out.push(k);
            out.push(self.param("tape", ty));
        }
        out
    }

    /// Emits a function's body with tapes of its calls: its results.
    pub(in super::super) fn recorded_body(&mut self, body: Body) -> R<Vec<Atom>> {
        let mut recorder = Recorder { needed: needed(&body), ..Recorder::default() };
        let tapes = recorder.body(self, body.stms)?;
        Ok(body.results.into_iter().chain(flat(tapes)).collect())
    }

    /// A scalar in the type of its tape.
    fn onto_tape(&mut self, a: Atom, prim: Prim) -> Atom {
        match prim {
            Prim::Bool => self.select(Prim::I64, a, Atom::i64(1), Atom::i64(0)),
            prim => self.conv(prim, TAPES[tape_of(prim)], a),
        }
    }

    /// A scalar from its tape.
    pub(super) fn off_tape(&mut self, a: Atom, prim: Prim) -> Atom {
        match prim {
            Prim::Bool => self.cmp(par_ir::prim::CmpOp::Ne, a, Atom::i64(0)),
            prim => self.conv(TAPES[tape_of(prim)], prim, a),
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

/// Sizes and arrays as results.
pub(super) fn flat(tapes: Tapes) -> Vec<Atom> {
    tapes.into_iter().flat_map(|(k, v)| [k, v.into()]).collect()
}

/// Tapes that a pattern's last variables are.
pub(super) fn last_tapes(pat: &[Param]) -> Tapes {
    let last = &pat[pat.len() - 4..];
    [(last[0].var.into(), last[1].var), (last[2].var.into(), last[3].var)]
}

impl Recorder {
    /// Emits a body's statements: its tapes.
    fn body(&mut self, lo: &mut Lower, stms: Vec<Stm>) -> R<Tapes> {
        let left = lo.taped_count(&stms);
        let outer = (
            std::mem::take(&mut self.pieces),
            std::mem::take(&mut self.last),
            std::mem::replace(&mut self.left, left),
        );
        for stm in stms {
            lo.span = stm.span;
            super::super::super::deep(|| self.statement(lo, stm))?;
        }
        let pieces = [self.tape(lo, 0)?, self.tape(lo, 1)?];
        (self.pieces, self.last, self.left) = outer;
        Ok(pieces)
    }

    fn statement(&mut self, lo: &mut Lower, stm: Stm) -> R<()> {
        if !lo.is_taped(&stm.exp) {
            lo.push_stm(stm);
            return Ok(());
        }
        let Stm { mut pat, exp, .. } = stm;
        let kept = pat.clone();
        pat.extend(lo.tape_params());
        let tapes = last_tapes(&pat);
        self.left -= 1;
        // Those of the last statement are what is left.
        let sizes = if self.left > 0 { tapes.map(|t| t.0).to_vec() } else { Vec::new() };
        match exp {
            Exp::Call(id, args) => {
                let made = lo.recorded_function(id);
                lo.push(pat, Exp::Call(made, args));
                self.last[0].extend(sizes);
                for p in &kept {
                    self.keep(lo, p)?;
                }
            }
            Exp::If { cond, then, other } => {
                let mut arms = Vec::new();
                for arm in [then, other] {
                    let (block, tapes) = lo.in_block(|lo| self.body(lo, arm.stms))?;
                    let results = arm.results.into_iter().chain(flat(tapes)).collect();
                    arms.push(Body { stms: block.stms, results });
                }
                let (Some(other), Some(then)) = (arms.pop(), arms.pop()) else {
                    return Err(lo.internal("a branch has two arms"));
                };
                lo.push(pat, Exp::If { cond, then, other });
                self.last[0].extend(sizes);
            }
            Exp::Map { width, inputs, lam } => return self.rows(lo, kept, (width, inputs, lam)),
            _ => return Err(lo.internal("code with calls was expected")),
        }
        for (i, (k, v)) in tapes.into_iter().enumerate() {
            self.array(lo, i, k, v);
        }
        Ok(())
    }

    /// The rows of a map with calls: lengths of the rows' tapes, then these one after the other.
    fn rows(
        &mut self,
        lo: &mut Lower,
        mut pat: Vec<Param>,
        (width, inputs, mut lam): (Atom, Vec<Var>, Lambda),
    ) -> R<()> {
        let (block, tapes) = lo.in_block(|lo| self.body(lo, std::mem::take(&mut lam.body.stms)))?;
        lam.body.stms = block.stms;
        let mut arrays = Vec::new();
        for (prim, (k, v)) in TAPES.into_iter().zip(tapes) {
            lam.body.results.extend([k, v.into()]);
            lam.ret.extend([Type::I64, Type::array(vec![Dim::Size(k)], prim)]);
            let s = lo.param("s", Type::desc(vec![Dim::Size(width)]));
            let rows = lo.param("tapes", Type::array(vec![Dim::Size(width), Dim::Seg(s.var)], prim));
            arrays.push((s.var, rows.var));
            pat.extend([s, rows]);
        }
        lo.push(pat, Exp::Map { width, inputs, lam });
        for (s, _) in &arrays {
            let lens = lo.lengths(*s);
            self.array(lo, 0, width, lens);
        }
        for (i, (_, rows)) in arrays.into_iter().enumerate() {
            let (n, all) = lo.flat(rows)?;
            self.array(lo, i, n, all);
        }
        Ok(())
    }

    /// Keeps a call's result: a size, a descriptor, or a value that is needed.
    fn keep(&mut self, lo: &mut Lower, p: &Param) -> R<()> {
        if p.ty.is_desc() {
            let lens = lo.lengths(p.var);
            let (n, lens) = lo.flat(lens)?;
            self.array(lo, 0, n, lens);
        } else if p.ty.is_scalar() {
            let prim = p.ty.prim();
            let a = lo.onto_tape(p.var.into(), prim);
            self.last[tape_of(prim)].push(a);
        } else if self.needed.contains(&p.var) {
            let prim = p.ty.prim();
            let (n, all) = lo.flat(p.var)?;
            let all = lo.converted((n, all), TAPES[tape_of(prim)], &|lo, a| lo.onto_tape(a, prim))?;
            self.array(lo, tape_of(prim), n, all);
        }
        Ok(())
    }

    fn array(&mut self, lo: &mut Lower, tape: usize, n: Atom, v: Var) {
        self.flush(lo, tape);
        self.pieces[tape].push((n, v));
    }

    /// Scalars become an array.
    fn flush(&mut self, lo: &mut Lower, tape: usize) {
        let last = std::mem::take(&mut self.last[tape]);
        if !last.is_empty() {
            let n = Atom::i64(last.len() as i64);
            let ty = Type::array(vec![Dim::Size(n)], TAPES[tape]);
            let v = lo.emit("kept", ty, Exp::Literal(last, TAPES[tape]));
            self.pieces[tape].push((n, v));
        }
    }

    /// All pieces as one array.
    fn tape(&mut self, lo: &mut Lower, tape: usize) -> R<(Atom, Var)> {
        self.flush(lo, tape);
        let pieces = std::mem::take(&mut self.pieces[tape]);
        if let [one] = pieces[..] {
            return Ok(one);
        }
        let n = pieces.iter().fold(Atom::i64(0), |n, (k, _)| lo.add(n, *k));
        let ty = Type::array(vec![Dim::Size(n)], TAPES[tape]);
        let parts: Vec<Var> = pieces.into_iter().map(|(_, v)| v).collect();
        let exp = match parts.is_empty() {
            true => Exp::Literal(Vec::new(), TAPES[tape]),
            false => Exp::Concat(parts),
        };
        Ok((n, lo.emit("tape", ty, exp)))
    }
}
