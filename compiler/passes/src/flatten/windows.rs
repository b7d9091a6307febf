//! Windows: inner operators of a nest over stretches of shared arrays that begin one element later for every row.
//!
//! ```text
//! map (\i -> sum (map2 (*) w x[i : i + k])) (iota n)
//! map (\i -> sum (tabulate k (\j -> x[i - j]))) (iota n)
//! tabulate_2d n m (\i j -> sum (flatten (tabulate_2d 5 5 (\y x -> a[i + y, j + x]))))
//! tabulate_2d n m (\i j -> sum (tabulate k (\y -> if i + y < n then a[i + y, j] else 0)))
//! ```
//!
//! Rows that take each step together read neighbours, which one vector holds.

use super::versions::{calls, is_from_outside};
use par_ir::core::{Body, Exp, Lambda, Stm};
use par_ir::hash::{HashMap, HashSet};
use par_ir::prim::BinOp;
use par_ir::visit::Code;
use par_ir::{Atom, PrimOp, Var, tuning};

/// True if an operator directly in a nest goes over windows. `counts` says of each parameter of the nest whether it counts the rows.
pub(super) fn is_window(lam: &Lambda, counts: &[bool], exp: &Exp) -> bool {
    let mut window = Window::new(lam, counts);
    for stm in &lam.body.stms {
        window.moves = false;
        let near = window.stm(stm);
        if std::ptr::eq(&stm.exp, exp) {
            return near && window.moves && !calls(&exp.bodies());
        }
    }
    false
}

/// True if a nest has operators, all over windows, whose rows may be made of rows; and the windows have few elements, or overlap: as many
/// arrays of them would be much larger than what they are windows of.
pub(super) fn is_nest_of_windows(lam: &Lambda, counts: &[bool]) -> bool {
    let mut window = Window::new(lam, counts);
    let near = window.body(&lam.body) && window.moves && !operators_call(&lam.body);
    near && (window.overlaps || window.largest.is_some_and(|n| n <= tuning::WINDOW_ELEMENTS))
}

/// True if an operator of a body calls functions, which are done on many elements at once; what follows the operators may.
fn operators_call(body: &Body) -> bool {
    let inside = |s: &Stm| match s.exp.is_soac() {
        true => calls(&s.exp.bodies()),
        false => s.exp.bodies().into_iter().any(operators_call),
    };
    body.stms.iter().any(inside)
}

/// Known facts about a nest's variables.
struct Window<'l> {
    lam: &'l Lambda,
    /// Growth of integers from row to row; unknown for those that are bound in the nest and not here.
    growth: HashMap<Var, i64>,
    /// Arrays in others, with the growth of where they begin in their last dimension.
    offsets: HashMap<Var, i64>,
    /// Arrays that operators make: they are consumed where they are produced.
    made: HashSet<Var>,
    /// Something is read at places that differ from row to row.
    moves: bool,
    /// Integers that depend on the counters of operators, or differ between them.
    inner: HashSet<Var>,
    /// Something is read at neighbours that depend on those: what one row reads, the next reads as well.
    overlaps: bool,
    /// Elements that the operators around the current one go over, and the most that any do; none if that is not known.
    elements: Option<i64>,
    largest: Option<i64>,
}

