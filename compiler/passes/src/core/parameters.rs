//! Removes function parameters that are the same constant in all calls.
//!
//! ```text
//! fun f (n, m, xs: [n][m]f32) { … call f (n, m, xs) … }        call f (k, 3, ys)
//!
//! fun f (n, xs: [n][3]f32) { … call f (n, xs) … }              call f (k, ys)
//! ```
//!
//! Sizes are parameters of recursive functions, and lowering does not know what they are. Arrays of a few elements can be scalars where it
//! is known how many there are.

use par_ir::Atom;
use par_ir::Var;
use par_ir::core::{Body, Exp, Fun, Program};
use par_ir::stack::deeper;
use par_ir::visit::{Code, Subst};
use std::collections::HashMap;

/// In all functions but entry points.
pub fn run(program: &mut Program) {
    let known = known_parameters(program);
    if known.iter().flatten().all(|k| k.constant().is_none()) {
        return;
    }
    for (fun, own) in program.funs.iter_mut().zip(&known) {
        drop_from_calls(&mut fun.body, &known);
        let constants = fun.params.iter().zip(own).filter_map(|(p, k)| Some((p.var, k.constant()?)));
        let constants: Subst = constants.collect();
        fun.body.substitute(&constants);
        fun.params.retain(|p| !constants.contains_key(&p.var));
        fun.params.iter_mut().chain(&mut fun.ret).for_each(|p| p.ty = p.ty.substituted(&constants));
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

fn drop_from_calls(body: &mut Body, known: &[Vec<Known>]) {
    for stm in &mut body.stms {
        if let Exp::Call(fun, args) = &mut stm.exp {
            let mut parameters = known[fun.0 as usize].iter();
            args.retain(|_| parameters.next().is_some_and(|k| k.constant().is_none()));
        }
        deeper(|| stm.exp.for_each_body_mut(|b| drop_from_calls(b, known)));
    }
}
