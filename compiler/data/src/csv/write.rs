//! Writing columns.

use super::cell;
use crate::DataError;
use crate::tree::Tree;
use csv::WriterBuilder;
use par_runtime::Array;
use std::io::Write;

/// Kind of a column's cells.
enum Cells<'a> {
    Numbers(&'a Array),
    Texts(&'a [i64], &'a [u8]),
    /// Rows of numbers, as the text of a value: `[1, 2]`.
    Rows(&'a [i64], &'a Array),
    /// Nothing where there is no value.
    Optional(&'a [bool], Box<Cells<'a>>),
}

/// Writes columns with a row of their names; matrices, regular or not, have none.
pub fn write(tree: &Tree, tabs: bool, out: &mut dyn Write) -> Result<(), DataError> {
    let mut writer =
        WriterBuilder::new().delimiter(if tabs { b'\t' } else { b',' }).flexible(true).from_writer(out);
    if let Tree::Fixed(rows, elem) = tree {
        match &**elem {
            Tree::Fixed(width, elem) if let Tree::Scalars(values) = &**elem => {
                return matrix(&mut writer, *rows, &|i| (i * width, (i + 1) * width), values);
            }
            Tree::Lists(offsets, elem) if !tree_is_text(tree) && matches!(**elem, Tree::Scalars(_)) => {
                let Tree::Scalars(values) = &**elem else { return Ok(()) };
                let offsets = offsets.slice::<i64>();
                return matrix(
                    &mut writer,
                    *rows,
                    &|i| (offsets[i] as usize, offsets[i + 1] as usize),
                    values,
                );
            }
            _ => {}
        }
    }
    let mut columns = Vec::new();
    let rows = table(tree, &mut columns)?;
    let done = |e: csv::Error| DataError::new(e.to_string());
    // Names must not look like numbers, or the row would be one of those.
    let names = columns.iter().map(|(name, _)| match name.bytes().next() {
        Some(b'0'..=b'9') => format!("c{name}"),
        _ => name.clone(),
    });
    writer.write_record(names.collect::<Vec<_>>()).map_err(done)?;
    let mut text = Vec::new();
    for row in 0..rows {
        for (_, cells) in &columns {
            text.clear();
            cells.write(row, &mut text)?;
            writer.write_field(&text).map_err(done)?;
        }
        writer.write_record(None::<&[u8]>).map_err(done)?;
    }
    writer.flush()?;
    Ok(())
}

fn tree_is_text(tree: &Tree) -> bool {
    matches!(tree, Tree::Fixed(_, elem) if elem.is_text())
}

fn matrix(
    writer: &mut csv::Writer<&mut dyn Write>,
    rows: usize,
    bounds: &dyn Fn(usize) -> (usize, usize),
    values: &Array,
) -> Result<(), DataError> {
    let done = |e: csv::Error| DataError::new(e.to_string());
    let mut text = Vec::new();
    for row in 0..rows {
        let (start, end) = bounds(row);
        for i in start..end {
            text.clear();
            cell::write(values, i, &mut text)?;
            writer.write_field(&text).map_err(done)?;
        }
        if start == end {
            writer.write_field(b"").map_err(done)?;
        }
        writer.write_record(None::<&[u8]>).map_err(done)?;
    }
    writer.flush()?;
    Ok(())
}

/// Collects the columns; the result is how many rows they have.
fn table<'a>(tree: &'a Tree, columns: &mut Vec<(String, Cells<'a>)>) -> Result<usize, DataError> {
    match tree {
        Tree::Fixed(rows, elem) => {
            add("value", elem, columns)?;
            Ok(*rows)
        }
        Tree::Fields(fields)
            if fields.iter().all(|(_, t)| matches!(t, Tree::Fixed(..))) && !fields.is_empty() =>
        {
            let mut rows = None;
            for (name, tree) in fields {
                let Tree::Fixed(n, elem) = tree else { continue };
                if *rows.get_or_insert(*n) != *n {
                    let message =
                        format!("`{name}` has {n} elements, but what stands before it has another number");
                    return Err(DataError::new(message));
                }
                add(name, elem, columns)?;
            }
            Ok(rows.unwrap_or(0))
        }
        Tree::Fields(fields) => {
            fields.iter().try_for_each(|(name, tree)| add(name, tree, columns))?;
            Ok(1)
        }
        tree => {
            add("value", tree, columns)?;
            Ok(1)
        }
    }
}

/// Adds a column, or the columns of the fields of records, whose names are joined by dots.
fn add<'a>(name: &str, tree: &'a Tree, columns: &mut Vec<(String, Cells<'a>)>) -> Result<(), DataError> {
    if let Tree::Fields(fields) = tree {
        let name_of =
            |field: &str| if name == "value" { field.to_string() } else { format!("{name}.{field}") };
        return fields.iter().try_for_each(|(field, tree)| add(&name_of(field), tree, columns));
    }
    let cells = cells(tree);
    let cells = cells.ok_or_else(|| format!("{} does not fit into cells of text", tree.type_name()))?;
    columns.push((name.to_string(), cells));
    Ok(())
}

fn cells(tree: &Tree) -> Option<Cells<'_>> {
    Some(match tree {
        Tree::Scalars(array) => Cells::Numbers(array),
        Tree::Lists(offsets, elem) => match &**elem {
            Tree::Scalars(bytes) if tree.is_text() => Cells::Texts(offsets.slice(), bytes.slice()),
            Tree::Scalars(values) => Cells::Rows(offsets.slice(), values),
            _ => return None,
        },
        // An empty cell says only once that nothing is there.
        Tree::Optional(_, elem) if matches!(**elem, Tree::Optional(..)) => return None,
        Tree::Optional(present, elem) => Cells::Optional(present.slice(), Box::new(cells(elem)?)),
        Tree::Fields(_) | Tree::Fixed(..) => return None,
    })
}

impl Cells<'_> {
    fn write(&self, row: usize, out: &mut Vec<u8>) -> std::io::Result<()> {
        match self {
            Cells::Optional(present, cells) if present[row] => cells.write(row, out),
            Cells::Optional(..) => Ok(()),
            Cells::Numbers(array) => cell::write(array, row, out),
            Cells::Texts(offsets, bytes) => {
                out.extend_from_slice(&bytes[offsets[row] as usize..offsets[row + 1] as usize]);
                Ok(())
            }
            Cells::Rows(offsets, values) => {
                out.push(b'[');
                for i in offsets[row]..offsets[row + 1] {
                    if i > offsets[row] {
                        out.extend_from_slice(b", ");
                    }
                    cell::write(values, i as usize, out)?;
                }
                out.push(b']');
                Ok(())
            }
        }
    }
}
