//! Rows that are only read by one operation over all elements are not stored in between: the operation goes
//! over the rows. A reduction combines every row first.
//!
//! ```text
//! t = total d                                       t  = total d
//! ys = kernel map over [n] [~d]                  ps = kernel reduce (+) over [n] [~d]
//!        prologue { k = ls[row] } { xs[pos] * k }          prologue { k = ls[row] } { xs[pos] * k }
//! s  = kernel reduce (+) over t { ys[pos] }    ==>  s  = kernel reduce (+) over n { ps[pos] }
//! ```
//!
//! Elements that depend on nothing but the position are computed where they are read anyway ([`super::inline`]).

use super::order::consumed;
use super::users::Users;
use super::{Fuser, reads};
use par_ir::core::{self, Body, Exp};
use par_ir::effects::Effects;
use par_ir::flat::{Block, Kernel, KernelKind, Op, Out, Param, Space, Stm, Ty};
use par_ir::prim::{BinOp, PrimOp};
use par_ir::ty::{Atom, Dim, Type, Var};
use par_ir::visit::{Code, Subst};
use par_runtime::Prim;

/// Fuses what can be fused, from the top down.
pub fn sweep(block: &mut Block, fuser: &mut Fuser) {
    let (mut at, mut users) = (0, Users::of(block));
    while at < block.stms.len() {
        if let Some(user) = consumer(block, &users, at, fuser) {
            let fused = fuse(&block.stms[at], &block.stms[user], fuser);
            block.stms.splice(user..=user, fused);
            block.stms.remove(at);
            users = Users::of(block);
        } else {
            at += 1;
        }
    }
}

/// The operation over all elements that is the only one to read what a map over rows makes, and reads it in order.
fn consumer(block: &Block, users: &Users, at: usize, fuser: &Fuser) -> Option<usize> {
    let map = &block.stms[at];
    let Op::Kernel(k) = &map.op else { return None };
    let KernelKind::Map(outs) = &k.kind else { return None };
    let (rows, dim) = k.space.as_rows()?;
    let stored = outs.iter().all(|o| matches!(o, Out::Elem(_)));
    if !stored || map.pat.iter().any(|p| fuser.vars.is_opaque(p.var)) {
        return None;
    }
    let mut users = users.of_any(&map.pat).into_iter();
    let user = users.next().filter(|i| reads_in_order(&block.stms[*i], map))?;
    if users.next().is_some() || map.pat.iter().any(|p| block.results.contains(&Atom::Var(p.var))) {
        return None;
    }
    let Op::Kernel(other) = &block.stms[user].op else { return None };
    // The map's checks stay the first that may fail.
    if k.has_effect() && block.stms[at + 1..=user].has_effect() {
        return None;
    }
    let n = other.space.as_flat()?;
    let made = |s: &Stm| s.pat.iter().any(|p| Some(p.var) == n.var());
    let size = block.stms[..user].iter().find(|s| made(s))?;
    let offsets = |arr: Var, desc: Var| {
        block.stms[..user].iter().any(|s| {
            s.pat[..].first().is_some_and(|p| p.var == arr) && matches!(s.op, Op::Offsets(d) if d == desc)
        })
    };
    let covers = match (&size.op, dim) {
        (Op::Total(d), Dim::Seg(desc)) => *d == desc,
        (Op::Read(arr, last), Dim::Seg(desc)) => *last == rows && offsets(*arr, desc),
        (Op::Prim(PrimOp::Bin(BinOp::Mul, Prim::I64), args), Dim::Size(m)) => args[..] == [rows, m],
        _ => false,
    };
    // What the operation itself updates must not be read by it.
    let stay = |s: &Stm| consumed(s).iter().all(|v| k.uses_of(*v) == 0);
    (covers && block.stms[at + 1..=user].iter().all(stay)).then_some(user)
}

/// True if rows do not matter to a kernel over all elements, and it reads those of the map at its own position only.
fn reads_in_order(stm: &Stm, map: &Stm) -> bool {
    let Op::Kernel(k) = &stm.op else { return false };
    let fits = match &k.kind {
        KernelKind::Reduce { neutral, .. } => stm.pat.len() == neutral.len(),
        KernelKind::Map(outs) => outs.iter().all(|o| matches!(o, Out::Elem(_) | Out::Scatter(_))),
        KernelKind::Hist { .. } => true,
        KernelKind::Scan { .. } | KernelKind::Filter => false,
    };
    let whole = fits && !k.uses_rows();
    whole
        && map.pat.iter().all(|p| {
            let (mut all, mut here) = (0, 0);
            reads::for_each(&k.body, &mut |arr, i| {
                all += usize::from(arr == p.var);
                here += usize::from(arr == p.var && i == Atom::Var(k.pos));
            });
            all == here && all == stm.op.uses_of(p.var)
        })
}

/// The operation over rows; after it, if it is a reduction, that of what the rows result in.
fn fuse(map: &Stm, user: &Stm, fuser: &mut Fuser) -> Vec<Stm> {
    let (Op::Kernel(k), Op::Kernel(other)) = (&map.op, &user.op) else { unreachable!("both are kernels") };
    let mut rest = other.body.substituted(&Subst::from_iter([(other.pos, Atom::Var(k.pos))]));
    let element = |arr: Var| map.pat.iter().position(|p| p.var == arr).map(|i| k.body.results[i]);
    reads::replace(&mut rest, &|arr, _| element(arr));
    let stms = [k.body.stms.clone(), rest.stms].concat();
    let body = Body { stms, results: rest.results };
    let mut of_rows = Kernel { kind: other.kind.clone(), body, ..(**k).clone() };
    reads::simplify(&mut of_rows);
    if !matches!(other.kind, KernelKind::Reduce { .. }) {
        return vec![fuser.fused(user, map, user.pat.clone(), of_rows)];
    }
    let parts: Vec<Param> =
        user.pat.iter().map(|p| Param { var: fuser.vars.fresh_like(p.var), ty: p.ty }).collect();
    let of_all = of_results(&parts, &k.space, other, user, fuser);
    vec![fuser.fused(user, map, parts, of_rows), of_all]
}

/// The reduction of what rows resulted in.
fn of_results(parts: &[Param], space: &Space, k: &Kernel, reduction: &Stm, fuser: &mut Fuser) -> Stm {
    let (rows, _) = space.as_rows().expect("a space of rows");
    let (row, pos) = (fuser.vars.fresh_like(k.row), fuser.vars.fresh_like(k.pos));
    let (mut stms, mut results) = (Vec::new(), Vec::new());
    for part in parts {
        let Ty::Array(prim) = part.ty else { unreachable!("reductions make arrays") };
        let var = fuser.vars.fresh_like(part.var);
        let exp = Exp::Index(part.var, vec![Atom::Var(pos)]);
        let pat = vec![core::Param { var, ty: Type::scalar(prim) }];
        stms.push(core::Stm { pat, exp, span: reduction.span });
        results.push(Atom::Var(var));
    }
    let KernelKind::Reduce { op, neutral } = &k.kind else { unreachable!("a reduction") };
    let kind = KernelKind::Reduce { op: op.refreshed(fuser.vars), neutral: neutral.clone() };
    let body = Body { stms, results };
    let kernel =
        Kernel { kind, space: Space::flat(rows), index: vec![pos], row, pos, prologue: vec![], body };
    Stm { op: Op::Kernel(Box::new(kernel)), ..reduction.clone() }
}
