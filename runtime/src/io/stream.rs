//! Arrays straight from a stream of bytes.

use crate::{Array, Prim};
use std::io::{ErrorKind, Read};

/// Bytes that are asked for at once where nobody knows how many there are.
const STEP: usize = 16 << 20;

/// Reads an array of `count` elements, little endian. `known`: how many bytes the stream has left, if that is known; an array
/// that would need more is refused, and otherwise memory is taken as the bytes come, so that a wrong count costs nothing.
pub fn read_array(
    prim: Prim,
    count: usize,
    reader: &mut dyn Read,
    known: Option<u64>,
) -> Result<Array, String> {
    let cut = || "the data is cut off".to_string();
    let need = count.checked_mul(prim.size()).ok_or("the array is too large")?;
    let mut array = match known {
        Some(known) if need as u64 > known => return Err(cut()),
        Some(_) => read_step(prim, count, reader)?,
        None => read_steps(prim, count, reader)?,
    };
    if prim == Prim::Bool {
        array.bytes_mut().iter_mut().for_each(|b| *b = (*b != 0) as u8);
    }
    Ok(array)
}

fn read_step(prim: Prim, count: usize, reader: &mut dyn Read) -> Result<Array, String> {
    let mut array = Array::try_uninit(prim, count).map_err(|e| e.to_string())?;
    reader.read_exact(array.bytes_mut()).map_err(|e| match e.kind() {
        ErrorKind::UnexpectedEof => "the data is cut off".to_string(),
        _ => format!("cannot read: {e}"),
    })?;
    Ok(array)
}

fn read_steps(prim: Prim, count: usize, reader: &mut dyn Read) -> Result<Array, String> {
    let step = STEP / prim.size();
    let mut array = read_step(prim, count.min(step), reader)?;
    while array.len() < count {
        let part = read_step(prim, (count - array.len()).min(step), reader)?;
        array.append(&part).map_err(|e| e.to_string())?;
    }
    Ok(array)
}
