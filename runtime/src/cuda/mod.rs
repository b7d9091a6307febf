//! GPUs by CUDA's driver interface.
//!
//! [`Program`] is what the code generator makes: C++ text, a plan, and the checks that its kernels may fail. [`Gpu::open`]
//! finds a device, [`load`] gives an `Executable`. It compiles the kernels of a function when that is first called, with NVRTC ([`nvrtc`],
//! [`cache`]), in several modules at a time ([`modules`]).
//!
//! All work goes to one stream in order, memory included, so that the host runs ahead; it waits where it needs a scalar or a
//! size. A kernel whose check fails notes it in a record in device memory, the kernels after it do nothing, and the
//! host finds the record when it waits (`device/run.rs`).
//!
//! The library of the driver and NVRTC are loaded at run time: without them everything but [`Gpu::open`] and [`load`] works. Without the feature `cuda`
//! these two always fail.

mod cache;
#[cfg(feature = "cuda")]
mod device;
mod headers;
mod modules;
#[cfg(not(feature = "cuda"))]
mod no_device;
mod nvrtc;

pub use crate::unavailable::{LoadError, Unavailable};
#[cfg(feature = "cuda")]
pub use device::{Argument, Cuda, Gpu, Launch, Lent, Memory, Workbench, device_of, foreign, lend, load};
#[cfg(feature = "cuda")]
pub(crate) use device::{Loaded, upload};
pub use headers::HEADERS;
pub use modules::compile_on;
#[cfg(not(feature = "cuda"))]
pub use no_device::{Gpu, Lent, device_of, foreign, lend, load};
pub use nvrtc::{Nvrtc, Source};

use crate::plan::{self, KernelCheck, Operand, Plan, Work};
use crate::prim::Prim;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A program for GPUs. Nothing but data, which can be stored.
#[derive(Serialize, Deserialize)]
pub struct Program {
    /// Functions that kernels call, in C++.
    pub functions: Vec<Function>,
    /// Its kernels in C++.
    pub kernels: Vec<KernelText>,
    /// The checks in kernels; their code knows them by number.
    pub checks: Vec<KernelCheck>,
    /// The host's part.
    pub plan: Plan<Kernel>,
    /// Machine code compiled ahead. Devices that none of it fits need NVRTC.
    pub compiled: Vec<Compiled>,
}

/// A function that kernels call.
#[derive(Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Function {
    pub declaration: String,
    pub definition: String,
}

/// A kernel in C++.
#[derive(Serialize, Deserialize)]
pub struct KernelText {
    /// Its struct and its functions.
    pub text: String,
    /// Functions that it calls, itself or through others: places in [`Program::functions`].
    pub calls: Vec<usize>,
}

/// First lines of every text.
const HEAD: &str = "#include \"program/program.cuh\"\n\nusing namespace par;\n\n";

impl Program {
    /// All of it in C++.
    pub fn source(&self) -> String {
        let kernels: Vec<usize> = (0..self.kernels.len()).collect();
        self.text(&kernels)
    }

    /// Some of its kernels in C++, with the functions that they call.
    fn text(&self, kernels: &[usize]) -> String {
        let kernels = kernels.iter().map(|k| &self.kernels[*k]);
        let called: BTreeSet<usize> = kernels.clone().flat_map(|k| k.calls.iter().copied()).collect();
        let functions = called.iter().map(|f| &self.functions[*f]);
        let declared = functions.clone().map(|f| &f.declaration);
        let defined = functions.map(|f| &f.definition).chain(kernels.map(|k| &k.text));
        HEAD.to_string() + &declared.chain(defined).map(String::as_str).collect::<String>()
    }

    /// Compiles the kernels for an architecture (`sm_90`), without a device: what the compiler says.
    pub fn log(&self, nvrtc: &Nvrtc, architecture: &str) -> Result<String, LoadError> {
        Ok(self.compile(nvrtc, architecture)?.into_iter().map(|(_, log)| log).collect::<Vec<_>>().join("\n"))
    }

