//! Arrays forwarded by branches, loops and calls that may be slices with a step.

use super::Slice;
use par_ir::core::{Body, Exp, Param, Program, Stm};
use par_ir::hash::HashSet;
use par_ir::stack::deeper;
use par_ir::visit::Code;
use par_ir::{Atom, Dim, Var};

/// Numbers of parameters: arrays that are sliced together, with the descriptors of their rows.
pub(super) type Groups = Vec<Vec<usize>>;

/// Facts about a program's variables.
#[derive(Default)]
pub(super) struct Plan {
    /// Arrays that may be slices with a step.
    sliced: HashSet<Var>,
    /// Something passes them on as such.
    forwarded: HashSet<Var>,
    /// Something updates them, or types of results name them.
    fixed: HashSet<Var>,
    /// Arrays given to iterations or functions that go over all of them.
    in_order: HashSet<Var>,
}

impl Plan {
    pub(super) fn of(program: &Program, consumed: HashSet<Var>) -> Plan {
        let mut plan = Plan { fixed: consumed, ..Plan::default() };
        for f in &program.funs {
            let is_named = |v: Var| f.ret.iter().any(|r| r.ty.mentions(v));
            plan.fixed.extend(f.params.iter().map(|p| p.var).filter(|v| is_named(*v)));
        }
        loop {
            let before = (plan.sliced.len(), plan.forwarded.len());
            for f in &program.funs {
                plan.body(program, &f.body);
                if f.entry.is_none() {
                    plan.join(&f.ret, &[(&f.body.stms, &f.body.results)], &[], &[]);
                }
            }
            if (plan.sliced.len(), plan.forwarded.len()) == before {
                return plan;
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.forwarded.is_empty()
    }

    /// The groups of these parameters that are forwarded as slices.
    pub(super) fn forwarded(&self, params: &[Param]) -> Groups {
        let mut all = groups(params);
        all.retain(|group| group.iter().any(|i| self.forwarded.contains(&params[*i].var)));
        all
    }

    fn body(&mut self, program: &Program, body: &Body) {
        body.stms.iter().for_each(|stm| self.note_in_order(program, stm));
        for (i, stm) in body.stms.iter().enumerate() {
            let (before, after) = (&body.stms[..i], &body.stms[i + 1..]);
            stm.exp.for_each_body(|b| self.body(program, b));
            match &stm.exp {
                Exp::Slice { arr, .. }
                    if self.sliced.contains(arr) || Slice::of(stm).is_some_and(|s| s.has_step()) =>
                {
                    self.sliced.insert(stm.pat[0].var);
                }
                Exp::If { then, other, .. } => {
                    let arms = [(&then.stms[..], &then.results[..]), (&other.stms, &other.results)];
                    self.join(&stm.pat, &arms, &[], after);
                }
                Exp::Loop { params, body, .. } => {
                    let (state, init): (Vec<Param>, Vec<Atom>) = params.iter().cloned().unzip();
                    self.join(&state, &[(before, &init), (&body.stms, &body.results)], &stm.pat, &body.stms);
                }
                Exp::Call(f, args) => {
                    let f = &program.funs[f.0 as usize];
                    if f.entry.is_none() {
                        self.join(&f.params, &[(before, args)], &[], &f.body.stms);
                        self.join(&f.ret, &[], &stm.pat, &[]);
                    }
                }
                _ => {}
            }
        }
    }

    /// Notes what a loop or a call is given that goes over all of it.
    fn note_in_order(&mut self, program: &Program, stm: &Stm) {
        let mut note = |given: &[Stm], p: &Param, a: &Atom| {
            if p.ty.rank() > 0 && goes_over(given, p.var) {
                self.in_order.extend(a.var());
            }
        };
        match &stm.exp {
            Exp::Loop { params, body, .. } => {
                params.iter().zip(&body.results).for_each(|((p, _), last)| note(&body.stms, p, last));
            }
            Exp::Call(f, args) => {
                let f = &program.funs[f.0 as usize];
                f.params.iter().zip(args).for_each(|(p, a)| note(&f.body.stms, p, a));
            }
            _ => {}
        }
    }

    /// Notes which of these parameters are forwarded as slices, since one of the values given for them is; so are those of `like`. Not
    /// what the statements that are given it go over anyway: they are faster in order.
    fn join(&mut self, params: &[Param], values: &[(&[Stm], &[Atom])], like: &[Param], given: &[Stm]) {
        for group in groups(params) {
            let names = |i: &usize| [Some(&params[*i]), like.get(*i)].into_iter().flatten();
            if group.iter().flat_map(names).any(|p| self.fixed.contains(&p.var)) {
                continue;
            }
            let is_gone_over = |v: Var| self.in_order.contains(&v) || goes_over(given, v);
            if group.iter().any(|i| is_gone_over(params[*i].var)) {
                continue;
            }
            let is_slice = |a: Atom, stms: &[Stm]| {
                a.var().is_some_and(|v| self.sliced.contains(&v) && !is_made_by(stms, v))
            };
            let is_forwarded = group.iter().any(|i| self.forwarded.contains(&params[*i].var))
                || values.iter().any(|(stms, all)| group.iter().any(|i| is_slice(all[*i], stms)));
            if is_forwarded {
                for p in group.iter().flat_map(names) {
                    self.forwarded.insert(p.var);
                    self.sliced.insert(p.var);
                }
            }
        }
    }
}

/// The arrays among parameters, each with the descriptors among them that have its rows; not where a descriptor is from elsewhere.
pub(super) fn groups(params: &[Param]) -> Groups {
    let mut of: Vec<usize> = (0..params.len()).collect();
    let mut open = vec![true; params.len()];
    for (j, p) in params.iter().enumerate() {
        for d in &p.ty.dims {
            let Dim::Seg(s) = d else { continue };
            match params.iter().position(|q| q.var == *s) {
                Some(i) => {
                    let (from, to) = (of[j], of[i]);
                    of.iter_mut().filter(|g| **g == from).for_each(|g| *g = to);
                }
                None => open[j] = false,
            }
        }
    }
    let mut all = Groups::new();
    for g in 0..params.len() {
        let group: Vec<usize> = (0..params.len()).filter(|i| of[*i] == g).collect();
        if !group.is_empty() && group.iter().all(|i| open[*i] && params[*i].ty.rank() > 0) {
            all.push(group);
        }
    }
    all.sort();
    all
}

/// True if statements make an array, or the one that it is a part of, anew.
pub(super) fn is_made_by(stms: &[Stm], v: Var) -> bool {
    let Some(stm) = stms.iter().find(|s| s.pat.iter().any(|p| p.var == v)) else { return false };
    match &stm.exp {
        Exp::Atom(Atom::Var(of)) => is_made_by(stms, *of),
        Exp::Slice { arr, .. } | Exp::Index(arr, _) => is_made_by(stms, *arr),
        Exp::If { .. } | Exp::Loop { .. } | Exp::Call(..) => false,
        _ => true,
    }
}

/// True if statements go over all of an array, whatever the way through them.
fn goes_over(stms: &[Stm], v: Var) -> bool {
    let goes_over = |stm: &Stm| match &stm.exp {
        Exp::Map { inputs, .. }
        | Exp::Reduce { inputs, .. }
        | Exp::Scan { inputs, .. }
        | Exp::Filter { inputs, .. }
        | Exp::Scatter { inputs, .. }
        | Exp::Hist { inputs, .. } => inputs.contains(&v),
        Exp::Sort { keys, values } => *keys == v || *values == Some(v),
        Exp::If { then, other, .. } => deeper(|| goes_over(&then.stms, v) && goes_over(&other.stms, v)),
        _ => false,
    };
    stms.iter().any(goes_over)
}
