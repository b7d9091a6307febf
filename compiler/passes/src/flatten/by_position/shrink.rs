//! State whose size changes from iteration to iteration but is never larger than at first: an array of its first size has room for it.
//!
//! ```text
//! loop (n = m, xs: [n]t = as) while … do { let (k, ys: [k]t) = filter … xs  in (k, ys) }        k <= n <= m
//! ```

use par_ir::core::{Body, Exp, Param, Stm};
use par_ir::growth::Ran;
use par_ir::hash::HashMap;
use par_ir::visit::{Code, Subst};
use par_ir::{Atom, Dim, Type, Var, Vars};

/// Sizes among the state of a loop, each with what it is at first; none if one of them may grow.
pub(super) fn sizes(
    params: &[(Param, Atom)],
    body: &Body,
    types: &HashMap<Var, Type>,
) -> Option<HashMap<Var, Atom>> {
    let mut sizes = HashMap::default();
    for ty in params.iter().map(|(p, _)| &p.ty) {
        for (i, d) in ty.dims.iter().enumerate() {
            let Dim::Size(Atom::Var(v)) = d else { continue };
            let Some(k) = params.iter().position(|(p, _)| p.var == *v) else { continue };
            let growth = Ran::iteration(params, body, types).growth(body.results[k], *v);
            (i == 0 && growth.is_some_and(|g| g <= 0)).then_some(())?;
            sizes.insert(*v, params[k].1);
        }
    }
    Some(sizes)
}

/// The results of a loop whose arrays keep their first size, and the statements that take from them what is there in the end.
pub(super) fn results(stm: &Stm, sizes: &HashMap<Var, Atom>, vars: &mut Vars) -> (Vec<Param>, Vec<Stm>) {
    let Exp::Loop { params, .. } = &stm.exp else { return (stm.pat.clone(), Vec::new()) };
    let first: Subst = stm
        .pat
        .iter()
        .zip(params)
        .filter_map(|(made, (p, _))| Some((made.var, *sizes.get(&p.var)?)))
        .collect();
    let (mut pat, mut after) = (Vec::new(), Vec::new());
    for p in &stm.pat {
        let ty = p.ty.substituted(&first);
        let (false, Some(Dim::Size(len))) = (ty == p.ty, p.ty.dims.first().copied()) else {
            pat.push(p.clone());
            continue;
        };
        let whole = Param { var: vars.fresh_like(p.var), ty };
        let exp = Exp::Slice { arr: whole.var, start: Atom::i64(0), len, stride: Atom::i64(1) };
        after.push(Stm { pat: vec![p.clone()], exp, span: stm.span });
        pat.push(whole);
    }
    (pat, after)
}
