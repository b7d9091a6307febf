//! NumPy's `.npy` files, versions 1 to 3: little endian, C order, one regular array each.
//!
//! ```text
//! \x93NUMPY  major  minor  header length (u16, from version 2 on u32)  header  elements
//! {'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }
//! ```

use super::InputError;
use super::regular::{Regular, element_count};
use crate::{Prim, Value, ValueType};

const MAGIC: &[u8] = b"\x93NUMPY";

/// Whether the bytes begin like a `.npy` file.
pub fn is_npy(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Reads the array as a value of type `ty`.
pub fn read_value(bytes: &[u8], ty: &ValueType) -> Result<Value, InputError> {
    let whole = 0..bytes.len();
    let regular = read_regular(bytes).map_err(|message| InputError::new(message, whole.clone()))?;
    regular.into_value(ty).map_err(|message| InputError::new(message, whole))
}

/// Reads the array of a file.
pub fn read_regular(bytes: &[u8]) -> Result<Regular, String> {
    let cut = || "the .npy file is cut off".to_string();
    if !is_npy(bytes) {
        return Err("this is not a .npy file".into());
    }
    let (header_len, start) = match bytes.get(6).ok_or_else(cut)? {
        1 => (le(bytes.get(8..10).ok_or_else(cut)?), 10),
        2 | 3 => (le(bytes.get(8..12).ok_or_else(cut)?), 12),
        v => return Err(format!(".npy version {v} is unknown")),
    };
    let header = bytes.get(start..start + header_len).ok_or_else(cut)?;
    let header = std::str::from_utf8(header).map_err(|_| "the .npy header is not text")?;
    let (prim, dims) = parse_header(header)?;
    let data = &bytes[start + header_len..];
    let count = element_count(&dims).ok_or("the .npy file's shape is out of range")?;
    match count.checked_mul(prim.size()) {
        Some(len) if len == data.len() => Ok(Regular::from_bytes(prim, dims, data)),
        _ => Err(format!(
            "the .npy file holds {} bytes of data, which does not fit {}{prim}",
            data.len(),
            dims.iter().map(|d| format!("[{d}]")).collect::<String>()
        )),
    }
}

fn le(bytes: &[u8]) -> usize {
    bytes.iter().rev().fold(0, |n, b| n << 8 | *b as usize)
}

fn parse_header(header: &str) -> Result<(Prim, Vec<i64>), String> {
    let descr = entry(header, "descr")?;
    let quote = descr.chars().next().filter(|c| matches!(c, '\'' | '"'));
    let name = quote.and_then(|q| descr[1..].split(q).next());
    let name = name.ok_or("the .npy file holds records, which are not supported")?;
    let prim = prim_of(name)?;
    let dims = parse_shape(entry(header, "shape")?)?;
    if dims.len() > 1 && entry(header, "fortran_order")?.starts_with("True") {
        return Err("the .npy file is in Fortran order; save it in C order".into());
    }
    Ok((prim, dims))
}

/// What follows a key.
fn entry<'a>(header: &'a str, key: &str) -> Result<&'a str, String> {
    let found = ['\'', '"'].into_iter().find_map(|q| header.split_once(&format!("{q}{key}{q}")));
    let value = found.and_then(|(_, rest)| rest.trim_start().strip_prefix(':'));
    value.map(str::trim_start).ok_or_else(|| format!("the .npy header has no `{key}`"))
}

fn parse_shape(text: &str) -> Result<Vec<i64>, String> {
    let inside = text.strip_prefix('(').and_then(|t| t.split_once(')')).map(|(inside, _)| inside);
    let numbers = inside.ok_or("the .npy file's shape is malformed")?.split(',').map(str::trim);
    let numbers = numbers.filter(|n| !n.is_empty());
    numbers.map(|n| n.parse().map_err(|_| format!("the .npy file's shape has the size `{n}`"))).collect()
}

fn prim_of(name: &str) -> Result<Prim, String> {
    if name.starts_with('>') && !name.ends_with('1') {
        return Err(format!("the .npy file is big endian (`{name}`); save it as little endian"));
    }
    Ok(match name.trim_start_matches(['<', '|', '=', '>']) {
        "b1" | "?" => Prim::Bool,
        "i1" => Prim::I8,
        "i2" => Prim::I16,
        "i4" => Prim::I32,
        "i8" => Prim::I64,
        "u1" => Prim::U8,
        "u2" => Prim::U16,
        "u4" => Prim::U32,
        "u8" => Prim::U64,
        "f2" => Prim::F16,
        "f4" => Prim::F32,
        "f8" => Prim::F64,
        _ => return Err(format!("the .npy file's element type `{name}` is not supported")),
    })
}

fn name_of(prim: Prim) -> &'static str {
    match prim {
        Prim::Bool => "|b1",
        Prim::I8 => "|i1",
        Prim::I16 => "<i2",
        Prim::I32 => "<i4",
        Prim::I64 => "<i8",
        Prim::U8 => "|u1",
        Prim::U16 => "<u2",
        Prim::U32 => "<u4",
        Prim::U64 => "<u8",
        Prim::F16 => "<f2",
        Prim::F32 => "<f4",
        Prim::F64 => "<f8",
    }
}

/// The bytes of a file that holds a regular array or a scalar.
pub fn write_value(value: &Value) -> Result<Vec<u8>, String> {
    let mut regulars = Regular::from_value(value)?;
    let (Some(regular), None) = (regulars.pop(), regulars.pop()) else {
        return Err("a .npy file holds one array, and this result has several".into());
    };
    let shape: String = regular.dims.iter().map(|d| format!("{d}, ")).collect();
    let descr = name_of(regular.data.prim());
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
    // The data starts at a multiple of 64.
    header.push_str(&" ".repeat(63 - (header.len() + 10) % 64));
    header.push('\n');
    let mut out = [MAGIC, &[1, 0]].concat();
    out.extend_from_slice(&(header.len() as u16).to_le_bytes());
    out.extend_from_slice(header.as_bytes());
    out.extend_from_slice(regular.data.bytes());
    Ok(out)
}
