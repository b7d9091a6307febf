//! Sorting rows of numbers, of CORE and of FLAT.

use super::Outcome;
use super::memory::{Memory, out_of_memory};
use par_runtime::{Array, Scalar, Span};
use std::cmp::Ordering;

/// Every row of the arrays in the order of the numbers in the first one; stable. Row `i` is from `offsets[i]` to
/// `offsets[i + 1]`.
pub(super) fn rows(memory: &Memory, offsets: &[i64], arrays: &[Array], span: Span) -> Outcome<Vec<Array>> {
    let Some(keys) = arrays.first() else { return Ok(Vec::new()) };
    memory.room(keys.len(), keys.prim().size(), 8, span)?;
    let mut order: Vec<usize> = (0..keys.len()).collect();
    for row in offsets.windows(2) {
        order[row[0] as usize..row[1] as usize].sort_by(|i, j| order_of(keys.get(*i), keys.get(*j)));
    }
    arrays.iter().map(|a| in_order(memory, &order, a, span)).collect()
}

/// The order of two numbers of one type: both zeros are equal, and every NaN is behind all others.
fn order_of(x: Scalar, y: Scalar) -> Ordering {
    let floats = |x: f64, y: f64| x.partial_cmp(&y).unwrap_or_else(|| x.is_nan().cmp(&y.is_nan()));
    match (x, y) {
        (Scalar::F16(x), Scalar::F16(y)) => floats(x.to_f64(), y.to_f64()),
        (Scalar::F32(x), Scalar::F32(y)) => floats(x.into(), y.into()),
        (Scalar::F64(x), Scalar::F64(y)) => floats(x, y),
        (x, y) if x.prim().is_signed() => x.as_i64().cmp(&y.as_i64()),
        (x, y) => x.bits().cmp(&y.bits()),
    }
}

fn in_order(memory: &Memory, order: &[usize], a: &Array, span: Span) -> Outcome<Array> {
    memory.room(a.len(), a.prim().size(), 0, span)?;
    let mut sorted = Array::try_uninit(a.prim(), a.len()).map_err(|e| out_of_memory(e.0, span))?;
    let size = a.prim().size();
    let from = a.bytes();
    for (to, i) in sorted.bytes_mut().chunks_exact_mut(size).zip(order) {
        to.copy_from_slice(&from[i * size..(i + 1) * size]);
    }
    Ok(sorted)
}
