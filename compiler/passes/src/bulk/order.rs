//! Whether two statements of a block may become one, and where that one stands.
//!
//! ```text
//! s = …                       b = …  (does not need s)
//! a = f s                     s, c = …
//! b = …                ==>    a = f s
//! c = … s b …
//! ```
//!
//! What does not need the first of them goes before the pair, what needs it goes behind. That must neither change which check
//! fails first, nor let an array be read after the update that would have been its last use: the update would copy it.

use super::reads;
use crate::flatten::has_effect;
use par_ir::Var;
use par_ir::flat::{Block, Kernel, KernelKind, Op, Stm};
use par_ir::visit::Code;
use std::collections::BTreeSet;

/// How many statements after the first the second is looked for.
pub const REACH: usize = 48;

/// The statements between a pair: those that go before it, and those behind.
pub struct Order {
    before: Vec<usize>,
    behind: Vec<usize>,
}

/// The order in which `first` and `second` are neighbours, if there is one.
pub fn together(stms: &[Stm], first: usize, second: usize) -> Option<Order> {
    let mut made: BTreeSet<Var> = bound(&stms[first]).collect();
    let mut order = Order { before: vec![], behind: vec![] };
    for (i, stm) in stms.iter().enumerate().take(second).skip(first + 1) {
        if uses(stm).is_disjoint(&made) {
            order.before.push(i);
        } else {
            made.extend(bound(stm));
            order.behind.push(i);
        }
    }
    let behind = || order.behind.iter().map(|i| &stms[*i]);
    let before = || order.before.iter().map(|i| &stms[*i]);
    let needed = uses(&stms[second]);
    if behind().flat_map(bound).any(|v| needed.contains(&v)) {
        return None;
    }
    let [a, b] = [first, second].map(|i| has_effect(&stms[i].op));
    let (any_before, any_behind) = (before().any(|s| has_effect(&s.op)), behind().any(|s| has_effect(&s.op)));
    if (a || any_behind) && (b || any_before) {
        return None;
    }
    let moved = [&stms[first]].into_iter().chain(behind()).chain([&stms[second]]);
    let copies = |early: &Stm, late: &Stm| !consumed(early).is_disjoint(&uses(late));
    let updates = before().any(|e| moved.clone().any(|l| copies(e, l)));
    let update = behind().any(|l| copies(&stms[second], l)) || ends_use(&stms[second], &stms[first]);
    (!updates && !update).then_some(order)
}

/// Whether a kernel updates what another one reads and it does not, so that only joined they would need a copy.
fn ends_use(kernel: &Stm, other: &Stm) -> bool {
    let Op::Kernel(k) = &kernel.op else { return true };
    let mut read = BTreeSet::new();
    reads::of_kernel(k, &mut |arr, _| _ = read.insert(arr));
    let used = uses(other);
    updated(k).into_iter().any(|v| used.contains(&v) && !read.contains(&v))
}

/// Puts `stm` in the place of a pair.
pub fn replace(block: &mut Block, (first, second): (usize, usize), order: &Order, stm: Stm) {
    let mut old: Vec<Option<Stm>> = std::mem::take(&mut block.stms).into_iter().map(Some).collect();
    let mut take = |i: usize| old[i].take();
    let mut new: Vec<Stm> = (0..first).filter_map(&mut take).collect();
    new.extend(order.before.iter().filter_map(|i| take(*i)));
    new.push(stm);
    new.extend(order.behind.iter().filter_map(|i| take(*i)));
    new.extend((second + 1..old.len()).filter_map(|i| old[i].take()));
    block.stms = new;
}

fn bound(stm: &Stm) -> impl Iterator<Item = Var> {
    stm.pat.iter().map(|p| p.var)
}

fn uses(stm: &Stm) -> BTreeSet<Var> {
    stm.op.free()
}

/// Arrays that a kernel updates.
pub fn updated(k: &Kernel) -> BTreeSet<Var> {
    match &k.kind {
        KernelKind::Map(outs) => outs.free(),
        KernelKind::Scan { after, .. } => after.iter().flat_map(|a| a.outs.free()).collect(),
        KernelKind::Hist { dests, .. } => dests.free(),
        KernelKind::Reduce { .. } | KernelKind::Filter => BTreeSet::new(),
    }
}

/// Arrays that a statement may update in place: what it mentions otherwise than by reading.
pub fn consumed(stm: &Stm) -> BTreeSet<Var> {
    match &stm.op {
        Op::Kernel(k) => updated(k),
        Op::Prim(..) | Op::Check { .. } | Op::MakeDesc(_) | Op::Offsets(_) | Op::Lengths(_) => {
            BTreeSet::new()
        }
        Op::SegIds(_) | Op::Total(_) | Op::Rows(_) | Op::Length(_) | Op::Read(..) => BTreeSet::new(),
        op => op.free(),
    }
}
