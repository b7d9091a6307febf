//! Recursion without parallelism: functions that stay inside kernels.
//!
//! ```text
//! def fib n = if n < 2 then n else fib (n-1) + fib (n-2)
//! map fib ns
//!
//! local fib (n) = …                       -- called by the kernel, with frames in memory of its own
//! kernel map { let r = call fib (ns[pos]) in r }
//! ```
//!
//! A function is local if its parameters and results are scalars and its body is scalar code whose calls are of local
//! functions. Nothing parallel is lost: there is none in it. A function of scalars that has maps and reductions has a
//! sequential version, which runs where a batch of calls makes enough work for all threads ([`super::call`]).

use super::sequential::sequential_version;
use par_ir::Vars;
use par_ir::core::{Body, Exp, Fun, FunId, Program};
use std::collections::{HashMap, HashSet};

/// Which functions of a program kernels may call, and those called so far.
pub(crate) struct Locals {
    /// Per function: as scalar code, if it can be.
    funs: Vec<Option<Fun>>,
    /// Per function: scalar code only because its parallelism was made sequential, there or in what it calls.
    parallel: Vec<bool>,
    ids: HashMap<FunId, FunId>,
    called: Vec<FunId>,
}

impl Locals {
    pub(crate) fn new(program: &Program, vars: &mut Vars) -> Locals {
        let mut funs: Vec<Option<Fun>> = program.funs.iter().map(|f| scalar_version(f, vars)).collect();
        // What calls a function that is not local is not local either.
        let is_lost = |f: &Option<Fun>, funs: &[Option<Fun>]| {
            f.as_ref().is_some_and(|f| !all_calls(&f.body, &|g| funs[g.0 as usize].is_some()))
        };
        while let Some(i) = funs.iter().position(|f| is_lost(f, &funs)) {
            funs[i] = None;
        }
        let mut parallel: Vec<bool> = program.funs.iter().map(|f| has_operators(&f.body)).collect();
        let calls_parallel = |f: &Fun, parallel: &[bool]| !all_calls(&f.body, &|g| !parallel[g.0 as usize]);
        while let Some(i) =
            (0..funs.len()).find(|i| !parallel[*i] && calls_parallel(&program.funs[*i], &parallel))
        {
            parallel[i] = true;
        }
        Locals { funs, parallel, ids: HashMap::new(), called: Vec::new() }
    }

    /// True if kernels call a function because nothing in it is parallel.
    pub(crate) fn has(&self, fun: FunId) -> bool {
        self.funs[fun.0 as usize].is_some() && !self.parallel[fun.0 as usize]
    }

    /// True if a function with parallelism has a sequential version.
    pub(crate) fn has_version(&self, fun: FunId) -> bool {
        self.funs[fun.0 as usize].is_some() && self.parallel[fun.0 as usize]
    }

    /// True if an expression calls only functions without parallelism.
    pub(crate) fn has_all(&self, exp: &Exp) -> bool {
        exp.bodies().into_iter().all(|b| all_calls(b, &|f| self.has(f)))
    }

    /// The number among the FLAT program's local functions.
    pub(crate) fn call(&mut self, fun: FunId) -> FunId {
        if let Some(id) = self.ids.get(&fun) {
            return *id;
        }
        let id = FunId(self.called.len() as u32);
        self.ids.insert(fun, id);
        self.called.push(fun);
        let mut callees = Vec::new();
        let local = self.funs[fun.0 as usize].as_ref();
        each_call(&local.expect("kernels call local functions").body, &mut |f| callees.push(f));
        for callee in callees {
            self.call(callee);
        }
        id
    }

    /// The functions called, in the order of their numbers.
    pub(crate) fn functions(&mut self) -> Vec<Fun> {
        let mut funs: Vec<Fun> = self.called.iter().filter_map(|f| self.funs[f.0 as usize].take()).collect();
        funs.iter_mut().for_each(|f| self.renumber(&mut f.body));
        funs
    }

    fn renumber(&self, body: &mut Body) {
        for stm in &mut body.stms {
            if let Exp::Call(f, _) = &mut stm.exp {
                *f = self.ids[f];
            }
            stm.exp.for_each_body_mut(|b| self.renumber(b));
        }
    }
}

/// The function as scalar code, if it can be.
fn scalar_version(fun: &Fun, vars: &mut Vars) -> Option<Fun> {
    let scalars = fun.params.iter().chain(&fun.ret).all(|p| p.ty.is_scalar() && !p.ty.is_desc());
    if !scalars || fun.entry.is_some() {
        return None;
    }
    let body = if scalar_body(&fun.body) { fun.body.clone() } else { sequential_version(&fun.body, vars)? };
    scalar_body(&body).then(|| Fun { body, ..fun.clone() })
}

/// True if a parallel operator stands in a body.
pub(crate) fn has_operators(body: &Body) -> bool {
    body.stms.iter().any(|s| s.exp.is_soac() || s.exp.bodies().into_iter().any(has_operators))
}

/// Scalar code but for its calls.
fn scalar_body(body: &Body) -> bool {
    body.stms.iter().all(|s| match &s.exp {
        Exp::Call(..) => s.pat.iter().all(|p| p.ty.is_scalar()),
        Exp::If { .. } | Exp::Loop { .. } => {
            s.pat.iter().all(|p| p.ty.is_scalar()) && s.exp.bodies().into_iter().all(scalar_body)
        }
        _ => s.is_scalar(),
    })
}

/// True if a body calls anything.
pub(crate) fn calls(body: &Body) -> bool {
    !all_calls(body, &|_| false)
}

fn all_calls(body: &Body, holds: &dyn Fn(FunId) -> bool) -> bool {
    let mut all = true;
    each_call(body, &mut |f| all &= holds(f));
    all
}

/// Per function, those that calling it may lead to.
pub(crate) fn reachable(program: &Program) -> Vec<HashSet<FunId>> {
    let callees = |f: &Fun| {
        let mut found = HashSet::new();
        each_call(&f.body, &mut |g| found.extend([g]));
        found
    };
    let mut all: Vec<HashSet<FunId>> = program.funs.iter().map(callees).collect();
    loop {
        let next: Vec<HashSet<FunId>> = all
            .iter()
            .map(|found| found.iter().flat_map(|g| &all[g.0 as usize]).chain(found).copied().collect())
            .collect();
        if next == all {
            return all;
        }
        all = next;
    }
}

/// Calls a function on the target of every call in a body.
fn each_call(body: &Body, f: &mut dyn FnMut(FunId)) {
    for stm in &body.stms {
        if let Exp::Call(fun, _) = stm.exp {
            f(fun);
        }
        stm.exp.for_each_body(|b| each_call(b, f));
    }
}
