//! A loop of a kernel that makes part of an array, and the loop that copies the part to its place, become one loop.
//!
//! ```text
//! (t, r) = loop (t = t0, r = r0) for i < n do {                          t = loop (t = t0) for i < n do {
//!     r1 = loop (s = r) for j < m do { … t[a + j] …  in s with [j] = v }     loop (u = t) for j < m do {
//!     t1 = loop (u = t) for j < m do {                            ==>            … u[a + j] …
//!              v = r1[j]  in u with [b + j] = v }                                in u with [b + j] = v }
//!     in (t1, r1) }                                                      }
//! ```
//!
//! So it is for arrays that are made for nothing else, if no iteration reads what one before has written: every element that is read of the array is
//! proved to be before or behind all that are written, or not to be written before this iteration.

use crate::flat::in_place_scatters::is_outside;
use crate::flat::walk;
use par_ir::access::{Access, Facts, Symbol};
use par_ir::core::{At, Body, Exp, LoopForm, Stm};
use par_ir::effects::Effects;
use par_ir::flat::{self, Block, Kernel, KernelKind, Op, Out, Program};
use par_ir::visit::{Code, Subst};
use par_ir::{Atom, Var};
use par_runtime::Prim;
use std::collections::HashSet;

/// In every function of a program.
pub(crate) fn run(program: &mut Program) {
    walk::bodies(program, |block, facts, _| in_block(block, facts));
}

fn in_block(block: &mut Block, facts: &mut Facts) {
    for at in 0..block.stms.len() {
        facts.note(&block.stms[at]);
        facts.note_sum(&block.stms[at]);
        block.stms[at].op.for_each_block_mut(|b| in_block(b, facts));
        let unused = unused_arrays(block, at);
        let flat::Stm { pat, op: Op::Kernel(kernel), .. } = &mut block.stms[at] else { continue };
        for array in unused {
            let place = pat.iter().position(|p| p.var == array).expect("an output");
            if without_copies(kernel, place, facts) {
                pat.remove(place);
            }
        }
    }
}

/// The arrays of a kernel that it updates, and that nothing uses after it.
fn unused_arrays(block: &Block, at: usize) -> Vec<Var> {
    let Op::Kernel(kernel) = &block.stms[at].op else { return vec![] };
    let KernelKind::Map(outs) = &kernel.kind else { return vec![] };
    if outs.len() < 2 || !outs.iter().all(|o| matches!(o, Out::Own { .. })) {
        return vec![];
    }
    let is_unused = |v: &Var| {
        !block.results.contains(&Atom::Var(*v)) && block.stms[at + 1..].iter().all(|s| s.op.uses_of(*v) == 0)
    };
    block.stms[at].pat.iter().map(|p| p.var).filter(is_unused).collect()
}

/// Removes one of the arrays that a kernel updates, if all that it is for is to be copied from, and that is not needed.
fn without_copies(kernel: &mut Kernel, place: usize, facts: &Facts) -> bool {
    let KernelKind::Map(outs) = &kernel.kind else { return false };
    let Out::Own { state, .. } = &outs[place] else { return false };
    let mut versions = HashSet::from([state.var]);
    note_versions(&kernel.body, &mut versions);
    let access = Access::of(kernel, facts);
    let mut body = kernel.body.clone();
    joined(&mut body, &versions, &access);
    without(&mut body, &versions);
    body.results.remove(place);
    if versions.iter().any(|v| body.mentions(*v)) {
        return false;
    }
    kernel.body = body;
    let KernelKind::Map(outs) = &mut kernel.kind else { return false };
    outs.remove(place);
    true
}

/// Adds all that loops, branches and updates make of an array.
fn note_versions(body: &Body, versions: &mut HashSet<Var>) {
    for stm in &body.stms {
        if let Exp::Loop { params, .. } = &stm.exp {
            let is_version = |a: &Atom| a.var().is_some_and(|v| versions.contains(&v));
            let found: Vec<Var> = params.iter().filter(|(_, a)| is_version(a)).map(|(p, _)| p.var).collect();
            versions.extend(found);
        }
        stm.exp.for_each_body(|b| note_versions(b, versions));
        let is_version = |a: &Atom| a.var().is_some_and(|v| versions.contains(&v));
        let made: Vec<Var> = match &stm.exp {
            Exp::Update { arr, .. } if versions.contains(arr) => vec![stm.pat[0].var],
            exp => {
                let bodies = exp.own_bodies();
                let of = |i: usize| bodies.iter().any(|b| b.results.get(i).is_some_and(is_version));
                (0..stm.pat.len()).filter(|i| of(*i)).map(|i| stm.pat[i].var).collect()
            }
        };
        versions.extend(made);
    }
}

