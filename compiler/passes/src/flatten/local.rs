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
//! functions. Nothing parallel is lost: there is none in it.

use par_ir::core::{Body, Exp, Fun, FunId, Program};
use std::collections::HashMap;

/// Which functions of a program are local, and those called so far.
pub(crate) struct Locals {
    local: Vec<bool>,
    ids: HashMap<FunId, FunId>,
    called: Vec<FunId>,
}

impl Locals {
    pub(crate) fn new(program: &Program) -> Locals {
        let mut local: Vec<bool> = program.funs.iter().map(is_scalar).collect();
        // What calls a function that is not local is not local either.
        while let Some(i) = (0..local.len()).find(|i| {
            let calls_other = !all_calls(&program.funs[*i].body, &|f| local[f.0 as usize]);
            local[*i] && calls_other
        }) {
            local[i] = false;
        }
        Locals { local, ids: HashMap::new(), called: Vec::new() }
    }

    /// Whether a function is local.
    pub(crate) fn has(&self, fun: FunId) -> bool {
        self.local[fun.0 as usize]
    }

    /// Whether an expression calls only local functions.
    pub(crate) fn has_all(&self, exp: &Exp) -> bool {
        exp.bodies().into_iter().all(|b| all_calls(b, &|f| self.has(f)))
    }

    /// The number among the FLAT program's local functions.
    pub(crate) fn call(&mut self, source: &Program, fun: FunId) -> FunId {
        if let Some(id) = self.ids.get(&fun) {
            return *id;
        }
        let id = FunId(self.called.len() as u32);
        self.ids.insert(fun, id);
        self.called.push(fun);
        let mut callees = Vec::new();
        each_call(&source.funs[fun.0 as usize].body, &mut |f| callees.push(f));
        for callee in callees {
            self.call(source, callee);
        }
        id
    }

    /// The functions called, in the order of their numbers.
    pub(crate) fn functions(&self, source: &Program) -> Vec<Fun> {
        let function = |f: &FunId| {
            let mut fun = source.funs[f.0 as usize].clone();
            self.renumber(&mut fun.body);
            fun
        };
        self.called.iter().map(function).collect()
    }

    fn renumber(&self, body: &mut Body) {
        for stm in &mut body.stms {
            if let Exp::Call(f, _) = &mut stm.exp {
                *f = self.ids[f];
            }
            stm.exp.bodies_mut().into_iter().for_each(|b| self.renumber(b));
        }
    }
}

/// Scalar code but for its calls.
fn is_scalar(fun: &Fun) -> bool {
    let scalars = fun.params.iter().chain(&fun.ret).all(|p| p.ty.is_scalar() && !p.ty.is_desc());
    scalars && fun.entry.is_none() && scalar_body(&fun.body)
}

fn scalar_body(body: &Body) -> bool {
    body.stms.iter().all(|s| match &s.exp {
        Exp::Call(..) => s.pat.iter().all(|p| p.ty.is_scalar()),
        Exp::If { .. } | Exp::Loop { .. } => {
            s.pat.iter().all(|p| p.ty.is_scalar()) && s.exp.bodies().into_iter().all(scalar_body)
        }
        _ => s.is_scalar(),
    })
}

/// Whether a body calls anything.
pub(crate) fn calls(body: &Body) -> bool {
    !all_calls(body, &|_| false)
}

fn all_calls(body: &Body, holds: &dyn Fn(FunId) -> bool) -> bool {
    let mut all = true;
    each_call(body, &mut |f| all &= holds(f));
    all
}

/// Calls a function on the target of every call in a body.
fn each_call(body: &Body, f: &mut dyn FnMut(FunId)) {
    for stm in &body.stms {
        if let Exp::Call(fun, _) = stm.exp {
            f(fun);
        }
        stm.exp.bodies().into_iter().for_each(|b| each_call(b, f));
    }
}
