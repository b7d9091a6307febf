//! `reduce`, `scan`, `exscan`. Operators on scalars (and tuples of them) become one CORE operation. Operators on
//! arrays, or that call recursive functions, are lowered to reductions of columns where they work element by element, else to rounds of maps: pairwise halving for `reduce`, doubling distances for `scan`, so that the
//! depth is logarithmic and every round is as parallel as the operator.

use super::loops::Repeat;
use super::value::Val;
use super::{Lower, R};
use par_ir::core::{Body, Exp, Lambda, Schedule};
use par_ir::prim::{BinOp, CmpOp};
use par_ir::{Atom, Dim, Prim, Type, Var};

impl<'p> Lower<'p> {
    /// `reduce op ne arr`.
    pub fn reduce(&mut self, op: &Val<'p>, ne: Val<'p>, arr: &Val<'p>) -> R<Val<'p>> {
        if !ne.is_scalar() || !self.elem_of(arr)?.dims().is_empty() {
            return self.reduce_rows(op, ne, arr);
        }
        let width = self.size_of(arr)?;
        let lambda = self.op_lambda(op, &ne)?;
        if !lambda.is_scalar() {
            return self.reduce_rows(op, ne, arr);
        }
        let (op, (inputs, lam)) = (lambda, self.identity(arr)?);
        let neutral: Vec<Atom> = ne.leaves().iter().map(|l| l.0).collect();
        let pat: Vec<_> = op.ret.iter().map(|ty| self.param("r", ty.clone())).collect();
        if pat.is_empty() {
            return Ok(ne);
        }
        let mut results = pat.iter().map(|p| Atom::Var(p.var)).collect::<Vec<_>>().into_iter();
        self.push(pat, Exp::Reduce { width, inputs, lam, op, neutral });
        Ok(ne.refill(&mut results))
    }

    /// `scan op ne arr`, `exscan op ne arr`.
    pub fn scan(&mut self, op: &Val<'p>, ne: Val<'p>, arr: &Val<'p>, exclusive: bool) -> R<Val<'p>> {
        if !ne.is_scalar() || !self.elem_of(arr)?.dims().is_empty() {
            return self.scan_rows(op, ne, arr, exclusive);
        }
        let width = self.size_of(arr)?;
        let lambda = self.op_lambda(op, &ne)?;
        if !lambda.is_scalar() {
            return self.scan_rows(op, ne, arr, exclusive);
        }
        let (op, (inputs, lam)) = (lambda, self.identity(arr)?);
        let neutral: Vec<Atom> = ne.leaves().iter().map(|l| l.0).collect();
        let size = vec![Dim::Size(width)];
        let pat: Vec<_> =
            op.ret.iter().map(|ty| self.param("r", Type::array(size.clone(), ty.prim()))).collect();
        if pat.is_empty() {
            return Ok(arr.clone());
        }
        let leaves = pat.iter().map(|p| Atom::Var(p.var)).collect();
        self.push(pat, Exp::Scan { width, inputs, lam, op, neutral, exclusive });
        self.with_leaves(arr, leaves)
    }

    /// The leaves of an array of scalars as inputs, and the lambda that passes them on.
    pub fn identity(&mut self, arr: &Val<'p>) -> R<(Vec<Var>, Lambda)> {
        let prims: Vec<(Atom, Prim)> = arr.leaves();
        let inputs: R<Vec<Var>> = prims.iter().map(|l| self.leaf_var(l.0)).collect();
        let ret: Vec<Type> = prims.iter().map(|l| Type::scalar(l.1)).collect();
        let (_, params) =
            self.in_block(|lo| Ok(ret.iter().map(|ty| lo.param("x", ty.clone())).collect::<Vec<_>>()))?;
        let results = params.iter().map(|p| Atom::Var(p.var)).collect();
        let body = Body { stms: Vec::new(), results };
        Ok((inputs?, Lambda { params, body, ret, schedule: Schedule::Free }))
    }

    /// An operator on scalars as a lambda; `elem` gives the structure of its operands.
    pub fn op_lambda(&mut self, op: &Val<'p>, elem: &Val<'p>) -> R<Lambda> {
        let prims: Vec<Prim> = elem.leaves().iter().map(|l| l.1).collect();
        let (block, (params, results)) = self.in_block(|lo| {
            let mut params = Vec::new();
            let mut operand = |lo: &mut Self, name: &str| {
                let first = params.len();
                params.extend(prims.iter().map(|p| lo.param(name, Type::scalar(*p))));
                let atoms: Vec<Atom> = params[first..].iter().map(|p| Atom::Var(p.var)).collect();
                elem.refill(&mut atoms.into_iter())
            };
            let (x, y) = (operand(lo, "x"), operand(lo, "y"));
            let result = lo.apply(op, vec![x, y], None)?;
            let results: Vec<Atom> = result.leaves().iter().map(|l| l.0).collect();
            Ok((params, results))
        })?;
        let ret = prims.iter().map(|p| Type::scalar(*p)).collect();
        let body = Body { stms: block.stms, results };
        Ok(Lambda { params, body, ret, schedule: Schedule::Free })
    }

    /// `if n == 0 then ne else (loop xs while length xs > 1 do pairs xs)[0]`.
    fn reduce_rows(&mut self, op: &Val<'p>, ne: Val<'p>, arr: &Val<'p>) -> R<Val<'p>> {
        if let Some(done) = self.reduce_small(op, &ne, arr)? {
            return Ok(done);
        }
        if let Some(done) = self.reduce_columns(op, &ne, arr)? {
            return Ok(done);
        }
        let n = self.size_of(arr)?;
        let empty = self.cmp(CmpOp::Le, n, Atom::i64(0));
        self.if_val(empty, &mut |_| Ok(ne.clone()), &mut |lo| {
            let mut more = |lo: &mut Self, state: &Val<'p>| {
                let n = lo.size_of(state)?;
                Ok(lo.cmp(CmpOp::Lt, Atom::i64(1), n))
            };
            let last =
                lo.loop_val(None, arr.clone(), Repeat::While(&mut more), &mut |lo, xs, _| lo.pairs(op, xs))?;
            lo.row(&last, Atom::i64(0))
        })
    }

    /// `map (\i -> if 2*i+1 < n then op xs[2*i] xs[2*i+1] else xs[2*i]) (iota ((n+1)/2))`.
    fn pairs(&mut self, op: &Val<'p>, xs: &Val<'p>) -> R<Val<'p>> {
        let (one, two) = (Atom::i64(1), Atom::i64(2));
        let n = self.size_of(xs)?;
        let up = self.add(n, one);
        let half = self.bin(BinOp::Quot, Prim::I64, up, two);
        let is = Val::vector(half, self.iota(half), Prim::I64);
        self.map_over(half, &[is], &mut |lo, rows| {
            let Val::Scalar(i, _) = rows[0] else { return Err(lo.internal("an index is a scalar")) };
            let left = lo.mul(i, two);
            let right = lo.add(left, one);
            let both = lo.cmp(CmpOp::Lt, right, n);
            lo.if_val(
                both,
                &mut |lo| {
                    let args = vec![lo.row(xs, left)?, lo.row(xs, right)?];
                    lo.apply(op, args, None)
                },
                &mut |lo| lo.row(xs, left),
            )
        })
    }

    /// Rounds with distances 1, 2, 4, …: `xs[i]` becomes `op xs[i-d] xs[i]`.
    fn scan_rows(&mut self, op: &Val<'p>, ne: Val<'p>, arr: &Val<'p>, exclusive: bool) -> R<Val<'p>> {
        if let Some(done) = self.scan_small(op, &ne, arr, exclusive)? {
            return Ok(done);
        }
        if let Some(done) = self.scan_columns(op, &ne, arr, exclusive)? {
            return Ok(done);
        }
        let n = self.size_of(arr)?;
        let start = Val::Tuple(vec![arr.clone(), Val::i64(Atom::i64(1))]);
        let distance = |lo: &Self, state: &Val<'p>| match lo.field(state, "1")? {
            Val::Scalar(d, _) => Ok(d),
            _ => Err(lo.internal("a distance is a scalar")),
        };
        let mut more = |lo: &mut Self, state: &Val<'p>| {
            let d = distance(lo, state)?;
            Ok(lo.cmp(CmpOp::Lt, d, n))
        };
        let done = self.loop_val(None, start, Repeat::While(&mut more), &mut |lo, state, _| {
            let (xs, d) = (lo.field(state, "0")?, distance(lo, state)?);
            let size = lo.size_of(&xs)?;
            let is = Val::vector(size, lo.iota(size), Prim::I64);
            let next = lo.map_over(size, &[is], &mut |lo, rows| {
                let Val::Scalar(i, _) = rows[0] else { return Err(lo.internal("an index is a scalar")) };
                let far = lo.cmp(CmpOp::Le, d, i);
                lo.if_val(
                    far,
                    &mut |lo| {
                        let j = lo.sub(i, d);
                        let args = vec![lo.row(&xs, j)?, lo.row(&xs, i)?];
                        lo.apply(op, args, None)
                    },
                    &mut |lo| lo.row(&xs, i),
                )
            })?;
            Ok(Val::Tuple(vec![next, Val::i64(lo.mul(d, Atom::i64(2)))]))
        })?;
        let done = self.field(&done, "0")?;
        if exclusive { self.shifted(ne, &done) } else { Ok(done) }
    }

    /// `map (\i -> if i == 0 then ne else xs[i-1]) (iota n)`.
    fn shifted(&mut self, ne: Val<'p>, xs: &Val<'p>) -> R<Val<'p>> {
        let n = self.size_of(xs)?;
        let is = Val::vector(n, self.iota(n), Prim::I64);
        self.map_over(n, &[is], &mut |lo, rows| {
            let Val::Scalar(i, _) = rows[0] else { return Err(lo.internal("an index is a scalar")) };
            let first = lo.cmp(CmpOp::Eq, i, Atom::i64(0));
            lo.if_val(first, &mut |_| Ok(ne.clone()), &mut |lo| {
                let j = lo.sub(i, Atom::i64(1));
                lo.row(xs, j)
            })
        })
    }
}
