//! Loops of a few iterations, written out.
//!
//! ```text
//! let s = loop (s = 0) for x < 3 do      let a0 = a[i + 0]  let s0 = 0 + a0
//!   let a = a[i + x]               ==>   let a1 = a[i + 1]  let s1 = s0 + a1
//!   in s + a                             let a2 = a[i + 2]  let s  = s1 + a2
//! ```
//!
//! So what depends on the counter is constant: offsets of neighbours, elements of small arrays, which side of a question holds. A loop around
//! another that stays is not written out, since its time is that of the other; nor is one whose state is a large array.

use super::Tiny;
use crate::core::{Body, Exp, LoopForm, Param, Stm};
use crate::tuning;
use crate::ty::{Atom, Var};
use crate::visit::{Code, Subst};
use par_runtime::Scalar;

impl Tiny<'_> {
    /// The iterations of a loop one after the other, if that is scalar code and not too much of it.
    pub(super) fn unroll(&mut self, stm: &Stm, out: &mut Vec<Stm>) -> Option<()> {
        let Exp::Loop { params, form: LoopForm::For { index, prim, bound }, body } = &stm.exp else {
            return None;
        };
        let Atom::Const(bound) = self.atom(*bound) else { return None };
        let bound = bound.as_i64().filter(|n| *n <= self.limits.rows as i64)?;
        let small = |p: &Param| p.ty.is_scalar() && !p.ty.is_desc() || self.sizes(&p.ty).is_some();
        if !params.iter().all(|(p, _)| small(p)) {
            return None;
        }
        let unrolling = std::mem::replace(&mut self.unrolling, true);
        let done = self.attempt(tuning::TINY_LOOP, out, |t, out| {
            let initial = params.iter().map(|(_, a)| t.element_list(*a, out, stm.span));
            let mut state = initial.collect::<Option<Vec<Vec<Atom>>>>()?;
            for i in 0..bound {
                t.subst.insert(*index, Atom::Const(Scalar::from_i64(*prim, i)));
                state = t.iteration(params, state, body, stm, out)?;
            }
            stm.pat.iter().zip(state).try_for_each(|(p, parts)| t.found(p, parts))
        });
        self.unrolling = unrolling;
        if done.is_none() {
            self.forget(params.iter().map(|(p, _)| p.var).chain([*index]));
        }
        done
    }

    /// Variables of a loop that stays are what they are.
    fn forget(&mut self, vars: impl Iterator<Item = Var>) {
        for v in vars {
            self.subst.remove(&v);
            self.parts.remove(&v);
        }
    }

    /// The state after one more iteration.
    fn iteration(
        &mut self,
        params: &[(Param, Atom)],
        state: Vec<Vec<Atom>>,
        body: &Body,
        stm: &Stm,
        out: &mut Vec<Stm>,
    ) -> Option<Vec<Vec<Atom>>> {
        for ((p, _), parts) in params.iter().zip(state) {
            self.types.insert(p.var, p.ty.substituted(&self.subst));
            self.found(p, parts)?;
        }
        let body = body.refreshed_with(self.vars, &mut Subst::default());
        self.stms(&body.stms, &body.results, out)?;
        body.results.iter().map(|a| self.element_list(*a, out, stm.span)).collect()
    }
}
