//! Float operators and divisions that an iteration waits for, one after the other, because it goes on from numbers of the iteration before.
//!
//! ```text
//! loop (y = 0.0) for i < n do          t = mul y 0.9     1
//!     0.9 * y + 0.1 * x[i]             u = mul x 0.1     none: it does not come from y
//!                                      v = add t u       2, the result
//! ```
//!
//! One position computes nothing else meanwhile; in lanes several wait together.

use super::class::Classes;
use par_ir::core::{Body, Exp, Param, Stm};
use par_ir::hash::HashMap;
use par_ir::prim::PrimOp;
use par_ir::ty::Atom;
use par_ir::{Var, tuning};

/// The most operators, one after the other, between the state of a loop and that of the next iteration.
pub fn waits(params: &[(Param, Atom)], body: &Body) -> usize {
    let state = params.iter().filter(|(p, _)| p.ty.is_scalar());
    let mut depths = Depths { of: state.map(|(p, _)| (p.var, 0)).collect() };
    depths.body(body).into_iter().flatten().max().unwrap_or(0)
}

/// True for a loop whose iterations wait so long that lanes that read at places of their own pay, if all of them count far. That is
/// seen when it begins: the group is left otherwise.
pub fn pays_if_long(params: &[(Param, Atom)], body: &Body, classes: &Classes) -> bool {
    classes.goes_apart(body) && waits(params, body) >= tuning::LANES_LONG_WAIT
}

/// The float operators that an operator takes as long as. Others are short, or their values are few.
fn own(op: PrimOp, xs: &[Atom]) -> usize {
    match op {
        _ if op.result().is_float() => 1,
        _ if op.divides() && xs[1].var().is_some() => tuning::DIVISION_WAITS,
        _ => 0,
    }
}

/// For variables that are computed from the state, the operators on the way to them.
struct Depths {
    of: HashMap<Var, usize>,
}

impl Depths {
    fn atom(&self, a: &Atom) -> Option<usize> {
        self.of.get(&a.var()?).copied()
    }

    fn body(&mut self, body: &Body) -> Vec<Option<usize>> {
        body.stms.iter().for_each(|s| self.stm(s));
        body.results.iter().map(|a| self.atom(a)).collect()
    }

    fn stm(&mut self, stm: &Stm) {
        let depths = match &stm.exp {
            Exp::Atom(a) => vec![self.atom(a)],
            Exp::Prim(op, xs) => {
                let own = own(*op, xs);
                vec![xs.iter().filter_map(|a| self.atom(a)).max().map(|d| d + own)]
            }
            Exp::If { then, other, .. } => {
                let arms = (self.body(then), self.body(other));
                arms.0.into_iter().zip(arms.1).map(|(a, b)| a.max(b)).collect()
            }
            Exp::Loop { params, body, .. } => self.inner(params, body),
            _ => vec![],
        };
        for (p, depth) in stm.pat.iter().zip(depths) {
            self.of.extend(depth.map(|d| (p.var, d)));
        }
    }

    /// The results of a loop inside: as many iterations as are assumed of one.
    fn inner(&mut self, params: &[(Param, Atom)], body: &Body) -> Vec<Option<usize>> {
        let initial = params.iter().filter_map(|(_, x)| self.atom(x)).max();
        let all = waits(params, body) * tuning::LANES_ITERATIONS;
        params.iter().map(|(p, _)| initial.filter(|_| p.ty.is_scalar()).map(|d| d + all)).collect()
    }
}
