//! Functions that call themselves at their end only: these are loops.
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
//! So they go as deep as they like, need no stack, and take their part in all that is done for loops. What a call decides by whether it goes on is computed
//! once more for each iteration, so it has to be a few scalars.

use super::build::Block;
use super::{Lower, R};
use par_ir::core::{Body, Exp, FunId, LoopForm, Param, Stm};
use par_ir::prim::UnOp;
use par_ir::visit::{Code, Site, Subst};
use par_ir::{Atom, Prim, PrimOp, Scalar, Type, Var};
use std::collections::HashSet;

/// How many statements may decide whether a call goes on.
const MAX_STEPS: usize = 32;

/// How many statements a function may have to take the place of its calls.
const MAX_INLINE: usize = 256;

/// Ways through a body.
#[derive(Clone, Copy, PartialEq)]
enum Ways {
    /// All end without a call.
    End,
    /// All end with a call of the function.
    GoOn,
    Both,
}

impl Lower<'_> {
    /// A function's body as a loop, if all calls of itself are at its end.
    pub(super) fn with_loop(&mut self, id: FunId, params: &[Param], body: Body) -> R<Body> {
        let mut args = Vec::new();
        let (mut steps, mut is_cheap) = (0, true);
        let is_loop = tail_calls(id, &body, &mut args) == Some(Ways::Both)
            && args.len() == count_calls(id, &body)
            && decided_by(id, &body, &mut (&mut steps, &mut is_cheap))
            && is_cheap
            && steps <= MAX_STEPS;
        if !is_loop {
            return Ok(body);
        }
        let is_changed = |i: &usize| args.iter().any(|all| all[*i] != Atom::Var(params[*i].var));
        let changed: Vec<usize> = (0..params.len()).filter(is_changed).collect();
        self.blocks.push(Block::default());
        let made = self.loop_of(id, params, &changed, body);
        let block = self.blocks.pop().unwrap_or_default();
        self.instances.loops.insert(id);
        Ok(Body { stms: block.stms, results: made? })
    }

    /// Emits a function's body as a loop over the parameters that change, and what comes after the last call: its results.
    fn loop_of(&mut self, id: FunId, params: &[Param], changed: &[usize], body: Body) -> R<Vec<Atom>> {
        let (block, (state, cond, next)) = self.in_block(|lo| {
            let mut subst = Subst::new();
            let state = lo.renamed_params(params, changed, &mut subst);
            let (test, goes_on) = lo.in_block(|lo| {
                let copy = lo.refreshed(&body, &mut subst.clone());
                lo.goes_on(id, copy)
            })?;
            let copy = lo.refreshed(&body, &mut subst);
            let next = lo.next_arguments(id, params, changed, copy)?;
            Ok((state, Body { stms: test.stms, results: vec![goes_on] }, next))
        })?;
        let mut subst = Subst::new();
        let pat = self.renamed_params(params, changed, &mut subst);
        let inits = changed.iter().map(|i| Atom::Var(params[*i].var));
        let params = state.into_iter().zip(inits).collect();
        let body_of_loop = Body { stms: block.stms, results: next };
        let exp = Exp::Loop { params, form: LoopForm::While(cond), body: body_of_loop };
        let repeated = Stm { pat, exp, span: self.span };
        self.without_remainders(repeated)?.into_iter().for_each(|stm| self.push_stm(stm));
        let copy = self.refreshed(&body, &mut subst);
        self.last_results(id, copy)
    }

    /// Fresh variables for some of a function's parameters.
    fn renamed_params(&mut self, params: &[Param], which: &[usize], subst: &mut Subst) -> Vec<Param> {
        let mut made = Vec::new();
        for i in which {
            let Param { var, ty } = &params[*i];
            let name = self.out.vars.name(*var).to_string();
            let p = self.param(&name, ty.substituted(subst));
            if self.sizes.contains(var) {
                self.sizes.insert(p.var);
            }
            subst.insert(*var, p.var.into());
            made.push(p);
        }
        made
    }

    /// Emits what decides whether a call goes on: a bool.
    fn goes_on(&mut self, id: FunId, body: Body) -> R<Atom> {
        match ways(id, &body) {
            Ways::End => return Ok(Atom::Const(Scalar::Bool(false))),
            Ways::GoOn => return Ok(Atom::Const(Scalar::Bool(true))),
            Ways::Both => {}
        }
        let (cond, arms) = self.up_to_branch(body)?;
        Ok(match [ways(id, &arms[0]), ways(id, &arms[1])] {
            [Ways::GoOn, Ways::End] => cond,
            [Ways::End, Ways::GoOn] => self.prim(PrimOp::Un(UnOp::Not, Prim::Bool), &[cond]),
            _ => {
                let made = arms.into_iter().map(|arm| {
                    let (block, goes_on) = self.in_block(|lo| lo.goes_on(id, arm))?;
                    Ok(Body { stms: block.stms, results: vec![goes_on] })
                });
                let made = made.collect::<R<Vec<_>>>()?;
                self.emit("go", Type::scalar(Prim::Bool), branch(cond, made)).into()
            }
        })
    }

    /// Emits a body's statements up to the branch at its end: the branch.
    fn up_to_branch(&mut self, body: Body) -> R<(Atom, [Body; 2])> {
        let at = end_of(&body);
        for (i, stm) in body.stms.into_iter().enumerate() {
            match stm.exp {
                Exp::If { cond, then, other } if Some(i) == at => return Ok((cond, [then, other])),
                exp => self.push_stm(Stm { exp, ..stm }),
            }
        }
        Err(self.internal("a body with a branch at its end"))
    }

    /// Emits a body that goes on: the arguments of the next call.
    fn next_arguments(&mut self, id: FunId, params: &[Param], changed: &[usize], body: Body) -> R<Vec<Atom>> {
        let at = end_of(&body);
        if let Some(Exp::Call(_, args)) = at.map(|i| &body.stms[i].exp) {
            let args = changed.iter().map(|i| args[*i]).collect();
            body.stms.into_iter().take(at.unwrap_or(0)).for_each(|stm| self.push_stm(stm));
            return Ok(args);
        }
        let (cond, arms) = self.up_to_branch(body)?;
        let (mut on, mut made) = (arms.into_iter().filter(|arm| ways(id, arm) != Ways::End), Vec::new());
        let (Some(first), second) = (on.next(), on.next()) else {
            return Err(self.internal("a body that goes on"));
        };
        let Some(second) = second else { return self.next_arguments(id, params, changed, first) };
        for arm in [first, second] {
            let (block, next) =
                self.in_block(|lo| super::deep(|| lo.next_arguments(id, params, changed, arm)))?;
            made.push(Body { stms: block.stms, results: next });
        }
        let pat = self.renamed_params(params, changed, &mut Subst::new());
        let next = pat.iter().map(|p| p.var.into()).collect();
        self.push(pat, branch(cond, made));
        Ok(next)
    }

    /// Emits a body that does not go on: its results.
    fn last_results(&mut self, id: FunId, body: Body) -> R<Vec<Atom>> {
        if ways(id, &body) == Ways::End {
            body.stms.into_iter().for_each(|stm| self.push_stm(stm));
            return Ok(body.results);
        }
        let at = end_of(&body).unwrap_or(0);
        let (pat, after) = (body.stms[at].pat.clone(), body.stms[at + 1..].to_vec());
        let results = body.results.clone();
        let (cond, arms) = self.up_to_branch(body)?;
        let mut ends: Vec<Body> = arms.into_iter().filter(|arm| ways(id, arm) != Ways::GoOn).collect();
        if ends.len() == 2 {
            for arm in &mut ends {
                let all = std::mem::take(arm);
                let (block, results) = self.in_block(|lo| super::deep(|| lo.last_results(id, all)))?;
                *arm = Body { stms: block.stms, results };
            }
            self.push(pat, branch(cond, ends));
        } else {
            let Some(arm) = ends.pop() else { return Err(self.internal("a body that ends")) };
            let values = super::deep(|| self.last_results(id, arm))?;
            pat.into_iter().zip(values).for_each(|(p, a)| self.push(vec![p], Exp::Atom(a)));
        }
        after.into_iter().for_each(|stm| self.push_stm(stm));
        Ok(results)
    }

    /// Emits the body of a function that has become a loop in place of a call: its results. Large functions are called.
    pub(super) fn inlined_loop(&mut self, id: FunId, args: &[Atom]) -> Option<Vec<Atom>> {
        let fun = &self.out.funs[id.0 as usize];
        if !self.instances.loops.contains(&id) || statements(&fun.body) > MAX_INLINE {
            return None;
        }
        let (params, body) = (fun.params.clone(), fun.body.clone());
        let mut subst = params.iter().map(|p| p.var).zip(args.iter().copied()).collect();
        let copy = self.refreshed(&body, &mut subst);
        copy.stms.into_iter().for_each(|stm| self.push_stm(stm));
        Some(copy.results)
    }
}

