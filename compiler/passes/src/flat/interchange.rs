//! A host loop of maps becomes a map of loops: what one position keeps from iteration to iteration stays in a register.
//!
//! ```text
//! ys = loop (acc = xs) for k < m do                 ys = kernel map \row pos {
//!     zs = kernel map \row pos {                        let x = xs[pos]
//!         let a = acc[pos]                              let y = loop (a = x) for k < m do
//!         let b = bs[k*p + pos - row*p]      ==>            let b = bs[k*p + pos - row*p]
//!         in (a + b)                                        in a + b
//!     }                                                 in y
//!     in zs                                         }
//! ```
//!
//! Every iteration must be one map that reads the loop's arrays at its own position only, and that cannot fail: a failing
//! check would be reported for another iteration. Numbers that the host computes before it, from the number of the iteration, are computed at every position. What does not change from iteration to iteration is not done again.

use crate::flat::bulk::reads;
use par_ir::core::{self, Body, Exp, Stm};
use par_ir::effects::Effects;
use par_ir::flat::{self, Block, Kernel, KernelKind, Op, Out, Space, Ty};
use par_ir::hash::{HashMap, HashSet};
use par_ir::visit::Code;
use par_ir::{Atom, Dim, Prim, Type, Var, Vars};

/// In every function of a program.
pub fn run(program: &mut flat::Program) {
    let vars = &mut program.vars;
    program.funs.iter_mut().for_each(|f| block(&mut f.body, vars));
}

fn block(b: &mut Block, vars: &mut Vars) {
    for stm in &mut b.stms {
        stm.op.for_each_block_mut(|b| block(b, vars));
        if let Some(kernel) = interchanged(&stm.op, vars) {
            stm.op = Op::Kernel(Box::new(kernel));
        }
    }
}

/// The map of loops that a host loop is.
fn interchanged(op: &Op, vars: &mut Vars) -> Option<Kernel> {
    let Op::Loop { params, form: flat::LoopForm::For { index, prim, bound }, body } = op else { return None };
    let (flat::Stm { pat, op: Op::Kernel(kernel), .. }, before) = body.stms.split_last()? else {
        return None;
    };
    let KernelKind::Map(outs) = &kernel.kind else { return None };
    let numbers = before.iter().map(of_kernel).collect::<Option<Vec<Stm>>>()?;
    if numbers.iter().flat_map(|s| &s.pat).any(|p| space_uses(&kernel.space, p.var)) {
        return None;
    }
    let made: Vec<Atom> = pat.iter().map(|p| Atom::Var(p.var)).collect();
    if body.results != made || params.is_empty() || space_uses(&kernel.space, *index) {
        return None;
    }
    let states: Vec<State> =
        params.iter().zip(outs).map(|((p, x), out)| State::new(p, x, out, vars)).collect::<Option<_>>()?;
    let fits = |s: &Stm| !s.has_effect() && reads_in_place(s, &states, kernel.pos);
    let reads_none = |s: &Stm| !uses_any(s, &states.iter().map(|s| s.array).collect());
    if !kernel.body.stms.iter().all(fits) || !kernel.prologue.iter().all(reads_none) {
        return None;
    }
    Some(build(kernel, &numbers, &states, (*index, *prim, *bound), vars))
}

/// A statement of the host as one of a kernel: an operator on numbers that cannot fail.
fn of_kernel(stm: &flat::Stm) -> Option<Stm> {
    let (Op::Prim(op, xs), [p]) = (&stm.op, stm.pat.as_slice()) else { return None };
    let pat = vec![core::Param { var: p.var, ty: Type::scalar(op.result()) }];
    let stm = Stm { pat, exp: Exp::Prim(*op, xs.clone()), span: stm.span };
    (!stm.has_effect()).then_some(stm)
}

/// An array that the loop carries.
struct State {
    array: Var,
    prim: Prim,
    initial: Var,
    /// Its element at a position, during the loop and after it.
    element: Var,
    last: Var,
}

impl State {
    fn new(param: &flat::Param, initial: &Atom, out: &Out, vars: &mut Vars) -> Option<State> {
        let (Ty::Array(prim), Out::Elem(_)) = (param.ty, out) else { return None };
        let (element, last) = (vars.fresh_like(param.var), vars.fresh_like(param.var));
        Some(State { array: param.var, prim, initial: initial.var()?, element, last })
    }
}

fn space_uses(space: &Space, v: Var) -> bool {
    space.0.contains(&Dim::Size(Atom::Var(v)))
}

/// True if a statement mentions the loop's arrays only to read them at the kernel's position.
fn reads_in_place(stm: &Stm, states: &[State], pos: Var) -> bool {
    let body = |b: &Body| {
        let results = b.results.iter().all(|a| states.iter().all(|s| *a != Atom::Var(s.array)));
        results && b.stms.iter().all(|s| reads_in_place(s, states, pos))
    };
    match &stm.exp {
        Exp::Index(arr, index) if states.iter().any(|s| s.array == *arr) => index[..] == [Atom::Var(pos)],
        Exp::If { then, other, .. } => body(then) && body(other),
        Exp::Loop { form: core::LoopForm::For { .. }, body: b, .. } => body(b),
        Exp::Loop { form: core::LoopForm::While(cond), body: b, .. } => body(cond) && body(b),
        _ => true,
    }
}

fn uses_any(stm: &Stm, vars: &HashSet<Var>) -> bool {
    stm.free().iter().any(|v| vars.contains(v))
}

fn build(
    kernel: &Kernel,
    numbers: &[Stm],
    states: &[State],
    (index, prim, bound): (Var, Prim, Atom),
    vars: &mut Vars,
) -> Kernel {
    // Variables that change from iteration to iteration.
    let mut changing: HashSet<Var> = states.iter().map(|s| s.array).chain([index]).collect();
    let mut divide = |stms: &[Stm]| -> (Vec<Stm>, Vec<Stm>) {
        stms.iter().cloned().partition(|s| {
            let changes = uses_any(s, &changing);
            if changes {
                changing.extend(s.pat.iter().map(|p| p.var));
            }
            !changes
        })
    };
    let (mut prologue, mut inner) = divide(numbers);
    let (first, changes) = divide(&kernel.prologue);
    prologue.extend(first);
    inner.extend(changes);
    let (mut stms, rest) = divide(&kernel.body.stms);
    inner.extend(rest);
    let elements: HashMap<Var, Var> = states.iter().map(|s| (s.array, s.element)).collect();

    let span = kernel.body.stms.first().map(|s| s.span).unwrap_or_default();
    let scalar = |var: Var, prim: Prim| core::Param { var, ty: Type::scalar(prim) };
    let mut params = Vec::new();
    for s in states {
        let first = vars.fresh_like(s.array);
        let exp = Exp::Index(s.initial, vec![Atom::Var(kernel.pos)]);
        stms.push(Stm { pat: vec![scalar(first, s.prim)], exp, span });
        params.push((scalar(s.element, s.prim), Atom::Var(first)));
    }
    let mut body = Body { stms: inner, results: kernel.body.results.clone() };
    reads::replace(&mut body, &|array, _| elements.get(&array).map(|v| Atom::Var(*v)));
    let exp = Exp::Loop { params, form: core::LoopForm::For { index, prim, bound }, body };
    stms.push(Stm { pat: states.iter().map(|s| scalar(s.last, s.prim)).collect(), exp, span });
    let results = states.iter().map(|s| Atom::Var(s.last)).collect();
    Kernel { prologue, body: Body { stms, results }, ..kernel.clone() }
}
