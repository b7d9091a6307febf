//! `vjp f x dy`: the derivative of `f` in each direction of a float of `x`, times `dy`.
//!
//! ```text
//! vjp f x dy = map (\i -> dot dy (jvp f x (the direction of float i))) (iota (how many floats x has))
//! ```
//!
//! Exact for everything that has a forward derivative; the work is that of `f` times the number of floats in `x`.

use super::super::value::Val;
use super::super::{Lower, R};
use super::DIRECTION;
use par_ir::core::{Body, Exp, Lambda, Schedule};
use par_ir::prim::{BinOp, CmpOp};
use par_ir::{Atom, Dim, Prim, Scalar, Type, Var};

/// Floats of an argument: a scalar, or an array in the steps of flattening it.
struct Floats {
    prim: Prim,
    /// Types from that of the array to one of rank 1; none for a scalar.
    steps: Vec<Type>,
    size: Atom,
    /// The number of the first float.
    start: Atom,
}

impl<'p> Lower<'p> {
    /// The value of a function at `x`, and `dy` times its derivative.
    pub fn vjp(&mut self, f: &Val<'p>, x: &Val<'p>, dy: &Val<'p>) -> R<(Val<'p>, Val<'p>)> {
        let y = self.apply(f, vec![x.clone()], None)?;
        if x.has_fun() || y.has_fun() {
            return Err(self.function_value("what is differentiated"));
        }
        let dy = self.like(dy, &y, DIRECTION, true)?;
        let mut all: Vec<Option<Floats>> = Vec::new();
        let mut total = Atom::i64(0);
        for part in single_leaves(x) {
            let floats = self.floats(&part, total)?;
            if let Some(floats) = &floats {
                total = self.add(total, floats.size);
            }
            all.push(floats);
        }
        let mut kinds: Vec<Prim> = all.iter().flatten().map(|f| f.prim).collect();
        kinds.sort_by_key(|p| p.bits());
        let Some(widest) = kinds.last().copied() else {
            let zeros = self.directions(x, &all, None)?;
            return Ok((y, zeros));
        };
        let numbers = Val::vector(total, self.iota(total), Prim::I64);
        let sums = self.map_over(total, &[numbers], &mut |lo, rows| {
            let Val::Scalar(i, _) = rows[0] else { return Err(lo.internal("a number is a scalar")) };
            let dx = lo.directions(x, &all, Some(i))?;
            let (_, change) = lo.jvp(f, x, &dx)?;
            let targets: Vec<_> = y.dims().into_iter().map(super::super::shape::Target::To).collect();
            let change = lo.retype(&change, &targets)?;
            Ok(Val::Scalar(lo.dot(&dy, &change, widest)?, widest))
        })?;
        let Val::Leaf(sums, _) = *self.elem_of(&sums)? else {
            return Err(self.internal("derivatives are scalars"));
        };
        let dx = self.parts_of(x, &all, sums, widest)?;
        Ok((y, dx))
    }

    /// The floats of one leaf, of which `start` are before.
    fn floats(&mut self, leaf: &Val<'p>, start: Atom) -> R<Option<Floats>> {
        let prim = leaf.leaves()[0].1;
        if !prim.is_float() {
            return Ok(None);
        }
        let (mut steps, mut size, mut now) = (Vec::new(), Atom::i64(1), leaf.clone());
        while let Val::Array(Dim::Size(n), elem) = &now {
            size = *n;
            let var = self.leaf_var(now.leaves()[0].0)?;
            steps.push(self.type_of(var).clone());
            if !matches!(**elem, Val::Array(..)) {
                break;
            }
            now = self.flatten(&now)?;
        }
        Ok(Some(Floats { prim, steps, size, start }))
    }

