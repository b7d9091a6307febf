//! Arrays that a function updates, and the results that are versions of them.

use par_ir::core::{Body, Exp, Fun, FunId, Param};
use par_ir::hash::HashMap;
use par_ir::stack::deeper;
use par_ir::visit::{Code, Subst};
use par_ir::{Atom, Var, Vars};

/// The state of a function.
#[derive(Clone, Debug)]
pub(super) struct Signature {
    /// The parameters that are updated, each with the result that is a version of it: where there is none, it is restored.
    pub state: Vec<(usize, Option<usize>)>,
    /// The parameters, in their order before.
    pub params: Vec<Param>,
}

impl Signature {
    /// The pattern and arguments of a call.
    pub fn call(&self, pat: &[Param], args: &[Atom], vars: &mut Vars) -> (Vec<Param>, Vec<Atom>) {
        let sizes: Subst = self.params.iter().map(|p| p.var).zip(args.iter().copied()).collect();
        let after = |(i, result): &(usize, Option<usize>)| match result {
            Some(j) => pat[*j].clone(),
            None => {
                let p = &self.params[*i];
                Param { var: vars.fresh_like(p.var), ty: p.ty.substituted(&sizes) }
            }
        };
        let state: Vec<Param> = self.state.iter().map(after).collect();
        let others = self.others(pat.len(), |s| s.1).into_iter().map(|j| pat[j].clone());
        let rest = self.others(args.len(), |s| Some(s.0)).into_iter().map(|i| args[i]);
        (
            state.into_iter().chain(others).collect(),
            rest.chain(self.state.iter().map(|s| args[s.0])).collect(),
        )
    }

    /// Numbers of the parameters, or results, that are no state.
    pub fn others(&self, count: usize, of: impl Fn(&(usize, Option<usize>)) -> Option<usize>) -> Vec<usize> {
        (0..count).filter(|k| !self.state.iter().any(|s| of(s) == Some(*k))).collect()
    }
}

/// Origin of an array version.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Origin {
    Param(usize),
    /// A result of the function itself.
    Own(usize),
    Unknown,
}

/// Origins of a function's array versions.
struct Origins<'a> {
    id: FunId,
    known: &'a HashMap<FunId, Signature>,
    of: HashMap<Var, Vec<Origin>>,
    /// Parameters that something updates.
    updated: Vec<usize>,
    /// An array that is none of the parameters is updated.
    others: bool,
}

/// The signature of a function that calls itself and functions with known ones; none if it has no state, or results in other arrays.
pub(super) fn of(id: FunId, fun: &Fun, known: &HashMap<FunId, Signature>) -> Option<Signature> {
    let of = fun.params.iter().enumerate().map(|(i, p)| (p.var, vec![Origin::Param(i)])).collect();
    let mut origins = Origins { id, known, of, updated: vec![], others: false };
    origins.body(&fun.body);
    if origins.others {
        return None;
    }
    let mut state: Vec<(usize, Option<usize>)> = Vec::new();
    for (j, _) in fun.ret.iter().enumerate().filter(|(_, p)| !p.ty.is_scalar()) {
        // Sizes that the function gives would come after its arrays.
        if fun.ret.iter().any(|p| fun.ret[j].ty.mentions(p.var)) {
            return None;
        }
        let found = origins.atom(&fun.body.results[j]);
        let mut params = found.iter().filter(|o| **o != Origin::Own(j));
        let Some(Origin::Param(i)) = params.next() else { return None };
        if params.any(|o| *o != Origin::Param(*i)) || state.iter().any(|s| s.0 == *i) {
            return None;
        }
        state.push((*i, Some(j)));
    }
    let restored = origins.updated.iter().filter(|i| !state.iter().any(|s| s.0 == **i));
    let mut restored: Vec<usize> = restored.copied().collect();
    restored.sort_unstable();
    restored.dedup();
    let is_updated = !origins.updated.is_empty();
    state.extend(restored.into_iter().map(|i| (i, None)));
    let fits = |(i, _): &(usize, Option<usize>)| {
        let ty = &fun.params[*i].ty;
        ty.is_regular() && !ty.is_desc() && !ty.is_scalar()
    };
    (is_updated && state.iter().all(fits)).then(|| Signature { state, params: fun.params.clone() })
}

impl Origins<'_> {
    fn atom(&self, a: &Atom) -> Vec<Origin> {
        a.var().and_then(|v| self.of.get(&v)).cloned().unwrap_or_else(|| vec![Origin::Unknown])
    }

    fn bind(&mut self, p: &Param, origins: Vec<Origin>) {
        if !p.ty.is_scalar() {
            self.of.insert(p.var, origins);
        }
    }

    fn note_update(&mut self, a: &Atom) {
        for origin in self.atom(a) {
            match origin {
                Origin::Param(i) => self.updated.push(i),
                Origin::Own(_) => {}
                Origin::Unknown => self.others = true,
            }
        }
    }

    fn body(&mut self, body: &Body) {
        for stm in &body.stms {
            match &stm.exp {
                Exp::Atom(a) => self.bind(&stm.pat[0], self.atom(a)),
                Exp::Update { arr, .. } => {
                    self.note_update(&(*arr).into());
                    self.bind(&stm.pat[0], self.atom(&(*arr).into()));
                }
                Exp::If { then, other, .. } => {
                    [then, other].into_iter().for_each(|arm| deeper(|| self.body(arm)));
                    for (k, p) in stm.pat.iter().enumerate() {
                        let mut origins = self.atom(&then.results[k]);
                        for o in self.atom(&other.results[k]) {
                            if !origins.contains(&o) {
                                origins.push(o);
                            }
                        }
                        self.bind(p, origins);
                    }
                }
                Exp::Loop { params, body, .. } => {
                    params.iter().for_each(|(p, init)| self.bind(p, self.atom(init)));
                    deeper(|| self.body(body));
                    stm.pat.iter().zip(params).for_each(|(p, (_, init))| self.bind(p, self.atom(init)));
                }
                Exp::Call(f, _) if *f == self.id => {
                    stm.pat.iter().enumerate().for_each(|(j, p)| self.bind(p, vec![Origin::Own(j)]));
                }
                Exp::Call(f, args) => {
                    let Some(signature) = self.known.get(f) else { continue };
                    for (i, result) in &signature.state {
                        self.note_update(&args[*i]);
                        if let Some(j) = result {
                            self.bind(&stm.pat[*j], self.atom(&args[*i]));
                        }
                    }
                }
                exp => exp.bodies().into_iter().for_each(|b| deeper(|| self.body(b))),
            }
        }
    }
}
