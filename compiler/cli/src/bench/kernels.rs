//! `par bench --kernels`: how fast the bulk operations of a GPU are, compared with a copy on it in the same run, and beside each the textbook
//! variants.
//!
//! Bytes are those that a kernel must move at least; products of matrices are measured by their operations. Kernels need their states cleared; that is part of the time.

use crate::status::{self, Status};
use par::insight::{bytes, duration};
use par_runtime::cuda::{Argument, Launch, LoadError, Memory, Unavailable, Workbench};
use serde::Serialize;
use std::cell::RefCell;
use std::fmt::Write;
use std::time::Duration;

/// Measurements on a device.
#[derive(Serialize)]
pub struct Report {
    /// Its name.
    device: String,
    /// In the order of the measurements; a copy is the first of each size.
    results: Vec<Timed>,
}

/// Time of one kernel.
#[derive(Serialize)]
struct Timed {
    kernel: String,
    /// True if it shows the algorithm and is not what programs use.
    textbook: bool,
    elements: u64,
    /// Bytes that must be moved at least.
    bytes: u64,
    /// Operations on floating point numbers, if these and not bytes are what takes time; else 0.
    operations: u64,
    /// The median of several runs.
    seconds: f64,
}

impl Timed {
    fn rate(&self) -> f64 {
        self.bytes as f64 / self.seconds.max(1e-9)
    }
}

/// Runs of each kernel, besides one that is not counted.
const RUNS: usize = 9;

/// Measures all kernels on arrays of these sizes.
pub fn measure(device: usize, sizes: &[u64]) -> Result<Report, Status> {
    let bench = Workbench::open(device).map_err(|e| match e {
        LoadError::Unavailable(e) => status::fail(&e.0),
        LoadError::Refused(log) => status::fail(&format!("the kernels were not compiled: {log}")),
    })?;
    let mut report = Report { device: bench.gpu.name.clone(), results: Vec::new() };
    for n in sizes {
        let suite = Arrays::new(&bench, *n).map(|arrays| Suite {
            bench: &bench,
            arrays,
            results: RefCell::default(),
        });
        let measured = suite.and_then(Suite::all);
        report.results.extend(measured.map_err(|e| status::fail(&format!("{n} elements: {e}")))?);
    }
    Ok(report)
}

impl Report {
    /// One JSON object: device, and results with elements, bytes and seconds.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).map_or_else(|e| e.to_string(), |text| text + "\n")
    }

    /// The table for a person.
    pub fn table(&self) -> String {
        let mut out =
            format!("{:<42} {:>11} {:>9} {:>12} {:>8}\n", "kernel", "elements", "time", "rate", "of copy");
        let mut copy = 1.0;
        for timed in &self.results {
            if timed.kernel == COPY {
                copy = timed.rate();
            }
            let indent = if timed.textbook { "  " } else { "" };
            let rate = match timed.operations {
                0 => format!("{:>10}/s {:>6.1} %", bytes(timed.rate() as u64), 100.0 * timed.rate() / copy),
                n => format!("{:>5.2} TFLOP/s", n as f64 / timed.seconds.max(1e-9) / 1e12),
            };
            let _ = writeln!(
                out,
                "{:<42} {:>11} {:>9} {rate}",
                format!("{indent}{}", timed.kernel),
                timed.elements,
                duration(Duration::from_secs_f64(timed.seconds)),
            );
        }
        let _ = writeln!(
            out,
            "\non {}; indented are the textbook's variants of the line above them",
            self.device
        );
        out
    }
}

const COPY: &str = "copy";

/// Arrays that kernels read and write.
struct Arrays {
    n: u64,
    /// Of `n` times 4 bytes.
    input: Memory,
    /// The same.
    output: Memory,
    /// Of `n` times 8 bytes.
    wide: Memory,
    /// For states of tiles, or the counts of a histogram.
    states: Memory,
    /// Of 4 times 256 counts.
    counts: Memory,
}

