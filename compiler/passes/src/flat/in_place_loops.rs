//! Fusion of a kernel's loop that makes part of an array with the loop that copies this part to its place.
//!
//! ```text
//! (t, r) = loop (t = t0, r = r0) for i < n do {                          t = loop (t = t0) for i < n do {
//!     r1 = loop (s = r) for j < m do { … t[a + j] …  in s with [j] = v }     loop (u = t) for j < m do {
//!     t1 = loop (u = t) for j < m do {                            ==>            … u[a + j] …
//!              v = r1[j]  in u with [b + j] = v }                                in u with [b + j] = v }
//!     in (t1, r1) }                                                      }
//! ```
//!
//! Right if the buffer (`r`) serves nothing else, and if no iteration reads an element that an earlier one has written: each read of the array is
//! proved to be before or behind all writes, or of an element that this iteration or a later one writes.

use crate::flat::in_place_scatters::is_outside;
use crate::flat::recurrences::{elements, update_of};
use crate::flat::walk;
use par_ir::access::{Access, Facts, Symbol};
use par_ir::alias::note_versions;
use par_ir::core::{Body, Exp, LoopForm, Param, Stm};
use par_ir::effects::Effects;
use par_ir::flat::{self, Block, Kernel, KernelKind, Op, Out, Program};
use par_ir::hash::HashSet;
use par_ir::visit::{Code, Subst};
use par_ir::{Atom, Var};
use par_runtime::Prim;

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
        for place in unused.into_iter().rev() {
            if removes_buffer(kernel, place, facts) {
                pat.remove(place);
            }
        }
    }
}

/// The outputs of a kernel that only updates arrays which nothing uses after it.
fn unused_arrays(block: &Block, at: usize) -> Vec<usize> {
    let flat::Stm { pat, op: Op::Kernel(kernel), .. } = &block.stms[at] else { return vec![] };
    let KernelKind::Map(outs) = &kernel.kind else { return vec![] };
    if outs.len() < 2 || !outs.iter().all(|o| matches!(o, Out::Own { .. })) {
        return vec![];
    }
    let is_unused = |v: Var| {
        !block.results.contains(&v.into()) && block.stms[at + 1..].iter().all(|s| s.op.uses_of(v) == 0)
    };
    (0..pat.len()).filter(|i| is_unused(pat[*i].var)).collect()
}

/// Fuses the loops that copy from an output, a buffer, with those that fill it, and removes it if nothing else reads it. True if it is removed.
fn removes_buffer(kernel: &mut Kernel, place: usize, facts: &Facts) -> bool {
    let KernelKind::Map(outs) = &kernel.kind else { return false };
    let Out::Own { state, .. } = &outs[place] else { return false };
    let mut versions = HashSet::from_iter([state.var]);
    note_versions(&kernel.body, &mut versions);
    let mut body = kernel.body.clone();
    fuse(&mut body, &versions, &Access::of(kernel, facts));
    drop_state(&mut body, &versions);
    body.results.remove(place);
    if versions.iter().any(|v| body.mentions(*v)) {
        return false;
    }
    kernel.body = body;
    if let KernelKind::Map(outs) = &mut kernel.kind {
        outs.remove(place);
    }
    true
}

/// Fuses the loops of a body that copy from versions of a buffer with those that fill it.
fn fuse(body: &mut Body, versions: &HashSet<Var>, access: &Access) {
    for stm in &mut body.stms {
        stm.exp.own_bodies_mut().into_iter().for_each(|b| fuse(b, versions, access));
    }
    let mut at = 0;
    while at < body.stms.len() {
        match Pair::of(body, at, versions, access) {
            Some(pair) => pair.fuse(body, access),
            None => at += 1,
        }
    }
}

/// A loop that copies a buffer to a part of an array, element by element.
struct Copying<'b> {
    counter: Var,
    bound: Atom,
    /// The buffer, and its element of an iteration.
    from: Var,
    element: Var,
    /// The array, and the index of the element that an iteration writes.
    to: Var,
    index: Atom,
    param: &'b Param,
    body: &'b Body,
}

