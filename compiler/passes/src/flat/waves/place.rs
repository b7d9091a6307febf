//! Indices that are negative outside of a matrix, as those of `scatter_2d` are.
//!
//! ```text
//! if 0 <= i && i < n && 0 <= j && j < m then i*m + j else -1
//! ```

use crate::flat::in_place_scatters::POSITION;
use par_ir::access::{Access, Form};
use par_ir::core::{Body, Exp};
use par_ir::prim::{BinOp, CmpOp, PrimOp};
use par_ir::ty::Atom;
use par_runtime::Prim;

/// Growth of a number from one position to the next, at most.
const MOST_GROWTH: u64 = 1 << 30;

/// The index where it is inside, of a choice between it and a negative number, if it is inside everywhere as soon as it is at the first and the last position:
/// what is compared grows evenly, and is not negative where the condition holds, so it does not wrap between.
pub fn where_inside(body: &Body, index: Atom, access: &Access) -> Option<Atom> {
    let made = |a: Atom| body.stms.iter().find(|s| s.pat.iter().any(|p| Atom::Var(p.var) == a));
    let Exp::Prim(PrimOp::Select(Prim::I64), xs) = &made(index)?.exp else { return None };
    let [cond, place, outside] = xs[..] else { return None };
    let (mut conds, mut bounds) = (vec![cond], Vec::new());
    while let Some(cond) = conds.pop() {
        match &made(cond)?.exp {
            Exp::Prim(PrimOp::Bin(BinOp::And, Prim::Bool), both) => conds.extend(both),
            Exp::Prim(PrimOp::Cmp(op, Prim::I64), sides) => {
                let [a, b] = [access.form(sides[0])?, access.form(sides[1])?];
                match (grows(&a)?, grows(&b)?) {
                    (false, false) => {}
                    (true, false) => bounds.push(bound(*op, a, &b)?),
                    (false, true) => bounds.push(bound(op.exchanged(), b, &a)?),
                    (true, true) => return None,
                }
            }
            _ => return None,
        }
    }
    let is_from_zero =
        |form: &Form| bounds.iter().any(|(f, least)| f == form && least.is_some_and(|n| n >= 0));
    let all = bounds.iter().all(|(form, _)| is_from_zero(form));
    (all && outside.as_i64()? < 0).then_some(place)
}

/// A number that is compared with a fixed one, and its lower bound if that is a constant; none for an equality.
fn bound(op: CmpOp, number: Form, fixed: &Form) -> Option<(Form, Option<i64>)> {
    match op {
        CmpOp::Ge | CmpOp::Gt => Some((number, fixed.as_constant())),
        CmpOp::Lt | CmpOp::Le => Some((number, None)),
        CmpOp::Eq | CmpOp::Ne => None,
    }
}

/// True for a number that is another one at every position; none unless it grows evenly and slowly.
fn grows(form: &Form) -> Option<bool> {
    let growth = form.split(POSITION)?.0.as_constant()?;
    (growth.unsigned_abs() <= MOST_GROWTH).then_some(growth != 0)
}
