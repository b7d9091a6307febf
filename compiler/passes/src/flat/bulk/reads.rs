//! Reads of arrays in the code of kernels.

use par_ir::core::{Body, Exp, Stm};
use par_ir::effects::Effects;
use par_ir::flat::{Kernel, KernelKind, Out};
use par_ir::hash::{HashMap, HashSet};
use par_ir::numbering::{self, Key};
use par_ir::ty::{Atom, Var};
use par_ir::visit::{Code, Subst};
use std::collections::BTreeSet;
use std::collections::hash_map::Entry;

/// Calls `f` on every read in a body and the bodies in it.
pub fn for_each(body: &Body, f: &mut dyn FnMut(Var, Atom)) {
    body.stms.iter().for_each(|s| in_stm(s, f));
}

fn in_stm(stm: &Stm, f: &mut dyn FnMut(Var, Atom)) {
    if let Exp::Index(arr, is) = &stm.exp {
        f(*arr, is[0]);
    }
    stm.exp.for_each_body(|b| for_each(b, f));
}

/// As [`for_each`], in all of a kernel's code, its prologue included.
pub fn of_kernel(k: &Kernel, f: &mut dyn FnMut(Var, Atom)) {
    k.prologue.iter().for_each(|s| in_stm(s, f));
    k.bodies().into_iter().for_each(|b| for_each(b, f));
}

/// Replaces reads of arrays by what `with` gives for array and index.
pub fn replace(body: &mut Body, with: &dyn Fn(Var, Atom) -> Option<Atom>) {
    for stm in &mut body.stms {
        if let Exp::Index(arr, is) = &stm.exp
            && let Some(x) = with(*arr, is[0])
        {
            stm.exp = Exp::Atom(x);
        }
        stm.exp.for_each_body_mut(|b| replace(b, with));
    }
}

/// Reads others instead of an array, each at an index of its own.
pub fn redirect(body: &mut Body, array: Var, instead: &HashMap<Atom, (Var, Atom)>) {
    for stm in &mut body.stms {
        if let Exp::Index(arr, is) = &mut stm.exp
            && *arr == array
            && let Some((other, i)) = instead.get(&is[0])
        {
            (*arr, is[0]) = (*other, *i);
        }
        stm.exp.for_each_body_mut(|b| redirect(b, array, instead));
    }
}

/// Removes statements of a kernel that only give a scalar another name, or compute again what is known. What both arms of a branch begin with is computed before it.
pub fn simplify(k: &mut Kernel) {
    let own = |o: &Out| matches!(o, Out::Own { .. });
    let changes = matches!(&k.kind, KernelKind::Map(outs) if outs.iter().any(own));
    let mut known = Known { changes, ..Known::default() };
    let mut prologue = Body { stms: std::mem::take(&mut k.prologue), results: vec![] };
    known.body(&mut prologue);
    k.prologue = prologue.stms;
    known.body(&mut k.body);
    if let KernelKind::Scan { after: Some(after), .. } = &mut k.kind {
        known.body(&mut after.body);
    }
}

/// True if both arms of a branch in a kernel begin with the same.
pub fn arms_begin_alike(k: &Kernel) -> bool {
    fn in_body(body: &Body) -> bool {
        body.stms.iter().any(|s| {
            let alike = match &s.exp {
                Exp::If { then, other, .. } => !beginning(then, false).is_disjoint(&beginning(other, false)),
                _ => false,
            };
            alike || s.exp.own_bodies().into_iter().any(in_body)
        })
    }
    in_body(&k.body)
}

/// Values that a body computes before anything in it may fail.
fn beginning(body: &Body, changes: bool) -> HashSet<Key> {
    body.stms[..before_effects(body)].iter().filter_map(|s| key(s, changes)).collect()
}

fn before_effects(body: &Body) -> usize {
    body.stms.iter().take_while(|s| !s.has_effect()).count()
}

/// The value of a statement; none if it reads arrays that change.
fn key(stm: &Stm, changes: bool) -> Option<Key> {
    match (&stm.exp, stm.pat.as_slice()) {
        (Exp::Index(..), [_]) if changes => None,
        (Exp::Prim(..) | Exp::Index(..), [p]) => numbering::key(&stm.exp, &p.ty),
        _ => None,
    }
}

#[derive(Default)]
struct Known {
    /// True if arrays that the kernel reads change while it runs.
    changes: bool,
    names: Subst,
    seen: HashMap<Key, Atom>,
}

impl Known {
    fn body(&mut self, body: &mut Body) {
        let mut kept = Vec::with_capacity(body.stms.len());
        for mut stm in std::mem::take(&mut body.stms) {
            stm.substitute(&self.names);
            if let Some(x) = self.value(&stm) {
                self.names.insert(stm.pat[0].var, x);
                continue;
            }
            if let Exp::If { then, other, .. } = &mut stm.exp {
                for first in self.common(then, other) {
                    self.value(&first);
                    kept.push(first);
                }
            }
            for inner in stm.exp.bodies_mut() {
                let outside = self.seen.clone();
                self.body(inner);
                self.seen = outside;
            }
            kept.push(stm);
        }
        body.stms = kept;
        body.results.substitute(&self.names);
    }

    /// Statements that both arms of a branch begin with, taken out of one.
    fn common(&self, then: &mut Body, other: &Body) -> Vec<Stm> {
        let of_other = beginning(other, self.changes);
        let in_both = |s: &Stm| key(s, self.changes).is_some_and(|k| of_other.contains(&k));
        let rest = then.stms.split_off(before_effects(then));
        let (common, own) = std::mem::take(&mut then.stms).into_iter().partition(in_both);
        then.stms = own;
        then.stms.extend(rest);
        common
    }

    /// Known name of a statement's value.
    fn value(&mut self, stm: &Stm) -> Option<Atom> {
        let [p] = stm.pat.as_slice() else { return None };
        match &stm.exp {
            Exp::Atom(a) => p.ty.is_scalar().then_some(*a),
            _ => match self.seen.entry(key(stm, self.changes)?) {
                Entry::Occupied(known) => Some(*known.get()),
                Entry::Vacant(new) => {
                    new.insert(Atom::Var(p.var));
                    None
                }
            },
        }
    }
}

/// Statements, in order, that something needed needs.
pub fn needed_of(stms: &[Stm], needed: &mut BTreeSet<Var>) -> Vec<Stm> {
    let mut found = Vec::new();
    for stm in stms.iter().rev() {
        if stm.pat.iter().any(|p| needed.contains(&p.var)) {
            needed.extend(stm.exp.free());
            found.push(stm.clone());
        }
    }
    found.reverse();
    found
}
