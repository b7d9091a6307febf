//! Values that stay where a program has them: on a GPU, if that is what it runs on.

use crate::give::{Giver, scalar};
use par::Value;
use par_runtime::{Column, ValueType};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// A value that stays where its program has it.
#[pyclass(frozen, module = "par_array._native")]
pub struct Kept(pub Value);

#[pymethods]
impl Kept {
    /// The value as calls give it: NumPy's arrays, copied from the GPU.
    fn get<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Giver::new(py, Vec::new()).object(self.0.clone())
    }

    /// Its type in the program.
    #[getter]
    fn type_(&self) -> String {
        self.0.ty.to_string()
    }

    /// True if elements are in the memory of a GPU and nowhere else.
    #[getter]
    fn is_on_device(&self) -> bool {
        self.0.is_on_device()
    }

    fn __repr__(&self) -> String {
        let place = if self.0.is_on_device() { " on a GPU" } else { "" };
        format!("<kept value of type {}{place}>", self.0.ty)
    }
}

/// The object for a value that is kept: scalars are numbers, tuples have kept parts.
pub fn object<'py>(py: Python<'py>, value: Value) -> PyResult<Bound<'py, PyAny>> {
    match (&value.ty, value.columns.as_slice()) {
        (ValueType::Prim(_), [Column::Scalar(x)]) => scalar(py, *x),
        (ValueType::Tuple(types), _) => {
            let mut columns = value.columns.iter().cloned();
            let parts = types.iter().map(|ty| {
                object(
                    py,
                    Value { ty: ty.clone(), columns: columns.by_ref().take(ty.columns().len()).collect() },
                )
            });
            Ok(PyTuple::new(py, parts.collect::<PyResult<Vec<_>>>()?)?.into_any())
        }
        _ => Ok(Bound::new(py, Kept(value))?.into_any()),
    }
}