impl<'l> Window<'l> {
    fn new(lam: &'l Lambda, counts: &[bool]) -> Window<'l> {
        let params = lam.params.iter().zip(counts).filter(|(_, counts)| **counts);
        let growth = params.map(|(p, _)| (p.var, 1)).collect();
        let (offsets, made, inner) = (HashMap::default(), HashSet::default(), HashSet::default());
        let (elements, largest) = (Some(1), Some(1));
        Window { lam, growth, offsets, made, moves: false, inner, overlaps: false, elements, largest }
    }

    fn of(&self, a: Atom) -> Option<i64> {
        match a.var() {
            Some(v) => self.growth.get(&v).copied().or_else(|| is_from_outside(self.lam, v).then_some(0)),
            None => Some(0),
        }
    }

    /// The growth of where an array begins.
    fn offset(&self, v: Var) -> Option<i64> {
        self.offsets.get(&v).copied().or_else(|| is_from_outside(self.lam, v).then_some(0))
    }

    fn is_same(&self, a: Atom) -> bool {
        self.of(a) == Some(0)
    }

    /// True if all that a body reads are neighbours.
    fn body(&mut self, body: &Body) -> bool {
        body.stms.iter().all(|s| self.stm(s))
    }

    fn stm(&mut self, stm: &Stm) -> bool {
        let pat: Vec<Var> = stm.pat.iter().map(|p| p.var).collect();
        match &stm.exp {
            Exp::Atom(_) | Exp::Prim(..) => {
                if stm.free().iter().any(|v| self.inner.contains(v)) {
                    self.inner.insert(pat[0]);
                }
                let growth = self.scalar(&stm.exp);
                self.growth.extend(growth.map(|g| (pat[0], g)));
                true
            }
            Exp::Check { .. } => true,
            Exp::Iota(_) => {
                self.offsets.insert(pat[0], 0);
                true
            }
            Exp::Index(arr, index) => self.index(stm, *arr, index),
            Exp::Slice { arr, start, stride, .. } => {
                let start = self.of(*start).filter(|growth| *growth == 0 || stm.pat[0].ty.rank() == 1);
                let offset = self.offset(*arr).zip(start).map(|(a, b)| a + b);
                self.offsets.extend(offset.map(|o| (pat[0], o)));
                offset.is_some() && self.is_same(*stride)
            }
            Exp::Flatten(v) => {
                let whole = self.made.contains(v) || is_from_outside(self.lam, *v);
                self.made.insert(pat[0]);
                whole
            }
            Exp::Map { width, inputs, lam } | Exp::Reduce { width, inputs, lam, .. } => {
                let alike = self.is_same(*width);
                let arrays = stm.pat.iter().filter(|p| !p.ty.is_scalar()).map(|p| p.var);
                let around = self.elements;
                self.elements = around.zip(width.as_i64()).and_then(|(n, m)| n.checked_mul(m));
                self.largest = self.largest.zip(self.elements).map(|(n, m)| n.max(m));
                let near = alike && self.inputs(inputs, lam) && self.body(&lam.body) && self.rows(&lam.body);
                self.elements = around;
                self.made.extend(arrays);
                near
            }
            Exp::If { cond, then, other } if stm.pat.iter().all(|p| p.ty.is_scalar()) => {
                let near = self.body(then) && self.body(other);
                let same =
                    |k: usize| [*cond, then.results[k], other.results[k]].iter().all(|a| self.is_same(*a));
                let growth =
                    |k: usize| if same(k) { Some(0) } else { self.common(then.results[k], other.results[k]) };
                let known: Vec<(Var, i64)> =
                    (0..pat.len()).filter_map(|k| Some((pat[k], growth(k)?))).collect();
                self.growth.extend(known);
                near
            }
            _ => false,
        }
    }

    fn scalar(&self, exp: &Exp) -> Option<i64> {
        let (op, xs) = match exp {
            Exp::Atom(a) => return self.of(*a),
            Exp::Prim(op, xs) => (op, xs),
            _ => return None,
        };
        if let (PrimOp::Select(_), [_, a, b]) = (op, &xs[..])
            && let Some(growth) = self.common(*a, *b)
        {
            return Some(growth);
        }
        let each: Vec<i64> = xs.iter().map(|x| self.of(*x)).collect::<Option<_>>()?;
        match (op, each.as_slice()) {
            (_, all) if all.iter().all(|g| *g == 0) => Some(0),
            (PrimOp::Bin(BinOp::Add, _), [a, b]) => Some(a + b),
            (PrimOp::Bin(BinOp::Sub, _), [a, b]) => Some(a - b),
            // Clamped or wrapped at an end: neighbours everywhere else.
            (PrimOp::Bin(BinOp::Min | BinOp::Max, _), [a, 0] | [0, a]) => Some(*a),
            (PrimOp::Bin(BinOp::Mod | BinOp::Rem, _), [a, 0]) => Some(*a),
            _ => None,
        }
    }

    /// The growth of one of two integers, whichever it is for a row: neighbours where the choice is the same.
    fn common(&self, a: Atom, b: Atom) -> Option<i64> {
        self.of(a).filter(|growth| *growth != 0 && self.of(b) == Some(*growth))
    }

    /// A read, or the choice of a row: in the last dimension it is a neighbour's from row to row, or the same.
    fn index(&mut self, stm: &Stm, arr: Var, index: &[Atom]) -> bool {
        if self.made.contains(&arr) && stm.pat.iter().all(|p| p.ty.is_scalar()) {
            return true;
        }
        let (Some(offset), [p]) = (self.offset(arr), &stm.pat[..]) else { return false };
        let rows = if p.ty.is_scalar() { index.len() - 1 } else { index.len() };
        let (before, last) = index.split_at(rows);
        if !before.iter().all(|i| self.is_same(*i)) {
            return false;
        }
        match last {
            [i] => {
                let is_inner = i.var().is_some_and(|v| self.inner.contains(&v));
                self.of(*i).is_some_and(|g| self.element(p.var, g + offset, is_inner))
            }
            _ => {
                self.offsets.insert(p.var, offset);
                true
            }
        }
    }

    /// Rows that a body results in may be windows themselves.
    fn rows(&mut self, body: &Body) -> bool {
        let offsets: Vec<i64> =
            body.results.iter().filter_map(|r| self.offsets.get(&r.var()?)).copied().collect();
        self.moves |= offsets.contains(&1);
        self.overlaps |= offsets.contains(&1);
        offsets.iter().all(|o| matches!(o, 0 | 1))
    }

    /// Notes an element of an array that is read at places with this growth.
    fn element(&mut self, v: Var, growth: i64, is_inner: bool) -> bool {
        self.moves |= growth == 1;
        self.overlaps |= growth == 1 && is_inner;
        self.growth.extend((growth == 0).then_some((v, 0)));
        matches!(growth, 0 | 1)
    }

    /// The inputs of an operator, whose rows or elements its parameters are.
    fn inputs(&mut self, inputs: &[Var], lam: &Lambda) -> bool {
        self.inner.extend(lam.params.iter().map(|p| p.var));
        inputs.iter().zip(&lam.params).all(|(v, p)| match self.offset(*v) {
            _ if self.made.contains(v) => true,
            Some(offset) if p.ty.is_scalar() => self.element(p.var, offset, true),
            Some(offset) => {
                self.offsets.insert(p.var, offset);
                true
            }
            None => false,
        })
    }
}
