//! Sorting a row on one thread: by insertion, by merging, or by digits, as its length says. All three are stable.

use crate::array::Element;
use crate::f16;
use std::hint::select_unpredictable;

/// Elements up to which insertion is fastest.
const INSERTION: usize = 10;
/// Elements below which merging beats counting digits.
const MERGING: usize = 160;
/// Values of a digit of 8 bits.
pub const RADIX: usize = 256;

/// A number in the order in which numbers are sorted: floats as they compare, both zeros being equal, and every NaN behind all others.
pub trait Key: Element + Default {
    /// Its size.
    const BITS: u32 = Self::PRIM.bits();
    /// An unsigned number in the same order.
    fn wide(self) -> u64;
    /// True if it stands before `other`, if neither is a NaN.
    fn is_less(self, other: Self) -> bool;
    /// True if it is a NaN.
    fn is_nan(self) -> bool;
    /// True if it stands before `other`.
    #[inline(always)]
    fn is_before(self, other: Self) -> bool {
        self.is_less(other) | (other.is_nan() & !self.is_nan())
    }
    /// The 8 bits of that number from bit `shift` on.
    #[inline(always)]
    fn digit(self, shift: u32) -> usize {
        (self.wide() >> shift) as usize & (RADIX - 1)
    }
}

macro_rules! integers {
    ($($t:ty: $unsigned:ty, $lowest:expr);*) => {
        $(impl Key for $t {
            #[inline(always)]
            fn wide(self) -> u64 {
                u64::from((self as $unsigned).wrapping_sub($lowest as $unsigned))
            }
            #[inline(always)]
            fn is_less(self, other: $t) -> bool {
                self < other
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                false
            }
        })*
    };
}
integers!(u8: u8, 0; u16: u16, 0; u32: u32, 0; u64: u64, 0; bool: u8, 0);
integers!(i8: u8, i8::MIN; i16: u16, i16::MIN; i32: u32, i32::MIN; i64: u64, i64::MIN);

macro_rules! floats {
    ($($t:ty: $unsigned:ty),*) => {
        $(impl Key for $t {
            #[inline(always)]
            fn wide(self) -> u64 {
                let sign = 1 << (<$unsigned>::BITS - 1);
                let bits = if self == <$t>::default() { 0 } else { self.to_bits() };
                let number = if bits & sign == 0 { bits | sign } else { !bits };
                u64::from(if self.is_nan() { <$unsigned>::MAX } else { number })
            }
            #[inline(always)]
            fn is_less(self, other: $t) -> bool {
                self < other
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                self.is_nan()
            }
        })*
    };
}
floats!(f16: u16, f32: u32, f64: u64);

/// Payload of a number: bits of a scalar, or nothing.
pub trait Payload: Copy + Default + Send + Sync + 'static {}
impl<T: Copy + Default + Send + Sync + 'static> Payload for T {}

/// Numbers, and as many values.
pub struct Row<'a, K, V> {
    pub keys: &'a mut [K],
    pub values: &'a mut [V],
}

impl<'a, K: Key, V: Payload> Row<'a, K, V> {
    /// The first `n` elements, and the others.
    pub fn split(self, n: usize) -> (Row<'a, K, V>, Row<'a, K, V>) {
        let (keys, more_keys) = self.keys.split_at_mut(n);
        let (values, more_values) = self.values.split_at_mut(n);
        (Row { keys, values }, Row { keys: more_keys, values: more_values })
    }

    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// The same elements, borrowed for less time.
    pub fn again(&mut self) -> Row<'_, K, V> {
        Row { keys: self.keys, values: self.values }
    }

    /// Copies as many elements.
    pub fn copy_from(&mut self, (keys, values): (&[K], &[V])) {
        self.keys.copy_from_slice(keys);
        self.values.copy_from_slice(values);
    }
}

/// Sorts what is in `row`, with as much room in `other`, by the lowest `bits` bits (the others are the same in all). The result
/// is in `other` if that is wanted.
pub fn sort<K: Key, V: Payload>(mut row: Row<K, V>, mut other: Row<K, V>, bits: u32, to_other: bool) {
    if row.len() < MERGING {
        return by_halves(row, other, to_other);
    }
    let there = by_digits(row.again(), other.again(), bits);
    finish(row, other, there, to_other);
}

/// Brings the result where it is wanted.
pub fn finish<K: Key, V: Payload>(mut row: Row<K, V>, mut other: Row<K, V>, there: bool, to_other: bool) {
    match (there, to_other) {
        (true, false) => row.copy_from((other.keys, other.values)),
        (false, true) => other.copy_from((row.keys, row.values)),
        _ => {}
    }
}

