//! Transpositions: copies in which neighbours in a row come from places far apart, and neighbours in a column from places next to each other.
//!
//! ```text
//! for every block of rows, for every square tile of it
//!     copy the tile's part of every column to a buffer                        neighbours are read together
//!     for every row of the tile: copy it from the buffer                      neighbours are written together
//! ```

use crate::array::Array;
use crate::check::RuntimeError;
use crate::exec::launch::Launch;
use crate::exec::threads;
use crate::plan::Factor;

/// Rows and columns of a tile.
const SIDE: usize = 16;
/// Rows of a block, the work of one thread at a time.
const BLOCK: usize = 4 * SIDE;

/// What is copied: the element at `[row, column]` is at `first + row + column * stride`.
#[derive(Clone, Copy)]
struct Transposed<T> {
    first: *const T,
    stride: isize,
    rows: usize,
    columns: usize,
    out: *mut T,
}

// SAFETY: the source is read only, while the launch holds its array, and every row is written by one thread.
unsafe impl<T> Sync for Transposed<T> {}

impl Launch<'_> {
    /// Does the kernel as a transposition, if it is one and large enough: whether it did.
    pub fn transpose(&self, out: &Array) -> Result<bool, RuntimeError> {
        let Some(from) = self.kernel.transposition() else { return Ok(false) };
        let columns = self.space.total.checked_div(self.space.rows).unwrap_or(0);
        let stride = self.evaluate(&from.column) as isize;
        if self.space.rows < SIDE || columns < SIDE || self.evaluate(&from.row) != 1 {
            return Ok(false);
        }
        match out.prim().size() {
            1 => self.transpose_as::<u8>(from, columns, stride, out),
            2 => self.transpose_as::<u16>(from, columns, stride, out),
            4 => self.transpose_as::<u32>(from, columns, stride, out),
            _ => self.transpose_as::<u64>(from, columns, stride, out),
        }
        self.check()?;
        Ok(true)
    }

    fn transpose_as<T: Copy + Default>(&self, from: &Factor, columns: usize, stride: isize, out: &Array) {
        let array = self.captured(from.array) as *const T;
        let first = array.wrapping_offset(self.evaluate(&from.first) as isize);
        let out = out.as_ptr() as *mut T;
        let all = Transposed { first, stride, rows: self.space.rows, columns, out };
        threads::run(self.threads, self.space.rows.div_ceil(BLOCK), |block| {
            if !self.is_cancelled() {
                // SAFETY: the kernel's body reads these elements without a check, and `out` has one for each.
                unsafe { all.block(block * BLOCK) };
            }
        });
    }
}

impl<T: Copy + Default> Transposed<T> {
    /// The rows of a block.
    ///
    /// # Safety
    /// The elements are there, and so are as many places; nobody else writes to those of these rows.
    unsafe fn block(&self, from: usize) {
        let to = (from + BLOCK).min(self.rows);
        for column in (0..self.columns).step_by(SIDE) {
            let columns = SIDE.min(self.columns - column);
            for row in (from..to).step_by(SIDE) {
                // SAFETY: as the caller promises.
                unsafe { self.tile((row, SIDE.min(to - row)), (column, columns)) };
            }
        }
    }

    /// # Safety
    /// As for `block`.
    unsafe fn tile(&self, (row, rows): (usize, usize), (column, columns): (usize, usize)) {
        let mut tile = [[T::default(); SIDE]; SIDE];
        for (c, line) in tile.iter_mut().enumerate().take(columns) {
            let start = self.first.wrapping_offset((column + c) as isize * self.stride).wrapping_add(row);
            // SAFETY: as the caller promises.
            unsafe { start.copy_to_nonoverlapping(line.as_mut_ptr(), rows) };
        }
        (0..rows).for_each(|r| {
            let line: [T; SIDE] = std::array::from_fn(|c| tile[c][r]);
            // SAFETY: as the caller promises.
            unsafe {
                let start = self.out.add((row + r) * self.columns + column);
                start.copy_from_nonoverlapping(line.as_ptr(), columns);
            }
        });
    }
}
