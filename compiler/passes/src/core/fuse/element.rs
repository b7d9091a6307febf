//! Maps of which one element is used.
//!
//! ```text
//! let ys = map n xs (\x -> let y = mul.f32 x c in y)           let x = xs[i]
//! let y = ys[i]                                        =>      let y = mul.f32 x c
//! ```
//!
//! Not if the lambda may fail: it would have failed for other elements, too.

use super::users::Users;
use super::{Fuser, may_sink};
use par_ir::core::{Body, Exp, Lambda, Schedule, Stm};
use par_ir::effects::Effects;
use par_ir::hash::HashMap;
use par_ir::ty::{Atom, Var};
use par_ir::visit::Code;

/// Puts the element in the place of such maps in a body. Says whether there were any.
pub(super) fn sweep(body: &mut Body, fuser: &mut Fuser) -> bool {
    let users = Users::of(body);
    let found = (0..body.stms.len()).find_map(|at| Some((at, only_element(body, &users, at)?)));
    let Some((at, (first, index))) = found else { return false };
    let Stm { pat, exp: Exp::Map { inputs, lam, .. }, span } = body.stms.remove(at) else {
        unreachable!("a map was found")
    };
    let Lambda { params, body: element, .. } = lam.refreshed(fuser.vars);
    let read = |(p, input)| Stm { pat: vec![p], exp: Exp::Index(input, vec![index]), span };
    let mut stms: Vec<Stm> = params.into_iter().zip(inputs).map(read).collect();
    stms.extend(element.stms);
    fuser.register(stms.iter().flat_map(|s| &s.pat));
    let values: HashMap<Var, Atom> = pat.iter().map(|p| p.var).zip(element.results).collect();
    for stm in &mut body.stms {
        if let Exp::Index(arr, indices) = &stm.exp
            && let Some(value) = values.get(arr)
        {
            stm.exp = match value.var().filter(|_| indices.len() > 1) {
                Some(row) => Exp::Index(row, indices[1..].to_vec()),
                None => Exp::Atom(*value),
            };
        }
    }
    body.stms.splice(first - 1..first - 1, stms);
    true
}

/// If all that is used of what a statement makes is one element, and it is a map: where that is first, and its index.
fn only_element(body: &Body, users: &Users, at: usize) -> Option<(usize, Atom)> {
    let stm = &body.stms[at];
    let Exp::Map { lam, .. } = &stm.exp else { return None };
    if lam.schedule != Schedule::Free || stm.has_effect() {
        return None;
    }
    let first = users.first_user(body, at)?;
    let Exp::Index(_, indices) = &body.stms[first].exp else { return None };
    let is_element = |at: usize, v: Var| match &body.stms[at].exp {
        Exp::Index(arr, others) => *arr == v && others[0] == indices[0] && body.stms[at].uses_of(v) == 1,
        _ => false,
    };
    let of_element = |v: Var| !users.is_result(v) && users.after(v, at).all(|user| is_element(user, v));
    let all = stm.pat.iter().all(|p| of_element(p.var));
    (all && may_sink(body, at, first)).then(|| (first, indices[0]))
}
