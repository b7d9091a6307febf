//! Arguments of ragged types whose rows have one length: `[][]f32` that is a matrix.
//!
//! A specialised program has sizes for their descriptors; columns are converted at both ends of a call:
//!
//! ```text
//! entry double (m: [][]f32) : [][]f32       [[1, 2], [3, 4], [5, 6]]
//! size 3, descriptor 0 2 4 6, data  ->  size 3, size 2, data   (arguments)
//! size 3, descriptor 0 2 4 6, data  <-  size 3, size 2, data   (result)
//! ```

use par_runtime::entry::same_representation;
use par_runtime::value::ColumnType;
use par_runtime::{Array, Column, Value, ValueType};

/// Numbers of the columns that are descriptors of rows of one length, with this, which is not 0; payloads of sums aside. Work: what is read of the
/// descriptors, up to the first row of another length.
pub(super) fn descriptors<'a>(
    types: impl Iterator<Item = &'a ValueType>,
    columns: &[&Column],
) -> Vec<(usize, i64)> {
    let (mut found, mut next) = (Vec::new(), 0);
    for ty in types {
        ty.clone().each_dimension(&mut next, &mut |at, ragged| {
            let column = columns.get(at).filter(|_| *ragged);
            found.extend(column.and_then(|c| length(c)).map(|n| (at, n)));
        });
    }
    found
}

/// Length of all rows that a descriptor describes. One in the memory of a device is not looked at.
fn length(column: &Column) -> Option<i64> {
    let Column::Offsets(offsets) = column else { return None };
    if offsets.is_on_device() {
        return None;
    }
    let offsets = offsets.slice::<i64>();
    let first = offsets.get(1)?.checked_sub(offsets[0])?;
    (first > 0 && offsets.windows(2).all(|row| row[1] - row[0] == first)).then_some(first)
}

/// The arguments with sizes for these descriptors.
pub(super) fn with_sizes(mut args: Vec<Column>, descriptors: &[usize]) -> Vec<Column> {
    for &at in descriptors {
        if let Some(n) = args.get(at).and_then(length) {
            args[at] = Column::Size(n);
        }
    }
    args
}

/// A value as one of the type `declared`, with descriptors for sizes where that has them; none if that does not make it one. Work: the rows that are
/// described.
pub(crate) fn as_declared(value: Value, declared: &ValueType) -> Option<Value> {
    fits(&value.ty, declared)
        .then(|| Value { columns: with_descriptors(value.columns, declared), ty: declared.clone() })
}

/// True if a result of the type `made` becomes one of the type `declared` by descriptors for sizes.
pub(super) fn fits(made: &ValueType, declared: &ValueType) -> bool {
    let regular = |ty: &ValueType| {
        let mut ty = ty.clone();
        ty.each_dimension(&mut 0, &mut |_, ragged| *ragged = false);
        ty
    };
    let becomes = |(a, b): (ColumnType, ColumnType)| {
        a == b || (a == ColumnType::Size && matches!(b, ColumnType::Offsets { .. }))
    };
    same_representation(&regular(made), &regular(declared))
        && made.columns().into_iter().zip(declared.columns()).all(becomes)
}

/// A result with descriptors where its declared type has them. Work: their rows.
pub(super) fn with_descriptors(result: Vec<Column>, declared: &ValueType) -> Vec<Column> {
    let mut columns = result.into_iter();
    let mut out = Vec::with_capacity(columns.len());
    add(declared, 1, &mut columns, &mut out);
    out.extend(columns);
    out
}

/// Adds the columns of so many values of a type.
fn add(ty: &ValueType, count: i64, columns: &mut impl Iterator<Item = Column>, out: &mut Vec<Column>) {
    match ty {
        ValueType::Prim(_) => out.extend(columns.next()),
        ValueType::Tuple(ts) => ts.iter().for_each(|t| add(t, count, columns, out)),
        ValueType::Record(fs) => fs.iter().for_each(|(_, t)| add(t, count, columns, out)),
        ValueType::Sum(_) => out.extend(columns.take(ty.columns().len())),
        ValueType::Opaque { of, .. } => add(of, count, columns, out),
        ValueType::Array { ragged, elem, .. } => {
            let Some(column) = columns.next() else { return };
            let (column, elements) = match column {
                // A size of rows that do not exist may be negative.
                Column::Size(n) if *ragged => {
                    let offsets: Vec<i64> = (0..=count).map(|row| row * n.max(0)).collect();
                    (Column::Offsets(Array::from_slice(&offsets)), count * n.max(0))
                }
                Column::Size(n) => (column, count.saturating_mul(n.max(0))),
                Column::Offsets(ref offsets) => {
                    let elements = offsets.slice::<i64>().last().copied().unwrap_or(0);
                    (column, elements)
                }
                other => (other, count),
            };
            out.push(column);
            add(elem, elements, columns, out);
        }
    }
}
