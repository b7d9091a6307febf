//! A reduction that passes on what it maps disappears into the operator that reads that.
//!
//! ```text
//! let a, ys = reduce add.f32 0 n xs            let b, a = reduce (max.f32, add.f32) (m, 0) n xs
//!               (\x -> f x, g x)         =>                 (\x -> g x, f x)
//! let b     = reduce max.f32 m n ys
//! ```
//!
//! [`super::vertical`] makes such reductions of a map that several operators read. The reader must not need what is reduced.

use super::horizontal::{binds_elements, fuse_ops, interleave, reduction};
use super::parts::rows;
use super::users::Users;
use super::vertical::{compose, needed_elsewhere, only_inputs, select};
use super::{Fuser, into_users, may_fuse, may_sink, small_enough};
use par_ir::core::{Body, Exp, Lambda, Stm};
use par_ir::ty::Var;

/// Fuses reductions with the readers of what they pass on.
pub(super) fn sweep(body: &mut Body, fuser: &mut Fuser) -> bool {
    into_users(body, fuser, |body, users, first, second, _| fuse(body, users, first, second))
}

fn fuse(body: &Body, users: &Users, first: usize, second: usize) -> Option<Stm> {
    let (producer, consumer) = (&body.stms[first], &body.stms[second]);
    let Exp::Reduce { width, inputs, lam, op, neutral } = &producer.exp else { return None };
    let x = reduction(&consumer.exp)?;
    let (j, k) = (x.neutral.len(), neutral.len());
    let (reduced, passed) = producer.pat.split_at(k);
    let made: Vec<Var> = passed.iter().map(|p| p.var).collect();
    let all: Vec<Var> = producer.pat.iter().map(|p| p.var).collect();
    let (other_width, other_inputs, other) = rows(&consumer.exp)?;
    let fits = *width == other_width
        && may_fuse(lam, other)
        && small_enough(lam, other)
        && lam.is_scalar()
        && other.is_scalar()
        && binds_elements(consumer)
        && may_sink(body, first, second)
        && only_inputs(consumer, &all)
        && other_inputs.iter().any(|v| made.contains(v));
    if !fits {
        return None;
    }
    let kept = needed_elsewhere(body, users, second, passed);
    let mapped = mapped(lam, k);
    let (arrays, mut joint) = compose(&made, (inputs, &mapped), (other_inputs, other))?;
    let own = consumer.pat.len();
    let rest = select(joint.body.results.split_off(own), &kept);
    joint.body.results = interleave(&joint.body.results, &lam.body.results[..k], j, k);
    joint.body.results.extend(rest);
    let rest = select(joint.ret.split_off(own), &kept);
    joint.ret = interleave(&joint.ret, &lam.ret[..k], j, k);
    joint.ret.extend(rest);
    let mut pat = interleave(&consumer.pat, reduced, j, k);
    pat.extend(select(passed.to_vec(), &kept));
    let (op, neutral) = (fuse_ops(&x.op, op, j, k), [x.neutral, neutral].concat());
    let exp = Exp::Reduce { width: *width, inputs: arrays, lam: joint, op, neutral };
    Some(Stm { pat, exp, span: consumer.span })
}

/// Results of a reduction's lambda that are mapped, not folded.
fn mapped(lam: &Lambda, k: usize) -> Lambda {
    let results = lam.body.results[k..].to_vec();
    Lambda { body: Body { results, stms: lam.body.stms.clone() }, ret: lam.ret[k..].to_vec(), ..lam.clone() }
}
