//! Differential testing: random well-typed programs on every stage of the compiler, compared with the reference
//! interpreter.
//!
//! ```text
//! seed ─ generate ─> program with inputs ─ judge ─> agreement, or a finding ─ shrink ─> a small golden program
//! ```
//!
//! - [`generate`]: programs, well-typed and ending by construction; [`inputs`]: what they are called with.
//! - [`mutate`]: other programs, from existing ones.
//! - [`judge`]: runs a program after every pass and on every back end.
//! - [`shrink`]: the smallest program that still shows what was found.
//! - [`golden`]: what was found as a test.
//! - [`coverage`]: which constructs the programs reach.

pub mod case;
pub mod coverage;
pub mod generate;
pub mod golden;
pub mod inputs;
pub mod judge;
pub mod mutate;
pub mod rng;
pub mod shrink;
pub mod types;
pub mod watch;

pub use case::{Call, Case};
