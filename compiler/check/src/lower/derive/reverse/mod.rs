//! `vjp f x dy` in reverse mode: one sweep forward, which computes `f`, and one backward, which adds up adjoints.
//!
//! The adjoint of a float is by how much `dy` times the result changes with it; that of an array has the array's type, with the same
//! descriptors. The function's statements are emitted at a copy of its argument ([`sweep`]). Then they are gone through from the last to
//! the first: what a statement binds has its whole adjoint by then, and adds to those of its operands.
//!
//! ```text
//! vjp (\x -> x * f32.sin x) a dy       x = a    s = sin x    y = x * s          y' = dy
//!                                      x' = y' * s    s' = y' * x    x' = x' + s' * cos x
//! ```
//!
//! Inside a map, a branch or a loop the backward sweep computes again what the forward sweep computed there. A loop keeps its state of
//! every iteration ([`tape`]), a recursive function what the calls in it gave ([`record`], [`replay`]).
//!
//! Adjoints of elements that are read inside a map, of an array outside it, are collected with their positions, and added by one histogram where the array
//! belongs ([`Parts`], [`inner`]).

mod accumulators;
mod activity;
mod agreement;
mod arrays;
mod backward;
mod branch;
mod calls;
mod checkpoints;
mod columns;
mod elements;
mod extremum;
mod given;
mod hist;
mod inner;
mod iterations;
mod loops;
mod moves;
mod need;
mod operators;
mod record;
mod reduce;
mod repeated;
mod replay;
mod rule;
mod scan;
mod shared;
mod sweep;
mod tape;
mod undo;
mod writes;

use super::super::recursion::columns;
use super::super::value::Val;
use super::super::{Lower, R};
use super::{DIRECTION, Placed};
pub(super) use given::Given;
use par_ir::core::Exp;
use par_ir::hash::{HashMap, HashSet};
use par_ir::visit::Subst;
use par_ir::{Atom, Prim, Scalar, Type, Var};
use par_syntax::diagnostic::Diagnostic;
use std::collections::BTreeMap;

/// Adjoints, and what depends on the argument.
#[derive(Default)]
pub(super) struct Reverse {
    /// Floats that depend on the argument.
    active: HashSet<Var>,
    /// Integers made of the bits of such floats.
    bits: HashSet<Var>,
    /// The innermost last.
    scopes: Vec<Scope>,
    /// Arrays `[0, 1, …]` with their sizes.
    positions: HashMap<Var, Atom>,
    /// Ends of the rows of descriptors, all rows flat.
    ends: HashMap<Var, Var>,
    /// In the body of a function, which was run before.
    called: bool,
    /// Place on the tapes of its calls.
    tape: Option<replay::Frame>,
    /// Results of calls whose values were kept.
    needed: HashSet<Var>,
    /// Results of maps whose rows the sweep backward computes again.
    repeated: HashSet<Var>,
    /// Parameters of a function whose adjoints are each one for all calls.
    shared: HashMap<Var, shared::Shared>,
    /// Arrays that are parts of others without gaps.
    within: HashMap<Var, shared::Part>,
    /// By the index of a loop that was made for checkpoints: how many loops over strips it is still to get.
    around: HashMap<Var, u32>,
}

/// Code whose adjoints are added up together: a function's body, the rows of a map, an arm of a branch, an iteration.
#[derive(Default)]
struct Scope {
    /// Variables with their whole adjoint here. The others belong further out, beyond a map.
    own: HashSet<Var>,
    /// Adjoints so far.
    adjoints: BTreeMap<Var, Atom>,
    /// Contributions to single elements of arrays that belong further out.
    parts: BTreeMap<Var, Parts>,
    /// Number of blocks around its own.
    depth: usize,
    /// By array that has its whole adjoint here: the accumulator that code inside adds to.
    sums: BTreeMap<Var, accumulators::Sums>,
    /// Accumulators without elements.
    unwanted: Vec<(Prim, accumulators::Sums)>,
}

/// Contributions to elements of an array.
#[derive(Default)]
struct Parts {
    elements: Vec<Element>,
    lists: Vec<List>,
}

/// A value for an element, or an array of values for all elements along some dimensions.
#[derive(Clone)]
struct Element {
    /// For each dimension, or, of an irregular array, the position in the flattened array. One outside means nothing.
    at: Vec<Along>,
    value: Atom,
}

/// Position of a value along one dimension.
#[derive(Clone, Copy, PartialEq)]
enum Along {
    Index(Atom),
    /// Everywhere: there is a value for each, along that dimension of the values.
    Axis(usize),
}

/// Positions in the flattened array and values, in arrays of one size.
#[derive(Clone, Copy)]
struct List {
    count: Atom,
    places: Var,
    values: Var,
}