impl<'b> Copying<'b> {
    fn of(stm: &'b Stm, access: &Access) -> Option<Copying<'b>> {
        let Exp::Loop { params, form, body } = &stm.exp else { return None };
        let LoopForm::For { index: counter, prim: Prim::I64, bound } = *form else { return None };
        let [(param, Atom::Var(to))] = &params[..] else { return None };
        let (index, value) = only_update(body, 0, param.var)?;
        let element = access.opaque(value)?;
        let read = body.stms.iter().find(|s| s.pat.iter().any(|p| p.var == element))?;
        let (from, at) = if let Exp::Index(from, at) = &read.exp { (*from, at) } else { return None };
        let only_copies = body.stms.iter().all(|s| match &s.exp {
            Exp::Prim(..) | Exp::Atom(_) => !s.has_effect(),
            Exp::Index(arr, _) => *arr == from,
            Exp::Update { arr, .. } => *arr == param.var,
            _ => false,
        });
        let is_own = **at == [counter.into()] && body.uses_of(from) == 1;
        (only_copies && is_own).then_some(Copying {
            counter,
            bound,
            from,
            element,
            to: *to,
            index,
            param,
            body,
        })
    }
}

/// The index and the value of the update of an array in each iteration, if nothing else in it uses the array.
fn only_update(body: &Body, place: usize, array: Var) -> Option<(Atom, Atom)> {
    update_of(body, place, array).filter(|_| body.uses_of(array) == 1)
}

/// A loop that fills a buffer, and the loop that copies it.
struct Pair {
    filling: usize,
    copying: usize,
    /// The buffer's place among the parameters of the first loop.
    place: usize,
}

impl Pair {
    /// The pair whose second loop is a statement of a body.
    fn of(body: &Body, copying: usize, versions: &HashSet<Var>, access: &Access) -> Option<Pair> {
        let second = &body.stms[copying];
        let copy = Copying::of(second, access).filter(|c| versions.contains(&c.from))?;
        let position = |s: &Stm| s.pat.iter().position(|p| p.var == copy.from);
        let (filling, place) = (0..copying).find_map(|i| Some((i, position(&body.stms[i])?)))?;
        let Exp::Loop { params, form, body: making } = &body.stms[filling].exp else { return None };
        let LoopForm::For { index: counter, prim: Prim::I64, bound } = *form else { return None };
        let (index, _) = only_update(making, place, params[place].0.var)?;
        let fills_all = access.form(index)? == Symbol::Var(counter).into() && bound == copy.bound;
        // The second loop is moved before the statements between both.
        let may_move = body.stms[filling + 1..copying]
            .iter()
            .all(|s| !s.mentions(copy.to) && !s.pat.iter().any(|p| second.mentions(p.var)));
        let fits = fills_all && may_move && reads_before_writes(making, counter, &copy, access);
        fits.then_some(Pair { filling, copying, place })
    }

    fn fuse(self, body: &mut Body, access: &Access) {
        let second = body.stms.remove(self.copying);
        let copy = Copying::of(&second, access).expect("a loop that copies");
        let Stm { pat, exp: Exp::Loop { params, form, body: making }, .. } = &mut body.stms[self.filling]
        else {
            unreachable!("a loop fills the buffer")
        };
        let LoopForm::For { index: counter, .. } = *form else { unreachable!("it counts") };
        let target = (copy.param.clone(), copy.to.into());
        let (buffer, initial) = std::mem::replace(&mut params[self.place], target);
        let (_, value) = only_update(making, self.place, buffer.var).expect("the update");
        making.stms.retain(|s| !matches!(&s.exp, Exp::Update { arr, .. } if *arr == buffer.var));
        making.stms = making.stms.substituted(&Subst::from_iter([(copy.to, copy.param.var.into())]));
        let names = Subst::from_iter([(copy.counter, counter.into()), (copy.element, value)]);
        let rest: Vec<Stm> =
            copy.body.stms.iter().filter(|s| s.pat[0].var != copy.element).cloned().collect();
        making.stms.extend(rest.substituted(&names));
        making.results[self.place] = copy.body.results[0];
        let filled = std::mem::replace(&mut pat[self.place], second.pat[0].clone());
        // The buffer stays as it was.
        let unchanged = Subst::from_iter([(filled.var, initial)]);
        let after = body.stms.split_off(self.filling + 1);
        body.stms.extend(after.substituted(&unchanged));
        body.results.iter_mut().for_each(|a| *a = a.substituted(&unchanged));
    }
}

/// True if no iteration of the fused loop reads an element of the array that an earlier one writes.
fn reads_before_writes(making: &Body, counter: Var, copy: &Copying, access: &Access) -> bool {
    let Some(bound) = access.form(copy.bound) else { return false };
    let index = access.form(copy.index).and_then(|f| f.split(Symbol::Var(copy.counter)));
    let Some((growth, first)) = index else { return false };
    let stride = growth.as_constant().unwrap_or(0);
    let behind = first.plus(&bound);
    let (mut reads, mut all) = (0, stride > 0);
    elements(making, copy.to, &mut |element, _| {
        reads += 1;
        let Some(read) = access.read(element) else { return all = false };
        let is_later = || {
            let (by, start) = read.index.split(Symbol::Var(counter))?;
            let ahead = start.minus(&first).as_constant()?;
            Some(by == growth && (ahead == 0 || stride == 1 && ahead > 0))
        };
        all &= stride == 1 && is_outside(access, read, &first, &behind) || is_later() == Some(true);
    });
    all && making.uses_of(copy.to) == reads
}

/// Removes the versions of an array from the state of loops and the results of branches.
fn drop_state(body: &mut Body, versions: &HashSet<Var>) {
    for stm in &mut body.stms {
        stm.exp.own_bodies_mut().into_iter().for_each(|b| drop_state(b, versions));
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
