//! Branches that only guard against rows without elements.
//!
//! ```text
//! map n (s, rows) (\k row ->                         map n (s, rows) (\k row ->
//!   if k == 0 then 0                                   let x = if k == 0 then 0 else row[0]
//!   else let x = row[0]                        ==>     let m = reduce k (row) max, neutral x
//!        let m = reduce k (row) max, neutral x         in if k == 0 then 0 else m - x)
//!        in m - x)
//! ```
//!
//! Operators over no elements do nothing, so they need no branch around them, for which rows would be selected and results brought together again. Only
//! what cannot fail is moved, and nothing past a check, which may see to what is read behind it.

use super::IfConversion;
use par_ir::core::{Body, Exp, Param, Stm};
use par_ir::effects::Effects;
use par_ir::hash::HashSet;
use par_ir::prim::{CmpOp, PrimOp};
use par_ir::visit::Code;
use par_ir::{Atom, Prim, Scalar, Var};

/// A size, and the answer of a condition where it is 0.
pub type Emptiness = (Atom, bool);

/// The size that a comparison compares with 0, if it does.
pub fn emptiness(exp: &Exp) -> Option<Emptiness> {
    let Exp::Prim(PrimOp::Cmp(op, Prim::I64), xs) = exp else { return None };
    match (op, xs[0].as_i64(), xs[1].as_i64()) {
        (CmpOp::Eq, None, Some(0)) | (CmpOp::Le, None, Some(0)) | (CmpOp::Lt, None, Some(1)) => {
            Some((xs[0], true))
        }
        (CmpOp::Eq, Some(0), None) | (CmpOp::Ge, Some(0), None) => Some((xs[1], true)),
        (CmpOp::Ne, None, Some(0)) => Some((xs[0], false)),
        (CmpOp::Ne, Some(0), None) | (CmpOp::Lt, Some(0), None) | (CmpOp::Le, Some(1), None) => {
            Some((xs[1], false))
        }
        _ => None,
    }
}

impl IfConversion<'_> {
    /// The operators of an arm, and the branch without them, in place of a branch on whether there are elements.
    pub(super) fn unguarded(&mut self, stm: &Stm) -> Option<Vec<Stm>> {
        let Exp::If { cond, then, other } = &stm.exp else { return None };
        if self.depth_of(cond) == 0 {
            return None;
        }
        let (size, answer) = self.emptiness.get(&cond.var()?).copied()?;
        let (empty, full) = if answer { (then, other) } else { (other, then) };
        if !is_scalar(empty) || stm.pat.iter().any(|p| !p.ty.is_scalar()) {
            return None;
        }
        let moved = moved(full, size)?;
        let mut out = Vec::new();
        let mut rest = Vec::new();
        for s in &full.stms {
            let read = matches!(s.exp, Exp::Index(..));
            match s.pat.first().is_some_and(|p| moved.contains(&p.var)) {
                false => rest.push(s.clone()),
                true if read => out.push(self.guarded(s, *cond, answer)),
                true => out.push(s.clone()),
            }
        }
        let rest = Body { stms: rest, results: full.results.clone() };
        let (then, other) = if answer { (then.clone(), rest) } else { (rest, other.clone()) };
        out.push(Stm { pat: stm.pat.clone(), exp: Exp::If { cond: *cond, then, other }, span: stm.span });
        Some(out)
    }

    /// A read where there is an element.
    fn guarded(&mut self, stm: &Stm, cond: Atom, answer: bool) -> Stm {
        let p = &stm.pat[0];
        let nothing = Body { stms: vec![], results: vec![Atom::Const(Scalar::zero(p.ty.prim()))] };
        let inner = Param { var: self.vars.fresh_like(p.var), ty: p.ty.clone() };
        let results = vec![inner.var.into()];
        let read = Body { stms: vec![Stm { pat: vec![inner], ..stm.clone() }], results };
        let (then, other) = if answer { (nothing, read) } else { (read, nothing) };
        Stm { pat: vec![p.clone()], exp: Exp::If { cond, then, other }, span: stm.span }
    }
}

/// True if a body has no arrays and nothing inside.
fn is_scalar(body: &Body) -> bool {
    let is_scalar = |s: &Stm| s.exp.own_bodies().is_empty() && s.pat.iter().all(|p| p.ty.is_scalar());
    body.stms.iter().all(is_scalar)
}

/// The variables of an arm that are bound before the branch: those of operators over so many elements, and what these need. None if others are left.
fn moved(arm: &Body, size: Atom) -> Option<HashSet<Var>> {
    let bound: HashSet<Var> = arm.bound().into_iter().collect();
    let mut moved = HashSet::default();
    let mut wanted = HashSet::default();
    let mut operators = false;
    for s in arm.stms.iter().rev() {
        let is_operator = s.exp.is_soac();
        if !is_operator && !s.pat.iter().any(|p| wanted.contains(&p.var)) {
            let is_left = s.exp.own_bodies().is_empty() && s.pat.iter().all(|p| p.ty.is_scalar());
            // An array for an operator would have been wanted. What a check sees to must not come before it.
            if !is_left || s.has_effect() && operators {
                return None;
            }
            continue;
        }
        if !may_move(s, size) {
            return None;
        }
        operators |= is_operator;
        moved.extend(s.pat.iter().map(|p| p.var));
        wanted.extend(s.free().into_iter().filter(|v| bound.contains(v)));
    }
    operators.then_some(moved)
}

/// True for what does nothing where there are no elements, or is a number.
fn may_move(stm: &Stm, size: Atom) -> bool {
    let plain = |p: &Param| !p.ty.is_desc() && p.ty.is_regular();
    !stm.has_effect()
        && stm.pat.iter().all(plain)
        && match &stm.exp {
            Exp::Map { width, .. }
            | Exp::Reduce { width, .. }
            | Exp::Scan { width, .. }
            | Exp::Iota(width) => *width == size,
            Exp::Prim(op, _) => !op.divides(),
            Exp::Index(..) => stm.pat[0].ty.is_scalar(),
            Exp::Atom(_) => stm.pat[0].ty.is_scalar(),
            _ => false,
        }
}
