//! Last uses of values, so that updates happen in place and cost what they should.
//!
//! A statement that passes a value on (an update, a loop's initial value, a call's argument …) takes it away from
//! the environment if nothing reads the variable later; so does a body that results in one of its own variables.
//! Inside a loop or a lambda, variables from outside are never taken, since the next iteration needs them; inside a
//! while's condition neither are the loop's parameters, since the body needs them.
//!
//! In FLAT a variable that nothing uses any more is forgotten, as an executor drops it: what it shared with another is
//! that one's own from then on, and may be updated in place.
//!
//! All of it is found by one walk backwards over each function. A variable is needed later if a use of it has been met,
//! or if it is bound outside of the innermost loop or lambda, whose number is its *level*.

use crate::core::{self, Body, Exp};
use crate::flat::{self, Block, Kernel, Op};
use crate::hash::HashMap;
use crate::stack::deeper;
use crate::ty::{Atom, Var};
use crate::visit::{Code, Site};

/// Last uses, by the address of a statement or body (programs do not move while they run).
#[derive(Default)]
pub(super) struct Moves {
    /// Operands that are dead after the statement has read them.
    stms: HashMap<usize, Box<[Var]>>,
    /// Results that the body may take out of the environment.
    bodies: HashMap<usize, Box<[bool]>>,
    /// In FLAT, what is not used after the statement.
    dead: HashMap<usize, Box<[Var]>>,
    /// In FLAT, what is not used from the beginning of the block on.
    first: HashMap<usize, Box<[Var]>>,
}

fn address<T>(x: &T) -> usize {
    std::ptr::from_ref(x).addr()
}

/// Stores a list under an address, unless it is empty.
fn store<K>(map: &mut HashMap<usize, Box<[Var]>>, key: &K, vars: Vec<Var>) {
    if !vars.is_empty() {
        map.insert(address(key), vars.into());
    }
}

impl Moves {
    pub(super) fn of_core(variables: usize, funs: &[core::Fun]) -> Moves {
        let mut walk = Walk::new(variables);
        funs.iter().for_each(|f| walk.body(&f.body, 0));
        walk.moves
    }

    pub(super) fn of_flat(program: &flat::Program) -> Moves {
        let mut walk = Walk::new(program.vars.len());
        program.locals.iter().for_each(|f| walk.body(&f.body, 0));
        for f in &program.funs {
            walk.unused(f.params.iter().map(|p| p.var), &f.body);
            walk.block(&f.body, 0);
        }
        walk.moves
    }

    /// Operands that are dead once the statement has read them.
    pub(super) fn after<S>(&self, stm: &S) -> &[Var] {
        self.stms.get(&address(stm)).map_or(&[], |vars| vars)
    }

    /// Variables that are not used after the statement.
    pub(super) fn dead<S>(&self, stm: &S) -> &[Var] {
        self.dead.get(&address(stm)).map_or(&[], |vars| vars)
    }

    /// Variables that are not used in the block nor after it, but before.
    pub(super) fn first<B>(&self, block: &B) -> &[Var] {
        self.first.get(&address(block)).map_or(&[], |vars| vars)
    }

    /// True for each result that the body may take out of the environment; empty if there is none.
    pub(super) fn results<B>(&self, body: &B) -> &[bool] {
        self.bodies.get(&address(body)).map_or(&[], |taken| taken)
    }
}

/// A set of a program's variables that knows what was added last.
struct Marks {
    is_marked: Vec<bool>,
    marked: Vec<Var>,
}

impl Marks {
    fn new(variables: usize) -> Marks {
        Marks { is_marked: vec![false; variables], marked: Vec::new() }
    }

    fn contains(&self, v: Var) -> bool {
        self.is_marked[v.0 as usize]
    }

    /// Adds a variable; true if it was not there.
    fn insert(&mut self, v: Var) -> bool {
        let is_new = !std::mem::replace(&mut self.is_marked[v.0 as usize], true);
        if is_new {
            self.marked.push(v);
        }
        is_new
    }

