//! What is written over the elements that it is computed from is computed there.
//!
//! ```text
//! zs = kernel map over [r] [m] \row pos j { ys[k + pos] * ys[j] }
//! r  = kernel map (own ys as s) over [r] [m] \row pos j { s with [k + pos] = zs[pos] }
//!
//! cs = kernel map over [m] \row pos { ys[pos] }
//! r  = kernel map (own ys as s) over [r] [m] \row pos j { s with [k + pos] = s[k + pos] * cs[j] }
//! ```
//!
//! Every position then reads of the array what it writes, so that none sees what another has written. Elements that are the same in all
//! rows are copied before.

use super::inline::Element;
use super::order::consumed;
use super::{Joiner, reads};
use par_ir::core::{self, At, Body, Exp};
use par_ir::flat::{Block, Kernel, KernelKind, Op, Out, Param, Space, Stm, Ty};
use par_ir::prim::{CmpOp, PrimOp};
use par_ir::ty::{Atom, Dim, Var};
use par_ir::visit::{Code, Subst};
use par_runtime::Prim;
use std::collections::{BTreeSet, HashMap};

/// What computes the elements of `array`, made by statement `at`, instead of reading them, and in place of which statement: if that is the
/// only one that uses them, and puts one over another.
pub fn replacing(
    block: &Block,
    at: usize,
    array: Var,
    element: &Element,
    joiner: &mut Joiner,
) -> Option<(usize, Vec<Stm>)> {
    let mut users = (at + 1..block.stms.len()).filter(|i| block.stms[*i].op.uses_of(array) > 0);
    let user =
        users.next().filter(|_| users.next().is_none() && !block.results.contains(&Atom::Var(array)))?;
    let (k, _) = owner(&block.stms[user])?;
    let mut found = Vec::new();
    reads::of_kernel(k, &mut |arr, i| found.extend((arr == array).then_some(i)));
    let once = block.stms[user].op.uses_of(array) == 1 && found == [Atom::Var(k.pos)];
    if !once || element.space.as_ref() != Some(&k.space) {
        return None;
    }
    let inputs: BTreeSet<Var> = element.loads().into_iter().map(|(arr, _)| arr).collect();
    if block.stms[at + 1..user].iter().any(|s| !consumed(s).is_disjoint(&inputs)) {
        return None;
    }
    let mut stm = block.stms[user].clone();
    element.put_into_kernel(&mut stm, array, joiner);
    let mut stms = read_state(&mut stm, joiner)?;
    stms.push(stm);
    Some((user, stms))
}

/// A kernel that updates one array, and that.
fn owner(stm: &Stm) -> Option<(&Kernel, Var)> {
    let Op::Kernel(k) = &stm.op else { return None };
    let KernelKind::Map(outs) = &k.kind else { return None };
    let [Out::Own { dest, .. }] = outs.as_slice() else { return None };
    Some((k, *dest))
}

/// Reads the state where the array that it starts as is read at the index that is written, and copies of what else is read: what
/// makes them.
fn read_state(stm: &mut Stm, joiner: &mut Joiner) -> Option<Vec<Stm>> {
    let (k, dest) = owner(stm)?;
    let (state, index) = k.body.stms.iter().find_map(|s| match &s.exp {
        Exp::Update { arr, at, .. } => Some((*arr, At::only_indices(at)?[0])),
        _ => None,
    })?;
    if k.prologue.iter().any(|s| s.mentions(dest)) {
        return None;
    }
    let mut others = Vec::new();
    reads::for_each(&k.body, &mut |arr, i| others.extend((arr == dest && i != index).then_some(i)));
    let mut instead = HashMap::from([(index, (state, index))]);
    let mut made = Vec::new();
    for i in others {
        if let std::collections::hash_map::Entry::Vacant(new) = instead.entry(i) {
            let columns = Columns::of(k)?;
            new.insert((columns.copied(stm, dest, i, &mut made, joiner)?, k.innermost().into()));
        }
    }
    if let Op::Kernel(k) = &mut stm.op {
        reads::redirect(&mut k.body, dest, &instead);
    }
    Some(made)
}

