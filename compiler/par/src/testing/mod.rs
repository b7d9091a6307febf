//! Tests inside programs, in Futhark's notation: comment blocks that begin with `-- ==`.
//!
//! ```text
//! -- ==
//! -- entry: total mean
//! -- tags { statistics }
//! -- input { [1, 2, 3] } output { 6 }
//! -- "from a file" input @ data/rows.in output @ data/rows.out
//! -- input { [0] } error: division by \w+
//! -- random input { [1000]i32 in 0..<10 } auto output
//! -- "an archive of NumPy, arrays called as the parameters, and `result`" input @ data/rows.npz output @ data/rows.npz
//! -- script input { iota 10 } output { 45 }
//! -- random input { [10]f64 } gradient: 1e-9
//! -- structure { reduce 1 map 0 }
//!
//! -- ==
//! -- compile error: no name `x`
//! ```
//!
//! Every case runs on every back end asked for; results are compared as values, floats with a tolerance
//! (`Tolerance::of` in the runtime).
//!
//! - `scan`, `blocks`: the notation; `spec`: what it says.
//! - `random`, `arguments`: values for the entry points' parameters.
//! - `data_sets`: the calls alone, for measuring them.
//! - `run`: compiling and calling; `expect`: comparing; `structure`: counting operations; `gradient`: derivatives.
//! - `report`: how it went; `update`: writing what was found into the file.

mod arguments;
mod blocks;
mod data_sets;
mod expect;
mod gradient;
mod random;
mod report;
mod run;
mod scan;
mod spec;
mod structure;
mod update;

pub use arguments::ReadFile;
pub use data_sets::{DataSet, NoData, calls, data_sets};
pub use report::{ALL_TARGETS, Event, Problem, ProblemKind, Report, Target, Test};
pub use run::{Settings, run_file, run_text, run_with};
pub use update::{Mismatch, updated};

use spec::{Data, Input};
use std::path::Path;

/// The inputs that stand in the tests of a program, each with the entry point that it is for. The folder is the
/// program's.
pub fn inputs(text: &str, folder: &Path) -> Result<Vec<(String, String)>, String> {
    let spec = blocks::parse(text, folder).map_err(|mistake| mistake.message)?;
    let cases =
        spec.blocks.iter().flat_map(|b| b.entries.iter().flat_map(|e| b.cases.iter().map(move |c| (e, c))));
    let given = cases.filter_map(|(entry, case)| match &case.input {
        Input::Data(Data::Text { text, .. }) => Some((entry.clone(), text.clone())),
        _ => None,
    });
    Ok(given.collect())
}
