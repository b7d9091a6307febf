//! State that code changes wherever it stands: the tape that is pushed to, and accumulators. Each is one flat array for all positions.
//!
//! ```text
//! t1 = …                                    -- a change makes a new version, in place
//! (r, t2) = if any { … t1' … } else { t1 }  -- one more result of a branch, one more variable of a loop
//! (ys, t3) = call f^ n xs t2                -- one more argument and one more result of a call
//! ```

use super::canonical::{Form, has_view};
use super::{Flattener, Result};
use par_ir::core::{Body, FunId, Param};
use par_ir::flat;
use par_ir::visit::Code;
use par_ir::{Atom, Var};
use std::collections::BTreeMap;

/// One state.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Carried {
    /// An accumulator, by its CORE variable.
    Sums(Var),
    /// The tape of the function.
    Tape,
}

/// Versions of the states, as they are at some point.
pub type Versions = BTreeMap<Carried, flat::Param>;

/// The form of a parameter or an argument: views where there may be some.
pub fn view_form(p: &Param) -> Form {
    match p.ty.is_acc() {
        true => Form::Sums,
        false if has_view(&p.ty) => Form::View,
        false => Form::Packed,
    }
}

impl Flattener<'_> {
    /// The version of a state here.
    pub fn carried(&self, state: Carried) -> flat::Param {
        *self.own.carried.get(&state).expect("internal error in flatten: state is changed that nobody began")
    }

    /// A name for the next version of a state.
    pub fn next_version_of(&mut self, state: Carried) -> flat::Param {
        let before = self.carried(state);
        let next = flat::Param { var: self.builder.vars.fresh_like(before.var), ..before };
        self.own.carried.insert(state, next);
        next
    }

    /// The states that a function changes for its callers: the accumulators among its parameters, and the tape.
    fn changed_by(&self, id: FunId) -> Vec<Carried> {
        let params = &self.facts.source.funs[id.0 as usize].params;
        let sums = params.iter().filter(|p| p.ty.is_acc()).map(|p| Carried::Sums(p.var));
        sums.chain(self.facts.pushing[id.0 as usize].then_some(Carried::Tape)).collect()
    }

    /// The last versions of the states that a function changes, as its last results.
    pub fn changed(&self, id: FunId) -> Vec<flat::Param> {
        self.changed_by(id).into_iter().map(|state| self.carried(state)).collect()
    }

    /// The versions behind a call of a function, as its last results.
    pub fn changed_by_call(&mut self, callee: FunId, args: &[Atom], pat: &mut Vec<flat::Param>) {
        let params = &self.facts.source.funs[callee.0 as usize].params;
        let sums = args.iter().zip(params).filter(|(_, p)| p.ty.is_acc()).filter_map(|(a, _)| a.var());
        let sums: Vec<Carried> = sums.map(Carried::Sums).collect();
        let tape = self.facts.pushing[callee.0 as usize].then_some(Carried::Tape);
        pat.extend(sums.into_iter().chain(tape).map(|state| self.next_version_of(state)));
    }

    /// Builds a part of a branch: what was built, and the versions behind it. Here they stay as they were.
    pub fn with_carried<T>(&mut self, build: impl FnOnce(&mut Self) -> Result<T>) -> Result<(T, Versions)> {
        let before = self.own.carried.clone();
        let built = build(self)?;
        Ok((built, std::mem::replace(&mut self.own.carried, before)))
    }

    /// Makes the versions that two arms leave results of their branch.
    pub fn join_carried(&mut self, pat: &mut Vec<flat::Param>, mut arms: [(&mut flat::Block, Versions); 2]) {
        let before: Vec<(Carried, flat::Param)> = self.own.carried.iter().map(|(s, p)| (*s, *p)).collect();
        for (state, p) in before {
            if arms.iter().any(|(_, after)| after[&state] != p) {
                arms.iter_mut().for_each(|(block, after)| block.results.push(after[&state].var.into()));
                pat.push(self.next_version_of(state));
            }
        }
    }

    /// The states that a loop's body changes.
    pub fn changed_in(&self, body: &Body) -> Vec<Carried> {
        let free = body.free();
        let is_changed = |state: &Carried| match state {
            Carried::Sums(acc) => free.contains(acc),
            Carried::Tape => self.pushes(body),
        };
        self.own.carried.keys().copied().filter(is_changed).collect()
    }

    /// Makes states the variables of a loop: their versions before it, and in it, which are those here from now on.
    pub fn enter_loop(&mut self, states: &[Carried]) -> Vec<(flat::Param, Atom)> {
        let mut variable = |state: &Carried| {
            let init = self.carried(*state).var.into();
            (self.next_version_of(*state), init)
        };
        states.iter().map(&mut variable).collect()
    }

    /// True for code that changes state from outside of it.
    pub fn changes_state(&self, body: &Body) -> bool {
        let is_acc = |v: &Var| self.types.get(v).is_some_and(|ty| ty.is_acc());
        self.pushes(body) || body.free().iter().any(is_acc)
    }
}
