//! `gradient_error f x`: how far the derivative forward and the sweep backward are apart.
//!
//! For any directions `v` of the argument and `w` of the result, `<J v, w> = <v, Jᵀ w>`. Both sides are computed for two directions without
//! any pattern; the difference is given relative to the sum of all absolute products.

use super::super::super::value::Val;
use super::{Lower, R};
use par_ir::prim::{BinOp, CmpOp, UnOp};
use par_ir::{Atom, Dim, Prim, PrimOp, Scalar, Type};

/// Step from one element's angle to the next one's, in the directions that are tried.
const STEP: f64 = 0.7;

impl<'p> Lower<'p> {
    /// `gradient_error f x`.
    pub fn gradient_error(&mut self, f: &Val<'p>, x: &Val<'p>) -> R<Val<'p>> {
        let v = self.some_direction(x)?;
        let (y, dy) = self.jvp(f, x, &v)?;
        let w = self.some_direction(&y)?;
        let (_, dx) = self.vjp(f, x, &w, false)?;
        let (forward, all_forward) = self.products(&dy, &w)?;
        let (backward, all_backward) = self.products(&v, &dx)?;
        let p = Prim::F64;
        let difference = self.bin(BinOp::Sub, p, forward, backward);
        let difference = self.prim(PrimOp::Un(UnOp::Abs, p), &[difference]);
        let all = self.bin(BinOp::Add, p, all_forward, all_backward);
        let zero = Atom::Const(Scalar::zero(p));
        let none = self.prim(PrimOp::Cmp(CmpOp::Eq, p), &[all, zero]);
        let error = self.bin(BinOp::Div, p, difference, all);
        Ok(Val::Scalar(self.select(p, none, zero, error), p))
    }

    /// Floats for those of a value.
    fn some_direction(&mut self, like: &Val<'p>) -> R<Val<'p>> {
        let mut leaves = Vec::new();
        for (number, (a, p)) in like.leaves().into_iter().enumerate() {
            let ty = self.leaf_type(a, p);
            let angle = Atom::Const(Scalar::F64(number as f64 + 1.0));
            leaves.push(match (p.is_float(), ty.is_scalar()) {
                (false, _) => self.zeros(&ty)?,
                (true, true) => self.cosine(angle, p),
                (true, false) => {
                    let n = self.flat_size(&ty)?;
                    let places = Val::vector(n, self.iota(n), Prim::I64);
                    let flat = self.map_over(n, &[places], &mut |lo, rows| {
                        let i = lo.conv(Prim::I64, Prim::F64, rows[0].leaves()[0].0);
                        let step = lo.bin(BinOp::Mul, Prim::F64, i, Atom::Const(Scalar::F64(STEP)));
                        let angle = lo.bin(BinOp::Add, Prim::F64, angle, step);
                        Ok(Val::Scalar(lo.cosine(angle, p), p))
                    })?;
                    let flat = self.leaf_var(flat.leaves()[0].0)?;
                    self.unflat(flat, &ty)?.into()
                }
            });
        }
        self.with_leaves(like, leaves)
    }

    fn cosine(&mut self, angle: Atom, p: Prim) -> Atom {
        let x = self.prim(PrimOp::Un(UnOp::Cos, Prim::F64), &[angle]);
        self.conv(Prim::F64, p, x)
    }

    /// The sum of the products of the floats of two values of one shape, and that of the absolute values.
    fn products(&mut self, a: &Val<'p>, b: &Val<'p>) -> R<(Atom, Atom)> {
        let zero = Atom::Const(Scalar::zero(Prim::F64));
        let (mut sum, mut absolute) = (zero, zero);
        for ((x, p), (y, _)) in a.leaves().into_iter().zip(b.leaves()) {
            if !p.is_float() {
                continue;
            }
            let (s, t) = match (x, y) {
                (Atom::Var(v), Atom::Var(w)) if !self.type_of(v).is_scalar() => {
                    let ((n, v), (_, w)) = (self.flat(v)?, self.flat(w)?);
                    let size = Type::array(vec![Dim::Size(n)], p);
                    let (v, w) = (self.retype_var(v, size.clone()), self.retype_var(w, size));
                    let rows = [self.val_of(v), self.val_of(w)];
                    let products = self.map_over(n, &rows, &mut |lo, rows| {
                        let (s, t) = lo.float_product(rows[0].leaves()[0].0, rows[1].leaves()[0].0, p);
                        Ok(Val::Tuple(vec![Val::Scalar(s, Prim::F64), Val::Scalar(t, Prim::F64)]))
                    })?;
                    let leaves = products.leaves();
                    let scalar = Type::scalar(Prim::F64);
                    let (s, t) = (self.leaf_var(leaves[0].0)?, self.leaf_var(leaves[1].0)?);
                    (self.sum_of_rows(n, s, &scalar)?, self.sum_of_rows(n, t, &scalar)?)
                }
                _ => self.float_product(x, y, p),
            };
            sum = self.bin(BinOp::Add, Prim::F64, sum, s);
            absolute = self.bin(BinOp::Add, Prim::F64, absolute, t);
        }
        Ok((sum, absolute))
    }

    fn float_product(&mut self, x: Atom, y: Atom, p: Prim) -> (Atom, Atom) {
        let (x, y) = (self.conv(p, Prim::F64, x), self.conv(p, Prim::F64, y));
        let product = self.bin(BinOp::Mul, Prim::F64, x, y);
        (product, self.prim(PrimOp::Un(UnOp::Abs, Prim::F64), &[product]))
    }
}
