//! Parts of nests that give numbers apart from what gives arrays.
//!
//! ```text
//! map (\ p -> let m = reduce min (map (\ c -> sum (map2 f p c)) cs) in map (g m) p) ps
//!
//! ms = map (\ p -> reduce min (map (\ c -> sum (map2 f p c)) cs)) ps
//! map2 (\ p m -> map (g m) p) ps ms
//! ```
//!
//! A nest that results in numbers has a version in which every row is worked through by itself ([`crate::flatten`]). One that results in arrays
//! has none, and its inner operators store for all rows what the outer ones combine.

use par_ir::core::{Body, Exp, Lambda, Param, Program, Stm};
use par_ir::effects::Effects;
use par_ir::stack::deeper;
use par_ir::visit::Code;
use par_ir::{Dim, Type, Var, Vars};
use std::collections::BTreeSet;

/// In every function, outside of operators.
pub(crate) fn run(program: &mut Program) {
    let Program { funs, vars, .. } = program;
    funs.iter_mut().for_each(|f| body(&mut f.body, vars));
}

fn body(b: &mut Body, vars: &mut Vars) {
    for mut stm in std::mem::take(&mut b.stms) {
        if matches!(stm.exp, Exp::If { .. } | Exp::Loop { .. }) {
            deeper(|| stm.exp.own_bodies_mut().into_iter().for_each(|b| body(b, vars)));
        }
        if let Some(numbers) = taken(&mut stm, vars) {
            b.stms.push(numbers);
        }
        b.stms.push(stm);
    }
}

/// The map of the numbers that reductions of nested operators give, taken out of a map that results in arrays.
fn taken(stm: &mut Stm, vars: &mut Vars) -> Option<Stm> {
    let Exp::Map { width, inputs, lam } = &mut stm.exp else { return None };
    if lam.ret.iter().all(|ty| ty.is_scalar() && !ty.is_desc()) {
        return None;
    }
    let part = part(&lam.body)?;
    let used_later: BTreeSet<Var> = {
        let rest = lam.body.stms.iter().enumerate().filter(|(i, _)| !part.contains(i));
        let results = lam.body.results.iter().filter_map(|a| a.var());
        rest.flat_map(|(_, s)| s.free()).chain(results).collect()
    };
    let bound = part.iter().flat_map(|i| &lam.body.stms[*i].pat);
    let out: Vec<Param> = bound.filter(|p| used_later.contains(&p.var)).cloned().collect();
    if out.is_empty() || out.iter().any(|p| !p.ty.is_scalar() || p.ty.is_desc()) {
        return None;
    }
    let (mut stms, mut rest) = (Vec::new(), Vec::new());
    for (i, s) in std::mem::take(&mut lam.body.stms).into_iter().enumerate() {
        if part.contains(&i) { stms.push(s) } else { rest.push(s) }
    }
    lam.body.stms = rest;
    let results = out.iter().map(|p| p.var.into()).collect();
    let numbers = Lambda {
        params: lam.params.clone(),
        body: Body { stms, results },
        ret: out.iter().map(|p| p.ty.clone()).collect(),
        schedule: lam.schedule,
    };
    let all = inputs.clone();
    let array = |p: &Param| Param {
        var: vars.fresh_like(p.var),
        ty: Type::array(vec![Dim::Size(*width)], p.ty.prim()),
    };
    let pat: Vec<Param> = out.iter().map(array).collect();
    inputs.extend(pat.iter().map(|p| p.var));
    lam.params.extend(out);
    Some(Stm {
        pat,
        exp: Exp::Map { width: *width, inputs: all, lam: numbers.refreshed(vars) },
        span: stm.span,
    })
}

/// The numbers of the statements that reductions with operators inside need; nothing if they may fail.
fn part(body: &Body) -> Option<BTreeSet<usize>> {
    let mut part = BTreeSet::new();
    let mut needed = BTreeSet::new();
    for (i, stm) in body.stms.iter().enumerate().rev() {
        if is_deep(stm, body) || stm.pat.iter().any(|p| needed.contains(&p.var)) {
            if stm.has_effect() {
                return None;
            }
            needed.extend(stm.free());
            part.insert(i);
        }
    }
    (!part.is_empty()).then_some(part)
}

/// True for a reduction to numbers of what operators in it give, or in a map before it.
fn is_deep(stm: &Stm, body: &Body) -> bool {
    let gives_numbers = stm.pat.iter().all(|p| p.ty.is_scalar());
    let has_operators = |lam: &Lambda| lam.body.stms.iter().any(|s| s.exp.is_soac());
    let is_made = |v: &Var| {
        let makes = |s: &&Stm| s.pat.iter().any(|p| p.var == *v);
        let made = body.stms.iter().find(makes).map(|s| &s.exp);
        matches!(made, Some(Exp::Map { lam, .. }) if has_operators(lam))
    };
    let deep = |exp: &Exp| match exp {
        Exp::Reduce { lam, inputs, .. } => has_operators(lam) || inputs.iter().any(is_made),
        _ => false,
    };
    gives_numbers && deep(&stm.exp)
}
