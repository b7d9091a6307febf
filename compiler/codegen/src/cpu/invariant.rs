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

use super::emit::{Base, Emitter};
use super::scatter::reads;
use par_ir::Var;
use par_ir::core::{Body, Exp, Stm};
use par_ir::effects::Effects;
use par_ir::visit::Code;
use std::collections::{HashMap, HashSet};

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

impl Emitter<'_> {
    /// As [`split`], in a function that does not count what it does.
    pub fn invariant(&self, body: &Body, varies: HashSet<Var>) -> Option<(Vec<Stm>, Body)> {
        if self.counting { None } else { split(body, varies, &self.bound.arrays) }
    }
}
