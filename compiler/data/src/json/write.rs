//! Writing.

use crate::DataError;
use crate::csv::cell;
use crate::fit::scalars;
use crate::tree::Tree;
use par_runtime::{Array, Prim, Scalar};
use std::io::Write;

/// Writes a value; with `lines`, the elements of an array, or the rows of columns, one in each line.
pub fn write(tree: &Tree, lines: bool, out: &mut dyn Write) -> Result<(), DataError> {
    let rows = match tree {
        Tree::Fixed(n, elem) => Some((*n, (**elem).clone())),
        Tree::Fields(fields) if lines => columns(fields),
        _ => None,
    };
    match rows {
        Some((n, elem)) if lines => {
            for row in 0..n {
                value(&elem, row, false, out)?;
                out.write_all(b"\n")?;
            }
        }
        _ if lines => {
            return Err(format!(
                "lines of JSON are the elements of an array, and this result is {}",
                tree.type_name()
            )
            .into());
        }
        // Rows of a table are easier to read in lines of their own.
        Some((n, elem)) if n > 0 && scalars(&elem).is_none() => {
            for row in 0..n {
                out.write_all(if row == 0 { b"[\n  " } else { b",\n  " })?;
                value(&elem, row, false, out)?;
            }
            out.write_all(b"\n]\n")?;
        }
        _ => {
            value(tree, 0, true, out)?;
            out.write_all(b"\n")?;
        }
    }
    Ok(())
}

/// Columns of one length as an array of rows.
fn columns(fields: &[(String, Tree)]) -> Option<(usize, Tree)> {
    let mut count = None;
    let mut rows = Vec::new();
    for (name, tree) in fields {
        let Tree::Fixed(n, elem) = tree else { return None };
        if *count.get_or_insert(*n) != *n {
            return None;
        }
        rows.push((name.clone(), (**elem).clone()));
    }
    Some((count?, Tree::Fields(rows)))
}

fn text(bytes: &Array, start: usize, end: usize) -> Option<&str> {
    std::str::from_utf8(bytes.slice::<u8>().get(start..end)?).ok()
}

/// A value. One that is `alone`, no element of an array, may be a text of a fixed length.
fn value(tree: &Tree, row: usize, alone: bool, out: &mut dyn Write) -> std::io::Result<()> {
    match tree {
        Tree::Scalars(array) => number(array, row, out),
        Tree::Fixed(n, elem) => elements(elem, (row * n, (row + 1) * n), alone, out),
        Tree::Lists(offsets, elem) => {
            let offsets = offsets.slice::<i64>();
            elements(elem, (offsets[row] as usize, offsets[row + 1] as usize), true, out)
        }
        Tree::Optional(present, elem) => match present.slice::<bool>()[row] {
            true => value(elem, row, alone, out),
            false => out.write_all(b"null"),
        },
        Tree::Fields(fields) => fields_of(fields, row, alone, out),
    }
}

/// Elements of an array, or the text that these bytes are, if they may be one.
fn elements(
    elem: &Tree,
    (start, end): (usize, usize),
    may_be_text: bool,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let bytes = scalars(elem).filter(|a| may_be_text && a.prim() == Prim::U8);
    if let Some(text) = bytes.and_then(|a| text(a, start, end)) {
        return string(text, out);
    }
    out.write_all(b"[")?;
    for i in start..end {
        if i > start {
            out.write_all(b", ")?;
        }
        value(elem, i, false, out)?;
    }
    out.write_all(b"]")
}

/// A record as an object; the parts of a tuple, whose names are numbers, as an array.
fn fields_of(fields: &[(String, Tree)], row: usize, alone: bool, out: &mut dyn Write) -> std::io::Result<()> {
    let is_tuple = fields.iter().enumerate().all(|(i, f)| f.0 == i.to_string());
    out.write_all(if is_tuple { b"[" } else { b"{" })?;
    for (i, (name, part)) in fields.iter().enumerate() {
        if i > 0 {
            out.write_all(b", ")?;
        }
        if !is_tuple {
            string(name, out)?;
            out.write_all(b": ")?;
        }
        value(part, row, alone, out)?;
    }
    out.write_all(if is_tuple { b"]" } else { b"}" })
}

fn string(text: &str, out: &mut dyn Write) -> std::io::Result<()> {
    serde_json::to_writer(out, text).map_err(std::io::Error::from)
}

/// JSON has no number that is not finite.
fn number(array: &Array, i: usize, out: &mut dyn Write) -> std::io::Result<()> {
    let finite = match array.get(i) {
        Scalar::F16(x) => x.is_finite(),
        Scalar::F32(x) => x.is_finite(),
        Scalar::F64(x) => x.is_finite(),
        _ => true,
    };
    if finite { cell::write(array, i, out) } else { out.write_all(b"null") }
}
