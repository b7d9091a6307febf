//! Knowledge of the simplifier at a point of the program.
//!
//! ```text
//! let n2 = n                 -- copies:   n2 means n from here on
//! let ys = iota n            -- defs:     ys is an iota, so ys[i] is i
//! let zs = map (\i -> …) ys  -- ranges:   0 <= i < n inside the lambda
//! let c = lt.i64 n m         -- seen:     a second lt.i64 n m is c
//! check c …                  -- known:    c is true below
//! ```
//!
//! Variables are bound once in the whole program, so copies, definitions and ranges never become wrong. What is
//! known only *below a statement of this scope* (expressions seen, conditions that hold, sizes of arrays bound
//! here) is taken back when the scope is left: see [`Env::enter`].

use par_ir::core::{Exp, Param};
use par_ir::hash::{HashMap, HashSet};
use par_ir::numbering::Key;
use par_ir::prim::{BinOp, PrimOp, UnOp};
use par_ir::ty::{Atom, Dim, Elem, Type, Var, Vars};
use par_runtime::Prim;

use super::range;

/// The simplifier's knowledge.
pub(super) struct Env<'a> {
    /// The program's variables, for fresh ones.
    pub vars: &'a mut Vars,
    /// Lambdas around the current statement.
    pub nest: usize,
    types: HashMap<Var, Type>,
    copies: HashMap<Var, Atom>,
    defs: HashMap<Var, Exp>,
    /// Exclusive upper bounds of variables that are at least 0.
    ranges: HashMap<Var, Vec<Atom>>,
    known: HashMap<Var, bool>,
    /// Arrays that may have been updated in place so far: what was read of them before is not read again.
    pub updated: HashSet<Var>,
    /// Numbers of 64 bits that are reached by counting up from 0: none is near the end of the integers.
    counters: HashSet<Var>,
    /// Variables that are at least this.
    lowers: HashMap<Var, i128>,
    sizes: HashSet<Var>,
    seen: HashMap<Key, Var>,
    trail: Vec<Undo>,
}

enum Undo {
    Known(Var),
    Lower(Var, Option<i128>),
    Upper(Var),
    Size(Var),
    Seen(Key),
}

