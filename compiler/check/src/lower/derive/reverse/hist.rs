//! Histograms.
//!
//! ```text
//! hist (+)     an update gets the adjoint of the element it went to, and so does what was there
//! hist min     the first update that is the element's result gets it, or what was there, if that is
//! hist op      updates are sorted by element; each gets it through op (op l x) r, as in a reduction of its element's updates
//! ```
//!
//! In the general case what was there stands before the updates of its element.

use super::super::super::value::Val;
use super::inner::{Adjoints, Rows};
use super::operators::{Componentwise, componentwise, flipped};
use super::{Lower, R, Reverse};
use par_ir::core::{Exp, Lambda, Param};
use par_ir::prim::{BinOp, CmpOp};
use par_ir::visit::Subst;
use par_ir::{Atom, Dim, Prim, PrimOp, Scalar, Type, Var};

/// The elements and updates of a histogram, ordered by element.
struct Ordered {
    /// The number of all, elements without updates too.
    count: Atom,
    /// From where each comes: an element, or, behind these, an update.
    origins: Var,
    /// True where those of another element begin.
    starts: Var,
    values: Vec<Var>,
    /// The element of each update.
    keys: Var,
}

/// Reductions of the values before and after each one in its bin.
struct Beside {
    /// True where those of an element end.
    ends: Var,
    /// From the first one on.
    upto: Vec<Var>,
    /// Up to the last one.
    from: Vec<Var>,
}

impl Reverse {
    pub(super) fn back_hist(
        &mut self,
        lo: &mut Lower,
        mut rows: Rows,
        dests: &[Var],
        (op, neutral): (&Lambda, &[Atom]),
        (pat, adjoints): (&[Param], &[Option<Atom>]),
    ) -> R<()> {
        let Dim::Size(m) = lo.type_of(dests[0]).dims[0] else {
            return Err(lo.internal("a histogram has a size"));
        };
        let kinds: Vec<_> =
            (0..neutral.len()).map(|i| adjoints[i].and_then(|_| componentwise(op, i))).collect();
        if adjoints.iter().zip(&kinds).any(|(d, kind)| d.is_some() && kind.is_none()) {
            return self.back_general_hist(lo, rows, dests, (op, neutral), (m, adjoints));
        }
        // For each component its number, adjoint and, for least and greatest values, who made them.
        let mut given = Vec::new();
        for (i, kind) in kinds.into_iter().enumerate() {
            let (Some(kind), Some(d)) = (kind, adjoints[i]) else { continue };
            let d = lo.leaf_var(d)?;
            if kind == Componentwise::Add {
                self.contribute(lo, dests[i].into(), d.into())?;
                given.push((i, d, None));
                continue;
            }
            let makers = self.makers(lo, &rows, i, (dests[i], pat[i].var, m))?;
            let kept = lo.kept_where(m, d, makers)?;
            self.contribute(lo, dests[i].into(), kept.into())?;
            given.push((i, d, Some(makers)));
        }
        rows.extra.push(lo.iota(rows.width));
        self.back_rows(lo, &rows, &mut |_, lo, results, extra| {
            let (at, inside) = lo.clamped(results[0], m);
            let mut out = Adjoints::new();
            for (i, d, makers) in &given {
                let mut d = lo.element_or_zero(*d, at, inside)?;
                if let Some(makers) = makers {
                    let maker = lo.element_or_zero(*makers, at, inside)?;
                    let here = lo.cmp(CmpOp::Eq, maker, extra[0]);
                    let prim = op.ret[*i].prim();
                    d = lo.select(prim, here, d, Atom::Const(Scalar::zero(prim)));
                }
                out.push((results[1 + i], d));
            }
            Ok(out)
        })
    }

