//! `==` on tuples and arrays (shape, then elements; never an error), and the order `leq`.
//!
//! ```text
//! xs == ys      if n == m then reduce (&&) true (map2 (==) xs ys) else false
//! ```

use super::soac::Inputs;
use super::value::Val;
use super::{Lower, R};
use par_ir::core::{Body, Exp, Lambda};
use par_ir::prim::{BinOp, CmpOp};
use par_ir::{Atom, Prim, PrimOp, Type};

impl<'p> Lower<'p> {
    /// Whether two values are equal.
    pub fn equal(&mut self, a: &Val<'p>, b: &Val<'p>) -> R<Atom> {
        match (a, b) {
            (Val::Scalar(x, p), Val::Scalar(y, _)) => Ok(self.prim(PrimOp::Cmp(CmpOp::Eq, *p), &[*x, *y])),
            (Val::Tuple(xs), Val::Tuple(ys)) => self.all_equal(xs.iter().zip(ys)),
            (Val::Record(xs), Val::Record(ys)) => {
                self.all_equal(xs.iter().map(|f| &f.1).zip(ys.iter().map(|f| &f.1)))
            }
            (Val::Array(..), Val::Array(..)) => self.equal_arrays(a, b),
            _ => Err(self.function_value("an operand of `==`")),
        }
    }

    fn all_equal<'v>(&mut self, pairs: impl Iterator<Item = (&'v Val<'p>, &'v Val<'p>)>) -> R<Atom>
    where
        'p: 'v,
    {
        let mut all = Atom::bool(true);
        for (x, y) in pairs {
            // What comes first decides; the rest is not compared in vain if it takes work.
            all = if y.is_scalar() {
                let one = self.equal(x, y)?;
                self.and(all, one)
            } else {
                self.if_scalar(all, Prim::Bool, &mut |lo| lo.equal(x, y), &mut |_| Ok(Atom::bool(false)))?
            };
        }
        Ok(all)
    }

    fn equal_arrays(&mut self, a: &Val<'p>, b: &Val<'p>) -> R<Atom> {
        let (n, m) = (self.size_of(a)?, self.size_of(b)?);
        let same = self.cmp(CmpOp::Eq, n, m);
        self.if_scalar(
            same,
            Prim::Bool,
            &mut |lo| {
                let b = lo.resized(b, n)?;
                let (block, (inputs, eq)) = lo.in_block(|lo| {
                    let mut inputs = Inputs::default();
                    let (x, y) = (lo.row_params(a, &mut inputs)?, lo.row_params(&b, &mut inputs)?);
                    let eq = lo.equal(&x, &y)?;
                    Ok((inputs, eq))
                })?;
                let body = Body { stms: block.stms, results: vec![eq] };
                let lam = Lambda { params: inputs.params, body, ret: vec![Type::BOOL] };
                let op = lo.scalar_lambda(BinOp::And, Prim::Bool)?;
                let neutral = vec![Atom::bool(true)];
                let reduce = Exp::Reduce { width: n, inputs: inputs.arrays, lam, op, neutral };
                Ok(Atom::Var(lo.emit("eq", Type::BOOL, reduce)))
            },
            &mut |_| Ok(Atom::bool(false)),
        )
    }

    /// `a <= b` on scalars, and on tuples by the first components that differ.
    pub fn less_or_equal(&mut self, a: &Val<'p>, b: &Val<'p>) -> R<Atom> {
        let (xs, ys) = (a.leaves(), b.leaves());
        if !a.is_scalar() || !b.is_scalar() {
            return Err(Box::new(par_syntax::Diagnostic::unsupported("the order of arrays", self.span)));
        }
        let mut result = Atom::bool(true);
        for (i, ((x, p), (y, _))) in xs.iter().zip(&ys).enumerate().rev() {
            let last = i + 1 == xs.len();
            let less = self.prim(PrimOp::Cmp(if last { CmpOp::Le } else { CmpOp::Lt }, *p), &[*x, *y]);
            if last {
                result = less;
                continue;
            }
            let equal = self.prim(PrimOp::Cmp(CmpOp::Eq, *p), &[*x, *y]);
            let rest = self.and(equal, result);
            result = self.bin(BinOp::Or, Prim::Bool, less, rest);
        }
        Ok(result)
    }
}
