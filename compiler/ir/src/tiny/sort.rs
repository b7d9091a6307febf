//! A few numbers in ascending order, written out.
//!
//! ```text
//! let (r, w) = sort v u        c = lt v1 v0  let (a, b) = if c then (v1, v0) else (v0, v1)  …  the same for w
//!                              the same for b and v2, …, until the largest is the last; then for those before it
//! ```
//!
//! Neighbours are exchanged only if the second is before the first: the sort is stable.

use super::{Tiny, sizes};
use crate::core::{Exp, Stm};
use crate::prim::{BinOp, CmpOp, PrimOp};
use crate::tuning;
use crate::ty::{Atom, Type, Var};
use par_runtime::Prim;

impl Tiny<'_> {
    /// Sorts a few numbers, and values along with them.
    pub(super) fn sorted(
        &mut self,
        stm: &Stm,
        keys: Var,
        values: Option<Var>,
        out: &mut Vec<Stm>,
    ) -> Option<()> {
        let ty = self.types.get(&keys)?.clone();
        sizes(&ty, self.limits.elements.min(tuning::TINY_SORTED))?;
        let arrays = std::iter::once(keys).chain(values);
        let mut columns = arrays.map(|v| self.elements(v, out, stm.span)).collect::<Option<Vec<_>>>()?;
        for end in (1..columns[0].len()).rev() {
            for i in 0..end {
                self.pay()?;
                let [first, second] = [columns[0][i], columns[0][i + 1]];
                let exchanged = self.is_before(second, first, ty.prim(), stm, out);
                for column in &mut columns {
                    let pair = [column[i], column[i + 1]];
                    let new = self.choose(exchanged, &[pair[1], pair[0]], &pair, stm.span, out);
                    column[i..i + 2].copy_from_slice(&new);
                }
            }
        }
        self.taken = true;
        stm.pat.iter().zip(columns).try_for_each(|(p, column)| self.found(p, column))
    }

    /// True if `x` comes before `y`, which NaNs do never.
    fn is_before(&mut self, x: Atom, y: Atom, prim: Prim, stm: &Stm, out: &mut Vec<Stm>) -> Atom {
        let mut flag = |op, x, y| {
            let like = self.vars.fresh("before");
            self.bind(like, Type::BOOL, Exp::Prim(op, vec![x, y]), stm.span, out)
        };
        let less = flag(PrimOp::Cmp(CmpOp::Lt, prim), x, y);
        if !prim.is_float() {
            return less;
        }
        let number = flag(PrimOp::Cmp(CmpOp::Eq, prim), x, x);
        let none = flag(PrimOp::Cmp(CmpOp::Ne, prim), y, y);
        let only = flag(PrimOp::Bin(BinOp::And, Prim::Bool), number, none);
        flag(PrimOp::Bin(BinOp::Or, Prim::Bool), less, only)
    }
}
