//! Packing: putting the elements of a view one after the other. Done only when something needs it; where an array
//! is packed already, the expression to copy is recognised as the array itself, and nothing happens.

use super::Flattener;
use super::Result;
use super::ex::Ex;
use super::nest::{FDim, Kind, LevelId};
use super::rep::{Arr, Rep, Src, element};
use par_ir::place::{Construct, Part};
use par_ir::{Dim, Type, Var};

/// One dimension of a CORE type as seen at some level.
#[derive(Clone)]
pub enum DimRep {
    /// A size.
    Width(Ex),
    /// A descriptor whose outermost dimensions are still to be entered.
    Desc(Arr),
}

impl DimRep {
    /// True if it is the same at all positions of any level.
    pub fn is_of_host(&self) -> bool {
        match self {
            DimRep::Width(e) => e.is_of_host(),
            DimRep::Desc(a) => a.is_of_host(),
        }
    }

    /// Adds the host variables in it.
    pub fn vars(&self, found: &mut Vec<Var>) {
        match self {
            DimRep::Width(e) => e.vars(found),
            DimRep::Desc(a) => a.vars(found),
        }
    }
}

impl Flattener<'_> {
    pub fn dim_reps(&self, ty: &Type) -> Vec<DimRep> {
        ty.dims
            .iter()
            .map(|d| match d {
                Dim::Size(a) => DimRep::Width(self.ex(*a)),
                Dim::Seg(s) => DimRep::Desc(self.arr(*s)),
            })
            .collect()
    }

    /// Dimensions that remain when a level for the outermost one has been entered.
    pub fn inside(&self, dims: &[DimRep], child: LevelId) -> Vec<DimRep> {
        self.inside_at(dims, &self.local(child))
    }

    /// Dimensions that remain in row `ix` of the outermost one.
    pub fn inside_at(&self, dims: &[DimRep], ix: &Ex) -> Vec<DimRep> {
        dims.iter()
            .map(|d| match d {
                DimRep::Width(e) => DimRep::Width(e.clone()),
                DimRep::Desc(a) => match self.row(a, ix.clone()) {
                    Rep::Scalar(len) => DimRep::Width(len),
                    Rep::Array(rest) => DimRep::Desc(rest),
                },
            })
            .collect()
    }

    /// Levels for all dimensions, outermost first.
    pub fn enter_dims(&mut self, level: LevelId, dims: Vec<DimRep>) -> Vec<LevelId> {
        let mut levels = Vec::new();
        let (mut at, mut dims) = (level, dims);
        while !dims.is_empty() {
            let width = match dims.remove(0) {
                DimRep::Width(e) => e,
                DimRep::Desc(_) => panic!("internal error in flatten: a descriptor of too high a rank"),
            };
            at = self.enter(at, &width);
            levels.push(at);
            dims = self.inside(&dims, at);
        }
        levels
    }

    pub fn fdims(&self, levels: &[LevelId]) -> Vec<FDim> {
        levels
            .iter()
            .map(|l| match &self.shapes.level(*l).kind {
                Kind::Dim(d) => *d,
                _ => unreachable!("entered as a dimension"),
            })
            .collect()
    }

    /// The same array with packed data that covers exactly its own elements at all positions of the level.
    pub fn pack(&mut self, level: LevelId, arr: &Arr, ty: &Type) -> Arr {
        self.pack_levels(level, arr, ty).0
    }

    /// As [`Self::pack`], with the levels of the array's dimensions.
    pub fn pack_levels(&mut self, level: LevelId, arr: &Arr, ty: &Type) -> (Arr, Vec<LevelId>) {
        let dims = self.dim_reps(ty);
        self.pack_dims(level, arr, dims, ty)
    }

    fn pack_dims(&mut self, level: LevelId, arr: &Arr, dims: Vec<DimRep>, ty: &Type) -> (Arr, Vec<LevelId>) {
        let around = self.builder.place;
        let part = Part { construct: Construct::Pack, span: self.builder.span };
        self.builder.place = self.builder.places.add(around, vec![part]);
        let packed = self.packed_dims(level, arr, dims, ty);
        self.builder.place = around;
        packed
    }

    fn packed_dims(
        &mut self,
        level: LevelId,
        arr: &Arr,
        dims: Vec<DimRep>,
        ty: &Type,
    ) -> (Arr, Vec<LevelId>) {
        let levels = self.enter_dims(level, dims);
        let last = *levels.last().expect("an array has a dimension");
        let ex = match self.contiguous_start(level, arr, ty) {
            Some(first) => {
                // What would have to be read on the host is read in the kernel.
                let first = if first.is_arithmetic() { Ex::Atom(self.host(&first)) } else { first };
                element(&arr.src, self.add(first, Ex::Pos(last)))
            }
            None => self.element_at(arr, &levels),
        };
        let src = if ty.is_desc() {
            Src::Desc(self.desc_for(&ex, last))
        } else {
            Src::Data(self.store(last, &ex), ty.prim())
        };
        (self.packed_arr(src, &levels), levels)
    }

    /// The element of an array at a position of its dimensions' levels.
    fn element_at(&self, arr: &Arr, levels: &[LevelId]) -> Ex {
        let mut rep = Rep::Array(arr.clone());
        for l in levels {
            if let Rep::Array(a) = &rep {
                rep = self.row(a, self.local(*l));
            }
        }
        let Rep::Scalar(ex) = rep else { panic!("internal error in flatten: rank") };
        ex
    }

    /// Index of the first element of a regular array on the host whose elements are contiguous.
    fn contiguous_start(&self, level: LevelId, arr: &Arr, ty: &Type) -> Option<Ex> {
        if !self.shapes.is_root(level) || arr.stride.is_some() || !matches!(arr.src, Src::Data(..)) {
            return None;
        }
        let regular = arr.inner.iter().all(|d| matches!(d, FDim::Size(_)));
        let flat = ty.dims[1..].iter().try_fold(arr.clone(), |rows, dim| self.flattened_rows(&rows, *dim));
        flat.filter(|_| regular).map(|elements| elements.start)
    }

    /// A packed array over levels that were entered for its dimensions.
    pub fn packed_arr(&self, src: Src, levels: &[LevelId]) -> Arr {
        Arr::rows(src, self.fdims(&levels[1..]), self.start_of(levels[0]))
    }

    /// Packs a row at level `child` of an array of type `ty` over the rows.
    pub fn packed_row(&mut self, child: LevelId, row: &Arr, ty: &Type) -> Result<Arr> {
        let dims = self.inside(&self.dim_reps(ty)[1..], child);
        Ok(self.pack_dims(child, row, dims, ty).0)
    }
}
