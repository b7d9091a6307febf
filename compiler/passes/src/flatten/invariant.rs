//! Invariant rows, which many positions share, in forms that can be appended to others without a copy of their elements.
//!
//! ```text
//! let m : [2][3]i64 = …           data of 6 elements, rows at 0, 3: starts = [0, 3], made once
//! let c = replicate 4 row         starts = [s, s, s, s] where row starts at s
//! ```

use super::Flattener;
use super::canonical::is_stored;
use super::ex::Ex;
use super::host::Known;
use super::nest::{Extent, FDim, LevelId, ROOT};
use super::pack::DimRep;
use super::rep::{Arr, Rep, Src};
use par_ir::flat::{Op, Ty};
use par_ir::prim::BinOp;
use par_ir::{Atom, Prim, Type, Var};

/// The part of an array that a view selects.
#[derive(Clone)]
pub enum Part {
    /// Rows from this one on.
    From(Atom),
    /// The row at these indices.
    Row(Vec<Atom>),
}

impl Flattener<'_> {
    /// Notes a part of an array that is the same for all positions and is not stored as it is: where the part is passed on, all of it is
    /// stored once, instead of every part by itself.
    pub fn note_part(&mut self, v: Var, of: Var, part: Part) {
        let (arr, ty) = (self.arr(of), &self.types[&of]);
        let as_it_is = is_stored(&arr, ty.is_desc()) && arr.stride.is_none();
        if self.own.part_of.contains_key(&of) || !as_it_is && !ty.is_desc() && self.is_of_host(&arr, ty) {
            self.own.part_of.insert(v, (of, part));
        }
    }

    /// The part of an array that is stored, if that is what a variable is.
    fn stored_part(&mut self, level: LevelId, v: Var) -> Option<Arr> {
        let (of, part) = self.own.part_of.get(&v)?.clone();
        let all = self.shared_rows(level, of);
        match part {
            Part::From(start) => Some(self.sliced(all, start, Atom::i64(1))),
            Part::Row(ixs) => {
                let row = |rep: Rep, ix: &Atom| match rep {
                    Rep::Array(a) => self.row(&a, self.ex(*ix)),
                    scalar => scalar,
                };
                match ixs.iter().fold(Rep::Array(all), row) {
                    Rep::Array(a) => Some(a),
                    Rep::Scalar(_) => None,
                }
            }
        }
    }

    /// The array with starts for rows of regular dimensions, if it is known how many rows there are.
    pub fn with_starts(&mut self, arr: &Arr) -> Option<Arr> {
        let rows = self.rows_of_base(arr);
        let known = |(d, rows): (&FDim, &Option<Extent>)| match d {
            FDim::Size(_) => rows.is_some(),
            FDim::Seg(_) | FDim::View(_) => true,
            FDim::Steps(..) => false,
        };
        if !arr.inner.iter().zip(&rows).all(known) {
            return None;
        }
        let mut inner = Vec::new();
        for (d, rows) in arr.inner.iter().zip(rows) {
            inner.push(match (d, rows) {
                (FDim::Size(m), Some(rows)) => {
                    let mut made_of: Vec<Var> = self.made_of(arr).into_iter().map(|(v, _)| v).collect();
                    rows.vars(&mut made_of);
                    FDim::View(self.where_bound(&made_of, |f| {
                        let rows = f.positions_in(&rows);
                        f.multiples(rows, *m)
                    }))
                }
                (d, _) => *d,
            });
        }
        Some(Arr { inner, ..arr.clone() })
    }

    /// Per inner dimension: how many rows the base has in it, where that is known.
    fn rows_of_base(&self, arr: &Arr) -> Vec<Option<Extent>> {
        let mut extent = match arr.src {
            Src::Data(v, _) => self.shapes.extents.get(&v).cloned(),
            Src::Desc(d) => self.shapes.desc_rows.get(&d).cloned(),
            Src::Lens(_) | Src::Iota | Src::Splat(_) => None,
        };
        let mut rows = Vec::new();
        for d in arr.inner.iter().rev() {
            extent = extent.and_then(|e| match d {
                // All rows share what starts at 0: they are not in the base's extent.
                FDim::Size(m) if m.as_i64() == Some(0) => None,
                FDim::Size(m) => e.without(*m),
                FDim::Seg(s) => (e == self.shapes.inner_extent(None, *d))
                    .then(|| self.shapes.desc_rows.get(s).cloned())
                    .flatten(),
                FDim::View(_) | FDim::Steps(..) => None,
            });
            rows.push(extent.clone());
        }
        rows.reverse();
        rows
    }

    /// The number of positions of a space, on the host. Something covers the space, so that it does not overflow.
    fn positions_in(&mut self, extent: &Extent) -> Atom {
        match extent {
            Extent::Count(n) => *n,
            Extent::Times(outer, m) => {
                let outer = self.positions_in(outer);
                self.builder.host_op(BinOp::Mul, outer, *m)
            }
            Extent::Total(d) => self.builder.total(*d),
        }
    }

    /// `0, m, 2 m, …`.
    fn multiples(&mut self, rows: Atom, m: Atom) -> Var {
        let key = Known::Multiples(rows, m);
        if let Some(Atom::Var(v)) = self.builder.known(&key) {
            return v;
        }
        let each = self.enter(ROOT, &Ex::Atom(rows));
        let start = self.mul(Ex::Pos(each), Ex::Atom(m));
        let starts = self.store(each, &start);
        self.builder.learn(key, starts.into());
        starts
    }

    /// Representation of an array that is shared: what is the same for all positions is stored once.
    pub fn shared_rows(&mut self, level: LevelId, v: Var) -> Arr {
        let (arr, ty) = (self.arr(v), self.types[&v].clone());
        if let Some(lens) = ty.is_desc().then(|| self.view_of_lengths(level, &arr)).flatten() {
            return lens;
        }
        if let Some(stored) = self.stored_once(v, &arr).or_else(|| self.stored_part(level, v)) {
            return stored;
        }
        let Some((n, row)) = self.copies_of_row(&arr, &ty) else {
            let stored =
                self.shapes.is_root(level) || !self.is_of_host(&arr, &ty) || self.has_rows(&arr, &ty);
            return if stored { arr } else { self.outside(v, &arr, &ty) };
        };
        let start = self.host(&row.start);
        let starts = self.builder.bind_once(
            Known::Copies(n, start),
            "starts",
            Ty::Array(Prim::I64),
            Op::Replicate(n, start),
        );
        let mut inner = vec![FDim::View(starts)];
        inner.extend(row.inner);
        Arr::rows(row.src, inner, Ex::i64(0))
    }

    /// True if where the rows of an array start is there, or easily made.
    fn has_rows(&mut self, arr: &Arr, ty: &Type) -> bool {
        is_stored(arr, ty.is_desc()) && arr.stride.is_none() && self.with_starts(arr).is_some()
    }

    /// Stores where the rows of an array start, or the array, that is the same for all positions: once, where it was made.
    fn outside(&mut self, v: Var, arr: &Arr, ty: &Type) -> Arr {
        let key = Known::Outside(v);
        if self.builder.known(&key).is_some() {
            return self.own.outside[&v].clone();
        }
        let mut made_of = Vec::new();
        arr.vars(&mut made_of);
        self.dim_reps(ty).iter().for_each(|d| d.vars(&mut made_of));
        let stored = self.where_bound(&made_of, |f| {
            let stored = f.viewable(ROOT, arr, ty);
            f.builder.learn(key, Atom::i64(0));
            stored
        });
        self.own.outside.insert(v, stored.clone());
        stored
    }

    /// True if an array is the same for all positions.
    pub fn is_of_host(&self, arr: &Arr, ty: &Type) -> bool {
        arr.is_of_host() && self.dim_reps(ty).iter().all(DimRep::is_of_host)
    }

    /// If an array is copies of a row of the host's: how many, and the row.
    pub fn copies_of_row(&self, arr: &Arr, ty: &Type) -> Option<(Atom, Arr)> {
        let Src::Splat(row) = &arr.src else { return None };
        let (Rep::Array(row), true) = (&**row, arr.inner.is_empty() && !ty.is_desc()) else { return None };
        let DimRep::Width(Ex::Atom(n)) = self.dim_reps(ty).first().cloned()? else { return None };
        let plain = matches!(row.src, Src::Data(..)) && row.stride.is_none() && row.start.atom().is_some();
        plain.then(|| (n, row.clone()))
    }
}
