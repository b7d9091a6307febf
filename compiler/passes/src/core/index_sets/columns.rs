//! Maps that replace an element of each row, as updates of a column.
//!
//! ```text
//! map n (a, …) (\row … ->                     let c = map n (a, …) (\row … -> … in x)
//!   … in row with [j] = x)             ==>    in a with [:, j] = c
//! ```
//!
//! The column is computed before any of it is stored, so that the map may read other rows.

use par_ir::core::{At, Exp, Param, Stm};
use par_ir::hash::HashSet;
use par_ir::visit::Code;
use par_ir::{Atom, Dim, Type, Var, Vars};

/// The map of the column and the update, if `may_be` allows a result to be a version of an array.
pub(super) fn updated(stm: &Stm, may_be: &dyn Fn(Var, usize) -> bool, vars: &mut Vars) -> Option<Vec<Stm>> {
    let Exp::Map { width, inputs, lam } = &stm.exp else { return None };
    let bound: HashSet<_> = lam.bound().into_iter().collect();
    let is_fixed = |a: &Atom| a.var().is_none_or(|v| !bound.contains(&v));
    for (k, result) in lam.body.results.iter().enumerate() {
        let last = lam.body.stms.iter().position(|s| s.pat.iter().any(|p| Atom::Var(p.var) == *result));
        let Some(last) = last else { continue };
        let Exp::Update { arr: row, at, value } = &lam.body.stms[last].exp else { continue };
        let of = inputs.iter().zip(&lam.params).find(|(_, p)| p.var == *row);
        let Some((array, p)) = of.filter(|(array, _)| may_be(**array, k)) else { continue };
        let is_element = |at: &At| matches!(at, At::Index(i) if is_fixed(i));
        let used_once = lam.body.results.iter().filter(|r| *r == result).count() == 1
            && !lam.body.stms.iter().any(|s| result.var().is_some_and(|v| s.mentions(v)));
        if !p.ty.is_regular()
            || p.ty.is_desc()
            || at.len() != p.ty.rank()
            || !at.iter().all(is_element)
            || !used_once
        {
            continue;
        }
        let mut map = stm.clone();
        let ty = Type::array(vec![Dim::Size(*width)], p.ty.prim());
        let column = Param { var: vars.fresh("column"), ty };
        let after = std::mem::replace(&mut map.pat[k], column.clone());
        let places = [vec![At::Slice { start: Atom::i64(0), stride: Atom::i64(1) }], at.clone()].concat();
        if let Exp::Map { lam, .. } = &mut map.exp {
            lam.body.results[k] = *value;
            lam.ret[k] = Type::scalar(p.ty.prim());
            lam.body.stms.remove(last);
        }
        let exp = Exp::Update { arr: *array, at: places, value: column.var.into() };
        return Some(vec![map, Stm { pat: vec![after], exp, span: stm.span }]);
    }
    None
}
