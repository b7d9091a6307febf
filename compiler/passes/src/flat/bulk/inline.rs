//! Elements that are cheap to compute again are computed where they are read.
//!
//! ```text
//! ys = kernel map over n { let y = 1 - xs[pos]  in y }
//! z  = kernel reduce over n { ys[pos] }                    ==>    z = kernel reduce over n { 1 - xs[pos] }
//! zs = kernel map over n { ys[pos] * ys[pos-1] }                  zs = kernel map over n { (1 - xs[pos]) * (1 - xs[pos-1]) }
//! ```
//!
//! So is an element of a concatenation of such arrays (`concat.rs`).
//!
//! And what is written over the elements that it is computed from:
//!
//! ```text
//! zs = kernel map over n { ys[k + pos] * 2 }
//! r  = kernel map (own ys as s) over n { s with [k + pos] = zs[pos] }
//!                                                         ==>    r = kernel map (own ys as s) over n { s with [k + pos] = s[k + pos] * 2 }
//! ```
//!
//! A few operators on positions and numbers are computed wherever they are read, however often:
//!
//! ```text
//! is = kernel map over [n] { pos - 1 }
//! ys = kernel map over [n] [m] \row pos j prologue { i = is[row] } { … }    ==>    prologue { i = row - 1 }
//! ```
//!
//! Only if no other use keeps the array, so that it need not be stored at all; if every reader loads about as much as before; and
//! if none of them reads an array beyond the update that would have been its last use.

use super::in_place;
use super::order::consumed;
use super::users::Users;
use super::{Fuser, concat, reads, spaces};
use par_ir::access::{Access, Extent, Form, Symbol};
use par_ir::core::{self, Body, Exp};
use par_ir::cost::{Time, operators};
use par_ir::effects::Effects;
use par_ir::flat::{Block, Kernel, KernelKind, Op, Out, Space, Stm};
use par_ir::hash::HashMap;
use par_ir::tuning;
use par_ir::ty::{Atom, Dim, Var};
use par_ir::visit::{Code, Subst};
use std::collections::BTreeSet;

/// Inlines what pays, from the top down.
pub fn sweep(block: &mut Block, fuser: &mut Fuser) {
    let (mut at, mut users) = (0, Users::of(block));
    while at < block.stms.len() {
        for (array, forms) in elements(block, at, fuser) {
            let replacing =
                forms.iter().find_map(|e| in_place::replacing(block, &users, at, array, e, fuser));
            if let Some((user, stms)) = replacing {
                block.stms.splice(user..=user, stms);
                users = Users::of(block);
                continue;
            }
            let readers = |e: &Element| readers(block, &users, at, array, e, fuser);
            let Some((readers, element)) = forms.into_iter().find_map(|e| Some((readers(&e)?, e))) else {
                continue;
            };
            for r in readers {
                users.forget(r, &block.stms[r]);
                element.put_into_kernel(&mut block.stms[r], array, fuser);
                users.note(r, &block.stms[r]);
            }
        }
        at += 1;
    }
}

/// Arrays that a statement makes, with their elements if these are cheap, in several forms.
fn elements(block: &Block, at: usize, fuser: &mut Fuser) -> Vec<(Var, Vec<Element>)> {
    let stm = &block.stms[at];
    if let Op::Concat(parts) = &stm.op {
        let element = concat::element(block, at, parts, fuser).into_iter().collect();
        return vec![(stm.pat[0].var, element)];
    }
    if keeps_checks(stm) {
        return (0..stm.pat.len()).filter_map(|i| Some((stm.pat[i].var, vec![number(stm, i)?]))).collect();
    }
    let forms = |i: usize| [false, true].into_iter().filter_map(|rest| Element::of(stm, i, rest)).collect();
    let free = stored(stm).filter(|i| !fuser.vars.is_opaque(stm.pat[*i].var));
    free.map(|i| (stm.pat[i].var, forms(i))).collect()
}

/// True if a map runs in any case, since it may fail, and has several results.
fn keeps_checks(stm: &Stm) -> bool {
    let Op::Kernel(k) = &stm.op else { return false };
    let stores = |outs: &[Out]| outs.len() > 1 && outs.iter().all(|o| matches!(o, Out::Elem(_)));
    matches!(&k.kind, KernelKind::Map(outs) if stores(outs)) && k.has_effect()
}

