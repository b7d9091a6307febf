//! Arrays that a recursion passes on as they are, or parts of them: what calls add to their adjoints goes to an accumulator.
//!
//! ```text
//! def f (xs: []f64) (i: i64) = … xs[i] … f xs (i + 1)          f* (xs, i, …, base, acc) = …
//! ```
//!
//! The adjoint of the whole array in each call would take the square of what a deep recursion reads. Places are those in the array that the first
//! call got, flat: `base` is the one at which the parameter begins there. What is added to a part of the parameter (`xs[1:]`) is added to the
//! parameter at once.
//!
//! Accumulators have no derivatives. Where tapes must have some, a call gives a list, `(k, places, values)`, which grows by what it adds, and
//! becomes one histogram where the array belongs.

use super::super::super::remainders::part_of;
use super::super::is_float;
use super::accumulators::Sums;
use super::{Along, Element, List, Lower, Parts, R, Reverse};
use par_ir::core::{Body, Exp, FunId, LoopForm, Param, Stm};
use par_ir::hash::{HashMap, HashSet};
use par_ir::{Atom, Dim, Prim, Type, Var};
use std::collections::BTreeSet;

/// Place of an array in another one.
#[derive(Clone, Copy)]
pub(super) struct Part {
    of: Var,
    /// The row at which it begins.
    start: Atom,
    /// Only another name.
    is_whole: bool,
}

/// A parameter whose adjoint is added to an accumulator, or is a list.
#[derive(Clone, Copy)]
pub(super) struct Shared {
    /// Stands for the array that the first call got.
    whole: Var,
    base: Atom,
    acc: Option<Var>,
}

/// Uses of a function's parameters in calls that lead back to it.
#[derive(Default)]
struct Passed {
    /// By variable, the number of the parameter that it is, or is a part of, and whether it is that parameter.
    origins: HashMap<Var, (usize, bool)>,
    whole: HashSet<usize>,
    /// Number of calls that take a part.
    parts: HashMap<usize, usize>,
    /// Parameters that a call reads from one end to the other: an adjoint of the whole array costs no more than that.
    dense: HashSet<usize>,
    /// Parameters of which elements are read at computed indices. One that is read at constant indices only is few numbers.
    indexed: HashSet<usize>,
    /// The widths of the maps and the bounds of the loops around.
    widths: Vec<Atom>,
}

impl Lower<'_> {
    /// For each parameter of a function, whether its adjoint is one for all calls: an array of which calls read elements, and which the recursion passes
    /// on, or passes parts of; one part if adjoints are lists, which would be joined at each depth.
    pub(super) fn shared_params(&mut self, id: FunId) -> Vec<bool> {
        if let Some(known) = self.derivatives.shared.get(&id) {
            return known.clone();
        }
        let fun = &self.out.funs[id.0 as usize];
        let mut passed = Passed::default();
        let is_array = |p: &Param| is_float(&p.ty) && !p.ty.is_scalar() && p.ty.is_regular();
        let arrays = fun.params.iter().enumerate().filter(|(_, p)| is_array(p));
        passed.origins.extend(arrays.map(|(i, p)| (p.var, (i, true))));
        if !passed.origins.is_empty() && !self.derivatives.given.contains_key(&id) {
            passed.look(self, id, &fun.body);
        }
        let most = if self.derivatives.joined { 1 } else { usize::MAX };
        let in_parts = |i| passed.parts.get(&i).is_some_and(|n| *n <= most);
        let is_passed = |i| passed.whole.contains(&i) && passed.indexed.contains(&i) || in_parts(i);
        let is_shared = |i| is_passed(i) && !passed.dense.contains(&i);
        let shared: Vec<bool> = (0..fun.params.len()).map(is_shared).collect();
        self.derivatives.shared.insert(id, shared.clone());
        shared
    }

    /// Variables for a list.
    pub(super) fn list_params(&mut self, prim: Prim) -> [Param; 3] {
        let k = self.size_param("k");
        let size = vec![Dim::Size(k.var.into())];
        let places = self.param("places", Type::array(size.clone(), Prim::I64));
        let values = self.param("d", Type::array(size, prim));
        [k, places, values]
    }

    /// A list, all its places so much further on.
    pub(super) fn further_on(&mut self, list: List, base: Atom) -> R<List> {
        if base == Atom::i64(0) {
            return Ok(list);
        }
        Ok(List { places: self.moved_places(list, base)?, ..list })
    }
}

impl Passed {
    fn look(&mut self, lo: &Lower, id: FunId, body: &Body) {
        for stm in &body.stms {
            self.look_at(lo, id, stm);
            self.widths.push(width(&stm.exp));
            super::super::super::deep(|| stm.exp.for_each_body(|b| self.look(lo, id, b)));
            self.widths.pop();
        }
        self.use_whole(&body.results);
    }

