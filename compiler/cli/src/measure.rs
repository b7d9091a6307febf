//! Shared parts of the commands that look into a program: compiling it, running it a few times, and noting what that costs.

use crate::options::Compile;
use crate::status::{self, Messages, Status};
use crate::{input, source};
use clap::ValueEnum;
use par::insight::{Insight, RunCost};
use par::pipeline::Target;
use par::{Backend, CallOptions, Counters, Options, Profile, Program, Value};
use par_native::call::{INPUT_HELP, INPUT_LONG_HELP};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Program to measure, and the options of its runs.
#[derive(clap::Args)]
pub struct Subject {
    /// The program
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Entry point [default: main, or the only one]
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,
    /// Machine that it is compiled for and runs on
    #[arg(long, value_enum, default_value = "cpu")]
    backend: Machine,
    /// Number of the GPU, where there are several
    #[arg(long, value_name = "N", default_value = "0")]
    device: usize,
    /// Number of threads; 0: one for each processor
    #[arg(long, value_name = "N", default_value = "0")]
    threads: usize,
    #[arg(long, short, value_name = "[NAME=]FILE", help = INPUT_HELP, long_help = INPUT_LONG_HELP)]
    pub input: Vec<String>,
    /// Run N times, after one run that is not counted; times are those of the run with the median time
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    #[command(flatten)]
    messages: Messages,
    #[command(flatten)]
    compile: Compile,
}

/// A compiled program, and what it is to be called with.
pub struct Loaded {
    program: Arc<Program>,
    entry: String,
    values: Option<Vec<Value>>,
}

/// Back ends that have bulk operations to look at.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Machine {
    /// Machine code on the processor's cores
    Cpu,
    /// A GPU, by CUDA
    Cuda,
}

impl Machine {
    fn parts(self) -> (Backend, Target) {
        match self {
            Machine::Cpu => (Backend::Cpu, Target::Processor),
            Machine::Cuda => (Backend::Cuda, Target::Gpu),
        }
    }
}

impl Subject {
    /// The program for a run, compiled; with its entry point, and the arguments if it is to be run.
    pub fn load(&self, run: bool) -> Result<Loaded, Status> {
        self.messages.choose();
        let options = Options { device: self.device, ..self.compile.options(false) };
        let program = Arc::new(source::load(&self.file, &options)?);
        let entry = program.choose_entry(self.entry.as_deref()).map_err(|m| status::fail(&m))?;
        let values =
            run.then(|| input::read(entry, &self.input)).transpose().map_err(|m| status::fail(&m))?;
        let entry = entry.name.clone();
        let special = values.as_ref().map(|values| program.for_arguments(&entry, values, &self.options()));
        let special = special.transpose().map_err(|f| status::failure(&f))?.flatten();
        Ok(Loaded { program: special.unwrap_or(program), entry, values })
    }

    fn options(&self) -> CallOptions {
        CallOptions { backend: self.backend.parts().0, threads: self.threads, ..CallOptions::default() }
    }

    /// Insight into an entry point; with the costs of its runs if it is to be run.
    pub fn insight<'p>(&self, loaded: &'p Loaded) -> Result<Insight<'p>, Status> {
        let Loaded { program, entry, values } = loaded;
        let insight =
            Insight::new(program, entry, self.backend.parts().1).map_err(|f| status::failure(&f))?;
        Ok(match values {
            Some(values) => insight.with_run(self.measure(program, entry, values)?),
            None => insight,
        })
    }

    fn measure(&self, program: &Program, entry: &str, values: &[Value]) -> Result<RunCost, Status> {
        let (target, options) = (self.backend.parts().1, self.options());
        let profiled = |counting: bool| {
            let start = Instant::now();
            let result = program.profile(entry, values.to_vec(), &options, counting);
            let time = start.elapsed();
            result
                .map(|(_, profile)| (time.saturating_sub(profile.measuring), profile))
                .map_err(|f| status::run_failure(program, &f))
        };
        // This run warms up, too.
        let (_, counted) = profiled(true)?;
        profiled(false)?;
        let mut runs = (0..self.runs).map(|_| profiled(false)).collect::<Result<Vec<_>, _>>()?;
        runs.sort_by_key(|(time, _)| *time);
        let (time, mut profile) = runs.swap_remove(runs.len() / 2);
        complete(&mut profile, &counted);
        let threads = match self.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            n => n,
        };
        let input_bytes = values.iter().map(size).sum();
        let constants = program.known_shapes().to_vec();
        Ok(RunCost { runs: self.runs as usize, time, profile, input_bytes, target, threads, constants })
    }
}

/// The counters of the run that counted everything.
fn complete(profile: &mut Profile, counted: &Profile) {
    let work = |to: &mut Counters, from: &Counters| to.work = from.work;
    work(&mut profile.total, &counted.total);
    for (to, from) in profile.sites.iter_mut().zip(&counted.sites) {
        work(&mut to.counters, &from.counters);
    }
}

/// The bytes of a value's arrays.
pub fn size(value: &Value) -> u64 {
    let column = |c: &par_runtime::Column| match c {
        par_runtime::Column::Data(a) | par_runtime::Column::Offsets(a) => (a.len() * a.prim().size()) as u64,
        par_runtime::Column::Scalar(_) | par_runtime::Column::Size(_) => 8,
    };
    value.columns.iter().map(column).sum()
}

/// The columns of the terminal; enough for most lines elsewhere.
pub fn width() -> usize {
    const ELSEWHERE: usize = 120;
    let columns = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
    columns.or_else(|| terminal_size::terminal_size().map(|(w, _)| usize::from(w.0))).unwrap_or(ELSEWHERE)
}

/// A number of seconds on the command line.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("`{text}` is not a number of seconds"))?;
    Duration::try_from_secs_f64(seconds).map_err(|e| e.to_string())
}
