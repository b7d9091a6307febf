//! Stand-in for NumPy's archives where Par itself runs as WebAssembly: there are no files.

use crate::DataError;
use crate::source::Source;
use crate::tree::Tree;
use par_runtime::ValueType;
use std::io::{Seek, Write};

fn unavailable<T>() -> Result<T, DataError> {
    Err("archives are neither read nor written here".into())
}

/// Fails.
pub fn names(_: &mut Source) -> Result<Vec<String>, DataError> {
    unavailable()
}

/// Fails.
pub fn read(_: &mut Source, _: Option<&str>, _: &ValueType) -> Result<Tree, DataError> {
    unavailable()
}

/// Fails.
pub fn write<W: Write + Seek>(_: &Tree, _: W) -> Result<(), DataError> {
    unavailable()
}