/// Joins the loops of a body that copy parts to the loops that make them.
fn joined(body: &mut Body, parts: &HashSet<Var>, access: &Access) {
    body.stms
        .iter_mut()
        .for_each(|s| s.exp.own_bodies_mut().into_iter().for_each(|b| joined(b, parts, access)));
    let mut at = 0;
    while at < body.stms.len() {
        match Pair::of(body, at, parts, access) {
            Some(pair) => pair.join(body),
            None => at += 1,
        }
    }
}

/// A loop that makes a part of an array, and one that copies it.
struct Pair {
    makes: usize,
    copies: usize,
    /// The part among the first loop's parameters.
    place: usize,
}

/// A loop that copies an array.
struct Copy<'b> {
    counter: Var,
    bound: Atom,
    /// What is copied, and an element of it.
    from: Var,
    element: Var,
    /// The array that it is copied to, and where.
    to: Var,
    index: Atom,
    body: &'b Body,
}

impl<'b> Copy<'b> {
    fn of(stm: &'b Stm) -> Option<Copy<'b>> {
        let Exp::Loop { params, form, body } = &stm.exp else { return None };
        let LoopForm::For { index: counter, prim: Prim::I64, bound } = *form else { return None };
        let [(array, Atom::Var(to))] = &params[..] else { return None };
        let (from, element) = body.stms.iter().find_map(|s| match &s.exp {
            Exp::Index(arr, at) if **at == [Atom::Var(counter)] => Some((*arr, s.pat[0].var)),
            _ => None,
        })?;
        let (index, value) = only_update(body, 0, array.var)?;
        let is_plain = |s: &Stm| match &s.exp {
            Exp::Prim(..) | Exp::Atom(_) => !s.has_effect(),
            Exp::Index(arr, _) => *arr == from,
            Exp::Update { arr, .. } => *arr == array.var,
            _ => false,
        };
        let is_copy = named(value, body) == Atom::Var(element) && body.stms.iter().all(is_plain);
        is_copy.then_some(Copy { counter, bound, from, element, to: *to, index, body })
    }
}

/// The index and the value of the update that one of a loop's results is, if there is no other use of the parameter.
fn only_update(body: &Body, place: usize, param: Var) -> Option<(Atom, Atom)> {
    let is_last = |s: &&Stm| s.pat.iter().any(|p| Atom::Var(p.var) == body.results[place]);
    let last = body.stms.iter().find(is_last)?;
    let Exp::Update { arr, at, value } = &last.exp else { return None };
    let [At::Index(index)] = at[..] else { return None };
    let is_only = *arr == param && body.stms.iter().filter(|s| s.free().contains(&param)).count() == 1;
    is_only.then_some((index, *value))
}

/// What a variable is another name of.
fn named(a: Atom, body: &Body) -> Atom {
    let of = |v: Var| body.stms.iter().find(|s| s.pat.len() == 1 && s.pat[0].var == v);
    match a.var().and_then(of).map(|s| &s.exp) {
        Some(Exp::Atom(b)) => named(*b, body),
        _ => a,
    }
}

impl Pair {
    /// That of a loop that copies.
    fn of(body: &Body, copies: usize, parts: &HashSet<Var>, access: &Access) -> Option<Pair> {
        let copy = Copy::of(&body.stms[copies]).filter(|c| parts.contains(&c.from))?;
        let position = |s: &Stm| s.pat.iter().position(|p| p.var == copy.from);
        let (makes, place) = (0..copies).find_map(|i| Some((i, position(&body.stms[i])?)))?;
        let Exp::Loop { params, form, body: making } = &body.stms[makes].exp else { return None };
        let LoopForm::For { index: counter, prim: Prim::I64, bound } = *form else { return None };
        let (index, _) = only_update(making, place, params[place].0.var)?;
        let is_whole = access.form(index)? == Symbol::Var(counter).into() && bound == copy.bound;
        // Nothing between them looks at the array, or is for the second loop only.
        let between = &body.stms[makes + 1..copies];
        let later = &body.stms[copies];
        let is_apart = |s: &Stm| {
            let binds_for = |p: &par_ir::core::Param| later.free().contains(&p.var);
            !s.free().contains(&copy.to) && !s.pat.iter().any(binds_for)
        };
        let fits = is_whole && between.iter().all(is_apart);
        (fits && reads_before_writes(making, counter, &copy, access)).then_some(Pair { makes, copies, place })
    }

