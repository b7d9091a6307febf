//! Numbers of loops under a nest that are the same at all positions: the host has them.
//!
//! ```text
//! map (\ x -> loop (k = m, ys: [k]t = …) for i < n do             k       m, and then m - 1 - i: uniform
//!     let j = m - 1 - i                                           ys      rows of one length
//!     in (j, tabulate j (\ l -> … x …))) xs
//! ```
//!
//! Otherwise they would be arrays with a number for each position, rows whose sizes they are would have descriptors, and loops and branches would have positions
//! that are done and others that are not.

use super::Flattener;
use super::nest::LevelId;
use par_ir::core::{Body, Exp, LoopForm, Repeat, Stm};
use par_ir::flat::Op;
use par_ir::hash::HashSet;
use par_ir::prim::{BinOp, PrimOp};
use par_ir::visit::Code;
use par_ir::{Atom, Prim, Type, Var};

impl Flattener<'_> {
    /// An operator on sizes and conditions that the host has.
    pub fn of_host(&self, stm: &Stm) -> Option<Op> {
        let (op, args) = size_operator(&stm.exp)?;
        Some(Op::Prim(op, args.iter().map(|a| self.ex(*a).atom()).collect::<Option<_>>()?))
    }

    /// Notes whole numbers of a loop's state, and of its iterations, that follow from the number of the iteration and what the host has. True if the condition does, too: else
    /// positions end by themselves, and those that go on still have the same numbers.
    pub fn note_uniform(&mut self, level: LevelId, of: Repeat) -> bool {
        if self.shapes.is_root(level) {
            return false;
        }
        let counter = if let LoopForm::For { index, .. } = of.form { Some(*index) } else { None };
        let cond = if let LoopForm::While(cond) = of.form { Some(cond) } else { None };
        let mut inside: HashSet<Var> = of.params.iter().map(|(p, _)| p.var).chain(counter).collect();
        inside.extend(of.body.bound().into_iter().chain(cond.into_iter().flat_map(|c| c.bound())));
        let is_whole = |k: &usize| of.params[*k].0.ty == Type::I64;
        let mut states: Vec<usize> = (0..of.params.len()).filter(is_whole).collect();
        states.retain(|k| self.ex(of.params[*k].1).atom().is_some());
        loop {
            let found = states.iter().map(|k| of.params[*k].0.var).chain(counter).collect();
            let mut uniform = Uniform { flattener: self, inside: &inside, found };
            uniform.body(of.body);
            let before = states.len();
            states.retain(|k| uniform.has(of.body.results[*k]));
            if states.len() == before {
                let goes_on = cond.is_some_and(|cond| {
                    uniform.body(cond);
                    uniform.has(cond.results[0])
                });
                let found = uniform.found;
                self.own.uniform.extend(found);
                return goes_on;
            }
        }
    }
}

/// Variables of an iteration that are the same at all positions.
struct Uniform<'f, 'p> {
    flattener: &'f Flattener<'p>,
    /// Variables that the loop binds.
    inside: &'f HashSet<Var>,
    found: HashSet<Var>,
}

impl Uniform<'_, '_> {
    fn has(&self, a: Atom) -> bool {
        match a.var() {
            Some(v) if self.inside.contains(&v) => self.found.contains(&v),
            _ => self.flattener.ex(a).atom().is_some(),
        }
    }

    fn body(&mut self, body: &Body) {
        body.stms.iter().for_each(|s| self.stm(s));
    }

    fn stm(&mut self, stm: &Stm) {
        match &stm.exp {
            Exp::Atom(a) if stm.pat[0].ty.is_scalar() && self.has(*a) => {
                _ = self.found.insert(stm.pat[0].var)
            }
            Exp::If { cond, then, other } if self.has(*cond) => {
                self.body(then);
                self.body(other);
                for ((p, a), b) in stm.pat.iter().zip(&then.results).zip(&other.results) {
                    if p.ty == Type::I64 && self.has(*a) && self.has(*b) {
                        self.found.insert(p.var);
                    }
                }
            }
            exp if size_operator(exp).is_some_and(|(_, args)| args.iter().all(|a| self.has(*a))) => {
                self.found.insert(stm.pat[0].var);
            }
            _ => {}
        }
    }
}

/// An operator on sizes and conditions that cannot trap, with its operands.
fn size_operator(exp: &Exp) -> Option<(PrimOp, &[Atom])> {
    let Exp::Prim(op, args) = exp else { return None };
    let divides = matches!(op, PrimOp::Bin(BinOp::Div | BinOp::Mod | BinOp::Quot | BinOp::Rem, _));
    let may_trap = divides && args[1].as_i64().is_none_or(|n| n <= 0);
    (matches!(op.result(), Prim::I64 | Prim::Bool) && !may_trap).then_some((*op, args))
}
