//! Loops: from the last iteration to the first, with the state that the tape holds.

use super::tape::Tape;
use super::{List, Lower, R, Reverse, Scope};
use par_ir::core::{At, Body, Exp, LoopForm, Param};
use par_ir::visit::Code;
use par_ir::{Atom, Dim, Prim, Scalar, Type, Var};
use std::collections::BTreeMap;

/// The loop that goes backward, as far as it is made.
#[derive(Default)]
struct Backward<'p> {
    block: super::super::super::build::Block<'p>,
    params: Vec<(Param, Atom)>,
    results: Vec<Atom>,
    pat: Vec<Param>,
    /// Of the iteration: from 0 up, though it goes backward.
    index: Option<Var>,
}

impl<'p> Backward<'p> {
    /// Adds a variable to the state, of a type that the state does not change.
    fn add(&mut self, lo: &mut Lower<'p>, p: Param, init: Atom, result: Atom) -> Var {
        let last = lo.param("d", p.ty.clone());
        let var = last.var;
        self.params.push((p, init));
        self.results.push(result);
        self.pat.push(last);
        var
    }

    /// Adds a size and arrays of that size to the state.
    fn add_sized(
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
    fn with<T>(&mut self, lo: &mut Lower<'p>, f: impl FnOnce(&mut Lower<'p>) -> R<T>) -> R<T> {
        let (block, result) = lo.resume(std::mem::take(&mut self.block), f);
        self.block = block;
        result
    }
}

/// The adjoint of a variable of the state.
struct Carried {
    /// Number of the variable.
    number: usize,
    /// Its size, if that changes: then the adjoint is carried in one dimension.
    size: Option<Param>,
    adjoint: Param,
    init: Vec<Atom>,
}

