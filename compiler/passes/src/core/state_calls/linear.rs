//! Code in which each version of an array is the last one: what is used again later is restored.

use super::signature::Signature;
use par_ir::build::Statements;
use par_ir::core::{At, Body, Exp, Fun, FunId, LoopForm, Param, Stm};
use par_ir::hash::HashMap;
use par_ir::stack::deeper;
use par_ir::visit::{Code, Subst};
use par_ir::{Atom, Type, Var, Vars};

/// Contents of an array at some point, in the variable that has it.
#[derive(Clone)]
struct Content {
    id: usize,
    var: Var,
    /// The element that brings back the content before, and its value.
    undo: Option<(Vec<At>, Atom)>,
}

/// An array with its contents so far, the latest last.
#[derive(Clone)]
struct State {
    ty: Type,
    contents: Vec<Content>,
}

/// Meaning of a variable: an array's content, or a view of it.
#[derive(Clone, Copy)]
enum Name {
    /// A whole array with this content.
    Whole(usize, usize),
    /// A part of an array, valid as long as the variable has the latest content.
    Part(usize, Var),
}

/// Statements under construction.
pub(super) struct Linear<'a> {
    pub signatures: &'a HashMap<FunId, Signature>,
    pub vars: &'a mut Vars,
    states: Vec<State>,
    names: HashMap<Var, Name>,
    ids: usize,
}

/// A function whose state comes last among its parameters, and first among its results.
pub(super) fn function(
    id: FunId,
    fun: &Fun,
    signatures: &HashMap<FunId, Signature>,
    vars: &mut Vars,
) -> Option<Fun> {
    let signature = &signatures[&id];
    let mut linear = Linear { signatures, vars, states: vec![], names: HashMap::default(), ids: 0 };
    let mut entry = Vec::new();
    for (i, _) in &signature.state {
        entry.push(linear.own(&fun.params[*i]));
    }
    let mut code = Vec::new();
    linear.stms(&fun.body.stms, &mut code)?;
    let mut results = Vec::new();
    for (k, (_, result)) in signature.state.iter().enumerate() {
        results.push(match result {
            Some(j) => linear.whole(fun.body.results[*j].var()?, &mut code)?.into(),
            None => linear.back_to(k, entry[k], &mut code)?.into(),
        });
    }
    let others = signature.others(fun.ret.len(), |s| s.1);
    results.extend(others.iter().map(|j| fun.body.results[*j]));
    let others_first = signature.others(fun.params.len(), |s| Some(s.0)).into_iter();
    let params = others_first.chain(signature.state.iter().map(|s| s.0));
    let params: Vec<Param> = params.map(|i| fun.params[i].clone()).collect();
    let result_of = |(i, j): &(usize, Option<usize>)| match j {
        Some(j) => fun.ret[*j].clone(),
        None => fun.params[*i].fresh(linear.vars),
    };
    let mut ret: Vec<Param> = signature.state.iter().map(result_of).collect();
    ret.extend(others.iter().map(|j| fun.ret[*j].clone()));
    Some(Fun { params, ret, body: Body { stms: code, results }, ..fun.clone() })
}

