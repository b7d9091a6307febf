//! Branches: the arm that was taken is run again, and gone back through.

use super::replay::Frame;
use super::{Along, Element, List, Lower, Parts, R, Reverse, Scope};
use par_ir::core::{Body, Exp, Param};
use par_ir::visit::{Code, Subst};
use par_ir::{Atom, Dim, Prim, Scalar, Type, Var};
use std::collections::{BTreeMap, BTreeSet};

/// An arm that was gone back through, and its block.
struct Arm<'p> {
    block: super::super::super::build::Block<'p>,
    scope: Scope,
    results: Vec<Atom>,
}

impl Reverse {
    /// Variables that the code uses from outside and whose adjoint is at hand: it goes in and comes out.
    pub(super) fn shared(&mut self, lo: &Lower, code: &impl Code) -> Vec<Var> {
        let mut free: BTreeSet<Var> = code.free();
        for v in free.clone() {
            free.extend(self.wholes(v));
            if self.original_here(v) != v {
                free.remove(&v);
            }
        }
        let active = free.into_iter().filter(|v| self.active.contains(v)).collect::<Vec<_>>();
        // What is added to other names and parts of a parameter whose adjoint is one for all calls goes there.
        let is_here = |v: &Var| self.scopes.last().is_some_and(|s| s.own.contains(v)) && !self.is_shared(*v);
        active.into_iter().filter(|v| is_here(v) || lo.type_of(*v).is_scalar()).collect()
    }

    pub(super) fn back_branch<'p>(
        &mut self,
        lo: &mut Lower<'p>,
        frame: Option<Frame>,
        adjoints: &[Option<Atom>],
        cond: Atom,
        arms: [&Body; 2],
    ) -> R<()> {
        let both: Vec<Body> = arms.into_iter().cloned().collect();
        let shared = self.shared(lo, &both);
        for v in &shared {
            self.end_sums(lo, *v)?;
        }
        let before: BTreeMap<Var, Atom> =
            shared.iter().filter_map(|v| Some((*v, *self.scope().adjoints.get(v)?))).collect();
        let back = |arm| self.back_arm(lo, arm, frame, (&shared, &before), adjoints);
        let mut done = arms.into_iter().map(back).collect::<R<Vec<Arm>>>()?;
        let mut pat = Vec::new();
        for v in shared {
            let changed = done.iter().any(|arm| arm.scope.adjoints.get(&v) != before.get(&v));
            if !changed {
                continue;
            }
            let ty = lo.type_of(v).clone();
            for arm in &mut done {
                let d = arm.scope.adjoints.remove(&v);
                let result = arm.with(lo, |lo| match d {
                    Some(d) => Ok(lo.as_type(d, &ty)),
                    None => lo.zeros(&ty),
                })?;
                arm.results.push(result);
            }
            let p = lo.param("d", ty);
            self.scope().adjoints.insert(v, p.var.into());
            pat.push(p);
        }
        done.iter_mut().for_each(|arm| before.keys().for_each(|v| _ = arm.scope.adjoints.remove(v)));
        self.parts_of_arms(lo, &mut pat, &mut done)?;
        let mut bodies = done.into_iter().map(|arm| Body { stms: arm.block.stms, results: arm.results });
        let (Some(then), Some(other)) = (bodies.next(), bodies.next()) else {
            return Err(lo.internal("a branch has two arms"));
        };
        if !pat.is_empty() || lo.adds([&then, &other]) {
            lo.push(pat, Exp::If { cond, then, other });
        }
        Ok(())
    }

    /// Goes back through an arm: `before` are the adjoints of what both share.
    fn back_arm<'p>(
        &mut self,
        lo: &mut Lower<'p>,
        arm: &Body,
        frame: Option<Frame>,
        (shared, before): (&[Var], &BTreeMap<Var, Atom>),
        adjoints: &[Option<Atom>],
    ) -> R<Arm<'p>> {
        let (block, scope) = lo.in_block(|lo| {
            let (scope, ()) = self.inside(lo.depth(), shared.iter().copied(), |rev| {
                rev.scope().adjoints = before.clone();
                rev.tape = frame;
                let body = rev.copy(lo, arm, &mut Subst::default());
                let steps = rev.forward(lo, body.stms)?;
                for (a, d) in body.results.iter().zip(adjoints) {
                    if let Some(d) = d {
                        rev.contribute(lo, *a, *d)?;
                    }
                }
                rev.back(lo, steps)
            })?;
            Ok(scope)
        })?;
        Ok(Arm { block, scope, results: Vec::new() })
    }

    /// Contributions of the arms to elements of arrays further out. An arm that adds less than the other adds at position -1.
    fn parts_of_arms<'p>(&mut self, lo: &mut Lower<'p>, pat: &mut Vec<Param>, arms: &mut [Arm<'p>]) -> R<()> {
        let arrays: BTreeSet<Var> = arms
            .iter()
            .flat_map(|arm| arm.scope.parts.keys().chain(arm.scope.adjoints.keys()).copied())
            .collect();
        for v in arrays {
            let prim = lo.type_of(v).prim();
            for arm in &mut *arms {
                arm.with_scope(lo, |lo, scope| self.without_axes(lo, scope, v))?;
            }
            let most =
                arms.iter().map(|a| a.scope.parts.get(&v).map_or(0, |p| p.elements.len())).max().unwrap_or(0);
            for i in 0..most {
                let [place, value] = [Type::I64, Type::scalar(prim)].map(|ty| lo.param("d", ty));
                for arm in &mut *arms {
                    let element = arm.scope.parts.get(&v).and_then(|p| p.elements.get(i)).cloned();
                    let (place, value) = match element {
                        Some(e) => (arm.with(lo, |lo| self.element_place(lo, v, &e.at, &[]))?, e.value),
                        None => (Atom::i64(-1), Atom::Const(Scalar::zero(prim))),
                    };
                    arm.results.extend([place, value]);
                }
                let at = vec![Along::Index(place.var.into())];
                let element = Element { at, value: value.var.into() };
                self.scope().parts.entry(v).or_default().elements.push(element);
                pat.extend([place, value]);
            }
            let mut lists = Vec::new();
            for arm in &mut *arms {
                let (parts, whole) = (arm.scope.parts.remove(&v), arm.scope.adjoints.remove(&v));
                lists.push(arm.with(lo, |lo| lo.one_list(parts, whole))?);
            }
            if lists.iter().all(Option::is_none) {
                continue;
            }
            let count = lo.size_param("k");
            let size = vec![Dim::Size(count.var.into())];
            let places = lo.param("places", Type::array(size.clone(), Prim::I64));
            let values = lo.param("d", Type::array(size, prim));
            for (arm, list) in arms.iter_mut().zip(lists) {
                let list = match list {
                    Some(list) => list,
                    None => arm.with(lo, |lo| Ok(lo.empty_list(prim)))?,
                };
                arm.results.extend([list.count, list.places.into(), list.values.into()]);
            }
            let list = List { count: count.var.into(), places: places.var, values: values.var };
            self.scope().parts.entry(v).or_default().lists.push(list);
            pat.extend([count, places, values]);
        }
        Ok(())
    }
}

