//! Growth: upper bounds of how much a size in a loop's state increases in an iteration.
//!
//! ```text
//! loop (k = 0, xs: [k]t = []) for … do                       growth of k
//!   if c then k + 1, concat (xs, [x])                         1
//!   else k - 1, slice xs (0, k - 1)                          -1        together: 1
//! ```

use crate::core::{Body, Exp, Param, Stm};
use crate::hash::HashMap;
use crate::prim::{BinOp, PrimOp};
use crate::ty::{Atom, Dim, Type, Var};
use par_runtime::Prim;
use std::cell::Cell;
use std::rc::Rc;

/// Statements that dominate a point of an iteration, in order.
#[derive(Clone)]
pub struct Ran<'s> {
    stms: Vec<&'s Stm>,
    types: &'s HashMap<Var, Type>,
    params: Vec<&'s Param>,
    /// Budget of numbers to look at: an expression may have exponentially many paths.
    left: Rc<Cell<usize>>,
}

/// The budget of one query.
const NUMBERS: usize = 4096;

impl<'s> Ran<'s> {
    /// An iteration of a loop. `types` are those of variables from outside.
    pub fn iteration(params: &'s [(Param, Atom)], body: &'s Body, types: &'s HashMap<Var, Type>) -> Ran<'s> {
        let params = params.iter().map(|(p, _)| p).collect();
        Ran { stms: body.stms.iter().collect(), types, params, left: Rc::new(Cell::new(NUMBERS)) }
    }

    /// Upper bound of the difference between a size and `over`, which is not negative; none if unknown.
    pub fn growth(&self, a: Atom, over: Var) -> Option<i64> {
        self.left.set(self.left.get().checked_sub(1)?);
        if a == over.into() {
            return Some(0);
        }
        // A constant exceeds `over` by itself at most; it may be the size of a slice, too.
        let by_statements = (0..self.stms.len()).filter_map(|i| self.growth_by(i, a, over));
        by_statements.chain(a.as_i64()).min()
    }

    /// The same, if a statement, with those before it, says so. Only what is before counts: sizes of slices may bound each other.
    fn growth_by(&self, i: usize, a: Atom, over: Var) -> Option<i64> {
        let stm = self.stms[i];
        let slice = match &stm.exp {
            Exp::Slice { arr, len, .. } if *len == a => Some(*arr),
            _ => None,
        };
        let made = stm.pat.iter().position(|p| a == p.var.into());
        if slice.is_none() && made.is_none() {
            return None;
        }
        let before = Ran { stms: self.stms[..i].to_vec(), ..self.clone() };
        if let Some(arr) = slice {
            return before.growth(before.size(arr)?, over);
        }
        let k = made?;
        match &stm.exp {
            Exp::Atom(a) => before.growth(*a, over),
            Exp::Filter { width, .. } if k == 0 => before.growth(*width, over),
            Exp::Prim(PrimOp::Bin(op, Prim::I64), xs) => before.operator(*op, xs, over),
            Exp::If { then, other, .. } => {
                let [a, b] = [then, other].map(|arm| before.with(&[], arm).growth(arm.results[k], over));
                Some(a?.max(b?))
            }
            // A size that does not grow in an iteration is bounded by its first value.
            Exp::Loop { params, body, .. } => {
                let state: Vec<&Param> = params.iter().map(|(p, _)| p).collect();
                let each = before.with(&state, body).growth(body.results[k], params[k].0.var)?;
                if each <= 0 { before.growth(params[k].1, over) } else { None }
            }
            _ => None,
        }
    }

    fn operator(&self, op: BinOp, xs: &[Atom], over: Var) -> Option<i64> {
        let [a, b] = [xs[0], xs[1]].map(|x| self.growth(x, over));
        match (op, xs[0].as_i64(), xs[1].as_i64()) {
            (BinOp::Add, _, Some(c)) => a?.checked_add(c),
            (BinOp::Add, Some(c), _) => b?.checked_add(c),
            (BinOp::Sub, _, Some(c)) => a?.checked_sub(c),
            (BinOp::Min, ..) => a.into_iter().chain(b).min(),
            (BinOp::Max, ..) => Some(a?.max(b?)),
            _ => None,
        }
    }

    /// Followed by the statements of a body.
    fn with(&self, params: &[&'s Param], body: &'s Body) -> Ran<'s> {
        let stms = self.stms.iter().copied().chain(&body.stms).collect();
        let params = self.params.iter().chain(params).copied().collect();
        Ran { stms, params, ..self.clone() }
    }

    /// The first dimension of an array.
    fn size(&self, arr: Var) -> Option<Atom> {
        let made = self.stms.iter().flat_map(|s| &s.pat).chain(self.params.iter().copied());
        let ty = made.into_iter().find(|p| p.var == arr).map(|p| &p.ty).or_else(|| self.types.get(&arr))?;
        let Some(Dim::Size(n)) = ty.dims.first() else { return None };
        Some(*n)
    }
}
