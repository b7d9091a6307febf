//! Arrays with rows of any length.

use super::{Refusal, Taker, Wanted, found};
use crate::array::shared;
use crate::python::RAGGED;
use numpy::PyUntypedArray;
use par_runtime::{Array, Column, Prim};
use pyo3::intern;
use pyo3::prelude::*;

impl<'py> Taker<'py> {
    /// Adds the columns of a `Ragged`.
    pub(super) fn ragged(
        &mut self,
        object: &Bound<'py, PyAny>,
        wanted: Wanted,
        out: &mut Vec<Column>,
    ) -> Result<(), Refusal> {
        let Wanted { dims, outer, .. } = wanted;
        let wrong = || Refusal::new(format!("{} of another number of dimensions", found(object)));
        let shape = object.getattr(intern!(self.py, "outer"))?.extract::<Vec<i64>>()?;
        let skipped = usize::from(outer.is_some());
        if outer.is_some_and(|n| shape.first() != Some(&n)) || dims.len() <= shape.len() - skipped {
            return Err(wrong());
        }
        let mut rows = outer.unwrap_or(1);
        let (around, inside) = dims.split_at(shape.len() - skipped);
        for (ragged, n) in around.iter().zip(&shape[skipped..]) {
            if *ragged {
                return Err(wrong());
            }
            out.push(Column::Size(*n));
            rows = rows.saturating_mul(*n);
        }
        let offsets = self.offsets(object)?;
        let total = *offsets.slice::<i64>().last().unwrap_or(&0);
        out.push(if inside[0] { Column::Offsets(offsets) } else { Column::Size(equal_lengths(&offsets)?) });
        let inner = Wanted { dims: &inside[1..], outer: Some(total), ..wanted };
        let values = object.getattr(intern!(self.py, "values"))?;
        if let Ok(array) = values.cast_exact::<PyUntypedArray>() {
            return self.dense(array, inner, out);
        }
        if values.get_type().is(RAGGED.get(self.py)?) {
            return self.ragged(&values, inner, out);
        }
        match self.is_there(&values)? {
            true => self.there(&values, inner, out),
            false => Err(Refusal::new(found(&values))),
        }
    }

    /// The offsets, which are remembered with their object.
    fn offsets(&mut self, object: &Bound<'py, PyAny>) -> Result<Array, Refusal> {
        let object = object.getattr(intern!(self.py, "offsets"))?;
        let array = object.cast_exact::<PyUntypedArray>().map_err(|_| Refusal::new(found(&object)))?;
        let Some(offsets) = shared(array, Prim::I64) else {
            let converted = self.converted(array, Prim::I64)?;
            return converted.ok_or_else(|| Refusal::new(found(array)));
        };
        self.descriptors.push((offsets.clone(), object.clone()));
        Ok(offsets)
    }
}

/// The length that all rows have.
fn equal_lengths(offsets: &Array) -> Result<i64, Refusal> {
    let lengths = || offsets.slice::<i64>().windows(2).map(|w| w[1] - w[0]);
    let first = lengths().next().unwrap_or(0);
    match lengths().enumerate().find(|(_, n)| *n != first) {
        None => Ok(first),
        Some((row, n)) => Err(Refusal::new(format!(
            "rows must have one length, but row 0 has {first} and row {row} has {n} elements"
        ))),
    }
}
