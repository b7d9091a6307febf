//! Code in which groups are not left: behind it, or in it, arrays may have changed that it reads, so that single positions could not begin
//! again.

use super::class::{Class, Classes};
use par_ir::core::{Body, Exp, LoopForm, Stm};
use par_ir::prim::{BinOp, PrimOp};
use par_ir::ty::Atom;
use par_ir::{Prim, Var};
use std::collections::HashSet;

/// True if a group is not left once it has updated one of these arrays.
pub fn stays(body: &Body, arrays: &HashSet<Var>, classes: &Classes) -> bool {
    let updates = |s: &Stm| updates(s, arrays);
    let Some(first) = body.stms.iter().position(updates) else { return true };
    let after = &body.stms[first..];
    let staying = Staying { classes, together: after.iter().all(|s| goes_together(s, classes)) };
    after.iter().all(|s| staying.stm(s, false))
}

fn updates(stm: &Stm, arrays: &HashSet<Var>) -> bool {
    match &stm.exp {
        Exp::Update { arr, .. } => arrays.contains(arr),
        e => e.own_bodies().into_iter().any(|b| b.stms.iter().any(|s| updates(s, arrays))),
    }
}

/// True if all lanes take the same ways.
fn goes_together(stm: &Stm, classes: &Classes) -> bool {
    let same = |a: &Atom| classes.atom(a) == Class::Same;
    let here = match &stm.exp {
        Exp::If { cond, .. } => same(cond),
        Exp::Loop { form: LoopForm::For { bound, .. }, .. } => same(bound),
        Exp::Loop { form: LoopForm::While(cond), .. } => same(&cond.results[0]),
        _ => true,
    };
    here && stm.exp.own_bodies().into_iter().all(|b| b.stms.iter().all(|s| goes_together(s, classes)))
}

struct Staying<'c> {
    classes: &'c Classes,
    /// All lanes take the same ways: a check that fails for all of them fails for the first one once more.
    together: bool,
}

impl Staying<'_> {
    fn body(&self, body: &Body) -> bool {
        body.stms.iter().all(|s| self.stm(s, true))
    }

    /// `inside` of a loop or a branch, where lanes that count differently do not matter.
    fn stm(&self, stm: &Stm, inside: bool) -> bool {
        match &stm.exp {
            Exp::Atom(_) | Exp::Index(..) | Exp::Update { .. } => true,
            Exp::Prim(op, xs) => self.prim(*op, xs),
            Exp::Check { cond, .. } => self.together && self.classes.atom(cond) == Class::Same,
            Exp::If { then, other, .. } => self.body(then) && self.body(other),
            Exp::Loop { form: LoopForm::For { bound, .. }, body, .. } => {
                (inside || self.classes.atom(bound) == Class::Same) && self.body(body)
            }
            Exp::Loop { form: LoopForm::While(cond), body, .. } => self.body(cond) && self.body(body),
            _ => false,
        }
    }

    /// An operator that has a result for any operands. Those on positions that do more than move them look where these are.
    fn prim(&self, op: PrimOp, xs: &[Atom]) -> bool {
        let classes = || xs.iter().map(|a| self.classes.atom(a));
        if classes().all(|c| c == Class::Same) {
            return true;
        }
        let moves = matches!(op, PrimOp::Bin(BinOp::Add | BinOp::Sub | BinOp::Mul, Prim::I64));
        let is_integer_division = op.divides() && !op.result().is_float();
        let converts = matches!(op, PrimOp::Conv(from, to) if from.is_float() != to.is_float());
        !is_integer_division && !converts && (moves || !classes().any(|c| matches!(c, Class::Steps(_))))
    }
}