/// Sorts both halves to where the result is not wanted, and merges them from there.
fn by_halves<K: Key, V: Payload>(mut row: Row<K, V>, mut other: Row<K, V>, to_other: bool) {
    let n = row.len();
    if n <= INSERTION {
        insert(row.again());
        return finish(row, other, false, to_other);
    }
    let ((left, right), (left_room, right_room)) = (row.again().split(n / 2), other.again().split(n / 2));
    by_halves(left, left_room, !to_other);
    by_halves(right, right_room, !to_other);
    match to_other {
        true => merge(&row, &mut other),
        false => merge(&other, &mut row),
    }
}

/// Sorts by insertion.
fn insert<K: Key, V: Payload>(row: Row<K, V>) {
    let Row { keys, values } = row;
    for i in 1..keys.len() {
        let (key, value) = (keys[i], values[i]);
        let mut at = i;
        while at > 0 && key.is_before(keys[at - 1]) {
            keys[at] = keys[at - 1];
            values[at] = values[at - 1];
            at -= 1;
        }
        keys[at] = key;
        values[at] = value;
    }
}

/// Merges the sorted halves of `from`, from both ends at the same time and without jumps that depend on keys.
fn merge<K: Key, V: Payload>(from: &Row<K, V>, to: &mut Row<K, V>) {
    let (n, half) = (from.len(), from.len() / 2);
    assert!(half > 0 && from.values.len() == n && to.keys.len() == n && to.values.len() == n);
    let (mut left, mut right) = (0, half);
    let (mut last_left, mut last_right) = (half, n);
    // SAFETY: after `i` steps `left - 0` and `right - half` are `i` together, and `half - last_left` and `n - last_right` too. `i` is less than
    // `half`, and each half has at least as many elements, so that none is left behind.
    unsafe {
        let key = |i: usize| *from.keys.get_unchecked(i);
        let mut put = |at: usize, i: usize| {
            *to.keys.get_unchecked_mut(at) = key(i);
            *to.values.get_unchecked_mut(at) = *from.values.get_unchecked(i);
        };
        for i in 0..half {
            let is_right = key(right).is_before(key(left));
            put(i, select_unpredictable(is_right, right, left));
            right += usize::from(is_right);
            left += usize::from(!is_right);
            let is_left = key(last_right - 1).is_before(key(last_left - 1));
            put(n - 1 - i, select_unpredictable(is_left, last_left, last_right) - 1);
            last_left -= usize::from(is_left);
            last_right -= usize::from(!is_left);
        }
        if n % 2 == 1 {
            put(half, if left < last_left { left } else { right });
        }
    }
}

/// Sorts by digits from the lowest to the highest; whether the result is in `other`. A digit that all keys share is left out.
fn by_digits<K: Key, V: Payload>(row: Row<K, V>, other: Row<K, V>, bits: u32) -> bool {
    let digits = bits.div_ceil(8) as usize;
    let mut counts = [[0u32; RADIX]; 8];
    for key in row.keys.iter().map(|k| k.wide()) {
        for (i, counts) in counts[..digits].iter_mut().enumerate() {
            counts[key.digit(8 * i as u32)] += 1;
        }
    }
    let (mut from, mut to) = (row, other);
    let mut there = false;
    for (i, counts) in counts[..digits].iter_mut().enumerate() {
        let shift = 8 * i as u32;
        if counts[from.keys[0].digit(shift)] as usize == from.len() {
            continue;
        }
        let mut start = 0;
        for count in counts.iter_mut() {
            start += std::mem::replace(count, start);
        }
        place(&from, &mut to, shift, counts);
        std::mem::swap(&mut from, &mut to);
        there = !there;
    }
    there
}

/// Puts every element where its digit's next one goes.
fn place<K: Key, V: Payload>(from: &Row<K, V>, to: &mut Row<K, V>, shift: u32, next: &mut [u32; RADIX]) {
    assert!(to.keys.len() == from.len() && to.values.len() == from.len());
    for (key, value) in from.keys.iter().zip(from.values.iter()) {
        let at = &mut next[key.digit(shift)];
        // SAFETY: `next` begins with the sums of the numbers of smaller digits among these very keys, and is moved on by
        // one for each of them, so that no place is beyond the number of elements.
        unsafe {
            *to.keys.get_unchecked_mut(*at as usize) = *key;
            *to.values.get_unchecked_mut(*at as usize) = *value;
        }
        *at += 1;
    }
}
