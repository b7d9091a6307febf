//! Shapes: the levels of the nests that are flattened, and what is known of sizes and extents.

use super::appended::Appended;
use super::ex::Ex;
use super::nest::{Extent, FDim, Kind, Level, LevelId, ROOT};
use super::rep::Arr;
use par_ir::hash::HashMap;
use par_ir::{Atom, Var};

/// Levels, and known equalities of sizes and spaces.
pub struct Shapes {
    levels: Vec<Level>,
    /// The space that a flat array covers exactly.
    pub extents: HashMap<Var, Extent>,
    /// The space that a descriptor has a row for each position of.
    pub desc_rows: HashMap<Var, Extent>,
    /// Descriptors whose rows are rows of others, one after the other.
    pub appended_rows: HashMap<Var, Appended>,
    /// Known size equalities: size to representative.
    same: HashMap<Atom, Atom>,
    /// Sizes that are products of two others, see [`Shapes::note_product`].
    products: HashMap<Atom, (Atom, Atom)>,
    /// Spaces that the rows of descriptors fill exactly, see [`Shapes::note_total`].
    totals: HashMap<Var, Extent>,
    /// Flat arrays that hold a row for every position of a level, see [`super::in_place_whole`]: how, and for which level.
    pub in_place: HashMap<Var, (Arr, LevelId)>,
    /// The arrays that each rope consists of.
    pub parts_of_rope: HashMap<Var, Vec<Var>>,
}

impl Shapes {
    /// The host's level alone.
    pub fn new() -> Shapes {
        Shapes {
            levels: vec![Level::root()],
            extents: HashMap::default(),
            desc_rows: HashMap::default(),
            appended_rows: HashMap::default(),
            same: HashMap::default(),
            products: HashMap::default(),
            totals: HashMap::default(),
            in_place: HashMap::default(),
            parts_of_rope: HashMap::default(),
        }
    }

    pub fn level(&self, id: LevelId) -> &Level {
        &self.levels[id.0]
    }

    pub fn is_root(&self, id: LevelId) -> bool {
        matches!(self.level(id).kind, Kind::Root)
    }

    pub fn parent(&self, id: LevelId) -> LevelId {
        self.level(id).parent.unwrap_or(ROOT)
    }

    pub fn push_level(&mut self, parent: LevelId, kind: Kind) -> LevelId {
        self.levels.push(Level { parent: Some(parent), kind });
        LevelId(self.levels.len() - 1)
    }

    pub fn extent(&self, level: LevelId) -> Extent {
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
    pub fn inner_extent(&self, outer: Option<Extent>, d: FDim) -> Extent {
        match (outer, d) {
            (_, FDim::Seg(d)) => match (self.totals.get(&d), self.appended_rows.get(&d)) {
                (Some(e), _) => self.with_same(e),
                (None, Some(rows)) => rows.extent.clone(),
                (None, None) => Extent::Total(d),
            },
            (outer, FDim::Size(m)) => {
                let m = self.one_of_same(m);
                match (self.products.get(&m), outer) {
                    (Some((a, b)), outer) => {
                        let rows = self.inner_extent(outer, FDim::Size(*a));
                        self.inner_extent(Some(rows), FDim::Size(*b))
                    }
                    (None, None) => Extent::Count(m),
                    (None, Some(e)) => times(e, m),
                }
            }
            (_, FDim::View(_) | FDim::Steps(..)) => unreachable!("a view has no extent"),
        }
    }

    /// The size that stands for all that are known to be the same as this one.
    pub fn one_of_same(&self, size: Atom) -> Atom {
        self.same.get(&size).map_or(size, |a| self.one_of_same(*a))
    }

    /// Notes that two sizes are the same. The second one stands for both.
    pub fn note_same(&mut self, before: Atom, now: Atom) {
        let (before, now) = (self.one_of_same(before), self.one_of_same(now));
        if before != now && before.var().is_some() {
            self.same.insert(before, now);
        }
    }

    /// The extent with one size for all that are the same.
    pub fn with_same(&self, e: &Extent) -> Extent {
        match e {
            Extent::Count(a) => self.inner_extent(None, FDim::Size(*a)),
            Extent::Times(outer, a) => self.inner_extent(Some(self.with_same(outer)), FDim::Size(*a)),
            Extent::Total(d) => self.inner_extent(None, FDim::Seg(*d)),
        }
    }

    /// Notes that the rows of a descriptor are all of a space: a flat array over the space has been cut into them.
    pub fn note_total(&mut self, desc: Var, space: Extent) {
        if self.inner_extent(None, FDim::Seg(desc)) != space {
            self.totals.insert(desc, space);
        }
    }

    /// True if a flat array covers a space exactly.
    pub fn covers(&self, data: Var, space: &Extent) -> bool {
        self.extents.get(&data).is_some_and(|e| self.with_same(e) == *space)
    }

    /// True if a descriptor has a row for each position of a space.
    pub fn has_rows_for(&self, desc: Var, space: &Extent) -> bool {
        self.desc_rows.get(&desc).is_some_and(|e| self.with_same(e) == *space)
    }

    /// Notes that a size is the product of two others, whose matrix is flattened or made of it: so the extents of both are one.
    pub fn note_product(&mut self, size: &Ex, rows: &Ex, width: &Ex) {
        if let (Ex::Atom(size @ Atom::Var(_)), Ex::Atom(rows), Ex::Atom(width)) = (size, rows, width)
            && rows != size
            && width != size
        {
            self.products.entry(self.one_of_same(*size)).or_insert((*rows, *width));
        }
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
