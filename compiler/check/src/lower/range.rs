//! Ranges `a..<b`, `a...b`, `a..>b`, with or without a second element.

use super::env::Env;
use super::value::Val;
use super::{Lower, R};
use crate::thir::{Expr, RangeKind};
use par_ir::prim::{BinOp, CmpOp, UnOp};
use par_ir::{Atom, CheckKind, Prim, PrimOp, Scalar};

/// A range: `start + i * step` for `i < len`.
pub(super) struct Range {
    pub start: Atom,
    /// Of the element type.
    pub step: Atom,
    /// An `i64`.
    pub len: Atom,
    pub prim: Prim,
}

impl<'p> Lower<'p> {
    /// Evaluates a range's bounds and its length.
    pub fn range(
        &mut self,
        start: &'p Expr,
        second: Option<&'p Expr>,
        end: &'p Expr,
        kind: RangeKind,
        env: &Env<'p>,
    ) -> R<Range> {
        let Val::Scalar(first, prim) = self.eval(start, env, None)? else {
            return Err(self.internal("a range of something that is no number"));
        };
        let second = second.map(|e| self.scalar(e, env)).transpose()?;
        let last = self.scalar(end, env)?;
        let step = match second {
            Some(s) => self.bin(BinOp::Sub, prim, s, first),
            None => Atom::Const(Scalar::from_i64(prim, if kind == RangeKind::DownTo { -1 } else { 1 })),
        };
        let inclusive = kind == RangeKind::Inclusive || (kind == RangeKind::Plain && second.is_some());
        let wide = |lo: &mut Self, a: Atom| lo.conv(prim, Prim::I64, a);
        let (a, b) = (wide(self, first), wide(self, last));
        let by = match second {
            Some(s) => {
                let s = wide(self, s);
                self.sub(s, a)
            }
            None => Atom::i64(if kind == RangeKind::DownTo { -1 } else { 1 }),
        };
        self.check_direction((a, b, by), kind);
        let len = self.range_length(a, b, by, inclusive);
        Ok(Range { start: first, step, len, prim })
    }

    /// The steps must lead from the start to the end, which may be the same.
    fn check_direction(&mut self, (a, b, by): (Atom, Atom, Atom), kind: RangeKind) {
        let zero = Atom::i64(0);
        if a == zero && by == Atom::i64(1) && b.var().is_some_and(|n| self.facts.sizes.contains(&n)) {
            return;
        }
        let (up, ascending) = (self.cmp(CmpOp::Lt, zero, by), self.cmp(CmpOp::Le, a, b));
        let (down, descending) = (self.cmp(CmpOp::Lt, by, zero), self.cmp(CmpOp::Le, b, a));
        let rises = self.and(up, ascending);
        let falls = self.and(down, descending);
        let holds = match kind {
            RangeKind::UpTo => rises,
            RangeKind::DownTo => falls,
            RangeKind::Plain | RangeKind::Inclusive => self.bin(BinOp::Or, Prim::Bool, rises, falls),
        };
        self.check(holds, CheckKind::Range, vec![a, b, by]);
    }

    fn range_length(&mut self, a: Atom, b: Atom, by: Atom, inclusive: bool) -> Atom {
        let p = Prim::I64;
        let (zero, one) = (Atom::i64(0), Atom::i64(1));
        let (there, back) = (self.sub(b, a), self.sub(a, b));
        let up = self.cmp(CmpOp::Lt, zero, by);
        let distance = self.select(p, up, there, back);
        let size = self.prim(PrimOp::Un(UnOp::Abs, p), &[by]);
        let distance = if inclusive { self.add(distance, one) } else { distance };
        let distance = self.bin(BinOp::Max, p, distance, zero);
        self.steps(distance, size)
    }

    /// The range as an array.
    pub fn range_array(&mut self, range: &Range) -> R<Val<'p>> {
        let iota = self.iota(range.len);
        let is = Val::vector(range.len, iota, Prim::I64);
        let zero = range.start.as_i64() == Some(0) && range.step.as_i64() == Some(1);
        if zero && range.prim == Prim::I64 {
            return Ok(is);
        }
        self.map_over(range.len, &[is], &mut |lo, rows| match rows[0] {
            Val::Scalar(i, _) => Ok(Val::Scalar(lo.range_at(range, i), range.prim)),
            _ => Err(lo.internal("an index is a scalar")),
        })
    }

    /// Element `i` (an `i64`) of a range.
    pub fn range_at(&mut self, range: &Range, i: Atom) -> Atom {
        let i = self.conv(Prim::I64, range.prim, i);
        let offset = self.bin(BinOp::Mul, range.prim, i, range.step);
        self.bin(BinOp::Add, range.prim, range.start, offset)
    }
}