/// A result that is computed from positions and numbers, so that nothing is read twice.
fn number(stm: &Stm, i: usize) -> Option<Element> {
    Element::of(stm, i, false).filter(|e| e.loads().is_empty())
}

/// The results that a kernel stores by position and could do without.
pub(super) fn stored(stm: &Stm) -> std::ops::Range<usize> {
    let Op::Kernel(k) = &stm.op else { return 0..0 };
    match &k.kind {
        KernelKind::Map(outs) if outs.iter().all(|o| matches!(o, Out::Elem(_))) && !k.has_effect() => {
            0..stm.pat.len()
        }
        KernelKind::Reduce { neutral, .. } | KernelKind::Scan { neutral, after: None, .. } => {
            neutral.len()..stm.pat.len()
        }
        _ => 0..0,
    }
}

/// The code for one element of an array.
pub(super) struct Element {
    /// Of a concatenation nothing is known.
    pub(super) space: Option<Space>,
    /// Variables that say in which row a position is.
    pub(super) rows: Vec<Var>,
    pub(super) pos: Var,
    pub(super) prologue: Vec<core::Stm>,
    pub(super) stms: Vec<core::Stm>,
    pub(super) result: Atom,
    /// True if it takes no longer than a read where its row is known.
    pub(super) is_number: bool,
    /// True if it takes no longer than a read.
    pub(super) is_free: bool,
}

impl Element {
    /// The element of a statement, if it is cheap and cannot fail. The `rest` of what the kernel stores may be read instead of computed.
    pub(super) fn of(stm: &Stm, number: usize, rest: bool) -> Option<Element> {
        let Op::Kernel(k) = &stm.op else { return None };
        let result = k.body.results[number];
        let mut needed: BTreeSet<Var> = result.var().into_iter().collect();
        let others = stored(stm).filter(|i| rest && *i != number && k.body.results[*i] != result);
        let others: Vec<(Atom, Var)> = others.map(|i| (k.body.results[i], stm.pat[i].var)).collect();
        let read = |s: &core::Stm| {
            let [p] = s.pat.as_slice() else { return None };
            let (_, array) = others.iter().find(|(x, _)| *x == Atom::Var(p.var))?;
            Some(core::Stm { exp: Exp::Index(*array, vec![Atom::Var(k.pos)]), ..s.clone() })
        };
        let body: Vec<core::Stm> = k.body.stms.iter().map(|s| read(s).unwrap_or_else(|| s.clone())).collect();
        let stms = reads::needed_of(&body, &mut needed);
        let prologue = reads::needed_of(&k.prologue, &mut needed);
        let operators = operators(&stms, Time::Short).filter(|_| !stms.has_effect())?;
        let reads = prologue.iter().chain(&stms).any(|s| !matches!(s.exp, Exp::Prim(..) | Exp::Atom(_)));
        (operators <= tuning::INLINE_OPERATORS).then_some(Element {
            space: Some(k.space.clone()),
            rows: k.row_binders(),
            pos: k.pos,
            is_number: !reads && operators <= tuning::FREE_OPERATORS,
            is_free: !reads && prologue.is_empty() && operators <= tuning::FREE_OPERATORS,
            prologue,
            stms,
            result,
        })
    }

    /// Arrays with the indices they are read at.
    pub(super) fn loads(&self) -> Vec<(Var, Atom)> {
        let mut loads = Vec::new();
        let body = Body { stms: self.stms.clone(), results: vec![] };
        reads::for_each(&body, &mut |arr, i| loads.push((arr, i)));
        loads
    }

    pub(super) fn needs_row(&self) -> bool {
        let mentions = |v: &Var| self.result == Atom::Var(*v) || self.stms.iter().any(|s| s.mentions(*v));
        !self.prologue.is_empty() || self.rows.iter().any(mentions)
    }

    /// The space in which a kernel can compute the elements that it reads, if it is another one than its own.
    fn space_for(&self, k: &Kernel, array: Var, fuser: &Fuser) -> Option<Space> {
        let needed = self.needs_row() || !self.is_free;
        let made = self.space.as_ref().filter(|made| needed && **made != k.space)?;
        spaces::with_dimensions(k, array, made, &fuser.facts)
    }

