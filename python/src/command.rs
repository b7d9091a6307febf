//! The command `par`, inside the extension module.

use pyo3::prelude::*;
use std::ffi::OsString;
use std::path::PathBuf;

/// Does what the command line says: the exit status. `file` is what starts the command again.
#[pyfunction]
pub fn command(py: Python<'_>, arguments: Vec<OsString>, file: PathBuf) -> u8 {
    py.detach(|| par_cli::main(arguments, Some(file)) as u8)
}
