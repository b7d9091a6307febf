//! Facts about the program that is flattened, found before and never changed.

use super::{Options, forwarded, lengths, local};
use par_ir::Var;
use par_ir::alias;
use par_ir::core::{FunId, Program};
use par_ir::hash::HashSet;

/// The program, how to flatten it, and what analyses found.
pub struct Facts<'a> {
    pub source: &'a Program,
    pub options: Options<'a>,
    /// CORE variables that something updates in place.
    pub consumed: HashSet<Var>,
    /// CORE variables that something updates in place, itself or through a call.
    pub consumed_through_calls: HashSet<Var>,
    /// Results of functions that are arguments or parts of them: they are passed as views outside nests.
    pub forwarded: HashSet<Var>,
    /// CORE variables that are used after something has updated them.
    pub live_after_update: HashSet<Var>,
    /// CORE arrays that are the lengths of a descriptor's rows.
    pub lengths: HashSet<Var>,
    /// CORE arrays that are views of others.
    pub views: local::Views,
    /// Per function, those that calling it may lead to.
    pub reachable: Vec<HashSet<FunId>>,
    /// Per function, whether it pushes to the tape of its callers.
    pub pushing: Vec<bool>,
}

impl<'a> Facts<'a> {
    pub fn new(source: &'a Program, options: Options<'a>) -> Facts<'a> {
        let consumed_through_calls = alias::consumed_through_calls(source);
        Facts {
            source,
            options,
            consumed: alias::consumed(source),
            forwarded: forwarded::results(source, &consumed_through_calls),
            consumed_through_calls,
            live_after_update: alias::live_after_update(source),
            lengths: lengths::of_program(source),
            views: local::Views::of(source),
            reachable: local::reachable(source),
            pushing: source.pushing(),
        }
    }
}
