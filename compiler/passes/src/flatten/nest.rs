//! Nests: chains of levels. Each level is a flat space of positions; its parent's positions are its rows.

use super::ex::Ex;
use super::{Flattener, Known};
use par_ir::flat::{Op, Ty};
use par_ir::prim::{BinOp, CmpOp};
use par_ir::{Atom, CheckKind, Prim, PrimOp, Var};

/// Identifies a level; ids are never reused.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct LevelId(pub usize);

/// The single position of a function's own body.
pub(crate) const ROOT: LevelId = LevelId(0);

/// One dimension of a flat representation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum FDim {
    /// Every row has this (host) length, row `r` starts at `r * m`. With `m = 0`, all rows share what starts at 0.
    Size(Atom),
    /// Rows packed as the descriptor says.
    Seg(Var),
    /// Row `r` starts at element `starts[r]`: a view. Only inside arrays, never a level.
    View(Var),
    /// Likewise, and the elements of row `r` are so far apart.
    Steps(Var, Step),
}

impl FDim {
    /// Adds the host variables in it.
    pub(crate) fn vars(&self, found: &mut Vec<Var>) {
        match self {
            FDim::Size(m) => found.extend(m.var()),
            FDim::Seg(v) | FDim::View(v) => found.push(*v),
            FDim::Steps(v, Step::Each(w)) => found.extend([*v, *w]),
            FDim::Steps(v, Step::Same(m)) => found.extend(std::iter::once(*v).chain(m.var())),
        }
    }

    /// The same with other host variables.
    pub(crate) fn renamed(self, name: impl Fn(Var) -> Var) -> FDim {
        let atom = |a: Atom| a.var().map_or(a, |v| name(v).into());
        match self {
            FDim::Size(m) => FDim::Size(atom(m)),
            FDim::Seg(d) => FDim::Seg(name(d)),
            FDim::View(s) => FDim::View(name(s)),
            FDim::Steps(s, Step::Each(w)) => FDim::Steps(name(s), Step::Each(name(w))),
            FDim::Steps(s, Step::Same(m)) => FDim::Steps(name(s), Step::Same(atom(m))),
        }
    }

    /// How far apart the elements of row `r` are, if that is not 1.
    pub(crate) fn step(self, r: &Ex) -> Option<Ex> {
        match self {
            FDim::Steps(_, Step::Same(m)) => Some(Ex::Atom(m)),
            FDim::Steps(_, Step::Each(steps)) => Some(Ex::Load(steps, Prim::I64, r.clone().into())),
            FDim::Size(_) | FDim::Seg(_) | FDim::View(_) => None,
        }
    }
}

/// How far apart the elements of rows are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Step {
    /// The same for all rows, on the host.
    Same(Atom),
    /// One for each row.
    Each(Var),
}

/// How the positions of a level relate to its parent's.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Root,
    /// One position per element of a row.
    Dim(FDim),
    /// A selection of `n` of the parent's positions: `idx[q]` is the parent's position.
    Pack {
        idx: Var,
        n: Atom,
    },
    /// `n` of the parent's positions, from `first` on.
    Part {
        first: Atom,
        n: Atom,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct Level {
    pub parent: Option<LevelId>,
    pub kind: Kind,
}

impl Level {
    pub(crate) fn root() -> Level {
        Level { parent: None, kind: Kind::Root }
    }
}

/// How many positions a space has, in a form that can be compared.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Extent {
    Count(Atom),
    Times(Box<Extent>, Atom),
    Total(Var),
}

impl Extent {
    /// Adds the host variables in it.
    pub(crate) fn vars(&self, found: &mut Vec<Var>) {
        match self {
            Extent::Count(a) => found.extend(a.var()),
            Extent::Times(outer, a) => {
                outer.vars(found);
                found.extend(a.var());
            }
            Extent::Total(d) => found.push(*d),
        }
    }

    /// The space of which this one is `m` times as large, if it is made so.
    pub(crate) fn without(self, m: Atom) -> Option<Extent> {
        let quotient = |a: Atom| match (a.as_i64(), m.as_i64()) {
            (Some(a), Some(m)) if m > 0 && a % m == 0 => Some(Atom::i64(a / m)),
            _ => None,
        };
        match self {
            Extent::Times(outer, a) if a == m => Some(*outer),
            Extent::Times(outer, a) => Some(Extent::Times(outer, quotient(a)?)),
            Extent::Count(a) => quotient(a).map(Extent::Count),
            Extent::Total(_) => None,
        }
    }
}

