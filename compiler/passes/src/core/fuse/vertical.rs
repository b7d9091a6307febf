//! Vertical fusion: a map disappears into the operator that reads its results.
//!
//! ```text
//! let (s: [n]desc) (yss: [n][s]i64) =          let (s: [n]desc) (zss: [n][s]i64) =
//!   map n ks (\k -> … in k ys)                   map n ks (\k ->
//! let (zss: [n][s]i64) =                  =>       …
//!   map n s yss (\m row ->                         let zs = map k ys (…)
//!     let zs = map m row (…)                       in k zs)
//!     in zs)
//! ```
//!
//! A result that is needed elsewhere, too, becomes a result of the joint operator, if that can have further ones (a
//! map, reduce or scan); so do descriptors in whose terms other types are written. Nothing is computed twice.
//! Into operators other than maps only scalar producers are fused, and those of small rows: their lambdas become kernels. A map of rows
//! is fused with the one that makes them first.

use super::parts::{Inputs, rows, rows_mut};
use super::users::Users;
use super::{Fuser, into_users, may_sink, small_enough};
use par_ir::core::{Body, Exp, Lambda, Param, Stm};
use par_ir::tiny;
use par_ir::tuning;
use par_ir::ty::{Atom, Type, Var};
use par_ir::visit::Code;
use std::collections::BTreeSet;

/// Fuses producers with their consumers.
pub(super) fn sweep(body: &mut Body, fuser: &mut Fuser) -> bool {
    into_users(body, fuser, |body, users, first, second, _| fuse(body, users, first, second))
}

fn fuse(body: &Body, users: &Users, first: usize, second: usize) -> Option<Stm> {
    let (producer, consumer) = (&body.stms[first], &body.stms[second]);
    let Exp::Map { width, inputs, lam } = &producer.exp else { return None };
    let (other_width, other_inputs, other_lam) = rows(&consumer.exp)?;
    let made: Vec<Var> = producer.pat.iter().map(|p| p.var).collect();
    let fits = *width == other_width
        && super::may_fuse(lam, other_lam)
        && small_enough(lam, other_lam)
        && may_sink(body, first, second)
        && only_inputs(consumer, &made)
        && other_inputs.iter().any(|v| made.contains(v));
    if !fits {
        return None;
    }
    if !matches!(consumer.exp, Exp::Map { .. }) && makes_rows(body, users, first, inputs) {
        return None;
    }
    let kept = needed_elsewhere(body, users, second, &producer.pat);
    if !accepts(&consumer.exp, lam, &producer.pat, &kept) {
        return None;
    }
    let (arrays, joint) = compose(&made, (inputs, lam), (other_inputs, other_lam))?;
    Some(rebuild(producer, consumer, &kept, arrays, joint))
}

/// True if rows that a map reads are made by another one that it will be fused with, which operators that are not maps would not take in.
fn makes_rows(body: &Body, users: &Users, at: usize, inputs: &[Var]) -> bool {
    let made = |s: &Stm| s.pat.iter().any(|p| inputs.contains(&p.var) && p.ty.rank() > 1);
    (0..at).any(|first| made(&body.stms[first]) && fuse(body, users, first, at).is_some())
}

/// True if the consumer uses `made` only as inputs (and in the types of its results).
pub(super) fn only_inputs(consumer: &Stm, made: &[Var]) -> bool {
    let mut exp = consumer.exp.clone();
    if let Some((inputs, _)) = rows_mut(&mut exp) {
        inputs.clear();
    }
    exp.free().iter().all(|v| !made.contains(v))
}

/// True for each result of the producer that is used by a type of the consumer's pattern, after the consumer, or by the type of such a result.
pub(super) fn needed_elsewhere(body: &Body, users: &Users, second: usize, pat: &[Param]) -> Vec<bool> {
    let mut used: BTreeSet<Var> = body.stms[second].pat.iter().flat_map(|p| p.ty.free()).collect();
    let mut kept: Vec<bool> = Vec::new();
    for p in pat.iter().rev() {
        let needed = used.contains(&p.var) || users.is_used_after(p.var, second);
        kept.push(needed);
        if needed {
            used.extend(p.ty.free());
        }
    }
    kept.reverse();
    kept
}

