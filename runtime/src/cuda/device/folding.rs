//! Choice of the threads that fold rows.

use super::Schedule;
use super::tuning::{BUSY, COLUMN_PART, COLUMNS_LEAST, COLUMNS_SHORT, ROW_EACH, ROW_LONG, ROWS_MANY};

/// Threads that fold a row; see `kernels/par/segreduce.cuh`. It depends on sizes only, so that results do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Folding {
    /// So many neighbouring threads.
    Lanes(u64),
    /// A block of threads.
    Block,
    /// The block that has its elements in an equal share of all.
    Shares,
    /// A thread in each warp of a block, which reads its elements beside those of the neighbouring rows; or of a block for each part of so many elements.
    #[allow(missing_docs)]
    Columns { part: u64 },
}

impl Folding {
    /// For so many rows, with so many elements in all and in the longest. `columns`: elements stand in memory as those of columns do.
    ///
    /// Nobody may have much more to do than the others: where one row is much longer than the mean, shares are equal whatever the rows are. They
    /// cost a search and a look at earlier tiles, which short rows of similar lengths, and long ones if they are many, do without.
    pub fn of(rows: u64, total: u64, longest: u64, columns: bool) -> Folding {
        let mean = total.div_ceil(rows.max(1));
        if columns && rows >= COLUMNS_LEAST {
            return Folding::of_columns(rows, longest);
        }
        if longest > 16.max(4 * mean) {
            return Folding::Shares;
        }
        match mean {
            0..=128 => Folding::Lanes(mean.div_ceil(ROW_EACH).next_power_of_two().clamp(1, 32)),
            ROW_LONG.. if rows >= ROWS_MANY => Folding::Block,
            _ => Folding::Shares,
        }
    }

    /// Columns have one length.
    fn of_columns(rows: u64, length: u64) -> Folding {
        if length <= COLUMNS_SHORT {
            return Folding::Lanes(1);
        }
        let parts = BUSY.div_ceil(rows.div_ceil(Schedule::COLUMNS)).min(length / COLUMN_PART).max(1);
        Folding::Columns { part: length.div_ceil(parts) }
    }
}

#[cfg(test)]
mod tests {
    use super::Folding;

    #[test]
    fn rows_of_similar_lengths_have_threads_of_their_own() {
        assert_eq!(Folding::of(1 << 20, 3 << 20, 9, false), Folding::Lanes(1));
        assert_eq!(Folding::of(1 << 20, 32 << 20, 40, false), Folding::Lanes(8));
        assert_eq!(Folding::of(1 << 20, 120 << 20, 200, false), Folding::Lanes(32));
        assert_eq!(Folding::of(2048, 2048 * 5000, 9000, false), Folding::Block);
    }

    #[test]
    fn skewed_rows_and_few_long_ones_are_shared() {
        assert_eq!(Folding::of(1 << 20, 3 << 20, 1 << 20, false), Folding::Shares);
        assert_eq!(Folding::of(16, 16 << 20, 1 << 20, false), Folding::Shares);
        assert_eq!(Folding::of(1 << 16, 600 << 16, 800, false), Folding::Shares);
    }

    #[test]
    fn columns_are_read_side_by_side() {
        assert_eq!(Folding::of(1 << 20, 30 << 20, 30, true), Folding::Lanes(1));
        assert_eq!(Folding::of(1 << 20, 1000 << 20, 1000, true), Folding::Columns { part: 1000 });
        // Of few columns, parts.
        assert_eq!(Folding::of(32, 32 << 20, 1 << 20, true), Folding::Columns { part: (1 << 20) / 512 });
        // Of fewer than a sector has, most of what is read would be lost anyway.
        assert_eq!(Folding::of(4, 4 << 20, 1 << 20, true), Folding::Shares);
    }
}
