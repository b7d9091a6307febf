//! `m with [a:b, c:d] = v` where no dimension is ragged: one update.

use super::index::{At, Cut};
use super::update::ROWS_OF_SLICE;
use super::value::Val;
use super::{Lower, R};
use par_ir::core::{At as Place, Exp};
use par_ir::prim::BinOp;
use par_ir::{Atom, CheckKind, Dim, Prim, Var, tiny, tuning};

impl<'p> Lower<'p> {
    /// The updated array, if it has no ragged dimension. `at` has a slice.
    pub(super) fn update_part(&mut self, arr: &Val<'p>, at: &[At], new: &Val<'p>) -> R<Option<Val<'p>>> {
        let pairs: Vec<_> = arr.leaves().into_iter().zip(new.leaves()).collect();
        if at.len() == 1 && self.elem_of(arr)?.dims().is_empty() || pairs.is_empty() {
            return Ok(None);
        }
        let mut leaves = Vec::new();
        for ((old, _), (new, _)) in &pairs {
            let (old, new) = (self.leaf_var(*old)?, self.leaf_var(*new)?);
            let fits = self.regular(old).is_some() && self.regular(new).is_some();
            if !fits || tiny::sizes(self.type_of(old), tuning::TINY_ELEMENTS).is_some() {
                return Ok(None);
            }
            leaves.push((old, new));
        }
        let Some(cuts) = self.cuts(arr, at, new)? else { return Ok(None) };
        let results = leaves.iter().map(|(old, new)| self.write_part(*old, *new, &cuts)).collect();
        self.with_leaves(arr, results).map(Some)
    }

    /// The sizes of an array's dimensions, if none is ragged.
    fn regular(&self, v: Var) -> Option<Vec<Atom>> {
        let size = |d: &Dim| if let Dim::Size(a) = d { Some(*a) } else { None };
        self.type_of(v).dims.iter().map(size).collect()
    }

    /// Every index and slice, checked as if one row after the other were updated: where no row is, nothing further in is wrong.
    fn cuts(&mut self, arr: &Val<'p>, at: &[At], new: &Val<'p>) -> R<Option<Vec<(Cut, bool)>>> {
        let outside = self.context.unless;
        let cuts = self.cuts_inside(arr, at, new);
        self.context.unless = outside;
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
                    self.place.span = before;
                    let one = Atom::i64(1);
                    cuts.push((Cut { start: *i, len: one, stride: one }, true));
                }
                At::Slice { .. } => {
                    let Some(Dim::Size(have)) = given.next() else { return Ok(None) };
                    let cut = self.cut_of(size, at)?;
                    self.equate(cut.len, have, "the slice and the new values", None)?;
                    cuts.push((Cut { len: have, ..cut }, false));
                    let none = self.cmp(par_ir::prim::CmpOp::Eq, have, Atom::i64(0));
                    self.context.unless = Some(match self.context.unless {
                        Some(before) => self.bin(BinOp::Or, Prim::Bool, before, none),
                        None => none,
                    });
                }
            }
        }
        let rest = arr.dims().into_iter().skip(at.len());
        for (want, have) in rest.zip(given) {
            let (Dim::Size(want), Dim::Size(have)) = (want, have) else { return Ok(None) };
            self.equate(want, have, ROWS_OF_SLICE, None)?;
        }
        Ok(Some(cuts))
    }

    fn write_part(&mut self, arr: Var, value: Var, cuts: &[(Cut, bool)]) -> Atom {
        let place = |(cut, is_index): &(Cut, bool)| match is_index {
            true => Place::Index(cut.start),
            false => Place::Slice { start: cut.start, stride: cut.stride },
        };
        let (name, ty) = (self.out.vars.name(arr).to_string(), self.type_of(arr).clone());
        let exp = Exp::Update { arr, at: cuts.iter().map(place).collect(), value: value.into() };
        Atom::Var(self.emit(&name, ty, exp))
    }

    /// Unless a row is missing, in which case what is inside it is not asked for.
    pub(super) fn check_if_needed(&mut self, cond: Atom, kind: CheckKind, args: Vec<Atom>) {
        let cond = match self.context.unless {
            Some(none) => self.bin(BinOp::Or, Prim::Bool, none, cond),
            None => cond,
        };
        self.check(cond, kind, args);
    }
}