impl Flattener<'_> {
    pub(crate) fn level(&self, id: LevelId) -> &Level {
        &self.levels[id.0]
    }

    pub(crate) fn is_root(&self, id: LevelId) -> bool {
        matches!(self.level(id).kind, Kind::Root)
    }

    pub(crate) fn parent(&self, id: LevelId) -> LevelId {
        self.level(id).parent.unwrap_or(ROOT)
    }

    pub(crate) fn push_level(&mut self, parent: LevelId, kind: Kind) -> LevelId {
        self.levels.push(Level { parent: Some(parent), kind });
        LevelId(self.levels.len() - 1)
    }

    /// The level below `parent` whose rows have `width` elements: regular if the width is the host's, else by a
    /// descriptor over the parent's positions.
    pub(crate) fn enter(&mut self, parent: LevelId, width: &Ex) -> LevelId {
        let dim = self.dim_for(parent, width);
        self.push_level(parent, Kind::Dim(dim))
    }

    pub(crate) fn dim_for(&mut self, parent: LevelId, width: &Ex) -> FDim {
        match width {
            Ex::Atom(a) => FDim::Size(*a),
            _ => FDim::Seg(self.desc_for(width, parent)),
        }
    }

    /// The descriptor whose row lengths are `len` at each position of `level`.
    pub(crate) fn desc_for(&mut self, len: &Ex, level: LevelId) -> Var {
        if let Ex::Len(d, row) = len
            && **row == Ex::Pos(level)
            && self.has_rows_for(*d, &self.extent(level))
        {
            return *d;
        }
        let extent = self.extent(level);
        let key = match len.by_position(level) {
            Some(len) => Known::DescOf(len, extent.clone()),
            None => Known::Desc(len.clone(), level),
        };
        if let Some(Atom::Var(d)) = self.known(&key) {
            return d;
        }
        let desc = match len {
            Ex::Atom(m) => {
                let rows = self.count(level);
                self.bind_once(Known::Uniform(rows, *m), "d", Ty::Desc, Op::UniformDesc { rows, m: *m })
            }
            _ => {
                let lens = self.store(level, len);
                self.bind_once(Known::Made(lens), "d", Ty::Desc, Op::MakeDesc(lens))
            }
        };
        self.desc_rows.insert(desc, extent);
        self.learn(key, desc.into());
        self.note_rows_joined(desc, len, level);
        desc
    }

    pub(crate) fn extent(&self, level: LevelId) -> Extent {
        let l = self.level(level);
        match (&l.kind, l.parent) {
            (Kind::Root, _) => Extent::Count(Atom::i64(1)),
            (Kind::Pack { n, .. } | Kind::Part { n, .. }, _) => Extent::Count(*n),
            (Kind::Dim(d), p) => {
                let p = p.unwrap_or(ROOT);
                let outer = (!self.is_root(p)).then(|| self.extent(p));
                self.inner_extent(outer, *d)
            }
        }
    }

    /// The extent of `outer` rows (none: a single row) of dimension `d`.
    pub(crate) fn inner_extent(&self, outer: Option<Extent>, d: FDim) -> Extent {
        match (outer, d) {
            (_, FDim::Seg(d)) => self.rows_joined.get(&d).map_or(Extent::Total(d), |j| j.extent.clone()),
            (outer, FDim::Size(m)) => {
                let m = self.one_of_same(m);
                match (self.products.get(&m), outer) {
                    (Some((a, b)), outer) => {
                        times(self.inner_extent(outer, FDim::Size(*a)), self.one_of_same(*b))
                    }
                    (None, None) => Extent::Count(m),
                    (None, Some(e)) => times(e, m),
                }
            }
            (_, FDim::View(_) | FDim::Steps(..)) => unreachable!("a view has no extent"),
        }
    }

    /// The size that stands for all that are known to be the same as this one.
    pub(crate) fn one_of_same(&self, size: Atom) -> Atom {
        self.same.get(&size).map_or(size, |a| self.one_of_same(*a))
    }

    /// The extent with one size for all that are the same.
    pub(crate) fn with_same(&self, e: &Extent) -> Extent {
        match e {
            Extent::Count(a) => self.inner_extent(None, FDim::Size(*a)),
            Extent::Times(outer, a) => self.inner_extent(Some(self.with_same(outer)), FDim::Size(*a)),
            Extent::Total(_) => e.clone(),
        }
    }

    /// Whether a flat array covers a space exactly.
    pub(crate) fn covers(&self, data: Var, space: &Extent) -> bool {
        self.extents.get(&data).is_some_and(|e| self.with_same(e) == *space)
    }

    /// Whether a descriptor has a row for each position of a space.
    pub(crate) fn has_rows_for(&self, desc: Var, space: &Extent) -> bool {
        self.desc_rows.get(&desc).is_some_and(|e| self.with_same(e) == *space)
    }

    /// Notes that a size is the product of two others, whose matrix is flattened or made of it: so the extents of both are one.
    pub(crate) fn note_product(&mut self, size: &Ex, rows: &Ex, width: &Ex) {
        if let (Ex::Atom(size @ Atom::Var(_)), Ex::Atom(rows), Ex::Atom(width)) = (size, rows, width)
            && rows != size
            && width != size
        {
            self.products.entry(self.one_of_same(*size)).or_insert((*rows, *width));
        }
    }

    /// Number of positions of a level, on the host.
    pub(crate) fn count(&mut self, level: LevelId) -> Atom {
        if let Some(a) = self.known(&Known::Count(level)) {
            return a;
        }
        let l = self.level(level).clone();
        let n = match l.kind {
            Kind::Root => Atom::i64(1),
            Kind::Pack { n, .. } | Kind::Part { n, .. } => n,
            Kind::Dim(FDim::Size(m)) => {
                let rows = self.count(self.parent(level));
                self.checked_product(rows, m)
            }
            Kind::Dim(FDim::Seg(d)) => self.total(d),
            Kind::Dim(FDim::View(_) | FDim::Steps(..)) => unreachable!("a view is never a level"),
        };
        self.learn(Known::Count(level), n);
        n
    }

    /// The product of two sizes. A space too large to be counted is out of memory, not an empty one.
    fn checked_product(&mut self, rows: Atom, m: Atom) -> Atom {
        let product = self.host_op(BinOp::Mul, rows, m);
        let known = |a: Atom| a.as_i64().is_some_and(|x| x <= 1);
        if product.as_i64().is_some() || known(rows) || known(m) {
            return product;
        }
        let i64s = |op| PrimOp::Bin(op, Prim::I64);
        let bool_ty = Ty::Scalar(Prim::Bool);
        let high = self.bind("high", Ty::Scalar(Prim::I64), Op::Prim(i64s(BinOp::MulHi), vec![rows, m]));
        let fits = Op::Prim(PrimOp::Cmp(CmpOp::Eq, Prim::I64), vec![high.into(), Atom::i64(0)]);
        let fits = self.bind("fits", bool_ty, fits);
        let positive = Op::Prim(PrimOp::Cmp(CmpOp::Ge, Prim::I64), vec![product, Atom::i64(0)]);
        let positive = self.bind("positive", bool_ty, positive);
        let both = Op::Prim(PrimOp::Bin(BinOp::And, Prim::Bool), vec![fits.into(), positive.into()]);
        let cond = self.bind("ok", bool_ty, both).into();
        let args = vec![Atom::i64(i64::MAX)];
        self.emit(vec![], Op::Check { cond, kind: CheckKind::OutOfMemory, args });
        product
    }

    pub(crate) fn total(&mut self, d: Var) -> Atom {
        self.bind_once(Known::Total(d), "total", Ty::Scalar(Prim::I64), Op::Total(d)).into()
    }

    pub(crate) fn offsets(&mut self, d: Var) -> Var {
        self.bind_once(Known::Offsets(d), "off", Ty::Array(Prim::I64), Op::Offsets(d))
    }

    pub(crate) fn seg_ids(&mut self, d: Var) -> Var {
        self.bind_once(Known::SegIds(d), "ii", Ty::Array(Prim::I64), Op::SegIds(d))
    }

    pub(crate) fn lengths(&mut self, d: Var) -> Var {
        self.bind_once(Known::Lengths(d), "lens", Ty::Array(Prim::I64), Op::Lengths(d))
    }

    pub(crate) fn array_length(&mut self, a: Var) -> Atom {
        self.bind_once(Known::Length(a), "len", Ty::Scalar(Prim::I64), Op::Length(a)).into()
    }
}

/// So many times as large. Constants are multiplied, so that 4 and twice 2 are the same.
fn times(e: Extent, m: Atom) -> Extent {
    let product = |a: &Atom| Some(Atom::i64(a.as_i64()?.checked_mul(m.as_i64()?)?));
    match e {
        Extent::Count(a) => {
            product(&a).map(Extent::Count).unwrap_or(Extent::Times(Box::new(Extent::Count(a)), m))
        }
        Extent::Times(outer, a) => match product(&a) {
            Some(am) => Extent::Times(outer, am),
            None => Extent::Times(Box::new(Extent::Times(outer, a)), m),
        },
        Extent::Total(_) => Extent::Times(Box::new(e), m),
    }
}
