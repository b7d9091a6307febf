//! Sorting a row on one thread: by insertion, by merging, or by digits, as its length says. All three are stable.

/// Elements up to which insertion is fastest.
const INSERTION: usize = 20;
/// Elements below which merging beats counting digits.
const MERGING: usize = 160;
/// Values of a digit of 8 bits.
pub const RADIX: usize = 256;

/// An unsigned number.
pub trait Key: Copy + Ord + Default + Send + Sync + 'static {
    /// Its size.
    const BITS: u32;
    /// Its value.
    fn wide(self) -> u64;
    /// The 8 bits from bit `shift` on.
    #[inline(always)]
    fn digit(self, shift: u32) -> usize {
        (self.wide() >> shift) as usize & (RADIX - 1)
    }
}

macro_rules! keys {
    ($($t:ty),*) => {
        $(impl Key for $t {
            const BITS: u32 = <$t>::BITS;
            #[inline(always)]
            fn wide(self) -> u64 {
                u64::from(self)
            }
        })*
    };
}
keys!(u8, u16, u32, u64);

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

    fn copy_from(&mut self, other: &Row<K, V>) {
        self.keys.copy_from_slice(other.keys);
        self.values.copy_from_slice(other.values);
    }
}

/// Sorts what is in `row`, with as much room in `other`, by the lowest `bits` bits (the others are the same in all). The result
/// is in `other` if that is wanted.
pub fn sort<K: Key, V: Payload>(mut row: Row<K, V>, mut other: Row<K, V>, bits: u32, to_other: bool) {
    let n = row.len();
    if n < MERGING {
        insert_runs(row.again());
        let mut there = false;
        let mut width = INSERTION;
        while width < n {
            match there {
                false => merge_runs(&row, &mut other, width),
                true => merge_runs(&other, &mut row, width),
            }
            there = !there;
            width *= 2;
        }
        return finish(row, other, there, to_other);
    }
    let there = by_digits(row.again(), other.again(), bits);
    finish(row, other, there, to_other);
}

/// Brings the result where it is wanted.
pub fn finish<K: Key, V: Payload>(mut row: Row<K, V>, mut other: Row<K, V>, there: bool, to_other: bool) {
    match (there, to_other) {
        (true, false) => row.copy_from(&other),
        (false, true) => other.copy_from(&row),
        _ => {}
    }
}

/// Sorts runs of [`INSERTION`] elements.
fn insert_runs<K: Key, V: Payload>(row: Row<K, V>) {
    for (keys, values) in row.keys.chunks_mut(INSERTION).zip(row.values.chunks_mut(INSERTION)) {
        for i in 1..keys.len() {
            let (key, value) = (keys[i], values[i]);
            let mut at = i;
            while at > 0 && key < keys[at - 1] {
                keys[at] = keys[at - 1];
                values[at] = values[at - 1];
                at -= 1;
            }
            keys[at] = key;
            values[at] = value;
        }
    }
}

/// Merges neighbouring sorted runs of this length.
fn merge_runs<K: Key, V: Payload>(from: &Row<K, V>, to: &mut Row<K, V>, width: usize) {
    let n = from.len();
    for start in (0..n).step_by(2 * width) {
        let (middle, end) = ((start + width).min(n), (start + 2 * width).min(n));
        let (mut left, mut right) = (start, middle);
        for at in start..end {
            let take_left = right >= end || (left < middle && from.keys[left] <= from.keys[right]);
            let i = if take_left { left } else { right };
            to.keys[at] = from.keys[i];
            to.values[at] = from.values[i];
            left += usize::from(take_left);
            right += usize::from(!take_left);
        }
    }
}

/// Sorts by digits from the lowest to the highest; whether the result is in `other`. A digit that all keys share is left out.
fn by_digits<K: Key, V: Payload>(row: Row<K, V>, other: Row<K, V>, bits: u32) -> bool {
    let digits = bits.div_ceil(8) as usize;
    let mut counts = [[0u32; RADIX]; 8];
    for key in row.keys.iter() {
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
