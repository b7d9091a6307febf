//! Sorting many short rows at once: elements at neighbouring places that are in one row are exchanged where they are not in order, first those
//! at even places and the ones behind them, then those at odd places, and so on, as often as the longest row has elements
//! (odd-even transposition). Nothing branches on where rows begin or on what is in them, which nobody could foretell.

use super::row::{Key, Payload, Row};

/// Elements of a row up to which it is short.
pub const SHORT: usize = 6;
/// Rows that are sorted at once.
pub const BATCH: usize = 64;

/// Sorts the rows that end at these places, at most [`BATCH`] of at most `longest` elements, at most [`SHORT`]; they are all of `elements`.
pub fn sort<K: Key, V: Payload>(elements: Row<K, V>, ends: impl Iterator<Item = usize>, longest: usize) {
    if longest < 2 {
        return;
    }
    let n = elements.len();
    // Whether an element and the one behind it are in one row; the first stands for none.
    let mut linked = [true; BATCH * SHORT + 1];
    ends.for_each(|end| linked[end] = false);
    let linked = &linked[1..n];
    let (keys, values) = (&mut elements.keys[..n], &mut elements.values[..n]);
    for round in 0..longest {
        for i in (round % 2..linked.len()).step_by(2) {
            let (k, v) = ((keys[i], keys[i + 1]), (values[i], values[i + 1]));
            let is_wrong = linked[i] & (k.0 > k.1);
            (keys[i], keys[i + 1]) = if is_wrong { (k.1, k.0) } else { k };
            (values[i], values[i + 1]) = if is_wrong { (v.1, v.0) } else { v };
        }
    }
}