/// True if an operator may take in this producer, with these results to be kept.
fn accepts(consumer: &Exp, lam: &Lambda, pat: &[Param], kept: &[bool]) -> bool {
    let mut extra = pat.iter().zip(kept).filter(|(_, k)| **k).map(|(p, _)| p);
    match consumer {
        Exp::Map { .. } => true,
        Exp::Reduce { .. } | Exp::Scan { .. } => {
            becomes_scalar(&lam.body) && extra.all(|p| p.ty.rank() == 1 && !p.ty.is_desc())
        }
        _ => becomes_scalar(&lam.body) && extra.next().is_none(),
    }
}

/// True if a producer's body can be part of a kernel: of small rows only elements are read there.
fn becomes_scalar(body: &Body) -> bool {
    let is_row = |s: &Stm| {
        let made = matches!(s.exp, Exp::Literal(..) | Exp::Unflatten(_) | Exp::Index(..));
        made && s.pat.iter().all(|p| tiny::sizes(&p.ty, tuning::TINY_ELEMENTS).is_some())
    };
    body.stms.iter().all(|s| s.is_scalar() || is_row(s))
}

/// Inputs and lambda of the joint operator; the lambda results in the consumer's results, then all the producer's.
pub(super) fn compose(
    made: &[Var],
    (inputs, producer): (&[Var], &Lambda),
    (other_inputs, consumer): (&[Var], &Lambda),
) -> Option<(Vec<Var>, Lambda)> {
    let mut joint = Inputs::default();
    let producer = &joint.with_all(inputs, producer);
    let mut stms = producer.body.stms.clone();
    for (array, param) in other_inputs.iter().zip(&consumer.params) {
        match made.iter().position(|v| v == array) {
            None => joint.add(*array, param.clone()),
            Some(i) => stms.extend(bind(&mut joint, param, producer, i, stms_span(consumer, producer))),
        }
    }
    let inside = stms.bound();
    if joint.params.iter().any(|p| inside.iter().any(|v| p.ty.mentions(*v))) {
        return None; // the type of a row that is read needs a size that the producer computes
    }
    let rest = consumer.body.substituted(&joint.subst);
    stms.extend(rest.stms);
    let results = [rest.results, producer.body.results.clone()].concat();
    let ret = [consumer.ret.substituted(&joint.subst), producer.ret.clone()].concat();
    let schedule = consumer.schedule;
    let lam = Lambda { params: joint.params, body: Body { stms, results }, ret, schedule };
    Some((joint.arrays, lam))
}

fn stms_span(consumer: &Lambda, producer: &Lambda) -> par_runtime::Span {
    let spans = consumer.body.stms.iter().chain(&producer.body.stms);
    spans.map(|s| s.span).next().unwrap_or_default()
}

/// The consumer's parameter is the producer's result `i`: by substitution if the types agree, else as a copy.
fn bind(
    joint: &mut Inputs,
    param: &Param,
    producer: &Lambda,
    i: usize,
    span: par_runtime::Span,
) -> Option<Stm> {
    let ty = param.ty.substituted(&joint.subst);
    let result = producer.body.results[i];
    if ty == producer.ret[i] {
        joint.subst.insert(param.var, result);
        return None;
    }
    Some(Stm { pat: vec![Param { var: param.var, ty }], exp: Exp::Atom(result), span })
}

/// The consumer with the joint lambda. In a map the results kept come first (later types may mention them), in a
/// reduce or scan last.
fn rebuild(producer: &Stm, consumer: &Stm, kept: &[bool], arrays: Vec<Var>, mut joint: Lambda) -> Stm {
    let mut stm = consumer.clone();
    let own = joint.ret.len() - producer.pat.len();
    let extra_results: Vec<Atom> = select(joint.body.results.split_off(own), kept);
    let extra_types: Vec<Type> = select(joint.ret.split_off(own), kept);
    let extra_pat: Vec<Param> = select(producer.pat.clone(), kept);
    let at = if matches!(stm.exp, Exp::Map { .. }) { 0 } else { own };
    joint.body.results.splice(at..at, extra_results);
    joint.ret.splice(at..at, extra_types);
    let at = at.min(stm.pat.len());
    stm.pat.splice(at..at, extra_pat);
    if let Some((inputs, lam)) = rows_mut(&mut stm.exp) {
        (*inputs, *lam) = (arrays, joint);
    }
    stm
}

pub(super) fn select<T>(items: Vec<T>, kept: &[bool]) -> Vec<T> {
    items.into_iter().zip(kept).filter(|(_, k)| **k).map(|(x, _)| x).collect()
}
