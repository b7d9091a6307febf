//! Matrix Market: sparse matrices as lists of entries, dense ones column by column.
//!
//! ```text
//! %%MatrixMarket matrix coordinate real symmetric     also: integer, pattern; general, skew-symmetric; array
//! % comments
//! 3 3 2                                               rows, columns, entries
//! 1 1 2.5                                             row and column from 1, value
//! 3 1 -1
//! ```
//!
//! A file has parts, of which a program takes what it likes: as fields of a record, or one by `FILE#part`. Indices count from 0, entries
//! stand in the order of rows and columns, and symmetric matrices are completed.
//!
//! | part | type | |
//! |---|---|---|
//! | `entries` | `[n][](i64, t)` | column and value of the entries in each row |
//! | `columns`, `values` | `[n][]i64`, `[n][]t` | the same as two arrays |
//! | `offsets` | `[n + 1]i64` | where rows begin in the flat arrays |
//! | `row`, `column`, `value` | `[k]i64`, `[k]i64`, `[k]t` | one element for each entry |
//! | `dense` | `[n][m]t` | all elements |
//! | `n_rows`, `n_cols` | `i64` | the sizes |
//!
//! Without a part's name `[][](i64, t)` is `entries` and `[][]t` is `dense`.

mod read;
mod write;

use crate::DataError;
use crate::source::Source;
use crate::tree::Tree;
use par_runtime::{Array, Prim, Scalar, ValueType};
pub use write::write;

/// The parts, the first of which is what a name without type would be.
pub const PARTS: [&str; 10] =
    ["entries", "columns", "values", "offsets", "row", "column", "value", "dense", "n_rows", "n_cols"];

/// The most elements a sparse matrix may have that is read as a dense one with few entries.
const MAX_DENSE: usize = 1 << 28;

/// A matrix as it was read, with its entries in order.
struct Matrix {
    rows: usize,
    cols: usize,
    /// Offset of the first entry of each row, then the number of entries.
    offsets: Array,
    columns: Array,
    values: Array,
}

/// A part, or the part that the type suggests, or the record of the fields that the type has.
pub fn read(source: &mut Source, part: Option<&str>, ty: &ValueType) -> Result<Tree, DataError> {
    let wanted = match part {
        Some(part) => vec![part.to_string()],
        None => parts_of(ty),
    };
    if let Some(unknown) = wanted.iter().find(|name| !PARTS.contains(&name.as_str())) {
        return Err(format!("there is no `{unknown}`: a matrix has {}", crate::input::listing(PARTS)).into());
    }
    let has_values = |part: &str| ["entries", "values", "value", "dense"].contains(&part);
    let prim = if part.is_none_or(has_values) { element(ty) } else { None };
    let prim = prim.unwrap_or(Prim::F64);
    let matrix = read::read(source, prim)?;
    let mut trees = wanted.into_iter().map(|name| Ok((matrix.part(&name)?, name)));
    match (part, ty) {
        (None, ValueType::Record(_)) => {
            let fields = trees.map(|part| part.map(|(tree, name)| (name, tree)));
            Ok(Tree::Fields(fields.collect::<Result<_, DataError>>()?))
        }
        _ => trees.next().map_or_else(|| Err("the type has no parts".into()), |t| t.map(|t| t.0)),
    }
}

fn parts_of(ty: &ValueType) -> Vec<String> {
    match ty {
        ValueType::Record(fields) => fields.iter().map(|f| f.0.clone()).collect(),
        ValueType::Array { elem, .. } => match &**elem {
            ValueType::Array { elem, .. } if matches!(**elem, ValueType::Prim(_)) => vec!["dense".into()],
            _ => vec!["entries".into()],
        },
        _ => vec!["entries".into()],
    }
}

/// The type of the values, if the type wanted tells: that of the field `value`, `values` or `dense`, or of what stands last.
fn element(ty: &ValueType) -> Option<Prim> {
    match ty {
        ValueType::Prim(prim) => Some(*prim),
        ValueType::Array { elem, .. } => element(elem),
        ValueType::Tuple(types) => element(types.last()?),
        ValueType::Record(fields) => {
            let found =
                fields.iter().find(|f| ["entries", "value", "values", "dense"].contains(&f.0.as_str()));
            element(&found?.1)
        }
        ValueType::Sum(_) | ValueType::Opaque { .. } => None,
    }
}

impl Matrix {
    fn part(&self, name: &str) -> Result<Tree, DataError> {
        let count = self.columns.len();
        let nested = |elem| Tree::array(self.rows, Tree::Lists(self.offsets.clone(), Box::new(elem)));
        let flat = |array: &Array| Tree::array(array.len(), Tree::Scalars(array.clone()));
        let size = |n: usize| Tree::Scalars(Array::from_slice(&[n as i64]));
        Ok(match name {
            "entries" => {
                let (columns, values) = (self.columns.clone(), self.values.clone());
                let parts = [("column", columns), ("value", values)];
                nested(Tree::Fields(parts.map(|(n, a)| (n.to_string(), Tree::Scalars(a))).into()))
            }
            "columns" => nested(Tree::Scalars(self.columns.clone())),
            "values" => nested(Tree::Scalars(self.values.clone())),
            "offsets" => flat(&self.offsets),
            "row" => {
                let mut rows = Vec::with_capacity(count);
                for (row, bounds) in self.offsets.slice::<i64>().windows(2).enumerate() {
                    rows.extend((bounds[0]..bounds[1]).map(|_| row as i64));
                }
                flat(&Array::from_slice(&rows))
            }
            "column" => flat(&self.columns),
            "value" => flat(&self.values),
            "n_rows" => size(self.rows),
            "n_cols" => size(self.cols),
            _ => Tree::array(self.rows, Tree::array(self.cols, Tree::Scalars(self.dense()?))),
        })
    }

    /// All elements; the last of several entries at one place counts.
    fn dense(&self) -> Result<Array, DataError> {
        let total = self.rows.checked_mul(self.cols);
        let total = total.filter(|n| *n <= MAX_DENSE || *n / 16 <= self.columns.len());
        let total = total.ok_or_else(|| {
            format!(
                "a matrix of {} x {} with {} entries is too large as a dense one",
                self.rows,
                self.cols,
                self.columns.len()
            )
        })?;
        let mut all = Array::try_zeros(self.values.prim(), total).map_err(|e| e.to_string())?;
        for (row, bounds) in self.offsets.slice::<i64>().windows(2).enumerate() {
            for entry in bounds[0] as usize..bounds[1] as usize {
                let column = self.columns.slice::<i64>()[entry] as usize;
                all.set(row * self.cols + column, self.value(entry));
            }
        }
        Ok(all)
    }

    fn value(&self, entry: usize) -> Scalar {
        self.values.get(entry)
    }
}
