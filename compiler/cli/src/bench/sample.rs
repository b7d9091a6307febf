//! Running a call often enough.

use crate::measure::size;
use par::testing::DataSet;
use par::{Backend, Program, RunFailure};
use std::time::{Duration, Instant};

/// How often a call is run.
pub struct Effort {
    /// Back end that it runs on.
    pub backend: Backend,
    /// Number of threads; 0: one for each processor.
    pub threads: usize,
    /// At least so often,
    pub runs: usize,
    /// at least for so long,
    pub least: Duration,
    /// but no run is begun after this.
    pub most: Duration,
}

/// The nanoseconds of each run in order, and the bytes of the result.
pub fn times(program: &Program, set: &DataSet, effort: &Effort) -> Result<(Vec<u64>, u64), RunFailure> {
    let run = || {
        let start = Instant::now();
        let value = program.run(&set.entry, set.args.clone(), effort.backend, effort.threads)?;
        Ok::<_, RunFailure>((start.elapsed(), value))
    };
    let (_, value) = run()?;
    let bytes = size(&value);
    drop(value);
    let mut times = Vec::new();
    let start = Instant::now();
    while times.is_empty() || effort.again(times.len(), start.elapsed()) {
        times.push(run()?.0.as_nanos() as u64);
    }
    Ok((times, bytes))
}

impl Effort {
    /// True if another run is begun after so many in so much time.
    pub fn again(&self, runs: usize, time: Duration) -> bool {
        (runs < self.runs || time < self.least) && time < self.most
    }
}
