//! Maps of the sweep forward whose results nobody needs. The sweep backward computes their rows again, so they are not run for what may
//! fail in them, or may not end.

use super::{Lower, Reverse};
use par_ir::Var;
use par_ir::core::Stm;
use par_ir::effects::Effects;
use par_ir::hash::HashSet;
use par_ir::visit::Code;

impl Reverse {
    /// Removes, of the statements of the innermost block from `start` on, maps that are run again, and what only depends on them. Of the
    /// others' results these are used.
    pub(super) fn remove_repeated(&self, lo: &mut Lower, start: usize, results: &[Var]) {
        let Some(block) = lo.scope.blocks.last_mut() else { return };
        let repeats = |s: &Stm| s.pat.iter().any(|p| self.repeated.contains(&p.var)) && !s.may_show();
        let mut used: HashSet<Var> = results.iter().copied().collect();
        let mut unused: HashSet<Var> = HashSet::default();
        for stm in block.stms[start..].iter().rev() {
            let is_used = stm.pat.iter().any(|p| used.contains(&p.var));
            if is_used || stm.has_effect() && !repeats(stm) {
                stm.for_each_used(&mut |v| _ = used.insert(v));
            } else {
                unused.extend(stm.pat.iter().map(|p| p.var));
            }
        }
        // What is computed without them may be found again by its key.
        let mut removed: HashSet<Var> = HashSet::default();
        let mut number = 0;
        block.stms.retain(|stm| {
            number += 1;
            let is_unused = number > start && stm.pat.iter().any(|p| unused.contains(&p.var));
            let mut depends = repeats(stm);
            stm.for_each_used(&mut |v| depends |= removed.contains(&v));
            if is_unused && depends {
                removed.extend(stm.pat.iter().map(|p| p.var));
            }
            !(is_unused && depends)
        });
    }
}
