//! Functions that call themselves once on each way through them: these are loops, which need no stack, and take their part in all that is done for
//! loops.
//!
//! A call that gives the function's result is one more iteration ([`tail`]). If something is left to do with what a call gives, the calls'
//! arguments are kept, and what is left is done from the last call to the first ([`linear`]).
//!
//! Functions that call each other in turn become one function before ([`partners`]).
//!
//! Conditions that are a few scalars are computed again to find out whether a function goes on, and so are the arguments of a call that is not the
//! last thing to do.

mod linear;
mod partners;
mod tail;

use super::derive::Placed;
use super::{Lower, R};
use par_ir::core::{Body, Exp, FunId, Param, Stm};
use par_ir::hash::{HashMap, HashSet};
use par_ir::prim::UnOp;
use par_ir::visit::{Code, Subst};
use par_ir::{Atom, Prim, PrimOp, Scalar, Span, Type, Var};

/// Number of statements that may be computed again.
const MAX_STEPS: usize = 32;

/// Number of statements up to which a function takes the place of its calls.
const MAX_INLINE: usize = 256;

/// A function that calls itself once at most on each way through it.
#[derive(Clone, Copy)]
struct SelfCalls<'a> {
    id: FunId,
    params: &'a [Param],
    /// The arguments of each call.
    args: &'a [Vec<Atom>],
    body: &'a Body,
}

impl SelfCalls<'_> {
    /// The numbers of the parameters that calls change, and of arrays whose sizes they change.
    fn changed(&self) -> Vec<usize> {
        let is_changed = |i: usize| self.args.iter().any(|all| all[i] != Atom::Var(self.params[i].var));
        let has_changed_size = |i: usize| {
            let sizes = self.params.iter().enumerate().filter(|(_, q)| self.params[i].ty.mentions(q.var));
            sizes.into_iter().any(|(k, _)| is_changed(k))
        };
        (0..self.params.len()).filter(|i| is_changed(*i) || has_changed_size(*i)).collect()
    }
}

/// Ways through a body.
#[derive(Clone, Copy, PartialEq)]
enum Ways {
    /// All end without a call.
    End,
    /// All call the function.
    GoOn,
    Both,
}