    fn compile(&self, nvrtc: &Nvrtc, architecture: &str) -> Result<Vec<(Vec<u8>, String)>, LoadError> {
        let kernels = (0..self.kernels.len()).collect();
        let texts = modules::texts(self, kernels);
        modules::at_once(&texts, |text| nvrtc.compile(&Source { name: "program.cu", text, architecture }))
    }

    /// Compiles it ahead, so that devices of an architecture need no NVRTC.
    pub fn compile_ahead(&mut self, nvrtc: &Nvrtc, architecture: &str) -> Result<(), LoadError> {
        let kernels = self.compile(nvrtc, architecture)?;
        let shared = modules::at_once(&[headers::BULK, headers::SORT], |text| {
            nvrtc.compile(&Source { name: "bulk.cu", text, architecture })
        })?;
        let modules = kernels.into_iter().chain(shared).map(|(code, _)| code).collect();
        self.compiled.push(Compiled { architecture: architecture.to_string(), modules });
        Ok(())
    }
}

/// Machine code for devices of one architecture, and of later ones of its generation.
#[derive(Serialize, Deserialize)]
pub struct Compiled {
    /// `sm_90`.
    pub architecture: String,
    /// The program's kernels, and those that all programs share.
    pub modules: Vec<Vec<u8>>,
}

impl Compiled {
    /// True if a device runs it: the generation is the same (all but the last digit), and it is not older.
    fn fits(&self, architecture: &str) -> bool {
        let number = |name: &str| name.strip_prefix("sm_")?.parse::<u32>().ok();
        let (code, device) = (number(&self.architecture), number(architecture));
        code.zip(device).is_some_and(|(code, device)| code / 10 == device / 10 && code <= device)
    }
}

/// Shape of a kernel's space, by the arguments that describe it: `n`; `rows, m`; or `rows, total, offsets`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Shape {
    Flat,
    Uniform,
    Ragged,
}

/// Work of one block of threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Tile {
    /// Threads of a block.
    pub threads: u32,
    /// Elements of a thread.
    pub items: u32,
}

impl Tile {
    /// Elements of a block.
    pub fn size(self) -> u64 {
        u64::from(self.threads) * u64::from(self.items)
    }
}

/// A bulk operation. Its function takes one struct of 8-byte members:
///
/// ```text
/// failure   address of the record of failed checks
/// launch    number of the launch
/// stack     bytes that calls may take
/// space     see [`Shape`]
/// captures  scalars, addresses of arrays, 0 for ropes
/// neutral   neutral elements of a fold
/// outputs   see [`KernelKind`]
/// ```
#[derive(Serialize, Deserialize)]
pub struct Kernel {
    /// Its place in [`Program::kernels`].
    pub number: usize,
    /// Of its function, and for profiles.
    pub name: String,
    /// Positions and rows.
    pub space: plan::Space,
    /// Captures of the body.
    pub captures: Vec<Operand>,
    /// Use of its results.
    pub kind: KernelKind,
    /// Work of a block.
    pub tile: Tile,
    /// Bytes of a combined (of a filter: a kept) value.
    pub value_size: usize,
    /// True if it looks at the row of an element.
    pub needs_rows: bool,
    /// Its code calls functions.
    pub recursive: bool,
    /// Another way to run it, where sizes are such that it pays.
    pub schedule: Schedule,
    /// Work of every row and element.
    pub work: Work,
}

