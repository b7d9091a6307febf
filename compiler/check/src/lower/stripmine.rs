//! `#[stripmine(k)] loop …`: k loops around a loop that counts, all of them with about as many iterations.
//!
//! ```text
//! #[stripmine] loop x = a for i < n do f x i
//!
//! loop x = a for s < (n + c - 1) / c do                  c about the root of n
//!   loop x = x for j < min c (n - s * c) do f x (s * c + j)
//! ```
//!
//! The derivative backward keeps the state of every iteration of the loops outside, and makes those further in again, one strip at a time: with one loop
//! around it, of twice the root of n iterations instead of n, for one more evaluation.

use super::loops::Repeat;
use super::value::Val;
use super::{Lower, R};
use crate::thir::Expr;
use par_ir::prim::BinOp;
use par_ir::{Atom, Prim, Scalar};
use par_syntax::ast::Attr;

/// Most loops around a loop.
const MOST: u32 = 8;

/// Number of loops that an attribute asks for: one, if it does not say.
pub(super) fn strips(attr: &Attr) -> u32 {
    attr.args.first().and_then(|n| n.parse().ok()).unwrap_or(1).min(MOST)
}

/// A loop that counts.
pub(super) struct Counted<'l, 'p> {
    /// Text of its body.
    pub at: Option<&'p Expr>,
    /// The index's type.
    pub prim: Prim,
    pub bound: Atom,
    #[allow(clippy::type_complexity, reason = "a function of the state and the index")]
    pub body: &'l mut dyn FnMut(&mut Lower<'p>, &Val<'p>, Atom) -> R<Val<'p>>,
}

impl<'p> Lower<'p> {
    /// A loop with so many loops around it.
    pub(super) fn in_strips(&mut self, init: Val<'p>, l: Counted<'_, 'p>, around: u32) -> R<Val<'p>> {
        let Counted { at, prim, bound, body } = l;
        if around == 0 {
            return self.loop_val(at, init, Repeat::For(prim, bound), body);
        }
        let n = self.conv(prim, Prim::I64, bound);
        let n = self.bin(BinOp::Max, Prim::I64, n, Atom::i64(0));
        let (size, count) = self.strip_sizes(n, around);
        self.loop_val(None, init, Repeat::For(Prim::I64, count), &mut |lo, state, strip| {
            let (first, bound) = lo.strip_bounds(n, size, strip);
            let inner = Counted {
                at,
                prim: Prim::I64,
                bound,
                body: &mut |lo, state, i| {
                    let i = lo.add(first, i);
                    let i = lo.conv(Prim::I64, prim, i);
                    body(lo, state, i)
                },
            };
            lo.in_strips(state.clone(), inner, around - 1)
        })
    }

    /// Iterations of a strip of `n`, which are `n` to the power of k / (k + 1) and 1, and the number of strips.
    pub fn strip_sizes(&mut self, n: Atom, around: u32) -> (Atom, Atom) {
        let power = Atom::Const(Scalar::F64(f64::from(around) / f64::from(around + 1)));
        let float = self.conv(Prim::I64, Prim::F64, n);
        let root = self.bin(BinOp::Pow, Prim::F64, float, power);
        let root = self.conv(Prim::F64, Prim::I64, root);
        let size = self.add(root, Atom::i64(1));
        let whole = self.bin(BinOp::Quot, Prim::I64, n, size);
        (size, self.add(whole, Atom::i64(1)))
    }

    /// The first iteration of a strip, and how many it has.
    pub fn strip_bounds(&mut self, n: Atom, size: Atom, strip: Atom) -> (Atom, Atom) {
        let first = self.bin(BinOp::Mul, Prim::I64, strip, size);
        let rest = self.sub(n, first);
        (first, self.bin(BinOp::Min, Prim::I64, size, rest))
    }
}