    fn look_at(&mut self, lo: &Lower, id: FunId, stm: &Stm) {
        if let Some((of, _)) = part_of(&stm.exp) {
            if let Some((i, is_whole)) = self.origins.get(&of).copied() {
                let is_whole = is_whole && matches!(stm.exp, Exp::Atom(_));
                self.origins.insert(stm.pat[0].var, (i, is_whole));
            }
            return;
        }
        match &stm.exp {
            Exp::Index(arr, at) => {
                let is_computed = at.iter().any(|i| i.var().is_some());
                let of = self.origins.get(arr).filter(|_| is_computed);
                self.indexed.extend(of.map(|(i, _)| *i));
                let is_along = |d: &Dim| matches!(d, Dim::Size(n) if self.widths.contains(n));
                if lo.type_of(*arr).dims.iter().any(is_along) {
                    self.use_whole(&[Atom::Var(*arr)]);
                }
            }
            Exp::Call(to, args) if lo.out.leads_to(*to, id) => {
                let given = args.iter().filter_map(|a| self.origins.get(&a.var()?));
                let (whole, parts): (BTreeSet<_>, BTreeSet<_>) =
                    given.copied().partition(|(_, is_whole)| *is_whole);
                self.whole.extend(whole.into_iter().map(|(i, _)| i));
                parts.into_iter().for_each(|(i, _)| *self.parts.entry(i).or_default() += 1);
            }
            exp => {
                let mut used = Vec::new();
                exp.for_each_operand(&mut |a| used.push(a));
                self.use_whole(&used);
            }
        }
    }

    fn use_whole(&mut self, used: &[Atom]) {
        let used = used.iter().filter_map(|a| self.origins.get(&a.var()?));
        self.dense.extend(used.map(|(i, _)| *i));
    }
}

/// The number of times that code in an expression runs; 1 if that is not known.
fn width(exp: &Exp) -> Atom {
    match exp {
        Exp::Loop { form: LoopForm::For { bound, .. }, .. } => *bound,
        Exp::Map { width, .. }
        | Exp::Reduce { width, .. }
        | Exp::Scan { width, .. }
        | Exp::Filter { width, .. }
        | Exp::Scatter { width, .. }
        | Exp::Hist { width, .. } => *width,
        _ => Atom::i64(1),
    }
}

impl Reverse {
    /// Makes a function's parameter one whose adjoint is one for all calls.
    pub(super) fn share(&mut self, lo: &mut Lower, p: &Param, base: Atom, acc: Option<Var>) {
        let size = Dim::Size(Atom::i64(-1));
        let whole = lo.fresh("whole", Type::array(vec![size], p.ty.prim()));
        self.active.insert(p.var);
        self.shared.insert(p.var, Shared { whole, base, acc });
    }

    /// The accumulator of a parameter.
    pub(super) fn shared_sums(&self, v: Var) -> Option<Sums> {
        let Shared { base, acc, .. } = *self.shared.get(&v)?;
        acc.map(|acc| Sums { acc, base })
    }

    /// The array that this one is a part of, and at which row, if the whole is wanted, too.
    pub(super) fn part_of(&self, v: Var) -> Option<(Var, Atom)> {
        let Part { of, start, .. } = *self.within.get(&v)?;
        self.active.contains(&of).then_some((of, start))
    }

    /// Notes that a statement binds a part of another array.
    pub(super) fn note_part(&mut self, pat: &[Param], exp: &Exp) {
        if let Some((of, start)) = part_of(exp)
            && !pat[0].ty.is_scalar()
            && pat[0].ty.is_regular()
        {
            let is_whole = matches!(exp, Exp::Atom(_));
            self.within.insert(pat[0].var, Part { of, start, is_whole });
        }
    }

    /// The array that this one is a part of, and at which row, if that has its whole adjoint here and this has none so far.
    pub(super) fn part_here(&mut self, arr: Var) -> Option<(Var, Atom)> {
        let Part { of, start, .. } = self.within.get(&arr).copied()?;
        let scope = self.scope();
        (scope.own.contains(&of) && !scope.adjoints.contains_key(&arr)).then_some((of, start))
    }

    /// The variable that this one is another name for, if that has its whole adjoint here.
    pub(super) fn original_here(&mut self, v: Var) -> Var {
        match self.within.get(&v).copied() {
            Some(Part { of, is_whole: true, .. }) if self.scope().own.contains(&of) => self.original_here(of),
            _ => v,
        }
    }

    /// The arrays that this one is a part of.
    pub(super) fn wholes(&self, arr: Var) -> Vec<Var> {
        let whole = |v: &Var| self.within.get(v).map(|part| part.of);
        std::iter::successors(whole(&arr), whole).collect()
    }

    /// True for a parameter whose adjoint is one for all calls, and for its parts.
    pub(super) fn is_shared(&self, arr: Var) -> bool {
        self.shared.contains_key(&arr) || self.within.get(&arr).is_some_and(|part| self.is_shared(part.of))
    }

