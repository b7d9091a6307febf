//! Contractions: `out[i, j]` combines `f a[i, k] b[k, j]` over all `k`, as in a product of matrices; or a batch of such.
//!
//! ```text
//! for every product of the batch, every panel of columns j, and every chunk of rows i
//!     copy the panel's part of b, so that its columns lie side by side        stays in a cache
//!     for every tile of 4 rows: for k: for the tile's rows and columns: acc = acc + a * b
//! ```
//!
//! Each result starts from its first value and takes its elements in the order of `k`, with the operators of the scalar body:
//! results are what the loop over `k` would give, to the bit, for every number of threads.

mod tile;
mod transpose;

use super::launch::Launch;
use super::threads;
use crate::array::Array;
use crate::check::RuntimeError;
use crate::plan::{Contraction, EnvLayout, ErrorRecord, Factor, Products, Sum};
use crate::prim::Prim;
use std::ops::Range;
use tile::{Accumulators, Number, ROWS, Tile};

/// Rows of a chunk, the work of one thread at a time.
const CHUNK: usize = 256;
/// Steps of `k` whose panel stays in a cache.
const DEPTH: usize = 2048;
/// Steps of `k` that are copied from one column after the other.
const DEEP: usize = 16;
/// With fewer rows, columns or steps the ordinary kernel is as good.
const FEW: usize = 4;

/// A factor of all products of a batch: the first one, and what to add to its place per index of the batch, in bytes.
struct Batch {
    first: Matrix,
    strides: Vec<isize>,
}

/// A factor in memory: the element at `[row, column, k]` is at `first + row * by_row + …`.
#[derive(Clone, Copy)]
struct Matrix {
    first: *const u8,
    row: isize,
    column: isize,
    depth: isize,
}

// SAFETY: it is read only, while the launch holds its array.
unsafe impl Sync for Matrix {}

/// The elements of a panel for one `k`; vectors of them are in one cache line each.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line<T, const C: usize>([T; C]);

/// Destination of the results, and their initial values.
struct Target {
    out: *mut u8,
    /// One value per result, or one for all.
    initial: *const u8,
    is_shared: bool,
}

// SAFETY: every result is written by one task.
unsafe impl Sync for Target {}

