//! NumPy's `.npy` files, versions 1 to 3: one regular array each. Either byte order and either order of the elements is
//! read; written is little endian in C order.
//!
//! ```text
//! \x93NUMPY  major  minor  header length (u16, from version 2 on u32)  header  elements
//! {'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }
//! ```

use super::InputError;
use super::regular::{Regular, element_count};
use super::stream::read_array;
use crate::{Prim, Value, ValueType};
use std::io::{ErrorKind, Read};

const MAGIC: &[u8] = b"\x93NUMPY";
/// The longest header that is read; NumPy's have some 120 bytes.
const MAX_HEADER: usize = 1 << 20;

/// True if the bytes begin like a `.npy` file.
pub fn is_npy(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Reads the array as a value of type `ty`.
pub fn read_value(bytes: &[u8], ty: &ValueType) -> Result<Value, InputError> {
    let whole = 0..bytes.len();
    let regular = read_regular(bytes).map_err(|message| InputError::new(message, whole.clone()))?;
    regular.into_value(ty).map_err(|message| InputError::new(message, whole))
}

/// Reads the array of a file that is nothing else.
pub fn read_regular(bytes: &[u8]) -> Result<Regular, String> {
    let mut rest = bytes;
    let regular = read_from(&mut rest, Some(bytes.len() as u64))?;
    match rest.len() {
        0 => Ok(regular),
        n => Err(format!("the .npy file goes on for {n} bytes after its array {}", regular.type_name())),
    }
}

/// Reads an array from a stream that has `known` bytes left, if that is known, and leaves the stream behind it.
pub fn read_from(reader: &mut dyn Read, known: Option<u64>) -> Result<Regular, String> {
    let (header, length) = read_header(reader)?;
    header.read_data(reader, known.map(|n| n.saturating_sub(length)))
}

/// Rows of the array in a file of so many bytes, and where they are; none if they do not stand one after the other.
pub fn rows(reader: &mut dyn Read, length: u64) -> Result<Option<Rows>, String> {
    let (header, start) = read_header(reader)?;
    let Header { prim, dims, .. } = &header;
    let (Some((rows, _)), false) = (dims.split_first(), header.fortran) else { return Ok(None) };
    let Some(count) = element_count(dims) else { return Ok(None) };
    // Others are read, and refused, as a whole.
    if *rows == 0 || (count as u64).checked_mul(prim.size() as u64) != length.checked_sub(start) {
        return Ok(None);
    }
    Ok(Some(Rows { start, header }))
}

/// The rows of an array in a file.
pub struct Rows {
    start: u64,
    header: Header,
}

impl Rows {
    /// Number of rows.
    pub fn count(&self) -> usize {
        self.header.dims[0] as usize
    }

    /// Place of a row's first byte.
    pub fn place(&self, row: usize) -> u64 {
        let elements = element_count(&self.header.dims).unwrap_or(0) / self.count();
        self.start + (row * elements * self.header.prim.size()) as u64
    }

    /// Reads so many rows from a stream that is at the first of them.
    pub fn read(mut self, count: usize, reader: &mut dyn Read) -> Result<Regular, String> {
        self.header.dims[0] = count as i64;
        // The file is as long as it must be.
        self.header.read_data(reader, Some(u64::MAX))
    }
}

/// The header, and the number of bytes up to its end.
fn read_header(reader: &mut dyn Read) -> Result<(Header, u64), String> {
    let mut start = [0; 8];
    exactly(reader, &mut start)?;
    if !is_npy(&start) {
        return Err("this is not a .npy file".into());
    }
    let mut length = vec![0; if start[6] == 1 { 2 } else { 4 }];
    if !(1..=3).contains(&start[6]) {
        return Err(format!(".npy version {} is unknown", start[6]));
    }
    exactly(reader, &mut length)?;
    let header_length = le(&length);
    if header_length > MAX_HEADER {
        return Err(format!("the .npy file's header of {header_length} bytes is too long"));
    }
    let mut header = vec![0; header_length];
    exactly(reader, &mut header)?;
    let header = std::str::from_utf8(&header).map_err(|_| "the .npy header is not text")?;
    Ok((Header::parse(header)?, (8 + length.len() + header_length) as u64))
}

fn exactly(reader: &mut dyn Read, bytes: &mut [u8]) -> Result<(), String> {
    reader.read_exact(bytes).map_err(|e| match e.kind() {
        ErrorKind::UnexpectedEof => "the .npy file is cut off".to_string(),
        _ => format!("cannot read: {e}"),
    })
}

/// Header of a file: type and shape of its array.
struct Header {
    prim: Prim,
    dims: Vec<i64>,
    /// The first index runs fastest.
    fortran: bool,
    /// The most significant byte of a number comes first.
    big_endian: bool,
}

impl Header {
    fn parse(header: &str) -> Result<Header, String> {
        let descr = entry(header, "descr")?;
        let quote = descr.chars().next().filter(|c| matches!(c, '\'' | '"'));
        let name = quote.and_then(|q| descr[1..].split(q).next());
        let name = name.ok_or("the .npy file holds records, which are not supported")?;
        let dims = parse_shape(entry(header, "shape")?)?;
        let fortran = dims.len() > 1 && entry(header, "fortran_order")?.starts_with("True");
        Ok(Header { prim: prim_of(name)?, dims, fortran, big_endian: name.starts_with('>') })
    }

    fn read_data(self, reader: &mut dyn Read, left: Option<u64>) -> Result<Regular, String> {
        let Header { prim, mut dims, fortran, big_endian } = self;
        let count = element_count(&dims).ok_or("the .npy file's shape is out of range")?;
        let mut data = read_array(prim, count, reader, left).map_err(|message| {
            let dims: String = dims.iter().map(|d| format!("[{d}]")).collect();
            format!("the .npy file's array {dims}{prim}: {message}")
        })?;
        if big_endian && prim.size() > 1 {
            data.bytes_mut().chunks_exact_mut(prim.size()).for_each(<[u8]>::reverse);
        }
        if !fortran {
            return Ok(Regular { dims, data });
        }
        dims.reverse();
        Ok(Regular { dims, data }.transposed())
    }
}

fn le(bytes: &[u8]) -> usize {
    bytes.iter().rev().fold(0, |n, b| n << 8 | *b as usize)
}

/// Text after a key.
fn entry<'a>(header: &'a str, key: &str) -> Result<&'a str, String> {
    let found = ['\'', '"'].into_iter().find_map(|q| header.split_once(&format!("{q}{key}{q}")));
    let value = found.and_then(|(_, rest)| rest.trim_start().strip_prefix(':'));
    value.map(str::trim_start).ok_or_else(|| format!("the .npy header has no `{key}`"))
}

