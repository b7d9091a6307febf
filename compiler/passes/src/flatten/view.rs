//! Statements that cost nothing: they only make another representation of arrays that exist.

use super::ex::Ex;
use super::nest::FDim;
use super::rep::{Arr, Rep, Src};
use super::{Flattener, Result};
use par_ir::core::{Exp, Stm};
use par_ir::{Atom, Var};
use std::rc::Rc;

impl Flattener<'_> {
    /// Handles the statement if it is a view; false if it is not.
    pub(crate) fn view(&mut self, stm: &Stm) -> Result<bool> {
        let rep = match &stm.exp {
            Exp::Atom(a) => self.rep(*a),
            Exp::Index(arr, ixs) => match self.indexed(*arr, ixs) {
                Rep::Scalar(_) => return Ok(false),
                rows => {
                    self.fresh_rows.insert(stm.pat[0].var);
                    rows
                }
            },
            Exp::Slice { arr, start, stride, .. } => Rep::Array(self.sliced(*arr, *start, *stride)),
            Exp::Iota(_) => Rep::Array(Arr::whole(Src::Iota, vec![])),
            Exp::Replicate(_, x) => Rep::Array(Arr::whole(Src::Splat(Rc::new(self.rep(*x))), vec![])),
            Exp::Lengths(d) => Rep::Array(self.arr(*d)),
            Exp::Flatten(arr) => match self.flattened(*arr) {
                Some(a) => Rep::Array(a),
                None => return Ok(false),
            },
            _ => return Ok(false),
        };
        self.env.insert(stm.pat[0].var, rep);
        Ok(true)
    }

    /// `arr[i, j, …]`.
    pub(crate) fn indexed(&self, arr: Var, ixs: &[Atom]) -> Rep {
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

    fn sliced(&self, arr: Var, start: Atom, stride: Atom) -> Arr {
        let a = self.arr(arr);
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
        Arr { start: self.add(a.start.clone(), skip), stride: step, ..a }
    }

    /// The rows of an array one after the other, if they lie like that.
    pub(crate) fn flattened(&self, arr: Var) -> Option<Arr> {
        let a = self.arr(arr);
        if a.stride.is_some() || matches!(a.src, Src::Splat(_)) {
            return None;
        }
        let (d, rest) = a.inner.split_first()?;
        match d {
            FDim::View(_) => None,
            FDim::Size(m) if m.as_i64() == Some(0) => None,
            d => Some(Arr {
                src: a.src.clone(),
                inner: rest.to_vec(),
                start: self.row_start(*d, a.start.clone()),
                stride: None,
            }),
        }
    }

    /// The sum of a descriptor's lengths, as an expression: the distance between two offsets.
    pub(crate) fn total_of(&self, desc: Var) -> Option<Ex> {
        let mut a = self.arr(desc);
        let ty = &self.types[&desc];
        let par_ir::Dim::Size(n) = ty.dims[0] else { return None };
        let mut end = self.add(a.start.clone(), self.ex(n));
        while let Some((d, rest)) = a.inner.split_first() {
            if a.stride.is_some() || matches!(d, FDim::View(_)) {
                return None;
            }
            end = self.row_start(*d, end);
            a = Arr { start: self.row_start(*d, a.start.clone()), inner: rest.to_vec(), ..a };
        }
        match (&a.src, &a.stride) {
            (Src::Desc(d), None) => Some(self.sub(self.off(*d, end), self.off(*d, a.start.clone()))),
            _ => None,
        }
    }
}
