//! Reads of an array's version before the update that replaces it.
//!
//! ```text
//! y = x with [k] = a             check l bounds n
//! check l bounds n               v = x[l]
//! v = x[l]                 =>    y = x with [k] = a
//! z = y with [m] = v             z = y with [m] = v
//! ```
//!
//! The same goes for `scatter` and histograms. Where nothing reads the old version afterwards, the update is made in place. Values do not depend on when they are read; of several checks
//! that fail, another one may be the first.

use par_ir::Var;
use par_ir::core::{Body, Exp, Program, Stm};
use par_ir::effects::Effects;
use par_ir::hash::HashSet;
use par_ir::visit::Code;

/// Moves reads in all functions.
pub fn run(program: &mut Program) {
    program.funs.iter_mut().for_each(|f| in_body(&mut f.body));
}

fn in_body(body: &mut Body) {
    for at in 0..body.stms.len() {
        let Some(moved) = readers(body, at) else { continue };
        let rest = body.stms.split_off(at).into_iter().enumerate();
        let (first, after): (Vec<_>, Vec<_>) = rest.partition(|(i, _)| moved.contains(&(at + i)));
        let stms = first.into_iter().chain(after).map(|(_, stm): (usize, Stm)| stm);
        body.stms.extend(stms);
    }
    body.stms.iter_mut().for_each(|s| s.exp.for_each_body_mut(in_body));
}

/// The statements that go before the update at a place: those that read the version it updates, or what is made of that, with all that stands before them
/// and may. None if a reader depends on the update, does more than to read, or is the end of the body.
fn readers(body: &Body, at: usize) -> Option<HashSet<usize>> {
    let mut old: HashSet<Var> = match &body.stms[at].exp {
        Exp::Update { arr, .. } => HashSet::from_iter([*arr]),
        Exp::Scatter { dests, .. } | Exp::Hist { dests, .. } => dests.iter().copied().collect(),
        _ => return None,
    };
    let mut last = None;
    for (i, stm) in body.stms.iter().enumerate().skip(at + 1) {
        if old.iter().any(|v| stm.mentions(*v)) {
            old.extend(stm.pat.iter().filter(|p| !p.ty.is_scalar()).map(|p| p.var));
            last = Some(i);
        }
    }
    if !body.stms[at].only_fails() {
        return None;
    }
    let mut late: HashSet<Var> = body.stms[at].pat.iter().map(|p| p.var).collect();
    let mut moved = HashSet::default();
    for (i, stm) in body.stms.iter().enumerate().take(last? + 1).skip(at + 1) {
        let free = stm.free();
        let updates = matches!(stm.exp, Exp::Update { .. } | Exp::Scatter { .. } | Exp::Hist { .. });
        if stm.only_fails() && !updates && !free.iter().any(|v| late.contains(v)) {
            moved.insert(i);
        } else if free.iter().any(|v| old.contains(v)) {
            return None;
        } else {
            late.extend(stm.pat.iter().map(|p| p.var));
        }
    }
    let ends = body.results.iter().filter_map(|a| a.var()).any(|v| old.contains(&v));
    (!ends).then_some(moved)
}
