//! Reading matrices.

use super::Matrix;
use crate::DataError;
use crate::csv::cell::{Numbers, numbers};
use crate::source::Source;
use par_runtime::{Array, Prim};
use std::io::{BufRead, BufReader, Read};

/// Rows that a header alone may ask for; more need entries.
const MAX_EMPTY_ROWS: usize = 1 << 20;
/// Entries for which room is made before they are there.
const ROOM: usize = 1 << 16;
/// The longest line.
const MAX_LINE: u64 = 1 << 16;

#[derive(PartialEq, Clone, Copy)]
enum Symmetry {
    General,
    Symmetric,
    Skew,
}

struct Banner {
    is_sparse: bool,
    is_pattern: bool,
    symmetry: Symmetry,
}

/// The lines of a file without comments, with their numbers.
struct Lines<R> {
    reader: R,
    number: u64,
    line: String,
}

impl<R: BufRead> Lines<R> {
    /// The next line, if there is one.
    fn next(&mut self) -> Result<Option<&str>, DataError> {
        loop {
            self.line.clear();
            self.number += 1;
            let count = Read::take(&mut self.reader, MAX_LINE).read_line(&mut self.line);
            match count.map_err(|e| DataError::in_line(self.number, format!("cannot read: {e}")))? {
                0 => return Ok(None),
                n if n as u64 == MAX_LINE => return Err(self.wrong("the line is too long")),
                _ => {}
            }
            let is_comment = self.line.starts_with('%') && self.number > 1;
            if !is_comment && !self.line.trim().is_empty() {
                return Ok(Some(self.line.trim()));
            }
        }
    }

    fn wrong(&self, message: impl Into<String>) -> DataError {
        DataError::in_line(self.number, message)
    }

    fn numbers<const N: usize>(&mut self, what: &str) -> Result<[usize; N], DataError> {
        let number = self.number + 1;
        let Some(line) = self.next()? else {
            return Err(DataError::in_line(number, format!("{what} are missing")));
        };
        let numbers: Option<Vec<usize>> = line.split_whitespace().map(|word| word.parse().ok()).collect();
        let numbers = numbers.and_then(|n| <[usize; N]>::try_from(n).ok());
        numbers.ok_or_else(|| self.wrong(format!("{what} are expected: {N} numbers")))
    }
}

/// Reads a matrix with values of type `prim`.
pub fn read(source: &mut Source, prim: Prim) -> Result<Matrix, DataError> {
    source.rewind()?;
    let mut lines =
        Lines { reader: BufReader::with_capacity(1 << 16, source), number: 0, line: String::new() };
    let banner = banner(&mut lines)?;
    let mut entries =
        if banner.is_sparse { sparse(&mut lines, &banner, prim)? } else { dense(&mut lines, &banner, prim)? };
    if banner.symmetry != Symmetry::General {
        entries.complete(banner.symmetry)?;
    }
    if lines.next()?.is_some() {
        return Err(lines.wrong("the file goes on after the last entry"));
    }
    entries.sorted()
}

fn banner(lines: &mut Lines<impl BufRead>) -> Result<Banner, DataError> {
    let line = lines.next()?.unwrap_or("").to_ascii_lowercase();
    let words: Vec<&str> = line.split_whitespace().collect();
    let ["%%matrixmarket", "matrix", layout, field, symmetry] = words[..] else {
        return Err(lines.wrong("`%%MatrixMarket matrix LAYOUT FIELD SYMMETRY` is expected"));
    };
    let unknown = |what: &str, word: &str| lines.wrong(format!("the {what} `{word}` is not supported"));
    let is_sparse = match layout {
        "coordinate" => true,
        "array" => false,
        other => return Err(unknown("layout", other)),
    };
    let is_pattern = match field {
        "real" | "double" | "integer" => false,
        "pattern" if is_sparse => true,
        other => return Err(unknown("field", other)),
    };
    let symmetry = match symmetry {
        "general" => Symmetry::General,
        "symmetric" => Symmetry::Symmetric,
        "skew-symmetric" => Symmetry::Skew,
        other => return Err(unknown("symmetry", other)),
    };
    Ok(Banner { is_sparse, is_pattern, symmetry })
}

/// Entries in any order.
struct Entries {
    size: (usize, usize),
    rows: Vec<usize>,
    columns: Vec<usize>,
    values: Box<dyn Numbers>,
}

