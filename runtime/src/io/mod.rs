//! Values as text, as bytes and compared: what stands between files and the columns of a [`Value`].
//!
//! - [`text`]: the language's own notation, read against expected types or freely, and printed.
//! - [`binary`]: Futhark's binary format; [`npy`]: NumPy's array files. Both hold regular arrays only and go through
//!   [`regular`].
//! - [`stream`]: arrays read without holding their file in memory.
//! - [`compare`]: equality of values whatever their representation, with a tolerance for floats.
//! - [`view`]: a value's columns as a tree, which printing and comparing walk.

pub mod binary;
pub mod compare;
pub mod npy;
pub mod regular;
pub mod stream;
pub mod text;
pub mod view;

use crate::{Value, ValueType};
use std::ops::Range;

/// Why a value could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError {
    /// One line, no full stop.
    pub message: String,
    /// Bytes of the input that are wrong.
    pub range: Range<usize>,
    /// Index of the value that was being read among those asked for, from 0.
    pub index: usize,
}

impl InputError {
    /// An error at a place; the reader of several values fills in the index.
    pub fn new(message: impl Into<String>, range: Range<usize>) -> InputError {
        InputError { message: message.into(), range, index: 0 }
    }
}

impl std::fmt::Display for InputError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}
impl std::error::Error for InputError {}

/// Reads values of the first types from a file's bytes, whatever its format: `.npy` (one value), Futhark's binary format,
/// or text. More values than types are an error, fewer are not.
pub fn read_some(bytes: &[u8], types: &[ValueType]) -> Result<Vec<Value>, InputError> {
    if npy::is_npy(bytes) {
        let Some(ty) = types.first() else {
            return Err(InputError::new("expected no value, but there is one", 0..bytes.len()));
        };
        return Ok(vec![npy::read_value(bytes, ty)?]);
    }
    if binary::is_binary(bytes) {
        return binary::read_some(bytes, types);
    }
    let text = std::str::from_utf8(bytes).map_err(|e| {
        let at = e.valid_up_to();
        InputError::new("the input is neither UTF-8 text nor a binary format that is known", at..at + 1)
    })?;
    text::read_some(text, types)
}

/// The types a result is printed as: the components of a top-level tuple, or the type itself.
pub fn component_types(ty: &ValueType) -> Vec<ValueType> {
    match ty {
        ValueType::Tuple(ts) => ts.clone(),
        other => vec![other.clone()],
    }
}

/// The values a result is printed as: the components of a top-level tuple, or the value itself.
pub fn components(value: Value) -> Vec<Value> {
    let types = match &value.ty {
        ValueType::Tuple(types) => types.clone(),
        _ => return vec![value],
    };
    let mut columns = value.columns.into_iter();
    types
        .into_iter()
        .map(|ty| {
            let columns = columns.by_ref().take(ty.columns().len()).collect();
            Value { ty, columns }
        })
        .collect()
}

/// The tuple of some values.
pub fn tuple(values: Vec<Value>) -> Value {
    let ty = ValueType::Tuple(values.iter().map(|v| v.ty.clone()).collect());
    Value { ty, columns: values.into_iter().flat_map(|v| v.columns).collect() }
}
