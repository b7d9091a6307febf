//! Horizontal fusion: independent operators over the same rows become one.
//!
//! ```text
//! let ys = map n xs (\x -> f x)               let ys zs = map n xs (\x -> f x, g x)
//! let zs = map n xs (\x -> g x)         =>
//! let a = reduce add.f32 0 n xs               let a b = reduce (add.f32, max.f32) (0, m) n xs
//! let b = reduce max.f32 m n xs
//! ```
//!
//! Both must be maps with scalar bodies, or reductions. A map is fused with a reduction if they read a common array. Where results of the first are used
//! between both, the second goes to the first, if it is a reduction or reads a common array, cannot fail, and passes no check.

use super::parts::{Inputs, rows};
use super::users::Users;
use super::{Fuser, may_fuse, may_sink, small_enough};
use par_ir::core::{Body, Exp, Lambda, Stm};
use par_ir::effects::Effects;
use par_ir::hash::HashSet;
use par_ir::tuning;
use par_ir::ty::{Atom, Var};
use par_ir::visit::Code;
use std::mem::discriminant;

/// Fuses independent operators, from the top down.
pub(super) fn sweep(body: &mut Body, fuser: &mut Fuser) -> bool {
    let mut users = Users::of(body);
    for first in 0..body.stms.len() {
        while let Some(Partner { second, rises, mut fused }) = partner(body, &users, first) {
            fuser.note(&body.stms[first], &body.stms[second], &fused);
            fuser.inside(&mut fused);
            match rises {
                true => users.replace(body, second, first, fused),
                false => {
                    users.replace(body, first, second, fused);
                    break;
                }
            }
        }
    }
    users.finish(body)
}

/// An operator that can be fused with one before.
struct Partner {
    second: usize,
    /// True if it goes to where the first one is, since that one is used in between.
    rises: bool,
    fused: Stm,
}

/// The next operator that can be fused with the one at `first`, and what they become.
fn partner(body: &Body, users: &Users, first: usize) -> Option<Partner> {
    let (width, ..) = rows(&body.stms[first].exp).filter(|_| fusible(&body.stms[first].exp))?;
    let end = body.stms.len().min(first + 1 + tuning::CORE_FUSION_REACH);
    let used = users.first_user(body, first).unwrap_or(end);
    (first + 1..end).find_map(|second| {
        let (a, b) = (&body.stms[first], &body.stms[second]);
        let rises = second >= used;
        let alike = rows(&b.exp).is_some_and(|(w, ..)| w == width);
        let moves = || match rises {
            true => {
                (matches!(b.exp, Exp::Reduce { .. }) || share_input(&a.exp, &b.exp))
                    && may_rise(body, first, second)
            }
            false => may_sink(body, first, second),
        };
        let fused = if alike && moves() { fuse(a, b) } else { None };
        fused.map(|fused| Partner { second, rises, fused })
    })
}

/// True if the statement at `second` can go to where that at `first` is: it needs nothing that is bound from there on, and passes no check, which
/// may see to what it reads.
fn may_rise(body: &Body, first: usize, second: usize) -> bool {
    let passed = &body.stms[first..second];
    let bound: HashSet<Var> = passed.iter().flat_map(|s| &s.pat).map(|p| p.var).collect();
    let moved = &body.stms[second];
    !moved.has_effect() && !passed[1..].has_effect() && moved.free().iter().all(|v| !bound.contains(v))
}

fn fuse(a: &Stm, b: &Stm) -> Option<Stm> {
    let fits = fusible(&b.exp);
    let alike = discriminant(&a.exp) == discriminant(&b.exp);
    let fits = fits && rows(&a.exp).zip(rows(&b.exp)).is_some_and(|(a, b)| may_fuse(a.2, b.2));
    let mixed = share_input(&a.exp, &b.exp) && [a, b].iter().all(|s| binds_elements(s));
    (fits && (alike || mixed)).then(|| fuse_pair(a, b)).flatten()
}

fn fusible(exp: &Exp) -> bool {
    match exp {
        Exp::Map { lam, .. } => lam.body.is_scalar(),
        Exp::Reduce { lam, .. } => lam.body.is_scalar(),
        _ => false,
    }
}

fn share_input(a: &Exp, b: &Exp) -> bool {
    match (rows(a), rows(b)) {
        (Some((_, xs, _)), Some((_, ys, _))) => xs.iter().any(|x| ys.contains(x)),
        _ => false,
    }
}

/// Scalars and arrays of scalars only: what a reduction may bind.
pub(super) fn binds_elements(stm: &Stm) -> bool {
    stm.pat.iter().all(|p| p.ty.rank() <= 1 && !p.ty.is_desc())
}

/// An operator as a reduction; a map is one of no operator.
pub(super) struct Reduction<'a> {
    inputs: &'a [Var],
    lam: &'a Lambda,
    pub(super) op: Lambda,
    pub(super) neutral: &'a [Atom],
}

pub(super) fn reduction(exp: &Exp) -> Option<Reduction<'_>> {
    match exp {
        Exp::Map { inputs, lam, .. } => {
            let schedule = lam.schedule;
            let op = Lambda { params: vec![], body: Body::default(), ret: vec![], schedule };
            Some(Reduction { inputs, lam, op, neutral: &[] })
        }
        Exp::Reduce { inputs, lam, op, neutral, .. } => {
            Some(Reduction { inputs, lam, op: op.clone(), neutral })
        }
        _ => None,
    }
}

fn fuse_pair(a: &Stm, b: &Stm) -> Option<Stm> {
    let (width, ..) = rows(&a.exp)?;
    let (x, y) = (reduction(&a.exp)?, reduction(&b.exp)?);
    if !small_enough(x.lam, y.lam) {
        return None;
    }
    let (j, k) = (x.neutral.len(), y.neutral.len());
    let (inputs, lam) = fuse_rows(&x, &y, j, k);
    let pat = interleave(&a.pat, &b.pat, j, k);
    let neutral = [x.neutral, y.neutral].concat();
    let exp = if neutral.is_empty() {
        Exp::Map { width, inputs, lam }
    } else {
        Exp::Reduce { width, inputs, lam, op: fuse_ops(&x.op, &y.op, j, k), neutral }
    };
    Some(Stm { pat, exp, span: b.span })
}

/// Reduced results of both, then mapped results of both.
pub(super) fn interleave<T: Clone>(a: &[T], b: &[T], j: usize, k: usize) -> Vec<T> {
    [&a[..j], &b[..k], &a[j..], &b[k..]].concat()
}

fn fuse_rows(x: &Reduction, y: &Reduction, j: usize, k: usize) -> (Vec<Var>, Lambda) {
    let mut joint = Inputs::default();
    let (first, second) = (joint.with_all(x.inputs, x.lam), joint.with_all(y.inputs, y.lam));
    let ret = interleave(&first.ret, &second.ret, j, k);
    let results = interleave(&first.body.results, &second.body.results, j, k);
    let body = Body { stms: [first.body.stms, second.body.stms].concat(), results };
    (joint.arrays, Lambda { params: joint.params, body, ret, schedule: x.lam.schedule })
}

/// The operator on pairs: left operands of both, then right operands of both.
pub(super) fn fuse_ops(x: &Lambda, y: &Lambda, j: usize, k: usize) -> Lambda {
    Lambda {
        params: interleave(&x.params, &y.params, j, k),
        body: Body {
            stms: [x.body.stms.clone(), y.body.stms.clone()].concat(),
            results: [x.body.results.clone(), y.body.results.clone()].concat(),
        },
        ret: [x.ret.clone(), y.ret.clone()].concat(),
        schedule: x.schedule,
    }
}
