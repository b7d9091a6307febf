//! Arrays whose dimensions are exchanged go to the one operator that reads them, deeper inside, which then reads the elements where they are.
//!
//! ```text
//! let bt = map m js (\j -> map n is (\i -> b[i, j]))
//! let zs = map k a (\row ->                              =>    let zs = map k a (\row ->
//!   let z = map m bt (\col ->                                    let z = map m js (\j ->
//!     let t = reduce add n (row, col) …                            let t = reduce add n (row, is) (\x i -> … b[i, j] …)
//!     in t)                                                        in t)
//!   in z)                                                        in z)
//! ```
//!
//! They are moved where vertical fusion takes them in, with all of their dimensions: nothing is computed there, so nothing is lost by reading an
//! element more than once. Outside of nests they are not moved into loops: there an array in the right order, made once, is read faster. Arrays of a few
//! elements become scalars in any order.

use super::parts::rows;
use super::{Fuser, may_fuse, may_sink, small_enough};
use crate::core::views::View;
use par_ir::core::{Body, Exp, Lambda, Stm};
use par_ir::stack::deeper;
use par_ir::ty::{Atom, Var};
use par_ir::visit::Code;
use par_ir::{tiny, tuning};

/// Moves what can be moved from a body into the lambdas, loops and arms in it.
pub(super) fn sink(body: &mut Body, fuser: &Fuser) {
    let counts = |v: Var| fuser.iotas.contains(&v);
    for at in (0..body.stms.len()).rev() {
        let stm = &body.stms[at];
        if View::of(&stm.exp, &counts).is_none_or(|view| !view.exchanges())
            || tiny::sizes(&stm.pat[0].ty, tuning::TINY_ELEMENTS).is_some()
        {
            continue;
        }
        let v = stm.pat[0].var;
        let Some(user) = only_user(body, v).filter(|user| may_sink(body, at, *user)) else { continue };
        let view = body.stms[at].clone();
        if put_inside(&mut body.stms[user], &view, fuser.in_rows) {
            body.stms.remove(at);
        }
    }
}

/// The one statement of a body that mentions a variable.
fn only_user(body: &Body, v: Var) -> Option<usize> {
    let mut users = (0..body.stms.len()).filter(|i| body.stms[*i].mentions(v));
    let user = users.next()?;
    (users.next().is_none() && !body.results.contains(&Atom::Var(v))).then_some(user)
}

/// Puts the view before the operator that reads it, if that is inside of this statement.
fn put_inside(stm: &mut Stm, view: &Stm, in_rows: bool) -> bool {
    let v = view.pat[0].var;
    if matches!(stm.exp, Exp::Loop { .. }) && !in_rows {
        return false;
    }
    let in_rows = in_rows || stm.exp.is_soac();
    let mut operands = stm.exp.inputs().is_some_and(|all| all.contains(&v));
    stm.exp.for_each_operand(&mut |a| operands |= a == Atom::Var(v));
    let mut inside = 0;
    stm.exp.for_each_body(|b| inside += usize::from(b.mentions(v)));
    let mut is_put = false;
    if !operands && inside == 1 && !stm.pat.mentions(v) {
        stm.exp.for_each_body_mut(|b| is_put |= b.mentions(v) && deeper(|| put_into(b, view, in_rows)));
    }
    is_put
}

fn put_into(body: &mut Body, view: &Stm, in_rows: bool) -> bool {
    let Some(user) = only_user(body, view.pat[0].var) else { return false };
    if reads(&body.stms[user], view) {
        body.stms.insert(user, view.clone());
        return true;
    }
    put_inside(&mut body.stms[user], view, in_rows)
}

/// True if an operator will read the elements of all dimensions of what a statement makes.
fn reads(reader: &Stm, made: &Stm) -> bool {
    let (Exp::Map { width, lam: producer, .. }, Some((w, inputs, lam))) = (&made.exp, rows(&reader.exp))
    else {
        return false;
    };
    let v = made.pat[0].var;
    let fits = *width == w && may_fuse(producer, lam) && small_enough(producer, lam);
    let Some(k) = inputs.iter().position(|i| *i == v).filter(|_| fits) else { return false };
    let is_only_input = super::vertical::only_inputs(reader, &[v]) && !reader.pat.mentions(v);
    is_only_input
        && inputs.iter().filter(|i| **i == v).count() == 1
        && reads_row(&reader.exp, lam, k, producer)
}

/// The same of a row, the operator's parameter `k`, which the producer makes.
fn reads_row(reader: &Exp, lam: &Lambda, k: usize, producer: &Lambda) -> bool {
    let [row @ Stm { exp: Exp::Map { .. }, .. }] = &producer.body.stms[..] else { return true };
    let p = lam.params[k].var;
    let Some(user) = only_user(&lam.body, p).filter(|_| matches!(reader, Exp::Map { .. })) else {
        return false;
    };
    let mut made = row.clone();
    made.pat[0].var = p;
    reads(&lam.body.stms[user], &made)
}