impl Launch<'_> {
    /// Sizes of the contraction, if it is large enough to be done as one.
    pub fn contraction_sizes(&self, c: &Contraction) -> Option<Products> {
        let sizes = c.sizes(self.captures(), self.space.rows, self.space.total)?;
        [sizes.rows, sizes.columns, sizes.depth].into_iter().all(|n| n >= FEW).then_some(sizes)
    }

    /// Does the kernel as a contraction, if it is one and large enough: whether it did. `out` has one element per result.
    pub fn contract(&self, out: &Array) -> Result<bool, RuntimeError> {
        let done = self.contract_rows(out, None);
        self.check()?;
        Ok(done)
    }

    /// The same for some rows, numbered through all products.
    pub fn contract_rows(&self, out: &Array, rows: Option<Range<usize>>) -> bool {
        let Some(c) = self.kernel.contraction() else { return false };
        let Some(sizes) = self.contraction_sizes(c) else { return false };
        let products: usize = sizes.batch.iter().product();
        let rows = rows.unwrap_or(0..products * sizes.rows);
        match c.prim {
            Prim::F32 => self.contract_as::<f32, 32, 16, 8>(c, &sizes, rows, out),
            Prim::F64 => self.contract_as::<f64, 16, 8, 4>(c, &sizes, rows, out),
            Prim::I32 => self.contract_as::<i32, 32, 16, 32>(c, &sizes, rows, out),
            Prim::I64 => self.contract_as::<i64, 16, 8, 16>(c, &sizes, rows, out),
            _ => false,
        }
    }

    pub fn evaluate(&self, sum: &Sum) -> i64 {
        sum.value(self.captures())
    }

    /// The words of all captures.
    fn captures(&self) -> &[u64] {
        &self.env[EnvLayout::CAPTURES..self.kernel.layout.initial_at()]
    }

    /// The address of a captured array.
    fn captured(&self, array: usize) -> *const u8 {
        self.env[EnvLayout::CAPTURES + array] as *const u8
    }

    fn factor(&self, f: &Factor, size: usize) -> Batch {
        let bytes = |x: &Sum| self.evaluate(x).wrapping_mul(size as i64) as isize;
        let first = Matrix {
            first: self.captured(f.array).wrapping_offset(bytes(&f.first)),
            row: bytes(&f.row),
            column: bytes(&f.column),
            depth: bytes(&f.depth),
        };
        Batch { first, strides: f.batch.iter().map(bytes).collect() }
    }

    fn contract_as<T: Number, const C: usize, const H: usize, const Q: usize>(
        &self,
        c: &Contraction,
        sizes: &Products,
        rows: Range<usize>,
        out: &Array,
    ) -> bool {
        let Some(run) = tile::choose::<T, C, H, Q>(c.combine, c.pair) else { return false };
        let (a, b) = (self.factor(&c.left, size_of::<T>()), self.factor(&c.right, size_of::<T>()));
        let initial = match c.initial {
            Some(capture) => self.env[EnvLayout::CAPTURES + capture] as *const u8,
            None => &raw const self.env[self.kernel.layout.initial_at()] as *const u8,
        };
        let target = Target { out: out.as_ptr(), initial, is_shared: c.initial.is_none() };
        let chunks = sizes.rows.div_ceil(CHUNK);
        let panels = sizes.columns.div_ceil(C);
        if rows.is_empty() {
            return true;
        }
        let first = rows.start / sizes.rows;
        let products = rows.end.div_ceil(sizes.rows) - first;
        threads::run(self.threads, products * panels * chunks, |task| {
            let (product, task) = (first + task / (panels * chunks), task % (panels * chunks));
            let rows = rows.start.saturating_sub(product * sizes.rows)
                ..(rows.end - product * sizes.rows).min(sizes.rows);
            let factors = (&a.product(product, &sizes.batch), &b.product(product, &sizes.batch));
            let target = target.of_product(product * sizes.rows * sizes.columns, size_of::<T>());
            self.contract_task::<T, C>(run, sizes, factors, &target, (task / chunks, task % chunks, rows));
        });
        true
    }

    /// One chunk of rows of one panel.
    fn contract_task<T: Number, const C: usize>(
        &self,
        run: Tile<T, C>,
        sizes: &Products,
        (a, b): (&Matrix, &Matrix),
        target: &Target,
        (panel, chunk, within): (usize, usize, Range<usize>),
    ) {
        let column = panel * C;
        let columns = C.min(sizes.columns - column);
        let rows = within.start.max(chunk * CHUNK)..within.end.min((chunk + 1) * CHUNK);
        let mut packed = vec![Line([T::default(); C]); DEPTH.min(sizes.depth)];
        for k in (0..sizes.depth).step_by(DEPTH) {
            if self.is_cancelled() {
                return;
            }
            let depth = DEPTH.min(sizes.depth - k);
            let from = b.at(0, column, k);
            // SAFETY: the panel's elements are inside the array: the kernel's body reads them without a check.
            unsafe { pack(&mut packed, from, (b.column, b.depth), (columns, depth)) };
            for row in rows.clone().step_by(ROWS) {
                let count = ROWS.min(rows.end - row);
                let place = |r: usize| (row + r) * sizes.columns + column;
                let mut acc: Accumulators<T, C> = [[T::default(); C]; ROWS];
                for (r, line) in acc.iter_mut().enumerate().take(count) {
                    // SAFETY: results from `place(r)` are this task's; after the first steps they hold what was combined so far.
                    unsafe { target.load(k == 0, place(r), &mut line[..columns]) };
                }
                // Rows that are not there are computed like the last one, and forgotten.
                let lines = std::array::from_fn(|r| a.at(row + r.min(count - 1), 0, k) as *const T);
                // SAFETY: the rows' elements are inside their array, as the panel's are.
                unsafe { run(depth, lines, a.depth, packed.as_ptr() as *const T, &mut acc) };
                for (r, line) in acc.iter().enumerate().take(count) {
                    // SAFETY: as above.
                    unsafe { target.store(place(r), &line[..columns]) };
                }
            }
        }
    }

    fn is_cancelled(&self) -> bool {
        // SAFETY: the run holds its token, whose flag this is, and only ever sets it.
        let flag = unsafe { &*(self.env[EnvLayout::CANCEL] as *const std::sync::atomic::AtomicU8) };
        let cancelled = flag.load(std::sync::atomic::Ordering::Relaxed) != 0;
        if cancelled {
            self.fail(ErrorRecord { check: ErrorRecord::CANCELLED, pos: i64::MIN, ..Default::default() });
        }
        cancelled
    }
}