fn branch(cond: Atom, arms: Vec<Body>) -> Exp {
    let mut arms = arms.into_iter();
    let (then, other) = (arms.next().unwrap_or_default(), arms.next().unwrap_or_default());
    Exp::If { cond, then, other }
}

/// The number of the statement that gives a body's results, all of them, perhaps by other names.
fn end_of(body: &Body) -> Option<usize> {
    let mut names: Vec<Atom> = body.results.clone();
    for (i, stm) in body.stms.iter().enumerate().rev() {
        match &stm.exp {
            Exp::Atom(a) if stm.pat.len() == 1 => {
                let v = Atom::Var(stm.pat[0].var);
                names.iter_mut().filter(|n| **n == v).for_each(|n| *n = *a);
            }
            Exp::Call(..) | Exp::If { .. } => {
                let made: Vec<Atom> = stm.pat.iter().map(|p| p.var.into()).collect();
                let is_end = made.len() == names.len() && made.iter().zip(&names).all(|(a, b)| a == b);
                return is_end.then_some(i);
            }
            _ => return None,
        }
    }
    None
}

/// The ways through a body, and the arguments of the calls at its end.
fn tail_calls(id: FunId, body: &Body, found: &mut Vec<Vec<Atom>>) -> Option<Ways> {
    let Some(at) = end_of(body) else { return Some(Ways::End) };
    match &body.stms[at].exp {
        Exp::Call(to, args) if *to == id => {
            found.push(args.iter().map(|a| original(body, *a)).collect());
            Some(Ways::GoOn)
        }
        Exp::If { then, other, .. } => {
            let of = |arm: &Body, found: &mut Vec<Vec<Atom>>| super::deep(|| tail_calls(id, arm, found));
            let (a, b) = (of(then, found)?, of(other, found)?);
            Some(if a == b { a } else { Ways::Both })
        }
        _ => Some(Ways::End),
    }
}

