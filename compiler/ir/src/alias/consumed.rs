//! Consumed variables: what is updated in place, by itself or as what follows from it; and what is live after its update.
//!
//! ```text
//! loop (ys = xs) for i < n { r = if c { ys with [i] = 0 } else { ys } in (r) }      -- ys (and so xs) is updated
//! loop (ys = xs) for i < n { r = if c { ys[1:] } else { ys } in (r) }               -- it is not
//! ```
//!
//! Consumed variables are kept packed, so that the update may be in place; anything else may as well be a view.

use crate::core::{Body, Exp, FunId, LoopForm, Param, Program};
use crate::hash::HashSet;
use crate::ty::{Atom, Var};
use crate::visit::Code;

/// The variables of a program that something updates, or a call of a function that updates its parameter.
pub fn consumed_through_calls(program: &Program) -> HashSet<Var> {
    let mut found = HashSet::default();
    loop {
        let before = found.len();
        program.funs.iter().for_each(|f| body(&f.body, Some(program), &mut found));
        if found.len() == before {
            return found;
        }
    }
}

/// The variables of a program that something updates. Calls are taken to update nothing.
pub fn consumed(program: &Program) -> HashSet<Var> {
    let mut found = HashSet::default();
    program.funs.iter().for_each(|f| body(&f.body, None, &mut found));
    found
}

/// True if a function may update one of its arguments in place.
pub fn consumes_arguments(program: &Program, fun: FunId) -> bool {
    let mut found = HashSet::default();
    let fun = &program.funs[fun.0 as usize];
    body(&fun.body, None, &mut found);
    fun.params.iter().any(|p| found.contains(&p.var))
}

fn mark(found: &mut HashSet<Var>, a: Atom) {
    found.extend(a.var());
}

/// Backwards: what follows from a variable is known before it.
fn body(b: &Body, calls: Option<&Program>, found: &mut HashSet<Var>) {
    for stm in b.stms.iter().rev() {
        match &stm.exp {
            Exp::Update { arr, .. } | Exp::Accumulate(arr) => drop(found.insert(*arr)),
            Exp::Scatter { dests, .. } | Exp::Hist { dests, .. } => found.extend(dests),
            Exp::Atom(a) if found.contains(&stm.pat[0].var) => mark(found, *a),
            Exp::Flatten(a) | Exp::Unflatten(a) if found.contains(&stm.pat[0].var) => drop(found.insert(*a)),
            Exp::Call(fun, args) => {
                let params = calls.map_or(&[][..], |p| &p.funs[fun.0 as usize].params);
                for (p, a) in params.iter().zip(args) {
                    if found.contains(&p.var) {
                        mark(found, *a);
                    }
                }
            }
            Exp::If { then, other, .. } => {
                for (i, p) in stm.pat.iter().enumerate() {
                    if found.contains(&p.var) {
                        mark(found, then.results[i]);
                        mark(found, other.results[i]);
                    }
                }
            }
            _ => {}
        }
        if let Exp::Loop { params, form, body: iteration } = &stm.exp {
            if let LoopForm::While(cond) = form {
                body(cond, calls, found);
            }
            for (i, p) in stm.pat.iter().enumerate() {
                if found.contains(&p.var) {
                    mark(found, iteration.results[i]);
                }
            }
            body(iteration, calls, found);
            let before = found.len();
            for ((p, init), next) in params.iter().zip(&iteration.results) {
                if found.contains(&p.var) {
                    mark(found, *init);
                    mark(found, *next);
                }
            }
            if found.len() > before {
                body(iteration, calls, found);
            }
            continue;
        }
        stm.exp.for_each_body(|b| body(b, calls, found));
    }
}

/// The variables of a program that something updates, or names anew, although they are used later too. An update in place for all
/// positions at once would copy all of them.
pub fn live_after_update(program: &Program) -> HashSet<Var> {
    let mut found = HashSet::default();
    program.funs.iter().for_each(|f| live_in(&f.body, HashSet::default(), &mut found));
    found
}

/// `live`: what is used after the body.
fn live_in(b: &Body, mut live: HashSet<Var>, found: &mut HashSet<Var>) {
    live.extend(b.results.iter().filter_map(|a| a.var()));
    for stm in b.stms.iter().rev() {
        let used_later = |v: &Var| live.contains(v);
        match &stm.exp {
            Exp::Update { arr, .. } | Exp::Accumulate(arr) => found.extend(Some(*arr).filter(used_later)),
            Exp::Scatter { dests, .. } | Exp::Hist { dests, .. } => {
                found.extend(dests.iter().copied().filter(used_later));
            }
            Exp::Loop { params, .. } => {
                let shared = |(_, init): &(Param, Atom)| init.var().is_some_and(|v| used_later(&v));
                found.extend(params.iter().zip(&stm.pat).filter(|(p, _)| shared(p)).map(|(_, p)| p.var));
            }
            Exp::Atom(Atom::Var(v)) | Exp::Flatten(v) | Exp::Unflatten(v) if used_later(v) => {
                found.extend(stm.pat.iter().map(|p| p.var));
            }
            _ => {}
        }
        let used = stm.free();
        match &stm.exp {
            Exp::If { then, other, .. } => {
                live_in(then, live.clone(), found);
                live_in(other, live.clone(), found);
            }
            // The next iteration or row needs what the body uses from outside.
            exp => exp.for_each_body(|inner| {
                live_in(inner, live.iter().chain(&used).copied().collect(), found);
            }),
        }
        for p in &stm.pat {
            live.remove(&p.var);
        }
        live.extend(used);
    }
}
