//! Writing matrices: dense ones from regular arrays, sparse ones from rows of columns and values.

use crate::DataError;
use crate::tree::Tree;
use par_runtime::{Array, Prim};
use std::io::Write;

/// Writes a matrix. A record may say with `n_cols` how wide it is; else it has as many columns as its last entry needs.
pub fn write(tree: &Tree, out: &mut dyn Write) -> Result<(), DataError> {
    let (matrix, cols) = match tree {
        Tree::Fields(fields) => {
            let of = |name: &str| fields.iter().find(|f| f.0 == name).map(|f| &f.1);
            let matrix = of("entries").or_else(|| of("dense")).ok_or_else(wrong)?;
            (matrix, of("n_cols").and_then(scalar))
        }
        tree => (tree, None),
    };
    match matrix {
        Tree::Fixed(rows, elem) => match &**elem {
            Tree::Lists(offsets, entries) => sparse(*rows, cols, offsets.slice(), entries, out),
            Tree::Fixed(cols, elem) => match &**elem {
                Tree::Scalars(values) => dense(*rows, *cols, values, out),
                _ => Err(wrong()),
            },
            _ => Err(wrong()),
        },
        _ => Err(wrong()),
    }
}

fn wrong() -> DataError {
    let message = "a matrix is of type [n][m]t (dense), [n][](i64, t) (sparse: columns and values), or a record with it as \
                   `dense` or `entries`";
    DataError::new(message)
}

fn scalar(tree: &Tree) -> Option<i64> {
    match tree {
        Tree::Scalars(array) if array.len() == 1 => array.get(0).as_i64(),
        _ => None,
    }
}

fn field(prim: Prim) -> &'static str {
    if prim.is_float() { "real" } else { "integer" }
}

fn sparse(
    rows: usize,
    cols: Option<i64>,
    offsets: &[i64],
    entries: &Tree,
    out: &mut dyn Write,
) -> Result<(), DataError> {
    let Tree::Fields(parts) = entries else { return Err(wrong()) };
    let [(_, Tree::Scalars(columns)), (_, Tree::Scalars(values))] = &parts[..] else { return Err(wrong()) };
    let column = |i: usize| columns.get(i).as_i64().filter(|c| *c >= 0);
    let mut needed = 0;
    for i in 0..columns.len() {
        let found = column(i).ok_or_else(|| format!("{} is no column", columns.get(i)))?;
        needed = needed.max(found.saturating_add(1));
    }
    let cols = cols.unwrap_or(needed);
    if cols < needed {
        return Err(format!("there is an entry in column {}, but `n_cols` is {cols}", needed - 1).into());
    }
    writeln!(out, "%%MatrixMarket matrix coordinate {} general", field(values.prim()))?;
    writeln!(out, "{rows} {cols} {}", columns.len())?;
    for (row, bounds) in offsets.windows(2).enumerate() {
        for i in bounds[0] as usize..bounds[1] as usize {
            write!(out, "{} {} ", row + 1, column(i).unwrap_or(0) + 1)?;
            crate::csv::cell::write(values, i, out)?;
            writeln!(out)?;
        }
    }
    Ok(())
}

fn dense(rows: usize, cols: usize, values: &Array, out: &mut dyn Write) -> Result<(), DataError> {
    writeln!(out, "%%MatrixMarket matrix array {} general\n{rows} {cols}", field(values.prim()))?;
    for column in 0..cols {
        for row in 0..rows {
            crate::csv::cell::write(values, row * cols + column, out)?;
            writeln!(out)?;
        }
    }
    Ok(())
}