    /// For each element of a histogram of least or greatest values, the first update that is its result: its position; -1 if that is what was there.
    fn makers(
        &mut self,
        lo: &mut Lower,
        rows: &Rows,
        i: usize,
        (dest, result, m): (Var, Var, Atom),
    ) -> R<Var> {
        let (n, prim) = (rows.width, lo.type_of(result).prim());
        let nobody = Atom::i64(i64::MAX);
        let equal = PrimOp::Cmp(CmpOp::Eq, prim);
        let both = [lo.val_of(dest), lo.val_of(result)];
        let first = lo.map_over(m, &both, &mut |lo, vals| {
            let same = lo.prim(equal, &[vals[0].leaves()[0].0, vals[1].leaves()[0].0]);
            Ok(Val::Scalar(lo.select(Prim::I64, same, Atom::i64(-1), nobody), Prim::I64))
        })?;
        let first = lo.leaf_var(first.leaves()[0].0)?;
        let (_, (mut lam, place)) = lo.in_block(|lo| {
            let lam = self.copy(lo, rows.lam, &mut Subst::default());
            Ok((lam, lo.param("i", Type::I64)))
        })?;
        let (block, maker) = lo.resume(super::super::super::build::Block::default(), |lo| {
            let (at, inside) = lo.clamped(lam.body.results[0], m);
            let made = lo.element_or_zero(result, at, inside)?;
            let same = lo.prim(equal, &[lam.body.results[1 + i], made]);
            R::Ok(lo.select(Prim::I64, same, place.var.into(), nobody))
        });
        lam.body.stms.extend(block.stms);
        lam.body.results = vec![lam.body.results[0], maker?];
        lam.ret = vec![Type::I64; 2];
        lam.params.push(place);
        let inputs = rows.inputs.iter().copied().chain([lo.iota(n)]).collect();
        let (op, neutral) = (lo.scalar_lambda(BinOp::Min, Prim::I64)?, vec![nobody]);
        let ty = lo.type_of(first).clone();
        Ok(lo.emit("makers", ty, Exp::Hist { dests: vec![first], width: n, inputs, lam, op, neutral }))
    }

    fn back_general_hist(
        &mut self,
        lo: &mut Lower,
        mut rows: Rows,
        dests: &[Var],
        (op, neutral): (&Lambda, &[Atom]),
        (m, adjoints): (Atom, &[Option<Atom>]),
    ) -> R<()> {
        let k = neutral.len();
        let ordered = self.ordered(lo, &rows, dests, m, k)?;
        let n = ordered.count;
        let Beside { ends, upto, from } = self.beside(lo, &ordered, (op, neutral))?;
        // What stands before and behind each, in its element.
        let places = Val::vector(n, lo.iota(n), Prim::I64);
        let arrays: Vec<Val> = [ordered.origins, ordered.starts, ends]
            .iter()
            .chain(&ordered.values)
            .map(|v| lo.val_of(*v))
            .chain([places])
            .collect();
        let mut found: Vec<usize> = Vec::new();
        let all = lo.map_over(n, &arrays, &mut |lo, vals| {
            let atoms: Vec<Atom> = vals.iter().flat_map(Val::leaves).map(|l| l.0).collect();
            let (origin, first, last) = (atoms[0], atoms[1], atoms[2]);
            let (values, place) = (&atoms[3..3 + k], atoms[3 + k]);
            let element = lo.element_of_origin(origin, m, ordered.keys)?;
            let (at, inside) = lo.clamped(element, m);
            let before = lo.neighbours(&upto, neutral, first, (place, -1))?;
            let behind = lo.neighbours(&from, neutral, last, (place, 1))?;
            let mut ds = vec![None; k];
            for (i, d) in adjoints.iter().enumerate() {
                if let Some(d) = d {
                    ds[i] = Some(lo.element_or_zero(lo.leaf_var(*d)?, at, inside)?);
                }
            }
            let (_, out) =
                self.inside(lo.depth(), [], |rev| rev.through(lo, op, (&before, values, &behind), &ds))?;
            found = (0..k).filter(|i| out.iter().any(|(a, _)| *a == values[*i])).collect();
            let parts = out.iter().map(|(a, d)| {
                let i = values.iter().position(|v| v == a).unwrap_or(0);
                Val::Scalar(*d, op.ret[i].prim())
            });
            Ok(Val::Tuple(parts.collect()))
        })?;
        let mut updates = Vec::new();
        for (i, (d, _)) in found.into_iter().zip(all.leaves()) {
            let back = lo.spread(lo.leaf_var(d)?, ordered.origins, n)?;
            let ty = lo.type_of(dests[i]).clone();
            let first = Exp::Slice { arr: back, start: Atom::i64(0), len: m, stride: Atom::i64(1) };
            let first = lo.emit("d", ty, first);
            self.contribute(lo, dests[i].into(), first.into())?;
            let ty = Type::array(vec![Dim::Size(rows.width)], op.ret[i].prim());
            let rest = Exp::Slice { arr: back, start: m, len: rows.width, stride: Atom::i64(1) };
            updates.push((i, lo.emit("d", ty, rest)));
        }
        rows.extra = updates.iter().map(|(_, v)| *v).collect();
        self.back_rows(lo, &rows, &mut |_, _, results, extra| {
            Ok(updates.iter().zip(extra).map(|((i, _), d)| (results[1 + i], *d)).collect::<Adjoints>())
        })
    }

