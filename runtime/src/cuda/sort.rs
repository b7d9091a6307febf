//! Sorting rows on a device, by the kernels of `kernels/program/sort.cuh`.

use super::array::Array;
use super::driver::Address;
use super::run::{Cuda, address, broken};
use crate::check::{RuntimeError, Span};
use crate::exec::Run;
use crate::exec::device::{Held, Rows};
use crate::exec::internal;
use crate::prim::Prim;

/// Threads of a block, elements of a thread where it has one array and where it sorts, values of a digit, and digits: as in that
/// header.
const THREADS: u32 = 256;
const ITEMS: u64 = 4;
const TILE: u64 = 256 * 7;
const RADIX: usize = 256;
const DIGITS: usize = 8;

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
    let mut sorter = Sorter::new(&run.device, &keys, span)?;
    sorter.by_digits(keys.prim().size())?;
    if let Some((ids, count)) = row_numbers(run, rows, keys.len(), span)? {
        sorter.take_keys(&ids)?;
        sorter.by_digits(digits_below(count))?;
    }
    std::iter::once(keys).chain(values).map(|a| sorter.gathered(&a)).collect()
}

/// Positions by the number that each has.
pub struct ByNumber {
    /// The positions; those with equal numbers in their order.
    pub order: Array,
    /// Where among them each number begins, and their end.
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
    let words = &mut [sorter.at(&starts)?, count as u64, n as u64, sorter.at(&sorter.keys[0])?];
    cuda.launch_bulk("bulk_sort_starts", (count as u64 + 1).div_ceil(u64::from(THREADS)), THREADS, words)?;
    let [order, _] = sorter.order;
    Ok(ByNumber { order, starts })
}

/// The row of each element, and how many rows there are, if they are more than one.
fn row_numbers<'a>(
    run: &Run<Cuda<'a>>,
    rows: &Rows<Cuda<'a>>,
    n: usize,
    span: Span,
) -> Result<Option<(Array, usize)>, RuntimeError> {
    Ok(match rows {
        Rows::One | Rows::Uniform(..=1, _) => None,
        Rows::Uniform(count, m) if count * m == n => {
            let d = super::desc::uniform(&run.device, *count, *m, span)?;
            Some((d.seg_ids(&run.device, span)?, *count))
        }
        Rows::Ragged(d) if d.rows() > 1 => Some((d.seg_ids(&run.device, span)?, d.rows())),
        Rows::Ragged(_) => None,
        Rows::Uniform(..) => return Err(internal("rows of an array that has other ones")),
    })
}

/// Digits of the numbers below `n`.
fn digits_below(n: usize) -> usize {
    (usize::BITS - (n - 1).leading_zeros()).div_ceil(8) as usize
}

impl<'c, 'a> Sorter<'c, 'a> {
    fn new(cuda: &'c Cuda<'a>, keys: &Array, span: Span) -> Result<Sorter<'c, 'a>, RuntimeError> {
        let sorter = Sorter::empty(cuda, keys.len(), span)?;
        let words =
            &mut [sorter.at(&sorter.keys[0])?, sorter.at(&sorter.order[0])?, sorter.n, sorter.at(keys)?];
        sorter.map(&format!("bulk_sort_begin{}", keys.prim().size()), words)?;
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

    /// A kernel over all elements.
    fn map(&self, name: &str, words: &mut [u64]) -> Result<(), RuntimeError> {
        self.cuda.launch_bulk(name, self.n.div_ceil(u64::from(THREADS) * ITEMS), THREADS, words)
    }

    /// Sorts by the lowest digits.
    fn by_digits(&mut self, digits: usize) -> Result<(), RuntimeError> {
        let counts = self.cuda.scratch((8 * RADIX * DIGITS) as u64, self.span)?;
        let at = self.at(&counts)?;
        let blocks = self.n.div_ceil(TILE).min(1 << 12);
        self.cuda.launch_bulk(
            "bulk_sort_count",
            blocks,
            THREADS,
            &mut [at, self.n, self.at(&self.keys[0])?],
        )?;
        self.cuda.launch_bulk("bulk_sort_offsets", DIGITS as u64, THREADS, &mut [at])?;
        let tiles = self.n.div_ceil(TILE);
        let state = self.cuda.fresh(Prim::U8, 64 + tiles as usize * 8 * RADIX, self.span)?;
        for digit in 0..digits {
            self.cuda.gpu().set(self.at(&state)?, 0, state.size()).map_err(broken)?;
            let words = &mut [
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

    /// Other numbers of the elements, in the order found so far.
    fn take_keys(&mut self, of: &Array) -> Result<(), RuntimeError> {
        self.gather(&self.keys[0], of)
    }

    fn gather(&self, to: &Array, from: &Array) -> Result<(), RuntimeError> {
        let words = &mut [self.at(to)?, self.n, self.at(from)?, self.at(&self.order[0])?];
        self.map(&format!("bulk_gather{}", from.prim().size()), words)
    }

    fn gathered(&self, a: &Array) -> Result<Array, RuntimeError> {
        let to = self.cuda.fresh(a.prim(), a.len(), self.span)?;
        self.gather(&to, a)?;
        Ok(to)
    }
}