/// The columns of a kernel over rows of one length.
struct Columns<'k> {
    kernel: &'k Kernel,
    rows: Atom,
    width: Atom,
}

impl Columns<'_> {
    fn of(kernel: &Kernel) -> Option<Columns<'_>> {
        let (rows, Dim::Size(width)) = kernel.space.as_rows()? else { return None };
        Some(Columns { kernel, rows, width })
    }

    /// The elements of `array` at an index that is the same in all rows: one for each column, if there is any row.
    fn copied(
        &self,
        stm: &Stm,
        array: Var,
        i: Atom,
        made: &mut Vec<Stm>,
        joiner: &mut Joiner,
    ) -> Option<Var> {
        let index = self.index(i)?;
        let Ty::Array(prim) = stm.pat[0].ty else { return None };
        let mut host = |name, ty, op| {
            let var = joiner.vars.fresh(name);
            made.push(Stm { pat: vec![Param { var, ty }], op, ..stm.clone() });
            Atom::Var(var)
        };
        let any = PrimOp::Cmp(CmpOp::Gt, Prim::I64);
        let any = host("any", Ty::Scalar(Prim::Bool), Op::Prim(any, vec![self.rows, Atom::i64(0)]));
        let choice = Op::Prim(PrimOp::Select(Prim::I64), vec![any, self.width, Atom::i64(0)]);
        let count = host("columns", Ty::Scalar(Prim::I64), choice);
        let (row, pos) = (joiner.vars.fresh_like(self.kernel.row), joiner.vars.fresh_like(self.kernel.pos));
        let mut subst = Subst::from([(self.kernel.innermost(), pos.into())]);
        let mut stms = index.refreshed_with(joiner.vars, &mut subst);
        let element = core::Param { var: joiner.vars.fresh("x"), ty: par_ir::Type::scalar(prim) };
        let results = vec![element.var.into()];
        let exp = Exp::Index(array, vec![i.substituted(&subst)]);
        stms.push(core::Stm { pat: vec![element], exp, span: stm.span });
        let kind = KernelKind::Map(vec![Out::Elem(prim)]);
        let body = Body { stms, results };
        let kernel =
            Kernel { kind, space: Space::flat(count), index: vec![pos], row, pos, prologue: vec![], body };
        let var = joiner.vars.fresh("copied");
        made.push(Stm {
            pat: vec![Param { var, ty: stm.pat[0].ty }],
            op: Op::Kernel(Box::new(kernel)),
            ..stm.clone()
        });
        Some(var)
    }

    /// The statements that compute an index from the column and what is there before the kernel; none, if it needs anything else.
    fn index(&self, i: Atom) -> Option<Vec<core::Stm>> {
        let all = || self.kernel.prologue.iter().chain(&self.kernel.body.stms);
        let mut inside = self.kernel.binders().into_iter().collect::<BTreeSet<Var>>();
        all().for_each(|s| inside.extend(s.bound()));
        let mut needed: BTreeSet<Var> = i.var().into_iter().collect();
        needed.remove(&self.kernel.innermost());
        let mut found = Vec::new();
        for stm in all().collect::<Vec<_>>().into_iter().rev() {
            if stm.pat.iter().any(|p| needed.remove(&p.var)) {
                let cheap =
                    matches!(&stm.exp, Exp::Prim(op, _) if !op.divides()) || matches!(stm.exp, Exp::Atom(_));
                needed.extend(stm.exp.free().into_iter().filter(|v| cheap && *v != self.kernel.innermost()));
                found.push(stm.clone());
                if !cheap {
                    return None;
                }
            }
        }
        found.reverse();
        needed.is_disjoint(&inside).then_some(found)
    }
}
