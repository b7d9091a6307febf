//! `m with [a:b, c:d] = v` where no dimension is ragged: the elements are written to where they are, in one scatter.
//!
//! ```text
//! m : [n][w]f32, v : [k][l]f32            flat = flatten m
//! m with [a:b, c:d] = v            =>     new  = scatter flat (\q -> (a + q / l) * w + c + q % l) (flatten v)
//!                                         unflatten new
//! ```

use super::index::{At, Cut};
use super::value::Val;
use super::{Lower, R};
use par_ir::core::{Body, Exp, Lambda, Schedule};
use par_ir::prim::BinOp;
use par_ir::{Atom, CheckKind, Dim, Prim, Type, Var, tiny};

/// Where in a flat array the elements of a part of it are: `base` and, for each dimension of the part, so much for every step.
struct Part {
    base: Atom,
    /// Steps and extents, outermost first.
    dims: Vec<(Atom, Atom)>,
}

impl<'p> Lower<'p> {
    /// The updated array, if it has no ragged dimension. `at` has a slice.
    pub(super) fn update_part(&mut self, arr: &Val<'p>, at: &[At], new: &Val<'p>) -> R<Option<Val<'p>>> {
        let pairs: Vec<_> = arr.leaves().into_iter().zip(new.leaves()).collect();
        if at.len() == 1 && self.elem_of(arr)?.dims().is_empty() || pairs.is_empty() {
            return Ok(None);
        }
        let mut leaves = Vec::new();
        for ((old, prim), (new, _)) in &pairs {
            let (old, new) = (self.leaf_var(*old)?, self.leaf_var(*new)?);
            let fits = self.regular(old).is_some() && self.regular(new).is_some();
            if !fits || tiny::sizes(self.type_of(old), tiny::MOST).is_some() {
                return Ok(None);
            }
            leaves.push((old, new, *prim));
        }
        let Some(cuts) = self.cuts(arr, at, new)? else { return Ok(None) };
        let results: R<Vec<Atom>> =
            leaves.iter().map(|(old, new, prim)| self.write_part(*old, *new, *prim, &cuts)).collect();
        self.with_leaves(arr, results?).map(Some)
    }

    /// The sizes of an array's dimensions, if none is ragged.
    fn regular(&self, v: Var) -> Option<Vec<Atom>> {
        let size = |d: &Dim| if let Dim::Size(a) = d { Some(*a) } else { None };
        self.type_of(v).dims.iter().map(size).collect()
    }

    /// Every index and slice, checked as if one row after the other were updated: where no row is, nothing further in is wrong.
    fn cuts(&mut self, arr: &Val<'p>, at: &[At], new: &Val<'p>) -> R<Option<Vec<(Cut, bool)>>> {
        let outside = self.unless;
        let cuts = self.cuts_inside(arr, at, new);
        self.unless = outside;
        cuts
    }

    /// The same; every slice adds to what the checks further in are `unless`.
    fn cuts_inside(&mut self, arr: &Val<'p>, at: &[At], new: &Val<'p>) -> R<Option<Vec<(Cut, bool)>>> {
        let (dims, mut given) = (arr.dims(), new.dims().into_iter());
        let mut cuts = Vec::new();
        for (at, dim) in at.iter().zip(dims) {
            let Dim::Size(size) = dim else { return Ok(None) };
            match at {
                At::Index(i, span) => {
                    let before = self.enter(*span);
                    self.check_bounds(*i, size);
                    self.span = before;
                    let one = Atom::i64(1);
                    cuts.push((Cut { start: *i, len: one, stride: one }, true));
                }
                At::Slice { .. } => {
                    let Some(Dim::Size(have)) = given.next() else { return Ok(None) };
                    let cut = self.cut_of(size, at)?;
                    self.equate(cut.len, have, "the slice and the new values", None)?;
                    cuts.push((Cut { len: have, ..cut }, false));
                    let none = self.cmp(par_ir::prim::CmpOp::Eq, have, Atom::i64(0));
                    self.unless = Some(match self.unless {
                        Some(before) => self.bin(BinOp::Or, Prim::Bool, before, none),
                        None => none,
                    });
                }
            }
        }
        let rest = arr.dims().into_iter().skip(at.len());
        for (want, have) in rest.zip(given) {
            let (Dim::Size(want), Dim::Size(have)) = (want, have) else { return Ok(None) };
            self.equate(want, have, "the slice and the new values", None)?;
        }
        Ok(Some(cuts))
    }

    fn write_part(&mut self, old: Var, new: Var, prim: Prim, cuts: &[(Cut, bool)]) -> R<Atom> {
        let (Some(dims), Some(given)) = (self.regular(old), self.regular(new)) else {
            return Err(self.internal("an update of ragged rows"));
        };
        let part = self.part(&dims, cuts, &given);
        let (dest, values) = (self.flat(old, &dims, prim), self.flat(new, &given, prim));
        let Dim::Size(width) = self.type_of(values).dims[0] else {
            return Err(self.internal("flat values of no size"));
        };
        let inputs = vec![self.iota(width), values];
        let (block, (params, results)) = self.in_block(|lo| {
            let params = vec![lo.param("q", Type::I64), lo.param("x", Type::scalar(prim))];
            let index = lo.index_in(&part, Atom::Var(params[0].var));
            let results = vec![index, Atom::Var(params[1].var)];
            Ok((params, results))
        })?;
        let ret = vec![Type::I64, Type::scalar(prim)];
        let lam = Lambda { params, body: Body { stms: block.stms, results }, ret, schedule: Schedule::Free };
        let ty = self.type_of(dest).clone();
        let result = self.emit("r", ty, Exp::Scatter { dests: vec![dest], width, inputs, lam });
        Ok(Atom::Var(self.shaped(result, &dims, prim)))
    }

    /// Neighbouring dimensions of which the outer one goes on where the inner one ends are one.
    fn part(&mut self, dims: &[Atom], cuts: &[(Cut, bool)], given: &[Atom]) -> Part {
        let mut given = given.iter().rev();
        let mut weight = Atom::i64(1);
        let mut part = Part { base: Atom::i64(0), dims: Vec::new() };
        for (d, size) in dims.iter().enumerate().rev() {
            match cuts.get(d) {
                Some((cut, is_index)) => {
                    let offset = self.mul(cut.start, weight);
                    part.base = self.add(part.base, offset);
                    if !is_index {
                        let step = self.mul(cut.stride, weight);
                        given.next().into_iter().for_each(|n| self.join_dim(&mut part, step, *n));
                    }
                }
                None => given.next().into_iter().for_each(|n| self.join_dim(&mut part, weight, *n)),
            }
            weight = self.mul(weight, *size);
        }
        part
    }

    /// A further dimension, outside of the others.
    fn join_dim(&mut self, part: &mut Part, step: Atom, extent: Atom) {
        if let Some((inner, n)) = part.dims.first().copied()
            && self.mul(inner, n) == step
        {
            part.dims[0] = (inner, self.mul(n, extent));
        } else {
            part.dims.insert(0, (step, extent));
        }
    }

    /// Where element `q` of a part is.
    fn index_in(&mut self, part: &Part, q: Atom) -> Atom {
        let (mut index, mut rest) = (part.base, q);
        for (k, (step, extent)) in part.dims.iter().enumerate().rev() {
            let (mut i, outer) = (rest, k > 0);
            if outer {
                rest = self.bin(BinOp::Quot, Prim::I64, i, *extent);
                let first = self.mul(rest, *extent);
                i = self.sub(i, first);
            }
            let offset = self.mul(i, *step);
            index = self.add(index, offset);
        }
        index
    }

    /// All elements one after the other.
    fn flat(&mut self, v: Var, dims: &[Atom], prim: Prim) -> Var {
        let (mut v, mut outer) = (v, dims[0]);
        for k in 1..dims.len() {
            outer = self.size_product(outer, dims[k]);
            let rest = dims[k + 1..].iter().map(|d| Dim::Size(*d));
            let ty = Type::array(std::iter::once(Dim::Size(outer)).chain(rest).collect(), prim);
            v = self.emit("flat", ty, Exp::Flatten(v));
        }
        v
    }

    /// A flat array with dimensions.
    fn shaped(&mut self, v: Var, dims: &[Atom], prim: Prim) -> Var {
        let mut v = v;
        for k in (1..dims.len()).rev() {
            let outer = dims[1..k].iter().fold(dims[0], |n, d| self.mul(n, *d));
            let inner = dims[k..].iter().map(|d| Dim::Size(*d));
            let ty = Type::array(std::iter::once(Dim::Size(outer)).chain(inner).collect(), prim);
            v = self.emit("r", ty, Exp::Unflatten(v));
        }
        v
    }

    /// Unless a row is missing, in which case what is inside it is not asked for.
    pub(super) fn check_if_needed(&mut self, cond: Atom, kind: CheckKind, args: Vec<Atom>) {
        let cond = match self.unless {
            Some(none) => self.bin(BinOp::Or, Prim::Bool, none, cond),
            None => cond,
        };
        self.check(cond, kind, args);
    }
}
