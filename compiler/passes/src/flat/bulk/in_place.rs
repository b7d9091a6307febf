//! Elements that are written over those they are computed from are computed there.
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
use super::users::Users;
use super::{Fuser, reads};
use par_ir::access::{Access, Emit, Facts, Symbol};
use par_ir::build::Host;
use par_ir::core::{self, At, Body, Exp};
use par_ir::flat::{Block, Kernel, KernelKind, Op, Out, Param, Space, Stm, Ty};
use par_ir::hash::HashMap;
use par_ir::prim::{CmpOp, PrimOp};
use par_ir::ty::{Atom, Dim, Var};
use par_ir::visit::Code;
use par_runtime::Prim;
use std::collections::BTreeSet;

/// The code for the elements of `array`, made by statement `at`, instead of a read, and the statement that it replaces: if that is the
/// only one that uses them, and puts one over another.
pub fn replacing(
    block: &Block,
    users: &Users,
    at: usize,
    array: Var,
    element: &Element,
    fuser: &mut Fuser,
) -> Option<(usize, Vec<Stm>)> {
    let &[user] = users.of_var(array) else { return None };
    if block.results.contains(&Atom::Var(array)) {
        return None;
    }
    let (k, _) = owner(&block.stms[user])?;
    let mut found = Vec::new();
    reads::of_kernel(k, &mut |arr, i| found.extend((arr == array).then_some(i)));
    let once = block.stms[user].op.uses_of(array) == 1 && found == [Atom::Var(k.pos)];
    if !once || element.space.as_ref() != Some(&k.space) {
        return None;
    }
    let inputs: BTreeSet<Var> = element.loads().into_iter().map(|(arr, _)| arr).collect();
    if users.first_consumer(block, at + 1..user, &inputs).is_some() {
        return None;
    }
    let mut stm = block.stms[user].clone();
    element.put_into_kernel(&mut stm, array, fuser);
    let mut stms = read_state(&mut stm, fuser)?;
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
fn read_state(stm: &mut Stm, fuser: &mut Fuser) -> Option<Vec<Stm>> {
    let (k, dest) = owner(stm)?;
    let (state, index) = k.body.stms.iter().find_map(|s| match &s.exp {
        Exp::Update { arr, at, .. } => Some((*arr, At::only_indices(at)?[0])),
        _ => None,
    })?;
    if k.prologue.iter().any(|s| s.mentions(dest)) {
        return None;
    }
    let facts = Facts::default();
    let access = Access::of(k, &facts);
    let written = access.form(index);
    let is_written = |i: Atom| i == index || written.is_some() && access.form(i) == written;
    let (mut others, mut instead) = (Vec::new(), HashMap::from_iter([(index, (state, index))]));
    let mut reads = 0;
    reads::for_each(&k.body, &mut |arr, i| {
        reads += usize::from(arr == dest);
        match arr == dest {
            true if is_written(i) => drop(instead.insert(i, (state, i))),
            true => others.push(i),
            false => {}
        }
    });
    if k.body.uses_of(dest) > reads {
        return None;
    }
    let mut made = Vec::new();
    for i in others {
        if let std::collections::hash_map::Entry::Vacant(new) = instead.entry(i) {
            new.insert(copied(stm, dest, i, &mut made, fuser)?);
        }
    }
    if let Op::Kernel(k) = &mut stm.op {
        reads::redirect(&mut k.body, dest, &instead);
    }
    Some(made)
}

/// The elements of `array` at an index that is the same in all rows of a kernel: one for each column, if there is any row; and what
/// the kernel calls the column.
fn copied(stm: &Stm, array: Var, i: Atom, made: &mut Vec<Stm>, fuser: &mut Fuser) -> Option<(Var, Atom)> {
    let (kernel, _) = owner(stm)?;
    let (rows, Dim::Size(width)) = kernel.space.as_rows()? else { return None };
    let column = kernel.innermost().into();
    let facts = Facts::default();
    let access = Access::of(kernel, &facts);
    let (row, pos) = (fuser.vars.fresh_like(kernel.row), fuser.vars.fresh_like(kernel.pos));
    let names = HashMap::from_iter([(COLUMN, pos.into())]);
    let divisions = &BTreeSet::new();
    let mut code = Emit { vars: fuser.vars, divisions, names, stms: vec![], span: stm.span };
    let index = access.emit(&access.form(i)?, &mut code)?;
    let mut stms = code.stms;
    let Ty::Array(prim) = stm.pat[0].ty else { return None };
    let element = core::Param { var: fuser.vars.fresh("x"), ty: par_ir::Type::scalar(prim) };
    let results = vec![element.var.into()];
    stms.push(core::Stm { pat: vec![element], exp: Exp::Index(array, vec![index]), span: stm.span });
    let mut host = Host::new(stm, fuser.vars);
    let any = host.compare("any", CmpOp::Gt, rows, Atom::i64(0));
    let count = host.prim("columns", PrimOp::Select(Prim::I64), vec![any, width, Atom::i64(0)]);
    let kind = KernelKind::Map(vec![Out::Elem(prim)]);
    let body = Body { stms, results };
    let kernel =
        Kernel { kind, space: Space::flat(count), index: vec![pos], row, pos, prologue: vec![], body };
    let var = host.vars.fresh("copied");
    host.bind(vec![Param { var, ty: stm.pat[0].ty }], Op::Kernel(Box::new(kernel)));
    made.append(&mut host.stms);
    Some((var, column))
}

/// The index inside rows.
const COLUMN: Symbol = Symbol::Index(1);
