//! Everything a compiled Par program needs while it runs: values and their text and binary forms,
//! buffers, run-time errors, and the executor of a plan. Depends on no part of the compiler.
//!
//! For WebAssembly there are no GPUs, no programs compiled ahead, and no mapped memory.

// Code for CPUs and GPUs is unused in WebAssembly, that for GPUs without the feature `cuda`.
#![cfg_attr(
    any(target_family = "wasm", not(feature = "cuda")),
    allow(dead_code, unused_imports, unused_variables)
)]

pub mod array;
pub mod cancel;
pub mod check;
pub mod chunks;
pub mod clock;
mod copy;
#[cfg(not(target_family = "wasm"))]
pub mod cuda;
pub mod entry;
pub mod exec;
mod fields;
pub mod float16;
mod hexfloat;
#[cfg(not(target_family = "wasm"))]
pub mod image;
pub mod io;
pub mod math;
pub mod op;
pub mod partition;
pub mod plan;
pub mod pool;
pub mod prefix;
pub mod prim;
pub mod profile;
pub mod ranks;
pub mod rope;
pub mod simd;
pub mod source;
pub mod trace;
mod unavailable;
pub mod value;

pub use array::Array;
pub use cancel::CancelToken;
pub use check::{CheckKind, ErrorKind, Frame, RuntimeError, Span};
pub use entry::Entry;
pub use exec::{Executable, Options};
pub use fields::Fields;
pub use half::f16;
pub use hexfloat::hex_float;
pub use prim::{Prim, Scalar};
pub use profile::{Counters, Profile};
pub use rope::Rope;
pub use value::{Column, Value, ValueType};
