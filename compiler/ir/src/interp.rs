//! Reference interpreters of both IRs: plain and slow, the meaning that every pass and back end is held against.
//!
//! The interpreters expect verified programs. Where a program breaks a promise that no verifier sees (an index that no check
//! guards, an array whose size is not what its type says), they report an internal error instead of guessing.
//! A NaN, a wrapped integer or a failing check is what the language says it is; a float reduction is
//! a left fold, so that other orders may differ in the last bits.
//!
//! The interpreters stay on the calling thread and can be stopped there, see [`par_runtime::cancel`].

mod array;
mod core;
mod flat;
mod kernel;
mod memory;
mod moves;
mod prepared;
mod runner;
mod scalar;
mod soac;
mod sort;
mod trace;
mod trail;
mod value;

pub use core::{context_of_failure, run_core, run_core_prepared};
pub use flat::{run_flat, run_flat_prepared, run_flat_with};
pub use par_runtime::Counters;
pub use prepared::Prepared;
pub use runner::{Input, Launch, Rows, Runner, Runs, TypeOf};

use par_runtime::RuntimeError;

type Outcome<T> = Result<T, RuntimeError>;

/// A promise that the program breaks: the compiler's mistake, not the user's.
fn internal<T>(what: impl std::fmt::Display) -> Outcome<T> {
    Err(RuntimeError::internal(what))
}
