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
//! updates it in place, and kernels call the function. What is used again after an update is restored, element by element. A caller has
//! the arrays as the state of a loop of one iteration, in which the call stands.

mod linear;
mod signature;

use par_ir::core::{Body, Exp, Fun, FunId, Param, Program, Stm};
use par_ir::stack::deeper;
use par_ir::visit::{Code, Subst};
use par_ir::{Atom, Scalar, Vars};
use signature::Signature;
use std::collections::HashMap;

/// In all functions that call no others but themselves and such ones, and in their callers.
pub(crate) fn run(program: &mut Program) {
    let Program { funs, vars, .. } = program;
    let mut signatures = HashMap::new();
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

/// Calls as loops of one iteration.
fn callers(body: &mut Body, signatures: &HashMap<FunId, Signature>, vars: &mut Vars) {
    for stm in &mut body.stms {
        stm.exp.for_each_body_mut(|b| deeper(|| callers(b, signatures, vars)));
        let Exp::Call(f, args) = &stm.exp else { continue };
        if let Some(signature) = signatures.get(f) {
            *stm = in_loop(stm, (*f, args), signature, vars);
        }
    }
}

fn in_loop(stm: &Stm, (f, args): (FunId, &[Atom]), signature: &Signature, vars: &mut Vars) -> Stm {
    let sizes: Subst = signature.params.iter().map(|p| p.var).zip(args.iter().copied()).collect();
    let (mut state, mut pat) = (Vec::new(), Vec::new());
    for (i, result) in &signature.state {
        let p = &signature.params[*i];
        let p = Param { var: vars.fresh_like(p.var), ty: p.ty.substituted(&sizes) };
        pat.push(result.map_or_else(|| p.fresh(vars), |j| stm.pat[j].clone()));
        state.push((p, args[*i]));
    }
    let states = state.iter().map(|(p, _)| p.var.into());
    let rest = signature.others(args.len(), |s| Some(s.0)).into_iter().map(|i| args[i]);
    let given = rest.chain(states).collect();
    for j in signature.others(stm.pat.len(), |s| s.1) {
        let p = &stm.pat[j];
        state.push((p.fresh(vars), Atom::Const(Scalar::zero(p.ty.prim()))));
        pat.push(p.clone());
    }
    let next: Vec<Param> = state.iter().map(|(p, _)| p.fresh(vars)).collect();
    let results = next.iter().map(|p| p.var.into()).collect();
    let body = Body { stms: vec![Stm { pat: next, exp: Exp::Call(f, given), span: stm.span }], results };
    let exp = Exp::counted(vars.fresh("once"), Atom::i64(1), state, body);
    Stm { pat, exp, span: stm.span }
}
