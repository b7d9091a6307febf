//! Sorting rows of numbers, of CORE and of FLAT.

use super::Outcome;
use super::memory::{Memory, out_of_memory};
use par_runtime::{Array, Span};

/// Every row of the arrays in the order of the first one, which is one of unsigned numbers; stable. Row `i` is from `offsets[i]` to
/// `offsets[i + 1]`.
pub(super) fn rows(memory: &Memory, offsets: &[i64], arrays: &[Array], span: Span) -> Outcome<Vec<Array>> {
    let Some(keys) = arrays.first() else { return Ok(Vec::new()) };
    memory.room(keys.len(), keys.prim().size(), 8, span)?;
    let mut order: Vec<usize> = (0..keys.len()).collect();
    for row in offsets.windows(2) {
        order[row[0] as usize..row[1] as usize].sort_by_key(|i| keys.get(*i).bits());
    }
    arrays.iter().map(|a| in_order(memory, &order, a, span)).collect()
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
