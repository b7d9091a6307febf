//! Checks of indices as one comparison.
//!
//! ```text
//! a = le 0 i
//! b = lt i n
//! c = and a b                  ==>   c' = lt i n, of numbers without sign
//! check c bounds (i, n)              check c' bounds (i, n)
//! ```
//!
//! The bound of a bounds check is a size, hence not negative, and a negative index read as unsigned is larger than any
//! size.

use par_ir::hash::HashMap;
use par_ir::prim::{BinOp, CmpOp, PrimOp};
use par_ir::ty::Atom;
use par_ir::{CheckKind, Prim, Var};

/// Definitions of flags that may test a range: the operator and its operands.
#[derive(Default)]
pub struct Ranges {
    of: HashMap<Var, (PrimOp, [Atom; 2])>,
}

impl Ranges {
    /// Notes how a variable is computed.
    pub fn note(&mut self, var: Var, op: PrimOp, xs: &[Atom]) {
        let wanted =
            matches!(op, PrimOp::Cmp(CmpOp::Le | CmpOp::Lt, Prim::I64) | PrimOp::Bin(BinOp::And, Prim::Bool));
        if let (true, [x, y]) = (wanted, xs) {
            self.of.insert(var, (op, [*x, *y]));
        }
    }

    /// The index and the size, if a check asks whether the index is in the range and for nothing else.
    pub fn checked(&self, cond: &Atom, kind: &CheckKind, args: &[Atom]) -> Option<(Atom, Atom)> {
        let (CheckKind::Bounds, [i, n]) = (kind, args) else { return None };
        let is = |flag: &Atom, op: CmpOp, xs: [Atom; 2]| {
            let found = flag.var().and_then(|v| self.of.get(&v));
            found.is_some_and(|(o, ys)| *o == PrimOp::Cmp(op, Prim::I64) && *ys == xs)
        };
        let below = |flag: &Atom| is(flag, CmpOp::Lt, [*i, *n]);
        let asks = match self.of.get(&cond.var()?)? {
            (PrimOp::Bin(BinOp::And, _), [low, high]) => {
                is(low, CmpOp::Le, [Atom::i64(0), *i]) && below(high)
            }
            // The index is known not to be negative.
            _ => below(cond),
        };
        asks.then_some((*i, *n))
    }
}