    /// Removes all but the first `count` that were added.
    fn back_to(&mut self, count: usize) -> Vec<Var> {
        let removed = self.marked.split_off(count);
        removed.iter().for_each(|v| self.is_marked[v.0 as usize] = false);
        removed
    }

    fn add_uses<C: Code>(&mut self, code: &C) {
        code.for_each_used(&mut |v| _ = self.insert(v));
    }
}

/// Calls a function on each operand of a statement.
type Operands<'s> = dyn Fn(&mut dyn FnMut(Atom)) + 's;

struct Walk {
    moves: Moves,
    /// Variables that are used after the place where the walk is, as far as it is certain that this is reached from there.
    later: Marks,
    /// Number of loops and lambdas around the binding of each variable.
    levels: Vec<u32>,
    /// A set for one question, empty before and after.
    scratch: Marks,
}

impl Walk {
    fn new(variables: usize) -> Walk {
        Walk {
            moves: Moves::default(),
            later: Marks::new(variables),
            levels: vec![0; variables],
            scratch: Marks::new(variables),
        }
    }

    /// True if nothing after this place needs the variable.
    fn is_dead(&self, v: Var, level: u32) -> bool {
        !self.later.contains(v) && self.levels[v.0 as usize] >= level
    }

    /// Says that all that is bound inside of the code is at this level.
    fn enter<C: Code>(&mut self, code: &C, level: u32) {
        code.walk(&mut |site| {
            if let Site::Bind(v) = site {
                self.levels[v.0 as usize] = level;
            }
        });
    }

    fn take_results<B>(&mut self, body: &B, results: &[Atom], level: u32) {
        let mut taken = vec![false; results.len()];
        for (taken, a) in taken.iter_mut().zip(results).rev() {
            if let Atom::Var(v) = *a {
                *taken = self.is_dead(v, level);
                self.later.insert(v);
            }
        }
        if taken.contains(&true) {
            self.moves.bodies.insert(address(body), taken.into());
        }
    }

    /// Notes which of a statement's operands nothing needs once it has read them, what is inside of it included.
    fn take_operands<S>(&mut self, stm: &S, level: u32, operands: &Operands) {
        let mut dead = Vec::new();
        operands(&mut |a| {
            if let Atom::Var(v) = a
                && self.is_dead(v, level)
            {
                self.later.insert(v);
                dead.push(v);
            }
        });
        store(&mut self.moves.stms, stm, dead);
    }

    /// Two pieces of code of which one is run.
    fn arms(&mut self, mut walk: impl FnMut(&mut Walk, bool)) {
        let before = self.later.marked.len();
        walk(self, true);
        let then = self.later.back_to(before);
        walk(self, false);
        then.into_iter().for_each(|v| _ = self.later.insert(v));
    }

    fn body(&mut self, body: &Body, level: u32) {
        self.take_results(body, &body.results, level);
        for stm in body.stms.iter().rev() {
            deeper(|| self.inside(&stm.exp, level));
            self.later.add_uses(&stm.pat);
            self.take_operands(stm, level, &|f| stm.exp.for_each_operand(f));
            self.later.add_uses(&stm.exp);
        }
    }

    /// The bodies inside of an expression.
    fn inside(&mut self, exp: &Exp, level: u32) {
        match exp {
            Exp::If { then, other, .. } => {
                self.arms(|walk, is_then| walk.body(if is_then { then } else { other }, level));
            }
            Exp::Loop { form: core::LoopForm::While(cond), body, .. } => {
                self.enter(exp, level + 1);
                self.body(body, level + 1);
                self.enter(cond, level + 2);
                self.body(cond, level + 2);
            }
            exp => {
                let bodies = exp.bodies();
                if !bodies.is_empty() {
                    self.enter(exp, level + 1);
                    bodies.into_iter().for_each(|b| self.body(b, level + 1));
                }
            }
        }
    }

