//! Small memory that was given back, for those who want as much: iterations of a loop get the same memory again, without asking the
//! driver. All work on a device is in one order, so that what is given back may be used at once.

use super::driver::Address;
use std::collections::HashMap;

/// Bytes of what is kept, at most; the driver's own costs are nothing against work on more.
const SMALL: usize = 4 << 20;
/// Bytes of all that is kept.
const MOST: usize = 128 << 20;

/// Spare memory, by its size.
#[derive(Default)]
pub struct Spare {
    free: HashMap<usize, Vec<Address>>,
    bytes: usize,
}

impl Spare {
    /// Memory of exactly this size.
    pub fn take(&mut self, bytes: usize) -> Option<Address> {
        let found = self.free.get_mut(&bytes)?.pop()?;
        self.bytes -= bytes;
        Some(found)
    }

    /// True if memory of this size is kept; then it is.
    pub fn keep(&mut self, address: Address, bytes: usize) -> bool {
        let fits = bytes <= SMALL;
        if fits {
            self.free.entry(bytes).or_default().push(address);
            self.bytes += bytes;
        }
        fits
    }

    /// True if more is kept than should be.
    pub fn is_full(&self) -> bool {
        self.bytes > MOST
    }

    /// All that is kept.
    pub fn drain(&mut self) -> Vec<Address> {
        self.bytes = 0;
        self.free.drain().flat_map(|(_, all)| all).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_the_same_size_comes_back_last_first() {
        let mut spare = Spare::default();
        assert!(spare.keep(1, 64) && spare.keep(2, 64) && spare.keep(3, 128));
        assert_eq!(spare.take(32), None);
        assert_eq!([spare.take(64), spare.take(64), spare.take(64)], [Some(2), Some(1), None]);
        assert_eq!(spare.drain(), [3]);
    }

    #[test]
    fn much_is_not_kept() {
        let mut spare = Spare::default();
        assert!(!spare.keep(1, SMALL + 1));
        (0..MOST / SMALL).for_each(|k| assert!(spare.keep(k as u64, SMALL) && !spare.is_full()));
        assert!(spare.keep(99, 1) && spare.is_full());
        assert_eq!(spare.drain().len(), MOST / SMALL + 1);
        assert!(!spare.is_full());
    }
}
