//! Values that stay where a program has them: on a GPU, if that is what it runs on.

use crate::array::over;
use crate::dlpack;
use crate::give::{Giver, scalar};
use crate::python::KEPT_TO_TORCH;
use par::Value;
use par_runtime::{Array, Column, ValueType, cuda};
use pyo3::exceptions::{PyAttributeError, PyBufferError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

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

    /// True if it is an array with rows of any length.
    #[getter]
    fn is_ragged(&self) -> bool {
        rows(&self.0).is_ok()
    }

    /// Sizes of its dimensions, up to the first with lengths of its own.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, sizes(&self.0))
    }

    /// Offsets of rows of any length: those of the outermost such dimension.
    #[getter]
    fn offsets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (offsets, _) = rows(&self.0)?;
        let shape = [offsets.len() as i64];
        over(py, offsets, &shape, false)
    }

    /// The elements of all those rows, which stay where they are.
    #[getter]
    fn values(&self) -> PyResult<Kept> {
        Ok(Kept(rows(&self.0)?.1))
    }

    /// A tensor of torch over the same memory; of rows of any length a jagged tensor.
    fn to_torch<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        KEPT_TO_TORCH.get(slf.py())?.call1((slf,))
    }

    /// The kind and number of the device that the elements are on.
    fn __dlpack_device__(&self) -> (i32, i32) {
        let device = self
            .0
            .columns
            .iter()
            .find_map(|c| if let Column::Data(a) = c { cuda::device_of(a) } else { None });
        device.map_or((dlpack::PROCESSOR, 0), |number| (dlpack::CUDA, number as i32))
    }

    /// A capsule with the elements, for other libraries: their `from_dlpack` asks for it. `dl_device`: where it wants them; `copy`: whether it wants a copy. What
    /// it says besides (its stream, its version of DLPack) makes no difference: all work on the elements is done, and the first version is given.
    #[pyo3(signature = (*, dl_device = None, copy = None, **_others))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
        _others: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let here = self.__dlpack_device__();
        let wanted = dl_device.unwrap_or(here);
        if wanted.0 == dlpack::PROCESSOR {
            if copy == Some(false) {
                return Err(PyBufferError::new_err("it would be copied"));
            }
            return self.get(py)?.call_method0("__dlpack__");
        }
        if wanted != here {
            return Err(PyBufferError::new_err(
                "it is on another device; get() copies it to the processor's memory",
            ));
        }
        let shape = sizes(&self.0);
        match self.0.columns.split_at(shape.len()) {
            (_, [Column::Data(array)]) => dlpack::give(py, array, &shape, copy),
            _ => {
                let message = "is not one array; `offsets` and `values` are those of its rows";
                Err(PyBufferError::new_err(format!("a value of type {} {message}", self.0.ty)))
            }
        }
    }

    fn __repr__(&self) -> String {
        let place = if self.0.is_on_device() { " on a GPU" } else { "" };
        format!("<kept value of type {}{place}>", self.0.ty)
    }
}

/// Sizes of the first dimensions.
fn sizes(value: &Value) -> Vec<i64> {
    let size = |c: &Column| if let Column::Size(n) = c { Some(*n) } else { None };
    value.columns.iter().map_while(size).collect()
}

/// The offsets of the outermost dimension with lengths of its own, and the array of all its elements.
fn rows(value: &Value) -> PyResult<(Array, Value)> {
    let mut ty = &value.ty;
    for (i, column) in value.columns.iter().enumerate() {
        match (ty, column) {
            (ValueType::Array { elem, .. }, Column::Size(_)) => ty = elem,
            (ValueType::Array { elem, .. }, Column::Offsets(offsets)) => {
                let total = *offsets.slice::<i64>().last().unwrap_or(&0);
                let columns =
                    std::iter::once(Column::Size(total)).chain(value.columns[i + 1..].iter().cloned());
                let inside = Value { ty: ValueType::array((**elem).clone()), columns: columns.collect() };
                return Ok((offsets.clone(), inside));
            }
            _ => break,
        }
    }
    Err(PyAttributeError::new_err(format!("a value of type {} has no rows of any length", value.ty)))
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