    /// The indices of a kernel that number the rows of a space of two dimensions and the elements of each, where it reads at `i`.
    fn indices(&self, k: &Kernel, i: Atom, access: &Access) -> Option<[Var; 2]> {
        let (rows, Dim::Size(width)) = self.space.as_ref()?.as_rows()? else { return None };
        let (i, rows, width) = (access.form(i)?, access.form(rows)?, access.form(width)?);
        let goes_over = |d: &usize, n: &Form| *access.axes().extent(*d) == Extent::Size(n.clone());
        let index = |d: usize| Form::from(Symbol::Index(d));
        let inner = (1..k.index.len()).filter(|d| goes_over(d, &width));
        let mut both = inner.flat_map(|j| (0..j).filter(|d| goes_over(d, &rows)).map(move |i| [i, j]));
        let found =
            both.find(|[r, j]| index(*r).times(&width).is_some_and(|start| start.plus(&index(*j)) == i));
        found.map(|dims| dims.map(|d| k.index[d]))
    }

    /// True if the elements are made over all dimensions of a space but the innermost: there is one for each row.
    fn is_by_row(&self, space: &Space) -> bool {
        let made = self.space.as_ref().map(|made| made.0.as_slice());
        made.is_some_and(|made| made == &space.0[..space.0.len() - 1])
    }

    /// True if a kernel, over this space, may compute the elements that it reads: one for each of its own, or for each of its rows. `once`: it is the only
    /// reader, and reads once.
    fn fits(&self, k: &Kernel, space: &Space, array: Var, once: bool, fuser: &Fuser) -> bool {
        let mut reads = Vec::new();
        reads::of_kernel(k, &mut |arr, i| reads.push((arr, i)));
        let in_prologue = k.prologue.iter().any(|s| s.mentions(array));
        let plain = |s: &core::Stm| matches!(s.exp, Exp::Prim(..) | Exp::Index(..));
        let by_row = self.is_by_row(space);
        if in_prologue && !((by_row || self.is_free) && self.prologue.iter().chain(&self.stms).all(plain)) {
            return false;
        }
        let access = Access::of(k, &fuser.facts);
        let by_indices = |i: Atom| self.is_number && self.indices(k, i, &access).is_some();
        // The number of a row of rows has no name.
        let in_row_of_rows = in_prologue && by_row && space.0.len() == 3;
        reads.iter().filter(|(arr, _)| *arr == array).all(|(_, i)| {
            if !in_prologue && by_indices(*i) {
                return true;
            }
            let here = *i == Atom::Var(if in_prologue { k.row } else { k.pos });
            let same_space = self.space.as_ref() == Some(space);
            let shifted = |i: Atom| {
                let distance = access.form(i)?.minus(&access.form(k.pos.into())?);
                Some(access.is_host(&distance))
            };
            let as_often = self.is_free
                || in_prologue
                || same_space
                || self.space.is_none() && shifted(*i) == Some(true);
            // Where a row begins there is no index of its elements, even if it has one element only.
            let in_same_row = here && if in_prologue { in_row_of_rows } else { same_space };
            let moved = |j: Atom| if j == Atom::Var(self.pos) { *i } else { j };
            let is_new = |arr: Var, j: Atom| !reads.contains(&(arr, moved(j)));
            let few_loads = once && self.space.is_none() || loads_of(&self.stms, &is_new) <= 1;
            as_often && (in_same_row || !self.needs_row()) && few_loads
        })
    }

    /// Replaces the reads of the array in a kernel.
    pub(super) fn put_into_kernel(&self, stm: &mut Stm, array: Var, fuser: &mut Fuser) {
        let Op::Kernel(k) = &mut stm.op else { return };
        if let Some(space) = self.space_for(k, array, fuser) {
            spaces::extend(k, space, fuser.vars);
        }
        let indices = self.all_indices(k, array, fuser);
        let mut prologue = Body { stms: std::mem::take(&mut k.prologue), results: vec![] };
        let rows = k.row_binders();
        let rows = |i: Atom| indices.get(&i).unwrap_or(&rows).as_slice();
        self.put_into_body(&mut prologue, array, &rows, None, fuser);
        let mut added = Vec::new();
        self.put_into_body(&mut k.body, array, &rows, Some(&mut added), fuser);
        if let KernelKind::Scan { after: Some(after), .. } = &mut k.kind {
            self.put_into_body(&mut after.body, array, &rows, Some(&mut added), fuser);
        }
        k.prologue = prologue.stms;
        k.prologue.extend(added);
        reads::simplify(k);
    }