    /// The direction of the float of number `i`; no direction is zero everywhere.
    fn directions(&mut self, x: &Val<'p>, all: &[Option<Floats>], i: Option<Atom>) -> R<Val<'p>> {
        let mut leaves = Vec::new();
        for ((a, p), floats) in x.leaves().into_iter().zip(all) {
            let (Some(floats), Some(i)) = (floats, i) else {
                let ty = a.var().map_or_else(|| Type::scalar(p), |v| self.type_of(v).clone());
                leaves.push(self.zeros(&ty)?);
                continue;
            };
            leaves.push(self.direction(floats, i)?);
        }
        self.with_leaves(x, leaves)
    }

    fn direction(&mut self, floats: &Floats, i: Atom) -> R<Atom> {
        let p = floats.prim;
        let (one, zero) = (Atom::Const(Scalar::from_i64(p, 1)), Atom::Const(Scalar::zero(p)));
        let at = self.sub(i, floats.start);
        if floats.steps.is_empty() {
            let this = self.cmp(CmpOp::Eq, at, Atom::i64(0));
            return Ok(self.select(p, this, one, zero));
        }
        let places = Val::vector(floats.size, self.iota(floats.size), Prim::I64);
        let flat = self.map_over(floats.size, &[places], &mut |lo, rows| {
            let Val::Scalar(j, _) = rows[0] else { return Err(lo.internal("a place is a scalar")) };
            let this = lo.cmp(CmpOp::Eq, j, at);
            Ok(Val::Scalar(lo.select(p, this, one, zero), p))
        })?;
        let flat = self.leaf_var(flat.leaves()[0].0)?;
        Ok(self.unflattened(floats, flat).into())
    }

    /// An array of the floats' type from its elements.
    fn unflattened(&mut self, floats: &Floats, flat: Var) -> Var {
        let above = floats.steps.iter().rev().skip(1);
        above.fold(flat, |v, ty| self.emit("d", ty.clone(), Exp::Unflatten(v)))
    }

    /// The value like `x` made of numbers, one for each float.
    fn parts_of(&mut self, x: &Val<'p>, all: &[Option<Floats>], numbers: Var, from: Prim) -> R<Val<'p>> {
        let mut leaves = Vec::new();
        for ((a, p), floats) in x.leaves().into_iter().zip(all) {
            let Some(floats) = floats else {
                let ty = a.var().map_or_else(|| Type::scalar(p), |v| self.type_of(v).clone());
                leaves.push(self.zeros(&ty)?);
                continue;
            };
            if floats.steps.is_empty() {
                let number = self.emit("d", Type::scalar(from), Exp::Index(numbers, vec![floats.start]));
                leaves.push(self.conv(from, p, number.into()));
                continue;
            }
            let ty = Type::array(vec![Dim::Size(floats.size)], from);
            let slice =
                Exp::Slice { arr: numbers, start: floats.start, len: floats.size, stride: Atom::i64(1) };
            let part = Val::vector(floats.size, self.emit("d", ty, slice), from);
            let part = self.map_over(floats.size, &[part], &mut |lo, rows| match rows[0] {
                Val::Scalar(a, _) => Ok(Val::Scalar(lo.conv(from, p, a), p)),
                _ => Err(lo.internal("a derivative is a scalar")),
            })?;
            let flat = self.leaf_var(part.leaves()[0].0)?;
            leaves.push(self.unflattened(floats, flat).into());
        }
        self.with_leaves(x, leaves)
    }

    /// The sum of the products of the floats of two values of one shape.
    fn dot(&mut self, a: &Val<'p>, b: &Val<'p>, prim: Prim) -> R<Atom> {
        let mut sum = Atom::Const(Scalar::zero(prim));
        for (a, b) in single_leaves(a).into_iter().zip(single_leaves(b)) {
            let p = a.leaves()[0].1;
            if !p.is_float() {
                continue;
            }
            let (mut a, mut b) = (a, b);
            while matches!(&a, Val::Array(_, elem) if matches!(**elem, Val::Array(..))) {
                (a, b) = (self.flatten(&a)?, self.flatten(&b)?);
            }
            let product = match (&a, &b) {
                (Val::Scalar(a, _), Val::Scalar(b, _)) => self.bin(BinOp::Mul, p, *a, *b),
                _ => self.dot_of_vectors(&a, &b, p)?,
            };
            let product = self.conv(p, prim, product);
            sum = self.bin(BinOp::Add, prim, sum, product);
        }
        Ok(sum)
    }

    fn dot_of_vectors(&mut self, a: &Val<'p>, b: &Val<'p>, p: Prim) -> R<Atom> {
        let width = self.size_of(a)?;
        let inputs = vec![self.leaf_var(a.leaves()[0].0)?, self.leaf_var(b.leaves()[0].0)?];
        let ty = Type::scalar(p);
        let (block, (params, product)) = self.in_block(|lo| {
            let params = vec![lo.param("a", ty.clone()), lo.param("b", ty.clone())];
            let product = lo.bin(BinOp::Mul, p, params[0].var.into(), params[1].var.into());
            Ok((params, product))
        })?;
        let body = Body { stms: block.stms, results: vec![product] };
        let lam = Lambda { params, body, ret: vec![ty.clone()], schedule: Schedule::Free };
        let op = self.scalar_lambda(BinOp::Add, p)?;
        let neutral = vec![Atom::Const(Scalar::zero(p))];
        Ok(self.emit("dot", ty, Exp::Reduce { width, inputs, lam, op, neutral }).into())
    }
}

/// The leaves of a value, each with the dimensions around it.
fn single_leaves<'p>(val: &Val<'p>) -> Vec<Val<'p>> {
    match val {
        Val::Tuple(vs) => vs.iter().flat_map(single_leaves).collect(),
        Val::Record(fs) => fs.iter().flat_map(|(_, v)| single_leaves(v)).collect(),
        Val::Array(d, elem) => single_leaves(elem).into_iter().map(|e| Val::Array(*d, Box::new(e))).collect(),
        Val::Scalar(..) | Val::Leaf(..) | Val::Fun(_) => vec![val.clone()],
    }
}
