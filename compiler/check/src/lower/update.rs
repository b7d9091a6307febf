//! `a with [i, j] = v` and `a with [i:j] = v`.

use super::env::Env;
use super::index::{At, Cut};
use super::rebuild::Rebuild;
use super::shape::Target;
use super::value::Val;
use super::{Lower, R};
use crate::thir::{Expr, IndexArg};
use par_ir::core::{Exp, Lambda, Schedule};
use par_ir::prim::{BinOp, CmpOp};
use par_ir::{Atom, Dim, Prim, Type};

/// Sizes that are compared where a type gives the rows of an array their lengths: elsewhere rows of a slice may become longer or shorter.
pub(super) const ROWS_OF_SLICE: &str = "rows of the slice and of the new values";

/// Replaces the element or row at some indices by the given leaves.
struct Replace<'a> {
    at: &'a [Atom],
    values: std::vec::IntoIter<(Atom, Prim)>,
}

impl<'p> Rebuild<'p> for Replace<'_> {
    fn dim(&mut self, _lo: &mut Lower<'p>, dim: Dim, _old: &[Dim], _new: &[Dim]) -> R<Dim> {
        Ok(dim)
    }

    fn leaf(&mut self, lo: &mut Lower<'p>, a: Atom, prim: Prim, _old: &[Dim], new: &[Dim]) -> R<Atom> {
        let arr = lo.leaf_var(a)?;
        let Some((value, _)) = self.values.next() else {
            return Err(lo.internal("an update with too few values"));
        };
        let name = lo.out.vars.name(arr).to_string();
        let exp = Exp::Update { arr, at: par_ir::core::At::indices(self.at), value };
        Ok(Atom::Var(lo.emit(&name, Type::array(new.to_vec(), prim), exp)))
    }
}