    /// Makes one loop of both.
    fn join(self, body: &mut Body) {
        let second = body.stms.remove(self.copies);
        let copy = Copy::of(&second).expect("the loop that copies");
        let Exp::Loop { params: target, .. } = &second.exp else { unreachable!("it is a loop") };
        let Stm { pat, exp: Exp::Loop { params, form, body: making }, .. } = &mut body.stms[self.makes]
        else {
            unreachable!("a loop makes what is copied")
        };
        let LoopForm::For { index: counter, .. } = *form else { unreachable!("it counts") };
        let (part, before) = std::mem::replace(&mut params[self.place], target[0].clone());
        let (_, value) = only_update(making, self.place, part.var).expect("the update");
        making.stms.retain(|s| !matches!(&s.exp, Exp::Update { arr, .. } if *arr == part.var));
        let inside = Subst::from([(copy.to, Atom::Var(target[0].0.var))]);
        making.stms = making.stms.substituted(&inside);
        let names = Subst::from([(copy.counter, counter.into()), (copy.element, value)]);
        let stays = copy.body.stms.iter().filter(|s| s.pat[0].var != copy.element);
        making.stms.extend(stays.cloned().collect::<Vec<_>>().substituted(&names));
        making.results[self.place] = copy.body.results[0];
        let made = std::mem::replace(&mut pat[self.place], second.pat[0].clone());
        // The array that held the part goes on as it was.
        let unchanged = Subst::from([(made.var, before)]);
        let after = body.stms.split_off(self.makes + 1);
        body.stms.extend(after.substituted(&unchanged));
        body.results.iter_mut().for_each(|a| *a = a.substituted(&unchanged));
    }
}

/// True if no iteration reads an element of the array that one before it writes, once both loops are one.
fn reads_before_writes(making: &Body, counter: Var, copy: &Copy, access: &Access) -> bool {
    let Some(bound) = access.form(copy.bound) else { return false };
    let index = access.form(copy.index).and_then(|f| f.split(Symbol::Var(copy.counter)));
    let Some((growth, first)) = index.filter(|(growth, _)| growth.as_constant().is_some_and(|n| n > 0))
    else {
        return false;
    };
    let is_row = growth.as_constant() == Some(1);
    let behind = first.plus(&bound);
    let mut all = true;
    for_each_element(making, copy.to, &mut |element| {
        let Some(read) = access.read(element) else { return all = false };
        let is_later = || {
            let (by, start) = read.index.split(Symbol::Var(counter))?;
            let ahead = start.minus(&first).as_constant()?;
            Some(by == growth && (ahead == 0 || is_row && ahead > 0))
        };
        all &= is_row && is_outside(access, read, &first, &behind) || is_later() == Some(true);
    });
    all
}

/// Shows `f` every use of an array: what its elements are bound to, or the array itself.
fn for_each_element(body: &Body, array: Var, f: &mut dyn FnMut(Var)) {
    for stm in &body.stms {
        match &stm.exp {
            Exp::Index(arr, _) if *arr == array => f(stm.pat[0].var),
            exp if exp.own_bodies().is_empty() && stm.free().contains(&array) => f(array),
            Exp::Loop { params, .. } if params.iter().any(|(_, a)| *a == array.into()) => f(array),
            exp => exp.for_each_body(|b| for_each_element(b, array, f)),
        }
    }
    if body.results.contains(&array.into()) {
        f(array);
    }
}

/// Takes an array that nothing looks at out of loops and branches.
fn without(body: &mut Body, versions: &HashSet<Var>) {
    for stm in &mut body.stms {
        stm.exp.own_bodies_mut().into_iter().for_each(|b| without(b, versions));
        for i in (0..stm.pat.len()).rev() {
            match &mut stm.exp {
                Exp::Loop { params, body, .. } if versions.contains(&params[i].0.var) => {
                    params.remove(i);
                    body.results.remove(i);
                    stm.pat.remove(i);
                }
                Exp::If { then, other, .. } if versions.contains(&stm.pat[i].var) => {
                    [then, other].into_iter().for_each(|arm| _ = arm.results.remove(i));
                    stm.pat.remove(i);
                }
                _ => {}
            }
        }
    }
    body.stms.retain(|s| !s.pat.is_empty() || s.has_effect());
}
