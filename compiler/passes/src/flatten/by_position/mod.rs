//! A loop with parallel operators inside, as a loop that one position of a nest can work through by itself.
//!
//! ```text
//! qs = loop (q = a) for k < n do {               t0 = replicate m 0
//!   x  = map m (q[k]) (\ c -> c / k)             qs, _ = loop (q = a, t = t0) for k < n do {
//!   r  = map n (q) (\ c -> map (\ c x -> …) c x)   t1 = loop (t' = t) for i < m do t' with [i] = q[k, i] / k
//!   in r }                                  ==>     r  = loop (q' = q) for i < n do
//!                                                         loop (q'' = q') for j < m do q'' with [i, j] = …
//!                                                   in r, t1 }
//! ```
//!
//! 1. Every operator becomes a loop ([`generate`]). What it makes goes to a **buffer**: an array that is made before the outermost loop
//!    begins, and keeps its place from iteration to iteration. If its size is not the same in all iterations, it has room for the largest ([`sizes`]). State that a map makes anew is written over the old one, if that is
//!    read at the same place only; else it is made in a buffer and copied.
//!    A row of the state that is used after that was updated is copied to a buffer.
//!    State whose size changes, but never above the first one, is an array of that size ([`shrink`]).
//! 2. Buffers are passed on as state of all loops, and results of all branches, that write to them ([`thread`]).
//! 3. The result must be code that may work in place ([`par_ir::inplace`]): it says no wherever an array would be read after it was
//!    changed.

mod generate;
mod known;
mod shrink;
mod sizes;
mod thread;

use par_ir::core::{Exp, Stm};
use par_ir::hash::HashMap;
use par_ir::inplace::InPlace;
use par_ir::{Type, Var, Vars};

pub(crate) use sizes::Sizes;

/// A loop for one position.
pub struct OneByOne {
    /// Sizes and work known before it runs, with the statements that compute them.
    pub sizes: Sizes,
    /// The statements that make its buffers.
    pub before: Vec<Stm>,
    /// The loop. Its first results are those of the loop given; of arrays whose size changes, with room for the first size.
    pub stm: Stm,
    /// The statements that bind such arrays.
    pub after: Vec<Stm>,
}

/// The loop for one position, if it can be said like that. `types` are those of variables from outside.
pub fn one_by_one(stm: &Stm, types: &HashMap<Var, Type>, vars: &mut Vars) -> Option<OneByOne> {
    let Exp::Loop { params, body, .. } = &stm.exp else { return None };
    if params.iter().any(|(p, _)| p.ty.is_desc()) {
        return None;
    }
    let shrinking = shrink::sizes(params, body, types)?;
    let ways = [(true, false), (false, false), (true, true), (false, true)];
    ways.into_iter().find_map(|(over, copies)| {
        let generated = generate::generate(stm, (over, copies), &shrinking, types, vars)?;
        let caps = generated.caps.clone();
        let (before, mut one) = thread::threaded(generated, vars);
        let Exp::Loop { params, form, body } = &one.exp else { return None };
        InPlace::allows_loop(params, form, body).ok()?;
        let sizes = sizes::measure(stm, (&caps, &shrinking), types, vars)?;
        let (pat, after) = shrink::results(stm, &shrinking, vars);
        one.pat.splice(..pat.len(), pat);
        Some(OneByOne { sizes, before, stm: one, after })
    })
}
