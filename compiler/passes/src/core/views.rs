//! Arrays whose dimensions are exchanged: nests of maps that do nothing but read another array.
//!
//! ```text
//! let bt = map m js (\j -> map n is (\i ->      is b with the dimensions [1, 0]
//!   let x = b[i, j]
//!   in x))
//! ```

use par_ir::core::{Body, Exp, Stm};
use par_ir::ty::{Atom, Var};

/// An array in another order of its dimensions.
pub(crate) struct View {
    /// The array that is read.
    pub(crate) of: Var,
    /// For each of its indices, which of the view's it is.
    pub(crate) order: Vec<usize>,
}

impl View {
    /// The view that an expression is, if it is one. `counts` says of which arrays it is known that they are `iota`s.
    pub(crate) fn of(exp: &Exp, counts: &dyn Fn(Var) -> bool) -> Option<View> {
        let mut counters = Vec::new();
        let mut exp = exp;
        while let Exp::Map { inputs, lam, .. } = exp {
            let ([input], [p], Some(stm)) = (&inputs[..], &lam.params[..], only_statement(&lam.body)) else {
                return None;
            };
            if !counts(*input) {
                return None;
            }
            counters.push(Atom::Var(p.var));
            exp = &stm.exp;
        }
        let Exp::Index(of, indices) = exp else { return None };
        let order =
            indices.iter().map(|i| counters.iter().position(|c| c == i)).collect::<Option<Vec<_>>>()?;
        let mut sorted = order.clone();
        sorted.sort_unstable();
        let is_permutation = sorted.into_iter().eq(0..counters.len());
        (is_permutation && !order.is_sorted()).then_some(View { of: *of, order })
    }

    /// The indices of what the view shows at these, of which there may be more than it has.
    pub(crate) fn indices(&self, at: &[Atom]) -> Option<Vec<Atom>> {
        let (own, rest) = at.split_at_checked(self.order.len())?;
        Some(self.order.iter().map(|i| own[*i]).chain(rest.iter().copied()).collect())
    }
}

/// The statement that a body consists of, whose value is its result.
fn only_statement(body: &Body) -> Option<&Stm> {
    let [stm] = &body.stms[..] else { return None };
    let [p] = &stm.pat[..] else { return None };
    (body.results == [Atom::Var(p.var)]).then_some(stm)
}
