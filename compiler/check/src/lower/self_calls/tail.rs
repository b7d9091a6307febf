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
//!
//! If the termination condition is more than a few scalars, which would be evaluated twice, it is loop-carried as a flag, and so are the results.
//!
//! ```text
//! def fixed (xs: []f64) : f64 =
//!   let ys = map step xs in if f64.sum ys < 1 then ys[0] else fixed ys
//!
//! def fixed xs =
//!   let (_, _, r) = loop (go, xs, r) = (true, xs, 0) while go do
//!     let ys = map step xs in if f64.sum ys < 1 then (false, xs, ys[0]) else (true, ys, r)
//!   in r
//! ```

use super::super::build::Block;
use super::super::{Lower, R, deep};
use super::{SelfCalls, Ways, branch, call_of, can_repeat, results_of_arm, results_of_branch, ways};
use par_ir::core::{Body, Exp, FunId, LoopForm, Param, Stm};
use par_ir::visit::{Code, Subst};
use par_ir::{Atom, Prim, Scalar, Type};

/// State of a loop in place of calls that give results.
struct State {
    id: FunId,
    /// Numbers of the parameters that calls change.
    which: Vec<usize>,
    changed: Vec<Param>,
    results: Vec<Param>,
}

impl Lower<'_> {
    /// The body as a loop over the parameters that change.
    pub(super) fn tail_loop(&mut self, s: &SelfCalls) -> R<Body> {
        let SelfCalls { id, params, body, .. } = *s;
        let which = s.changed();
        let changed: Vec<Param> = which.iter().map(|i| params[*i].clone()).collect();
        self.scope.blocks.push(Block::default());
        let made = match can_repeat(id, body, &[]) {
            true => self.repeated_tail(id, &which, &changed, body),
            false => {
                let results = self.out.funs[id.0 as usize].ret.clone();
                self.tail_with_results(&State { id, which, changed, results }, body)
            }
        };
        let block = self.scope.blocks.pop().unwrap_or_default();
        Ok(Body { stms: block.stms, results: made? })
    }

    /// Emits the loop whose state has whether it goes on, the parameters that change, and the results: the function's results.
    fn tail_with_results(&mut self, state: &State, body: &Body) -> R<Vec<Atom>> {
        let mut inits: Vec<Atom> = std::iter::once(Atom::bool(true)).chain(values(&state.changed)).collect();
        inits.extend(self.empty_values(&state.results)?);
        let (block, (params, next)) = self.in_block(|lo| {
            let mut subst = Subst::default();
            let params = lo.state_params(state, &mut subst);
            let copy = lo.refreshed(body, &mut subst);
            let results = copy.results.clone();
            let next = lo.next_state(state, copy, &results, &values(&params[1..]).collect::<Vec<Atom>>())?;
            Ok((params, next))
        })?;
        let pat = self.state_params(state, &mut Subst::default());
        let results = values(&pat[1 + state.changed.len()..]).collect();
        let test = Body { stms: Vec::new(), results: vec![params[0].var.into()] };
        let params = params.into_iter().zip(inits).collect();
        let body = Body { stms: block.stms, results: next };
        let repeated = Exp::Loop { params, form: LoopForm::While(test), body };
        let repeated = Stm { pat, exp: repeated, span: self.place.span };
        self.without_remainders(repeated)?.into_iter().for_each(|stm| self.push_stm(stm));
        Ok(results)
    }

    /// Fresh variables for a state: whether it goes on, the parameters that change (`subst` gets these), the results.
    fn state_params(&mut self, state: &State, subst: &mut Subst) -> Vec<Param> {
        let mut params = vec![self.param("go", Type::scalar(Prim::Bool))];
        params.extend(self.renamed_params(&state.changed, subst));
        params.extend(self.renamed_params(&state.results, &mut Subst::default()));
        params
    }

    /// Emits an iteration: the next state. `results` are the function's if this body does not go on, `kept` the parameters and results so far.
    fn next_state(&mut self, state: &State, body: Body, results: &[Atom], kept: &[Atom]) -> R<Vec<Atom>> {
        let (params, so_far) = kept.split_at(state.changed.len());
        let made = |go: bool, params: &[Atom], results: &[Atom]| {
            std::iter::once(Atom::bool(go)).chain(params.iter().chain(results).copied()).collect()
        };
        let Some(at) = call_of(state.id, &body) else {
            body.stms.into_iter().for_each(|stm| self.push_stm(stm));
            return Ok(made(false, params, results));
        };
        if let Exp::Call(_, args) = &body.stms[at].exp {
            let next: Vec<Atom> = state.which.iter().map(|i| args[*i]).collect();
            body.stms.into_iter().take(at).for_each(|stm| self.push_stm(stm));
            return Ok(made(true, &next, so_far));
        }
        let Some(results) = results_of_branch(&body, at, results) else {
            return Err(self.internal("calls at the end"));
        };
        let pat = body.stms[at].pat.clone();
        let (cond, arms) = self.up_to_branch(state.id, body)?;
        let mut bodies = Vec::new();
        for arm in arms {
            let results = results_of_arm(&pat, &arm, &results);
            let (block, next) = self.in_block(|lo| deep(|| lo.next_state(state, arm, &results, kept)))?;
            bodies.push(Body { stms: block.stms, results: next });
        }
        let pat = self.state_params(state, &mut Subst::default());
        let next = values(&pat).collect();
        self.push(pat, branch(cond, bodies));
        Ok(next)
    }

    /// Emits values of parameters without elements: zeros and empty arrays.
    fn empty_values(&mut self, params: &[Param]) -> R<Vec<Atom>> {
        let mut subst = Subst::default();
        for p in params {
            let ty = p.ty.substituted(&subst);
            let zero = Atom::Const(Scalar::zero(ty.prim()));
            let value: Atom = match () {
                _ if ty.is_scalar() => zero,
                _ if ty.is_desc() => self.filled_desc(&ty.dims, Atom::i64(0))?.into(),
                _ => self.filled(&ty.dims, zero)?.into(),
            };
            subst.insert(p.var, value);
        }
        Ok(params.iter().map(|p| subst[&p.var]).collect())
    }

    /// Emits the loop and what comes after the last call: the function's results.
    fn repeated_tail(&mut self, id: FunId, which: &[usize], changed: &[Param], body: &Body) -> R<Vec<Atom>> {
        let (block, (state, cond, next)) = self.in_block(|lo| {
            let mut subst = Subst::default();
            let state = lo.renamed_params(changed, &mut subst);
            let (test, goes_on) = lo.in_block(|lo| {
                let copy = lo.refreshed(body, &mut subst.clone());
                lo.goes_on(id, copy)
            })?;
            let copy = lo.refreshed(body, &mut subst);
            let next = lo.next_arguments(id, which, changed, copy)?;
            Ok((state, Body { stms: test.stms, results: vec![goes_on] }, next))
        })?;
        let mut subst = Subst::default();
        let pat = self.renamed_params(changed, &mut subst);
        let inits = changed.iter().map(|p| p.var.into());
        let repeated = Exp::Loop {
            params: state.into_iter().zip(inits).collect(),
            form: LoopForm::While(cond),
            body: Body { stms: block.stms, results: next },
        };
        let repeated = Stm { pat, exp: repeated, span: self.place.span };
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
                let (block, results) = self.in_block(|lo| deep(|| lo.last_results(id, all)))?;
                *arm = Body { stms: block.stms, results };
            }
            self.push(pat, branch(cond, arms));
        } else {
            let Some(arm) = arms.pop() else { return Err(self.internal("a body that ends")) };
            self.place_here(&arm);
            let values = deep(|| self.last_results(id, arm))?;
            pat.into_iter().zip(values).for_each(|(p, a)| self.push(vec![p], Exp::Atom(a)));
        }
        after.into_iter().for_each(|stm| self.push_stm(stm));
        Ok(results)
    }
}

/// The values of parameters.
fn values(params: &[Param]) -> impl Iterator<Item = Atom> {
    params.iter().map(|p| p.var.into())
}
