//! How rows are folded.

/// Threads that fold a row; see `kernels/par/segreduce.cuh`. It depends on sizes only, so that results do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Folding {
    /// So many neighbouring threads.
    Lanes(u64),
    /// A block of threads.
    Block,
    /// The block that has its elements in an equal share of all.
    Shares,
}

impl Folding {
    /// For so many rows, with so many elements in all and in the longest.
    ///
    /// Nobody may have much more to do than the others: where one row is much longer than the mean, shares are equal whatever the rows are. They
    /// cost a search and a look at earlier tiles, which short rows of similar lengths, and long ones if they are many, do without.
    pub fn of(rows: u64, total: u64, longest: u64) -> Folding {
        /// Elements that a thread should have.
        const EACH: u64 = 4;
        /// Elements of a row that keep a block busy, and rows that keep a device busy.
        const LONG: u64 = 4096;
        const MANY: u64 = 1024;
        let mean = total.div_ceil(rows.max(1));
        if longest > 16.max(4 * mean) {
            return Folding::Shares;
        }
        match mean {
            0..=128 => Folding::Lanes(mean.div_ceil(EACH).next_power_of_two().clamp(1, 32)),
            LONG.. if rows >= MANY => Folding::Block,
            _ => Folding::Shares,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Folding;

    #[test]
    fn rows_of_similar_lengths_have_threads_of_their_own() {
        assert_eq!(Folding::of(1 << 20, 3 << 20, 9), Folding::Lanes(1));
        assert_eq!(Folding::of(1 << 20, 32 << 20, 40), Folding::Lanes(8));
        assert_eq!(Folding::of(1 << 20, 120 << 20, 200), Folding::Lanes(32));
        assert_eq!(Folding::of(2048, 2048 * 5000, 9000), Folding::Block);
    }

    #[test]
    fn skewed_rows_and_few_long_ones_are_shared() {
        assert_eq!(Folding::of(1 << 20, 3 << 20, 1 << 20), Folding::Shares);
        assert_eq!(Folding::of(16, 16 << 20, 1 << 20), Folding::Shares);
        assert_eq!(Folding::of(1 << 16, 600 << 16, 800), Folding::Shares);
    }
}
