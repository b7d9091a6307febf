//! Par in Python: the part of the package `par_array` that is written in Rust.
//!
//! - `compile`: programs. `entry`: their entry points, as callables.
//! - `take`: objects of Python as values, without copies where that can be. `give`: values as objects.
//! - `array`: arrays of NumPy and of Par that share memory. `arrow`: those of other libraries.
//! - `kept`: values that stay on a GPU. `dlpack`: arrays that other libraries have there.
//! - `picture`: plots, and arrays that are pictures.
//! - `interrupt`: calls without the interpreter's lock, which Ctrl-C stops.
//! - `error`: exceptions.
//! - `python`: what the rest of the package, written in Python, does for this one.
//! - `command`: the command `par`.

mod array;
mod arrow;
mod command;
mod compile;
mod dlpack;
mod entry;
mod error;
mod give;
mod interrupt;
mod kept;
mod picture;
mod python;
mod take;

use pyo3::prelude::*;

/// The extension module.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<compile::Program>()?;
    module.add_class::<entry::Entry>()?;
    module.add_class::<array::Memory>()?;
    module.add_class::<give::Hidden>()?;
    module.add_class::<kept::Kept>()?;
    arrow::add_to(module)?;
    module.add_function(wrap_pyfunction!(compile::compile, module)?)?;
    module.add_function(wrap_pyfunction!(command::command, module)?)
}
