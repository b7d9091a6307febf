//! Scans.
//!
//! The adjoints of the running results are a scan from the end: of sums for `+`, else of linear maps,
//!
//! ```text
//! r[i]' = y[i]' + J[i+1] * r[i+1]'           J[i+1]: the derivative of op r[i] x[i+1] in r[i], transposed
//! x[i]'  through op r[i-1] x[i]
//! ```

use super::inner::Rows;
use super::operators::{Componentwise, componentwise};
use super::{Lower, R, Reverse};
use par_ir::core::{Body, Exp, Lambda, Param, Schedule};
use par_ir::prim::{BinOp, CmpOp};
use par_ir::{Atom, Dim, Prim, Scalar, Type, Var};

impl Reverse {
    pub(super) fn back_scan(
        &mut self,
        lo: &mut Lower,
        mut rows: Rows,
        (op, neutral, exclusive): (&Lambda, &[Atom], bool),
        adjoints: &[Option<Atom>],
    ) -> R<()> {
        let (n, k) = (rows.width, neutral.len());
        let (scanned, mapped) = adjoints.split_at(k);
        let sums = (0..k).all(|i| scanned[i].is_none() || componentwise(op, i) == Some(Componentwise::Add));
        // Adjoints of the elements themselves, or of the running results.
        let mut given: Vec<(usize, Var)> = Vec::new();
        let mut before = Vec::new();
        if sums {
            for (i, d) in scanned.iter().enumerate() {
                if let Some(d) = d {
                    given.push((i, lo.sums_from_the_end(n, lo.leaf_var(*d)?, exclusive)?));
                }
            }
        } else {
            let elements = self.evaluated(lo, &rows, k)?;
            before = self.scanned(lo, n, &elements, op, neutral, true)?;
            given = self.running_adjoints(lo, n, (op, &elements, &before), scanned, exclusive)?;
        }
        rows.extra.extend(&before);
        rows.extra.extend(given.iter().map(|(_, v)| *v));
        let mut further = Vec::new();
        for (i, d) in mapped.iter().enumerate() {
            if let Some(d) = d {
                rows.extra.push(lo.leaf_var(*d)?);
                further.push(k + i);
            }
        }
        self.back_rows(lo, &rows, &mut |rev, lo, results, extra| {
            let (before, extra) = extra.split_at(before.len());
            let (running, mapped) = extra.split_at(given.len());
            let mut out: Vec<(Atom, Atom)> = Vec::new();
            if sums {
                out.extend(given.iter().zip(running).map(|((i, _), d)| (results[*i], *d)));
            } else {
                let mut adjoints = vec![None; k];
                given.iter().zip(running).for_each(|((i, _), d)| adjoints[*i] = Some(*d));
                let applied = rev.applied(lo, op, before, &results[..k])?;
                let operands = rev.unapplied(lo, applied, &adjoints)?;
                let elements = results.iter().zip(&operands[k..]);
                out.extend(elements.filter_map(|(x, d)| Some((*x, (*d)?))));
            }
            out.extend(further.iter().zip(mapped).map(|(i, d)| (results[*i], *d)));
            Ok(out)
        })
    }

    /// The adjoints of the running results, of those components that are floats.
    fn running_adjoints(
        &mut self,
        lo: &mut Lower,
        n: Atom,
        (op, elements, before): (&Lambda, &[Var], &[Var]),
        adjoints: &[Option<Atom>],
        exclusive: bool,
    ) -> R<Vec<(usize, Var)>> {
        let k = elements.len();
        let floats: Vec<usize> = (0..k).filter(|i| self.active.contains(&op.params[*i].var)).collect();
        let m = floats.len();
        let prims: Vec<Prim> = floats.iter().map(|i| op.ret[*i].prim()).collect();
        // From the last to the first: a matrix, row after row, then a vector.
        let places = places(lo, n);
        let arrays: Vec<Var> = elements.iter().chain(before).copied().collect();
        let all = lo.map_over(n, &[places], &mut |lo, rows| {
            let t = rows[0].leaves()[0].0;
            let last = lo.sub(n, Atom::i64(1));
            let i = lo.sub(last, t);
            let next = lo.add(i, Atom::i64(1));
            let inside = lo.cmp(CmpOp::Lt, next, n);
            let at = lo.select(Prim::I64, inside, next, i);
            let here = if exclusive { at } else { i };
            let mut out = Vec::new();
            let operands: Vec<Atom> = arrays
                .iter()
                .map(|v| {
                    let ty = Type::scalar(lo.type_of(*v).prim());
                    lo.emit("x", ty, Exp::Index(*v, vec![at])).into()
                })
                .collect();
            let (x, l) = operands.split_at(k);
            for c in 0..m {
                out.extend(self.derivative_row(lo, op, (l, x), &floats, c, inside)?);
            }
            // Row c of the derivative says what of result c goes to each operand: transposed, it is column c.
            let mut parts: Vec<Atom> = (0..m * m).map(|e| out[e % m * m + e / m]).collect();
            for (i, p) in floats.iter().zip(&prims) {
                let zero = Atom::Const(Scalar::zero(*p));
                parts.push(match adjoints[*i] {
                    Some(d) => {
                        let d: Atom =
                            lo.emit("d", Type::scalar(*p), Exp::Index(lo.leaf_var(d)?, vec![here])).into();
                        if exclusive { lo.select(*p, inside, d, zero) } else { d }
                    }
                    None => zero,
                });
            }
            let types = (0..m * m).map(|e| prims[e / m]).chain(prims.iter().copied());
            let vals = parts.into_iter().zip(types).map(|(a, p)| super::Val::Scalar(a, p));
            Ok(super::Val::Tuple(vals.collect()))
        })?;
        let arrays: Vec<Var> = all.leaves().into_iter().map(|(a, _)| lo.leaf_var(a)).collect::<R<_>>()?;
        let (op, neutral) = composition(lo, &prims)?;
        let scanned = self.scanned(lo, n, &arrays, &op, &neutral, false)?;
        let vectors = scanned[m * m..].iter().zip(floats);
        Ok(vectors.map(|(v, i)| (i, lo.reversed(n, *v))).collect())
    }

