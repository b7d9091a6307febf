//! Bulk work done chunk by chunk, so that what it makes on the way fits into memory.
//!
//! ```text
//! rows 0..1000      all at once: out of memory
//!      0..500       out of memory
//!      0..250       done; so are 250..500, 500..750, 750..1000
//! ```
//!
//! The memory that a chunk needs is found by trying: programs have no effects, so what ran out of memory is done again with half of
//! the rows. Where chunks contain chunks (calls in calls), each leaves most of the memory to those inside: one that holds more than
//! its share when the next level begins is made smaller *before* anything is done there ([`is_full`]). What does not fit even row by
//! row may have needed something of all rows of the level around it, which is then tried again with half of its rows; but not for ever,
//! since levels may be many.

use crate::check::{ErrorKind, RuntimeError};
use crate::pool;
use std::cell::Cell;

/// A chunk may hold this part of what is left of the memory when it begins, before those inside it begin.
const SHARE: isize = 8;

/// So often in all, levels are tried again because a level inside failed row by row.
const CHANCES: usize = 24;

/// The chunk that is being worked on, on this thread.
#[derive(Clone, Copy)]
struct Current {
    /// Bytes that the thread may hold while the next level has not begun.
    most: isize,
    /// True if it has more than one row.
    divisible: bool,
}

thread_local! {
    static CURRENT: Cell<Option<Current>> = const { Cell::new(None) };
    /// One row alone was too much.
    static ONE_FAILED: Cell<bool> = const { Cell::new(false) };
    /// Number of times that a level may still be tried again after that.
    static LEFT: Cell<usize> = const { Cell::new(0) };
}

/// The rows of an operation, of which some are done.
#[derive(Debug)]
pub struct Chunks {
    rows: usize,
    done: usize,
    /// Of the next chunk.
    size: usize,
    started: bool,
    /// A chunk was worked on, with or without success.
    tried: bool,
}

impl Chunks {
    /// Of so many rows, at most `most` at a time.
    pub fn new(rows: usize, most: u64) -> Chunks {
        Chunks {
            rows,
            done: 0,
            size: usize::try_from(most).unwrap_or(usize::MAX).max(1),
            started: false,
            tried: false,
        }
    }

    /// First row of the next chunk, and its number of rows. Without rows there is one chunk, of none.
    pub fn next(&self) -> Option<(usize, usize)> {
        let left = self.rows - self.done;
        (left > 0 || !self.started).then(|| (self.done, left.min(self.size)))
    }

    /// Works on the next chunk. `None` if it was too large: the next one begins where it did, with fewer rows.
    pub fn run<T>(
        &mut self,
        work: impl FnOnce(usize, usize) -> Result<T, RuntimeError>,
    ) -> Result<Option<T>, RuntimeError> {
        let (first, rows) = self.next().unwrap_or((self.done, 0));
        if !std::mem::replace(&mut self.tried, true) && CURRENT.get().is_none() {
            ONE_FAILED.set(false);
            LEFT.set(CHANCES);
        }
        let result = {
            let _around = Around::begin(rows > 1);
            work(first, rows)
        };
        match result {
            Ok(x) => {
                self.started = true;
                self.done += rows;
                Ok(Some(x))
            }
            Err(e) if e.kind != ErrorKind::OutOfMemory => Err(e),
            Err(_) if rows > 1 && is_worth_another_try() => {
                self.size = rows.div_ceil(2);
                Ok(None)
            }
            Err(e) => {
                ONE_FAILED.set(true);
                Err(e)
            }
        }
    }
}

/// True if fewer rows might do.
fn is_worth_another_try() -> bool {
    if !ONE_FAILED.replace(false) {
        return true;
    }
    let left = LEFT.get();
    LEFT.set(left.saturating_sub(1));
    left > 0
}

/// Restores what was current before.
struct Around(Option<Current>);

impl Around {
    fn begin(divisible: bool) -> Around {
        let before = CURRENT.get();
        let most = pool::thread_balance().saturating_add(pool::left() / SHARE);
        CURRENT.set(Some(Current { most, divisible }));
        Around(before)
    }
}

impl Drop for Around {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

/// True if the chunk that this thread works on holds more than its share and could be smaller: then nothing more should be begun
/// inside it, but the error of a lack of memory given.
pub fn is_full() -> bool {
    CURRENT.get().is_some_and(|c| c.divisible && pool::thread_balance() > c.most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{CheckKind, Span};
    use crate::prim::Scalar;

    fn exhausted() -> RuntimeError {
        RuntimeError::check(&CheckKind::OutOfMemory, &[Scalar::I64(1)], Span::default())
    }

    /// Chunks of these rows where so many at a time are too many.
    fn worked(rows: usize, most: u64, too_many: usize) -> Result<Vec<(usize, usize)>, RuntimeError> {
        let mut chunks = Chunks::new(rows, most);
        let mut done = Vec::new();
        while chunks.next().is_some() {
            done.extend(chunks.run(|lo, n| if n >= too_many { Err(exhausted()) } else { Ok((lo, n)) })?);
        }
        Ok(done)
    }

    #[test]
    fn chunks_cover_all_rows_once() {
        assert_eq!(worked(10, 4, 100), Ok(vec![(0, 4), (4, 4), (8, 2)]));
        assert_eq!(worked(10, u64::MAX, 4), Ok(vec![(0, 3), (3, 3), (6, 3), (9, 1)]));
        assert_eq!(worked(0, 3, 100), Ok(vec![(0, 0)]));
    }

    /// Rows of an outer level that hold something for every row while inner ones work: how often the inner ones are tried.
    fn nested(rows: usize, fits: impl Fn(usize) -> bool) -> (Result<usize, RuntimeError>, usize) {
        let (mut tries, mut done) = (0, 0);
        let mut outer = Chunks::new(rows, u64::MAX);
        while outer.next().is_some() {
            let worked = outer.run(|_, around| {
                let mut inner = Chunks::new(1024, u64::MAX);
                while inner.next().is_some() {
                    inner.run(|_, _| {
                        tries += 1;
                        if fits(around) { Ok(()) } else { Err(exhausted()) }
                    })?;
                }
                Ok(around)
            });
            match worked {
                Ok(rows) => done += rows.unwrap_or(0),
                Err(e) => return (Err(e), tries),
            }
        }
        (Ok(done), tries)
    }

    #[test]
    fn a_level_is_tried_with_fewer_rows_if_one_row_inside_does_not_fit() {
        assert_eq!(nested(1000, |around| around <= 10).0, Ok(1000));
    }

    #[test]
    fn a_row_that_does_not_fit_fails_after_some_tries() {
        let (result, tries) = nested(1 << 40, |_| false);
        assert_eq!(result, Err(exhausted()));
        assert_eq!(tries, 11 * (CHANCES + 1));
    }
}
