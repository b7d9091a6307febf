//! The last prefix, where a later use of all prefixes waits for it: a reduction of its own, so that the use can become part of
//! the scan.
//!
//! ```text
//! is = kernel scan (+) over n { f xs[pos] }           ts = kernel reduce (+) over n { f xs[pos] }
//! t  = is[n - 1]                              ==>     t  = ts[0]
//! ys = kernel map over n { is[pos] + t }              is = kernel scan (+) over n { f xs[pos] }
//!                                                     ys = kernel map over n { is[pos] + t }
//! ```
//!
//! The elements are computed twice, but read less often than prefixes would be stored and read. Not with floats, whose sum
//! depends on the order.

use super::users::Users;
use super::{Fuser, after};
use par_ir::cost::{Time, operators};
use par_ir::effects::Effects;
use par_ir::flat::{Block, Kernel, KernelKind, Op, Param, Stm};
use par_ir::hash::HashSet;
use par_ir::prim::{BinOp, PrimOp};
use par_ir::tuning;
use par_ir::ty::{Atom, Var};
use par_ir::visit::Code;
use par_runtime::Prim;

/// Host scalars that are one less than another.
#[derive(Default)]
pub struct Predecessors(HashSet<(Var, Atom)>);

impl Predecessors {
    /// Notes the predecessors in a block and all in it.
    pub fn note(&mut self, block: &Block) {
        for stm in &block.stms {
            if let Op::Prim(PrimOp::Bin(op, Prim::I64), args) = &stm.op {
                let less = *op == BinOp::Sub && args[1] == Atom::i64(1);
                let more = *op == BinOp::Add && args[1] == Atom::i64(-1);
                if less || more {
                    self.0.insert((stm.pat[0].var, args[0]));
                }
            }
            stm.op.for_each_block(|b| self.note(b));
        }
    }

    pub(super) fn is_last(&self, index: Atom, n: Atom) -> bool {
        index.var().is_some_and(|v| self.0.contains(&(v, n)))
    }
}

/// Adds the reductions that pay.
pub fn sweep(block: &mut Block, fuser: &mut Fuser) {
    let (mut at, mut users) = (0, Users::of(block));
    while at < block.stms.len() {
        if let Some(n) = candidate(block, &users, at, &fuser.last) {
            let reduction = reduction(&block.stms[at], fuser);
            let totals: Vec<(Var, Var)> =
                block.stms[at].pat.iter().zip(&reduction.pat).map(|(p, q)| (p.var, q.var)).collect();
            for stm in &mut block.stms[at + 1..] {
                replace(stm, &totals, n, &fuser.last);
            }
            block.stms.insert(at, reduction);
            users = Users::of(block);
            at += 1;
        }
        at += 1;
    }
}

/// The length of a scan whose prefixes are all used at their own position, but the last.
fn candidate(block: &Block, users: &Users, at: usize, last: &Predecessors) -> Option<Atom> {
    let scan = &block.stms[at];
    let Op::Kernel(k) = &scan.op else { return None };
    let KernelKind::Scan { op, neutral, exclusive: false, after: None } = &k.kind else { return None };
    let n = k.space.as_flat()?;
    let floats = op.ret.iter().any(|t| t.prim().is_float());
    if floats || !is_cheap(k) || n.var().is_none() {
        return None;
    }
    let (mut totals, mut follows) = (0, false);
    for v in scan.pat[..neutral.len()].iter().map(|p| p.var) {
        if block.results.contains(&Atom::Var(v)) {
            return None;
        }
        for stm in users.of_var(v).iter().map(|i| &block.stms[*i]) {
            let here = after::follows(scan, stm);
            let reads = reads_of_last(stm, v, n, last);
            follows |= here;
            totals += reads;
            if !here && reads != stm.op.uses_of(v) {
                return None;
            }
        }
    }
    (totals > 0 && follows).then_some(n)
}

/// True if elements may be computed twice.
pub(super) fn is_cheap(k: &Kernel) -> bool {
    !k.has_effect() && operators(&k.body.stms, Time::Long).is_some_and(|n| n <= tuning::TOTAL_OPERATORS)
}

pub(super) fn reads_of_last(stm: &Stm, v: Var, n: Atom, last: &Predecessors) -> usize {
    let own = matches!(&stm.op, Op::Read(arr, i) if *arr == v && last.is_last(*i, n));
    let inner = stm.op.blocks().into_iter().flat_map(|b| &b.stms);
    usize::from(own) + inner.map(|s| reads_of_last(s, v, n, last)).sum::<usize>()
}

pub(super) fn replace(stm: &mut Stm, totals: &[(Var, Var)], n: Atom, last: &Predecessors) {
    if let Op::Read(arr, i) = &mut stm.op
        && last.is_last(*i, n)
        && let Some((_, total)) = totals.iter().find(|(v, _)| v == arr)
    {
        (*arr, *i) = (*total, Atom::i64(0));
    }
    stm.op.for_each_block_mut(|b| b.stms.iter_mut().for_each(|s| replace(s, totals, n, last)));
}

pub(super) fn reduction(scan: &Stm, fuser: &mut Fuser) -> Stm {
    let Op::Kernel(k) = &scan.op else { unreachable!("a scan is a kernel") };
    let KernelKind::Scan { op, neutral, .. } = k.kind.clone() else { unreachable!("a scan is a scan") };
    let pat = scan.pat[..neutral.len()].iter();
    let pat = pat.map(|p| Param { var: fuser.vars.fresh_like(p.var), ty: p.ty }).collect();
    let mut kernel = Kernel { kind: KernelKind::Reduce { op, neutral: neutral.clone() }, ..(**k).clone() };
    kernel.body.results.truncate(neutral.len());
    let kernel = kernel.refreshed(fuser.vars);
    Stm { pat, op: Op::Kernel(Box::new(kernel)), ..scan.clone() }
}
