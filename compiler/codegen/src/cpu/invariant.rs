//! Invariant reads and checks of counted loops, which Cranelift does not move.
//!
//! ```text
//! loop (…) for i < n {                     if 0 < n {
//!     x = xs[row]                              x = xs[row]
//!     check (0 <= x && x < m) bounds           check (0 <= x && x < m) bounds
//!     y = ys[x * m + i]            ==>         loop (…) for i < n {
//!     … }                                          y = ys[x * m + i]
//!                                                  … } }
//! ```
//!
//! The first iteration does this if there is one, unless a check that stays stands before it: that may guard what is read, and would fail first.
//!
//! A check of the counter itself, if it is all that may fail, is made for the last iteration: the first one that fails is that of the size.
//!
//! ```text
//! loop (…) for i < n {                     if 0 < n {
//!     check (i < m) bounds (i, m)              check (n <= m) bounds (m, m)
//!     y = ys[i]                    ==>         loop (…) for i < n {
//!     … }                                          y = ys[i]
//!                                                  … } }
//! ```

use super::emit::{Base, Emitter, Result};
use super::scatter::reads;
use cranelift::prelude::*;
use par_ir::core::{Body, Exp, Stm};
use par_ir::effects::Effects;
use par_ir::hash::{HashMap, HashSet};
use par_ir::prim::{CmpOp, PrimOp};
use par_ir::visit::Code;
use par_ir::{Atom, CheckKind, Prim, Span, Var};

/// Statements of a loop's body that may stand before the loop, and the body without them; none if there is nothing to gain. `varies` are the
/// loop's counter and its state.
pub fn split(body: &Body, varies: HashSet<Var>, arrays: &HashMap<Var, Base>) -> Option<(Vec<Stm>, Body)> {
    let mut walk = Walk { varies, arrays, guarded: false };
    let (before, stays): (Vec<Stm>, Vec<Stm>) = body.stms.iter().cloned().partition(|s| walk.leaves(s));
    let gains = before.iter().any(|s| s.has_effect() || reads(s));
    gains.then(|| (before, Body { stms: stays, results: body.results.clone() }))
}

struct Walk<'w> {
    varies: HashSet<Var>,
    arrays: &'w HashMap<Var, Base>,
    /// Something stays that may fail or not end.
    guarded: bool,
}

impl Walk<'_> {
    fn leaves(&mut self, stm: &Stm) -> bool {
        let acts = stm.has_effect() || reads(stm);
        let is_same = stm.pat.iter().all(|p| p.ty.is_scalar())
            && !matches!(stm.exp, Exp::Loop { .. })
            && stm.free().iter().all(|v| !self.varies.contains(v) && !self.changes(*v));
        let leaves = is_same && !(acts && self.guarded);
        if !leaves {
            self.varies.extend(stm.pat.iter().map(|p| p.var));
            self.guarded |= stm.has_effect();
        }
        leaves
    }

    fn changes(&self, v: Var) -> bool {
        self.arrays.get(&v).is_some_and(|base| base.changes)
    }
}

/// A check that a counter is below a size.
pub struct CounterCheck {
    pub size: Atom,
    pub span: Span,
}

/// The only effect of a body, if that is a check of the loop's counter, and the body without it.
pub fn counter_check(body: &Body, index: Var) -> Option<(CounterCheck, Body)> {
    let at = body.stms.iter().position(Stm::has_effect)?;
    let Exp::Check { cond, kind: CheckKind::Bounds, args } = &body.stms[at].exp else { return None };
    let [i, size] = args[..] else { return None };
    let bound = body.bound();
    let is_inside = |a: &Atom| a.var().is_some_and(|v| v == index || bound.contains(&v));
    let less = Exp::Prim(PrimOp::Cmp(CmpOp::Lt, Prim::I64), vec![i, size]);
    let asks = body.stms[..at].iter().any(|s| s.exp == less && *cond == s.pat[0].var.into());
    let is_only = !body.stms[at + 1..].iter().any(Stm::has_effect);
    if i != index.into() || is_inside(&size) || !asks || !is_only {
        return None;
    }
    let mut rest = body.clone();
    let span = rest.stms.remove(at).span;
    Some((CounterCheck { size, span }, rest))
}

impl Emitter<'_> {
    /// Fails unless a counter below `end` is inside.
    pub fn check_counter(&mut self, check: &CounterCheck, end: Value) -> Result {
        let size = self.atom(&check.size)?;
        let inside = self.b.ins().icmp(IntCC::SignedLessThanOrEqual, end, size);
        self.check(inside, &CheckKind::Bounds, &[check.size; 2], &[size; 2], check.span)
    }

    /// As [`split`], in a function that does not count what it does.
    pub fn invariant(&self, body: &Body, varies: HashSet<Var>) -> Option<(Vec<Stm>, Body)> {
        if self.counting { None } else { split(body, varies, &self.bound.arrays) }
    }
}
