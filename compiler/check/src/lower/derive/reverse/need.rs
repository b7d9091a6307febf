//! Results of calls whose values the sweep backward needs. Of data that is only moved it needs the sizes.

use par_ir::core::{At, Body, Exp};
use par_ir::hash::HashSet;
use par_ir::visit::Code;
use par_ir::{Atom, Var};

/// The variables of a function's body whose values are needed. Its results are not, by themselves.
pub(super) fn needed(body: &Body) -> HashSet<Var> {
    let mut found = HashSet::default();
    walk(body, &[], &mut found);
    found
}

/// Goes through a body from the end. `results` says which of its results are needed.
fn walk(body: &Body, results: &[bool], found: &mut HashSet<Var>) {
    for (a, needed) in body.results.iter().zip(results) {
        if *needed {
            found.extend(a.var());
        }
    }
    for stm in body.stms.iter().rev() {
        let wanted: Vec<bool> = stm.pat.iter().map(|p| found.contains(&p.var)).collect();
        let any = wanted.contains(&true);
        // Sizes and descriptors that types name.
        stm.pat.for_each_used(&mut |v| _ = found.insert(v));
        super::super::super::deep(|| expression(&stm.exp, &wanted, any, found));
    }
}

fn expression(exp: &Exp, wanted: &[bool], any: bool, found: &mut HashSet<Var>) {
    let mut moved = |arrays: &[Atom], others: &[Atom]| {
        found.extend(arrays.iter().filter(|_| any).chain(others).filter_map(|a| a.var()));
    };
    match exp {
        Exp::Atom(a) => moved(&[*a], &[]),
        Exp::Index(v, at) => moved(&[Atom::Var(*v)], at),
        Exp::Slice { arr, start, len, stride } => moved(&[Atom::Var(*arr)], &[*start, *len, *stride]),
        Exp::Replicate(n, a) => moved(&[*a], &[*n]),
        Exp::Literal(atoms, _) => moved(atoms, &[]),
        Exp::Concat(parts) => moved(&parts.iter().map(|v| Atom::Var(*v)).collect::<Vec<_>>(), &[]),
        Exp::Flatten(v) | Exp::Unflatten(v) => moved(&[Atom::Var(*v)], &[]),
        Exp::Update { arr, at, value } => {
            let at: Vec<Atom> = at.iter().flat_map(At::atoms).collect();
            moved(&[Atom::Var(*arr), *value], &at);
        }
        Exp::If { cond, then, other } => {
            found.extend(cond.var());
            walk(then, wanted, found);
            walk(other, wanted, found);
        }
        Exp::Map { width, lam, .. } => {
            found.extend(width.var());
            walk(&lam.body, wanted, found);
            // Inputs are needed if their rows are.
            let Exp::Map { inputs, .. } = exp else { return };
            let rows =
                inputs.iter().zip(&lam.params).filter(|(_, p)| found.contains(&p.var)).map(|(v, _)| *v);
            let rows: Vec<Var> = rows.collect();
            found.extend(rows);
        }
        _ => exp.for_each_used(&mut |v| _ = found.insert(v)),
    }
}
