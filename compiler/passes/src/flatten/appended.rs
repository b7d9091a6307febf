//! Descriptors whose rows are made of whole rows of others.
//!
//! ```text
//! map (\ xss -> flatten xss) xsss            -- xsss: [n][3][~d]
//!
//! lengths     len p  = off d (3 p + 3) - off d (3 p)
//! so          off' p = off d (3 p),  total d' = total d
//! ```
//!
//! With the offsets of `d'` as those of `d`, rows that were packed before they were flattened are known to be packed after that, too:
//! `concat_map` inside of `concat_map` copies its results once.

use super::Flattener;
use super::ex::Ex;
use super::nest::{Extent, FDim, LevelId};
use par_ir::{Dim, Type, Var};

/// Rows that a descriptor's rows consist of.
pub struct Appended {
    /// The dimensions that are one in it, outermost first.
    pub dims: Vec<FDim>,
    /// Number of their elements, in all rows together.
    pub extent: Extent,
}

impl Flattener<'_> {
    /// Notes what rows a descriptor's rows consist of, if its lengths at the positions of `level` say so.
    pub fn note_appended_rows(&mut self, desc: Var, len: &Ex, level: LevelId) {
        let Ex::Sub(end, start) = len else { return };
        let Some(dims) = self.dims_between(start, end, level) else { return };
        // Every row of the innermost dimension has to be in one of these.
        let mut extent = self.shapes.extent(level);
        for d in &dims {
            if matches!(d, FDim::Seg(d) if !self.shapes.has_rows_for(*d, &extent)) {
                return;
            }
            extent = self.shapes.inner_extent(Some(extent), *d);
        }
        self.shapes.appended_rows.insert(desc, Appended { dims, extent });
    }

    /// The dimensions between a position of `level` and what is from `start` to `end`.
    fn dims_between(&self, start: &Ex, end: &Ex, level: LevelId) -> Option<Vec<FDim>> {
        let (mut dims, last) = match (start, end) {
            (Ex::Off(d, i), Ex::Off(e, j)) if d == e => (self.dims_between(i, j, level)?, FDim::Seg(*d)),
            (Ex::Mul(i, m), Ex::Mul(j, n)) if m == n => {
                (self.dims_between(i, j, level)?, FDim::Size(m.atom()?))
            }
            (_, Ex::Add(from, width)) if **from == *start => {
                let dim = match &**width {
                    Ex::Atom(m) => FDim::Size(*m),
                    Ex::Len(d, i) if **i == Ex::Pos(level) => FDim::Seg(*d),
                    _ => return None,
                };
                (*start == self.row_start(dim, Ex::Pos(level))).then_some((vec![], dim))?
            }
            _ => return None,
        };
        dims.push(last);
        Some(dims)
    }

    /// Row dimension of rows that start at `start` (at level `child`): the descriptor of their lengths, if its rows consist of rows and start there.
    pub fn appended_as(&self, child: LevelId, start: &Ex, ty: &Type) -> Option<FDim> {
        let Dim::Seg(lens) = ty.dims.get(1)? else { return None };
        let dim = FDim::Seg(self.arr(*lens).desc()?);
        let known = matches!(dim, FDim::Seg(d) if self.shapes.appended_rows.contains_key(&d));
        (known && *start == self.row_start(dim, Ex::Pos(child))).then_some(dim)
    }
}