impl<'p> Lower<'p> {
    /// `value with [index] = update`.
    pub fn with_expr(
        &mut self,
        value: &'p Expr,
        index: &'p [IndexArg],
        update: &'p Expr,
        env: &Env<'p>,
    ) -> R<Val<'p>> {
        let arr = self.eval(value, env, None)?;
        let at = self.index_args(index, env)?;
        let new = self.eval(update, env, None)?;
        let slice = index
            .iter()
            .rev()
            .find_map(|i| if let IndexArg::Slice { span, .. } = i { Some(*span) } else { None });
        self.place.walked =
            (!self.is_library(update.span)).then_some((slice.unwrap_or(value.span), update.span));
        let result = self.update(&arr, &at, new);
        self.place.walked = None;
        result
    }

    pub fn update(&mut self, arr: &Val<'p>, at: &[At], new: Val<'p>) -> R<Val<'p>> {
        let indices: Vec<Atom> =
            at.iter().map_while(|a| if let At::Index(i, _) = a { Some(*i) } else { None }).collect();
        if indices.len() < at.len()
            && let Some(updated) = self.update_part(arr, at, &new)?
        {
            return Ok(updated);
        }
        if indices.is_empty() {
            return self.update_slice(arr, at, new);
        }
        let row = self.index(arr, &at[..indices.len()])?;
        let new = if indices.len() < at.len() { self.update(&row, &at[indices.len()..], new)? } else { new };
        if new.dims() == row.dims() {
            return self.replace(arr, &indices, &new);
        }
        if indices.len() > 1 {
            let outer = self.index(arr, &at[..1])?;
            let outer = self.update(&outer, &at[1..indices.len()], new)?;
            return self.update(arr, &at[..1], outer);
        }
        self.replace_row(arr, indices[0], &row, &new)
    }

    /// The array with a new element or row of the same shape, in place if it can be.
    fn replace(&mut self, arr: &Val<'p>, at: &[Atom], new: &Val<'p>) -> R<Val<'p>> {
        let mut replace = Replace { at, values: new.leaves().into_iter() };
        self.rebuild(arr, &mut Vec::new(), &mut Vec::new(), &mut replace)
    }

    /// An array with a new row that may be longer or shorter than the old one.
    ///
    /// ```text
    /// if length new == length xss[i] then xss with [i] = new else map (\j -> if j == i then new else xss[j]) (iota n)
    /// ```
    fn replace_row(&mut self, arr: &Val<'p>, at: Atom, row: &Val<'p>, new: &Val<'p>) -> R<Val<'p>> {
        let mut same = Atom::bool(true);
        for (have, want) in new.dims().into_iter().zip(row.dims()) {
            let one = match (have, want) {
                (Dim::Size(a), Dim::Size(b)) => self.cmp(CmpOp::Eq, a, b),
                _ => Atom::bool(have == want),
            };
            same = self.and(same, one);
        }
        let size = self.size_of(arr)?;
        self.if_val(
            same,
            &mut |lo| {
                let targets: Vec<Target> = row.dims().into_iter().map(Target::To).collect();
                let new = lo.retype(new, &targets)?;
                lo.replace(arr, &[at], &new)
            },
            &mut |lo| {
                let is = Val::vector(size, lo.iota(size), Prim::I64);
                lo.map_over(size, &[is], &mut |lo, rows| {
                    let Val::Scalar(i, _) = rows[0] else { return Err(lo.internal("an index is a scalar")) };
                    let here = lo.cmp(CmpOp::Eq, i, at);
                    lo.if_val(here, &mut |_| Ok(new.clone()), &mut |lo| lo.row(arr, i))
                })
            },
        )
    }

    fn update_slice(&mut self, arr: &Val<'p>, at: &[At], new: Val<'p>) -> R<Val<'p>> {
        let Some((slice, rest)) = at.split_first() else { return Ok(new) };
        let cut = self.cut(arr, slice)?;
        let part = self.slice(arr, cut)?;
        let size = self.size_of(&new)?;
        self.equate(cut.len, size, "the slice and the new values", None)?;
        let new = self.resized(&new, cut.len)?;
        let new = if rest.is_empty() {
            new
        } else {
            self.map_over(cut.len, &[part.clone(), new], &mut |lo, rows| {
                lo.update(&rows[0], rest, rows[1].clone())
            })?
        };
        let same = new.dims() == part.dims();
        let new = self.like(&new, &part, ROWS_OF_SLICE, false)?;
        if self.elem_of(arr)?.dims().is_empty() {
            return self.scatter_slice(arr, cut, &new);
        }
        let rows = self.select_rows(arr, cut, &new)?;
        let target = |d| if same || matches!(d, Dim::Size(_)) { Target::To(d) } else { Target::Keep };
        let targets: Vec<Target> = arr.dims().into_iter().map(target).collect();
        self.retype(&rows, &targets)
    }

    /// Arrays of scalars: the slice's elements are written in place.
    fn scatter_slice(&mut self, arr: &Val<'p>, cut: Cut, new: &Val<'p>) -> R<Val<'p>> {
        let dests: R<Vec<_>> = arr.leaves().iter().map(|(a, _)| self.leaf_var(*a)).collect();
        let dests = dests?;
        if dests.is_empty() {
            return Ok(arr.clone());
        }
        let mut inputs = vec![self.iota(cut.len)];
        for (a, _) in new.leaves() {
            inputs.push(self.leaf_var(a)?);
        }
        let prims: Vec<Prim> = std::iter::once(Prim::I64).chain(new.leaves().iter().map(|l| l.1)).collect();
        let (block, (params, results)) = self.in_block(|lo| {
            let params: Vec<_> = prims.iter().map(|p| lo.param("x", Type::scalar(*p))).collect();
            let mut results: Vec<Atom> = params.iter().map(|p| Atom::Var(p.var)).collect();
            results[0] = lo.position(cut, results[0]);
            Ok((params, results))
        })?;
        let ret = prims.iter().map(|p| Type::scalar(*p)).collect();
        let body = par_ir::core::Body { stms: block.stms, results };
        let lam = Lambda { params, body, ret, schedule: Schedule::Free };
        let pat: Vec<_> = dests
            .iter()
            .map(|d| {
                let ty = self.type_of(*d).clone();
                self.param("r", ty)
            })
            .collect();
        let vars: Vec<Atom> = pat.iter().map(|p| Atom::Var(p.var)).collect();
        self.push(pat, Exp::Scatter { dests, width: cut.len, inputs, lam });
        self.with_leaves(arr, vars)
    }

    /// Arrays of rows: every row is the old or the new one.
    fn select_rows(&mut self, arr: &Val<'p>, cut: Cut, new: &Val<'p>) -> R<Val<'p>> {
        let size = self.size_of(arr)?;
        let is = Val::vector(size, self.iota(size), Prim::I64);
        self.map_over(size, &[is], &mut |lo, rows| {
            let Val::Scalar(i, _) = rows[0] else { return Err(lo.internal("an index is a scalar")) };
            let (q, inside) = lo.position_in(cut, i);
            lo.if_val(inside, &mut |lo| lo.row(new, q), &mut |lo| lo.row(arr, i))
        })
    }

    /// Index of element `q` of a slice.
    fn position(&mut self, cut: Cut, q: Atom) -> Atom {
        let offset = self.mul(q, cut.stride);
        self.add(cut.start, offset)
    }

    /// Position of index `i` in the slice, and a condition: true if the slice has that index.
    fn position_in(&mut self, cut: Cut, i: Atom) -> (Atom, Atom) {
        let offset = self.sub(i, cut.start);
        let q = self.bin(BinOp::Div, Prim::I64, offset, cut.stride);
        let back = self.mul(q, cut.stride);
        let exact = self.cmp(CmpOp::Eq, back, offset);
        let low = self.cmp(CmpOp::Le, Atom::i64(0), q);
        let high = self.cmp(CmpOp::Lt, q, cut.len);
        let inside = self.and(low, high);
        (q, self.and(exact, inside))
    }

    /// The value with other array variables of the same types.
    pub fn with_leaves(&mut self, val: &Val<'p>, atoms: Vec<Atom>) -> R<Val<'p>> {
        let mut leaves = Leaves { atoms: atoms.into_iter() };
        self.rebuild(val, &mut Vec::new(), &mut Vec::new(), &mut leaves)
    }
}

struct Leaves {
    atoms: std::vec::IntoIter<Atom>,
}

impl<'p> Rebuild<'p> for Leaves {
    fn dim(&mut self, _lo: &mut Lower<'p>, dim: Dim, _old: &[Dim], _new: &[Dim]) -> R<Dim> {
        Ok(dim)
    }

    fn leaf(&mut self, lo: &mut Lower<'p>, _a: Atom, _p: Prim, _old: &[Dim], _new: &[Dim]) -> R<Atom> {
        self.atoms.next().ok_or_else(|| lo.internal("too few array variables"))
    }
}
