//! A scan that is shifted by one behind its neutral element is an exclusive scan.
//!
//! ```text
//! is = kernel scan (+) 0 over n { xs[pos] }
//! js = kernel map over n-1 { is[pos] }          ==>      zs = kernel exclusive scan (+) 0 over n { xs[pos] }
//! zs = concat ([0], js)
//! ```

use super::Fuser;
use super::totals::{is_cheap, reads_of_last, reduction, replace};
use super::users::Users;
use par_ir::core::Exp;
use par_ir::flat::{Block, KernelKind, Op};
use par_ir::ty::{Atom, Var};
use par_ir::visit::Code;

/// Makes scans of a block exclusive.
pub(super) fn sweep(block: &mut Block, fuser: &mut Fuser) {
    let mut at = 0;
    while at < block.stms.len() {
        match found(block, at, fuser) {
            Some(shifted) => at = change(block, at, shifted, fuser),
            None => at += 1,
        }
    }
}

/// A concatenation that is a shifted scan.
struct Shifted {
    /// Place of the inclusive scan.
    scan: usize,
    /// Place of the copy without the last prefix.
    rest: usize,
    /// Number of prefixes.
    n: Atom,
    /// True if something reads the last prefix.
    total: bool,
}

fn found(block: &Block, at: usize, fuser: &Fuser) -> Option<Shifted> {
    let Op::Concat(parts) = &block.stms[at].op else { return None };
    let &[first, rest] = parts.as_slice() else { return None };
    let made = |v: Var| block.stms[..at].iter().position(|s| s.pat.iter().any(|p| p.var == v));
    let one = fuser.filled.get(&first).filter(|f| f.length.as_i64() == Some(1))?;
    let neutral = one.element?;
    let rest_at = made(rest)?;
    let (length, prefixes) = copied(block, rest_at)?;
    let scan = made(prefixes)?;
    let Op::Kernel(k) = &block.stms[scan].op else { return None };
    let KernelKind::Scan { neutral: of, exclusive: false, after: None, op } = &k.kind else { return None };
    let n = k.space.as_flat()?;
    let is_first = block.stms[scan].pat[0].var == prefixes && of.len() == 1;
    if !is_first || of[0] != neutral || !fuser.last.is_last(length, n) {
        return None;
    }
    let kept = |v: Var| block.results.contains(&Atom::Var(v));
    let users = Users::of(block);
    let may_be_added_again = !op.ret[0].prim().is_float() && is_cheap(k);
    let mut total = false;
    for user in users.of_var(prefixes).iter().filter(|u| **u != rest_at) {
        let stm = &block.stms[*user];
        if !may_be_added_again || reads_of_last(stm, prefixes, n, &fuser.last) != stm.op.uses_of(prefixes) {
            return None;
        }
        total = true;
    }
    (!kept(prefixes) && !kept(rest) && users.of_var(rest).len() == 1).then_some(Shifted {
        scan,
        rest: rest_at,
        n,
        total,
    })
}

/// Length and source of a copy of the first elements of an array.
fn copied(block: &Block, at: usize) -> Option<(Atom, Var)> {
    let Op::Kernel(k) = &block.stms[at].op else { return None };
    let ([stm], [result], []) = (k.body.stms.as_slice(), k.body.results.as_slice(), k.prologue.as_slice())
    else {
        return None;
    };
    let Exp::Index(arr, indices) = &stm.exp else { return None };
    let is_copy = *result == Atom::Var(stm.pat[0].var) && indices[..] == [Atom::Var(k.pos)];
    let one = matches!(&k.kind, KernelKind::Map(outs) if outs.len() == 1) && block.stms[at].pat.len() == 1;
    (is_copy && one).then_some((k.space.as_flat()?, *arr))
}

/// Makes the scan exclusive. Returns the place of the next statement.
fn change(block: &mut Block, at: usize, shifted: Shifted, fuser: &mut Fuser) -> usize {
    let Shifted { scan, rest, n, total } = shifted;
    let prefixes = block.stms[scan].pat[0].var;
    let reduction = total.then(|| reduction(&block.stms[scan], fuser));
    if let Some(reduction) = &reduction {
        let totals = [(prefixes, reduction.pat[0].var)];
        block.stms[scan + 1..].iter_mut().for_each(|s| replace(s, &totals, n, &fuser.last));
    }
    let shifted = block.stms.remove(at).pat[0];
    block.stms.remove(rest);
    block.stms[scan].pat[0] = shifted;
    if let Op::Kernel(k) = &mut block.stms[scan].op
        && let KernelKind::Scan { exclusive, .. } = &mut k.kind
    {
        *exclusive = true;
    }
    let more = reduction.is_some();
    block.stms.splice(scan..scan, reduction);
    at - 1 + usize::from(more)
}
