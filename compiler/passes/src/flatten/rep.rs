//! Representations: what a CORE variable has become.

use super::Flattener;
use super::ex::Ex;
use super::lengths::unmarked;
use super::nest::{FDim, LevelId};
use par_ir::{Atom, Prim, Var};
use std::rc::Rc;

/// Representation of a CORE variable.
#[derive(Clone, Debug)]
pub enum Rep {
    Scalar(Ex),
    /// An array, or a descriptor (an array of lengths).
    Array(Arr),
}

/// A view of rows `start, start + stride, …` of a base. How many there are, the CORE type says.
#[derive(Clone, Debug)]
pub struct Arr {
    pub src: Src,
    /// Dimensions of one row: as many as the array's rank less one.
    pub inner: Vec<FDim>,
    /// First row.
    pub start: Ex,
    /// Distance between rows; none: 1.
    pub stride: Option<Ex>,
}

/// Source of elements.
#[derive(Clone, Debug)]
pub enum Src {
    /// A flat array.
    Data(Var, Prim),
    /// Row lengths of a descriptor.
    Desc(Var),
    /// Row lengths in a rope: a start may be marked, see [`super::lengths`].
    Lens(Var),
    /// Element `r` is `r`.
    Iota,
    /// Every row is this (`inner` is then empty, whatever the rank).
    Splat(Rc<Rep>),
}

impl Arr {
    /// Rows of a base at distance one.
    pub fn rows(src: Src, inner: Vec<FDim>, start: Ex) -> Arr {
        Arr { src, inner, start, stride: None }
    }

    /// All of a base, from row 0.
    pub fn whole(src: Src, inner: Vec<FDim>) -> Arr {
        Arr::rows(src, inner, Ex::i64(0))
    }

    /// The descriptor, if these are the lengths of all of its rows, or of those from some row on.
    pub fn desc(&self) -> Option<Var> {
        match self.src {
            Src::Desc(d) if self.inner.is_empty() && self.stride.is_none() => Some(d),
            _ => None,
        }
    }

    /// True if it is the same at all positions of any level.
    pub fn is_of_host(&self) -> bool {
        let of_host = |r: &Rep| match r {
            Rep::Scalar(e) => e.is_of_host(),
            Rep::Array(a) => a.is_of_host(),
        };
        self.start.is_of_host()
            && self.stride.iter().all(Ex::is_of_host)
            && !matches!(&self.src, Src::Splat(r) if !of_host(r))
    }

    /// Adds the host variables in it.
    pub fn vars(&self, found: &mut Vec<Var>) {
        match &self.src {
            Src::Data(v, _) | Src::Desc(v) | Src::Lens(v) => found.push(*v),
            Src::Iota => {}
            Src::Splat(r) => match &**r {
                Rep::Scalar(e) => e.vars(found),
                Rep::Array(a) => a.vars(found),
            },
        }
        self.inner.iter().for_each(|d| d.vars(found));
        self.start.vars(found);
        self.stride.iter().for_each(|s| s.vars(found));
    }

    pub fn depends_on(&self, level: LevelId) -> bool {
        self.start.depends_on(level)
            || self.stride.as_ref().is_some_and(|s| s.depends_on(level))
            || self.src_depends_on(level)
    }

    pub fn src_depends_on(&self, level: LevelId) -> bool {
        matches!(&self.src, Src::Splat(r) if r.depends_on(level))
    }
}

impl Rep {
    pub fn depends_on(&self, level: LevelId) -> bool {
        match self {
            Rep::Scalar(e) => e.depends_on(level),
            Rep::Array(a) => a.depends_on(level),
        }
    }
}

impl Flattener<'_> {
    /// Representation of an operand.
    pub fn rep(&self, a: Atom) -> Rep {
        match a {
            Atom::Const(_) => Rep::Scalar(Ex::Atom(a)),
            Atom::Var(v) => self.env.get(&v).cloned().unwrap_or_else(|| {
                panic!(
                    "internal error in flatten: variable {}_{} has no representation",
                    self.builder.vars.name(v),
                    v.0
                )
            }),
        }
    }

    /// The expression for a scalar operand.
    pub fn ex(&self, a: Atom) -> Ex {
        match self.rep(a) {
            Rep::Scalar(e) => e,
            Rep::Array(_) => panic!("internal error in flatten: an array where a scalar is needed"),
        }
    }

    /// The representation of an array or descriptor variable.
    pub fn arr(&self, v: Var) -> Arr {
        match self.rep(v.into()) {
            Rep::Array(a) => a,
            Rep::Scalar(_) => panic!("internal error in flatten: a scalar where an array is needed"),
        }
    }

    /// Row (or element) `ix`.
    pub fn row(&self, arr: &Arr, ix: Ex) -> Rep {
        if let (Src::Splat(value), true) = (&arr.src, arr.inner.is_empty()) {
            return (**value).clone();
        }
        let step = match &arr.stride {
            Some(s) => self.mul(ix, s.clone()),
            None => ix,
        };
        let r = match arr.src {
            Src::Lens(_) => self.moved(arr.start.clone(), step),
            _ => self.add(arr.start.clone(), step),
        };
        match arr.inner.split_first() {
            None => Rep::Scalar(element(&arr.src, r)),
            Some((d, rest)) => Rep::Array(Arr {
                src: arr.src.clone(),
                inner: rest.to_vec(),
                stride: d.step(&r),
                start: match arr.src {
                    Src::Lens(_) => self.row_start(*d, unmarked(r)),
                    _ => self.row_start(*d, r),
                },
            }),
        }
    }
}

/// Element `r` of a base.
pub fn element(src: &Src, r: Ex) -> Ex {
    match src {
        Src::Data(v, p) => Ex::Load(*v, *p, Rc::new(r)),
        Src::Desc(d) => Ex::Len(*d, Rc::new(r)),
        Src::Lens(v) => Ex::Load(*v, Prim::I64, Rc::new(unmarked(r))),
        Src::Iota => r,
        Src::Splat(value) => match &**value {
            Rep::Scalar(e) => e.clone(),
            Rep::Array(_) => panic!("internal error in flatten: an array where an element is needed"),
        },
    }
}
