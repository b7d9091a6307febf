//! `&&`, `||` and `match`.

use super::env::Env;
use super::value::{Shape, Val};
use super::{Lower, R};
use crate::thir::{Expr, Pat};
use par_ir::core::Exp;
use par_ir::prim::{BinOp, CmpOp};
use par_ir::{Atom, Prim, Scalar};

/// The right side of `&&` or `||` is computed always if it is no longer than this and cannot fail.
const CHEAP: usize = 6;

/// A `match` of so many cases is a chain of conditionals: what is likely comes first.
const CHAIN: usize = 8;

/// Evaluates a case.
type Arm<'f, 'p> = dyn FnMut(&mut Lower<'p>, &'p (Pat, Expr)) -> R<Val<'p>> + 'f;

impl<'p> Lower<'p> {
    /// `a && b`.
    pub fn and_also(&mut self, a: &'p Expr, b: &'p Expr, env: &Env<'p>) -> R<Val<'p>> {
        self.short_circuit(BinOp::And, a, b, env)
    }

    /// `a || b`.
    pub fn or_else(&mut self, a: &'p Expr, b: &'p Expr, env: &Env<'p>) -> R<Val<'p>> {
        self.short_circuit(BinOp::Or, a, b, env)
    }

    fn short_circuit(&mut self, op: BinOp, a: &'p Expr, b: &'p Expr, env: &Env<'p>) -> R<Val<'p>> {
        let decided = Atom::bool(op == BinOp::Or);
        let left = self.scalar(a, env)?;
        if left == decided {
            return Ok(Val::bool(left));
        }
        if let Atom::Const(Scalar::Bool(_)) = left {
            return self.eval(b, env, None);
        }
        let (block, right) = self.in_block(|lo| lo.scalar(b, env))?;
        let cheap = block.stms.len() <= CHEAP && block.stms.iter().all(|s| matches!(s.exp, Exp::Prim(..)));
        if cheap {
            self.splice(block);
            return Ok(Val::bool(self.bin(op, Prim::Bool, left, right)));
        }
        let mut evaluated = Some((block, right));
        let mut again = |lo: &mut Self| match evaluated.take() {
            Some((block, right)) => {
                lo.splice(block);
                Ok(Val::bool(right))
            }
            None => Err(lo.internal("an arm was evaluated twice")),
        };
        let mut done = |_: &mut Self| Ok(Val::bool(decided));
        if op == BinOp::And {
            self.if_val(left, &mut again, &mut done)
        } else {
            self.if_val(left, &mut done, &mut again)
        }
    }

    /// `match`: the last case is taken if no other matches. A few cases are a chain of conditionals; for more, the number
    /// of the first one that matches is computed, and found in a tree of conditionals.
    pub fn cases(
        &mut self,
        val: &Val<'p>,
        cases: &'p [(Pat, Expr)],
        env: &Env<'p>,
        want: Option<&Shape>,
    ) -> R<Val<'p>> {
        let Some((_, tested)) = cases.split_last() else {
            return Err(self.internal("a match without cases"));
        };
        if cases.len() <= CHAIN {
            return self.chain(val, cases, env, want);
        }
        let conds = tested.iter().map(|(pat, _)| self.test(pat, val, env)).collect::<R<Vec<_>>>()?;
        let numbered = conds.iter().enumerate().rev();
        let last = Atom::i64(tested.len() as i64);
        let number =
            numbered.fold(last, |other, (i, cond)| self.select(Prim::I64, *cond, Atom::i64(i as i64), other));
        self.numbered(number, 0, cases, &mut |lo, (pat, body)| {
            let mut env = env.clone();
            lo.bind(pat, val.clone(), &mut env)?;
            lo.eval(body, &env, want)
        })
    }

    fn chain(
        &mut self,
        val: &Val<'p>,
        cases: &'p [(Pat, Expr)],
        env: &Env<'p>,
        want: Option<&Shape>,
    ) -> R<Val<'p>> {
        let Some(((pat, body), rest)) = cases.split_first() else {
            return Err(self.internal("a match without cases"));
        };
        let cond = if rest.is_empty() { Atom::bool(true) } else { self.test(pat, val, env)? };
        self.if_val(
            cond,
            &mut |lo| {
                let mut env = env.clone();
                lo.bind(pat, val.clone(), &mut env)?;
                lo.eval(body, &env, want)
            },
            &mut |lo| super::deep(|| lo.chain(val, rest, env, want)),
        )
    }

    /// The case of a number; the first one here has number `from`.
    fn numbered(
        &mut self,
        number: Atom,
        from: i64,
        cases: &'p [(Pat, Expr)],
        arm: &mut Arm<'_, 'p>,
    ) -> R<Val<'p>> {
        if let [only] = cases {
            return arm(self, only);
        }
        let (low, high) = cases.split_at(cases.len() / 2);
        let middle = from + low.len() as i64;
        let below = self.cmp(CmpOp::Lt, number, Atom::i64(middle));
        // Both arms use `arm`, one after the other.
        let arm = std::cell::RefCell::new(arm);
        self.if_val(below, &mut |lo| lo.numbered(number, from, low, &mut **arm.borrow_mut()), &mut |lo| {
            lo.numbered(number, middle, high, &mut **arm.borrow_mut())
        })
    }
}

impl<'p> Lower<'p> {
    /// Appends a closed block to the innermost one.
    fn splice(&mut self, block: super::build::Block<'p>) {
        let level = self.scope.blocks.len().saturating_sub(1) as u32;
        for p in block.stms.iter().flat_map(|s| &s.pat) {
            self.scope.levels[p.var.0 as usize] = level;
        }
        if let Some(b) = self.scope.blocks.last_mut() {
            b.stms.extend(block.stms);
        }
    }
}
