//! Buffers as state of the loops and results of the branches that write to them: every name stands for one version.

use super::generate::Generated;
use par_ir::build::Statements;
use par_ir::core::{Body, Exp, LoopForm, Param, Stm};
use par_ir::hash::HashMap;
use par_ir::stack::deeper;
use par_ir::visit::{Code, Subst};
use par_ir::{Atom, Type, Var, Vars};
use std::collections::BTreeSet;

struct Threader<'v> {
    vars: &'v mut Vars,
    names: HashMap<Var, Type>,
}

/// The version that each buffer's content is.
type Versions = HashMap<Var, Var>;

/// The statements that make the buffers, and the loop.
pub(super) fn threaded(g: Generated, vars: &mut Vars) -> (Vec<Stm>, Stm) {
    let Generated { mut stm, buffers, names, .. } = g;
    let mut before = Statements::new(stm.span);
    let versions = buffers.iter().map(|b| (b.var, before.zeros(&b.ty, vars)));
    let mut versions: Versions = versions.collect();
    let mut threader = Threader { vars, names };
    let written: Vec<Var> = buffers.iter().map(|b| b.var).collect();
    threader.repeat(&mut stm, &written, &mut versions);
    (before.stms, stm)
}

impl Threader<'_> {
    fn body(&mut self, body: &mut Body, versions: &mut Versions) {
        for mut stm in std::mem::take(&mut body.stms) {
            if self.is_mark(&stm, versions) {
                continue;
            }
            match &mut stm.exp {
                Exp::If { .. } => deeper(|| self.branch(&mut stm, versions)),
                Exp::Loop { .. } => {
                    let written = self.written_in(&stm, versions);
                    deeper(|| self.repeat(&mut stm, &written, versions));
                }
                _ => self.plain(&mut stm, versions),
            }
            body.stms.push(stm);
        }
        body.results.substitute(&subst(versions));
    }

    /// Notes what a buffer's content is, if that is what a statement says.
    fn is_mark(&self, stm: &Stm, versions: &mut Versions) -> bool {
        let (Exp::Atom(Atom::Var(v)), [p]) = (&stm.exp, stm.pat.as_slice()) else { return false };
        let is_name = self.names.contains_key(&p.var);
        if is_name {
            let version = versions.get(v).copied().unwrap_or(*v);
            versions.insert(p.var, version);
        }
        is_name
    }

    fn plain(&mut self, stm: &mut Stm, versions: &mut Versions) {
        let changed = if let Exp::Update { arr, .. } = &stm.exp { Some(*arr) } else { None };
        stm.exp.substitute(&subst(versions));
        if let Some(name) = changed.filter(|v| self.names.contains_key(v)) {
            versions.insert(name, stm.pat[0].var);
        }
    }

    /// The buffers there are that something in a statement writes to, in a fixed order.
    fn written_in(&self, stm: &Stm, versions: &Versions) -> Vec<Var> {
        let mut found = BTreeSet::new();
        self.writes(stm, &mut found);
        found.into_iter().filter(|v| versions.contains_key(v)).collect()
    }

    fn writes(&self, stm: &Stm, found: &mut BTreeSet<Var>) {
        if let Exp::Update { arr, .. } = &stm.exp
            && self.names.contains_key(arr)
        {
            found.insert(*arr);
        }
        for body in stm.exp.bodies() {
            deeper(|| body.stms.iter().for_each(|s| self.writes(s, found)));
        }
    }

    fn branch(&mut self, stm: &mut Stm, versions: &mut Versions) {
        let written = self.written_in(stm, versions);
        let Exp::If { cond, then, other } = &mut stm.exp else { unreachable!("dispatched on If") };
        if let Some(v) = cond.var().and_then(|v| versions.get(&v)) {
            *cond = Atom::Var(*v);
        }
        for arm in [then, other] {
            let mut inside = versions.clone();
            self.body(arm, &mut inside);
            arm.results.extend(written.iter().map(|b| Atom::Var(inside[b])));
        }
        self.bind(&mut stm.pat, &written, versions);
    }

    fn repeat(&mut self, stm: &mut Stm, written: &[Var], versions: &mut Versions) {
        let Exp::Loop { params, form, body } = &mut stm.exp else { unreachable!("dispatched on Loop") };
        let outside = subst(versions);
        for (_, init) in params.iter_mut() {
            *init = init.substituted(&outside);
        }
        let mut inside = versions.clone();
        for b in written {
            let p = Param { var: self.vars.fresh_like(*b), ty: self.names[b].clone() };
            inside.insert(*b, p.var);
            params.push((p, versions[b].into()));
        }
        match form {
            LoopForm::For { bound, .. } => *bound = bound.substituted(&outside),
            LoopForm::While(cond) => self.body(cond, &mut inside.clone()),
        }
        self.body(body, &mut inside);
        body.results.extend(written.iter().map(|b| Atom::Var(inside[b])));
        self.bind(&mut stm.pat, written, versions);
    }

    /// Binds the versions after a statement.
    fn bind(&mut self, pat: &mut Vec<Param>, written: &[Var], versions: &mut Versions) {
        for b in written {
            let p = Param { var: self.vars.fresh_like(*b), ty: self.names[b].clone() };
            versions.insert(*b, p.var);
            pat.push(p);
        }
    }
}

fn subst(versions: &Versions) -> Subst {
    versions.iter().map(|(name, v)| (*name, Atom::Var(*v))).collect()
}