    /// The elements and updates, combined in their order, from both ends of each element.
    fn beside(&mut self, lo: &mut Lower, ordered: &Ordered, (op, neutral): (&Lambda, &[Atom])) -> R<Beside> {
        let n = ordered.count;
        let (scan, start) = segmented(self, lo, op, neutral)?;
        let arrays: Vec<Var> =
            std::iter::once(ordered.starts).chain(ordered.values.iter().copied()).collect();
        let upto = self.scanned(lo, n, &arrays, &scan, &start, false)?[1..].to_vec();
        let ends = lo.shifted_flags(n, ordered.starts)?;
        let turned: Vec<Var> =
            std::iter::once(ends).chain(ordered.values.iter().copied()).map(|v| lo.reversed(n, v)).collect();
        let (scan, start) = segmented(self, lo, &flipped(op), neutral)?;
        let from: Vec<Var> = self.scanned(lo, n, &turned, &scan, &start, false)?[1..].to_vec();
        let from = from.into_iter().map(|v| lo.reversed(n, v)).collect();
        Ok(Beside { ends, upto, from })
    }

    /// The element of each update; those outside have `m`.
    fn places_of(&mut self, lo: &mut Lower, rows: &Rows, m: Atom) -> R<Var> {
        let (_, mut lam) = lo.in_block(|lo| Ok(self.copy(lo, rows.lam, &mut Subst::default())))?;
        let block = lo.resume(super::super::super::build::Block::default(), |lo| {
            let (at, inside) = lo.clamped(lam.body.results[0], m);
            lo.select(Prim::I64, inside, at, m)
        });
        lam.body.stms.extend(block.0.stms);
        lam.body.results = vec![block.1];
        lam.ret = vec![Type::I64];
        let ty = Type::array(vec![Dim::Size(rows.width)], Prim::I64);
        Ok(lo.emit("keys", ty, Exp::Map { width: rows.width, inputs: rows.inputs.to_vec(), lam }))
    }

    fn ordered(&mut self, lo: &mut Lower, rows: &Rows, dests: &[Var], m: Atom, k: usize) -> R<Ordered> {
        let count = lo.add(m, rows.width);
        let updates = self.evaluated(lo, rows, k + 1)?;
        let keys = self.places_of(lo, rows, m)?;
        let all = Val::vector(count, lo.iota(count), Prim::I64);
        let words = lo.map_over(count, &[all], &mut |lo, vals| {
            let i = vals[0].leaves()[0].0;
            let element = lo.element_of_origin(i, m, keys)?;
            Ok(Val::Scalar(lo.conv(Prim::I64, Prim::U64, element), Prim::U64))
        })?;
        let words = lo.leaf_var(words.leaves()[0].0)?;
        let size = vec![Dim::Size(count)];
        let sorted = lo.param("keys", Type::array(size.clone(), Prim::U64));
        let origins = lo.param("origins", Type::array(size.clone(), Prim::I64));
        let (sorted_var, origins_var, places) = (sorted.var, origins.var, lo.iota(count));
        lo.push(vec![sorted, origins], Exp::Sort { keys: words, values: Some(places) });
        let is = Val::vector(count, places, Prim::I64);
        let starts = lo.map_over(count, &[is], &mut |lo, vals| {
            let i = vals[0].leaves()[0].0;
            let first = lo.cmp(CmpOp::Eq, i, Atom::i64(0));
            let key = |lo: &mut Lower<'_>, i| -> Atom {
                lo.emit("key", Type::scalar(Prim::U64), Exp::Index(sorted_var, vec![i])).into()
            };
            let differs = lo.if_scalar(first, Prim::Bool, &mut |_| Ok(Atom::bool(true)), &mut |lo| {
                let before = lo.sub(i, Atom::i64(1));
                let (a, b) = (key(lo, before), key(lo, i));
                Ok(lo.prim(par_ir::PrimOp::Cmp(CmpOp::Ne, Prim::U64), &[a, b]))
            })?;
            Ok(Val::bool(differs))
        })?;
        let origin_rows = Val::vector(count, origins_var, Prim::I64);
        let values = lo.map_over(count, &[origin_rows], &mut |lo, vals| {
            let i = vals[0].leaves()[0].0;
            let old = lo.cmp(CmpOp::Lt, i, m);
            let mut out = Vec::new();
            for (d, u) in dests.iter().zip(&updates[1..]) {
                let prim = lo.type_of(*d).prim();
                let value = lo.if_scalar(
                    old,
                    prim,
                    &mut |lo| Ok(lo.emit("x", Type::scalar(prim), Exp::Index(*d, vec![i])).into()),
                    &mut |lo| {
                        let at = lo.sub(i, m);
                        Ok(lo.emit("x", Type::scalar(prim), Exp::Index(*u, vec![at])).into())
                    },
                )?;
                out.push(Val::Scalar(value, prim));
            }
            Ok(Val::Tuple(out))
        })?;
        let values = values.leaves().into_iter().map(|(a, _)| lo.leaf_var(a)).collect::<R<_>>()?;
        let starts = lo.leaf_var(starts.leaves()[0].0)?;
        Ok(Ordered { count, origins: origins_var, starts, values, keys })
    }
}