impl Batch {
    /// The factor of a product, which is numbered over the sizes of the batch.
    fn product(&self, mut number: usize, sizes: &[usize]) -> Matrix {
        let mut matrix = self.first;
        for (stride, size) in self.strides.iter().zip(sizes).rev() {
            let offset = ((number % size) as isize).wrapping_mul(*stride);
            matrix.first = matrix.first.wrapping_offset(offset);
            number /= size;
        }
        matrix
    }
}

impl Matrix {
    fn at(&self, row: usize, column: usize, k: usize) -> *const u8 {
        let offset = (row as isize * self.row)
            .wrapping_add(column as isize * self.column)
            .wrapping_add(k as isize * self.depth);
        self.first.wrapping_offset(offset)
    }
}

impl Target {
    /// The target of the product whose results begin at this place.
    fn of_product(&self, place: usize, size: usize) -> Target {
        let out = self.out.wrapping_add(place * size);
        let initial = if self.is_shared { self.initial } else { self.initial.wrapping_add(place * size) };
        Target { out, initial, is_shared: self.is_shared }
    }

    /// # Safety
    /// The results from `place` on exist and are the caller's.
    unsafe fn load<T: Number>(&self, first: bool, place: usize, to: &mut [T]) {
        let from = if first { self.initial } else { self.out } as *const T;
        for (i, x) in to.iter_mut().enumerate() {
            let at = if first && self.is_shared { 0 } else { place + i };
            // SAFETY: the caller's promise.
            *x = unsafe { from.add(at).read() };
        }
    }

    /// # Safety
    /// As for `load`.
    unsafe fn store<T: Number>(&self, place: usize, from: &[T]) {
        for (i, x) in from.iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { (self.out as *mut T).add(place + i).write(*x) };
        }
    }
}

/// Copies a panel: `depth` times the panel's columns, side by side.
///
/// # Safety
/// The elements at these strides (in bytes) are readable.
unsafe fn pack<T: Number, const C: usize>(
    packed: &mut [Line<T, C>],
    from: *const u8,
    (by_column, by_depth): (isize, isize),
    (columns, depth): (usize, usize),
) {
    let packed = &mut packed[..depth];
    if by_column == size_of::<T>() as isize && columns == C {
        for (k, Line(line)) in packed.iter_mut().enumerate() {
            // SAFETY: the caller's promise. Strides are multiples of an element's size.
            *line = unsafe { (from.wrapping_offset(k as isize * by_depth) as *const [T; C]).read() };
        }
        return;
    }
    // What is read of a column should be in one cache line: those of different columns may not be in the cache together.
    for (block, lines) in packed.chunks_mut(DEEP).enumerate() {
        let start = from.wrapping_offset((block * DEEP) as isize * by_depth);
        for j in 0..columns {
            let column = start.wrapping_offset(j as isize * by_column);
            for (k, Line(line)) in lines.iter_mut().enumerate() {
                // SAFETY: the caller's promise.
                line[j] = unsafe { (column.wrapping_offset(k as isize * by_depth) as *const T).read() };
            }
        }
    }
}
