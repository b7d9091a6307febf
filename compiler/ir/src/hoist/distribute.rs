//! The part of an operator's rows that depends on nothing but its own inputs becomes a map of its own, which may then leave what is around.
//!
//! ```text
//! map n xs (\x ->                            map n xs (\x ->
//!   let zs = map m ys (\y ->                   let ks = map m ys (\y -> exp y)
//!     let k = exp y                    ==>     let zs = map m ys ks (\y k ->
//!     let z = mul x k                            let z = mul x k
//!     in z) …                                    in z) …
//! ```

use crate::core::{Body, Exp, Lambda, Param, Schedule, Stm};
use crate::hash::HashSet;
use crate::prim::{BinOp, PrimOp};
use crate::stack;
use crate::visit::{Code, Subst};
use crate::{Dim, Type, Var, Vars};

/// The map that is split off an operator, and the operator with what is left. `inside` are the variables that vary around it; inputs that are
/// among them have no part in the map.
pub(super) fn split(stm: &Stm, inside: &HashSet<Var>, vars: &mut Vars) -> Option<(Stm, Stm)> {
    let (width, inputs) = (stm.exp.width()?, stm.exp.inputs()?);
    if width.var().is_some_and(|v| inside.contains(&v)) {
        return None;
    }
    let lam = *stm.exp.lambdas().first()?;
    if lam.schedule != Schedule::Free {
        return None;
    }
    let same = |v: &Var| !inside.contains(v);
    let own: Vec<usize> = (0..inputs.len()).filter(|i| same(&inputs[*i])).collect();
    let varying = (0..inputs.len()).filter(|i| !own.contains(i)).map(|i| lam.params[i].var);
    let lam = &distributed(lam, inside.iter().copied().chain(varying).collect(), vars);
    let (stms, results) = part(lam, &own, inside)?;
    let params: Vec<Param> = own.iter().map(|i| lam.params[*i].clone()).collect();
    let needed: Vec<usize> =
        (0..params.len()).filter(|i| stms.iter().any(|s| s.mentions(params[*i].var))).collect();
    if needed.is_empty() {
        return None;
    }

    let mut fresh = Subst::default();
    let copies: Vec<Param> = needed.iter().map(|i| params[*i].refreshed_with(vars, &mut fresh)).collect();
    let body = stms.refreshed_with(vars, &mut fresh);
    let made: Vec<Param> =
        results.iter().map(|p| Param { var: vars.fresh_like(p.var), ty: rows_of(&p.ty, width) }).collect();
    let results_of = results.iter().map(|p| crate::Atom::Var(p.var).substituted(&fresh)).collect();
    let map = Exp::Map {
        width,
        inputs: needed.iter().map(|i| inputs[own[*i]]).collect(),
        lam: Lambda {
            params: copies,
            body: Body { stms: body, results: results_of },
            ret: results.iter().map(|p| p.ty.clone()).collect(),
            schedule: Schedule::Free,
        },
    };
    let mut rest = stm.clone();
    rest.exp.inputs_mut()?.extend(made.iter().map(|p| p.var));
    let left = rest.exp.lambdas_mut().into_iter().next()?;
    left.body = lam.body.clone();
    left.body.stms.retain(|s| !stms.contains(s));
    left.params.extend(results);
    Some((Stm { pat: made, exp: map, span: stm.span }, rest))
}

/// A lambda in which operators are split that have a part which depends on nothing that `varies`.
fn distributed(lam: &Lambda, mut varies: HashSet<Var>, vars: &mut Vars) -> Lambda {
    let mut out = Vec::with_capacity(lam.body.stms.len());
    for stm in &lam.body.stms {
        if stm.free().iter().all(|v| !varies.contains(v)) {
            out.push(stm.clone());
            continue;
        }
        varies.extend(stm.pat.iter().map(|p| p.var));
        match stack::deeper(|| split(stm, &varies, vars)) {
            Some((map, rest)) => out.extend([map, rest]),
            None => out.push(stm.clone()),
        }
    }
    Lambda { body: Body { stms: out, results: lam.body.results.clone() }, ..lam.clone() }
}

/// The statements of a lambda that need its parameters `own` and nothing that varies, if they cost something; and what others need of them.
fn part(lam: &Lambda, own: &[usize], inside: &HashSet<Var>) -> Option<(Vec<Stm>, Vec<Param>)> {
    let params: Vec<Var> = lam.params.iter().map(|p| p.var).collect();
    let mut varies: HashSet<Var> = inside.clone();
    varies.extend(params.iter().enumerate().filter(|(i, _)| !own.contains(i)).map(|(_, v)| *v));
    let mut candidates = vec![false; lam.body.stms.len()];
    let mut of_rows: HashSet<Var> = own.iter().map(|i| params[*i]).collect();
    for (i, stm) in lam.body.stms.iter().enumerate() {
        let free = stm.free();
        candidates[i] = free.iter().all(|v| !varies.contains(v)) && stm.pat.iter().all(|p| p.ty.is_regular());
        match candidates[i] {
            true if free.iter().any(|v| of_rows.contains(v)) => of_rows.extend(stm.pat.iter().map(|p| p.var)),
            true => {}
            false => varies.extend(stm.pat.iter().map(|p| p.var)),
        }
    }
    let costs = |s: &Stm| s.free().iter().any(|v| of_rows.contains(v)) && is_worth_storing(s);
    let wanted = super::wanted(&lam.body.stms, &candidates, HashSet::default(), &costs);
    let (taken, left): (Vec<_>, Vec<_>) = lam.body.stms.iter().zip(wanted).partition(|(_, w)| *w);
    let taken: Vec<Stm> = taken.into_iter().map(|(s, _)| s.clone()).collect();
    let used = |p: &Param| {
        left.iter().any(|(s, _)| s.mentions(p.var)) || lam.body.results.iter().any(|a| a.var() == Some(p.var))
    };
    let results: Vec<Param> = taken.iter().flat_map(|s| &s.pat).filter(|p| used(p)).cloned().collect();
    let bound: Vec<Var> = taken.iter().flat_map(|s| &s.pat).map(|p| p.var).collect();
    let outside = |d: &Dim| matches!(d, Dim::Size(a) if a.var().is_none_or(|v| !bound.contains(&v) && !params.contains(&v)));
    let storable = results.iter().all(|p| p.ty.dims.iter().all(outside));
    (storable && !results.is_empty()).then_some((taken, results))
}

/// True if reading what a statement gave takes less time than doing it again.
fn is_worth_storing(stm: &Stm) -> bool {
    match &stm.exp {
        Exp::Prim(PrimOp::Un(..), _) => super::costs(stm),
        Exp::Prim(PrimOp::Bin(op, _), _) => matches!(op, BinOp::Pow | BinOp::Atan2 | BinOp::Hypot),
        Exp::Prim(..) => false,
        Exp::Reduce { .. } | Exp::Loop { .. } => stm.pat.iter().all(|p| p.ty.is_scalar()),
        // Elements that are worth it, for each row.
        Exp::Map { lam, .. } => lam.body.stms.iter().any(is_worth_storing),
        _ => false,
    }
}

fn rows_of(ty: &Type, width: crate::Atom) -> Type {
    let dims = [&[Dim::Size(width)], &ty.dims[..]].concat();
    Type { dims, ..ty.clone() }
}
