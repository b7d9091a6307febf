//! Statements that cost nothing: they only make another representation of arrays that exist.

use super::ex::Ex;
use super::invariant::Part;
use super::nest::FDim;
use super::rep::{Arr, Rep, Src};
use super::{Flattener, Result};
use par_ir::core::{Exp, Stm};
use par_ir::{Atom, Dim, Type, Var};
use std::rc::Rc;

impl Flattener<'_> {
    /// Handles the statement if it is a view; false if it is not.
    pub fn view(&mut self, stm: &Stm) -> Result<bool> {
        let rep = match &stm.exp {
            Exp::Atom(a) => self.known_sizes(self.rep(*a), &stm.pat[0].ty),
            Exp::Index(arr, ixs) => match self.indexed(*arr, ixs) {
                Rep::Scalar(_) => return Ok(false),
                rows => {
                    self.fresh_rows.insert(stm.pat[0].var);
                    self.note_part(stm.pat[0].var, *arr, Part::Row(ixs.clone()));
                    rows
                }
            },
            Exp::Slice { arr, start, stride, .. } => {
                if stride.as_i64() == Some(1) {
                    self.note_part(stm.pat[0].var, *arr, Part::From(*start));
                }
                Rep::Array(self.sliced(self.arr(*arr), *start, *stride))
            }
            Exp::Iota(_) => Rep::Array(Arr::whole(Src::Iota, vec![])),
            Exp::Replicate(_, x) => Rep::Array(Arr::whole(Src::Splat(Rc::new(self.rep(*x))), vec![])),
            Exp::Lengths(d) => Rep::Array(self.arr(*d)),
            Exp::Map { lam, .. } if self.makes_lengths(stm) => match self.copies(lam) {
                Some(a) => Rep::Array(a),
                None => return Ok(false),
            },
            Exp::Flatten(arr) => {
                self.note_reshaped(&stm.pat[0].ty, &self.types[arr].clone());
                match self.flattened(*arr) {
                    Some(a) => Rep::Array(a),
                    None => return Ok(false),
                }
            }
            _ => return Ok(false),
        };
        self.env.insert(stm.pat[0].var, rep);
        Ok(true)
    }

    /// `arr[i, j, …]`.
    pub fn indexed(&self, arr: Var, ixs: &[Atom]) -> Rep {
        let mut rep = self.rep(arr.into());
        for ix in ixs {
            let ix = self.ex(*ix);
            rep = match rep {
                Rep::Array(a) => self.row(&a, ix),
                Rep::Scalar(_) => panic!("internal error in flatten: too many indices"),
            };
        }
        rep
    }

    /// Rows `start, start + stride, …` of an array.
    pub fn sliced(&self, a: Arr, start: Atom, stride: Atom) -> Arr {
        let (start, stride) = (self.ex(start), self.ex(stride));
        let skip = match &a.stride {
            Some(s) => self.mul(start, s.clone()),
            None => start,
        };
        let step = match (&a.stride, stride) {
            (None, Ex::Atom(one)) if one.as_i64() == Some(1) => None,
            (None, s) => Some(s),
            (Some(outer), s) => Some(self.mul(outer.clone(), s)),
        };
        let start = match a.src {
            Src::Lens(_) => self.moved(a.start.clone(), skip),
            _ => self.add(a.start.clone(), skip),
        };
        Arr { start, stride: step, ..a }
    }

    /// The rows of an array one after the other, if they lie like that.
    pub fn flattened(&self, arr: Var) -> Option<Arr> {
        self.flattened_rows(&self.arr(arr), self.types[&arr].dims[1])
    }

    /// The same for an array whose rows have this dimension.
    pub fn flattened_rows(&self, a: &Arr, dim: Dim) -> Option<Arr> {
        if a.stride.is_some() || matches!(a.src, Src::Splat(_) | Src::Lens(_)) {
            return None;
        }
        let (d, rest) = a.inner.split_first()?;
        self.contiguous(*d, a, dim)
            .then(|| Arr::rows(a.src.clone(), rest.to_vec(), self.row_start(*d, a.start.clone())))
    }

    /// True if the rows of an array, which start as `d` says, are as long as `d` says: then the next begins where
    /// one ends. (A view of the first half of every row starts where the whole rows do.)
    fn contiguous(&self, d: FDim, a: &Arr, dim: Dim) -> bool {
        match (d, dim) {
            (FDim::Size(m), Dim::Size(n)) => self.is_same_size(m, n) && m.as_i64() != Some(0),
            (FDim::Seg(d), Dim::Seg(s)) => self.are_rows_of(d, a, s),
            (FDim::Size(m), Dim::Seg(s)) => {
                self.arr(s).same_length().is_some_and(|len| len == Ex::Atom(m)) && m.as_i64() != Some(0)
            }
            _ => false,
        }
    }

    /// True if the rows of an array, which start where those of `d` do, are as long as the descriptor says.
    pub fn are_rows_of(&self, d: Var, a: &Arr, desc: Var) -> bool {
        let lens = self.arr(desc);
        lens.desc() == Some(d) && lens.start == a.start
    }

    /// True if a size on the host is known to be that of CORE.
    pub fn is_same_size(&self, m: Atom, n: Atom) -> bool {
        self.ex(n).atom().is_some_and(|n| self.shapes.one_of_same(n) == self.shapes.one_of_same(m))
    }

    /// The sum of a descriptor's lengths, as an expression: the distance between two offsets.
    pub fn total_of(&self, desc: Var) -> Option<Ex> {
        let (a, ty) = (self.arr(desc), &self.types[&desc]);
        if let ([Dim::Size(n)], Some(len)) = (ty.dims.as_slice(), a.same_length()) {
            return Some(self.mul(self.ex(*n), len));
        }
        let consecutive = match (a.inner.as_slice(), &ty.dims[1..]) {
            ([], []) => true,
            ([d], [dim]) => self.contiguous(*d, &a, *dim),
            _ => false,
        };
        if consecutive && a.stride.is_none() { self.total_of_packed(a, ty) } else { None }
    }

    /// As [`Self::total_of`], for rows that are known to follow each other.
    pub fn total_of_packed(&self, mut a: Arr, ty: &Type) -> Option<Ex> {
        let Dim::Size(n) = ty.dims[0] else { return None };
        let mut end = self.add(a.start.clone(), self.ex(n));
        while let Some((d, rest)) = a.inner.split_first() {
            end = self.row_start(*d, end);
            a = Arr { start: self.row_start(*d, a.start.clone()), inner: rest.to_vec(), ..a };
        }
        match a.src {
            Src::Desc(d) => Some(self.sub(self.off(d, end), self.off(d, a.start))),
            _ => None,
        }
    }

    /// An array whose type says by now that sizes are constants, or others that are the same.
    fn known_sizes(&self, rep: Rep, ty: &Type) -> Rep {
        let Rep::Array(mut arr) = rep else { return rep };
        for (d, known) in arr.inner.iter_mut().zip(ty.dims.iter().skip(1)) {
            match (&d, known) {
                (FDim::Size(Atom::Var(_)), Dim::Size(c @ Atom::Const(_))) => *d = FDim::Size(*c),
                (FDim::Size(m), _) => *d = FDim::Size(self.shapes.one_of_same(*m)),
                _ => {}
            }
        }
        Rep::Array(arr)
    }

    /// Sizes that are the same from here on, since a check has passed: an array of the host has got another type. In a block that
    /// might not be run nothing is noted.
    pub fn note_same_sizes(&mut self, a: Atom, ty: &Type) {
        let Some(v) = a.var().filter(|_| self.builder.scopes.len() == 1 && ty.rank() > 0) else { return };
        let old = self.types[&v].clone();
        for (before, now) in old.dims.iter().zip(&ty.dims) {
            let (Dim::Size(before), Dim::Size(now)) = (before, now) else { continue };
            if let (Ex::Atom(before), Ex::Atom(now @ Atom::Var(_))) = (self.ex(*before), self.ex(*now)) {
                self.shapes.note_same(before, now);
            }
        }
    }
}