fn ways(id: FunId, body: &Body) -> Ways {
    tail_calls(id, body, &mut Vec::new()).unwrap_or(Ways::End)
}

/// A variable that another one is only another name for.
fn original(body: &Body, a: Atom) -> Atom {
    let renamed = |v: Var| body.stms.iter().find(|s| s.pat.len() == 1 && s.pat[0].var == v);
    match a.var().and_then(renamed).map(|s| &s.exp) {
        Some(Exp::Atom(b)) => original(body, *b),
        _ => a,
    }
}

fn count_calls(id: FunId, body: &Body) -> usize {
    let mut count = 0;
    for stm in &body.stms {
        count += usize::from(matches!(&stm.exp, Exp::Call(to, _) if *to == id));
        super::deep(|| stm.exp.for_each_body(|b| count += count_calls(id, b)));
    }
    count
}

fn statements(body: &Body) -> usize {
    let mut count = body.stms.len();
    super::deep(|| body.stms.iter().for_each(|s| s.exp.for_each_body(|b| count += statements(b))));
    count
}

/// Counts the statements that decide whether a call goes on, and says whether all are cheap. False if what is shown or fails would come in another order.
fn decided_by(id: FunId, body: &Body, found: &mut (&mut usize, &mut bool)) -> bool {
    let Some(at) = end_of(body) else { return true };
    let Exp::If { cond, then, other } = &body.stms[at].exp else { return true };
    if ways(id, body) != Ways::Both {
        return true;
    }
    let mut needed: HashSet<Var> = cond.var().into_iter().collect();
    for stm in body.stms[..at].iter().rev() {
        let is_check = matches!(stm.exp, Exp::Check { .. });
        if !is_check && !stm.pat.iter().any(|p| needed.contains(&p.var)) {
            continue;
        }
        *found.0 += 1;
        *found.1 &=
            is_check || matches!(stm.exp, Exp::Atom(_) | Exp::Prim(..) | Exp::Index(..) | Exp::Slice { .. });
        stm.walk(&mut |site| {
            if let Site::Use(Atom::Var(v)) = site {
                needed.insert(v);
            }
        });
    }
    let shows = body.stms[..at].iter().any(|s| matches!(s.exp, Exp::Trace { .. }));
    !shows && [then, other].into_iter().all(|arm| super::deep(|| decided_by(id, arm, found)))
}
