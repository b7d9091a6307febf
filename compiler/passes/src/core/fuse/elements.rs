//! Maps of which loops read one element after the other: an element that is cheap is computed where it is read.
//!
//! ```text
//! let ys = map n xs (\x -> let y = mul.f32 x c in y)           let t = loop (a = 0) for i < n {
//! let t = loop (a = 0) for i < n {                               let x = xs[i]
//!   let y = ys[i]                                       =>       let y = mul.f32 x c
//!   let b = add.f32 a y                                          let b = add.f32 a y
//!   in b }                                                       in b }
//! ```
//!
//! Only inside the rows of an operator, where all of these maps would be stored at once.

use super::users::Users;
use super::{Fuser, may_sink};
use par_ir::core::{Body, Exp, Lambda, Schedule, Stm};
use par_ir::cost::{Time, operators};
use par_ir::effects::Effects;
use par_ir::tuning;
use par_ir::ty::{Atom, Var};
use par_ir::visit::Code;

/// Computes the elements of such maps of a body where they are read. Says whether there were any.
pub(super) fn sweep(body: &mut Body, fuser: &mut Fuser) -> bool {
    if !fuser.in_rows {
        return false;
    }
    let users = Users::of(body);
    let Some(at) = (0..body.stms.len()).find(|at| only_read(body, &users, *at)) else { return false };
    let map = body.stms.remove(at);
    let mut elements = Elements { map: &map, fuser };
    body.stms[at..]
        .iter_mut()
        .for_each(|s| s.exp.own_bodies_mut().into_iter().for_each(|b| elements.place(b)));
    true
}

/// True for a map with cheap elements, of which loops and branches read elements and nothing is used otherwise.
fn only_read(body: &Body, users: &Users, at: usize) -> bool {
    let stm = &body.stms[at];
    let Exp::Map { inputs, lam, .. } = &stm.exp else { return false };
    let short = operators(&lam.body.stms, Time::Short).is_some_and(|n| n <= tuning::INLINE_OPERATORS);
    let reads = lam.body.stms.iter().filter(|s| matches!(s.exp, Exp::Index(..))).count() + inputs.len();
    let is_scalar =
        lam.body.stms.iter().all(|s| s.is_scalar()) && lam.params.iter().all(|p| p.ty.is_scalar());
    let is_cheap = lam.schedule == Schedule::Free && is_scalar && short && reads <= tuning::INLINE_READS;
    if !is_cheap || stm.has_effect() {
        return false;
    }
    let last = stm.pat.iter().filter_map(|p| users.after(p.var, at).last()).max();
    let of_elements =
        |v: Var| !users.is_result(v) && users.after(v, at).all(|u| is_in_loops(&body.stms[u], v));
    last.is_some_and(|last| may_sink(body, at, last)) && stm.pat.iter().all(|p| of_elements(p.var))
}

/// True if all uses of an array in a statement are reads of elements in the bodies of loops and branches.
fn is_in_loops(stm: &Stm, array: Var) -> bool {
    let inside: usize = stm.exp.own_bodies().into_iter().map(|b| reads(b, array)).sum();
    inside == stm.uses_of(array)
}

/// The number of reads of an array's elements in the code of a body, that of operators' rows left out.
fn reads(body: &Body, array: Var) -> usize {
    let of = |s: &Stm| match &s.exp {
        Exp::Index(arr, index) => usize::from(*arr == array && index.len() == 1),
        exp => exp.own_bodies().into_iter().map(|b| reads(b, array)).sum(),
    };
    body.stms.iter().map(of).sum()
}

/// Puts a map's elements in the place of reads.
struct Elements<'m, 'f, 'a> {
    map: &'m Stm,
    fuser: &'f mut Fuser<'a>,
}

impl Elements<'_, '_, '_> {
    fn place(&mut self, body: &mut Body) {
        let mut stms = Vec::with_capacity(body.stms.len());
        for mut stm in std::mem::take(&mut body.stms) {
            stm.exp.own_bodies_mut().into_iter().for_each(|b| self.place(b));
            if let Exp::Index(arr, index) = &stm.exp
                && let Some(result) = self.map.pat.iter().position(|p| p.var == *arr)
            {
                let value = self.element(result, index[0], &mut stms);
                stm.exp = Exp::Atom(value);
            }
            stms.push(stm);
        }
        body.stms = stms;
    }

    /// A result of the map at an index.
    fn element(&mut self, result: usize, index: Atom, stms: &mut Vec<Stm>) -> Atom {
        let Stm { exp: Exp::Map { inputs, lam, .. }, span, .. } = self.map else {
            unreachable!("a map was found")
        };
        let Lambda { params, body, .. } = lam.refreshed(self.fuser.vars);
        let at = stms.len();
        let read =
            |(p, input): (_, &Var)| Stm { pat: vec![p], exp: Exp::Index(*input, vec![index]), span: *span };
        stms.extend(params.into_iter().zip(inputs).map(read));
        stms.extend(body.stms);
        self.fuser.register(stms[at..].iter().flat_map(|s| &s.pat));
        body.results[result]
    }
}
