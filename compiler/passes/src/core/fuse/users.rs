//! Uses of variables in a body, updated while statements are fused, so that a sweep takes time in proportion to the body.
//!
//! A statement that disappears leaves its position empty until the sweep is over: positions stay valid.

use par_ir::core::{Body, Exp, Stm};
use par_ir::hash::{HashMap, HashSet};
use par_ir::ty::{Atom, Var};
use par_ir::visit::Code;
use std::collections::BTreeSet;
use std::ops::Bound::{Excluded, Unbounded};

/// The statements of a body by what they mention.
pub(super) struct Users {
    positions: HashMap<Var, BTreeSet<usize>>,
    results: HashSet<Var>,
    empty: Vec<usize>,
}

impl Users {
    pub(super) fn of(body: &Body) -> Users {
        let results = body.results.iter().filter_map(|a| a.var()).collect();
        let mut users = Users { positions: HashMap::default(), results, empty: Vec::new() };
        body.stms.iter().enumerate().for_each(|(at, stm)| users.add(at, stm));
        users
    }

    fn add(&mut self, at: usize, stm: &Stm) {
        for v in stm.free() {
            self.positions.entry(v).or_default().insert(at);
        }
    }

    fn remove(&mut self, at: usize, stm: &Stm) {
        for v in stm.free() {
            if let Some(set) = self.positions.get_mut(&v) {
                set.remove(&at);
            }
        }
    }

    /// The statements after `at` that mention `v`, in order.
    pub(super) fn after(&self, v: Var, at: usize) -> impl Iterator<Item = usize> + '_ {
        let positions = self.positions.get(&v).into_iter();
        positions.flat_map(move |set| set.range((Excluded(at), Unbounded))).copied()
    }

    /// True if `v` is used after the statement `at`, or is a result.
    pub(super) fn is_used_after(&self, v: Var, at: usize) -> bool {
        self.is_result(v) || self.after(v, at).next().is_some()
    }

    /// True if `v` is a result of the body.
    pub(super) fn is_result(&self, v: Var) -> bool {
        self.results.contains(&v)
    }

    /// The first statement after `first` that depends on it.
    pub(super) fn first_user(&self, body: &Body, first: usize) -> Option<usize> {
        let pat = body.stms[first].pat.iter();
        pat.filter_map(|p| self.after(p.var, first).next()).min()
    }

    /// Puts `fused` in the place of the statements `first` and `second` of `body`, where the second was.
    pub(super) fn replace(&mut self, body: &mut Body, first: usize, second: usize, fused: Stm) {
        self.add(second, &fused);
        let nothing = Stm { pat: Vec::new(), exp: Exp::Atom(Atom::bool(true)), span: fused.span };
        let before = std::mem::replace(&mut body.stms[second], fused);
        let gone = std::mem::replace(&mut body.stms[first], nothing);
        let kept = body.stms[second].free();
        self.remove(first, &gone);
        before.free().difference(&kept).for_each(|v| {
            self.positions.get_mut(v).map(|set| set.remove(&second));
        });
        self.empty.push(first);
    }

    /// Takes away the statements that have disappeared. Says whether there were any.
    pub(super) fn finish(mut self, body: &mut Body) -> bool {
        self.empty.sort_unstable();
        let mut position = 0;
        body.stms.retain(|_| {
            position += 1;
            self.empty.binary_search(&(position - 1)).is_err()
        });
        !self.empty.is_empty()
    }
}