impl<'p> Lower<'p> {
    /// The value of a function at `x`, and `dy` times its derivative. The value is one that is needed, or must not be used.
    pub fn vjp(&mut self, f: &Val<'p>, x: &Val<'p>, dy: &Val<'p>, is_needed: bool) -> R<(Val<'p>, Val<'p>)> {
        self.backward(f, x, is_needed, &mut |lo, y| lo.like(dy, y, DIRECTION, true))
    }

    /// The value of a function at `x`, which must be a float, and its gradient. The value is one that is needed, or must not be used.
    pub fn grad(&mut self, f: &Val<'p>, x: &Val<'p>, is_needed: bool) -> R<(Val<'p>, Val<'p>)> {
        self.backward(f, x, is_needed, &mut |lo, y| match y {
            Val::Scalar(_, p) if p.is_float() => Ok(Val::Scalar(Atom::Const(Scalar::from_i64(*p, 1)), *p)),
            _ => Err(no_gradient(lo)),
        })
    }

    fn backward(
        &mut self,
        f: &Val<'p>,
        x: &Val<'p>,
        is_needed: bool,
        dy: &mut dyn FnMut(&mut Self, &Val<'p>) -> R<Val<'p>>,
    ) -> R<(Val<'p>, Val<'p>)> {
        let start = self.scope.blocks.last().map_or(0, |b| b.stms.len());
        let (copies, y, mut stms) = self.at_copy(f, x)?;
        extremum::joined(self, &mut stms, &columns(&y));
        let scope = Scope { depth: self.depth(), ..Scope::default() };
        let mut reverse = Reverse { scopes: vec![scope], ..Reverse::default() };
        let floats = copies.iter().zip(x.leaves()).filter(|(_, (_, p))| p.is_float());
        floats.filter_map(|(copy, _)| copy.var()).for_each(|v| reverse.input(v));
        reverse.note_active(self, &stms);
        let steps = reverse.forward(self, stms)?;
        let dy = dy(self, &y)?;
        for ((a, _), (d, _)) in y.leaves().into_iter().zip(dy.leaves()) {
            reverse.contribute(self, a, d)?;
        }
        reverse.back(self, steps)?;
        let mut leaves = Vec::new();
        for ((a, p), copy) in x.leaves().into_iter().zip(copies) {
            let ty = self.leaf_type(a, p);
            leaves.push(match copy.var().and_then(|v| reverse.scope().adjoints.get(&v)) {
                Some(d) => self.as_type(*d, &ty),
                None => self.zeros(&ty)?,
            });
        }
        if !is_needed {
            let results: Vec<Var> = leaves.iter().filter_map(|a| a.var()).collect();
            reverse.remove_repeated(self, start, &results);
        }
        let dx = self.with_leaves(x, leaves)?;
        Ok((y, dx))
    }
}

/// E0516.
fn no_gradient(lo: &Lower) -> Box<Diagnostic> {
    let message = "a gradient is that of a function whose result is one float";
    Box::new(
        Diagnostic::error("E0516", message, lo.place.span).here("this function gives something else").note(
            "`vjp f x dy` is for results of any type: `dy` says how much each float of the result counts",
        ),
    )
}

impl Reverse {
    fn scope(&mut self) -> &mut Scope {
        if self.scopes.is_empty() {
            self.scopes.push(Scope::default());
        }
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }

    /// Makes a variable one that the rest depends on.
    fn input(&mut self, v: Var) {
        self.active.insert(v);
        self.scope().own.insert(v);
    }

    /// Runs `f` in a new scope, whose block is that of this depth, in which these variables have their whole adjoint, and gives the scope back.
    fn inside<T>(
        &mut self,
        depth: usize,
        own: impl IntoIterator<Item = Var>,
        f: impl FnOnce(&mut Self) -> R<T>,
    ) -> R<(Scope, T)> {
        self.scopes.push(Scope { depth, own: own.into_iter().collect(), ..Scope::default() });
        let tape = self.tape.take();
        let result = f(self);
        self.tape = tape;
        let scope = self.scopes.pop().unwrap_or_default();
        Ok((scope, result?))
    }

    fn is_active(&self, a: Atom) -> bool {
        a.var().is_some_and(|v| self.active.contains(&v))
    }

    /// Adds to the adjoint of a whole variable.
    fn contribute(&mut self, lo: &mut Lower, a: Atom, d: Atom) -> R<()> {
        let Some(v) = a.var().filter(|v| self.active.contains(v)) else { return Ok(()) };
        let v = self.original_here(v);
        let ty = lo.type_of(v).clone();
        let d = lo.as_type(d, &ty);
        let sum = match self.scope().adjoints.get(&v) {
            Some(old) => lo.plus(*old, d, &ty)?,
            None => d,
        };
        self.scope().adjoints.insert(v, sum);
        Ok(())
    }

