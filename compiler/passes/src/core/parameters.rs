//! Removes function parameters that are the same constant, or the same as an earlier one, in all calls.
//!
//! ```text
//! fun f (n, m, l, xs: [n][m]f32, ys: [l]f32) { … call f (n, m, l, xs, ys) … }        call f (k, 3, k, xs, ys)
//!
//! fun f (n, xs: [n][3]f32, ys: [n]f32) { … call f (n, xs, ys) … }                    call f (k, xs, ys)
//! ```
//!
//! Sizes are parameters of recursive functions, and lowering does not know what they are. Arrays of a few elements can be scalars where it
//! is known how many there are, and sizes that are the same need no check.

use par_ir::Atom;
use par_ir::Var;
use par_ir::core::{Body, Exp, Fun, Program};
use par_ir::hash::HashMap;
use par_ir::stack::deeper;
use par_ir::visit::{Code, Subst};

/// In all functions but entry points.
pub fn run(program: &mut Program) {
    let known = known_parameters(program);
    let same = same_parameters(program);
    let value = |f: usize, i: usize| {
        let first = same[f][i];
        let earlier = || (first != i).then(|| program.funs[f].params[first].var.into());
        known[f][i].constant().or_else(earlier)
    };
    let values = |f: usize| (0..program.funs[f].params.len()).map(|i| value(f, i)).collect();
    let values: Vec<Vec<Option<Atom>>> = (0..program.funs.len()).map(values).collect();
    if values.iter().flatten().all(Option::is_none) {
        return;
    }
    for (fun, own) in program.funs.iter_mut().zip(&values) {
        drop_from_calls(&mut fun.body, &values);
        let dropped = fun.params.iter().zip(own).filter_map(|(p, a)| Some((p.var, (*a)?)));
        let dropped: Subst = dropped.collect();
        fun.body.substitute(&dropped);
        fun.params.retain(|p| !dropped.contains_key(&p.var));
        fun.params.iter_mut().chain(&mut fun.ret).for_each(|p| p.ty = p.ty.substituted(&dropped));
    }
}

/// Per function and parameter, the first scalar parameter that has the same value in all calls: itself, if there is no other. Those that are equal
/// in one round are equal in the calls that functions make of themselves.
fn same_parameters(program: &Program) -> Vec<Vec<usize>> {
    let mut called = vec![false; program.funs.len()];
    program.funs.iter().for_each(|f| f.body.each_call(&mut |g, _| called[g.0 as usize] = true));
    let first_like = |(f, is_called): (&Fun, &bool)| -> Vec<usize> {
        let like = |i: usize| {
            let ty = &f.params[i].ty;
            let is_like =
                |j: &usize| *is_called && ty.is_scalar() && f.entry.is_none() && f.params[*j].ty == *ty;
            (0..i).find(is_like).unwrap_or(i)
        };
        (0..f.params.len()).map(like).collect()
    };
    let mut same: Vec<Vec<usize>> = program.funs.iter().zip(&called).map(first_like).collect();
    loop {
        let before = same.clone();
        for (fun, own) in program.funs.iter().zip(&before) {
            let named: HashMap<Var, Var> =
                fun.params.iter().zip(own).map(|(p, first)| (p.var, fun.params[*first].var)).collect();
            let value = |a: &Atom| a.var().and_then(|v| named.get(&v)).map_or(*a, |v| (*v).into());
            fun.body.each_call(&mut |callee, args| {
                let classes = &mut same[callee.0 as usize];
                let old = classes.clone();
                let is_same = |i: usize, j: &usize| old[*j] == old[i] && value(&args[*j]) == value(&args[i]);
                (0..args.len()).for_each(|i| classes[i] = (0..i).find(|j| is_same(i, j)).unwrap_or(i));
            });
        }
        if same == before {
            return same;
        }
    }
}

/// Knowledge of a parameter.
#[derive(Clone, Copy, PartialEq)]
enum Known {
    /// No call has been seen.
    Nothing,
    Constant(Atom),
    Varies,
}

impl Known {
    fn constant(self) -> Option<Atom> {
        if let Known::Constant(a) = self { Some(a) } else { None }
    }

    fn join(self, other: Known) -> Known {
        match (self, other) {
            (Known::Nothing, x) | (x, Known::Nothing) => x,
            (a, b) if a == b => a,
            _ => Known::Varies,
        }
    }
}

/// Per function and parameter, what is known: of those in cycles of calls, too, where they are passed on.
fn known_parameters(program: &Program) -> Vec<Vec<Known>> {
    let first =
        |f: &Fun| vec![if f.entry.is_some() { Known::Varies } else { Known::Nothing }; f.params.len()];
    let mut known: Vec<Vec<Known>> = program.funs.iter().map(first).collect();
    loop {
        let before = known.clone();
        for (fun, own) in program.funs.iter().zip(&before) {
            let own: HashMap<Var, Known> =
                fun.params.iter().map(|p| p.var).zip(own.iter().copied()).collect();
            let value = |a: &Atom| match a {
                Atom::Const(_) => Known::Constant(*a),
                Atom::Var(v) => own.get(v).copied().unwrap_or(Known::Varies),
            };
            fun.body.each_call(&mut |callee, args| {
                for (k, a) in known[callee.0 as usize].iter_mut().zip(args) {
                    *k = k.join(value(a));
                }
            });
        }
        if known == before {
            return known;
        }
    }
}

fn drop_from_calls(body: &mut Body, values: &[Vec<Option<Atom>>]) {
    for stm in &mut body.stms {
        if let Exp::Call(fun, args) = &mut stm.exp {
            let mut parameters = values[fun.0 as usize].iter();
            args.retain(|_| parameters.next().is_some_and(Option::is_none));
        }
        deeper(|| stm.exp.for_each_body_mut(|b| drop_from_calls(b, values)));
    }
}