/// The beginning of what a file says, on one line.
fn shown(text: &str) -> String {
    const MOST: usize = 40;
    let dots = if text.chars().nth(MOST).is_some() { "…" } else { "" };
    let start: String = text.chars().take(MOST).flat_map(char::escape_debug).collect();
    start.replace("\\'", "'") + dots
}

fn parse_shape(text: &str) -> Result<Vec<i64>, String> {
    let inside = text.strip_prefix('(').and_then(|t| t.split_once(')')).map(|(inside, _)| inside);
    let numbers = inside.ok_or("the .npy file's shape is malformed")?.split(',').map(str::trim);
    let numbers = numbers.filter(|n| !n.is_empty());
    let wrong = |n: &str| format!("the .npy file's shape has the size `{}`", shown(n));
    numbers.map(|n| n.parse().map_err(|_| wrong(n))).collect()
}

fn prim_of(name: &str) -> Result<Prim, String> {
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
        _ => return Err(format!("the .npy file's element type `{}` is not supported", shown(name))),
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
    let mut out = header(regular.data.prim(), &regular.dims);
    out.extend_from_slice(regular.data.bytes());
    Ok(out)
}

/// Bytes of a file before the elements of an array.
pub fn header(prim: Prim, dims: &[i64]) -> Vec<u8> {
    let shape: String = dims.iter().map(|d| format!("{d}, ")).collect();
    let mut header =
        format!("{{'descr': '{}', 'fortran_order': False, 'shape': ({shape}), }}", name_of(prim));
    // The data starts at a multiple of 64.
    header.push_str(&" ".repeat(63 - (header.len() + 10) % 64));
    header.push('\n');
    let mut out = [MAGIC, &[1, 0]].concat();
    out.extend_from_slice(&(header.len() as u16).to_le_bytes());
    out.extend_from_slice(header.as_bytes());
    out
}
