//! Files of values one after the other: Par's notation and Futhark's binary format.

use crate::DataError;
use crate::source::Source;
use par_runtime::io::{self, binary};
use par_runtime::{Array, Prim, Value, ValueType};

/// Values of the first of the types, as many as there are; more values than types are an error.
pub fn read(bytes: &[u8], types: &[ValueType]) -> Result<Vec<Value>, DataError> {
    let describe = |e| DataError::in_text(bytes, &e);
    let text = std::str::from_utf8(bytes).map_err(|e| {
        let at = e.valid_up_to();
        let message = "the input is neither UTF-8 text nor a binary format that is known";
        describe(io::InputError::new(message, at..at + 1))
    })?;
    io::text::read_some(text, types).map_err(describe)
}

/// As [`read`], in binary form.
pub fn read_binary(source: &mut Source, types: &[ValueType]) -> Result<Vec<Value>, DataError> {
    source.rewind()?;
    let length = usize::try_from(source.len()).map_err(|_| "the file is too large")?;
    binary::read_some_from(source, length, types).map_err(|e| DataError::at_byte(&e))
}

/// The bytes of a file as they are.
pub fn raw(bytes: &[u8], ty: &ValueType) -> Result<Value, DataError> {
    raw_of(Array::from_slice(bytes), ty)
}

/// The same of bytes that are an array.
pub fn raw_of(bytes: Array, ty: &ValueType) -> Result<Value, DataError> {
    if !is_bytes(ty) {
        return Err(DataError::new(format!("raw bytes have type []u8, but {ty} is expected")));
    }
    Ok(Value { ty: ty.clone(), ..Value::vector(bytes) })
}

/// True if a value of that type may be the bytes of a file.
pub fn is_bytes(ty: &ValueType) -> bool {
    matches!(ty, ValueType::Array { elem, .. } if **elem == ValueType::Prim(Prim::U8))
}
