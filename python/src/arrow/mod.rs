//! Arrow's PyCapsule protocol: arrays of other libraries as arrays of NumPy and `Ragged` over the same memory, and back.
//!
//! - `abi`: the C data interface.
//! - `import`, `export`: what the two directions are.

mod abi;
mod export;
mod import;

use pyo3::prelude::*;

/// The functions of the extension module.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<import::Imported>()?;
    module.add_function(wrap_pyfunction!(import::arrow_import, module)?)?;
    module.add_function(wrap_pyfunction!(export::arrow_export, module)?)
}
