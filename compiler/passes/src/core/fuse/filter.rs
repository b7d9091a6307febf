//! A filter disappears into the reduction or filter that reads what it keeps.
//!
//! ```text
//! let k, ys = filter n xs (\x -> gt.i64 x 0, x)            let s = reduce add.i64 0 n xs (\x ->
//! let s = reduce add.i64 0 k ys (\y -> mul.i64 y 2)   =>     let keep = gt.i64 x 0
//!                                                            let v = if keep then mul.i64 x 2 else 0
//!                                                            in v)
//! ```
//!
//! A row that is not kept counts as the neutral element, so nothing is stored in between. Only where nothing else needs what was kept, or how
//! many elements that are, and both lambdas are scalar code.

use super::users::Users;
use super::{Fuser, may_fuse, may_sink, small_enough};
use par_ir::core::{Body, Exp, Lambda, Param, Stm};
use par_ir::ty::{Atom, Dim, Var};
use par_ir::visit::{Code, Subst};
use par_runtime::Scalar;

/// A filter and its consumer in one.
pub(super) fn fuse(
    body: &Body,
    users: &Users,
    first: usize,
    second: usize,
    fuser: &mut Fuser,
) -> Option<Stm> {
    let (filter, consumer) = (&body.stms[first], &body.stms[second]);
    let Exp::Filter { width, inputs, lam } = &filter.exp else { return None };
    let (size, kept) = filter.pat.split_first()?;
    let (read, other) = reads(consumer, size.var)?;
    let columns: Vec<usize> =
        read.iter().map(|v| kept.iter().position(|p| p.var == *v)).collect::<Option<_>>()?;
    let fits = may_fuse(lam, other)
        && small_enough(lam, other)
        && lam.is_scalar()
        && other.is_scalar()
        && may_sink(body, first, second)
        && filter.pat.iter().all(|p| users.after(p.var, second).next().is_none() && !users.is_result(p.var))
        && only_there(consumer, &filter.pat);
    if !fits {
        return None;
    }
    let neutral: Vec<Atom> = match &consumer.exp {
        Exp::Reduce { neutral, .. } => neutral.clone(),
        _ => other.ret.iter().map(|t| Atom::Const(Scalar::zero(t.prim()))).collect(),
    };
    let joint = joint(lam, other, &columns, neutral, fuser);
    let (width, inputs) = (*width, inputs.clone());
    let exp = match consumer.exp.clone() {
        Exp::Reduce { op, neutral, .. } => Exp::Reduce { width, inputs, lam: joint, op, neutral },
        _ => Exp::Filter { width, inputs, lam: joint },
    };
    Some(Stm { exp, ..consumer.clone() })
}

/// The inputs and the lambda of a consumer that goes over so many elements.
fn reads(consumer: &Stm, size: Var) -> Option<(&Vec<Var>, &Lambda)> {
    match &consumer.exp {
        Exp::Reduce { width, inputs, lam, neutral, .. } if consumer.pat.len() == neutral.len() => {
            (*width == size.into()).then_some((inputs, lam))
        }
        Exp::Filter { width, inputs, lam } => (*width == size.into()).then_some((inputs, lam)),
        _ => None,
    }
}

/// True if nothing of what the filter binds is used by the consumer but as its inputs and width.
fn only_there(consumer: &Stm, pat: &[Param]) -> bool {
    let mut exp = consumer.exp.clone();
    if let Exp::Reduce { width, inputs, .. } | Exp::Filter { width, inputs, .. } = &mut exp {
        (*width, *inputs) = (Atom::i64(0), vec![]);
    }
    let free = exp.free();
    let in_types = |p: &Param| {
        consumer.pat.iter().any(|q| {
            q.ty.dims.iter().any(|d| match d {
                Dim::Size(a) => *a == p.var.into(),
                Dim::Seg(s) => *s == p.var,
            })
        })
    };
    pat.iter().all(|p| !free.contains(&p.var) && !in_types(p))
}

/// The filter's lambda, then the consumer's where the element is kept.
fn joint(lam: &Lambda, other: &Lambda, columns: &[usize], neutral: Vec<Atom>, fuser: &mut Fuser) -> Lambda {
    let (keep, values) = lam.body.results.split_first().expect("a filter results in what is kept");
    let named = other.params.iter().zip(columns).map(|(p, i)| (p.var, values[*i]));
    let subst: Subst = named.collect();
    let then = other.body.substituted(&subst);
    let span = then.stms.iter().chain(&lam.body.stms).map(|s| s.span).next().unwrap_or_default();
    let pat: Vec<Param> =
        other.ret.iter().map(|ty| Param { var: fuser.vars.fresh("chosen"), ty: ty.clone() }).collect();
    let results = pat.iter().map(|p| p.var.into()).collect();
    let mut stms = lam.body.stms.clone();
    let choice = Exp::If { cond: *keep, then, other: Body { stms: vec![], results: neutral } };
    stms.push(Stm { pat, exp: choice, span });
    let (params, ret) = (lam.params.clone(), other.ret.clone());
    Lambda { params, body: Body { stms, results }, ret, schedule: other.schedule }
}
