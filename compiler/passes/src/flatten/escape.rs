//! Escape analysis of views: parts of arrays that are needed after the array has been updated.
//!
//! ```text
//! us = a[k]                      us = a[k]
//! b  = a with [i] = …     =>     us is stored, since it would keep the old `a`, which would have to be copied as a whole
//! … us …                         b  = a with [i] = …
//! ```

use super::Flattener;
use super::nest::LevelId;
use super::rep::{Arr, Rep, Src};
use par_ir::Var;
use par_ir::core::{Exp, Stm};
use par_ir::hash::HashMap;
use par_ir::visit::Code;

/// By the number of an update: the parts of what it updates that are used after it, if the whole is not.
pub(super) fn parts(stms: &[Stm]) -> HashMap<usize, Vec<Var>> {
    let views = Views::of(stms);
    let mut found = HashMap::default();
    if views.parts.is_empty() || !stms.iter().any(|s| !updated(s).is_empty()) {
        return found;
    }
    let last = last_uses(stms);
    for (i, stm) in stms.iter().enumerate() {
        let needed = |v: &Var| last.get(v).is_some_and(|at| *at > i);
        for whole in updated(stm).into_iter().map(|v| views.whole(v)) {
            let is_of = |v: &Var| views.whole(*v) == whole;
            let kept = needed(&whole) || views.names.iter().any(|v| needed(v) && is_of(v));
            let parts: Vec<Var> = views.parts.iter().copied().filter(|v| needed(v) && is_of(v)).collect();
            if !kept && !parts.is_empty() {
                found.entry(i).or_insert_with(Vec::new).extend(parts);
            }
        }
    }
    found
}

/// Index of the last statement that uses each variable.
fn last_uses(stms: &[Stm]) -> HashMap<Var, usize> {
    stms.iter().enumerate().flat_map(|(i, s)| s.free().into_iter().map(move |v| (v, i))).collect()
}

fn updated(stm: &Stm) -> Vec<Var> {
    match &stm.exp {
        Exp::Update { arr, .. } | Exp::Accumulate(arr) => vec![*arr],
        Exp::Scatter { dests, .. } | Exp::Hist { dests, .. } => dests.clone(),
        _ => vec![],
    }
}

/// Arrays that the variables of a body are views of.
#[derive(Default)]
struct Views {
    of: HashMap<Var, Var>,
    /// Views of all elements of another array, and views of some.
    names: Vec<Var>,
    parts: Vec<Var>,
}

impl Views {
    fn of(stms: &[Stm]) -> Views {
        let mut views = Views::default();
        for stm in stms {
            let (arr, list) = match stm.exp {
                Exp::Flatten(a) | Exp::Unflatten(a) => (a, &mut views.names),
                Exp::Slice { arr, .. } => (arr, &mut views.parts),
                Exp::Index(arr, _) if !stm.pat[0].ty.is_scalar() => (arr, &mut views.parts),
                _ => continue,
            };
            list.push(stm.pat[0].var);
            views.of.insert(stm.pat[0].var, arr);
        }
        views
    }

    /// The array that a variable is a name or a part of.
    fn whole(&self, v: Var) -> Var {
        self.of.get(&v).map_or(v, |a| self.whole(*a))
    }
}

impl Flattener<'_> {
    /// Stores a part of an array apart from it.
    pub(super) fn store_part(&mut self, level: LevelId, v: Var) {
        let Some(Rep::Array(arr @ Arr { src: Src::Data(data, _), .. })) = self.env.get(&v).cloned() else {
            return;
        };
        let ty = self.types[&v].clone();
        if self.builder.ropes.contains(&data) || ty.is_desc() {
            return;
        }
        self.flush();
        let packed = self.pack(level, &arr, &ty);
        self.env.insert(v, Rep::Array(packed));
    }
}
