//! Arrays of the crate `ndarray`, with the feature of that name: views in, arrays out.
//!
//! ```
//! use ndarray::{Array2, array};
//! use par::{Backend, Context};
//!
//! let program = Context::new(Backend::Cpu).compile("entry main (xss: [][]f32): [][]f32 = map (map (* 2)) xss")?;
//! let matrix = array![[1.0f32, 2.0], [3.0, 4.0]];
//! let doubled: Array2<f32> = program.call("main", (matrix.view().t(),))?;
//! assert_eq!(doubled, array![[2.0, 6.0], [4.0, 8.0]]);
//! # Ok::<(), par::Error>(())
//! ```

use super::from::wrong;
use super::{Builder, FromPar, IntoPar, Mismatch};
use ndarray::{ArrayBase, ArrayD, Data, Dimension, IxDyn, OwnedRepr};
use par_runtime::array::Element;
use par_runtime::io::view::{Lengths, View};
use std::ops::Range;

/// Arrays and views of any layout.
impl<T, S, D> IntoPar for ArrayBase<S, D>
where
    T: Element,
    S: Data<Elem = T>,
    D: Dimension,
{
    fn write_to(&self, to: &mut Builder) -> Result<(), Mismatch> {
        let (mut elements, mut rows) = (to, 1);
        for n in self.shape() {
            elements = elements.equal_arrays(*n, rows)?;
            rows *= n;
        }
        let ordered = self.as_standard_layout();
        elements.scalars(ordered.as_slice().unwrap_or_default())
    }
}

/// Arrays of as many dimensions as the type says, whose rows have one length.
impl<T, D> FromPar for ArrayBase<OwnedRepr<T>, D>
where
    T: Element + FromPar,
    D: Dimension,
{
    fn fits(view: &View<'_>) -> Result<(), Mismatch> {
        let (mut inner, mut rank) = (view, 0);
        while let View::Array { elem, .. } = inner {
            (inner, rank) = (elem, rank + 1);
        }
        match D::NDIM.is_none_or(|n| n == rank) {
            true => T::fits(inner),
            false => wrong(view, &dimensions::<D>()),
        }
    }

    fn from_view(view: &View<'_>, row: usize) -> Result<Self, Mismatch> {
        Self::fits(view)?;
        let (mut inner, mut shape, mut rows) = (view, Vec::new(), row..row + 1);
        while let View::Array { lengths, elem, .. } = inner {
            let (n, elements) = regular(lengths, rows)?;
            shape.push(n);
            (inner, rows) = (elem, elements);
        }
        let elements = T::from_rows(inner, rows)?;
        let array = ArrayD::from_shape_vec(IxDyn(&shape), elements);
        let array = array.ok().and_then(|a| a.into_dimensionality::<D>().ok());
        array.ok_or_else(|| Mismatch::new("the elements do not fill the array"))
    }
}

fn dimensions<D: Dimension>() -> String {
    D::NDIM.map_or("an array".to_string(), |n| format!("an array of {n} dimensions"))
}

/// The length of some rows, and where their elements are.
fn regular(lengths: &Lengths<'_>, rows: Range<usize>) -> Result<(usize, Range<usize>), Mismatch> {
    let elements = lengths.total(rows.start)..lengths.total(rows.end);
    let first = match lengths {
        Lengths::Uniform(n) => *n as usize,
        Lengths::Offsets(_) => rows.clone().next().map_or(0, |row| lengths.row(row).1),
    };
    match rows.map(|row| lengths.row(row).1).find(|n| *n != first) {
        None => Ok((first, elements)),
        Some(other) => {
            Err(Mismatch::new(format!("rows of lengths {first} and {other} are no array of `ndarray`")))
        }
    }
}
