//! Tests inside programs, in Futhark's notation: comment blocks that begin with `-- ==`.
//!
//! ```text
//! -- ==
//! -- entry: total mean
//! -- input { [1, 2, 3] } output { 6 }
//! -- input @ data/rows.in output @ data/rows.out
//! -- input { [0] } error: division by zero
//!
//! -- ==
//! -- compile error: no name `x`
//! ```
//!
//! Every case runs on every back end asked for; results are compared as values, floats with a tolerance. Errors are
//! compared as text that must occur; `.*` stands for anything.

mod blocks;
mod run;

pub use blocks::{Case, Data, Expected, Spec, parse};
pub use run::{ALL_TARGETS, Failure, Report, Target, run_file};