    /// The array to which contributions to this one go, and the place at which it begins there.
    pub(super) fn whole_of(&mut self, lo: &mut Lower, arr: Var) -> R<Option<(Var, Atom)>> {
        if let Some(s) = self.shared.get(&arr) {
            return Ok(Some((s.whole, s.base)));
        }
        let Some(Part { of, start, .. }) = self.within.get(&arr).copied() else { return Ok(None) };
        let Some((whole, base)) = self.whole_of(lo, of)? else { return Ok(None) };
        if start == Atom::i64(0) {
            return Ok(Some((whole, base)));
        }
        let place = self.place(lo, of, &[start])?;
        Ok(Some((whole, lo.add(base, place))))
    }

    /// Adds to the adjoint of an element or a row, if it is one of a parameter whose adjoint is one for all calls.
    pub(super) fn contribute_to_whole(
        &mut self,
        lo: &mut Lower,
        arr: Var,
        at: &[Atom],
        (d, ty): (Atom, &Type),
    ) -> R<bool> {
        let Some((whole, base)) = self.whole_of(lo, arr)? else { return Ok(false) };
        let place = self.place(lo, arr, at)?;
        let place = lo.add(base, place);
        let parts = self.scope().parts.entry(whole).or_default();
        if ty.is_scalar() {
            parts.elements.push(Element { at: vec![Along::Index(place)], value: d });
        } else {
            let list = lo.as_list(place, d, ty)?;
            self.scope().parts.entry(whole).or_default().lists.push(list);
        }
        Ok(true)
    }

    /// Adds what a call gives for the places of the array that is its argument. It stands first: what comes later is appended to it in place.
    pub(super) fn contribute_called(&mut self, lo: &mut Lower, arg: Atom, list: List) -> R<()> {
        let Some(arr) = arg.var().filter(|v| self.active.contains(v)) else { return Ok(()) };
        match self.whole_of(lo, arr)? {
            Some((whole, _)) => {
                self.scope().parts.entry(whole).or_default().lists.insert(0, list);
                Ok(())
            }
            None => self.contribute_list(lo, arr, list),
        }
    }

    /// The place at which a call's argument begins in the array that the first call got.
    pub(super) fn base_of(&mut self, lo: &mut Lower, arg: Atom) -> R<Atom> {
        let whole = arg.var().map(|v| self.whole_of(lo, v)).transpose()?.flatten();
        Ok(whole.map_or(Atom::i64(0), |(_, base)| base))
    }

    /// All contributions to a parameter as one list.
    pub(super) fn shared_adjoint(&mut self, lo: &mut Lower, p: &Param) -> R<List> {
        let all = Some(Parts { elements: Vec::new(), lists: self.shared_lists(lo, p)? });
        let list = lo.one_list(all, None)?;
        Ok(list.unwrap_or_else(|| lo.empty_list(p.ty.prim())))
    }

    /// Adds all contributions to a parameter to its accumulator.
    pub(super) fn add_shared(&mut self, lo: &mut Lower, p: &Param) -> R<()> {
        let Some(Sums { acc, .. }) = self.shared_sums(p.var) else {
            return Err(lo.internal("a parameter with an accumulator"));
        };
        for list in self.shared_lists(lo, p)? {
            lo.add_list(acc, p.ty.prim(), list);
        }
        Ok(())
    }

    /// The contributions of a function's own code to a parameter.
    fn shared_lists(&mut self, lo: &mut Lower, p: &Param) -> R<Vec<List>> {
        let Some(Shared { whole, base, .. }) = self.shared.get(&p.var).copied() else {
            return Err(lo.internal("an adjoint that is a list"));
        };
        let mut scope = std::mem::take(self.scope());
        self.without_axes(lo, &mut scope, p.var)?;
        let mut all = scope.parts.remove(&whole).unwrap_or_default();
        let own = scope.parts.remove(&p.var).unwrap_or_default();
        for e in own.elements {
            let place = self.element_place(lo, p.var, &e.at, &[])?;
            all.elements.push(Element { at: vec![Along::Index(lo.add(base, place))], value: e.value });
        }
        for list in own.lists {
            all.lists.push(lo.further_on(list, base)?);
        }
        if let Some(d) = scope.adjoints.remove(&p.var) {
            let (count, values) = lo.flat(lo.leaf_var(d)?)?;
            all.lists.push(List { count, places: lo.places_from(base, count)?, values });
        }
        *self.scope() = scope;
        let prim = p.ty.prim();
        if !all.elements.is_empty() {
            all.lists.push(self.single_elements(lo, whole, prim, &all.elements)?);
        }
        Ok(all.lists)
    }

    /// Values for single elements as a list.
    fn single_elements(&mut self, lo: &mut Lower, whole: Var, prim: Prim, elements: &[Element]) -> R<List> {
        let places = elements.iter().map(|e| self.element_place(lo, whole, &e.at, &[])).collect::<R<_>>()?;
        let values = elements.iter().map(|e| e.value).collect();
        Ok(lo.list_of(places, values, prim))
    }
}
