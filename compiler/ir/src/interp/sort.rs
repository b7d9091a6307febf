//! Sorting rows of numbers, of CORE and of FLAT.

use super::Outcome;
use super::memory::{Memory, out_of_memory};
use par_runtime::{Array, Scalar, Span};

/// Every row of the arrays in the order of the numbers in the first one; stable. Row `i` is from `offsets[i]` to
/// `offsets[i + 1]`.
pub(super) fn rows(memory: &Memory, offsets: &[i64], arrays: &[Array], span: Span) -> Outcome<Vec<Array>> {
    let Some(keys) = arrays.first() else { return Ok(Vec::new()) };
    memory.room(keys.len(), keys.prim().size(), size_of::<(u64, usize)>(), span)?;
    // No two are equal, so that the order is that of a stable sort.
    let mut order: Vec<(u64, usize)> = (0..keys.len()).map(|i| (place(keys.get(i)), i)).collect();
    for row in offsets.windows(2) {
        order[row[0] as usize..row[1] as usize].sort_unstable();
    }
    arrays.iter().map(|a| in_order(memory, &order, a, span)).collect()
}

/// A number's place among those of its type: both zeros have one, and every NaN is behind all others.
fn place(x: Scalar) -> u64 {
    const SIGN: u64 = 1 << 63;
    let of_float = |x: f64| match (x + 0.0).to_bits() {
        _ if x.is_nan() => u64::MAX,
        bits if bits < SIGN => bits | SIGN,
        bits => !bits,
    };
    match x {
        Scalar::F16(x) => of_float(x.to_f64()),
        Scalar::F32(x) => of_float(x.into()),
        Scalar::F64(x) => of_float(x),
        x if x.prim().is_signed() => x.as_i64().map_or(0, |x| x as u64 ^ SIGN),
        x => x.bits(),
    }
}

fn in_order(memory: &Memory, order: &[(u64, usize)], a: &Array, span: Span) -> Outcome<Array> {
    memory.room(a.len(), a.prim().size(), 0, span)?;
    let mut sorted = Array::try_uninit(a.prim(), a.len()).map_err(|e| out_of_memory(e.0, span))?;
    let (to, from) = (sorted.bytes_mut(), a.bytes());
    match a.prim().size() {
        1 => gather::<1>(to, from, order),
        2 => gather::<2>(to, from, order),
        4 => gather::<4>(to, from, order),
        _ => gather::<8>(to, from, order),
    }
    Ok(sorted)
}

/// Elements of `N` bytes.
fn gather<const N: usize>(to: &mut [u8], from: &[u8], order: &[(u64, usize)]) {
    let from = from.as_chunks::<N>().0;
    to.as_chunks_mut::<N>().0.iter_mut().zip(order).for_each(|(to, (_, i))| *to = from[*i]);
}
