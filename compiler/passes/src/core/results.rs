//! Removes function results that are constants or argument sizes.
//!
//! ```text
//! fun f (n, xs: [n][3]i64) -> (k, m, r: [k][m]i64) { … in (k1, 3, r1) }     (k, m, r: [k][m]i64) = call f (n, xs)
//!
//! fun f (n, xs: [n][3]i64) -> (k, r: [k][3]i64) { … in (k1, r1) }           (k, r: [k][3]i64) = call f (n, xs)
//! ```
//!
//! A function results in a constant, or in the size of an argument, where lowering could not say so in its type. Rows whose length is
//! known need no descriptor, and calls that result in them can be merged.

use par_ir::core::{Body, Exp, Fun, Param, Program};
use par_ir::hash::HashMap;
use par_ir::stack::deeper;
use par_ir::visit::{Code, Subst};
use par_ir::{Atom, Dim, Var};

/// Removes known results from all functions but entry points, until there are none.
pub fn run(program: &mut Program) {
    loop {
        let known: Vec<Vec<Option<Known>>> = program.funs.iter().map(known_results).collect();
        if known.iter().flatten().all(Option::is_none) {
            return;
        }
        for (fun, own) in program.funs.iter_mut().zip(&known) {
            drop_results(fun, own);
            let mut values = HashMap::default();
            drop_from_calls(&mut fun.body, &known, &mut values);
            let values: Subst = values.keys().map(|v| (*v, last(*v, &values))).collect();
            fun.body.substitute(&values);
        }
    }
}

/// Known value of a result.
#[derive(Clone, Copy)]
enum Known {
    Constant(Atom),
    /// The parameter at this place.
    Argument(usize),
}

/// Per result, what is known of it. One result remains, whatever is known.
fn known_results(fun: &Fun) -> Vec<Option<Known>> {
    let known = |(p, a): (&Param, &Atom)| match a {
        _ if fun.entry.is_some() || !p.ty.is_scalar() || p.ty.is_desc() => None,
        Atom::Const(_) => Some(Known::Constant(*a)),
        Atom::Var(v) => {
            let is_size = fun.params.iter().any(|p| p.ty.dims.contains(&Dim::Size(*a)));
            fun.params.iter().position(|p| p.var == *v && is_size).map(Known::Argument)
        }
    };
    let all: Vec<Option<Known>> = fun.ret.iter().zip(&fun.body.results).map(known).collect();
    if all.iter().all(Option::is_some) { vec![None; all.len()] } else { all }
}

/// The others of some things.
fn keep_unknown<T>(all: &mut Vec<T>, known: &[Option<Known>]) {
    let mut places = known.iter();
    all.retain(|_| places.next().is_none_or(Option::is_none));
}

fn drop_results(fun: &mut Fun, known: &[Option<Known>]) {
    let value = |(p, k): (&Param, &Option<Known>)| match k {
        Some(Known::Constant(a)) => Some((p.var, *a)),
        Some(Known::Argument(i)) => Some((p.var, fun.params[*i].var.into())),
        None => None,
    };
    let values: Subst = fun.ret.iter().zip(known).filter_map(value).collect();
    keep_unknown(&mut fun.ret, known);
    keep_unknown(&mut fun.body.results, known);
    fun.ret.iter_mut().for_each(|p| p.ty = p.ty.substituted(&values));
}

/// Removes known results from patterns of calls, and notes what stands for them.
fn drop_from_calls(body: &mut Body, known: &[Vec<Option<Known>>], values: &mut HashMap<Var, Atom>) {
    for stm in &mut body.stms {
        if let Exp::Call(f, args) = &stm.exp {
            let known = &known[f.0 as usize];
            for (p, k) in stm.pat.iter().zip(known) {
                match k {
                    Some(Known::Constant(a)) => drop(values.insert(p.var, *a)),
                    Some(Known::Argument(i)) => drop(values.insert(p.var, args[*i])),
                    None => {}
                }
            }
            keep_unknown(&mut stm.pat, known);
        }
        deeper(|| {
            stm.exp.for_each_body_mut(|b| drop_from_calls(b, known, values));
        });
    }
}

/// Final replacement of a variable, through replacements of replacements.
fn last(v: Var, values: &HashMap<Var, Atom>) -> Atom {
    match values.get(&v) {
        Some(Atom::Var(w)) => last(*w, values),
        Some(constant) => *constant,
        None => v.into(),
    }
}
