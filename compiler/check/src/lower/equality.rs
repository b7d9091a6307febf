//! `==` on tuples and arrays (shape, then elements; never an error), and the order `leq`.
//!
//! ```text
//! xs == ys      if n == m then reduce (&&) true (map2 (==) xs ys) else false
//! ```

use super::soac::Inputs;
use super::value::Val;
use super::{Lower, R};
use par_ir::core::{Body, Exp, Lambda, Schedule};
use par_ir::prim::{BinOp, CmpOp};
use par_ir::{Atom, Prim, PrimOp, Type};

impl<'p> Lower<'p> {
    /// Equality of two values, as a bool.
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
                let ret = vec![Type::BOOL];
                let lam = Lambda { params: inputs.params, body, ret, schedule: Schedule::Free };
                let op = lo.scalar_lambda(BinOp::And, Prim::Bool)?;
                let neutral = vec![Atom::bool(true)];
                let reduce = Exp::Reduce { width: n, inputs: inputs.arrays, lam, op, neutral };
                Ok(Atom::Var(lo.emit("eq", Type::BOOL, reduce)))
            },
            &mut |_| Ok(Atom::bool(false)),
        )
    }

    /// `a <= b`: of compound values, the first parts that differ decide; an array stands before those that begin with it.
    pub fn less_or_equal(&mut self, a: &Val<'p>, b: &Val<'p>) -> R<Atom> {
        if a.is_scalar() && b.is_scalar() {
            return Ok(self.scalars_in_order(a, b));
        }
        match (a, b) {
            (Val::Tuple(xs), Val::Tuple(ys)) => self.parts_in_order(&xs.iter().zip(ys).collect::<Vec<_>>()),
            (Val::Record(xs), Val::Record(ys)) => {
                let parts = xs.iter().zip(ys).map(|(x, y)| (&x.1, &y.1));
                self.parts_in_order(&parts.collect::<Vec<_>>())
            }
            (Val::Array(..), Val::Array(..)) => self.arrays_in_order(a, b),
            _ => Err(self.function_value("an operand of `leq`")),
        }
    }

    fn scalars_in_order(&mut self, a: &Val<'p>, b: &Val<'p>) -> Atom {
        let (xs, ys) = (a.leaves(), b.leaves());
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
        result
    }

    fn parts_in_order(&mut self, parts: &[(&Val<'p>, &Val<'p>)]) -> R<Atom> {
        let Some(((x, y), rest)) = parts.split_first() else { return Ok(Atom::bool(true)) };
        if rest.is_empty() {
            return self.less_or_equal(x, y);
        }
        let equal = self.equal(x, y)?;
        self.if_scalar(equal, Prim::Bool, &mut |lo| lo.parts_in_order(rest), &mut |lo| lo.less_or_equal(x, y))
    }

    /// ```text
    /// let k = reduce min l (map (\i -> if xs[i] == ys[i] then l else i) (iota l))      l = min n m
    /// in if k < l then leq xs[k] ys[k] else n <= m
    /// ```
    fn arrays_in_order(&mut self, a: &Val<'p>, b: &Val<'p>) -> R<Atom> {
        let (n, m) = (self.size_of(a)?, self.size_of(b)?);
        let shared = self.bin(BinOp::Min, Prim::I64, n, m);
        let is = Val::vector(shared, self.iota(shared), Prim::I64);
        let (block, (inputs, place)) = self.in_block(|lo| {
            let mut inputs = Inputs::default();
            let Val::Scalar(i, _) = lo.row_params(&is, &mut inputs)? else {
                return Err(lo.internal("an index is a scalar"));
            };
            let (x, y) = (lo.row(a, i)?, lo.row(b, i)?);
            let equal = lo.equal(&x, &y)?;
            Ok((inputs, lo.select(Prim::I64, equal, shared, i)))
        })?;
        let body = Body { stms: block.stms, results: vec![place] };
        let ret = vec![Type::I64];
        let lam = Lambda { params: inputs.params, body, ret, schedule: Schedule::Free };
        let op = self.scalar_lambda(BinOp::Min, Prim::I64)?;
        let first = Exp::Reduce { width: shared, inputs: inputs.arrays, lam, op, neutral: vec![shared] };
        let first = Atom::Var(self.emit("first", Type::I64, first));
        let differ = self.cmp(CmpOp::Lt, first, shared);
        self.if_scalar(
            differ,
            Prim::Bool,
            &mut |lo| {
                let (x, y) = (lo.row(a, first)?, lo.row(b, first)?);
                lo.less_or_equal(&x, &y)
            },
            &mut |lo| Ok(lo.cmp(CmpOp::Le, n, m)),
        )
    }
}
