//! Nests: chains of levels. Each level is a flat space of positions; its parent's positions are its rows.

use super::Flattener;
use super::ex::Ex;
use super::host::Known;
use par_ir::flat::{Op, Ty};
use par_ir::{Atom, Prim, Var};

/// Identifies a level; ids are never reused.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LevelId(pub usize);

/// The single position of a function's own body.
pub const ROOT: LevelId = LevelId(0);

/// One dimension of a flat representation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FDim {
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
    pub fn vars(&self, found: &mut Vec<Var>) {
        match self {
            FDim::Size(m) => found.extend(m.var()),
            FDim::Seg(v) | FDim::View(v) => found.push(*v),
            FDim::Steps(v, Step::Each(w)) => found.extend([*v, *w]),
            FDim::Steps(v, Step::Same(m)) => found.extend(std::iter::once(*v).chain(m.var())),
        }
    }

    /// The same with other host variables.
    pub fn renamed(self, name: impl Fn(Var) -> Var) -> FDim {
        let atom = |a: Atom| a.var().map_or(a, |v| name(v).into());
        match self {
            FDim::Size(m) => FDim::Size(atom(m)),
            FDim::Seg(d) => FDim::Seg(name(d)),
            FDim::View(s) => FDim::View(name(s)),
            FDim::Steps(s, Step::Each(w)) => FDim::Steps(name(s), Step::Each(name(w))),
            FDim::Steps(s, Step::Same(m)) => FDim::Steps(name(s), Step::Same(atom(m))),
        }
    }

    /// Stride of the elements of row `r`. `None`: 1.
    pub fn step(self, r: &Ex) -> Option<Ex> {
        match self {
            FDim::Steps(_, Step::Same(m)) => Some(Ex::Atom(m)),
            FDim::Steps(_, Step::Each(steps)) => Some(Ex::Load(steps, Prim::I64, r.clone().into())),
            FDim::Size(_) | FDim::Seg(_) | FDim::View(_) => None,
        }
    }
}

/// Stride of the elements of rows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Step {
    /// The same for all rows, on the host.
    Same(Atom),
    /// One for each row.
    Each(Var),
}

/// Relation of a level's positions to its parent's.
#[derive(Clone, Debug)]
pub enum Kind {
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
pub struct Level {
    pub parent: Option<LevelId>,
    pub kind: Kind,
}

impl Level {
    pub fn root() -> Level {
        Level { parent: None, kind: Kind::Root }
    }
}

/// Number of positions of a space, in a form that can be compared.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Extent {
    Count(Atom),
    Times(Box<Extent>, Atom),
    Total(Var),
}

impl Extent {
    /// Adds the host variables in it.
    pub fn vars(&self, found: &mut Vec<Var>) {
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
    pub fn without(self, m: Atom) -> Option<Extent> {
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
    /// The level below `parent` whose rows have `width` elements: regular if the width is the host's, else by a
    /// descriptor over the parent's positions.
    pub fn enter(&mut self, parent: LevelId, width: &Ex) -> LevelId {
        let dim = self.dim_for(parent, width);
        self.shapes.push_level(parent, Kind::Dim(dim))
    }

    pub fn dim_for(&mut self, parent: LevelId, width: &Ex) -> FDim {
        match width {
            Ex::Atom(a) => FDim::Size(*a),
            _ => FDim::Seg(self.desc_for(width, parent)),
        }
    }

    /// The descriptor whose row lengths are `len` at each position of `level`.
    pub fn desc_for(&mut self, len: &Ex, level: LevelId) -> Var {
        if let Ex::Len(d, row) = len
            && **row == Ex::Pos(level)
            && self.shapes.has_rows_for(*d, &self.shapes.extent(level))
        {
            return *d;
        }
        let extent = self.shapes.extent(level);
        let key = match len.by_position(level) {
            Some(len) => Known::DescOf(len, extent.clone()),
            None => Known::Desc(len.clone(), level),
        };
        if let Some(Atom::Var(d)) = self.builder.known(&key) {
            return d;
        }
        let desc = match len {
            Ex::Atom(m) => {
                let rows = self.count(level);
                self.builder.bind_once(
                    Known::Uniform(rows, *m),
                    "d",
                    Ty::Desc,
                    Op::UniformDesc { rows, m: *m },
                )
            }
            _ => {
                let lens = self.store(level, len);
                self.builder.bind_once(Known::Made(lens), "d", Ty::Desc, Op::MakeDesc(lens))
            }
        };
        self.shapes.desc_rows.insert(desc, extent);
        self.builder.learn(key, desc.into());
        self.note_appended_rows(desc, len, level);
        desc
    }

    /// Number of positions of a level, on the host.
    pub fn count(&mut self, level: LevelId) -> Atom {
        if let Some(a) = self.builder.known(&Known::Count(level)) {
            return a;
        }
        let l = self.shapes.level(level).clone();
        let n = match l.kind {
            Kind::Root => Atom::i64(1),
            Kind::Pack { n, .. } | Kind::Part { n, .. } => n,
            Kind::Dim(FDim::Size(m)) => {
                let rows = self.count(self.shapes.parent(level));
                self.builder.checked_product(rows, m)
            }
            Kind::Dim(FDim::Seg(d)) => match self.shapes.extent(level) {
                Extent::Count(n) => n,
                _ => self.builder.total(d),
            },
            Kind::Dim(FDim::View(_) | FDim::Steps(..)) => unreachable!("a view is never a level"),
        };
        self.builder.learn(Known::Count(level), n);
        n
    }
}
