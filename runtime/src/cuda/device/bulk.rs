//! Bulk operations without a body: the kernels of `kernels/program/bulk.cuh`.

use super::driver::Address;
use super::run::Cuda;
use crate::check::RuntimeError;
use crate::prim::Scalar;

/// Threads of a block, and elements of a thread, there and in `sort.cuh`.
const THREADS: u32 = 256;
const ITEMS: u64 = 4;
/// Of its scans and searches.
const TILE: u64 = 256 * 7;

/// A kernel over `n` elements.
pub fn map(cuda: &Cuda, name: &str, n: usize, words: &[u64]) -> Result<(), RuntimeError> {
    cuda.launch_bulk(name, (n as u64).div_ceil(u64::from(THREADS) * ITEMS), THREADS, words)
}

/// `0..n`.
pub fn iota(cuda: &Cuda, to: Address, n: usize) -> Result<(), RuntimeError> {
    map(cuda, "bulk_iota", n, &[to, n as u64])
}

/// `n` times `x`.
pub fn fill(cuda: &Cuda, to: Address, n: usize, x: Scalar) -> Result<(), RuntimeError> {
    map(cuda, &format!("bulk_fill{}", x.prim().size()), n, &[to, n as u64, x.bits()])
}

/// Offsets of `rows` rows: `0, m, 2m, …`, which are one more.
pub fn multiples(cuda: &Cuda, to: Address, rows: usize, m: usize) -> Result<(), RuntimeError> {
    map(cuda, "bulk_multiples", rows + 1, &[to, rows as u64 + 1, m as u64])
}

/// Differences of `rows + 1` offsets.
pub fn differences(cuda: &Cuda, to: Address, offsets: Address, rows: usize) -> Result<(), RuntimeError> {
    map(cuda, "bulk_differences", rows, &[to, rows as u64, offsets])
}

/// `to[i + 1] = to[0] + from[i + 1]` for `rows` rows: appends offsets to others. At `longest`, which was 0 or has been written by this
/// function, there is the largest length.
pub fn append_offsets(
    cuda: &Cuda,
    to: Address,
    from: Address,
    rows: usize,
    longest: Address,
) -> Result<(), RuntimeError> {
    map(cuda, "bulk_append_offsets", rows, &[to, rows as u64, from, longest])
}

/// Bytes of the scan's scratch memory.
pub fn offsets_scratch(rows: usize) -> u64 {
    super::launch::state_bytes((rows as u64).div_ceil(TILE), 8)
}

/// `to[i + 1]` is the sum of the lengths up to `i`, or the largest number if it is more. At `longest`, which was 0, there is the largest length.
pub fn offsets(
    cuda: &Cuda,
    to: Address,
    lengths: Address,
    rows: usize,
    (longest, state): (Address, Address),
) -> Result<(), RuntimeError> {
    let words = &[to, rows as u64, lengths, longest, state];
    cuda.launch_bulk("bulk_offsets", (rows as u64).div_ceil(TILE), THREADS, words)
}

/// The row of each of `total` elements.
pub fn rows_of(
    cuda: &Cuda,
    to: Address,
    offsets: Address,
    rows: usize,
    total: usize,
) -> Result<(), RuntimeError> {
    let words = &[to, rows as u64, total as u64, offsets];
    cuda.launch_bulk("bulk_rows_of", (rows as u64 + total as u64).div_ceil(TILE), THREADS, words)
}

/// Copies rows: row `i` of the offsets from element `from[i]` of the device's memory, in elements of `size` bytes.
pub fn gather_rows(
    cuda: &Cuda,
    to: Address,
    from: Address,
    offsets: Address,
    (rows, total, size): (usize, usize, usize),
) -> Result<(), RuntimeError> {
    let words = &[to, rows as u64, total as u64, offsets, from];
    let blocks = (rows as u64 + total as u64).div_ceil(TILE);
    cuda.launch_bulk(&format!("bulk_gather_rows{size}"), blocks, THREADS, words)
}
