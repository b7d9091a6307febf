//! Legality of fusing two statements of a block, and the position of the fused statement.
//!
//! ```text
//! s = …                       b = …  (does not need s)
//! a = f s                     s, c = …
//! b = …                ==>    a = f s
//! c = … s b …
//! ```
//!
//! Statements between a pair that do not need the first go before the pair, the others behind. That must neither change which check
//! fails first, nor let an array be read after the update that would have been its last use: the update would copy it.
//!
//! If the first may fail, a check that would go before it is put behind the pair instead, if all that it guards until then is how long an
//! array is:
//!
//! ```text
//! a = f s  (may fail)         m = max n 0
//! check 0 <= n                b = replicate m x
//! b = replicate n x    ==>    a, c = …
//! c = … a b …                 check 0 <= n
//! ```

use super::users::Users;
use super::{Fuser, reads};
use par_ir::effects::Effects;
use par_ir::flat::{Block, Kernel, KernelKind, Op, Param, Stm, Ty};
use par_ir::prim::{BinOp, PrimOp};
use par_ir::visit::Code;
use par_ir::{Atom, Var, tuning};
use par_runtime::{CheckKind, Prim};
use std::collections::BTreeSet;

/// The statements between a pair: those that go before it, checks that are put behind it instead, and those that go behind.
#[derive(Default)]
pub struct Order {
    before: Vec<usize>,
    deferred: Vec<usize>,
    behind: Vec<usize>,
}

/// Fuses pairs, from the top down: `find` says which statement goes with a first one.
pub fn sweep(
    block: &mut Block,
    fuser: &mut Fuser,
    find: impl Fn(&Block, &Users, usize, &Fuser) -> Option<(usize, Order)>,
    fuse: impl Fn(&Stm, &Stm, &mut Fuser) -> Stm,
) {
    let (mut first, mut users) = (0, Users::of(block));
    while first < block.stms.len() {
        match find(block, &users, first, fuser) {
            Some((second, order)) => {
                let fused = fuse(&block.stms[first], &block.stms[second], fuser);
                replace(block, (first, second), &order, fused, fuser);
                users = Users::of(block);
            }
            None => first += 1,
        }
    }
}

/// The first statement within reach for which this holds and that can be a neighbour.
pub fn partner(block: &Block, first: usize, fits: impl Fn(usize) -> bool) -> Option<(usize, Order)> {
    let end = block.stms.len().min(first + 1 + tuning::FLAT_FUSION_REACH);
    (first + 1..end).filter(|i| fits(*i)).find_map(|i| Some((i, together(&block.stms, first, i)?)))
}

/// The order in which `first` and `second` are neighbours, if there is one.
pub fn together(stms: &[Stm], first: usize, second: usize) -> Option<Order> {
    let mut made: BTreeSet<Var> = bound(&stms[first]).collect();
    let mut order = Order::default();
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
    let [a, b] = [first, second].map(|i| stms[i].has_effect());
    let (any_before, any_behind) = (before().any(|s| s.has_effect()), behind().any(|s| s.has_effect()));
    let deferred = match (a || any_behind) && (b || any_before) {
        true => deferrable(stms, &order.before).filter(|_| !b && !any_behind)?,
        false => vec![],
    };
    let moved = [&stms[first]].into_iter().chain(behind()).chain([&stms[second]]);
    let copies = |early: &Stm, late: &Stm| !consumed(early).is_disjoint(&uses(late));
    let updates = before().any(|e| moved.clone().any(|l| copies(e, l)));
    let update = behind().any(|l| copies(&stms[second], l)) || ends_use(&stms[second], &stms[first]);
    order.before.retain(|i| !deferred.contains(i));
    (!updates && !update).then_some(Order { deferred, ..order })
}

/// Statements that may fail, if all of them are checks of sizes, and nothing behind them minds a negative one.
fn deferrable(stms: &[Stm], before: &[usize]) -> Option<Vec<usize>> {
    let (checks, others): (Vec<usize>, Vec<usize>) = before.iter().partition(|i| stms[**i].has_effect());
    let sizes = checks.iter().all(|i| checked_size(&stms[*i].op).is_some());
    let harmless = |i: &usize| match &stms[*i].op {
        Op::Atom(_) | Op::Replicate(..) | Op::Length(_) | Op::Rows(_) => true,
        Op::Prim(op, _) => !matches!(op, PrimOp::Bin(BinOp::Div | BinOp::Mod | BinOp::Quot | BinOp::Rem, _)),
        _ => checks.first().is_none_or(|c| i < c),
    };
    (sizes && others.iter().all(harmless)).then_some(checks)
}

/// The size that is checked not to be negative.
fn checked_size(op: &Op) -> Option<Atom> {
    match op {
        Op::Check { kind: CheckKind::NegativeSize, args, .. } => args.first().copied(),
        _ => None,
    }
}

/// An array whose size is checked later has no elements if that is negative.
fn guarded(stm: Stm, sizes: &[Atom], fuser: &mut Fuser) -> Vec<Stm> {
    let size = if let Op::Replicate(n, _) = &stm.op { *n } else { return vec![stm] };
    if !sizes.contains(&size) {
        return vec![stm];
    }
    let param = Param { var: fuser.vars.fresh("size"), ty: Ty::Scalar(Prim::I64) };
    let op = Op::Prim(PrimOp::Bin(BinOp::Max, Prim::I64), vec![size, Atom::i64(0)]);
    let clamped = Stm { pat: vec![param], op, span: stm.span, place: stm.place };
    let Op::Replicate(_, x) = stm.op else { unreachable!("seen above") };
    vec![clamped, Stm { op: Op::Replicate(param.var.into(), x), ..stm }]
}

/// True if fusing would extend a live range past its in-place update: `kernel` updates what `other` uses and it does not read itself.
fn ends_use(kernel: &Stm, other: &Stm) -> bool {
    let Op::Kernel(k) = &kernel.op else { return true };
    let mut read = BTreeSet::new();
    reads::of_kernel(k, &mut |arr, _| _ = read.insert(arr));
    let used = uses(other);
    updated(k).into_iter().any(|v| used.contains(&v) && !read.contains(&v))
}

/// Puts `stm` in the place of a pair.
fn replace(block: &mut Block, (first, second): (usize, usize), order: &Order, stm: Stm, fuser: &mut Fuser) {
    let sizes: Vec<Atom> = order.deferred.iter().filter_map(|i| checked_size(&block.stms[*i].op)).collect();
    let mut old: Vec<Option<Stm>> = std::mem::take(&mut block.stms).into_iter().map(Some).collect();
    let mut take = |i: usize| old[i].take();
    let mut new: Vec<Stm> = (0..first).filter_map(&mut take).collect();
    for earlier in order.before.iter().filter_map(|i| take(*i)) {
        new.extend(guarded(earlier, &sizes, fuser));
    }
    new.push(stm);
    new.extend(order.deferred.iter().filter_map(|i| take(*i)));
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