/// Use of a kernel's results; the members for outputs.
#[derive(Serialize, Deserialize)]
pub enum KernelKind {
    /// Addresses of fresh arrays; length and addresses of destinations; if a position is elected to write, the address of the
    /// table for that, and a function whose name ends in `_elect` that runs before.
    #[allow(missing_docs)]
    Map { outs: Vec<plan::Out>, elects: Vec<bool>, serial: bool },
    /// Addresses of the results by row, then of the further results by position; scratch memory, elements of a chunk or threads for a row,
    /// address of a counter. Rows that are alike are folded by functions whose names end in `_lanes` or `_block`.
    Reduce(Fold),
    /// As for a reduction, all by position; or instead of results, the outputs of what is made of the prefixes, and which of them elect
    /// a position, as for a map.
    #[allow(missing_docs)]
    Scan { fold: Fold, after: Option<(Vec<plan::Out>, Vec<bool>)> },
    /// Address of the ends of the rows among what is kept, then addresses of what is kept; scratch memory.
    Filter(Vec<Prim>),
    /// Length and addresses of the destinations; scratch memory; elements of a chunk, number of locks or address of the sorted positions;
    /// blocks, or address of where each place begins among them. Its functions are those that [`Combine`] says.
    #[allow(missing_docs)]
    Hist { dests: Vec<Operand>, fold: Fold, combine: Combine },
}

/// Another way to run a kernel than one position after the other, by functions of its own.
#[derive(Clone, Serialize, Deserialize)]
pub enum Schedule {
    /// In no other way.
    Plain,
    /// A product of matrices, or what has its shape, in tiles (`_tiles`; of 4 bytes also in large ones, `_large_tiles`). Where results are few,
    /// a reduction's elements are cut into parts, whose results are combined (`_parts`).
    Contraction(plan::Contraction),
    /// A copy of a matrix that is stored by columns, in tiles (`_transposed`).
    Transposed(plan::Factor),
    /// A reduction in which neighbouring rows read neighbouring elements (`_columns`), perhaps of parts of the rows (`_parts`).
    Columns,
}

impl Schedule {
    /// Tiles of contractions of elements with so many bytes: rows and columns in units of [`Schedule::TILE`], and steps of `k`. The small one, and the large one
    /// if there is one: with 8 bytes its results would take more registers than there are.
    pub fn tiles(bytes: usize) -> (ContractTile, Option<ContractTile>) {
        let tile = |high, wide, depth| ContractTile { high, wide, depth };
        match bytes {
            0..=4 => (tile(1, 1, 16), Some(tile(2, 2, 8))),
            _ => (tile(1, 1, 8), None),
        }
    }

    /// Rows and columns of a unit of a tile: see `kernels/par/contract.cuh`.
    pub const TILE: u64 = 64;
    /// Threads of a block in all these functions.
    pub const THREADS: u32 = 256;
    /// Rows whose elements a block reads side by side where they are columns.
    pub const COLUMNS: u64 = 32;
}

/// Tile of a contraction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub struct ContractTile {
    pub high: u64,
    pub wide: u64,
    pub depth: u64,
}

impl ContractTile {
    /// Tiles of a product of so many rows and columns.
    pub fn count(self, rows: u64, columns: u64) -> u64 {
        rows.div_ceil(self.high * Schedule::TILE) * columns.div_ceil(self.wide * Schedule::TILE)
    }
}

/// Method by which a histogram combines a value with what is in its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Combine {
    /// By an atomic operation, with tables of blocks in shared memory (`_shared`) or without.
    Atomic,
    /// Under a lock; where there are few places in tables of warps (`_private`), which are combined afterwards (`_merge`).
    Locked,
    /// The operator rounds, so that the order matters: in tables of warps; where they have no room, positions are sorted by their places
    /// (`_places` writes them) and those of a place combined in their order (`_sorted`).
    InOrder,
}

/// Threads of a block in the functions of a histogram.
pub const HIST_THREADS: u32 = 128;
/// Threads that combine the tables of warps for a place.
pub const HIST_LANES: u32 = 8;

/// Fold of a kernel.
#[derive(Serialize, Deserialize)]
pub struct Fold {
    /// Types of the combined results.
    pub prims: Vec<Prim>,
    /// Neutral elements.
    pub neutral: Vec<Operand>,
    /// Types of the further results.
    pub elems: Vec<Prim>,
}
