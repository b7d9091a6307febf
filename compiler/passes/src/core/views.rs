//! Arrays whose dimensions are exchanged, or fixed: nests of maps that do nothing but read another array.
//!
//! ```text
//! let bt = map m js (\j -> map n is (\i ->      is b with the dimensions [1, 0]
//!   let x = b[i, j]
//!   in x))
//! let c = map n is (\i -> let x = b[i, k] in x)      is column k of b
//! ```

use par_ir::core::{Body, Exp, Stm};
use par_ir::ty::{Atom, Var};

/// An array in another order of its dimensions, or a part of it.
pub(crate) struct View {
    /// The array that is read.
    pub(crate) of: Var,
    /// Each of its indices.
    at: Vec<At>,
    /// Number of the view's own dimensions.
    rank: usize,
}

/// An index of the array that a view shows.
enum At {
    /// This one of the view's.
    Own(usize),
    /// The same for the whole view.
    Fixed(Atom),
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
        let own = |i: &Atom| counters.iter().position(|c| c == i);
        let at = indices.iter().map(|i| own(i).map_or(At::Fixed(*i), At::Own)).collect();
        let view = View { of: *of, at, rank: counters.len() };
        let mut order = view.order();
        let is_itself = order.is_sorted() && view.exchanges();
        order.sort_unstable();
        (order.into_iter().eq(0..view.rank) && !is_itself).then_some(view)
    }

    /// The view's indices, in their order as indices of the array; fixed indices are left out.
    fn order(&self) -> Vec<usize> {
        self.at.iter().filter_map(|at| if let At::Own(i) = at { Some(*i) } else { None }).collect()
    }

    /// True if it has the elements of the whole array.
    pub(crate) fn exchanges(&self) -> bool {
        self.at.len() == self.rank
    }

    /// The indices of what the view shows at these, of which there may be more than it has.
    pub(crate) fn indices(&self, at: &[Atom]) -> Option<Vec<Atom>> {
        let (own, rest) = at.split_at_checked(self.rank)?;
        let index = |at: &At| match at {
            At::Own(i) => own[*i],
            At::Fixed(i) => *i,
        };
        Some(self.at.iter().map(index).chain(rest.iter().copied()).collect())
    }
}

/// The statement that a body consists of, whose value is its result.
fn only_statement(body: &Body) -> Option<&Stm> {
    let [stm] = &body.stms[..] else { return None };
    let [p] = &stm.pat[..] else { return None };
    (body.results == [Atom::Var(p.var)]).then_some(stm)
}
