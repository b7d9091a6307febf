//! Classes of the variables of a body in a group of neighbouring positions.
//!
//! ```text
//! i = sub pos start       Steps(1)   0, 1, 2, … added to a scalar
//! c = lt i n              Same       assumed; code looks, and leaves the group to scalar code if not
//! x = xs[i]               Each       a vector
//! k = conv x              Each, and apart: one scalar a lane, because it is an index
//! y = ys[k]               Each       gathered
//! ```
//!
//! Indices may be kept in vectors instead ([`Indices`]), from where the processor gathers.

use super::division::Division;
use super::interleaved::Interleaved;
use super::prim;
use par_ir::core::{Body, Exp, Lambda, LoopForm, Param, Repeat, Stm};
use par_ir::hash::{HashMap, HashSet};
use par_ir::prim::{BinOp, PrimOp, UnOp};
use par_ir::tuning;
use par_ir::ty::Atom;
use par_ir::visit::Code;
use par_ir::{Prim, Var};
use std::collections::BTreeSet;
use std::rc::Rc;

/// Variation of a variable between the lanes of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// It does not.
    Same,
    /// An `i64` that grows by this much from lane to lane.
    Steps(i64),
    /// In any way.
    Each,
}

/// Registers of the indices that differ between lanes in any way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Indices {
    /// In scalar registers, with all that they are computed from: they come from memory, mostly.
    Apart,
    /// In vectors, as other numbers: much is computed of them, as in a search.
    InVectors,
}

/// Rounds after which the classes of loop variables are settled, since a class only ever grows.
const ROUNDS: usize = 3;

/// The classes of a body's variables; what is not there is the same for all lanes.
#[derive(Clone, Debug, Default)]
pub struct Classes {
    of: HashMap<Var, Class>,
    /// Variables of class `Each` that are kept in scalar registers, one a lane.
    apart: HashSet<Var>,
    /// Divisors of steps that are bound outside, assumed to be large.
    pub divisors: BTreeSet<Var>,
    /// Arrays whose elements for all lanes are neighbours.
    private: HashSet<Var>,
    /// Reads that are columns of the same rows.
    pub interleaved: Rc<Interleaved>,
}

impl Classes {
    /// Of a body at positions that grow by a step from lane to lane.
    pub fn new(pos: (Var, i64), body: &Body, indices: Indices) -> Classes {
        let mut classes = Classes::with_private(pos, body, indices, HashSet::default());
        classes.interleaved = Rc::new(Interleaved::new(pos.0, body, &classes));
        classes
    }

    /// The same, with these arrays held transposed.
    pub fn with_private(
        (pos, step): (Var, i64),
        body: &Body,
        indices: Indices,
        private: HashSet<Var>,
    ) -> Classes {
        let mut classes = Classes { private, ..Classes::default() };
        classes.of.insert(pos, Class::Steps(step));
        classes.body(body);
        body.bound().iter().for_each(|v| _ = classes.divisors.remove(v));
        while indices == Indices::Apart && classes.indices(body) {}
        classes.flags(body);
        classes
    }

    /// Of a body without reads and divisions, of which groups with positions of several rows are not left: where steps would be assumed to be on one side of
    /// something, all that differs is in vectors.
    pub fn of_numbers(pos: Var, body: &Body) -> Classes {
        let classes = Classes::new((pos, 1), body, Indices::Apart);
        if !classes.compares_steps(body) {
            return classes;
        }
        let mut classes = Classes { of: HashMap::from_iter([(pos, Class::Each)]), ..Classes::default() };
        classes.body(body);
        classes.flags(body);
        classes
    }

    fn compares_steps(&self, body: &Body) -> bool {
        let has_steps = |xs: &[Atom]| xs.iter().any(|x| matches!(self.atom(x), Class::Steps(_)));
        body.stms.iter().any(|s| match &s.exp {
            Exp::Prim(PrimOp::Cmp(..) | PrimOp::Bin(BinOp::Min | BinOp::Max, _), xs) => has_steps(xs),
            e => e.own_bodies().into_iter().any(|b| self.compares_steps(b)),
        })
    }

    /// True if elements of an array for all lanes are neighbours.
    pub fn is_private(&self, array: Var) -> bool {
        self.private.contains(&array)
    }

    /// True if lanes read or update arrays at places of their own.
    pub fn goes_apart(&self, body: &Body) -> bool {
        body.stms.iter().any(|s| match &s.exp {
            Exp::Index(_, index) => self.atom(&index[0]) == Class::Each,
            Exp::Update { arr, .. } => !self.is_private(*arr),
            e => e.own_bodies().into_iter().any(|b| self.goes_apart(b)),
        })
    }

