//! Aliases: which variables of CORE are versions, views or parts of one array.

mod consumed;

pub use consumed::{consumed, consumed_through_calls, consumes_arguments, live_after_update};

use crate::core::{Body, Exp, Stm};
use crate::hash::HashSet;
use crate::stack::deeper;
use crate::ty::{Atom, Var};

/// The array from outside a body that `v` is a version of, if only updates, branches and loops lead there.
pub fn root(body: &Body, v: Var) -> Option<Var> {
    root_unless(body, v, &|_| false)
}

/// As [`root`], if no variable on the way is one of `barriers`.
pub fn root_unless(body: &Body, v: Var, barriers: &dyn Fn(Var) -> bool) -> Option<Var> {
    if barriers(v) {
        return None;
    }
    let position = |s: &Stm| s.pat.iter().position(|p| p.var == v);
    let Some((stm, i)) = body.stms.iter().find_map(|s| Some((s, position(s)?))) else { return Some(v) };
    let before = match &stm.exp {
        Exp::Update { arr, .. } => *arr,
        Exp::Scatter { dests, .. } | Exp::Hist { dests, .. } => dests[i],
        Exp::Accumulated(acc) => accumulated(body, *acc)?,
        Exp::Atom(a) => a.var()?,
        Exp::Loop { params, .. } => params[i].1.var()?,
        Exp::If { then, other, .. } => {
            let [a, b] = [then, other].map(|arm| root_unless(arm, arm.results[i].var()?, barriers));
            a.filter(|v| b == Some(*v))?
        }
        _ => return None,
    };
    root_unless(body, before, barriers)
}

/// The array that an accumulator begins with, if that stands in the body.
fn accumulated(body: &Body, acc: Var) -> Option<Var> {
    body.stms.iter().find_map(|s| match s.exp {
        Exp::Accumulate(dest) if s.pat[0].var == acc => Some(dest),
        _ => None,
    })
}

/// True if all uses of an array in a body are reads at indices that `may_be` allows.
pub fn reads_only(body: &Body, array: Var, may_be: &dyn Fn(&[Atom]) -> bool) -> bool {
    !body.results.contains(&array.into())
        && body.stms.iter().all(|s| match &s.exp {
            Exp::Index(a, at) if *a == array => may_be(at),
            exp => {
                let mut is_operand = false;
                exp.for_each_operand(&mut |a| is_operand |= a == array.into());
                !is_operand && exp.bodies().into_iter().all(|b| deeper(|| reads_only(b, array, may_be)))
            }
        })
}

/// The array that `v` is another view of, or a part, as these statements bind it.
pub fn base(stms: &[Stm], v: Var) -> Var {
    let of = |s: &Stm| match s.exp {
        Exp::Flatten(a) | Exp::Unflatten(a) | Exp::Atom(Atom::Var(a)) => Some(a),
        Exp::Slice { arr, .. } => Some(arr),
        Exp::Index(arr, _) if !s.pat[0].ty.is_scalar() => Some(arr),
        _ => None,
    };
    let made = stms.iter().rposition(|s| s.pat.iter().any(|p| p.var == v));
    match made.and_then(|at| Some((at, of(&stms[at])?))) {
        Some((at, arr)) => base(&stms[..at], arr),
        None => v,
    }
}

/// Adds the variables that are versions of arrays: updates, the state of loops, results of branches.
pub fn note_versions(body: &Body, versions: &mut HashSet<Var>) {
    for stm in &body.stms {
        let of = |a: &Atom, versions: &HashSet<Var>| a.var().is_some_and(|v| versions.contains(&v));
        match &stm.exp {
            Exp::Update { arr, .. } if versions.contains(arr) => _ = versions.insert(stm.pat[0].var),
            Exp::Atom(a) if of(a, versions) => _ = versions.insert(stm.pat[0].var),
            Exp::Loop { params, .. } => {
                for ((p, first), done) in params.iter().zip(&stm.pat) {
                    if of(first, versions) {
                        versions.extend([p.var, done.var]);
                    }
                }
            }
            _ => {}
        }
        stm.exp.bodies().into_iter().for_each(|b| note_versions(b, versions));
        if let Exp::If { then, other, .. } = &stm.exp {
            for (i, p) in stm.pat.iter().enumerate() {
                if of(&then.results[i], versions) || of(&other.results[i], versions) {
                    versions.insert(p.var);
                }
            }
        }
    }
}

/// Adds the arrays that an expression, or code in it, may update in place.
pub fn updated_by(exp: &Exp, out: &mut Vec<Var>) {
    updated_itself(exp, out);
    exp.for_each_body(|b| b.stms.iter().for_each(|s| updated_by(&s.exp, out)));
}

/// Adds the arrays that an expression itself may update in place, not code in it.
pub fn updated_itself(exp: &Exp, out: &mut Vec<Var>) {
    match exp {
        Exp::Update { arr, .. } => out.push(*arr),
        Exp::Scatter { dests, .. } | Exp::Hist { dests, .. } => out.extend(dests),
        Exp::Accumulate(dest) => out.push(*dest),
        Exp::Loop { params, .. } => out.extend(params.iter().filter_map(|(_, init)| init.var())),
        Exp::Call(_, args) => out.extend(args.iter().filter_map(|a| a.var())),
        _ => {}
    }
}