/// The operator of a scan that begins anew where a flag is set, and what it starts from.
fn segmented(rev: &mut Reverse, lo: &mut Lower, op: &Lambda, neutral: &[Atom]) -> R<(Lambda, Vec<Atom>)> {
    let k = neutral.len();
    let (_, (mut op, f, g)) = lo.in_block(|lo| {
        let mut op = rev.copy(lo, op, &mut Subst::default());
        let [f, g] = ["f", "g"].map(|name| lo.param(name, Type::BOOL));
        let vars = (f.var, g.var);
        op.params.insert(k, g);
        op.params.insert(0, f);
        Ok((op, vars.0, vars.1))
    })?;
    let (block, results) = lo.resume(super::super::super::build::Block::default(), |lo| {
        let flag = lo.prim(par_ir::PrimOp::Bin(par_ir::prim::BinOp::Or, Prim::Bool), &[f.into(), g.into()]);
        let mut results = vec![flag];
        for i in 0..k {
            let right = op.params[k + 2 + i].var.into();
            results.push(lo.select(op.ret[i].prim(), g.into(), right, op.body.results[i]));
        }
        results
    });
    op.body.stms.extend(block.stms);
    op.body.results = results;
    op.ret.insert(0, Type::BOOL);
    let neutral = std::iter::once(Atom::bool(false)).chain(neutral.iter().copied()).collect();
    Ok((op, neutral))
}

impl<'p> Lower<'p> {
    /// The element of an array, or zero if it is not inside.
    fn element_or_zero(&mut self, d: Var, at: Atom, inside: Atom) -> R<Atom> {
        let prim = self.type_of(d).prim();
        let zero = Atom::Const(Scalar::zero(prim));
        self.if_scalar(
            inside,
            prim,
            &mut |lo| Ok(lo.emit("d", Type::scalar(prim), Exp::Index(d, vec![at])).into()),
            &mut |_| Ok(zero),
        )
    }

    /// The elements that stand a step from a place; `none` says that there are none.
    fn neighbours(
        &mut self,
        arrays: &[Var],
        neutral: &[Atom],
        none: Atom,
        (place, step): (Atom, i64),
    ) -> R<Vec<Atom>> {
        let element = |(v, ne): (&Var, &Atom)| {
            let prim = self.type_of(*v).prim();
            self.if_scalar(none, prim, &mut |_| Ok(*ne), &mut |lo| {
                let at = lo.add(place, Atom::i64(step));
                Ok(lo.emit("x", Type::scalar(prim), Exp::Index(*v, vec![at])).into())
            })
        };
        arrays.iter().zip(neutral).map(element).collect()
    }

    /// The element that number `i` is about: itself, or, behind the `m` elements, that of an update.
    fn element_of_origin(&mut self, i: Atom, m: Atom, keys: Var) -> R<Atom> {
        let old = self.cmp(CmpOp::Lt, i, m);
        self.if_scalar(old, Prim::I64, &mut |_| Ok(i), &mut |lo| {
            let at = lo.sub(i, m);
            Ok(lo.emit("key", Type::I64, Exp::Index(keys, vec![at])).into())
        })
    }

    /// True where the next one is true, and at the last.
    fn shifted_flags(&mut self, n: Atom, flags: Var) -> R<Var> {
        let places = Val::vector(n, self.iota(n), Prim::I64);
        let next = self.map_over(n, &[places], &mut |lo, vals| {
            let i = vals[0].leaves()[0].0;
            let after = lo.add(i, Atom::i64(1));
            let more = lo.cmp(CmpOp::Lt, after, n);
            let flag = lo.if_scalar(
                more,
                Prim::Bool,
                &mut |lo| Ok(lo.emit("f", Type::BOOL, Exp::Index(flags, vec![after])).into()),
                &mut |_| Ok(Atom::bool(true)),
            )?;
            Ok(Val::bool(flag))
        })?;
        self.leaf_var(next.leaves()[0].0)
    }
}