    fn block(&mut self, block: &Block, level: u32) {
        self.take_results(block, &block.results, level);
        for stm in block.stms.iter().rev() {
            self.dead(stm, level);
            match &stm.op {
                Op::Kernel(k) => self.kernel(stm, k, level),
                op => {
                    deeper(|| self.blocks(op, level));
                    self.take_operands(stm, level, &|f| op.for_each_operand(f));
                }
            }
            self.later.add_uses(&stm.op);
        }
    }

    /// Notes what is not used after a statement.
    fn dead(&mut self, stm: &flat::Stm, level: u32) {
        let bound = stm.pat.iter().map(|p| p.var);
        let mut dead: Vec<Var> = bound.filter(|v| self.is_dead(*v, level)).collect();
        dead.extend(self.free(&stm.op).into_iter().filter(|v| self.is_dead(*v, level)));
        store(&mut self.moves.dead, stm, dead);
    }

    fn kernel(&mut self, stm: &flat::Stm, k: &Kernel, level: u32) {
        self.enter(k, level + 1);
        // The arrays that it owns are passed from one statement of its body to the next.
        self.body(&k.body, level + 1);
        self.later.add_uses(&k.space);
        self.later.add_uses(&k.prologue);
        k.bodies().into_iter().for_each(|b| self.later.add_uses(b));
        // Only destinations are passed on; what the body reads stays.
        self.take_operands(stm, level, &|f| {
            k.kind.walk(&mut |site| {
                if let Site::Use(a) = site {
                    f(a);
                }
            });
        });
    }

    /// The blocks inside of an operation.
    fn blocks(&mut self, op: &Op, level: u32) {
        match op {
            Op::If { then, other, .. } => {
                self.only_in(other, then, level);
                self.only_in(then, other, level);
                self.arms(|walk, is_then| walk.block(if is_then { then } else { other }, level));
            }
            Op::Loop { params, form, body } => {
                self.unused(params.iter().map(|(p, _)| p.var), body);
                self.enter(op, level + 1);
                self.block(body, level + 1);
                if let flat::LoopForm::While(cond) = form {
                    self.enter(cond, level + 2);
                    self.block(cond, level + 2);
                }
            }
            Op::Split { body, .. } => {
                self.enter(op, level + 1);
                self.block(body, level + 1);
            }
            _ => {}
        }
    }

    /// Variables used and not bound inside.
    fn free<C: Code>(&mut self, code: &C) -> Vec<Var> {
        let mut used = Vec::new();
        code.walk(&mut |site| match site {
            Site::Use(Atom::Var(v)) => used.push(v),
            Site::Bind(v) => _ = self.scratch.insert(v),
            Site::Use(Atom::Const(_)) => {}
        });
        used.retain(|v| self.scratch.insert(*v));
        self.scratch.back_to(0);
        used
    }

    /// The variables among these that the block does not use.
    fn not_in(&mut self, vars: impl Iterator<Item = Var>, block: &Block) -> Vec<Var> {
        self.scratch.add_uses(block);
        let out = vars.filter(|v| !self.scratch.contains(*v)).collect();
        self.scratch.back_to(0);
        out
    }

    /// Forgets at the beginning of one arm what only the other one uses.
    fn only_in(&mut self, other: &Block, arm: &Block, level: u32) {
        let free = self.free(other);
        let mut dead = self.not_in(free.into_iter(), arm);
        dead.retain(|v| self.is_dead(*v, level));
        store(&mut self.moves.first, arm, dead);
    }

    /// Forgets at the beginning of a loop's or a function's body what it does not use of the state.
    fn unused(&mut self, state: impl Iterator<Item = Var>, body: &Block) {
        let dead = self.not_in(state, body);
        store(&mut self.moves.first, body, dead);
    }
}