    /// For each index at which a kernel reads the array and that it numbers: what says there in which row an element is.
    fn all_indices(&self, k: &Kernel, array: Var, fuser: &Fuser) -> HashMap<Atom, Vec<Var>> {
        let mut reads = Vec::new();
        reads::of_kernel(k, &mut |arr, i| reads.extend((arr == array).then_some(i)));
        let access = Access::of(k, &fuser.facts);
        let numbered = |i: Atom| Some((i, self.indices(k, i, &access)?.to_vec()));
        reads.into_iter().filter_map(numbered).collect()
    }

    /// Replaces the reads in a body; what is computed once in a row is `added` to the prologue, unless the body is that.
    fn put_into_body<'r>(
        &self,
        body: &mut Body,
        array: Var,
        rows: &dyn Fn(Atom) -> &'r [Var],
        mut added: Option<&mut Vec<core::Stm>>,
        fuser: &mut Fuser,
    ) {
        let mut stms = Vec::with_capacity(body.stms.len());
        for mut stm in std::mem::take(&mut body.stms) {
            stm.exp.for_each_body_mut(|b| self.put_into_body(b, array, rows, added.as_deref_mut(), fuser));
            if let Exp::Index(arr, is) = &stm.exp
                && *arr == array
            {
                let mut subst = Subst::from_iter([(self.pos, is[0])]);
                subst.extend(self.rows.iter().copied().zip(rows(is[0]).iter().map(|v| Atom::Var(*v))));
                let prologue = self.prologue.refreshed_with(fuser.vars, &mut subst);
                added.as_deref_mut().unwrap_or(&mut stms).extend(prologue);
                stms.extend(self.stms.refreshed_with(fuser.vars, &mut subst));
                stm.exp = Exp::Atom(self.result.substituted(&subst));
            }
            stms.push(stm);
        }
        body.stms = stms;
    }
}

/// The kernels that read the array, if they can all do without it, and nothing else uses it.
fn readers(
    block: &Block,
    users: &Users,
    at: usize,
    array: Var,
    element: &Element,
    fuser: &Fuser,
) -> Option<Vec<usize>> {
    let readers = users.of_var(array);
    let last = *readers.last().filter(|_| readers.len() <= tuning::INLINE_READERS)?;
    if block.results.contains(&Atom::Var(array)) {
        return None;
    }
    let inputs: BTreeSet<Var> = element.loads().into_iter().map(|(arr, _)| arr).collect();
    let once = readers.iter().map(|i| block.stms[*i].op.uses_of(array)).sum::<usize>() == 1;
    // An input may have been used for the last time: then it may be gone.
    let end = users.first_consumer(block, at + 1..last, &inputs).unwrap_or(last);
    let can_do_without = |stm: &Stm| {
        let Op::Kernel(k) = &stm.op else { return false };
        let mut read = 0;
        reads::of_kernel(k, &mut |arr, _| read += usize::from(arr == array));
        let in_operator = match &k.kind {
            KernelKind::Reduce { op, .. } | KernelKind::Scan { op, .. } | KernelKind::Hist { op, .. } => {
                op.uses_of(array) > 0
            }
            KernelKind::Map(_) | KernelKind::Filter => false,
        };
        let ends = consumed(stm).iter().any(|v| inputs.contains(v) && !reads_array(k, *v));
        let space = element.space_for(k, array, fuser);
        let fits = || element.fits(k, space.as_ref().unwrap_or(&k.space), array, once, fuser);
        !ends && read == stm.op.uses_of(array) && !in_operator && fits()
    };
    let all = last <= end && readers.iter().all(|i| can_do_without(&block.stms[*i]));
    all.then(|| readers.to_vec())
}

fn reads_array(k: &Kernel, v: Var) -> bool {
    let mut found = false;
    reads::of_kernel(k, &mut |arr, _| found |= arr == v);
    found
}

/// Reads that pass, of two arms those of one.
fn loads_of(stms: &[core::Stm], pass: &dyn Fn(Var, Atom) -> bool) -> usize {
    let load = |stm: &core::Stm| match &stm.exp {
        Exp::Index(arr, is) => usize::from(pass(*arr, is[0])),
        Exp::If { then, other, .. } => loads_of(&then.stms, pass).max(loads_of(&other.stms, pass)),
        _ => 0,
    };
    stms.iter().map(load).sum()
}
