//! Type errors of arguments: the reason an object does not fit a type.

use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use par::embed::Mismatch;
use par_runtime::ValueType;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// Reason that an argument is not taken.
pub enum Refusal {
    /// In words.
    Because(String),
    /// An exception of Python that came in between.
    Raised(PyErr),
}

impl Refusal {
    pub fn new(why: impl Into<String>) -> Refusal {
        Refusal::Because(why.into())
    }

    /// The same, inside something.
    pub fn inside(self, place: &str) -> Refusal {
        match self {
            Refusal::Because(why) => Refusal::Because(format!("{place}: {why}")),
            raised @ Refusal::Raised(_) => raised,
        }
    }

    /// The exception that names the parameter, what is expected and what was found.
    pub fn exception(self, py: Python<'_>, parameter: &str, entry: &str, ty: &ValueType) -> PyErr {
        let place = format!("{entry}(): the argument '{parameter}' must be {ty}");
        match self {
            Refusal::Because(why) => PyTypeError::new_err(format!("{place}: {why}")),
            Refusal::Raised(error) if error.is_instance_of::<PyTypeError>(py) => {
                let why = error.value(py).to_string();
                let named = PyTypeError::new_err(format!("{place}: {why}"));
                named.set_cause(py, error.cause(py));
                named
            }
            Refusal::Raised(error) => error,
        }
    }
}

impl From<PyErr> for Refusal {
    fn from(error: PyErr) -> Refusal {
        Refusal::Raised(error)
    }
}

impl From<Mismatch> for Refusal {
    fn from(mismatch: Mismatch) -> Refusal {
        Refusal::new(mismatch.to_string())
    }
}

/// Words for what was found.
pub fn found(object: &Bound<'_, PyAny>) -> String {
    if let Ok(array) = object.cast::<PyUntypedArray>() {
        let shape: Vec<String> = array.shape().iter().map(usize::to_string).collect();
        return format!("found an array of {} of shape ({})", array.dtype(), shape.join(", "));
    }
    let class = object.get_type();
    let name = class.fully_qualified_name().map_or_else(|_| "an unknown class".into(), |n| n.to_string());
    format!("found a value of type {name}")
}
