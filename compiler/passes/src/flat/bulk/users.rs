//! Statements of a block that use a variable, found once for a whole sweep.

use super::order::consumed;
use par_ir::Var;
use par_ir::flat::{Block, Param, Stm};
use par_ir::hash::HashMap;
use par_ir::visit::Code;
use std::collections::BTreeSet;
use std::ops::Range;

/// The statements that use each variable, themselves or inside, by their places in the block, in order. Holds until the block changes.
#[derive(Default)]
pub struct Users(HashMap<Var, Vec<usize>>);

impl Users {
    /// Users in a block. Work linear in its size.
    pub fn of(block: &Block) -> Users {
        let mut users = Users::default();
        block.stms.iter().enumerate().for_each(|(at, stm)| users.note(at, stm));
        users
    }

    /// Notes what a statement uses, what it binds inside, too, for which nobody asks.
    pub fn note(&mut self, at: usize, stm: &Stm) {
        stm.op.for_each_used(&mut |v| {
            let users = self.0.entry(v).or_default();
            if users.last().is_none_or(|last| *last < at) {
                users.push(at);
            } else if let Err(i) = users.binary_search(&at) {
                users.insert(i, at);
            }
        });
    }

    /// Forgets what a statement uses that is about to change.
    pub fn forget(&mut self, at: usize, stm: &Stm) {
        stm.op.for_each_used(&mut |v| {
            if let Some(users) = self.0.get_mut(&v)
                && let Ok(i) = users.binary_search(&at)
            {
                users.remove(i);
            }
        });
    }

    /// The places where a variable is used, in order.
    pub fn of_var(&self, v: Var) -> &[usize] {
        self.0.get(&v).map_or(&[], Vec::as_slice)
    }

    /// The places where one of these is used.
    pub fn of_any(&self, pat: &[Param]) -> BTreeSet<usize> {
        pat.iter().flat_map(|p| self.of_var(p.var)).copied().collect()
    }

    /// The first statement among some of the block that may update one of these arrays in place.
    pub fn first_consumer(
        &self,
        block: &Block,
        among: Range<usize>,
        arrays: &BTreeSet<Var>,
    ) -> Option<usize> {
        let consumer = |v: &Var| {
            let users = self.of_var(*v);
            let users = &users[users.partition_point(|i| *i < among.start)..];
            let mut users = users.iter().copied().take_while(|i| *i < among.end);
            users.find(|i| consumed(&block.stms[*i]).contains(v))
        };
        arrays.iter().filter_map(consumer).min()
    }
}