impl<'a> Env<'a> {
    /// Nothing is known yet.
    pub fn new(vars: &'a mut Vars) -> Env<'a> {
        Env {
            vars,
            nest: 0,
            types: HashMap::default(),
            copies: HashMap::default(),
            defs: HashMap::default(),
            ranges: HashMap::default(),
            known: HashMap::default(),
            counters: HashSet::default(),
            lowers: HashMap::default(),
            sizes: HashSet::default(),
            seen: HashMap::default(),
            updated: HashSet::default(),
            trail: Vec::new(),
        }
    }

    /// Enters an arm, a lambda or a loop body; give the result to [`Env::leave`].
    pub fn enter(&self) -> usize {
        self.trail.len()
    }

    /// Forgets what holds only in the scope that is left.
    pub fn leave(&mut self, mark: usize) {
        while self.trail.len() > mark {
            match self.trail.pop() {
                Some(Undo::Known(v)) => drop(self.known.remove(&v)),
                Some(Undo::Lower(v, Some(before))) => drop(self.lowers.insert(v, before)),
                Some(Undo::Lower(v, None)) => drop(self.lowers.remove(&v)),
                Some(Undo::Upper(v)) => drop(self.ranges.get_mut(&v).and_then(Vec::pop)),
                Some(Undo::Size(v)) => drop(self.sizes.remove(&v)),
                Some(Undo::Seen(key)) => drop(self.seen.remove(&key)),
                None => return,
            }
        }
    }

    /// Current name of `a`: its original if it is a copy, a constant if its value is known here.
    pub fn atom(&self, a: Atom) -> Atom {
        let Atom::Var(v) = a else { return a };
        let a = self.copies.get(&v).copied().unwrap_or(a);
        match a {
            Atom::Var(v) => self.known.get(&v).map_or(a, |&b| Atom::bool(b)),
            Atom::Const(_) => a,
        }
    }

    /// As [`Env::atom`], for places that only a variable may take.
    pub fn var(&self, v: Var) -> Var {
        match self.copies.get(&v) {
            Some(Atom::Var(w)) => *w,
            _ => v,
        }
    }

    /// Replaces copies in a type.
    pub fn ty(&self, ty: &mut Type) {
        for dim in &mut ty.dims {
            match dim {
                Dim::Size(a) => *a = self.atom(*a),
                Dim::Seg(s) => *s = self.var(*s),
            }
        }
    }

    /// Registers a bound variable (its type has been through [`Env::ty`]).
    pub fn bind(&mut self, p: &Param) {
        let sizes = p.ty.dims.iter().filter_map(|d| match d {
            Dim::Size(Atom::Var(n)) => Some(*n),
            _ => None,
        });
        for n in sizes.collect::<Vec<_>>() {
            self.assume_size(n);
        }
        self.types.insert(p.var, p.ty.clone());
    }

    /// `n` is at least 0 in this scope.
    pub fn assume_size(&mut self, n: Var) {
        if self.sizes.insert(n) {
            self.trail.push(Undo::Size(n));
        }
    }

    /// Replaces `v` by `a` from here on.
    pub fn copy(&mut self, v: Var, a: Atom) {
        self.copies.insert(v, a);
    }

    /// `v` is what `exp` computes. Only for expressions without bodies, and for arrays in another order of their dimensions.
    pub fn define(&mut self, v: Var, exp: &Exp) {
        if matches!(exp, Exp::Index(s, _) if self.is_desc(*s)) || matches!(exp, Exp::Total(_)) {
            self.assume_size(v);
        }
        self.defs.insert(v, exp.clone());
        if let Exp::Prim(PrimOp::Select(p), xs) = exp
            && p.is_signed()
        {
            range::choose(self, v, xs[0], [xs[1], xs[2]]);
        }
    }

    fn is_desc(&self, v: Var) -> bool {
        self.types.get(&v).is_some_and(|t| t.elem == Elem::Desc)
    }

    /// Definition of `v`.
    pub fn def(&self, v: Var) -> Option<&Exp> {
        self.defs.get(&v)
    }

    /// The definition of an operand.
    pub fn def_of(&self, a: Atom) -> Option<&Exp> {
        a.var().and_then(|v| self.def(v))
    }

    /// The type of a variable in scope.
    pub fn type_of(&self, v: Var) -> Option<&Type> {
        self.types.get(&v)
    }

    /// True if `a` has exactly the type `ty`.
    pub fn has_type(&self, a: Atom, ty: &Type) -> bool {
        match a {
            Atom::Const(c) => *ty == Type::scalar(c.prim()),
            Atom::Var(v) => self.types.get(&v) == Some(ty),
        }
    }

    /// `0 <= v < bound` wherever `v` is in scope.
    pub fn bound_above(&mut self, v: Var, bound: Atom) {
        self.ranges.entry(v).or_default().push(bound);
    }

    /// `p` is one of the numbers from 0 to below `bound`, wherever it is in scope.
    pub fn count_below(&mut self, p: &Param, bound: Atom) {
        self.bound_above(p.var, bound);
        if p.ty == Type::I64 {
            self.counters.insert(p.var);
        }
    }

    /// True for a number of 64 bits that is reached by counting up from 0: a constant of 32 bits may be added to it.
    pub fn is_counter(&self, a: Atom) -> bool {
        a.var().is_some_and(|v| self.counters.contains(&v))
    }

    /// `p` counts up to `bound`, which is at least 1 in this scope: it would not be entered otherwise.
    pub fn count_to(&mut self, p: &Param, bound: Atom) {
        self.count_below(p, bound);
        self.assume_some(bound);
    }

    /// There is at least one of so many, in this scope.
    pub fn assume_some(&mut self, width: Atom) {
        if let Atom::Var(n) = width {
            self.assume_at_least(n, 1);
        }
    }

    /// Exclusive upper bounds of `a`; with at least one, `a` is also at least 0.
    pub fn uppers(&self, a: Atom) -> &[Atom] {
        a.var().and_then(|v| self.ranges.get(&v)).map_or(&[], Vec::as_slice)
    }

    /// `v` is the length of something.
    pub fn is_size(&self, v: Var) -> bool {
        self.sizes.contains(&v)
    }

    /// From here on (in this scope) `a` has this value; so have the conditions it is made of.
    pub fn assume(&mut self, a: Atom, value: bool) {
        let Atom::Var(v) = a else { return };
        if self.known.contains_key(&v) {
            return;
        }
        self.known.insert(v, value);
        self.trail.push(Undo::Known(v));
        match (self.defs.get(&v).cloned(), value) {
            (Some(Exp::Prim(PrimOp::Bin(BinOp::And, Prim::Bool), ab)), true)
            | (Some(Exp::Prim(PrimOp::Bin(BinOp::Or, Prim::Bool), ab)), false) => {
                ab.iter().for_each(|&x| self.assume(x, value));
            }
            (Some(Exp::Prim(PrimOp::Un(UnOp::Not, Prim::Bool), x)), _) => self.assume(x[0], !value),
            (Some(Exp::Prim(PrimOp::Cmp(op, p), xy)), _) if p.is_signed() => {
                if let Some((v, least)) = range::least(self, op, value, xy[0], xy[1]) {
                    self.assume_at_least(v, least);
                }
                if let Some((v, bound)) = range::below(self, op, value, xy[0], xy[1]) {
                    self.bound_above(v, bound);
                    self.trail.push(Undo::Upper(v));
                }
            }
            _ => {}
        }
    }

    /// `v` is at least `least` in this scope.
    fn assume_at_least(&mut self, v: Var, least: i128) {
        let before = self.lowers.get(&v).copied();
        if before.is_none_or(|b| b < least) {
            self.trail.push(Undo::Lower(v, before));
            self.lowers.insert(v, least);
        }
    }

    /// Known lower bound of `a`.
    pub fn lower(&self, a: Atom) -> Option<i128> {
        a.var().and_then(|v| self.lowers.get(&v)).copied()
    }

    /// The variable that already holds the value with this key.
    pub fn seen(&self, key: &Key) -> Option<Var> {
        self.seen.get(key).copied()
    }

    /// Remembers that `v` holds the value with this key, in this scope.
    pub fn see(&mut self, key: Key, v: Var) {
        self.trail.push(Undo::Seen(key.clone()));
        self.seen.insert(key, v);
    }
}
