//! Functions that call themselves at their end only.
//!
//! ```text
//! def find (xs: []i64) (x: i64) (lo: i64) (hi: i64) : i64 =
//!   if lo >= hi then lo else
//!   let m = (lo + hi) / 2 in if xs[m] < x then find xs x (m + 1) hi else find xs x lo m
//!
//! def find xs x lo hi =
//!   let (lo, hi) = loop (lo, hi) = (lo, hi) while !(lo >= hi) do
//!     let m = (lo + hi) / 2 in if xs[m] < x then (m + 1, hi) else (lo, m)
//!   in lo
//! ```

use super::super::build::Block;
use super::super::{Lower, R};
use super::{SelfCalls, Ways, branch, call_of, can_repeat, ways};
use par_ir::Atom;
use par_ir::core::{Body, Exp, FunId, LoopForm, Param, Stm};
use par_ir::visit::Subst;

impl Lower<'_> {
    /// The body as a loop over the parameters that change; nothing if what decides whether it goes on is not a few scalars.
    pub(super) fn tail_loop(&mut self, s: &SelfCalls) -> R<Option<Body>> {
        let SelfCalls { id, params, body, .. } = *s;
        if !can_repeat(id, body, &[]) {
            return Ok(None);
        }
        let which = s.changed();
        let changed: Vec<Param> = which.iter().map(|i| params[*i].clone()).collect();
        self.blocks.push(Block::default());
        let made = self.repeated_tail(id, &which, &changed, body);
        let block = self.blocks.pop().unwrap_or_default();
        Ok(Some(Body { stms: block.stms, results: made? }))
    }

    /// Emits the loop and what comes after the last call: the function's results.
    fn repeated_tail(&mut self, id: FunId, which: &[usize], changed: &[Param], body: &Body) -> R<Vec<Atom>> {
        let (block, (state, cond, next)) = self.in_block(|lo| {
            let mut subst = Subst::new();
            let state = lo.renamed_params(changed, &mut subst);
            let (test, goes_on) = lo.in_block(|lo| {
                let copy = lo.refreshed(body, &mut subst.clone());
                lo.goes_on(id, copy)
            })?;
            let copy = lo.refreshed(body, &mut subst);
            let next = lo.next_arguments(id, which, changed, copy)?;
            Ok((state, Body { stms: test.stms, results: vec![goes_on] }, next))
        })?;
        let mut subst = Subst::new();
        let pat = self.renamed_params(changed, &mut subst);
        let inits = changed.iter().map(|p| p.var.into());
        let repeated = Exp::Loop {
            params: state.into_iter().zip(inits).collect(),
            form: LoopForm::While(cond),
            body: Body { stms: block.stms, results: next },
        };
        let repeated = Stm { pat, exp: repeated, span: self.span };
        self.without_remainders(repeated)?.into_iter().for_each(|stm| self.push_stm(stm));
        let copy = self.refreshed(body, &mut subst);
        self.last_results(id, copy)
    }

    /// Emits a body that does not go on: its results.
    fn last_results(&mut self, id: FunId, body: Body) -> R<Vec<Atom>> {
        let Some(at) = call_of(id, &body) else {
            body.stms.into_iter().for_each(|stm| self.push_stm(stm));
            return Ok(body.results);
        };
        let (pat, after) = (body.stms[at].pat.clone(), body.stms[at + 1..].to_vec());
        let results = body.results.clone();
        let (cond, arms) = self.up_to_branch(id, body)?;
        let ends = |arm: &Body| ways(id, arm, &mut Vec::new()) != Ways::GoOn;
        let mut arms: Vec<Body> = arms.into_iter().filter(ends).collect();
        if arms.len() == 2 {
            for arm in &mut arms {
                let all = std::mem::take(arm);
                let (block, results) = self.in_block(|lo| super::super::deep(|| lo.last_results(id, all)))?;
                *arm = Body { stms: block.stms, results };
            }
            self.push(pat, branch(cond, arms));
        } else {
            let Some(arm) = arms.pop() else { return Err(self.internal("a body that ends")) };
            self.place_here(&arm);
            let values = super::super::deep(|| self.last_results(id, arm))?;
            pat.into_iter().zip(values).for_each(|(p, a)| self.push(vec![p], Exp::Atom(a)));
        }
        after.into_iter().for_each(|stm| self.push_stm(stm));
        Ok(results)
    }
}