impl Lower<'_> {
    /// A function's body as a loop, if that can be. Whoever asks for calls wants to see them.
    pub(super) fn with_loop(&mut self, id: FunId, params: &[Param], body: Body) -> R<Body> {
        if self.options.calls {
            return Ok(body);
        }
        if let Some(whole) = self.with_partners(id, &body)?
            && let Some(made) = self.loop_of(id, params, whole)?
        {
            return Ok(made);
        }
        Ok(self.loop_of(id, params, body.clone())?.unwrap_or(body))
    }

    /// The loop, if each way through the body has one call at most.
    fn loop_of(&mut self, id: FunId, params: &[Param], body: Body) -> R<Option<Body>> {
        let mut args = Vec::new();
        if ways(id, &body, &mut args) != Ways::Both || args.len() != count_calls(id, &body) {
            return Ok(None);
        }
        let mut known = HashMap::default();
        names(&body, &mut known);
        for a in args.iter_mut().flatten() {
            *a = a.var().and_then(|v| known.get(&v)).copied().unwrap_or(*a);
        }
        let ret = &self.out.funs[id.0 as usize].ret;
        let sizes: Vec<bool> = ret.iter().map(|p| ret.iter().any(|q| q.ty.mentions(p.var))).collect();
        let is_tail = ends_with_calls(id, &body, &body.results, &sizes);
        let before = self.place.span;
        self.place.span = place_of_call(id, &body).unwrap_or(before);
        let made = match is_tail {
            true => self.tail_loop(&SelfCalls { id, params, args: &args, body: &body }).map(Some),
            false => self.linear_loops(&SelfCalls { id, params, args: &args, body: &body }),
        };
        self.place.span = before;
        let made = made?;
        if made.is_some() {
            self.instances.loops.insert(id);
        }
        Ok(made)
    }

    /// Fresh variables for some of a function's parameters.
    fn renamed_params(&mut self, params: &[Param], subst: &mut Subst) -> Vec<Param> {
        let mut made = Vec::new();
        for Param { var, ty } in params {
            let name = self.out.vars.name(*var).to_string();
            let p = self.param(&name, ty.substituted(subst));
            if self.facts.sizes.contains(var) {
                self.facts.sizes.insert(p.var);
            }
            subst.insert(*var, p.var.into());
            made.push(p);
        }
        made
    }

    /// Emits what decides whether a body calls the function: a bool.
    fn goes_on(&mut self, id: FunId, body: Body) -> R<Atom> {
        match ways(id, &body, &mut Vec::new()) {
            Ways::End => return Ok(Atom::Const(Scalar::Bool(false))),
            Ways::GoOn => return Ok(Atom::Const(Scalar::Bool(true))),
            Ways::Both => {}
        }
        let (cond, arms) = self.up_to_branch(id, body)?;
        Ok(match [0, 1].map(|i| ways(id, &arms[i], &mut Vec::new())) {
            [Ways::GoOn, Ways::End] => cond,
            [Ways::End, Ways::GoOn] => self.prim(PrimOp::Un(UnOp::Not, Prim::Bool), &[cond]),
            _ => {
                let mut made = Vec::new();
                for arm in arms {
                    let (block, goes_on) = self.in_block(|lo| super::deep(|| lo.goes_on(id, arm)))?;
                    made.push(Body { stms: block.stms, results: vec![goes_on] });
                }
                self.emit("go", Type::scalar(Prim::Bool), branch(cond, made)).into()
            }
        })
    }

    /// Emits a body's statements up to the branch with its calls: the branch.
    fn up_to_branch(&mut self, id: FunId, body: Body) -> R<(Atom, [Body; 2])> {
        let at = call_of(id, &body);
        for (i, stm) in body.stms.into_iter().enumerate() {
            match stm.exp {
                Exp::If { cond, then, other } if Some(i) == at => return Ok((cond, [then, other])),
                exp => self.push_stm(Stm { exp, ..stm }),
            }
        }
        Err(self.internal("a body with a branch"))
    }

    /// Emits a body that goes on, up to its call: some of the call's arguments, of these parameters.
    fn next_arguments(&mut self, id: FunId, which: &[usize], params: &[Param], body: Body) -> R<Vec<Atom>> {
        let at = call_of(id, &body).unwrap_or(0);
        if let Some(Exp::Call(_, args)) = body.stms.get(at).map(|s| &s.exp) {
            let args = which.iter().map(|i| args[*i]).collect();
            body.stms.into_iter().take(at).for_each(|stm| self.push_stm(stm));
            return Ok(args);
        }
        let (cond, arms) = self.up_to_branch(id, body)?;
        let mut on = arms.into_iter().filter(|arm| ways(id, arm, &mut Vec::new()) != Ways::End);
        let (Some(first), second) = (on.next(), on.next()) else {
            return Err(self.internal("a body that goes on"));
        };
        let Some(second) = second else {
            self.place_here(&first);
            return self.next_arguments(id, which, params, first);
        };
        let mut made = Vec::new();
        for arm in [first, second] {
            let (block, next) =
                self.in_block(|lo| super::deep(|| lo.next_arguments(id, which, params, arm)))?;
            made.push(Body { stms: block.stms, results: next });
        }
        let pat = self.renamed_params(params, &mut Subst::default());
        let next = pat.iter().map(|p| p.var.into()).collect();
        self.push(pat, branch(cond, made));
        Ok(next)
    }

    /// Notes that the statements of an arm come into the innermost block.
    fn place_here(&mut self, arm: &Body) {
        arm.place(self.scope.blocks.len() as u32 - 1, &mut self.scope.levels);
    }

    /// Emits the body of a function that has become a loop in place of a call: its results. Large functions are called.
    pub(super) fn inlined_loop(&mut self, id: FunId, args: &[Atom]) -> Option<Vec<Atom>> {
        let is_small = self.out.funs[id.0 as usize].body.statements() <= MAX_INLINE;
        if !self.instances.loops.contains(&id) || !is_small {
            return None;
        }
        let copy = self.body_of_call(id, args);
        copy.stms.into_iter().for_each(|stm| self.push_stm(stm));
        Some(copy.results)
    }

    /// A copy of a function's body for a call.
    fn body_of_call(&mut self, id: FunId, args: &[Atom]) -> Body {
        let fun = &self.out.funs[id.0 as usize];
        let (params, body) = (fun.params.clone(), fun.body.clone());
        let mut subst = params.iter().map(|p| p.var).zip(args.iter().copied()).collect();
        self.refreshed(&body, &mut subst)
    }
}

fn branch(cond: Atom, arms: Vec<Body>) -> Exp {
    let mut arms = arms.into_iter();
    let (then, other) = (arms.next().unwrap_or_default(), arms.next().unwrap_or_default());
    Exp::If { cond, then, other }
}

/// The number of the first statement of a body that calls the function, itself or in an arm.
fn call_of(id: FunId, body: &Body) -> Option<usize> {
    body.stms.iter().position(|s| match &s.exp {
        Exp::Call(to, _) => *to == id,
        Exp::If { then, other, .. } => {
            [then, other].into_iter().any(|arm| super::deep(|| call_of(id, arm)).is_some())
        }
        _ => false,
    })
}

/// The place of the first call of a function in a body.
fn place_of_call(id: FunId, body: &Body) -> Option<Span> {
    let stm = &body.stms[call_of(id, body)?];
    match &stm.exp {
        Exp::If { then, other, .. } => {
            [then, other].into_iter().find_map(|arm| super::deep(|| place_of_call(id, arm)))
        }
        _ => Some(stm.span),
    }
}