impl<'p> Arm<'p> {
    /// Goes on in the arm, and changes what it adds.
    fn with_scope(
        &mut self,
        lo: &mut Lower<'p>,
        f: impl FnOnce(&mut Lower<'p>, &mut Scope) -> R<()>,
    ) -> R<()> {
        let mut scope = std::mem::take(&mut self.scope);
        let result = self.with(lo, |lo| f(lo, &mut scope));
        self.scope = scope;
        result
    }

    /// Goes on in the arm.
    fn with<T>(&mut self, lo: &mut Lower<'p>, f: impl FnOnce(&mut Lower<'p>) -> R<T>) -> R<T> {
        let (block, result) = lo.resume(std::mem::take(&mut self.block), f);
        self.block = block;
        result
    }
}

impl Lower<'_> {
    /// Lists, and the adjoint of the whole array, as one list.
    pub(super) fn one_list(&mut self, parts: Option<Parts>, whole: Option<Atom>) -> R<Option<List>> {
        let mut lists = parts.map(|p| p.lists).unwrap_or_default();
        if let Some(d) = whole {
            let (count, values) = self.flat(self.leaf_var(d)?)?;
            lists.push(List { count, places: self.iota(count), values });
        }
        let Some(first) = lists.first().copied() else { return Ok(None) };
        lists[1..].iter().try_fold(first, |a, b| self.joined(a, *b)).map(Some)
    }

    pub(super) fn empty_list(&mut self, prim: Prim) -> List {
        let count = Atom::i64(0);
        let mut empty =
            |p| self.emit("none", Type::array(vec![Dim::Size(count)], p), Exp::Literal(Vec::new(), p));
        List { count, places: empty(Prim::I64), values: empty(prim) }
    }

    /// Two lists as one.
    pub(super) fn joined(&mut self, a: List, b: List) -> R<List> {
        let count = self.add(a.count, b.count);
        let prim = self.type_of(a.values).prim();
        let mut join =
            |p, a, b| self.emit("list", Type::array(vec![Dim::Size(count)], p), Exp::Concat(vec![a, b]));
        let (places, values) = (join(Prim::I64, a.places, b.places), join(prim, a.values, b.values));
        Ok(List { count, places, values })
    }
}
