//! Costs of a run, in all and by statement of its plan.
//!
//! **Work** is one per scalar operation and per element read or written. Passing, returning and naming arrays is free;
//! updating an array nobody else holds costs only the updates, appending to one only what is appended; otherwise the
//! copy counts too. Lengths and segment ids of a descriptor are made, and counted, once. What an executor does besides
//! (combining the parts of a giant row, say) is not the program's work.
//!
//! The interpreter of FLAT and the executor count the same for the same program.

use crate::exec::Desc;
use crate::prim::Prim;
use std::ops::{AddAssign, Sub};
use std::time::Duration;

/// Counted work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Scalar operations plus elements read and written. Of an executable that was not compiled to count, without what
    /// kernels do under conditions and in loops of their own.
    pub work: u64,
    /// Bytes of all arrays made, copies included.
    pub bytes_materialised: u64,
    /// Kernels and other bulk operations.
    pub launches: u64,
    /// Values that the host waits for: elements and totals that it reads, the number that a filter keeps.
    pub syncs: u64,
}

impl Counters {
    /// Counts a bulk operation that makes `made` bytes.
    pub fn launch(&mut self, work: usize, made: usize) {
        self.launches += 1;
        self.work += work as u64;
        self.bytes_materialised += made as u64;
    }

    /// Counts what a filter adds to its launch: the host waits for the number kept, and that many values are stored in each of its arrays.
    pub fn kept(&mut self, kept: i64, arrays: usize) {
        self.syncs += 1;
        self.work += kept as u64 * arrays as u64;
    }

    /// Counts a sort by digits of 8 bits: all is read and written once for each digit of the keys.
    pub fn sort(&mut self, keys: Prim, values: Option<Prim>, n: usize) {
        let arrays = 1 + usize::from(values.is_some());
        let bytes = keys.size() + values.map_or(0, Prim::size);
        self.launch(2 * n * arrays * keys.size(), n * bytes);
    }

    /// Counts the copy of an array that is to be updated while somebody else holds it.
    pub fn copy(&mut self, elements: usize, bytes: usize) {
        self.work += 2 * elements as u64;
        self.bytes_materialised += bytes as u64;
    }
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Counters) {
        self.work += other.work;
        self.bytes_materialised += other.bytes_materialised;
        self.launches += other.launches;
        self.syncs += other.syncs;
    }
}

impl Sub for Counters {
    type Output = Counters;

    fn sub(self, other: Counters) -> Counters {
        Counters {
            work: self.work - other.work,
            bytes_materialised: self.bytes_materialised - other.bytes_materialised,
            launches: self.launches - other.launches,
            syncs: self.syncs - other.syncs,
        }
    }
}

/// Rows that a statement went over, summed over its runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// Number of rows.
    pub rows: u64,
    /// Elements in them.
    pub elements: u64,
    /// Elements of the longest.
    pub longest: u64,
    /// Rows without elements.
    pub empty: u64,
    /// True if the lengths come from a descriptor.
    pub ragged: bool,
}

impl Rows {
    /// Rows of a descriptor.
    pub(crate) fn of(desc: &Desc) -> Rows {
        let lengths = desc.offsets().slice::<i64>().windows(2).map(|w| (w[1] - w[0]) as u64);
        let mut all =
            Rows { rows: desc.rows() as u64, elements: desc.total() as u64, ragged: true, ..Rows::default() };
        for n in lengths {
            all.longest = all.longest.max(n);
            all.empty += u64::from(n == 0);
        }
        all
    }

    /// `rows` rows of `m` elements.
    pub(crate) fn uniform(rows: usize, m: usize) -> Rows {
        let (rows, m) = (rows as u64, m as u64);
        let empty = if m == 0 { rows } else { 0 };
        Rows { rows, elements: rows * m, longest: if rows == 0 { 0 } else { m }, empty, ragged: false }
    }

    /// Elements of a row on average; 0 if there are none.
    pub fn mean(&self) -> f64 {
        if self.rows == 0 { 0.0 } else { self.elements as f64 / self.rows as f64 }
    }
}

impl AddAssign for Rows {
    fn add_assign(&mut self, other: Rows) {
        self.rows += other.rows;
        self.elements += other.elements;
        self.longest = self.longest.max(other.longest);
        self.empty += other.empty;
        self.ragged |= other.ragged;
    }
}

/// Cost of one statement, all its runs together. A statement with blocks in it costs only what they do not.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Number of runs.
    pub runs: u64,
    /// Time of all runs together.
    pub time: Duration,
    /// Counted work.
    pub counters: Counters,
    /// Rows of its space.
    pub space: Rows,
}

/// Costs of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// All of it.
    pub total: Counters,
    /// Most bytes that the run's arrays held at a time, without its arguments.
    pub peak_bytes: u64,
    /// Time of looking at row lengths only for the profile.
    pub measuring: Duration,
    /// By the number of the statement, see [`Stm::site`](crate::plan::Stm::site).
    pub sites: Vec<Cost>,
}
