//! Running a call often enough.

use crate::measure::size;
use par::testing::DataSet;
use par::{Backend, CallOptions, Program, RunFailure, Value};
use std::time::{Duration, Instant};

/// Back end of a call's runs, and limits on their number and time.
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

/// Times of the runs of a call.
pub struct Times {
    /// Nanoseconds of each run in order. On a GPU the arguments are there before, and the result stays there.
    pub nanoseconds: Vec<u64>,
    /// On a GPU, the same with the arguments copied there and the result copied back.
    pub with_copies: Vec<u64>,
    /// Bytes of the result.
    pub result: u64,
}

/// Runs a call often enough.
pub fn times(program: &Program, set: &DataSet, effort: &Effort) -> Result<Times, RunFailure> {
    let upload = |value: &Value| program.upload(value.clone(), effort.backend);
    let there = set.args.iter().map(upload).collect::<Result<Vec<Value>, RunFailure>>()?;
    let (nanoseconds, result) = runs(program, &set.entry, &there, effort, true)?;
    let with_copies = match effort.backend {
        Backend::Cuda => runs(program, &set.entry, &set.args, effort, false)?.0,
        _ => Vec::new(),
    };
    Ok(Times { nanoseconds, with_copies, result })
}

/// The nanoseconds of each run with these arguments, and the bytes of the result, which stays on the device if it is kept there.
fn runs(
    program: &Program,
    entry: &str,
    args: &[Value],
    effort: &Effort,
    keep_on_device: bool,
) -> Result<(Vec<u64>, u64), RunFailure> {
    let options = CallOptions {
        backend: effort.backend,
        threads: effort.threads,
        keep_on_device,
        ..CallOptions::default()
    };
    let run = || {
        let start = Instant::now();
        let value = program.call(entry, args.to_vec(), &options)?;
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
