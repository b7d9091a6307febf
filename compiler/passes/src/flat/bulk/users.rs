//! Which statements of a block use a variable, found once for a whole sweep.

use par_ir::Var;
use par_ir::flat::{Block, Param};
use par_ir::visit::Code;
use std::collections::{BTreeSet, HashMap};

/// The statements that use each variable, themselves or inside, by their places in the block. Holds until the block changes.
pub struct Users(HashMap<Var, Vec<usize>>);

impl Users {
    /// Users in a block. Work linear in its size.
    pub fn of(block: &Block) -> Users {
        let mut users: HashMap<Var, Vec<usize>> = HashMap::new();
        for (at, stm) in block.stms.iter().enumerate() {
            stm.op.free().into_iter().for_each(|v| users.entry(v).or_default().push(at));
        }
        Users(users)
    }

    /// The places where a variable is used, in order.
    pub fn of_var(&self, v: Var) -> &[usize] {
        self.0.get(&v).map_or(&[], Vec::as_slice)
    }

    /// The places where one of these is used.
    pub fn of_any(&self, pat: &[Param]) -> BTreeSet<usize> {
        pat.iter().flat_map(|p| self.of_var(p.var)).copied().collect()
    }
}
