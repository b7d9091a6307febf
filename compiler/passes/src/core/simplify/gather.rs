//! Reading an array at every index in order is mapping over it.
//!
//! ```text
//! let is = iota n                         let ys = map n xs (\x ->
//! let ys = map n is (\i ->          =>      let y = sqrt.f32 x
//!   let x = xs[i]                           in y)
//!   let y = sqrt.f32 x
//!   in y)
//! ```
//!
//! The array is an input then, so that what produced it can be fused into the operator. Rows are the same: of a ragged
//! array first the length becomes an input (`k = s[i]`), then the row (`r: [k]f32 = xss[i]`).

use super::env::Env;
use par_ir::core::{Exp, Lambda, Stm};
use par_ir::hash::HashSet;
use par_ir::ty::{Atom, Dim, Var};
use par_ir::visit::Code;
use std::collections::BTreeSet;

/// Makes inputs of what the lambda reads at the elements of an `iota`. The lambda's body has not been entered yet: only
/// variables from outside have a known type.
pub(super) fn simplify(env: &Env, width: Atom, inputs: &mut Vec<Var>, lam: &mut Lambda) {
    let is_count = |v: &Var| matches!(env.def(*v), Some(Exp::Iota(n)) if *n == width);
    let rows = inputs.iter().zip(&lam.params);
    let counters: HashSet<Var> = rows.filter(|(v, _)| is_count(v)).map(|(_, p)| p.var).collect();
    if counters.is_empty() {
        return;
    }
    let mut inside = BTreeSet::new();
    for stm in std::mem::take(&mut lam.body.stms) {
        match row(env, width, &counters, &stm) {
            Some(arr) if stm.pat.free().is_disjoint(&inside) => {
                inputs.push(arr);
                lam.params.extend(stm.pat);
            }
            _ => {
                inside.extend(stm.pat.iter().map(|p| p.var));
                lam.body.stms.push(stm);
            }
        }
    }
}

/// The array from outside of which the statement reads the element or row of the same index.
fn row(env: &Env, width: Atom, counters: &HashSet<Var>, stm: &Stm) -> Option<Var> {
    let Exp::Index(arr, indices) = &stm.exp else { return None };
    let [Atom::Var(i)] = indices.as_slice() else { return None };
    let arr = env.var(*arr);
    let one_each = env.type_of(arr)?.dims.first() == Some(&Dim::Size(width));
    (one_each && counters.contains(i)).then_some(arr)
}