impl Entries {
    fn new(rows: usize, cols: usize, count: usize, prim: Prim) -> Entries {
        let room = count.min(ROOM);
        let (r, c) = (Vec::with_capacity(room), Vec::with_capacity(room));
        Entries { size: (rows, cols), rows: r, columns: c, values: numbers(prim) }
    }

    /// Adds what stands on the other side of the diagonal.
    fn complete(&mut self, symmetry: Symmetry) -> Result<(), DataError> {
        if self.size.0 != self.size.1 {
            return Err("a symmetric matrix is square, and this is none".into());
        }
        for entry in 0..self.rows.len() {
            let (row, column) = (self.rows[entry], self.columns[entry]);
            if row != column {
                self.rows.push(column);
                self.columns.push(row);
                self.values.repeat(entry, symmetry == Symmetry::Skew)?;
            }
        }
        Ok(())
    }

    /// The entries by rows, and by columns inside them; those at one place stay as they stand.
    fn sorted(self) -> Result<Matrix, DataError> {
        let (rows, cols) = self.size;
        if rows > MAX_EMPTY_ROWS && rows / 64 > self.rows.len() {
            return Err(
                format!("{rows} rows with {} entries are too many empty ones", self.rows.len()).into()
            );
        }
        let mut starts = vec![0i64; rows + 1];
        self.rows.iter().for_each(|r| starts[r + 1] += 1);
        (0..rows).for_each(|r| starts[r + 1] += starts[r]);
        let in_order = |i: usize| (self.rows[i - 1], self.columns[i - 1]) <= (self.rows[i], self.columns[i]);
        let (columns, values) = if (1..self.rows.len()).all(in_order) {
            (self.columns, self.values.finish())
        } else {
            let mut order: Vec<usize> = (0..self.rows.len()).collect();
            order.sort_by_key(|i| (self.rows[*i], self.columns[*i]));
            (order.iter().map(|i| self.columns[*i]).collect(), self.values.ordered(&order))
        };
        let columns: Vec<i64> = columns.into_iter().map(|c| c as i64).collect();
        let offsets = Array::from_slice(&starts);
        Ok(Matrix { rows, cols, offsets, columns: Array::from_slice(&columns), values })
    }
}

fn sparse(lines: &mut Lines<impl BufRead>, banner: &Banner, prim: Prim) -> Result<Entries, DataError> {
    let [rows, cols, count] = lines.numbers("the numbers of rows, columns and entries")?;
    let mut entries = Entries::new(rows, cols, count, prim);
    for done in 0..count {
        let Some(line) = lines.next()? else {
            return Err(lines.wrong(format!("the file is cut off: {done} of {count} entries are there")));
        };
        let mut words = line.split_ascii_whitespace();
        let mut index = |size: usize| {
            let index: Option<usize> = words.next().and_then(|word| word.parse().ok());
            index.filter(|i| (1..=size).contains(i)).map(|i| i - 1)
        };
        let (row, column) = (index(rows), index(cols));
        let value = words.next();
        let surplus = words.next();
        let (Some(row), Some(column), None) = (row, column, surplus) else {
            return Err(lines.wrong(format!(
                "a row from 1 to {rows}, a column from 1 to {cols} and a value are expected"
            )));
        };
        let added = match (value, banner.is_pattern) {
            (None, true) => entries.values.push(b"1"),
            (Some(value), false) => entries.values.push(value.as_bytes()),
            (None, false) => Err("the entry has no value".into()),
            (Some(_), true) => Err("the entries of a pattern have no values".into()),
        };
        added.map_err(|message| lines.wrong(message))?;
        entries.rows.push(row);
        entries.columns.push(column);
    }
    Ok(entries)
}

/// All elements, column by column; of symmetric matrices those on and below the diagonal.
fn dense(lines: &mut Lines<impl BufRead>, banner: &Banner, prim: Prim) -> Result<Entries, DataError> {
    let [rows, cols] = lines.numbers("the numbers of rows and columns")?;
    let mut entries = Entries::new(rows, cols, rows.saturating_mul(cols), prim);
    for column in 0..if rows == 0 { 0 } else { cols } {
        let first = match banner.symmetry {
            Symmetry::General => 0,
            Symmetry::Symmetric => column,
            Symmetry::Skew => column + 1,
        };
        for row in first..rows {
            let Some(line) = lines.next()? else {
                return Err(lines.wrong(format!("the file is cut off in column {}", column + 1)));
            };
            let added = entries.values.push(line.as_bytes());
            added.map_err(|message| lines.wrong(message))?;
            entries.rows.push(row);
            entries.columns.push(column);
        }
    }
    Ok(entries)
}
