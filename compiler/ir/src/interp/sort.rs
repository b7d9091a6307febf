//! Sorting rows of numbers, of CORE and of FLAT.

use super::Outcome;
use super::memory::{Memory, out_of_memory};
use par_runtime::{Array, Span};

/// Every row of the arrays in the order of the first one, which is one of unsigned numbers; stable. Row `i` is from `offsets[i]` to
/// `offsets[i + 1]`.
pub(super) fn rows(memory: &Memory, offsets: &[i64], arrays: &[Array], span: Span) -> Outcome<Vec<Array>> {
    let Some(keys) = arrays.first() else { return Ok(Vec::new()) };
    memory.room(keys.len(), keys.prim().size(), size_of::<(u64, usize)>(), span)?;
    // No two are equal, so that the order is that of a stable sort.
    let mut order: Vec<(u64, usize)> = (0..keys.len()).map(|i| (keys.get(i).bits(), i)).collect();
    for row in offsets.windows(2) {
        order[row[0] as usize..row[1] as usize].sort_unstable();
    }
    arrays.iter().map(|a| in_order(memory, &order, a, span)).collect()
}

fn in_order(memory: &Memory, order: &[(u64, usize)], a: &Array, span: Span) -> Outcome<Array> {
    memory.room(a.len(), a.prim().size(), 0, span)?;
    let mut sorted = Array::try_uninit(a.prim(), a.len()).map_err(|e| out_of_memory(e.0, span))?;
    let size = a.prim().size();
    let from = a.bytes();
    for (to, (_, i)) in sorted.bytes_mut().chunks_exact_mut(size).zip(order) {
        to.copy_from_slice(&from[i * size..(i + 1) * size]);
    }
    Ok(sorted)
}
