//! Numbers that decide how kernels are launched, each with its reason. They depend on sizes only, never on the device, since results do.
//!
//! A number without a named measurement has none recorded: it is a guess that has done no harm.

/// Blocks of a reduction of one row, at most about as many: each leaves a value that one block folds.
pub const REDUCE_BLOCKS: u64 = 1024;

/// Blocks of a histogram, at most: each has a table that is made and added.
pub const HIST_BLOCKS: u64 = 512;
/// Bytes of shared memory that every device gives a block.
pub const SHARED: u64 = 48 << 10;
/// Locks of a histogram, at most.
pub const LOCKS: u64 = 1 << 20;

// Reductions of rows (`folding`).

/// Elements that a thread should have.
pub const ROW_EACH: u64 = 4;
/// Elements of a row that keep a block busy.
pub const ROW_LONG: u64 = 4096;
/// Rows that keep a device busy, a block each.
pub const ROWS_MANY: u64 = 1024;
/// Rows that are read side by side as columns, at least: a sector of 32 bytes has 8 elements of 4 bytes, and with fewer rows most of each is not used.
pub const COLUMNS_LEAST: u64 = 8;
/// Elements of columns up to which a thread folds all of one; with more, the warps of a block share them.
pub const COLUMNS_SHORT: u64 = 32;
/// Elements of a column in a part of it, at least: 16 for each warp of a block.
pub const COLUMN_PART: u64 = 128;
/// Blocks that keep a device busy: a large one has 132 multiprocessors, each with room for 4 to 8 of 256 threads.
pub const BUSY: u64 = 512;

// Contractions (`contract`).

/// Products of elements from which on tiles pay: below, all there is to be done takes no longer than a launch, and many short rows are more
/// parallel than few tiles.
pub const CONTRACT_WORK: u64 = 1 << 16;
/// Steps of `k`, at least: with fewer, writing the results takes longer than computing them, which maps and reductions of rows do as well.
pub const CONTRACT_DEPTH: u64 = 4;
/// Of so many places for results in tiles at least one must be used. A tile reads every element of a row of a factor once for 64 results, so it wins
/// by far where it is full, and as long as a few columns share what was read where it is not.
pub const CONTRACT_USED: u64 = 16;
/// Large tiles from which on they keep a device busy; they read shared memory half as often as small ones.
pub const CONTRACT_LARGE: u64 = 264;
/// Small tiles that keep a device busy: two for each of 132 multiprocessors. If a reduction has fewer, `k` is cut into parts.
pub const CONTRACT_BUSY: u64 = 264;
/// Steps of `k` in a part, at least: each part writes all results, and one thread per result combines them.
pub const CONTRACT_PART: u64 = 256;
/// Steps of `k` of one part, at most: blocks count them with 32 bits, and the cancellation of a run waits for them.
pub const CONTRACT_LONGEST: u64 = 1 << 24;

/// Rows and columns of a matrix, at least, that is transposed by tiles: those have 32.
pub const TRANSPOSE_LEAST: u64 = 16;