    /// Adds to the adjoint of an element or a row.
    fn contribute_at(&mut self, lo: &mut Lower, arr: Var, at: &[Atom], d: Atom, ty: &Type) -> R<()> {
        if !self.active.contains(&arr) || self.contribute_to_whole(lo, arr, at, (d, ty))? {
            return Ok(());
        }
        if let Some((of, start)) = self.part_here(arr) {
            let row = lo.add(start, at[0]);
            let at: Vec<Atom> = std::iter::once(row).chain(at[1..].iter().copied()).collect();
            return self.contribute_at(lo, of, &at, d, ty);
        }
        if self.scope().sums.contains_key(&arr) {
            let place = self.place(lo, arr, at)?;
            let list = lo.as_list(place, d, ty)?;
            return self.add_to_sums(lo, arr, list).map(drop);
        }
        if self.scope().own.contains(&arr) {
            let part = |all| Exp::Index(all, at.to_vec());
            let (all, value) = self.with_part(lo, arr, (d, ty), &part)?;
            let at = par_ir::core::At::indices(at);
            let new = lo.emit("d", lo.type_of(arr).clone(), Exp::Update { arr: all, at, value });
            self.scope().adjoints.insert(arr, new.into());
            return Ok(());
        }
        if ty.is_scalar() {
            let at = if lo.type_of(arr).is_regular() { at.to_vec() } else { vec![self.place(lo, arr, at)?] };
            let at = at.into_iter().map(Along::Index).collect();
            self.scope().parts.entry(arr).or_default().elements.push(Element { at, value: d });
            return Ok(());
        }
        let start = self.place(lo, arr, at)?;
        let list = lo.as_list(start, d, ty)?;
        self.scope().parts.entry(arr).or_default().lists.push(list);
        Ok(())
    }

    /// The adjoint of an array so far, and `d` added to the part of it that an expression takes; only `d` if there is none yet.
    fn with_part(
        &mut self,
        lo: &mut Lower,
        arr: Var,
        (d, ty): (Atom, &Type),
        part: &dyn Fn(Var) -> Exp,
    ) -> R<(Var, Atom)> {
        self.end_sums(lo, arr)?;
        let is_first = !self.scope().adjoints.contains_key(&arr);
        let all = self.whole(lo, arr)?;
        if is_first {
            return Ok((all, d));
        }
        let old = lo.emit("d", ty.clone(), part(all));
        Ok((all, lo.plus(old.into(), d, ty)?))
    }

    /// Adds to the adjoints of elements.
    fn contribute_list(&mut self, lo: &mut Lower, arr: Var, list: List) -> R<()> {
        if let Some((whole, base)) = self.whole_of(lo, arr)? {
            let list = lo.further_on(list, base)?;
            self.scope().parts.entry(whole).or_default().lists.push(list);
            return Ok(());
        }
        let arr = self.original_here(arr);
        if !self.scope().own.contains(&arr) {
            self.scope().parts.entry(arr).or_default().lists.push(list);
            return Ok(());
        }
        if self.add_to_sums(lo, arr, list)? {
            return Ok(());
        }
        let all = self.whole(lo, arr)?;
        let ty = lo.type_of(arr).clone();
        let (_, flat) = lo.flat(all)?;
        let sum = lo.added_at(flat, list)?;
        let sum = lo.unflat(sum, &ty)?;
        self.scope().adjoints.insert(arr, sum.into());
        Ok(())
    }

    /// The adjoint of an array so far.
    fn whole(&mut self, lo: &mut Lower, arr: Var) -> R<Var> {
        self.end_sums(lo, arr)?;
        let d = match self.scope().adjoints.get(&arr) {
            Some(d) => *d,
            None => {
                let ty = lo.type_of(arr).clone();
                lo.zeros(&ty)?
            }
        };
        lo.leaf_var(d)
    }

    /// The adjoint so far, or zero.
    fn or_zeros(&mut self, lo: &mut Lower, v: Var) -> R<Atom> {
        self.end_sums(lo, v)?;
        match self.scope().adjoints.get(&v) {
            Some(d) => Ok(*d),
            None => {
                let ty = lo.type_of(v).clone();
                lo.zeros(&ty)
            }
        }
    }

    /// A copy of code with fresh variables.
    fn copy<C: Placed>(&mut self, lo: &mut Lower, code: &C, subst: &mut Subst) -> C {
        let copy = lo.refreshed(code, subst);
        for (old, new) in subst.iter() {
            let Some(new) = new.var() else { continue };
            if self.active.contains(old) {
                self.active.insert(new);
            }
            if self.bits.contains(old) {
                self.bits.insert(new);
            }
            if self.needed.contains(old) {
                self.needed.insert(new);
            }
            if let Some(n) = self.around.get(old) {
                self.around.insert(new, *n);
            }
        }
        copy
    }
}
