//! Sorting many short rows at once: elements at neighbouring places that are in one row are exchanged where they are not in order, first those
//! at even places and the ones behind them, then those at odd places, and so on, as often as the longest row has elements
//! (odd-even transposition). Nothing branches on where rows begin or on what is in them, which nobody could foretell. Elements at even
//! and at odd places lie apart meanwhile, so that a vector of them is exchanged with another vector.

use super::row::{Key, Payload, Row};
use crate::simd::{Level, level};
use std::hint::select_unpredictable;

/// Elements of a row up to which it may be short.
pub const SHORT: usize = 32;

/// Elements of a row up to which it is short on this processor: up to there sorting it with others at once took less time than alone.
pub fn short<K>() -> usize {
    match level() {
        Level::Avx512 => SHORT,
        Level::Baseline if size_of::<K>() == 8 => 12,
        _ => 24,
    }
}

/// Elements that are sorted at once, at most.
pub const BATCH: usize = 192;
/// Elements at even places, with one more that elements at odd places never change places with.
const HALF: usize = BATCH / 2 + 1;

/// Elements at every other place.
struct Half<K, V> {
    keys: [K; HALF],
    values: [V; HALF],
    /// True where an element and the one behind it, which is in the other half, are in one row.
    linked: [bool; HALF],
}

impl<K: Key, V: Payload> Half<K, V> {
    fn new() -> Half<K, V> {
        Half { keys: [K::default(); HALF], values: [V::default(); HALF], linked: [false; HALF] }
    }
}

/// Short rows, of at most [`BATCH`] elements together.
pub struct Short<'a, K, V, E> {
    /// Their keys, and what comes with each.
    pub from: (&'a [K], &'a [V]),
    /// The place of the result.
    pub to: Row<'a, K, V>,
    /// The end of each row, from the first element on.
    pub ends: E,
    /// Elements of the longest row.
    pub longest: usize,
}

/// Room for elements while they are sorted.
pub struct Halves<K, V> {
    even: Half<K, V>,
    odd: Half<K, V>,
}

impl<K: Key, V: Payload> Halves<K, V> {
    pub fn new() -> Halves<K, V> {
        Halves { even: Half::new(), odd: Half::new() }
    }

    /// Sorts short rows.
    pub fn sort(&mut self, rows: Short<K, V, impl Iterator<Item = usize>>) {
        match level() {
            // SAFETY: the processor has these instructions.
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => unsafe { self.sort_avx512(rows) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => unsafe { self.sort_avx2(rows) },
            _ => self.sort_here(rows),
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,bmi1,bmi2")]
    fn sort_avx512(&mut self, rows: Short<K, V, impl Iterator<Item = usize>>) {
        self.sort_here(rows);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,bmi1,bmi2")]
    fn sort_avx2(&mut self, rows: Short<K, V, impl Iterator<Item = usize>>) {
        self.sort_here(rows);
    }

    #[inline(always)]
    fn sort_here(&mut self, rows: Short<K, V, impl Iterator<Item = usize>>) {
        let Short { from: (keys, values), to, ends, longest } = rows;
        let n = keys.len();
        let Halves { even, odd } = self;
        link(n, ends, &mut even.linked, &mut odd.linked);
        apart(keys, &mut even.keys, &mut odd.keys);
        apart(values, &mut even.values, &mut odd.values);
        // Mostly there is no NaN, and comparing is simpler.
        let mut any_nan = false;
        for k in keys {
            any_nan |= k.is_nan();
        }
        if any_nan {
            self.rounds(n.div_ceil(2), longest, K::is_before);
        } else {
            self.rounds(n.div_ceil(2), longest, K::is_less);
        }
        let Halves { even, odd } = self;
        together(&even.keys, &odd.keys, to.keys);
        together(&even.values, &odd.values, to.values);
    }

    /// Exchanges so many elements with those behind them, in as many rounds as the longest row has elements.
    #[inline(always)]
    fn rounds(&mut self, half: usize, longest: usize, is_before: impl Fn(K, K) -> bool + Copy) {
        let Halves { even, odd } = self;
        for round in 0..longest {
            let (first, keys, values) = if round % 2 == 0 {
                (
                    &even.linked,
                    (&mut even.keys[..], &mut odd.keys[..]),
                    (&mut even.values[..], &mut odd.values[..]),
                )
            } else {
                (
                    &odd.linked,
                    (&mut odd.keys[..], &mut even.keys[1..]),
                    (&mut odd.values[..], &mut even.values[1..]),
                )
            };
            exchange(&first[..half], keys, values, is_before);
        }
    }
}

/// Finds where elements are linked with those behind them, for those at even and at odd places.
#[inline(always)]
fn link(n: usize, ends: impl Iterator<Item = usize>, even: &mut [bool; HALF], odd: &mut [bool; HALF]) {
    // The first stands for the place before all others, where empty rows may end.
    let mut linked = [true; 2 * HALF + 1];
    ends.for_each(|end| linked[end] = false);
    linked[n..].fill(false);
    apart(&linked[1..], even, odd);
}

/// Elements at even and at odd places.
#[inline(always)]
fn apart<T: Copy>(from: &[T], even: &mut [T; HALF], odd: &mut [T; HALF]) {
    // Counted loops: without optimisation at link time those of iterators would be calls.
    let half = from.len() / 2;
    if let Some(last) = from.get(2 * half) {
        even[half] = *last;
    }
    let (from, even, odd) = (&from[..2 * half], &mut even[..half], &mut odd[..half]);
    for i in 0..half {
        (even[i], odd[i]) = (from[2 * i], from[2 * i + 1]);
    }
}

/// Undoes [`apart`].
#[inline(always)]
fn together<T: Copy>(even: &[T; HALF], odd: &[T; HALF], to: &mut [T]) {
    let half = to.len() / 2;
    if let Some(to) = to.get_mut(2 * half) {
        *to = even[half];
    }
    let (to, even, odd) = (&mut to[..2 * half], &even[..half], &odd[..half]);
    for i in 0..half {
        (to[2 * i], to[2 * i + 1]) = (even[i], odd[i]);
    }
}

/// Exchanges elements with those behind them, where they are linked and not in order. What comes with them follows in a loop of its own:
/// then both loops are made of vectors.
#[inline(always)]
fn exchange<K: Key, V: Payload>(
    linked: &[bool],
    keys: (&mut [K], &mut [K]),
    values: (&mut [V], &mut [V]),
    is_before: impl Fn(K, K) -> bool,
) {
    let n = linked.len();
    let mut wrong = [false; HALF];
    let wrong = &mut wrong[..n];
    let (first, second) = (&mut keys.0[..n], &mut keys.1[..n]);
    for i in 0..n {
        let (x, y) = (first[i], second[i]);
        let is_wrong = linked[i] & is_before(y, x);
        wrong[i] = is_wrong;
        first[i] = select_unpredictable(is_wrong, y, x);
        second[i] = select_unpredictable(is_wrong, x, y);
    }
    if size_of::<V>() == 0 {
        return;
    }
    let (first, second) = (&mut values.0[..n], &mut values.1[..n]);
    for i in 0..n {
        let (x, y) = (first[i], second[i]);
        first[i] = select_unpredictable(wrong[i], y, x);
        second[i] = select_unpredictable(wrong[i], x, y);
    }
}
