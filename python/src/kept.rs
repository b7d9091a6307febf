//! Values that stay where a program has them: on a GPU, if that is what it runs on.

use crate::array::over;
use crate::dlpack;
use crate::give::{Giver, scalar};
use crate::python::KEPT_TO_TORCH;
use par::Value;
use par_runtime::{Array, Column, ValueType, cuda};
use pyo3::exceptions::{PyAttributeError, PyBufferError};
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

    /// A capsule with the elements, for other libraries: their `from_dlpack` asks for it. They are not copied, unless other values share them.
    #[pyo3(signature = (*, stream = None, max_version = None, dl_device = None, copy = None))]
    #[allow(unused_variables)] // All work of the GPU on the elements is done, and what is given may be written.
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<Bound<'py, PyAny>>,
        max_version: Option<Bound<'py, PyAny>>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let here = self.__dlpack_device__();
        if here.0 == dlpack::PROCESSOR {
            return self.get(py)?.call_method0("__dlpack__");
        }
        if dl_device.is_some_and(|wanted| wanted != here) {
            return Err(PyBufferError::new_err(
                "it is on another device; get() copies it to the processor's memory",
            ));
        }
        let (ValueType::Array { .. }, [.., Column::Data(array)]) = (&self.0.ty, self.0.columns.as_slice())
        else {
            return Err(no_form(&self.0.ty));
        };
        let shape = sizes(&self.0);
        if shape.len() + 1 != self.0.columns.len() {
            return Err(no_form(&self.0.ty));
        }
        dlpack::give(py, array, &shape)
    }

    fn __repr__(&self) -> String {
        let place = if self.0.is_on_device() { " on a GPU" } else { "" };
        format!("<kept value of type {}{place}>", self.0.ty)
    }
}

fn no_form(ty: &ValueType) -> PyErr {
    PyBufferError::new_err(format!(
        "a value of type {ty} is not one array; `offsets` and `values` are those of its rows"
    ))
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
