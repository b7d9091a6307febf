//! Neighbouring scans over one space become one.
//!
//! ```text
//! is = kernel scan (+) over n { f xs[pos] }
//! js = kernel scan (+) over n { g xs[pos] }     ==>     is, js = kernel scan (+, +) over n { f xs[pos], g xs[pos] }
//! ```
//!
//! If they read a common array, or a later kernel over the space reads both.

use super::order;
use super::users::Users;
use super::{Fuser, reads};
use par_ir::core::{Body, Lambda};
use par_ir::flat::{Block, Kernel, KernelKind, Op, Param, Stm};
use par_ir::ty::{Atom, Var};
use par_ir::visit::Code;
use std::collections::BTreeSet;

/// Fuses what pays, from the top down.
pub fn sweep(block: &mut Block, fuser: &mut Fuser) {
    let find = |block: &Block, users: &Users, first: usize, _: &Fuser| {
        let alike = |i: usize| alike(&block.stms[first], &block.stms[i]);
        order::partner(block, first, |i| alike(i) && related(block, users, first, i))
    };
    order::sweep(block, fuser, find, fuse);
}

fn scan(stm: &Stm) -> Option<(&Kernel, &Lambda, &[Atom], bool)> {
    let Op::Kernel(k) = &stm.op else { return None };
    match &k.kind {
        KernelKind::Scan { op, neutral, exclusive, after: None } => Some((k, op, neutral, *exclusive)),
        _ => None,
    }
}

fn alike(a: &Stm, b: &Stm) -> bool {
    let (Some((a, f, _, inclusive)), Some((b, g, _, also))) = (scan(a), scan(b)) else { return false };
    // Scans of floats are cut into parts, which others need not be.
    let floats = |op: &Lambda| op.ret.iter().any(|t| t.prim().is_float());
    a.space == b.space && inclusive == also && floats(f) == floats(g)
}

fn related(block: &Block, users: &Users, first: usize, second: usize) -> bool {
    let [a, b] = [first, second].map(|i| &block.stms[i]);
    let (Op::Kernel(ka), Op::Kernel(kb)) = (&a.op, &b.op) else { return false };
    let common = |k: &Kernel| -> BTreeSet<Var> {
        let mut found = BTreeSet::new();
        reads::of_kernel(k, &mut |arr, _| _ = found.insert(arr));
        found
    };
    let (of_a, of_b) = (users.of_any(&a.pat), users.of_any(&b.pat));
    let over_space = |i: &usize| matches!(&block.stms[*i].op, Op::Kernel(k) if k.space == ka.space);
    let read_together = || of_a.intersection(&of_b).any(over_space);
    !of_a.contains(&second) && (!common(ka).is_disjoint(&common(kb)) || read_together())
}

fn fuse(a: &Stm, b: &Stm, fuser: &mut Fuser) -> Stm {
    let (Some((ka, f, x, exclusive)), Some((kb, g, y, _))) = (scan(a), scan(b)) else {
        unreachable!("only scans are fused")
    };
    let (k, l) = (x.len(), y.len());
    let names = ka.position_of(kb);
    let second: Body = kb.body.substituted(&names);
    let body = Body {
        stms: [ka.body.stms.clone(), second.stms].concat(),
        results: interleaved(&ka.body.results, &second.results, k, l),
    };
    let op = Lambda {
        params: [&f.params[..k], &g.params[..l], &f.params[k..], &g.params[l..]].concat(),
        body: Body {
            stms: [f.body.stms.clone(), g.body.stms.clone()].concat(),
            results: [f.body.results.clone(), g.body.results.clone()].concat(),
        },
        ret: [f.ret.clone(), g.ret.clone()].concat(),
        schedule: f.schedule,
    };
    let pat: Vec<Param> = interleaved(&a.pat, &b.pat, k, l);
    let kind = KernelKind::Scan { op, neutral: [x, y].concat(), exclusive, after: None };
    let prologue = [ka.prologue.clone(), kb.prologue.substituted(&names)].concat();
    let mut kernel = Kernel { kind, prologue, body, ..ka.clone() };
    reads::simplify(&mut kernel);
    fuser.fused(a, b, pat, kernel)
}

/// The first `k` of one and `l` of the other, then the rest of both.
fn interleaved<T: Clone>(a: &[T], b: &[T], k: usize, l: usize) -> Vec<T> {
    [&a[..k], &b[..l], &a[k..], &b[l..]].concat()
}
