//! Where values are used for the last time, so that updates happen in place and cost what they should.
//!
//! A statement that passes a value on (an update, a loop's initial value, a call's argument …) takes it away from
//! the environment if nothing reads the variable later; so does a body that results in one of its own variables.
//! Inside a loop or a lambda, variables from outside are never taken, since the next iteration needs them; inside a
//! while's condition neither are the loop's parameters, since the body needs them.
//!
//! In FLAT a variable that nothing uses any more is forgotten, as an executor drops it: what it shared with another is
//! that one's own from then on, and may be updated in place.

use crate::core::{self, Body, Exp};
use crate::flat::{self, Block, Op};
use crate::ty::{Atom, Var};
use crate::visit::{Code, Site};
use std::collections::{BTreeSet, HashMap};

type Vars = BTreeSet<Var>;

/// Last uses, by the address of a statement or body (programs do not move while they run).
#[derive(Default)]
pub(super) struct Moves {
    /// Operands that are dead after the statement has read them.
    stms: HashMap<usize, Vec<Var>>,
    /// Results that the body may take out of the environment.
    bodies: HashMap<usize, Vec<bool>>,
    /// In FLAT, what is not used after the statement.
    dead: HashMap<usize, Vec<Var>>,
    /// In FLAT, what is not used from the beginning of the block on.
    first: HashMap<usize, Vec<Var>>,
}

fn address<T>(x: &T) -> usize {
    std::ptr::from_ref(x).addr()
}

impl Moves {
    pub(super) fn of_core(funs: &[core::Fun]) -> Moves {
        let mut moves = Moves::default();
        funs.iter().for_each(|f| moves.body(&f.body, Vars::new()));
        moves
    }

    pub(super) fn of_flat(program: &flat::Program) -> Moves {
        let mut moves = Moves::of_core(&program.locals);
        for f in &program.funs {
            moves.unused(f.params.iter().map(|p| p.var), &f.body);
            moves.block(&f.body, Vars::new());
        }
        moves
    }

    /// Operands that are dead once the statement has read them.
    pub(super) fn after<S>(&self, stm: &S) -> &[Var] {
        self.stms.get(&address(stm)).map_or(&[], Vec::as_slice)
    }

    /// Variables that are not used after the statement.
    pub(super) fn dead<S>(&self, stm: &S) -> &[Var] {
        self.dead.get(&address(stm)).map_or(&[], Vec::as_slice)
    }

    /// Variables that are not used in the block nor after it, but before.
    pub(super) fn first<B>(&self, block: &B) -> &[Var] {
        self.first.get(&address(block)).map_or(&[], Vec::as_slice)
    }

    /// Which results the body may take; empty for none.
    pub(super) fn results<B>(&self, body: &B) -> &[bool] {
        self.bodies.get(&address(body)).map_or(&[], Vec::as_slice)
    }

    fn take_results<B>(&mut self, body: &B, results: &[Atom], live: &mut Vars) {
        let last_to_first = results.iter().rev().map(|a| a.var().is_some_and(|v| live.insert(v)));
        let mut taken: Vec<bool> = last_to_first.collect();
        taken.reverse();
        if taken.contains(&true) {
            self.bodies.insert(address(body), taken);
        }
    }

    fn take_operands<S>(&mut self, stm: &S, own: &Vars, kept: &Vars, live: &Vars) {
        let dead: Vec<Var> = own.iter().copied().filter(|v| !live.contains(v) && !kept.contains(v)).collect();
        if !dead.is_empty() {
            self.stms.insert(address(stm), dead);
        }
    }

    /// `live`: variables that are needed after the body.
    fn body(&mut self, body: &Body, mut live: Vars) {
        self.take_results(body, &body.results, &mut live);
        for stm in body.stms.iter().rev() {
            let (mut own, mut kept) = (Vars::new(), Vars::new());
            stm.exp.for_each_operand(&mut |a| own.extend(a.var()));
            uses(&stm.pat, &mut kept);
            stm.exp.for_each_body(|b| uses(b, &mut kept));
            self.take_operands(stm, &own, &kept, &live);
            let all = stm.free();
            match &stm.exp {
                Exp::If { then, other, .. } => {
                    self.body(then, live.clone());
                    self.body(other, live.clone());
                }
                Exp::Loop { params, form: core::LoopForm::While(cond), body } => {
                    let outside: Vars = live.union(&all).copied().collect();
                    self.body(body, outside.clone());
                    self.body(cond, outside.into_iter().chain(params.iter().map(|(p, _)| p.var)).collect());
                }
                exp => {
                    for b in exp.bodies() {
                        self.body(b, live.union(&all).copied().collect());
                    }
                }
            }
            live.extend(all);
        }
    }

    fn block(&mut self, block: &Block, mut live: Vars) {
        self.take_results(block, &block.results, &mut live);
        for stm in block.stms.iter().rev() {
            let (mut own, mut kept) = (Vars::new(), Vars::new());
            match &stm.op {
                // Only destinations are passed on; what the body reads stays.
                Op::Kernel(k) => {
                    k.kind.walk(&mut |site| add_use(site, &mut own));
                    uses(&k.space, &mut kept);
                    uses(&k.prologue, &mut kept);
                    k.bodies().into_iter().for_each(|b| uses(b, &mut kept));
                    // The arrays that it owns are passed from one statement of its body to the next.
                    self.body(&k.body, k.free().union(&live).copied().collect());
                }
                op => {
                    op.for_each_operand(&mut |a| own.extend(a.var()));
                    op.for_each_block(|b| uses(b, &mut kept));
                }
            }
            self.take_operands(stm, &own, &kept, &live);
            let all = stm.free();
            let bound = stm.pat.iter().map(|p| p.var);
            let dead = all.iter().copied().chain(bound).filter(|v| !live.contains(v));
            self.dead.insert(address(stm), dead.collect());
            match &stm.op {
                Op::If { then, other, .. } => {
                    self.only_in(other, then, &live);
                    self.only_in(then, other, &live);
                    self.block(then, live.clone());
                    self.block(other, live.clone());
                }
                Op::Loop { params, form: flat::LoopForm::While(cond), body } => {
                    self.unused(params.iter().map(|(p, _)| p.var), body);
                    let outside: Vars = live.union(&all).copied().collect();
                    self.block(body, outside.clone());
                    self.block(cond, outside.into_iter().chain(params.iter().map(|(p, _)| p.var)).collect());
                }
                op => {
                    if let Op::Loop { params, body, .. } = op {
                        self.unused(params.iter().map(|(p, _)| p.var), body);
                    }
                    for b in op.blocks() {
                        self.block(b, live.union(&all).copied().collect());
                    }
                }
            }
            live.extend(all);
        }
    }

    /// Forgets at the beginning of one arm what only the other one uses.
    fn only_in(&mut self, other: &Block, arm: &Block, live: &Vars) {
        let used = arm.free();
        let dead = other.free().into_iter().filter(|v| !used.contains(v) && !live.contains(v));
        self.first.insert(address(arm), dead.collect());
    }

    /// Forgets at the beginning of a loop's or a function's body what it does not use of the state.
    fn unused(&mut self, state: impl Iterator<Item = Var>, body: &Block) {
        let used = body.free();
        self.first.insert(address(body), state.filter(|v| !used.contains(v)).collect());
    }
}

fn add_use(site: Site, out: &mut Vars) {
    if let Site::Use(Atom::Var(v)) = site {
        out.insert(v);
    }
}

fn uses<C: Code>(code: &C, out: &mut Vars) {
    code.walk(&mut |site| add_use(site, out));
}
