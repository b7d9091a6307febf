//! State calls: recursive functions that update arrays take them last, and give them first.
//!
//! ```text
//! f (xs: [n]t, i) =                            f (i, xs: [n]t) =
//!   … let ys = xs with [i] = v                   … let old = xs[i]
//!     let a = f (ys, i + 1)              ==>       let ys = xs with [i] = v
//!     … xs …                                       let (zs, a) = f (i + 1, ys)
//!                                                  let xs' = zs with [i] = old
//!                                                  … xs' …
//!                                                in (xs', …)
//! ```
//!
//! So each version of an array is the last one, and all of them can be one buffer: a search that marks what it has seen, or tries one move after the other,
//! updates it in place, and kernels call the function. What is used again after an update is restored, element by element. At the end, a caller has
//! the arrays as the state of a loop of one iteration, in which the call stands ([`in_loops`]).

mod linear;
mod signature;

use par_ir::core::{Body, Exp, Fun, FunId, Param, Program, Stm};
use par_ir::hash::HashMap;
use par_ir::inplace::InPlace;
use par_ir::stack::deeper;
use par_ir::visit::{Code, Subst};
use par_ir::{Atom, Scalar, Vars};
use signature::Signature;

/// In all functions that call no others but themselves and such ones, and in their callers.
pub(crate) fn run(program: &mut Program) {
    let Program { funs, vars, .. } = program;
    let mut signatures = HashMap::default();
    for (i, fun) in funs.iter_mut().enumerate() {
        if let Some(made) = with_state(FunId(i as u32), fun, &mut signatures, vars) {
            *fun = made;
        }
    }
    for (i, fun) in funs.iter_mut().enumerate() {
        if !signatures.contains_key(&FunId(i as u32)) {
            callers(&mut fun.body, &signatures, vars);
        }
    }
}

/// A function whose state comes last, if it has some; its signature is one of the known ones then.
fn with_state(id: FunId, fun: &Fun, known: &mut HashMap<FunId, Signature>, vars: &mut Vars) -> Option<Fun> {
    let fits = fun.entry.is_none()
        && states(fun) == 0
        && fun.params.iter().all(|p| p.ty.is_rows_of_scalars())
        && calls_only(&fun.body, id, known);
    let signature = if fits { signature::of(id, fun, known) } else { None }?;
    known.insert(id, signature);
    let made = linear::function(id, fun, known, vars);
    if made.is_none() {
        known.remove(&id);
    }
    made
}

/// True if a body is scalar code over arrays that calls the function itself and functions with signatures only; with parallel operators that result in
/// scalars.
fn calls_only(body: &Body, id: FunId, known: &HashMap<FunId, Signature>) -> bool {
    body.stms.iter().all(|s| match &s.exp {
        Exp::Call(f, _) => *f == id || known.contains_key(f),
        exp if exp.is_soac() => s.pat.iter().all(|p| p.ty.is_scalar()),
        Exp::If { .. } | Exp::Loop { .. } => {
            s.exp.bodies().into_iter().all(|b| deeper(|| calls_only(b, id, known)))
        }
        Exp::Atom(_) | Exp::Index(..) | Exp::Slice { .. } | Exp::Update { .. } | Exp::Iota(_) => true,
        _ => s.is_scalar(),
    })
}

/// Calls with the state last among the arguments, and first among the results.
fn callers(body: &mut Body, signatures: &HashMap<FunId, Signature>, vars: &mut Vars) {
    for stm in &mut body.stms {
        stm.exp.for_each_body_mut(|b| deeper(|| callers(b, signatures, vars)));
        let Exp::Call(f, args) = &stm.exp else { continue };
        if let Some(signature) = signatures.get(f) {
            let (pat, args) = signature.call(&stm.pat, args, vars);
            (stm.pat, stm.exp) = (pat, Exp::Call(*f, args));
        }
    }
}

/// Calls, outside of such functions, as loops of one iteration, whose state the arrays are.
pub(crate) fn in_loops(program: &mut Program) {
    let Program { funs, vars, .. } = program;
    let states: Vec<usize> = funs.iter().map(states).collect();
    let types: Vec<Vec<Param>> = funs.iter().map(|f| f.params.clone()).collect();
    for (fun, _) in funs.iter_mut().zip(&states).filter(|(_, states)| **states == 0) {
        each_call(&mut fun.body, &mut |stm, f, args| {
            let states = states[f.0 as usize];
            if states > 0 {
                *stm = in_loop(stm, (f, args), (&types[f.0 as usize], states), vars);
            }
        });
    }
}

/// The number of arrays that a function updates, if it takes them last, gives them first, and uses each version once.
fn states(fun: &Fun) -> usize {
    match fun.entry.is_none() && InPlace::allows_with_loops(fun, fun.states()).is_ok() {
        true => fun.states(),
        false => 0,
    }
}

fn each_call(body: &mut Body, change: &mut dyn FnMut(&mut Stm, FunId, &[Atom])) {
    for stm in &mut body.stms {
        stm.exp.for_each_body_mut(|b| deeper(|| each_call(b, change)));
        if let Exp::Call(f, args) = &stm.exp {
            let (f, args) = (*f, args.clone());
            change(stm, f, &args);
        }
    }
}

fn in_loop(
    stm: &Stm,
    (f, args): (FunId, &[Atom]),
    (params, states): (&[Param], usize),
    vars: &mut Vars,
) -> Stm {
    let sizes: Subst = params.iter().map(|p| p.var).zip(args.iter().copied()).collect();
    let (rest, initial) = args.split_at(args.len() - states);
    let mut state: Vec<(Param, Atom)> = Vec::new();
    for (p, a) in params[rest.len()..].iter().zip(initial) {
        state.push((Param { var: vars.fresh_like(p.var), ty: p.ty.substituted(&sizes) }, *a));
    }
    let given = rest.iter().copied().chain(state.iter().map(|(p, _)| p.var.into())).collect();
    let zero = |p: &Param| Atom::Const(Scalar::zero(p.ty.prim()));
    state.extend(stm.pat[states..].iter().map(|p| (p.fresh(vars), zero(p))));
    let next: Vec<Param> = state.iter().map(|(p, _)| p.fresh(vars)).collect();
    let results = next.iter().map(|p| p.var.into()).collect();
    let body = Body { stms: vec![Stm { pat: next, exp: Exp::Call(f, given), span: stm.span }], results };
    let exp = Exp::counted(vars.fresh("once"), Atom::i64(1), state, body);
    Stm { pat: stm.pat.clone(), exp, span: stm.span }
}
