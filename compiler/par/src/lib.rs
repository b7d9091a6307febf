//! The Par compiler as a library: from a program's text to values.
//!
//! ```no_run
//! use par::{Backend, Options, compile, read_values, print_value};
//!
//! let program = compile("entry main (xs: []i32) = map (+ 1) xs", "inc.par", &Options::default())?;
//! let main = program.entry("main").ok_or("no such entry")?;
//! let types: Vec<_> = main.params.iter().map(|p| p.1.clone()).collect();
//! let args = read_values("[1, 2, 3]", &types)?;
//! let result = program.run("main", args, Backend::Cpu, 0)?;
//! assert_eq!(print_value(&result), "[2i32, 3i32, 4i32]");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - [`embed`]: the same with values of Rust, in a few lines.
//! - [`library`]: the standard library's files, compiled in.
//! - [`imports`]: how imported files are found.
//! - [`pipeline`]: the phases and passes, in order, with dumps, timings and verification between them.
//! - [`program`]: a compiled program and how it is run on each back end.
//! - `ranks`: calls on several ranks in one process.
//! - `ahead`: object files for executables and libraries.
//! - [`analysis`]: what is known about a program while it is written, for editors.
//! - [`doc`]: what is written about names, as text and as HTML.
//! - [`explain`]: the pages that explain the codes of diagnostics.
//! - [`insight`]: what became of a program, and what its runs cost.
//! - [`failure`]: why there is no program, or no result.
//! - [`session`]: declarations and values that grow input by input, for an interactive prompt.
//! - [`warnings`]: which warnings are given.
//! - [`tuning`]: measured thresholds between versions.
//! - [`testing`]: the `-- ==` blocks of a file, run on every back end.
//!
//! For WebAssembly there is no code generator, so [`program`] has the interpreters only, and there is no `ahead`.

#[cfg(not(target_family = "wasm"))]
pub mod ahead;
pub mod analysis;
mod copies;
pub mod doc;
pub mod embed;
pub mod explain;
pub mod failure;
#[cfg(not(target_family = "wasm"))]
mod gpu;
pub mod imports;
pub mod insight;
pub mod library;
mod outline;
pub mod pipeline;
pub mod program;
#[cfg(not(target_family = "wasm"))]
pub mod ranks;
pub mod session;
pub mod testing;
pub mod tuning;
pub mod warnings;

pub use embed::{Context, Error, FromPar, IntoPar, Mismatch, Ragged};
pub use failure::{Bug, Failure, RunFailure};
#[cfg(not(target_family = "wasm"))]
pub use gpu::gpu_copy_rate;
pub use par_derive::{FromPar, IntoPar};
pub use par_ir::print::{print_core, print_flat};
pub use par_message::entries::choose as choose_entry;
pub use par_message::report;
pub use par_runtime::Entry;
pub use par_runtime::cancel;
pub use par_runtime::io;
pub use par_runtime::io::text::{Layout, print_pretty, print_value, read_values};
pub use par_runtime::trace;
pub use par_runtime::{
    Array, CancelToken, Counters, Prim, Profile, RuntimeError, Scalar, Span, Value, ValueType, f16,
};
pub use par_syntax::classes;
pub use par_syntax::distance;
pub use par_syntax::{Diagnostic, Severity, Sources};
pub use par_syntax::{nearest, render};
pub use pipeline::{Options, Stage, Trace};
pub use program::{Backend, CallOptions, Program, compile, compile_until};
