//! In-place updates of whole arrays by arms and iterations: the arrays stay where they are, and positions write to their own rows.
//!
//! ```text
//! loop (xs = xs0) for i < n do if c { xs with [j] = v } else { xs }       -- n and c differ between positions
//!
//! xs = xs0 of all positions, packed                 -- never packed again: positions that are done keep their rows in it
//! while active > 0:
//!   yes = positions where c
//!   xs  = scatter into xs at the rows of yes        -- costs one element a position
//! ```
//!
//! An array is **in place** for a level if it holds a row of its own for every position of that level. It is so for levels that select from
//! the positions, too: rows updated there are neither copied out nor merged back.

use super::nest::{Kind, LevelId};
use super::rep::{Arr, Rep, Src};
use super::{Flattener, Result};
use par_ir::alias::root_unless;
use par_ir::core::{Body, Param, Stm};
use par_ir::flat::{self, Ty};
use par_ir::{Atom, Dim, Type, Var};

impl Flattener<'_> {
    /// The array from outside a body that `v` is a version of, if nothing uses a version after the next one is there.
    fn root(&self, body: &Body, v: Var) -> Option<Var> {
        root_unless(body, v, &|v| self.facts.live_after_update.contains(&v))
    }

    /// The level that an array is in place for, if it is also for `level`.
    pub fn in_place_for(&self, level: LevelId, data: Var) -> Option<LevelId> {
        let of = self.shapes.in_place.get(&data)?.1;
        let mut at = level;
        while at != of {
            match self.shapes.level(at).kind {
                Kind::Pack { .. } | Kind::Part { .. } => at = self.shapes.parent(at),
                Kind::Root | Kind::Dim(_) => return None,
            }
        }
        Some(of)
    }

    /// The array in place that a variable stands for, if it is one.
    pub fn as_in_place(&self, level: LevelId, v: Var) -> Option<(Arr, Var)> {
        let Some(Rep::Array(arr)) = self.env.get(&v) else { return None };
        let Src::Data(d, _) = arr.src else { return None };
        self.in_place_for(level, d)?;
        // A part of the rows, or rows in another order, is something else.
        let layout = &self.shapes.in_place[&d].0;
        let same = arr.start == layout.start && arr.inner == layout.inner && arr.stride.is_none();
        same.then(|| (arr.clone(), d))
    }

    /// Per state of a loop: true if it stays in place, since every iteration only updates it.
    pub fn in_place_states(&self, params: &[(Param, Atom)], body: &Body) -> Vec<bool> {
        let names: Vec<Var> = params.iter().map(|(p, _)| p.var).collect();
        let of_state = |d: &Dim| match d {
            Dim::Size(a) => a.var().is_some_and(|v| names.contains(&v)),
            Dim::Seg(s) => names.contains(s),
        };
        let is_updated = |((p, init), last): (&(Param, Atom), &Atom)| {
            let updated = !p.ty.is_scalar() && !p.ty.is_desc() && self.facts.consumed.contains(&p.var);
            let result = last.var().and_then(|v| self.root(body, v));
            updated && result == Some(p.var) && init.var().is_some() && !p.ty.dims.iter().any(of_state)
        };
        params.iter().zip(&body.results).map(is_updated).collect()
    }

    /// Keeps a loop's state, which starts as `init`, and its result in place.
    pub fn keep_in_place(&mut self, level: LevelId, p: &Param, init: Atom, result: Var) {
        let v = init.var().expect("an array is a variable");
        let (arr, data) = self.destination(level, v);
        let of = self.in_place_for(level, data).unwrap_or(level);
        self.own.layouts.insert(p.var, (arr.clone(), of));
        self.own.layouts.insert(result, (arr, of));
    }

    /// Results of a body that are versions of arrays in place, each with the variable that stands for the version before.
    pub fn bind_versions(&mut self, level: LevelId, versions: &[(Atom, Param)]) -> Result {
        for (a, p) in versions {
            let data = self.in_place_version(level, *a, p.var)?;
            let result = Param { var: a.var().expect("an array is a variable"), ty: p.ty.clone() };
            let (layout, before) = self.as_in_place(level, p.var).expect("kept in place");
            let of = self.shapes.in_place[&before].1;
            self.types.insert(result.var, result.ty);
            self.name_version(result.var, &layout, of, data);
        }
        Ok(())
    }

    /// Binds a variable to a version of the array in place that `state` started as.
    pub fn bind_in_place(&mut self, p: &Param, state: Var, data: Var) {
        let (layout, of) = self.own.layouts[&state].clone();
        self.types.insert(p.var, p.ty.clone());
        self.name_version(p.var, &layout, of, data);
    }

    fn name_version(&mut self, v: Var, layout: &Arr, of: LevelId, data: Var) {
        let Src::Data(before, prim) = layout.src else { unreachable!("arrays in place are data") };
        if let Some(extent) = self.shapes.extents.get(&before).cloned() {
            self.shapes.extents.insert(data, extent);
        }
        let arr = Arr { src: Src::Data(data, prim), ..layout.clone() };
        self.shapes.in_place.insert(data, (arr.clone(), of));
        self.env.insert(v, Rep::Array(arr));
    }

    /// Per result of a branch: the array that both arms give a version of, if it stays in place.
    pub fn in_place_results(&mut self, level: LevelId, stm: &Stm, arms: [&Body; 2]) -> Vec<Option<Var>> {
        let roots = self.in_place_roots(stm, arms);
        let in_place =
            |(v, p): (Option<Var>, &Param)| v.filter(|v| self.is_or_becomes_in_place(level, *v, &p.ty));
        roots.into_iter().zip(&stm.pat).map(in_place).collect()
    }

    /// Per result of a branch: the array that both arms give an updated version of.
    pub fn in_place_roots(&self, stm: &Stm, [then, other]: [&Body; 2]) -> Vec<Option<Var>> {
        let mut found: Vec<Option<Var>> = Vec::new();
        for (i, p) in stm.pat.iter().enumerate() {
            let of = |body: &Body| {
                body.results[i].var().filter(|_| !p.ty.is_scalar()).and_then(|v| self.root(body, v))
            };
            let v = of(then).filter(|v| of(other) == Some(*v) && self.facts.consumed.contains(v));
            found.push(v.filter(|v| !found.contains(&Some(*v))));
        }
        found
    }

    fn is_or_becomes_in_place(&mut self, level: LevelId, v: Var, ty: &Type) -> bool {
        let Some(Rep::Array(arr)) = self.env.get(&v).cloned() else { return false };
        let Src::Data(data, _) = arr.src else { return false };
        if ty.is_desc() || self.types.get(&v) != Some(ty) || self.builder.ropes.contains(&data) {
            return false;
        }
        if self.as_in_place(level, v).is_some() {
            return true;
        }
        let packed = self.is_packed(level, &arr, ty);
        if packed {
            self.shapes.in_place.insert(data, (arr, level));
        }
        packed
    }

    /// The version of an array in place that a value at a level is; if it is something else with the same shape, its elements are
    /// written back. `current` stands for the version before.
    pub fn in_place_version(&mut self, level: LevelId, a: Atom, current: Var) -> Result<Var> {
        let v = a.var().expect("an array is a variable");
        let before = self.arr(current);
        if let Some((arr, data)) = self.as_in_place(level, v)
            && (&arr.start, &arr.inner) == (&before.start, &before.inner)
        {
            return Ok(data);
        }
        let Src::Data(data, prim) = before.src else { unreachable!("arrays in place are data") };
        let (at, to, from) = self.elements_of_both(level, before, v);
        let new = self.builder.vars.fresh_like(data);
        self.write_elements(at, to, from, data, flat::Param { var: new, ty: Ty::Array(prim) });
        Ok(new)
    }

    /// Lets `v` stand for the next version of the array in place that it stands for.
    pub fn next_version(&mut self, level: LevelId, v: Var, data: Var) {
        let (layout, before) = self.as_in_place(level, v).expect("asked before");
        let of = self.shapes.in_place[&before].1;
        self.name_version(v, &layout, of, data);
    }
}
