//! Insight into a program: the bulk operations of one entry point, each with the source it comes from, what was fused
//! into it, what it copies and why, which checks are left, and, after runs, what it cost.
//!
//! - `operations`: the operations of a FLAT program.
//! - `words`: what they are called.
//! - `versions`: which of two runs when.
//! - `flow`: which operation uses what another made.
//! - `written`: what there was before the passes.
//! - `checks`: what was checked before and what still is.
//! - `derivatives`: by which rules.
//! - `places`: files, lines and columns.
//! - `costs`: times and sizes as a person reads them.
//! - `text`, `html`, `json`: the whole as a listing, as a page, as data; `table`: operations by time.

mod checks;
mod costs;
mod derivatives;
mod flow;
mod html;
mod json;
mod operations;
mod places;
mod table;
mod text;
mod versions;
mod words;
mod written;

pub use checks::Checks;
pub use costs::{bytes, count, duration};
pub use derivatives::Rule;
pub use html::page;
pub use json::json;
pub use operations::{Group, Operation, Step};
pub use places::Location;
pub use table::table;
pub use text::{listing, listing_of_lines};
pub use written::Written;
pub(crate) use written::written;

use crate::failure::Failure;
use crate::pipeline::Target;
use crate::program::Program;
use par_runtime::Profile;
use par_syntax::Sources;
use std::time::Duration;

/// Insight into an entry point.
#[derive(Clone, Debug)]
pub struct Insight<'p> {
    /// Its name.
    pub entry: String,
    /// The files that places refer to.
    pub sources: &'p Sources,
    /// In the order of the flat program: that of execution, where there are no branches and loops.
    pub operations: Vec<Operation>,
    /// From the operation that makes an array to those that use it, by their places in `operations`.
    pub edges: Vec<(usize, usize)>,
    /// Run-time checks.
    pub checks: Checks,
    /// Rules of derivatives.
    pub rules: Vec<Rule>,
    /// Costs of runs, if there were any.
    pub run: Option<RunCost>,
}

/// Costs of an entry point's runs.
#[derive(Clone, Debug)]
pub struct RunCost {
    /// Number of runs.
    pub runs: usize,
    /// The median time.
    pub time: Duration,
    /// Of the run with the median time; its counters are complete.
    pub profile: Profile,
    /// Bytes of the arguments.
    pub input_bytes: u64,
    /// Machine that it ran on.
    pub target: Target,
    /// Number of threads of the processor it ran on.
    pub threads: usize,
    /// Shapes of its arguments that its program is specialised to, as `k = 4`.
    pub constants: Vec<String>,
}

impl<'p> Insight<'p> {
    /// Result of compiling an entry point for a machine.
    pub fn new(program: &'p Program, entry: &str, target: Target) -> Result<Insight<'p>, Failure> {
        let flat = program.flat_for(target)?;
        let sources = program.sources();
        let written = program.written();
        let (mut operations, reached) = operations::of((flat, target), entry, &written.small, sources);
        let edges = flow::edges(flat, entry, &operations);
        operations::say_what_needs_packs(&mut operations, &edges);
        let checks = written.checks.get(entry).map_or(&[][..], Vec::as_slice);
        let checks = checks::of(checks, flat, &reached, &operations, sources);
        let rules = written.rules.get(entry).map_or(&[][..], Vec::as_slice);
        let rules = derivatives::of(rules, sources);
        Ok(Insight { entry: entry.to_string(), sources, operations, edges, checks, rules, run: None })
    }

    /// Adds what runs cost.
    pub fn with_run(mut self, run: RunCost) -> Insight<'p> {
        for op in &mut self.operations {
            op.cost = run.profile.sites.get(op.site).copied();
        }
        self.run = Some(run);
        self
    }

    /// The longest time of an operation, to which bars are drawn; not zero.
    fn longest_time(&self) -> Duration {
        let times = self.operations.iter().filter_map(|op| op.cost).map(|c| c.time);
        times.max().unwrap_or_default().max(Duration::from_nanos(1))
    }

    /// The most bytes of an operation; not zero.
    fn most_bytes(&self) -> u64 {
        let made = self.operations.iter().filter_map(|op| op.cost).map(|c| c.counters.bytes_materialised);
        made.max().unwrap_or(0).max(1)
    }
}