impl Reverse {
    pub(super) fn back_loop<'p>(
        &mut self,
        lo: &mut Lower<'p>,
        (pat, adjoints): (&[Param], &[Option<Atom>]),
        params: &[(Param, Atom)],
        form: &LoopForm,
        body: &Body,
        tape: &Tape,
    ) -> R<()> {
        let state: Vec<Var> = params.iter().map(|(p, _)| p.var).collect();
        let shared: Vec<Var> = self.shared(lo, body).into_iter().filter(|v| !state.contains(v)).collect();
        let mut before = BTreeMap::new();
        for v in &shared {
            before.insert(*v, self.or_zeros(lo, *v)?);
        }
        let firsts = self.first_adjoints(lo, (pat, adjoints), params)?;
        let mut back = Backward::default();
        let mut arrays = Vec::new();
        let (block, (carried, scope, outs, own)) = lo.in_block(|lo| {
            let index = lo.fresh("i", Type::I64);
            back.index = Some(index);
            let mut own = BTreeMap::new();
            for v in &shared {
                let ty = lo.type_of(*v).clone();
                own.insert(*v, lo.param("d", ty));
            }
            let carried: Vec<Carried> = firsts
                .into_iter()
                .map(|(number, sized, init)| {
                    let ty = params[number].0.ty.clone();
                    let size = sized.then(|| lo.size_param("k"));
                    let ty = match &size {
                        Some(k) => Type::array(vec![Dim::Size(k.var.into())], ty.prim()),
                        None => ty,
                    };
                    Carried { number, size, adjoint: lo.param("d", ty), init }
                })
                .collect();
            let last = lo.sub(tape.count, Atom::i64(1));
            let i = lo.sub(last, index.into());
            let along: Vec<Param> =
                tape.carried().iter().map(|k| lo.param("x", params[*k].0.ty.clone())).collect();
            let (values, mut subst) = tape.state(lo, params, i, &along)?;
            for (k, p) in tape.carried().into_iter().zip(along) {
                arrays.push((p, pat[k].var.into(), values[k].into()));
            }
            if let LoopForm::For { index, prim, .. } = form {
                subst.insert(*index, lo.conv(Prim::I64, *prim, i));
            }
            for ((p, _), v) in params.iter().zip(&values) {
                if self.active.contains(&p.var) {
                    self.active.insert(*v);
                }
                if self.bits.contains(&p.var) {
                    self.bits.insert(*v);
                }
            }
            let inner = values.iter().chain(&shared).copied();
            let (mut scope, ()) = self.inside(inner, |rev| {
                rev.scope().adjoints = own.iter().map(|(v, p)| (*v, p.var.into())).collect();
                let body = rev.copy(lo, body, &mut subst);
                let steps = rev.forward(lo, body.stms)?;
                for c in &carried {
                    let result = body.results[c.number];
                    let Some(v) = result.var().filter(|v| rev.active.contains(v)) else { continue };
                    let ty = lo.type_of(v).clone();
                    let d = match c.size {
                        Some(_) => lo.unflat(c.adjoint.var, &ty)?,
                        None => c.adjoint.var,
                    };
                    rev.contribute(lo, result, d.into())?;
                }
                rev.back(lo, steps)
            })?;
            let mut outs = Vec::new();
            for c in &carried {
                let v = values[c.number];
                let ty = lo.type_of(v).clone();
                let d = match scope.adjoints.remove(&v) {
                    Some(d) => d,
                    None => lo.zeros(&ty)?,
                };
                outs.push(match c.size {
                    Some(_) => {
                        let (size, flat) = lo.flat(lo.leaf_var(d)?)?;
                        vec![size, flat.into()]
                    }
                    None => vec![lo.as_type(d, &c.adjoint.ty)],
                });
            }
            for v in &values {
                scope.adjoints.remove(v);
            }
            Ok((carried, scope, outs, own))
        })?;
        back.block = block;
        for (p, after, before) in arrays {
            back.add(lo, p, after, before);
        }
        self.close_loop(lo, back, (carried, outs), (own, before), scope, (params, tape.count))
    }

    /// The adjoints that the state has in the end: number of the variable, true if its size changes, first values.
    #[allow(clippy::type_complexity, reason = "a list of triples")]
    fn first_adjoints(
        &mut self,
        lo: &mut Lower,
        (pat, adjoints): (&[Param], &[Option<Atom>]),
        params: &[(Param, Atom)],
    ) -> R<Vec<(usize, bool, Vec<Atom>)>> {
        let state: Vec<Var> = params.iter().map(|(p, _)| p.var).collect();
        let mut out = Vec::new();
        for (i, (p, _)) in params.iter().enumerate() {
            if !self.active.contains(&p.var) {
                continue;
            }
            let d = match adjoints[i] {
                Some(d) => d,
                None => lo.zeros(&pat[i].ty)?,
            };
            let sized = state.iter().any(|v| p.ty.mentions(*v));
            let init = if sized {
                let (size, flat) = lo.flat(lo.leaf_var(d)?)?;
                vec![size, flat.into()]
            } else {
                vec![lo.as_type(d, &p.ty)]
            };
            out.push((i, sized, init));
        }
        Ok(out)
    }

    #[allow(clippy::type_complexity, reason = "parts of one loop")]
    fn close_loop<'p>(
        &mut self,
        lo: &mut Lower<'p>,
        mut back: Backward<'p>,
        (carried, outs): (Vec<Carried>, Vec<Vec<Atom>>),
        (own, before): (BTreeMap<Var, Param>, BTreeMap<Var, Atom>),
        mut scope: Scope,
        (params, count): (&[(Param, Atom)], Atom),
    ) -> R<()> {
        let mut shared = Vec::new();
        for (v, p) in own {
            let ty = p.ty.clone();
            let result = scope.adjoints.remove(&v).unwrap_or(p.var.into());
            let result = back.with(lo, |lo| Ok(lo.as_type(result, &ty)))?;
            shared.push((v, back.add(lo, p, before[&v], result)));
        }
        let mut states = Vec::new();
        for (c, out) in carried.into_iter().zip(outs) {
            let last = match c.size {
                Some(size) => back.add_sized(lo, (size, vec![c.adjoint]), c.init, out).1[0],
                None => back.add(lo, c.adjoint, c.init[0], out[0]),
            };
            states.push((c.number, last));
        }
        let further = self.further_out(lo, &mut back, scope, count)?;
        let Backward { block, params: all, results, pat, index } = back;
        let Some(index) = index else { return Err(lo.internal("a loop without an index")) };
        let form = LoopForm::For { index, prim: Prim::I64, bound: count };
        lo.push(pat, Exp::Loop { params: all, form, body: Body { stms: block.stms, results } });
        for (v, d) in shared {
            self.scope().adjoints.insert(v, d.into());
        }
        for (number, d) in states {
            let init = params[number].1;
            let Some(v) = init.var().filter(|v| self.active.contains(v)) else { continue };
            let ty = lo.type_of(v).clone();
            let d = if lo.type_of(d).rank() == ty.rank() { d } else { lo.unflat(d, &ty)? };
            self.contribute(lo, init, d.into())?;
        }
        for (v, found) in further {
            match found {
                Found::Whole(d) => self.contribute(lo, v.into(), d.into())?,
                Found::List(list) => self.contribute_list(lo, v, list)?,
                Found::Rows(rows) => {
                    let ((count, places), (_, values)) = (lo.flat(rows.places)?, lo.flat(rows.values)?);
                    self.contribute_list(lo, v, List { count, places, values })?;
                }
            }
        }
        Ok(())
    }

    /// What iterations add to arrays that belong further out.
    fn further_out<'p>(
        &mut self,
        lo: &mut Lower<'p>,
        back: &mut Backward<'p>,
        mut scope: Scope,
        count: Atom,
    ) -> R<Vec<(Var, Found)>> {
        let mut found = Vec::new();
        let level = lo.blocks.len();
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

/// What a loop adds to an array.
enum Found {
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