    /// And of what combines the results of a body, where some accumulators are the same in all lanes.
    pub fn with_operator(
        mut self,
        op: &Lambda,
        same: &HashSet<usize>,
        combined: &Body,
        body: &Body,
    ) -> Classes {
        let (xs, ys) = op.params.split_at(op.params.len() / 2);
        for (i, (x, y)) in xs.iter().zip(ys).enumerate() {
            let is_same = same.contains(&i);
            self.of.insert(x.var, if is_same { Class::Same } else { Class::Each });
            self.of.insert(y.var, if is_same { self.atom(&body.results[i]) } else { Class::Each });
        }
        self.further(combined)
    }

    /// And of what is done with prefixes.
    pub fn with_results(mut self, params: &[Param], body: &Body) -> Classes {
        self.of.extend(params.iter().map(|p| (p.var, Class::Each)));
        self.further(body)
    }

    fn further(mut self, body: &Body) -> Classes {
        self.body(body);
        body.bound().iter().for_each(|v| _ = self.divisors.remove(v));
        self
    }

    /// Of a variable.
    pub fn var(&self, v: Var) -> Class {
        self.of.get(&v).copied().unwrap_or(Class::Same)
    }

    /// Of an operand.
    pub fn atom(&self, a: &Atom) -> Class {
        a.var().map_or(Class::Same, |v| self.var(v))
    }

    /// True if a variable that differs between lanes is scalarised.
    pub fn is_apart(&self, v: Var) -> bool {
        self.apart.contains(&v)
    }

    fn body(&mut self, body: &Body) -> Vec<Class> {
        body.stms.iter().for_each(|s| self.stm(s));
        body.results.iter().map(|a| self.atom(a)).collect()
    }

    fn bind(&mut self, pat: &[Param], classes: &[Class]) {
        for (p, class) in pat.iter().zip(classes) {
            if *class != Class::Same {
                self.of.insert(p.var, *class);
            }
        }
    }

    fn stm(&mut self, stm: &Stm) {
        let classes = match &stm.exp {
            Exp::Atom(a) => vec![self.atom(a)],
            Exp::Prim(op, xs) => vec![self.prim(*op, xs)],
            Exp::Index(array, index) => vec![match index.first().map(|i| self.atom(i)) {
                Some(Class::Same) | None if !self.is_private(*array) => Class::Same,
                _ => Class::Each,
            }],
            Exp::If { cond, then, other } => {
                let (a, b) = (self.body(then), self.body(other));
                let same = self.atom(cond) == Class::Same;
                a.into_iter().zip(b).map(|(a, b)| if same { join(a, b) } else { Class::Each }).collect()
            }
            Exp::Loop { params, form, body } => self.repeat(params, form, body),
            _ => vec![],
        };
        self.bind(&stm.pat, &classes);
    }

    fn repeat(&mut self, params: &[(Param, Atom)], form: &LoopForm, body: &Body) -> Vec<Class> {
        let mut state: Vec<Class> = params.iter().map(|(_, x)| self.atom(x)).collect();
        for round in 0.. {
            let vars: Vec<Param> = params.iter().map(|(p, _)| p.clone()).collect();
            self.bind(&vars, &state);
            let together = match form {
                LoopForm::For { bound, .. } => self.atom(bound) == Class::Same,
                LoopForm::While(cond) => self.body(cond) == [Class::Same],
            };
            let mut next = self.body(body);
            if !together || round > ROUNDS {
                next.iter_mut().for_each(|c| *c = Class::Each);
            }
            let joined: Vec<Class> = state.iter().zip(next).map(|(a, b)| join(*a, b)).collect();
            if joined == state {
                break;
            }
            state = joined;
        }
        state
    }

    fn prim(&mut self, op: PrimOp, xs: &[Atom]) -> Class {
        let classes: Vec<Class> = xs.iter().map(|a| self.atom(a)).collect();
        if classes.iter().all(|c| *c == Class::Same) {
            return Class::Same;
        }
        if classes.contains(&Class::Each) {
            return Class::Each;
        }
        match (op, classes.as_slice()) {
            (PrimOp::Un(UnOp::Neg, Prim::I64), [Class::Steps(s)]) => steps(s.checked_neg()),
            (PrimOp::Bin(op, Prim::I64), [a, b]) => self.arithmetic(op, *a, *b, xs),
            (PrimOp::Cmp(_, Prim::I64), _) => Class::Same,
            (PrimOp::Select(Prim::I64), [Class::Same, a, Class::Same]) if is_nowhere(xs[2]) => *a,
            (PrimOp::Select(Prim::I64), [Class::Same, Class::Same, b]) if is_nowhere(xs[1]) => *b,
            (PrimOp::Select(Prim::I64), [Class::Same, a, b]) => join(*a, *b),
            _ => Class::Each,
        }
    }

