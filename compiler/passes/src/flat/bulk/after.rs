//! Maps that use prefixes only at their own position become part of the scan.
//!
//! ```text
//! is = kernel scan (+) over n { xs[pos] }
//! ys = kernel map over n { is[pos] - 1 }       ==>    ys = kernel scan (+) over n { xs[pos] } then \i { i - 1 }
//! ```
//!
//! Prefixes are stored as before if something else uses them.

use super::order;
use super::users::Users;
use super::{Fuser, reads};
use par_ir::core::{self, Body};
use par_ir::cost::{Time, operators};
use par_ir::flat::{After, Block, Kernel, KernelKind, Op, Out, Stm, Ty};
use par_ir::hash::HashMap;
use par_ir::tuning;
use par_ir::ty::{Atom, Type, Var};
use par_ir::visit::Code;
use std::collections::BTreeSet;

/// Fuses scans with what follows them, from the top down.
pub fn sweep(block: &mut Block, fuser: &mut Fuser) {
    let find = |block: &Block, _: &Users, first: usize, fuser: &Fuser| {
        let kept = block.stms[first].pat.iter().any(|p| fuser.vars.is_opaque(p.var));
        order::partner(block, first, |i| !kept && follows(&block.stms[first], &block.stms[i]))
    };
    order::sweep(block, fuser, find, fuse);
}

/// Stores only those prefixes that something uses.
pub fn narrow(block: &mut Block, fuser: &mut Fuser) {
    let mut used: BTreeSet<Var> = block.results.free();
    block.stms.iter().for_each(|s| used.extend(s.op.free()));
    for stm in &mut block.stms {
        let Op::Kernel(k) = &mut stm.op else { continue };
        let KernelKind::Scan { neutral, after: None, .. } = &k.kind else { continue };
        let prefixes = &stm.pat[..neutral.len()];
        if prefixes.iter().any(|p| !used.contains(&p.var)) {
            let after = stored(k, &stm.pat, fuser);
            keep_combined(k, after);
        }
    }
}

/// The prefixes and further results as outputs.
fn stored(k: &Kernel, pat: &[par_ir::flat::Param], fuser: &mut Fuser) -> After {
    let KernelKind::Scan { op, after, .. } = &k.kind else { unreachable!("only a scan has prefixes") };
    if let Some(after) = after {
        return (**after).clone();
    }
    let param = |(ty, p): (&Type, &par_ir::flat::Param)| core::Param {
        var: fuser.vars.fresh_like(p.var),
        ty: ty.clone(),
    };
    let params: Vec<core::Param> = op.ret.iter().zip(pat).map(param).collect();
    let prefixes = params.iter().map(|p| Atom::Var(p.var));
    let results = prefixes.chain(k.body.results[params.len()..].iter().copied()).collect();
    let outs =
        pat.iter().map(|p| if let Ty::Array(t) = p.ty { t } else { unreachable!("outputs are arrays") });
    After { params, body: Body { stms: vec![], results }, outs: outs.map(Out::Elem).collect() }
}

/// Makes it what the scan does; its body has no further results then.
fn keep_combined(k: &mut Kernel, new: After) {
    let KernelKind::Scan { neutral, after, .. } = &mut k.kind else { return };
    k.body.results.truncate(neutral.len());
    *after = Some(Box::new(new));
}

/// True if a map uses what a scan makes at its own position only.
pub fn follows(scan: &Stm, map: &Stm) -> bool {
    let (Op::Kernel(s), Op::Kernel(m)) = (&scan.op, &map.op) else { return false };
    let (KernelKind::Scan { .. }, KernelKind::Map(outs)) = (&s.kind, &m.kind) else { return false };
    let own = outs.iter().any(|o| matches!(o, Out::Own { .. }));
    if s.space != m.space || own || !is_light(m, outs) {
        return false;
    }
    let made: Vec<Var> = scan.pat.iter().map(|p| p.var).collect();
    let scattered = s.after().map(|a| scattered(&a.outs, &made)).unwrap_or_default();
    let (mut here, mut all) = (0, 0);
    reads::for_each(&m.body, &mut |arr, i| {
        here += usize::from(i == Atom::Var(m.pos) && made.contains(&arr) && !scattered.contains(&arr));
    });
    made.iter().for_each(|v| all += map.op.uses_of(*v));
    here > 0 && here == all
}

/// Outputs that are not stored by position.
fn scattered(outs: &[Out], made: &[Var]) -> Vec<Var> {
    let (mut at, mut found) = (0, Vec::new());
    for out in outs {
        let n = out.arrays();
        if matches!(out, Out::Scatter(_) | Out::Row(..)) {
            found.extend(&made[at..at + n]);
        }
        at += n;
    }
    found
}

/// True if a map gains nothing from vectors that it does not lose by a pass of its own: it scatters, gathers, or does little.
fn is_light(m: &Kernel, outs: &[Out]) -> bool {
    let mut elsewhere = false;
    reads::for_each(&m.body, &mut |_, i| elsewhere |= i != Atom::Var(m.pos));
    let moves = elsewhere || outs.iter().any(|o| matches!(o, Out::Scatter(_) | Out::Row(..)));
    operators(&m.body.stms, Time::Long).is_some_and(|n| moves || n <= tuning::AFTER_OPERATORS)
}

fn fuse(scan: &Stm, map: &Stm, fuser: &mut Fuser) -> Stm {
    let (Op::Kernel(s), Op::Kernel(m)) = (&scan.op, &map.op) else { unreachable!("kernels are fused") };
    let KernelKind::Map(outs) = &m.kind else { unreachable!("a map follows") };
    let mut after = stored(s, &scan.pat, fuser);
    let values: HashMap<Var, Atom> = by_position(&after, scan);
    let names = s.position_of(m);
    let mut body = m.body.substituted(&names);
    reads::replace(&mut body, &|arr, _| values.get(&arr).copied());
    after.body.stms.extend(body.stms);
    after.body.results.extend(body.results);
    after.outs.extend(outs.iter().cloned());
    let mut kernel = (**s).clone();
    kernel.prologue.extend(m.prologue.substituted(&names));
    keep_combined(&mut kernel, after);
    reads::simplify(&mut kernel);
    let pat = [scan.pat.clone(), map.pat.clone()].concat();
    fuser.fused(scan, map, pat, kernel)
}

/// Atoms stored at the position, by array.
fn by_position(after: &After, scan: &Stm) -> HashMap<Var, Atom> {
    let (mut found, mut at, mut result) = (HashMap::default(), 0, 0);
    for out in &after.outs {
        if let Out::Elem(_) | Out::Own { .. } = out {
            found.insert(scan.pat[at].var, after.body.results[result]);
        }
        at += out.arrays();
        result += out.results();
    }
    found
}