impl Linear<'_> {
    /// An array as state; the number of its content.
    fn own(&mut self, p: &Param) -> usize {
        self.states.push(State { ty: p.ty.clone(), contents: vec![] });
        self.push(self.states.len() - 1, p.var, None)
    }

    /// A further content.
    fn push(&mut self, state: usize, var: Var, undo: Option<(Vec<At>, Atom)>) -> usize {
        self.ids += 1;
        self.states[state].contents.push(Content { id: self.ids, var, undo });
        self.names.insert(var, Name::Whole(state, self.ids));
        self.ids
    }

    fn latest(&mut self, state: usize) -> &mut Content {
        self.states[state].contents.last_mut().expect("a state has a content")
    }

    /// Restores a content; the variable that has it.
    fn back_to(&mut self, state: usize, id: usize, code: &mut Vec<Stm>) -> Option<Var> {
        while self.latest(state).id != id {
            let last = self.states[state].contents.pop()?;
            let (at, value) = last.undo?;
            let var = self.vars.fresh_like(last.var);
            let pat = vec![Param { var, ty: self.states[state].ty.clone() }];
            let span = code.last().map(|s| s.span).unwrap_or_default();
            code.push(Stm { pat, exp: Exp::Update { arr: last.var, at, value }, span });
            self.states[state].contents.last_mut()?.var = var;
        }
        Some(self.latest(state).var)
    }

    /// The variable that has the content of a whole array, after what it takes to restore it.
    fn whole(&mut self, v: Var, code: &mut Vec<Stm>) -> Option<Var> {
        match self.names.get(&v)? {
            Name::Whole(state, id) => self.back_to(*state, *id, code),
            Name::Part(..) => None,
        }
    }

    /// A statement in terms of the latest versions. Contents of one array that differ cannot be used together.
    fn renamed(&mut self, stm: &Stm, code: &mut Vec<Stm>) -> Option<Stm> {
        let mut used: Vec<Var> = Vec::new();
        stm.for_each_used(&mut |v| used.extend(self.names.contains_key(&v).then_some(v)));
        let mut named = Subst::default();
        for v in &used {
            match self.names[v] {
                Name::Whole(state, id) => _ = named.insert(*v, self.back_to(state, id, code)?.into()),
                Name::Part(state, of) => (self.latest(state).var == of).then_some(())?,
            }
        }
        let is_latest =
            |a: &Atom| self.states.iter().any(|s| s.contents.last().is_some_and(|c| Atom::Var(c.var) == *a));
        named.values().all(is_latest).then(|| stm.substituted(&named))
    }

    fn stms(&mut self, stms: &[Stm], code: &mut Vec<Stm>) -> Option<()> {
        stms.iter().try_for_each(|s| deeper(|| self.stm(s, code)))
    }

    fn stm(&mut self, stm: &Stm, code: &mut Vec<Stm>) -> Option<()> {
        match &stm.exp {
            Exp::Atom(Atom::Var(v)) if self.names.contains_key(v) => {
                self.names.insert(stm.pat[0].var, self.names[v]);
                Some(())
            }
            Exp::Update { arr, at, value } if self.names.contains_key(arr) => {
                self.update(stm, (*arr, at, *value), code)
            }
            Exp::If { .. } => self.branch(stm, code),
            Exp::Loop { .. } => self.repeat(stm, code),
            Exp::Call(f, args) if self.signatures.contains_key(f) => self.call(stm, *f, args, code),
            exp => {
                let is_inside = |b: &Body| self.has_updates(b);
                if exp.bodies().into_iter().any(is_inside) {
                    return None;
                }
                let renamed = self.renamed(stm, code)?;
                let of = match &renamed.exp {
                    Exp::Index(v, _) | Exp::Slice { arr: v, .. } if !stm.pat[0].ty.is_scalar() => Some(*v),
                    _ => None,
                };
                let state = of.and_then(|v| match self.names.get(&v)? {
                    Name::Whole(state, _) => Some((*state, v)),
                    Name::Part(state, of) => Some((*state, *of)),
                });
                if let Some((state, of)) = state {
                    self.names.insert(stm.pat[0].var, Name::Part(state, of));
                }
                code.push(renamed);
                Some(())
            }
        }
    }

    /// True if something in a body changes state.
    fn has_updates(&self, body: &Body) -> bool {
        body.stms.iter().any(|s| match &s.exp {
            Exp::Update { arr, .. } if self.names.contains_key(arr) => true,
            Exp::Call(f, _) if self.signatures.contains_key(f) => true,
            exp => exp.bodies().into_iter().any(|b| self.has_updates(b)),
        })
    }

    fn update(&mut self, stm: &Stm, (arr, at, value): (Var, &[At], Atom), code: &mut Vec<Stm>) -> Option<()> {
        if value.var().is_some_and(|v| self.names.contains_key(&v)) {
            return None;
        }
        let old = self.whole(arr, code)?;
        let Name::Whole(state, _) = self.names[&arr] else { return None };
        let indices = At::only_indices(at).filter(|i| i.len() == self.states[state].ty.rank());
        let undo = indices.map(|indices| {
            let mut read = Statements::new(stm.span);
            let scalar = Type::scalar(self.states[state].ty.prim());
            let before = read.value("before", scalar, Exp::Index(old, indices), self.vars);
            code.extend(read.stms);
            (at.to_vec(), Atom::Var(before))
        });
        code.push(Stm { exp: Exp::Update { arr: old, at: at.to_vec(), value }, ..stm.clone() });
        self.push(state, stm.pat[0].var, undo);
        Some(())
    }

    /// The state comes last among the arguments, and first among the results.
    fn call(&mut self, stm: &Stm, f: FunId, args: &[Atom], code: &mut Vec<Stm>) -> Option<()> {
        let signature = self.signatures[&f].clone();
        let others = signature.others(args.len(), |s| Some(s.0));
        let mut taken = Vec::new();
        for (i, _) in &signature.state {
            let v = args[*i].var()?;
            let Name::Whole(state, _) = *self.names.get(&v)? else { return None };
            if taken.contains(&state) {
                return None;
            }
            self.whole(v, code)?;
            taken.push(state);
        }
        let rest: Vec<Atom> = others.iter().map(|i| args[*i]).collect();
        let only = Stm { exp: Exp::Call(f, rest), ..stm.clone() };
        let Stm { exp: Exp::Call(_, rest), .. } = self.renamed(&only, code)? else { return None };
        let of_state = |v: &Var| taken.iter().any(|s| self.states[*s].contents.iter().any(|c| c.var == *v));
        let is_part = |v: &Var| matches!(self.names.get(v), Some(Name::Part(s, _)) if taken.contains(s));
        if rest.iter().filter_map(|a| a.var()).any(|v| of_state(&v) || is_part(&v)) {
            return None;
        }
        let state: Vec<Atom> =
            taken.iter().map(|s| self.states[*s].contents.last().expect("one").var.into()).collect();
        let all = [rest, state].concat();
        let mut pat = Vec::new();
        for ((_, result), state) in signature.state.iter().zip(&taken) {
            match result {
                Some(j) => {
                    pat.push(stm.pat[*j].clone());
                    self.push(*state, stm.pat[*j].var, None);
                }
                None => {
                    let like = self.latest(*state).var;
                    let var = self.vars.fresh_like(like);
                    pat.push(Param { var, ty: self.states[*state].ty.clone() });
                    self.rename(*state, var);
                }
            }
        }
        pat.extend(signature.others(stm.pat.len(), |s| s.1).iter().map(|j| stm.pat[*j].clone()));
        code.push(Stm { pat, exp: Exp::Call(f, all), span: stm.span });
        Some(())
    }

    /// Another variable has the latest content.
    fn rename(&mut self, state: usize, var: Var) {
        let id = self.latest(state).id;
        self.latest(state).var = var;
        self.names.insert(var, Name::Whole(state, id));
    }

    /// The states as a nested body begins: each with its latest content only.
    fn inside(&self) -> (Vec<State>, HashMap<Var, Name>) {
        let mut states = self.states.clone();
        for s in &mut states {
            s.contents.drain(..s.contents.len() - 1);
            s.contents[0].undo = None;
        }
        (states, self.names.clone())
    }

    /// The state that a result of a body is, if it is one.
    fn state_of(&self, a: &Atom) -> Option<usize> {
        match self.names.get(&a.var()?)? {
            Name::Whole(state, _) => Some(*state),
            Name::Part(..) => None,
        }
    }

    /// A branch, with further results for the state that its arms update and restore.
    fn branch(&mut self, stm: &Stm, code: &mut Vec<Stm>) -> Option<()> {
        let Exp::If { cond, then, other } = &stm.exp else { return None };
        let outside = (self.states.clone(), self.names.clone());
        let before: Vec<(usize, Var)> =
            self.states.iter().map(|s| s.contents.last().map(|c| (c.id, c.var))).collect::<Option<_>>()?;
        let mut arms = Vec::new();
        for arm in [then, other] {
            (self.states, self.names) = (outside.0.clone(), outside.1.clone());
            (self.states, self.names) = self.inside();
            let mut stms = Vec::new();
            self.stms(&arm.stms, &mut stms)?;
            let of: Vec<Option<usize>> = arm.results.iter().map(|a| self.state_of(a)).collect();
            let mut results = arm.results.clone();
            for (r, _) in results.iter_mut().zip(&of).filter(|(_, s)| s.is_some()) {
                *r = self.whole(r.var()?, &mut stms)?.into();
            }
            let mut after = Vec::new();
            for (k, (id, _)) in before.iter().enumerate() {
                after.push(match of.contains(&Some(k)) {
                    true => None,
                    false => Some(self.back_to(k, *id, &mut stms)?),
                });
            }
            arms.push((stms, results, of, after));
        }
        (self.states, self.names) = outside;
        if arms[0].2 != arms[1].2 {
            return None;
        }
        let of = arms[0].2.clone();
        let mut pat = stm.pat.clone();
        for (k, (_, var)) in before.iter().enumerate() {
            let is_changed = arms.iter().any(|arm| arm.3[k].is_some_and(|v| v != *var));
            if is_changed {
                let after = Param { var: self.vars.fresh_like(*var), ty: self.states[k].ty.clone() };
                self.rename(k, after.var);
                pat.push(after);
                arms.iter_mut().for_each(|arm| arm.1.extend(arm.3[k].map(Atom::Var)));
            }
        }
        for (p, state) in stm.pat.iter().zip(&of) {
            if let Some(state) = state {
                self.push(*state, p.var, None);
            }
        }
        let mut bodies = arms.into_iter().map(|(stms, results, ..)| Body { stms, results });
        let exp = Exp::If { cond: *cond, then: bodies.next()?, other: bodies.next()? };
        code.push(Stm { pat, exp, span: stm.span });
        Some(())
    }

    /// Gives each state a variable of its own in an iteration: a parameter of the loop, or a further one, which comes with the number of its content.
    fn enter_iteration(
        &mut self,
        params: &[(Param, Atom)],
        of: &[Option<usize>],
    ) -> Vec<(usize, Param, usize)> {
        let mut more = Vec::new();
        for k in 0..self.states.len() {
            match of.iter().position(|s| *s == Some(k)) {
                Some(i) => {
                    self.states[k].contents.clear();
                    self.push(k, params[i].0.var, None);
                }
                None => {
                    let like = self.latest(k).var;
                    let p = Param { var: self.vars.fresh_like(like), ty: self.states[k].ty.clone() };
                    self.rename(k, p.var);
                    more.push((k, p, self.latest(k).id));
                }
            }
        }
        more
    }

    /// Form of a loop over the versions of an iteration. A condition updates nothing.
    fn form(&mut self, form: &LoopForm) -> Option<LoopForm> {
        let LoopForm::While(cond) = form else { return Some(form.clone()) };
        if self.has_updates(cond) {
            return None;
        }
        let mut stms = Vec::new();
        self.stms(&cond.stms, &mut stms)?;
        Some(LoopForm::While(Body { stms, results: cond.results.clone() }))
    }

    /// A loop, with further variables for the state that its iterations update and restore.
    fn repeat(&mut self, stm: &Stm, code: &mut Vec<Stm>) -> Option<()> {
        let Exp::Loop { params, form, body } = &stm.exp else { return None };
        let of: Vec<Option<usize>> = params.iter().map(|(_, init)| self.state_of(init)).collect();
        let mut state: Vec<(Param, Atom)> = params.clone();
        for ((_, init), _) in state.iter_mut().zip(&of).filter(|(_, s)| s.is_some()) {
            *init = self.whole(init.var()?, code)?.into();
        }
        let outside = (self.states.clone(), self.names.clone());
        (self.states, self.names) = self.inside();
        let more = self.enter_iteration(params, &of);
        let form = self.form(form)?;
        let mut stms = Vec::new();
        self.stms(&body.stms, &mut stms)?;
        let mut results = Vec::new();
        for (a, s) in body.results.iter().zip(&of) {
            results.push(match s {
                Some(k) if self.state_of(a) == Some(*k) => self.whole(a.var()?, &mut stms)?.into(),
                None if self.state_of(a).is_none() => *a,
                _ => return None,
            });
        }
        let mut pat = stm.pat.clone();
        let mut same = Subst::default();
        let mut renamed = Vec::new();
        for (k, p, id) in more {
            let after = self.back_to(k, id, &mut stms)?;
            let init = outside.0[k].contents.last()?.var;
            if after == p.var {
                same.insert(p.var, init.into());
                continue;
            }
            let result = Param { var: self.vars.fresh_like(init), ty: p.ty.clone() };
            renamed.push((k, result.var));
            pat.push(result);
            state.push((p, init.into()));
            results.push(after.into());
        }
        (self.states, self.names) = outside;
        renamed.into_iter().for_each(|(k, v)| self.rename(k, v));
        for (p, s) in stm.pat.iter().zip(&of) {
            if let Some(k) = s {
                self.push(*k, p.var, None);
            }
        }
        let exp = Exp::Loop { params: state, form, body: Body { stms, results } };
        code.push(Stm { pat, exp, span: stm.span }.substituted(&same));
        Some(())
    }
}