    fn arithmetic(&mut self, op: BinOp, a: Class, b: Class, xs: &[Atom]) -> Class {
        let step = |c: Class| if let Class::Steps(s) = c { s } else { 0 };
        let (s, t) = (step(a), step(b));
        match op {
            BinOp::Add => steps(s.checked_add(t)),
            BinOp::Sub => steps(s.checked_sub(t)),
            BinOp::Mul => match (xs[0].as_i64(), xs[1].as_i64()) {
                (Some(c), _) if c.unsigned_abs() < tuning::LANES_ROW as u64 => steps(t.checked_mul(c)),
                (_, Some(c)) if c.unsigned_abs() < tuning::LANES_ROW as u64 => steps(s.checked_mul(c)),
                _ => Class::Each,
            },
            BinOp::Min | BinOp::Max if s == 0 || t == 0 => steps(s.checked_add(t)),
            BinOp::Div | BinOp::Quot | BinOp::Mod | BinOp::Rem if s > 0 && t == 0 => {
                match xs[1] {
                    Atom::Const(_) if xs[1].as_i64().is_none_or(|c| c < tuning::LANES_ROW) => {
                        return Class::Each;
                    }
                    Atom::Const(_) => {}
                    Atom::Var(v) => _ = self.divisors.insert(v),
                }
                if matches!(op, BinOp::Div | BinOp::Quot) { Class::Same } else { Class::Steps(s) }
            }
            _ => Class::Each,
        }
    }

    fn keep_apart(&mut self, a: &Atom) -> bool {
        match a.var() {
            Some(v) if self.var(v) == Class::Each => self.apart.insert(v),
            _ => false,
        }
    }

    /// Indices are kept apart, and what they are computed from; whether that is new.
    fn indices(&mut self, body: &Body) -> bool {
        let mut new = false;
        for stm in body.stms.iter().rev() {
            let wanted: Vec<bool> = stm.pat.iter().map(|p| self.is_apart(p.var)).collect();
            let any = wanted.contains(&true);
            match &stm.exp {
                Exp::Index(_, index) => new |= index.iter().any(|i| self.keep_apart(i)),
                Exp::Atom(a) if any => new |= self.keep_apart(a),
                Exp::Prim(op, xs) if any => {
                    for (a, p) in xs.iter().zip(op.operands()) {
                        new |= p.is_integer() && self.keep_apart(a);
                    }
                }
                Exp::If { then, other, .. } => {
                    for (i, _) in wanted.iter().enumerate().filter(|(_, w)| **w) {
                        new |= self.keep_apart(&then.results[i]) | self.keep_apart(&other.results[i]);
                    }
                    new |= self.indices(then) | self.indices(other);
                }
                Exp::Loop { params, form, body } => {
                    new |= self.loop_indices(Repeat { params, form, body }, &wanted)
                }
                _ => {}
            }
        }
        new
    }

    fn loop_indices(&mut self, Repeat { params, form, body }: Repeat, wanted: &[bool]) -> bool {
        let mut new = false;
        for (i, (p, initial)) in params.iter().enumerate() {
            if wanted.get(i) == Some(&true) {
                new |= self.keep_apart(&Atom::Var(p.var));
            }
            if self.is_apart(p.var) {
                new |= self.keep_apart(initial) | self.keep_apart(&body.results[i]);
            }
        }
        if let LoopForm::While(cond) = form {
            new |= self.indices(cond);
        }
        new | self.indices(body)
    }

    /// Scalarises flags computed from scalarised variables, unless another operand is in vectors.
    fn flags(&mut self, body: &Body) {
        for stm in &body.stms {
            match &stm.exp {
                Exp::Prim(op, xs) if op.result() == Prim::Bool && stm.pat.len() == 1 => {
                    let vectors =
                        |a: &Atom| self.atom(a) == Class::Each && a.var().is_none_or(|v| !self.is_apart(v));
                    let any = xs.iter().any(|a| a.var().is_some_and(|v| self.is_apart(v)));
                    if any && !xs.iter().any(vectors) {
                        self.keep_apart(&Atom::Var(stm.pat[0].var));
                    }
                }
                Exp::If { then, other, .. } => {
                    self.flags(then);
                    self.flags(other);
                }
                Exp::Loop { form, body, .. } => {
                    if let LoopForm::While(cond) = form {
                        self.flags(cond);
                    }
                    self.flags(body);
                }
                _ => {}
            }
        }
    }

    /// True if a statement's operator is computed lane by lane: its result is scalarised, or the operator has no vector code.
    pub fn is_by_lane(&self, op: PrimOp, operands: &[Atom], var: Var) -> bool {
        self.is_apart(var) || !(prim::has_form(op) || Division::of(op, operands).is_some())
    }

    /// True if there are variables that are kept as scalars.
    pub fn has_apart(&self) -> bool {
        !self.apart.is_empty()
    }
}

/// True for an index of no element, which a position has in place of its own if that is not inside.
fn is_nowhere(a: Atom) -> bool {
    a.as_i64().is_some_and(|i| i < 0)
}

fn join(a: Class, b: Class) -> Class {
    if a == b { a } else { Class::Each }
}

fn steps(s: Option<i64>) -> Class {
    s.map_or(Class::Each, |s| if s == 0 { Class::Same } else { Class::Steps(s) })
}
