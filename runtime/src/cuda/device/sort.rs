//! Sorting rows on a device, by the kernels of `kernels/program/sort.cuh`.

use super::array::Array;
use super::bulk;
use super::desc::Desc;
use super::driver::Address;
use super::run::{Cuda, address, broken};
use crate::check::{RuntimeError, Span};
use crate::exec::Run;
use crate::exec::device::{Held, Rows};
use crate::exec::internal;
use crate::prim::Prim;
use std::sync::Arc;

/// Threads of a block, elements that it sorts, values of a digit, and digits: as in that header.
const THREADS: u32 = 256;
const TILE: u64 = 256 * 7;
const RADIX: usize = 256;
const DIGITS: usize = 8;
/// Elements of a row that a block has room for.
const SHORT: usize = 256 * 4;

/// Numbers and their places, and as much room.
struct Sorter<'c, 'a> {
    cuda: &'c Cuda<'a>,
    n: u64,
    keys: [Array; 2],
    order: [Array; 2],
    span: Span,
}

/// The keys of every row in ascending order, and the values that came with them.
pub fn rows<'a>(
    run: &Run<Cuda<'a>>,
    rows: &Rows<Cuda<'a>>,
    keys: Array,
    values: Option<Array>,
    span: Span,
) -> Result<Vec<Array>, RuntimeError> {
    if keys.len() == 0 {
        return Ok(std::iter::once(keys).chain(values).collect());
    }
    let cuda = &run.device;
    let order = match descriptor(cuda, rows, keys.len(), span)? {
        Some(d) if d.longest(cuda)? <= SHORT && d.rows() <= i32::MAX as usize => {
            short_rows(cuda, &d, &keys, span)?
        }
        d => by_digits_and_row(cuda, d.as_deref(), &keys, span)?,
    };
    std::iter::once(keys).chain(values).map(|a| gathered(cuda, &order, &a, span)).collect()
}

/// The order of elements that sorts every row, found by digits.
fn by_digits_and_row(
    cuda: &Cuda,
    rows: Option<&Desc>,
    keys: &Array,
    span: Span,
) -> Result<Array, RuntimeError> {
    let mut sorter = Sorter::new(cuda, keys, span)?;
    sorter.by_digits(keys.prim().size())?;
    if let Some(rows) = rows {
        gather(cuda, &sorter.order[0], &sorter.keys[0], &rows.seg_ids(cuda, span)?, span)?;
        sorter.by_digits(digits_below(rows.rows()))?;
    }
    let [order, _] = sorter.order;
    Ok(order)
}

/// The same where a warp or a block has room for each row.
fn short_rows(cuda: &Cuda, rows: &Desc, keys: &Array, span: Span) -> Result<Array, RuntimeError> {
    let order = cuda.fresh(Prim::I64, keys.len(), span)?;
    let (count, size) = (rows.rows() as u64, keys.prim().size());
    let [to, offsets, from] = [&order, rows.offsets(), keys].map(|a| address(a, span));
    let words = &[to?, count, keys.len() as u64, offsets?, from?, kind(keys.prim())];
    cuda.launch_bulk(
        &format!("bulk_sort_warp{size}"),
        (32 * count).div_ceil(u64::from(THREADS)),
        THREADS,
        words,
    )?;
    if rows.longest(cuda)? > 32 {
        cuda.launch_bulk(&format!("bulk_sort_block{size}"), count, THREADS, words)?;
    }
    Ok(order)
}

/// The elements in that order.
fn gathered(cuda: &Cuda, order: &Array, a: &Array, span: Span) -> Result<Array, RuntimeError> {
    let to = cuda.fresh(a.prim(), a.len(), span)?;
    gather(cuda, order, &to, a, span)?;
    Ok(to)
}

fn gather(cuda: &Cuda, order: &Array, to: &Array, from: &Array, span: Span) -> Result<(), RuntimeError> {
    let n = order.len();
    let words = &[address(to, span)?, n as u64, address(from, span)?, address(order, span)?];
    bulk::map(cuda, &format!("bulk_gather{}", from.prim().size()), n, words)
}

/// Positions by the number that each has.
pub struct ByNumber {
    /// The positions; those with equal numbers in their order.
    pub order: Array,
    /// Start among them of each number's positions, then their end.
    pub starts: Array,
}

