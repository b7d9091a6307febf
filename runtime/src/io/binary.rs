//! Futhark's binary format: values one after the other, each
//!
//! ```text
//! 'b'  version (2)  rank (u8)  type (4 characters: " i32", "  u8", "bool" …)  sizes (rank times 8 bytes)  elements
//! ```
//!
//! all little endian, with white space allowed before each value. Ragged values and arrays of tuples have no binary form.

use super::regular::{Regular, element_count};
use super::stream::read_array;
use super::{InputError, component_types};
use crate::{Prim, Value, ValueType};
use std::io::{ErrorKind, Read};

const VERSION: u8 = 2;
/// Bytes up to the sizes.
const HEADER: usize = 7;

/// True if the bytes begin like a binary value.
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
    read_some_from(&mut &bytes[..], bytes.len(), types)
}

/// As [`read_some`], from a stream of `length` bytes; elements are read to where they are kept.
pub fn read_some_from(
    reader: &mut dyn Read,
    length: usize,
    types: &[ValueType],
) -> Result<Vec<Value>, InputError> {
    let mut stream = Stream { reader, at: 0, length, next: None };
    stream.skip_space()?;
    let mut values = Vec::new();
    for (index, ty) in types.iter().enumerate() {
        if stream.at == length {
            return Ok(values);
        }
        let mut columns = Vec::new();
        for component in component_types(ty) {
            let value = stream.value(&component).map_err(|e| InputError { index, ..e })?;
            columns.extend(value.columns);
        }
        values.push(Value { ty: ty.clone(), columns });
    }
    if stream.at == length {
        return Ok(values);
    }
    let plural = if types.len() == 1 { "" } else { "s" };
    let message = format!("expected {} value{plural}, but the input goes on", types.len());
    Err(InputError { message, range: stream.at..length, index: types.len() })
}

/// A stream of so many bytes, and how many of them were taken.
struct Stream<'r> {
    reader: &'r mut dyn Read,
    at: usize,
    length: usize,
    /// Read, but not taken.
    next: Option<u8>,
}

impl Stream<'_> {
    fn skip_space(&mut self) -> Result<(), InputError> {
        while self.at < self.length {
            let byte = match self.next {
                Some(byte) => byte,
                None => {
                    let mut byte = [0];
                    self.fill(&mut byte, self.at)?;
                    byte[0]
                }
            };
            if !byte.is_ascii_whitespace() {
                self.next = Some(byte);
                return Ok(());
            }
            self.next = None;
            self.at += 1;
        }
        Ok(())
    }

    /// Reads without taking.
    fn fill(&mut self, buffer: &mut [u8], start: usize) -> Result<(), InputError> {
        let end = self.at;
        self.reader.read_exact(buffer).map_err(|e| {
            let message = match e.kind() {
                ErrorKind::UnexpectedEof => "a binary value is cut off".to_string(),
                _ => format!("cannot read: {e}"),
            };
            InputError::new(message, start..end)
        })
    }

    /// The next bytes, of the value that began at `start`.
    fn take(&mut self, buffer: &mut [u8], start: usize) -> Result<(), InputError> {
        let mut rest = &mut buffer[..];
        if !rest.is_empty()
            && let Some(byte) = self.next.take()
        {
            rest[0] = byte;
            rest = &mut rest[1..];
        }
        self.fill(rest, start)?;
        self.at += buffer.len();
        Ok(())
    }

    /// An error if fewer bytes are left.
    fn expect(&self, count: Option<usize>, start: usize) -> Result<usize, InputError> {
        let left = self.length - self.at;
        count.filter(|count| *count <= left).ok_or_else(|| {
            let message = format!("a binary value is cut off after {} bytes", self.length - start);
            InputError::new(message, start..self.length)
        })
    }

    fn value(&mut self, ty: &ValueType) -> Result<Value, InputError> {
        let start = self.at;
        let regular = self.regular()?;
        let value = regular.into_value(ty).map_err(|message| InputError::new(message, start..self.at))?;
        self.skip_space()?;
        Ok(value)
    }

    fn regular(&mut self) -> Result<Regular, InputError> {
        let (start, length) = (self.at, self.length);
        let error = |message: String| InputError::new(message, start..length);
        if length - start < HEADER {
            return Err(error("a binary value is cut off".into()));
        }
        let mut header = [0; HEADER];
        self.take(&mut header, start)?;
        if header[0] != b'b' {
            return Err(error("expected a binary value".into()));
        }
        if header[1] != VERSION {
            return Err(error(format!("binary format version {} is unknown; {VERSION} is known", header[1])));
        }
        let prim = prim_of(&header[3..]).ok_or_else(|| {
            error(format!("`{}` is not a type of binary values", header[3..].escape_ascii()))
        })?;
        let mut sizes = vec![0; self.expect(Some(header[2] as usize * 8), start)?];
        self.take(&mut sizes, start)?;
        let dims: Vec<i64> =
            sizes.chunks_exact(8).map(|b| i64::from_le_bytes(b.try_into().unwrap_or_default())).collect();
        let count =
            element_count(&dims).ok_or_else(|| error("a binary value with sizes out of range".into()))?;
        let size = self.expect(count.checked_mul(prim.size()), start)?;
        let data = read_array(prim, count, self.reader, Some(size as u64)).map_err(error)?;
        self.at += size;
        Ok(Regular { dims, data })
    }
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
