//! `while` loops that count are counted loops, whose number of iterations is known before they run.
//!
//! ```text
//! loop (x = a, i = 0) while i < n {            count = if 0 < n then n - 0 else 0
//!     y = … x … i …                            loop (x = a) for k < count {
//!     j = add.i64 i 1                  ==>         i = add.i64 0 k
//!     in (y, j) }                                  y = … x … i … }
//!                                              i' = add.i64 0 count
//! ```
//!
//! A counter goes up or down by one and is compared with what the loop does not change. That is also how loops over part of an
//! array are written, from whose sizes passes after this one know what an iteration does.

use par_ir::build::Statements;
use par_ir::core::{Body, Exp, LoopForm, Program, Stm};
use par_ir::prim::{BinOp, CmpOp, PrimOp};
use par_ir::stack::deeper;
use par_ir::ty::{Atom, Var, Vars};
use par_ir::visit::Code;
use par_ir::{Prim, Scalar, Type};

/// In every function.
pub fn run(program: &mut Program) {
    let vars = &mut program.vars;
    program.funs.iter_mut().for_each(|f| body(&mut f.body, vars));
}

fn body(b: &mut Body, vars: &mut Vars) {
    let mut stms = Vec::with_capacity(b.stms.len());
    for mut stm in std::mem::take(&mut b.stms) {
        stm.exp.for_each_body_mut(|inner| deeper(|| body(inner, vars)));
        match counter(&stm) {
            Some(counter) => stms.extend(counted(stm, &counter, vars)),
            None => stms.push(stm),
        }
    }
    b.stms = stms;
}

/// The state of a loop that counts.
struct Counter {
    /// Its number among the states.
    at: usize,
    prim: Prim,
    /// From one iteration to the next.
    step: BinOp,
    /// The comparison of the counter with the bound: `<` or `<=` upwards, `>` or `>=` downwards.
    goes_on: CmpOp,
    bound: Atom,
}

fn counter(stm: &Stm) -> Option<Counter> {
    let Exp::Loop { params, form: LoopForm::While(cond), body } = &stm.exp else { return None };
    let [last] = cond.results.as_slice() else { return None };
    let (test, before) = cond.stms.split_last()?;
    let is_state = |a: &Atom| a.var().is_some_and(|v| params.iter().any(|(p, _)| p.var == v));
    // What is before the comparison depends on nothing in the loop, and is moved out of it.
    let fixed = |s: &Stm| {
        matches!(&s.exp, Exp::Prim(_, args) if !args.iter().any(is_state))
            || matches!(&s.exp, Exp::Atom(a) if !is_state(a))
    };
    let Exp::Prim(PrimOp::Cmp(op, prim @ (Prim::I32 | Prim::I64)), args) = &test.exp else { return None };
    if *last != test.pat[0].var.into() || !before.iter().all(fixed) {
        return None;
    }
    let (goes_on, counter, bound) = match (is_state(&args[0]), is_state(&args[1])) {
        (true, false) => (*op, args[0], args[1]),
        (false, true) => (op.exchanged(), args[1], args[0]),
        _ => return None,
    };
    let at = params.iter().position(|(p, _)| counter == p.var.into())?;
    // A size of other state stays with it.
    if params.iter().any(|(p, _)| p.ty.mentions(params[at].0.var)) {
        return None;
    }
    let step = match (goes_on, step(body, at, params[at].0.var)?) {
        (CmpOp::Lt | CmpOp::Le, 1) => BinOp::Add,
        (CmpOp::Gt | CmpOp::Ge, -1) => BinOp::Sub,
        _ => return None,
    };
    Some(Counter { at, prim: *prim, step, goes_on, bound })
}

/// By how much a state changes in an iteration.
fn step(body: &Body, at: usize, counter: Var) -> Option<i64> {
    let next = body.results[at].var()?;
    let stm = body.stms.iter().find(|s| s.pat.iter().any(|p| p.var == next))?;
    let Exp::Prim(PrimOp::Bin(op, _), args) = &stm.exp else { return None };
    let counter = counter.into();
    match (op, args[0] == counter, args[1] == counter) {
        (BinOp::Add, true, false) => args[1].as_i64(),
        (BinOp::Add, false, true) => args[0].as_i64(),
        (BinOp::Sub, true, false) => args[1].as_i64().and_then(i64::checked_neg),
        _ => None,
    }
}

/// The counted loop, what comes before it, and the last value of the counter.
fn counted(mut stm: Stm, c: &Counter, vars: &mut Vars) -> Vec<Stm> {
    let span = stm.span;
    let mut out = Statements::new(span);
    let Exp::Loop { params, form: form @ LoopForm::While(_), body } = &mut stm.exp else { return vec![stm] };
    if let LoopForm::While(cond) = form {
        cond.stms.pop();
        out.stms.append(&mut cond.stms);
    }
    let (counter, first) = params.remove(c.at);
    let last = stm.pat.remove(c.at);
    body.results.remove(c.at);
    let index = vars.fresh_like(counter.var);
    let (bound, count) = iterations(&mut out, c, first, vars);
    *form = LoopForm::For { index, prim: c.prim, bound };
    let value = |k: Atom| Exp::Prim(PrimOp::Bin(c.step, c.prim), vec![first, k]);
    body.stms.insert(0, Stm { pat: vec![counter], exp: value(index.into()), span });
    out.stms.push(stm);
    out.bind(vec![last], value(count));
    out.stms
}

/// The bound of the loop, below zero for some that do not run, and the number of iterations.
fn iterations(out: &mut Statements, c: &Counter, first: Atom, vars: &mut Vars) -> (Atom, Atom) {
    let (low, high) = if c.step == BinOp::Add { (first, c.bound) } else { (c.bound, first) };
    let number = |n: i64| Atom::Const(Scalar::from_i64(c.prim, n));
    let op = |op| PrimOp::Bin(op, c.prim);
    let ends = i64::from(matches!(c.goes_on, CmpOp::Le | CmpOp::Ge));
    match low.as_i64().map(|low| low - ends) {
        Some(0) => (high, out.prim("count", op(BinOp::Max), vec![high, number(0)], vars)),
        Some(below) if below > 0 => {
            let most = out.prim("most", op(BinOp::Max), vec![high, number(below)], vars);
            let count = out.prim("count", op(BinOp::Sub), vec![most, number(below)], vars);
            (count, count)
        }
        _ => {
            // A difference that has no room is one of iterations without end.
            let mut then = Statements::new(out.span);
            let between = then.prim("count", op(BinOp::Sub), vec![high, low], vars);
            let all = then.prim("count", op(BinOp::Add), vec![between, number(ends)], vars);
            let fits = then.prim("fits", PrimOp::Cmp(CmpOp::Lt, c.prim), vec![number(0), all], vars);
            let most = number(if c.prim == Prim::I32 { i64::from(i32::MAX) } else { i64::MAX });
            let exp = Exp::If { cond: fits, then: only(all), other: only(most) };
            let count = then.value("count", Type::scalar(c.prim), exp, vars);
            let begins = out.prim("begins", PrimOp::Cmp(c.goes_on, c.prim), vec![first, c.bound], vars);
            let exp =
                Exp::If { cond: begins, then: then.results(vec![count.into()]), other: only(number(0)) };
            let count = out.value("count", Type::scalar(c.prim), exp, vars).into();
            (count, count)
        }
    }
}

fn only(result: Atom) -> Body {
    Body { stms: Vec::new(), results: vec![result] }
}