/// The ways through a body, if each has one call at most, and the calls' arguments.
fn ways(id: FunId, body: &Body, found: &mut Vec<Vec<Atom>>) -> Ways {
    let Some(at) = call_of(id, body) else { return Ways::End };
    match &body.stms[at].exp {
        Exp::If { then, other, .. } => {
            let [a, b] = [then, other].map(|arm| super::deep(|| ways(id, arm, found)));
            if a == b { a } else { Ways::Both }
        }
        Exp::Call(_, args) => {
            found.push(args.clone());
            Ways::GoOn
        }
        _ => Ways::End,
    }
}

/// Aliases in a body: variable to the atom that it is bound to.
fn names(body: &Body, found: &mut HashMap<Var, Atom>) {
    for stm in &body.stms {
        if let (Exp::Atom(a), [p]) = (&stm.exp, &stm.pat[..]) {
            let original = a.var().and_then(|v| found.get(&v)).copied();
            found.insert(p.var, original.unwrap_or(*a));
        }
        super::deep(|| stm.exp.for_each_body(|b| names(b, found)));
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

/// True if the results of all calls are the function's, which are these in a body. The sizes of arrays among them may be known otherwise.
fn ends_with_calls(id: FunId, body: &Body, results: &[Atom], sizes: &[bool]) -> bool {
    let Some(at) = call_of(id, body) else { return true };
    let Some(results) = results_of_branch(body, at, results) else { return false };
    let pat = &body.stms[at].pat;
    match &body.stms[at].exp {
        Exp::If { then, other, .. } => [then, other].into_iter().all(|arm| {
            let of_arm = results_of_arm(pat, arm, &results);
            super::deep(|| ends_with_calls(id, arm, &of_arm, sizes))
        }),
        _ => results.iter().enumerate().all(|(j, r)| number_in(pat, r).map_or(sizes[j], |k| k == j)),
    }
}

/// Results of a body by the names that statement `at` gives them; none if there are others than aliases behind it.
fn results_of_branch(body: &Body, at: usize, results: &[Atom]) -> Option<Vec<Atom>> {
    let mut results = results.to_vec();
    for stm in body.stms[at + 1..].iter().rev() {
        let (Exp::Atom(a), [p]) = (&stm.exp, &stm.pat[..]) else { return None };
        results.iter_mut().filter(|r| **r == Atom::Var(p.var)).for_each(|r| *r = *a);
    }
    Some(results)
}

/// Results behind a branch by the names that an arm has for them.
fn results_of_arm(pat: &[Param], arm: &Body, results: &[Atom]) -> Vec<Atom> {
    results.iter().map(|r| number_in(pat, r).map_or(*r, |k| arm.results[k])).collect()
}

/// The number of a variable in a pattern.
fn number_in(pat: &[Param], a: &Atom) -> Option<usize> {
    pat.iter().position(|p| Atom::Var(p.var) == *a)
}

/// True if what decides whether a function goes on, and some of the next call's arguments, are a few scalars; nothing that is shown may stand before.
fn can_repeat(id: FunId, body: &Body, arguments: &[usize]) -> bool {
    let (mut steps, mut is_cheap) = (0, true);
    repeated(id, body, arguments, &mut steps, &mut is_cheap);
    is_cheap && steps <= MAX_STEPS
}

/// The variables from outside that are needed for that.
fn repeated(
    id: FunId,
    body: &Body,
    arguments: &[usize],
    steps: &mut usize,
    is_cheap: &mut bool,
) -> HashSet<Var> {
    let mut needed: HashSet<Var> = HashSet::default();
    let Some(at) = call_of(id, body) else { return needed };
    match &body.stms[at].exp {
        Exp::If { cond, then, other } => {
            needed.extend(cond.var());
            for arm in [then, other] {
                needed.extend(super::deep(|| repeated(id, arm, arguments, steps, is_cheap)));
            }
        }
        Exp::Call(_, args) => needed.extend(arguments.iter().filter_map(|i| args[*i].var())),
        _ => {}
    }
    for stm in body.stms[..at].iter().rev() {
        *is_cheap &= !matches!(stm.exp, Exp::Trace { .. });
        let is_check = matches!(stm.exp, Exp::Check { .. });
        if !is_check && !stm.pat.iter().any(|p| needed.contains(&p.var)) {
            continue;
        }
        *steps += 1;
        *is_cheap &= is_check || is_scalar_code(&stm.exp);
        stm.for_each_used(&mut |v| _ = needed.insert(v));
    }
    needed
}

/// True for what computes or reads a number, and for parts of arrays.
fn is_scalar_code(exp: &Exp) -> bool {
    match exp {
        Exp::Atom(_) | Exp::Prim(..) | Exp::Index(..) | Exp::Slice { .. } | Exp::Check { .. } => true,
        Exp::If { then, other, .. } => [then, other]
            .into_iter()
            .all(|arm| arm.stms.iter().all(|s| super::deep(|| is_scalar_code(&s.exp)))),
        _ => false,
    }
}
