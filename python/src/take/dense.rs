//! Arrays of NumPy.

use super::{Refusal, Taker, Wanted, found};
use crate::array::{dtype_name, shared};
use crate::python::CAST;
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use par_runtime::{Array, Column, Prim};
use pyo3::prelude::*;

impl<'py> Taker<'py> {
    /// Adds the columns of an array.
    pub(super) fn dense(
        &mut self,
        array: &Bound<'py, PyUntypedArray>,
        wanted: Wanted,
        out: &mut Vec<Column>,
    ) -> Result<(), Refusal> {
        let shape: Vec<i64> = array.shape().iter().map(|n| *n as i64).collect();
        if !wanted.fits(&shape) {
            return Err(Refusal::new(found(array)));
        }
        let data = match shared(array, wanted.prim) {
            Some(data) => data,
            None => self.converted(array, wanted.prim)?.ok_or_else(|| Refusal::new(found(array)))?,
        };
        wanted.columns(data, &shape, out)
    }

    /// The elements, converted to a type; `None` if they are objects.
    pub(super) fn converted(
        &self,
        array: &Bound<'py, PyUntypedArray>,
        prim: Prim,
    ) -> Result<Option<Array>, Refusal> {
        if self.strict {
            return Err(Refusal::new(format!("{} would be copied", found(array))));
        }
        let converted = CAST.get(self.py)?.call1((array, dtype_name(prim)))?;
        if converted.is_none() {
            return Ok(None);
        }
        let converted = converted.cast_exact::<PyUntypedArray>().map_err(|_| Refusal::new(found(array)))?;
        shared(converted, prim).map(Some).ok_or_else(|| Refusal::new(found(array)))
    }
}

impl Wanted<'_> {
    /// True if an array of this shape has the dimensions.
    pub(super) fn fits(&self, shape: &[i64]) -> bool {
        let outer = usize::from(self.outer.is_some());
        shape.len() == self.dims.len() + outer && self.outer.is_none_or(|n| shape[0] == n)
    }

    /// Adds the columns of elements in a shape that fits.
    pub(super) fn columns(&self, data: Array, shape: &[i64], out: &mut Vec<Column>) -> Result<(), Refusal> {
        let mut rows = self.outer.unwrap_or(1);
        for (ragged, n) in self.dims.iter().zip(&shape[usize::from(self.outer.is_some())..]) {
            out.push(if *ragged { Column::Offsets(regular(rows, *n)?) } else { Column::Size(*n) });
            rows = rows.saturating_mul(*n);
        }
        out.push(Column::Data(data));
        Ok(())
    }
}

/// Offsets of rows of one length.
fn regular(rows: i64, length: i64) -> Result<Array, Refusal> {
    let mut offsets = Array::try_uninit(Prim::I64, rows as usize + 1).map_err(crate::array::no_memory)?;
    for (i, to) in offsets.slice_mut::<i64>().iter_mut().enumerate() {
        *to = i as i64 * length;
    }
    Ok(offsets)
}
