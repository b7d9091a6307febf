//! The loop that goes backward, while it is made, and what it adds to arrays that belong further out.

use super::{List, Lower, R, Reverse, Scope};
use par_ir::core::{At, Exp, Param};
use par_ir::{Atom, Dim, Prim, Scalar, Type, Var};

/// The loop that goes backward, as far as it is made.
#[derive(Default)]
pub(super) struct Backward<'p> {
    pub block: super::super::super::build::Block<'p>,
    pub params: Vec<(Param, Atom)>,
    pub results: Vec<Atom>,
    pub pat: Vec<Param>,
    /// Of the iteration: from 0 up, though it goes backward.
    pub index: Option<Var>,
}

impl<'p> Backward<'p> {
    /// Adds a variable to the state, of a type that the state does not change.
    pub fn add(&mut self, lo: &mut Lower<'p>, p: Param, init: Atom, result: Atom) -> Var {
        let last = lo.param("d", p.ty.clone());
        let var = last.var;
        self.params.push((p, init));
        self.results.push(result);
        self.pat.push(last);
        var
    }

    /// Adds a size and arrays of that size to the state.
    pub fn add_sized(
        &mut self,
        lo: &mut Lower<'p>,
        (size, arrays): (Param, Vec<Param>),
        inits: Vec<Atom>,
        results: Vec<Atom>,
    ) -> (Atom, Vec<Var>) {
        let count = lo.size_param("k");
        let last: Vec<Param> = arrays
            .iter()
            .map(|p| lo.param("d", Type::array(vec![Dim::Size(count.var.into())], p.ty.prim())))
            .collect();
        let found = (count.var.into(), last.iter().map(|p| p.var).collect());
        self.pat.push(count);
        self.pat.extend(last);
        self.params.extend(std::iter::once(size).chain(arrays).zip(inits));
        self.results.extend(results);
        found
    }

    /// Goes on in the body.
    pub fn with<T>(&mut self, lo: &mut Lower<'p>, f: impl FnOnce(&mut Lower<'p>) -> R<T>) -> R<T> {
        let (block, result) = lo.resume(std::mem::take(&mut self.block), f);
        self.block = block;
        result
    }
}

impl Reverse {
    /// Contributions of all iterations to arrays that belong further out.
    pub(super) fn further_out<'p>(
        &mut self,
        lo: &mut Lower<'p>,
        back: &mut Backward<'p>,
        mut scope: Scope,
        count: Atom,
    ) -> R<Vec<(Var, Found)>> {
        let mut found = Vec::new();
        let level = lo.scope.blocks.len();
        let index: Atom = back.index.map_or(Atom::i64(0), Atom::Var);
        for (v, d) in std::mem::take(&mut scope.adjoints) {
            let ty = lo.type_of(v).clone();
            let init = lo.zeros(&ty)?;
            let (p, sum) = back.with(lo, |lo| {
                let p = lo.param("d", ty.clone());
                let d = lo.as_type(d, &ty);
                let sum = lo.plus(p.var.into(), d, &ty)?;
                Ok((p, sum))
            })?;
            found.push((v, Found::Whole(back.add(lo, p, init, sum))));
        }
        let arrays: Vec<Var> = scope.parts.keys().copied().collect();
        for v in arrays {
            back.with(lo, |lo| self.without_axes(lo, &mut scope, v))?;
        }
        for (v, parts) in scope.parts {
            let prim = lo.type_of(v).prim();
            for element in parts.elements {
                let (place, value) =
                    (back.with(lo, |lo| self.element_place(lo, v, &element.at, &[]))?, element.value);
                let places = kept(lo, back, (count, index), (place, Prim::I64), Atom::i64(-1))?;
                let values = kept(lo, back, (count, index), (value, prim), Atom::Const(Scalar::zero(prim)))?;
                found.push((v, Found::List(List { count, places, values })));
            }
            for list in parts.lists {
                if lo.is_outside(list.count, level) {
                    found.push((v, Found::Rows(kept_list(lo, back, (count, index), list)?)));
                    continue;
                }
                let first = lo.empty_list(prim);
                let (size, places, values, next) = back.with(lo, |lo| {
                    let size = lo.size_param("k");
                    let dims = vec![Dim::Size(size.var.into())];
                    let places = lo.param("places", Type::array(dims.clone(), Prim::I64));
                    let values = lo.param("d", Type::array(dims, prim));
                    let so_far = List { count: size.var.into(), places: places.var, values: values.var };
                    let next = lo.joined(so_far, list)?;
                    Ok((size, places, values, next))
                })?;
                let inits = vec![first.count, first.places.into(), first.values.into()];
                let results = vec![next.count, next.places.into(), next.values.into()];
                let (count, all) = back.add_sized(lo, (size, vec![places, values]), inits, results);
                found.push((v, Found::List(List { count, places: all[0], values: all[1] })));
            }
        }
        Ok(found)
    }
}

/// Contribution of a loop to an array.
pub(super) enum Found {
    Whole(Var),
    List(List),
    /// A list for each iteration.
    Rows(List),
}

/// An array of the values that a scalar has in the iterations.
fn kept<'p>(
    lo: &mut Lower<'p>,
    back: &mut Backward<'p>,
    (count, index): (Atom, Atom),
    (a, prim): (Atom, Prim),
    first: Atom,
) -> R<Var> {
    let ty = Type::array(vec![Dim::Size(count)], prim);
    let init = lo.emit("d", ty.clone(), Exp::Replicate(count, first));
    let (p, next) = back.with(lo, |lo| {
        let p = lo.param("d", ty.clone());
        let update = Exp::Update { arr: p.var, at: vec![At::Index(index)], value: a };
        let next = lo.emit("d", ty, update);
        Ok((p, next))
    })?;
    Ok(back.add(lo, p, init.into(), next.into()))
}

/// All lists of the iterations, if they have one size, as one.
fn kept_list<'p>(lo: &mut Lower<'p>, back: &mut Backward<'p>, at: (Atom, Atom), list: List) -> R<List> {
    let prim = lo.type_of(list.values).prim();
    let mut rows = |p: Prim, v: Var, first: Atom| -> R<Var> {
        let row = Type::array(vec![Dim::Size(list.count)], p);
        let ty = Type::array(vec![Dim::Size(at.0), Dim::Size(list.count)], p);
        let one = lo.emit("d", row.clone(), Exp::Replicate(list.count, first));
        let init = lo.emit("d", ty.clone(), Exp::Replicate(at.0, one.into()));
        let (p, next) = back.with(lo, |lo| {
            let p = lo.param("d", ty.clone());
            let value = lo.retype_var(v, row).into();
            let next = lo.emit("d", ty, Exp::Update { arr: p.var, at: vec![At::Index(at.1)], value });
            Ok((p, next))
        })?;
        Ok(back.add(lo, p, init.into(), next.into()))
    };
    let places = rows(Prim::I64, list.places, Atom::i64(-1))?;
    let values = rows(prim, list.values, Atom::Const(Scalar::zero(prim)))?;
    Ok(List { count: list.count, places, values })
}
