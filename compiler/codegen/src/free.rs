//! What kernels read from outside, and the types of a program's variables.

use par_ir::Var;
use par_ir::core::{Body, Exp, FunId, Lambda, LoopForm, Stm};
use par_ir::flat::{self, Kernel, KernelKind, Ty};
use par_ir::ty::{Atom, Elem};
use std::collections::{BTreeSet, HashMap, HashSet};

/// The type of every host variable of a program, and of the scalars in kernels.
pub fn types(program: &flat::Program) -> HashMap<Var, Ty> {
    let mut types = HashMap::new();
    for fun in &program.funs {
        types.extend(fun.params.iter().map(|p| (p.var, p.ty)));
        block_types(&fun.body, &mut types);
    }
    types
}

fn block_types(block: &flat::Block, types: &mut HashMap<Var, Ty>) {
    for stm in &block.stms {
        types.extend(stm.pat.iter().map(|p| (p.var, p.ty)));
        match &stm.op {
            flat::Op::If { then, other, .. } => {
                block_types(then, types);
                block_types(other, types);
            }
            flat::Op::Loop { params, form, body } => {
                types.extend(params.iter().map(|(p, _)| (p.var, p.ty)));
                match form {
                    flat::LoopForm::For { index, prim, .. } => {
                        types.insert(*index, Ty::Scalar(*prim));
                    }
                    flat::LoopForm::While(cond) => block_types(cond, types),
                }
                block_types(body, types);
            }
            flat::Op::Split { first, count, body, .. } => {
                types.extend([first, count].map(|v| (*v, Ty::Scalar(par_ir::Prim::I64))));
                block_types(body, types);
            }
            _ => {}
        }
    }
}

/// Variables that the code of a kernel (prologue, body, operator) reads and does not bind, in order of first use.
pub fn captures(kernel: &Kernel) -> Vec<Var> {
    let mut walk = Walk::default();
    kernel.binders().into_iter().for_each(|v| walk.bind(v));
    owned(kernel).for_each(|(_, state)| walk.bind(state.var));
    kernel.prologue.iter().for_each(|s| walk.stm(s));
    walk.body(&kernel.body);
    match &kernel.kind {
        KernelKind::Reduce { op, .. } | KernelKind::Scan { op, .. } | KernelKind::Hist { op, .. } => {
            walk.lambda(op)
        }
        KernelKind::Map(_) | KernelKind::Filter => {}
    }
    kernel.after().into_iter().for_each(|a| walk.after(a));
    let bound = walk.bound;
    let mut seen = HashSet::new();
    walk.used.into_iter().filter(|v| !bound.contains(v) && seen.insert(*v)).collect()
}

/// Destinations and first versions of the arrays that a kernel owns.
pub fn owned(kernel: &Kernel) -> impl Iterator<Item = (Var, &par_ir::core::Param)> {
    let outs = if let KernelKind::Map(outs) = &kernel.kind { outs.as_slice() } else { &[] };
    outs.iter().filter_map(|o| match o {
        flat::Out::Own { dest, state } => Some((*dest, state)),
        _ => None,
    })
}

/// The local functions that the code of a kernel may call, directly or not, in the order of their numbers.
pub fn callees(kernel: &Kernel, locals: &[par_ir::core::Fun]) -> Vec<FunId> {
    let mut found = BTreeSet::new();
    let mut open = Vec::new();
    calls(&kernel.body, &mut open);
    kernel.after().into_iter().for_each(|a| calls(&a.body, &mut open));
    while let Some(f) = open.pop() {
        if found.insert(f) {
            calls(&locals[f.0 as usize].body, &mut open);
        }
    }
    found.into_iter().collect()
}

fn calls(body: &Body, out: &mut Vec<FunId>) {
    for stm in &body.stms {
        if let Exp::Call(f, _) = stm.exp {
            out.push(f);
        }
        stm.exp.for_each_body(|b| calls(b, out));
    }
}

/// Whether the code of a kernel mentions a variable.
pub fn mentions(kernel: &Kernel, v: Var) -> bool {
    let mut walk = Walk::default();
    kernel.prologue.iter().for_each(|s| walk.stm(s));
    walk.body(&kernel.body);
    kernel.after().into_iter().for_each(|a| walk.after(a));
    walk.used.contains(&v)
}

#[derive(Default)]
struct Walk {
    used: Vec<Var>,
    bound: HashSet<Var>,
}

impl Walk {
    fn bind(&mut self, v: Var) {
        self.bound.insert(v);
    }

    fn atom(&mut self, a: &Atom) {
        self.used.extend(a.var());
    }

    fn atoms(&mut self, xs: &[Atom]) {
        xs.iter().for_each(|x| self.atom(x));
    }

    fn body(&mut self, body: &Body) {
        body.stms.iter().for_each(|s| self.stm(s));
        self.atoms(&body.results);
    }

    fn after(&mut self, after: &flat::After) {
        after.params.iter().for_each(|p| self.bind(p.var));
        self.body(&after.body);
    }

    fn lambda(&mut self, lam: &Lambda) {
        lam.params.iter().for_each(|p| self.bind(p.var));
        self.body(&lam.body);
    }

    fn stm(&mut self, stm: &Stm) {
        stm.pat.iter().filter(|p| p.ty.elem != Elem::Desc).for_each(|p| self.bind(p.var));
        match &stm.exp {
            Exp::Atom(a) => self.atom(a),
            Exp::Prim(_, xs) | Exp::Call(_, xs) => self.atoms(xs),
            Exp::Index(arr, is) => {
                self.used.push(*arr);
                self.atoms(is);
            }
            Exp::Check { cond, args, .. } => {
                self.atom(cond);
                self.atoms(args);
            }
            Exp::Update { arr, at, value } => {
                self.used.push(*arr);
                at.iter().for_each(|a| self.atoms(&a.atoms()));
                self.atom(value);
            }
            Exp::If { cond, then, other } => {
                self.atom(cond);
                self.body(then);
                self.body(other);
            }
            Exp::Loop { params, form, body } => self.loop_(params, form, body),
            // Nothing else occurs in a kernel; the code generator says so.
            _ => {}
        }
    }

    fn loop_(&mut self, params: &[(par_ir::core::Param, Atom)], form: &LoopForm, body: &Body) {
        for (p, x) in params {
            self.atom(x);
            self.bind(p.var);
        }
        match form {
            LoopForm::For { index, bound, .. } => {
                self.atom(bound);
                self.bind(*index);
            }
            LoopForm::While(cond) => self.body(cond),
        }
        self.body(body);
    }
}