    /// Adjoints of the left operands for one of result `c`; zeros unless `inside`.
    fn derivative_row(
        &mut self,
        lo: &mut Lower,
        op: &Lambda,
        (l, x): (&[Atom], &[Atom]),
        floats: &[usize],
        c: usize,
        inside: Atom,
    ) -> R<Vec<Atom>> {
        let mut unit = vec![None; l.len()];
        unit[floats[c]] = Some(Atom::Const(Scalar::from_i64(op.ret[floats[c]].prim(), 1)));
        let (_, operands) = self.inside(lo.depth(), [], |rev| {
            let applied = rev.applied(lo, op, l, x)?;
            rev.unapplied(lo, applied, &unit)
        })?;
        let zero = |p| Atom::Const(Scalar::zero(p));
        Ok(floats
            .iter()
            .map(|i| {
                let p = op.ret[*i].prim();
                operands[*i].map_or(zero(p), |d| lo.select(p, inside, d, zero(p)))
            })
            .collect())
    }
}

fn places<'p>(lo: &mut Lower<'p>, n: Atom) -> super::Val<'p> {
    super::Val::vector(n, lo.iota(n), Prim::I64)
}

/// Composition of maps `s -> M s + c`, the first one left, and what it starts from. Floats of different types are converted.
fn composition(lo: &mut Lower, prims: &[Prim]) -> R<(Lambda, Vec<Atom>)> {
    let m = prims.len();
    let types: Vec<Prim> = (0..m * m).map(|e| prims[e / m]).chain(prims.iter().copied()).collect();
    let ret: Vec<Type> = types.iter().map(|p| Type::scalar(*p)).collect();
    let (block, (params, results)) = lo.in_block(|lo| {
        let params: Vec<Param> = ret.iter().chain(&ret).map(|ty| lo.param("m", ty.clone())).collect();
        let atoms: Vec<Atom> = params.iter().map(|p| p.var.into()).collect();
        let (a, b) = atoms.split_at(m * m + m);
        let mut results = Vec::new();
        let row = |lo: &mut Lower, i: usize, column: &dyn Fn(usize) -> Atom, start: Option<Atom>| {
            (0..m).fold(start, |sum, t| {
                let x = lo.conv(prims[t], prims[i], column(t));
                let product = lo.bin(BinOp::Mul, prims[i], b[i * m + t], x);
                Some(sum.map_or(product, |sum| lo.bin(BinOp::Add, prims[i], sum, product)))
            })
        };
        for e in 0..m * m {
            results.extend(row(lo, e / m, &|t| a[t * m + e % m], None));
        }
        for i in 0..m {
            results.extend(row(lo, i, &|t| a[m * m + t], Some(b[m * m + i])));
        }
        Ok((params, results))
    })?;
    let number = |p: Prim, x: i64| Atom::Const(Scalar::from_i64(p, x));
    let neutral =
        (0..types.len()).map(|e| number(types[e], i64::from(e < m * m && e / m == e % m))).collect();
    let body = Body { stms: block.stms, results };
    Ok((Lambda { params, body, ret, schedule: Schedule::Free }, neutral))
}

impl Lower<'_> {
    /// Of each element, the sum of it and what stands behind it; `exclusive`, without it.
    fn sums_from_the_end(&mut self, n: Atom, v: Var, exclusive: bool) -> R<Var> {
        let prim = self.type_of(v).prim();
        let inputs = vec![self.reversed(n, v)];
        let lam = self.identity_of(&[Type::scalar(prim)])?;
        let op = self.scalar_lambda(BinOp::Add, prim)?;
        let ty = Type::array(vec![Dim::Size(n)], prim);
        let neutral = vec![Atom::Const(Scalar::zero(prim))];
        let sums = self.emit("d", ty, Exp::Scan { width: n, inputs, lam, op, neutral, exclusive });
        Ok(self.reversed(n, sums))
    }
}
