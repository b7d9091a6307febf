//! Transpositions: copies in which neighbours in a row come from places far apart, and neighbours in a column from places next to each other.
//!
//! ```text
//! for every block of rows, for every square tile of it, whose elements share their cache lines
//!     read a few elements of a few columns                     a a a a   b b b b   c c c c   d d d d
//!     every other step: the first half with the second         a c a c   a c a c   b d b d   b d b d
//!     write a few elements of a few rows                       a b c d   a b c d   a b c d   a b c d
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

/// Source of the copy: the element at `[row, column]` is at `first + row + column * stride`.
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
            1 => self.transpose_as::<u8, 16>(from, columns, stride, out),
            2 => self.transpose_as::<u16, 8>(from, columns, stride, out),
            4 => self.transpose_as::<u32, 8>(from, columns, stride, out),
            _ => self.transpose_as::<u64, 2>(from, columns, stride, out),
        }
        self.check()?;
        Ok(true)
    }

    /// With squares of so many rows and columns.
    fn transpose_as<T: Copy + Default, const SQUARE: usize>(
        &self,
        from: &Factor,
        columns: usize,
        stride: isize,
        out: &Array,
    ) {
        let array = self.captured(from.array) as *const T;
        let first = array.wrapping_offset(self.evaluate(&from.first) as isize);
        let out = out.as_ptr() as *mut T;
        let all = Transposed { first, stride, rows: self.space.rows, columns, out };
        threads::run(self.threads, self.space.rows.div_ceil(BLOCK), |block| {
            if !self.is_cancelled() {
                // SAFETY: the kernel's body reads these elements without a check, and `out` has one for each.
                unsafe { all.block::<SQUARE>(block * BLOCK) };
            }
        });
    }
}

impl<T: Copy + Default> Transposed<T> {
    /// The rows of a block.
    ///
    /// # Safety
    /// The elements are there, and so are as many places; nobody else writes to those of these rows.
    unsafe fn block<const SQUARE: usize>(&self, from: usize) {
        let to = (from + BLOCK).min(self.rows);
        for column in (0..self.columns).step_by(SIDE) {
            let columns = SIDE.min(self.columns - column);
            for row in (from..to).step_by(SIDE) {
                let rows = SIDE.min(to - row);
                if (rows, columns) == (SIDE, SIDE) {
                    // SAFETY: as the caller promises.
                    unsafe { self.tile::<SQUARE>(row, column) };
                } else {
                    // SAFETY: as the caller promises.
                    unsafe { self.part((row, rows), (column, columns)) };
                }
            }
        }
    }

    /// A tile, square after square.
    ///
    /// # Safety
    /// As for `block`.
    unsafe fn tile<const SQUARE: usize>(&self, row: usize, column: usize) {
        for row in (row..row + SIDE).step_by(SQUARE) {
            for column in (column..column + SIDE).step_by(SQUARE) {
                // SAFETY: as the caller promises.
                unsafe { self.square::<SQUARE>(row, column) };
            }
        }
    }

    /// # Safety
    /// As for `block`.
    #[inline(always)]
    unsafe fn square<const N: usize>(&self, row: usize, column: usize) {
        let mut square = [[T::default(); N]; N];
        for (c, line) in square.iter_mut().enumerate() {
            // SAFETY: as the caller promises.
            *line = unsafe { self.from(row, column + c).cast::<[T; N]>().read_unaligned() };
        }
        for _ in 0..N.ilog2() {
            square = halves_shuffled(&square);
        }
        for (r, line) in square.iter().enumerate() {
            // SAFETY: as the caller promises.
            unsafe {
                self.out.add((row + r) * self.columns + column).cast::<[T; N]>().write_unaligned(*line)
            };
        }
    }

    /// A tile that is not whole.
    ///
    /// # Safety
    /// As for `block`.
    unsafe fn part(&self, (row, rows): (usize, usize), (column, columns): (usize, usize)) {
        for r in row..row + rows {
            for c in column..column + columns {
                // SAFETY: as the caller promises.
                unsafe { self.out.add(r * self.columns + c).write(self.from(r, c).read()) };
            }
        }
    }

    #[inline(always)]
    fn from(&self, row: usize, column: usize) -> *const T {
        self.first.wrapping_offset(column as isize * self.stride).wrapping_add(row)
    }
}

/// Lines of the first half shuffled with those of the second.
#[inline(always)]
fn halves_shuffled<T: Copy + Default, const N: usize>(lines: &[[T; N]; N]) -> [[T; N]; N] {
    let mut shuffled = [[T::default(); N]; N];
    for (k, line) in shuffled.iter_mut().enumerate() {
        let (a, b) = (&lines[k / 2], &lines[k / 2 + N / 2]);
        let first = k % 2 * (N / 2);
        for i in 0..N / 2 {
            (line[2 * i], line[2 * i + 1]) = (a[first + i], b[first + i]);
        }
    }
    shuffled
}
