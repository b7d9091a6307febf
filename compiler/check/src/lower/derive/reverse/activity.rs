//! Activity: the variables that depend on the argument.

use super::super::is_float;
use super::{Lower, Reverse};
use par_ir::core::{Body, Exp, Lambda, Param, Stm};
use par_ir::prim::SpecialOp;
use par_ir::visit::Code;
use par_ir::{Atom, Elem, Prim, PrimOp, Type, Var};

impl Reverse {
    /// Notes all floats that depend on what is active, and integers made of the bits of such floats.
    pub(super) fn note_active(&mut self, lo: &Lower, stms: &[Stm]) {
        for stm in stms {
            super::super::super::deep(|| self.note(lo, stm));
        }
    }

    fn note(&mut self, lo: &Lower, stm: &Stm) {
        let Stm { pat, exp, .. } = stm;
        if !self.reaches(exp) {
            return;
        }
        match exp {
            Exp::Prim(op, args) => {
                let bits = matches!(op, PrimOp::Special(SpecialOp::ToBits, _));
                self.mark_if(&pat[0], args.iter().any(|a| self.is_active(*a)), bits);
                let has_bits = args.iter().any(|a| a.var().is_some_and(|v| self.bits.contains(&v)));
                if has_bits && op.result() != Prim::Bool {
                    self.bits.insert(pat[0].var);
                }
            }
            Exp::If { then, other, .. } => {
                for arm in [then, other] {
                    self.note_active(lo, &arm.stms);
                    self.mark_like(pat, &arm.results);
                }
            }
            Exp::Loop { params, body, .. } => {
                let (state, init): (Vec<Param>, Vec<Atom>) = params.iter().cloned().unzip();
                self.mark_like(&state, &init);
                self.until_stable(|rev| {
                    rev.note_active(lo, &body.stms);
                    rev.mark_like(&state, &body.results);
                });
                let last: Vec<Atom> = state.iter().map(|p| p.var.into()).collect();
                self.mark_like(pat, &last);
            }
            Exp::Map { inputs, lam, .. } | Exp::Filter { inputs, lam, .. } => {
                self.rows(lo, inputs, lam);
                self.mark_like(pat, &lam.body.results);
            }
            Exp::Reduce { inputs, lam, op, neutral, .. } | Exp::Scan { inputs, lam, op, neutral, .. } => {
                self.rows(lo, inputs, lam);
                self.combined(lo, op, &lam.body.results[..neutral.len()], neutral);
                self.mark_like(pat, &lam.body.results);
                self.mark_like(&pat[..neutral.len()], &op.body.results);
            }
            Exp::Scatter { dests, inputs, lam, .. } => {
                self.rows(lo, inputs, lam);
                self.mark_like(pat, &lam.body.results[1..]);
                self.mark_like(pat, &dests.iter().map(|d| Atom::Var(*d)).collect::<Vec<_>>());
            }
            Exp::Hist { dests, inputs, lam, op, neutral, .. } => {
                self.rows(lo, inputs, lam);
                let dests: Vec<Atom> = dests.iter().map(|d| Atom::Var(*d)).collect();
                self.combined(lo, op, &lam.body.results[1..], &dests);
                self.mark_like(pat, &lam.body.results[1..]);
                self.mark_like(pat, &op.body.results[..neutral.len()]);
                self.mark_like(pat, &dests);
            }
            Exp::Sort { keys, values } => {
                let bound: Vec<Atom> = std::iter::once(*keys).chain(*values).map(Atom::Var).collect();
                self.mark_like(pat, &bound);
            }
            _ => self.moved(pat, exp),
        }
    }

    /// True if the code uses something active.
    fn reaches(&self, code: &impl Code) -> bool {
        let mut found = false;
        code.for_each_used(&mut |v| found |= self.active.contains(&v) || self.bits.contains(&v));
        found
    }

    fn mark_if(&mut self, p: &Param, active: bool, bits: bool) {
        if active && is_float(&p.ty) {
            self.active.insert(p.var);
        }
        if active && bits {
            self.bits.insert(p.var);
        }
    }

    /// Data that is moved, and calls: what is active is so in all results.
    fn moved(&mut self, pat: &[Param], exp: &Exp) {
        let (mut active, mut bits) = (false, false);
        exp.for_each_operand(&mut |a| {
            active |= self.is_active(a);
            bits |= a.var().is_some_and(|v| self.bits.contains(&v));
        });
        let called = matches!(exp, Exp::Call(..));
        for p in pat {
            if active && is_float(&p.ty) {
                self.active.insert(p.var);
            }
            let integers = matches!(p.ty.elem, Elem::Prim(p) if p.is_integer());
            if integers && (bits || called && active && p.ty != Type::I64) {
                self.bits.insert(p.var);
            }
        }
    }

    fn mark_like(&mut self, pat: &[Param], values: &[Atom]) {
        for (p, a) in pat.iter().zip(values) {
            let Some(v) = a.var() else { continue };
            if self.active.contains(&v) && is_float(&p.ty) {
                self.active.insert(p.var);
            }
            if self.bits.contains(&v) {
                self.bits.insert(p.var);
            }
        }
    }

    fn rows(&mut self, lo: &Lower, inputs: &[Var], lam: &Lambda) {
        let inputs: Vec<Atom> = inputs.iter().map(|v| Atom::Var(*v)).collect();
        self.mark_like(&lam.params, &inputs);
        self.note_active(lo, &lam.body.stms);
    }

    /// An operator whose operands are of these kinds, or its own results.
    fn combined(&mut self, lo: &Lower, op: &Lambda, values: &[Atom], others: &[Atom]) {
        let (left, right) = op.params.split_at(op.params.len() / 2);
        let Body { stms, results } = &op.body;
        self.until_stable(|rev| {
            for side in [left, right] {
                for from in [values, others, results] {
                    rev.mark_like(side, from);
                }
            }
            rev.note_active(lo, stms);
        });
    }

    fn until_stable(&mut self, mut f: impl FnMut(&mut Self)) {
        loop {
            let before = self.active.len() + self.bits.len();
            f(self);
            if self.active.len() + self.bits.len() == before {
                return;
            }
        }
    }
}