/// Sorts `n` positions by numbers below `count`. `write` is given the addresses of an array of `u64` for the numbers and of one of `i64` for
/// the positions, and starts what fills them.
pub fn by_number(
    cuda: &Cuda,
    n: usize,
    count: usize,
    span: Span,
    write: impl FnOnce(Address, Address) -> Result<(), RuntimeError>,
) -> Result<ByNumber, RuntimeError> {
    let mut sorter = Sorter::empty(cuda, n, span)?;
    write(sorter.at(&sorter.keys[0])?, sorter.at(&sorter.order[0])?)?;
    sorter.by_digits(digits_below(count))?;
    let starts = cuda.fresh(Prim::I64, count + 1, span)?;
    let words = &[sorter.at(&starts)?, count as u64, n as u64, sorter.at(&sorter.keys[0])?];
    cuda.launch_bulk("bulk_sort_starts", (count as u64 + 1).div_ceil(u64::from(THREADS)), THREADS, words)?;
    let [order, _] = sorter.order;
    Ok(ByNumber { order, starts })
}

/// The rows, if they are more than one.
fn descriptor<'a>(
    cuda: &Cuda<'a>,
    rows: &Rows<Cuda<'a>>,
    n: usize,
    span: Span,
) -> Result<Option<Arc<Desc>>, RuntimeError> {
    Ok(match rows {
        Rows::One | Rows::Uniform(..=1, _) => None,
        Rows::Uniform(count, m) if count * m == n => {
            Some(Arc::new(super::desc::uniform(cuda, *count, *m, span)?))
        }
        Rows::Ragged(d) => Some(d.clone()).filter(|d| d.rows() > 1),
        Rows::Uniform(..) => return Err(internal("rows of an array that has other ones")),
    })
}

/// Kind of key, as the kernels number them: unsigned integers 0, signed ones 1, floats 2.
fn kind(prim: Prim) -> u64 {
    match prim {
        p if p.is_float() => 2,
        p if p.is_signed() => 1,
        _ => 0,
    }
}

/// Digits of the numbers below `n`.
fn digits_below(n: usize) -> usize {
    (usize::BITS - (n - 1).leading_zeros()).div_ceil(8) as usize
}

impl<'c, 'a> Sorter<'c, 'a> {
    fn new(cuda: &'c Cuda<'a>, keys: &Array, span: Span) -> Result<Sorter<'c, 'a>, RuntimeError> {
        let sorter = Sorter::empty(cuda, keys.len(), span)?;
        let [to, order] = [sorter.at(&sorter.keys[0])?, sorter.at(&sorter.order[0])?];
        let words = &[to, order, sorter.n, sorter.at(keys)?, kind(keys.prim())];
        bulk::map(cuda, &format!("bulk_sort_begin{}", keys.prim().size()), keys.len(), words)?;
        Ok(sorter)
    }

    /// Without numbers yet.
    fn empty(cuda: &'c Cuda<'a>, n: usize, span: Span) -> Result<Sorter<'c, 'a>, RuntimeError> {
        let fresh = |prim| cuda.fresh(prim, n, span);
        let (keys, order) = ([fresh(Prim::U64)?, fresh(Prim::U64)?], [fresh(Prim::I64)?, fresh(Prim::I64)?]);
        Ok(Sorter { cuda, n: n as u64, keys, order, span })
    }

    fn at(&self, a: &Array) -> Result<Address, RuntimeError> {
        address(a, self.span)
    }

    /// Sorts by the lowest digits.
    fn by_digits(&mut self, digits: usize) -> Result<(), RuntimeError> {
        let counts = self.cuda.scratch((8 * RADIX * DIGITS) as u64, self.span)?;
        let at = self.at(&counts)?;
        let blocks = self.n.div_ceil(TILE).min(1 << 12);
        self.cuda.launch_bulk("bulk_sort_count", blocks, THREADS, &[at, self.n, self.at(&self.keys[0])?])?;
        self.cuda.launch_bulk("bulk_sort_offsets", DIGITS as u64, THREADS, &[at])?;
        let tiles = self.n.div_ceil(TILE);
        let state = self.cuda.fresh(Prim::U8, 64 + tiles as usize * 8 * RADIX, self.span)?;
        for digit in 0..digits {
            self.cuda.gpu().set(self.at(&state)?, 0, state.size()).map_err(broken)?;
            let words = &[
                self.at(&self.keys[1])?,
                self.at(&self.order[1])?,
                self.n,
                self.at(&self.keys[0])?,
                self.at(&self.order[0])?,
                digit as u64,
                at + (8 * RADIX * digit) as u64,
                self.at(&state)?,
            ];
            self.cuda.launch_bulk("bulk_sort_pass", tiles, THREADS, words)?;
            self.keys.swap(0, 1);
            self.order.swap(0, 1);
        }
        Ok(())
    }
}
