//! Futhark's binary format: values one after the other, each
//!
//! ```text
//! 'b'  version (2)  rank (u8)  type (4 characters: " i32", "  u8", "bool" …)  sizes (rank times 8 bytes)  elements
//! ```
//!
//! all little endian, with white space allowed before each value. Ragged values and arrays of tuples have no binary form.

use super::regular::{Regular, element_count};
use super::{InputError, component_types};
use crate::{Prim, Value, ValueType};

const VERSION: u8 = 2;

/// Whether the bytes begin like a binary value.
pub fn is_binary(bytes: &[u8]) -> bool {
    let rest = &bytes[skip_space(bytes, 0)..];
    rest.starts_with(&[b'b', VERSION])
}

fn skip_space(bytes: &[u8], from: usize) -> usize {
    let space = bytes[from..].iter().take_while(|b| b.is_ascii_whitespace()).count();
    from + space
}

/// Reads values of the first types until the bytes end; more values than types are an error. A tuple's
/// components are values of their own.
pub fn read_some(bytes: &[u8], types: &[ValueType]) -> Result<Vec<Value>, InputError> {
    let mut pos = skip_space(bytes, 0);
    let mut values = Vec::new();
    for (index, ty) in types.iter().enumerate() {
        if pos == bytes.len() {
            return Ok(values);
        }
        let mut columns = Vec::new();
        for component in component_types(ty) {
            let value = read_value(bytes, &mut pos, &component).map_err(|e| InputError { index, ..e })?;
            columns.extend(value.columns);
        }
        values.push(Value { ty: ty.clone(), columns });
    }
    if pos == bytes.len() {
        return Ok(values);
    }
    let plural = if types.len() == 1 { "" } else { "s" };
    let message = format!("expected {} value{plural}, but the input goes on", types.len());
    Err(InputError { message, range: pos..bytes.len(), index: types.len() })
}

fn read_value(bytes: &[u8], pos: &mut usize, ty: &ValueType) -> Result<Value, InputError> {
    let start = *pos;
    let regular = read_regular(bytes, pos)?;
    let value = regular.into_value(ty).map_err(|message| InputError::new(message, start..*pos))?;
    *pos = skip_space(bytes, *pos);
    Ok(value)
}

/// Reads the value at `pos` and moves behind it.
pub fn read_regular(bytes: &[u8], pos: &mut usize) -> Result<Regular, InputError> {
    let start = *pos;
    let error = |message: String| InputError::new(message, start..bytes.len());
    let header = bytes.get(start..start + 7).ok_or_else(|| error("a binary value is cut off".into()))?;
    if header[0] != b'b' {
        return Err(error("expected a binary value".into()));
    }
    if header[1] != VERSION {
        return Err(error(format!("binary format version {} is unknown; {VERSION} is known", header[1])));
    }
    let rank = header[2] as usize;
    let prim = prim_of(&header[3..7])
        .ok_or_else(|| error(format!("`{}` is not a type of binary values", header[3..7].escape_ascii())))?;
    *pos += 7;
    let mut take = |len: Option<usize>| {
        let found = len.and_then(|len| bytes.get(*pos..pos.checked_add(len)?));
        *pos += found.map_or(0, <[u8]>::len);
        found.ok_or_else(|| error(format!("a binary value is cut off after {} bytes", bytes.len() - start)))
    };
    let sizes = take(Some(rank * 8))?;
    let dims: Vec<i64> =
        sizes.chunks_exact(8).map(|b| i64::from_le_bytes(b.try_into().unwrap_or_default())).collect();
    let count = element_count(&dims).ok_or_else(|| error("a binary value with sizes out of range".into()))?;
    let data = take(count.checked_mul(prim.size()))?;
    Ok(Regular::from_bytes(prim, dims, data))
}

fn prim_of(name: &[u8]) -> Option<Prim> {
    Prim::from_name(std::str::from_utf8(name).ok()?.trim_matches(' '))
}

/// Appends a value; a tuple as its components. The error names what has no binary form.
pub fn write_value(value: &Value, out: &mut Vec<u8>) -> Result<(), String> {
    for regular in Regular::from_value(value)? {
        let prim = regular.data.prim();
        let rank = u8::try_from(regular.dims.len()).map_err(|_| "too many dimensions")?;
        out.extend_from_slice(&[b'b', VERSION, rank]);
        out.extend_from_slice(format!("{:>4}", prim.name()).as_bytes());
        regular.dims.iter().for_each(|d| out.extend_from_slice(&d.to_le_bytes()));
        out.extend_from_slice(regular.data.bytes());
    }
    Ok(())
}