impl Arrays {
    fn new(bench: &Workbench, n: u64) -> Result<Arrays, Unavailable> {
        let at = |bytes: u64| bench.allocate(bytes as usize);
        let arrays = Arrays {
            n,
            input: at(4 * n)?,
            output: at(4 * n)?,
            wide: at(8 * n)?,
            states: at((64 + n.div_ceil(1024) * 2048).max(4 * 2048))?,
            counts: at(4 * 256 * 8)?,
        };
        bench.upload(&arrays.input, &words((0..n).map(|i| (i % 1000) as u32)))?;
        Ok(arrays)
    }
}

fn words(of: impl Iterator<Item = u32>) -> Vec<u8> {
    of.flat_map(u32::to_ne_bytes).collect()
}

/// Numbers without a pattern.
fn scattered(i: u64) -> u32 {
    let mut x = i.wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^= x >> 29;
    (x.wrapping_mul(0x94d0_49bb_1331_11eb) >> 32) as u32
}

type Done = Result<(), Unavailable>;

macro_rules! arguments {
    ($($x:expr),* $(,)?) => { &[$(Argument::from($x)),*] };
}

struct Suite<'a> {
    bench: &'a Workbench,
    arrays: Arrays,
    results: RefCell<Vec<Timed>>,
}

impl Suite<'_> {
    fn all(self) -> Result<Vec<Timed>, Unavailable> {
        self.flat()?;
        self.reductions()?;
        for length in [4, 100, 10_000] {
            self.rows(length)?;
        }
        self.floods()?;
        self.transpositions()?;
        self.products()?;
        for bins in [256, 2048] {
            self.histograms(bins)?;
        }
        self.sorts()?;
        Ok(self.results.into_inner())
    }

    /// Times some work. The name of a textbook's variant is indented.
    fn time(&self, name: &str, bytes: u64, work: impl FnMut() -> Done) -> Done {
        self.time_operations(name, bytes, 0, work)
    }

    fn time_operations(&self, name: &str, bytes: u64, operations: u64, work: impl FnMut() -> Done) -> Done {
        let seconds = self.bench.seconds(RUNS, work)?;
        let (kernel, textbook) = (name.trim_start().to_string(), name.starts_with(' '));
        let timed = Timed { kernel, textbook, elements: self.arrays.n, bytes, operations, seconds };
        self.results.borrow_mut().push(timed);
        Ok(())
    }

    fn start(&self, name: &str, launch: Launch, arguments: &[Argument]) -> Done {
        let function = self.bench.function(name)?;
        // SAFETY: the callers pass what the kernel of that name takes, and arrays as long as it expects.
        unsafe { self.bench.start(function, launch, arguments) }
    }

    /// The states of so many tiles, cleared.
    fn fresh(&self, tiles: u64, slot: u64) -> Result<Argument, Unavailable> {
        self.bench.clear(&self.arrays.states, (64 + tiles * slot) as usize)?;
        Ok(Argument::from(&self.arrays.states))
    }

    fn flat(&self) -> Done {
        let Arrays { n, input, output, wide, counts, .. } = &self.arrays;
        let (n, moved) = (*n, 8 * n);
        self.time(COPY, moved, || self.bench.copy(output, input, 4 * n as usize))?;
        self.time("map, f32", moved, || {
            self.start("map_f32", Launch::new(n.div_ceil(1024), 256), arguments![input, output, n, 2f32])
        })?;
        let tiles = n.div_ceil(3840);
        for (name, kernel) in [("scan, i32 sum", "scan_i32"), ("scan, f32 sum, fixed shape", "scan_f32")] {
            self.time(name, moved, || {
                let states = self.fresh(tiles, 8)?;
                self.start(kernel, Launch::new(tiles, 256), arguments![input, output, n, states])
            })?;
        }
        let tiles = n.div_ceil(2048);
        self.time("filter, a third kept, with positions", moved, || {
            let states = self.fresh(tiles, 16)?;
            self.start(
                "filter_i32",
                Launch::new(tiles, 256),
                arguments![input, output, wide, counts, n, states],
            )
        })
    }

    fn reductions(&self) -> Done {
        let Arrays { n, input, output, wide, states, .. } = &self.arrays;
        let (n, m, moved) = (*n, *n as u32, 4 * n);
        let chunk = (n.div_ceil(1024).div_ceil(3840) * 3840).max(3840);
        self.time("reduction, f32", moved, || {
            self.bench.clear(states, 64)?;
            let blocks = Launch::new(n.div_ceil(chunk), 256);
            self.start("reduce_f32", blocks, arguments![input, output, n, chunk, wide, states])
        })?;
        self.time("  in global memory", moved, || {
            let mut left = m;
            while left > 1 {
                let half = left.div_ceil(2);
                let blocks = Launch::new(u64::from(left).div_ceil(512) + 1, 256);
                self.start("book_reduce_level", blocks, arguments![output, left, half])?;
                left = half;
            }
            Ok(())
        })?;
        for (name, kernel) in [
            ("  interleaved addressing", "book_reduce_interleaved"),
            ("  sequential addressing", "book_reduce_sequential"),
        ] {
            self.time(name, moved, || {
                self.start(kernel, Launch::new(n.div_ceil(256), 256), arguments![input, output, m])
            })?;
        }
        self.time("  two levels", moved, || {
            self.start("book_reduce_two_levels", Launch::new(1024, 256), arguments![input, wide, m])?;
            self.start("book_reduce_two_levels", Launch::new(1, 256), arguments![wide, output, 1024u32])
        })
    }

    /// Rows of a length, but one that has an eighth of all elements.
    fn rows(&self, length: u64) -> Done {
        let Arrays { n, input, output, .. } = &self.arrays;
        let giant = n / 8;
        let short = (n - giant) / length;
        let mut offsets = vec![0u64];
        for i in 0..=short {
            offsets.push(offsets[i as usize] + if i == short / 2 { giant } else { length });
        }
        let (rows, elements) = (short + 1, offsets[short as usize + 1]);
        let at = self.bench.allocate(8 * offsets.len())?;
        self.bench.upload(&at, &offsets.iter().flat_map(|o| o.to_ne_bytes()).collect::<Vec<u8>>())?;
        let tiles = (rows + elements).div_ceil(1408);
        for (name, kernel, bytes) in [
            ("segmented reduction, f32", "segreduce_f32", 4 * elements + 12 * rows),
            ("segmented scan, i32", "segscan_i32", 8 * elements + 8 * rows),
        ] {
            self.time(&format!("{name}, rows of {length}"), bytes, || {
                let states = self.fresh(tiles, 8)?;
                let arguments = arguments![input, output, rows, elements, &at, states];
                self.start(kernel, Launch::new(tiles, 128), arguments)
            })?;
        }
        Ok(())
    }

    fn floods(&self) -> Done {
        let Arrays { n, input, output, wide, .. } = &self.arrays;
        let (n, tiles) = (*n, n.div_ceil(4096));
        self.time("flood, 8-byte sources", 12 * n, || {
            let states = self.fresh(tiles, 16)?;
            self.start("flood_i32", Launch::new(tiles, 256), arguments![input, wide, n, states])
        })?;
        // Its nodes, of which there are as many as elements, have 32 bytes each: of that much memory it takes a part of the array.
        let leaves = 1u32 << (n / 8).max(2).ilog2();
        let nodes = self.bench.allocate(32 * leaves as usize)?;
        let level = |name: &str, level: u32| {
            let blocks = Launch::new(u64::from(leaves >> level).div_ceil(128), 128);
            self.start(name, blocks, arguments![&nodes, leaves, level])
        };
        let ends = Launch::new(u64::from(leaves / 2).div_ceil(128), 128);
        self.time("  by a tree, an eighth of them", 9 * u64::from(leaves), || {
            self.start("book_flood_enter", ends, arguments![output, leaves, &nodes, leaves])?;
            (2..=leaves.ilog2()).try_for_each(|l| level("book_flood_reduce", l))?;
            (2..=leaves.ilog2()).rev().try_for_each(|l| level("book_flood_deduce", l))?;
            self.start("book_flood_leave", ends, arguments![&nodes, leaves, leaves, wide])
        })
    }

    fn transpositions(&self) -> Done {
        let Arrays { n, input, output, .. } = &self.arrays;
        let side = 1u64 << (n.ilog2() / 2).max(5);
        let (s, moved) = (side as u32, 8 * side * side);
        self.time("transposition", moved, || {
            let tiles = side.div_ceil(32) * side.div_ceil(32);
            self.start("transpose_i32", Launch::new(tiles, 256), arguments![input, output, side, side])
        })?;
        let tiles = Launch { grid: (s / 32, s / 32), block: (32, 8), shared: 0 };
        for (name, kernel, launch) in [
            ("  by tiles without padding", "book_transpose_tiled", tiles),
            ("  by rows", "book_transpose_rows", Launch::new(side.div_ceil(256), 256)),
            ("  by elements", "book_transpose_elements", Launch::new((side * side).div_ceil(256), 256)),
        ] {
            self.time(name, moved, || self.start(kernel, launch, arguments![input, output, s, s]))?;
        }
        Ok(())
    }

    /// Square matrices of the root of so many elements, at most 4096 by 4096: the work grows with their power of 1.5.
    fn products(&self) -> Done {
        let Arrays { n, input, output, wide, .. } = &self.arrays;
        let side = 1u64 << (n.ilog2() / 2).clamp(5, 12);
        let (bytes, operations) = (12 * side * side, 2 * side * side * side);
        for (name, kernel, tile) in
            [("product of matrices, f32", "product_f32", 128), ("  tiles of 64", "product_small_f32", 64)]
        {
            let blocks = Launch::new(side.div_ceil(tile).pow(2), 256);
            self.time_operations(name, bytes, operations, || {
                self.start(kernel, blocks, arguments![input, wide, output, side, side, side])
            })?;
        }
        Ok(())
    }

    fn histograms(&self, bins: u32) -> Done {
        let Arrays { n, output, wide, states, .. } = &self.arrays;
        let (n, m) = (*n, *n as u32);
        let bin = |i: u64| scattered(i) % bins;
        self.bench
            .upload(wide, &(0..n).flat_map(|i| u64::from(bin(i)).to_ne_bytes()).collect::<Vec<u8>>())?;
        self.bench.upload(output, &words((0..n).map(bin)))?;
        let tables = Launch { shared: 4 * bins, ..Launch::new(n.div_ceil(1024).min(1024), 256) };
        self.time(&format!("histogram, 8-byte indices, bins: {bins}"), 8 * n, || {
            self.start("hist_shared_u32", tables, arguments![wide, n, bins, states])
        })?;
        self.time("  naive, 4-byte indices", 4 * n, || {
            let blocks = Launch::new(n.div_ceil(256), 256);
            self.start("book_histogram_naive", blocks, arguments![output, m, states])
        })?;
        self.time("  privatised, 4-byte indices", 4 * n, || {
            self.start("book_histogram_privatised", tables, arguments![output, m, bins, states])
        })
    }

    /// Pairs of a key and a position: counting, and four passes over both.
    fn sorts(&self) -> Done {
        let Arrays { n, input, output, wide, counts, .. } = &self.arrays;
        let (n, tiles) = (*n, n.div_ceil(2304));
        self.bench.upload(input, &words((0..n).map(scattered)))?;
        let (positions, others) = (Argument::from(wide), Argument::Long(wide.address + 4 * n));
        self.time("radix sort, 4-byte keys and positions", 68 * n, || {
            self.bench.clear(counts, counts.bytes)?;
            let counting = Launch::new(n.div_ceil(256).min(1024), 256);
            self.start("sort_count_u32", counting, arguments![input, n, counts])?;
            self.start("sort_offsets", Launch::new(4, 256), arguments![counts])?;
            for pass in 0..4u32 {
                let states = self.fresh(tiles, 2048)?;
                let offsets = counts.address + u64::from(pass) * 2048;
                let (from, to) = if pass % 2 == 0 { (input, output) } else { (output, input) };
                let (values, values_to) =
                    if pass % 2 == 0 { (positions, others) } else { (others, positions) };
                let arguments = arguments![from, values, to, values_to, n, pass, offsets, states];
                self.start("sort_pass_u32", Launch::new(tiles, 256), arguments)?;
            }
            Ok(())
        })
    }
}
