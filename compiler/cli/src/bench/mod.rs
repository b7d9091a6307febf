//! `par bench`: how long the calls take that programs' tests describe.
//!
//! - `sample`: running a call often enough.
//! - `stats`: medians, intervals, whether a change is one.
//! - `machine`: how fast this machine is.
//! - `kernels`: the bulk operations of a GPU, one by one.
//! - `transfers`: copies to a GPU and back.
//! - `c`: functions in C beside entry points.
//! - `turns`: several processes.
//! - `report`: the table, the results as data, the comparison.

mod c;
#[cfg(feature = "cuda")]
mod kernels;
mod machine;
mod report;
mod sample;
mod stats;
#[cfg(feature = "cuda")]
mod transfers;
mod turns;

use crate::files::programs;
use crate::measure::{seconds, size};
use crate::options::{Compile, Limits};
use crate::run::BackendName;
use crate::status::{self, Status};
use crate::{input, output, progress};
use indicatif::ProgressBar;
use par::Backend;
use par::testing::{NoData, Settings, data_sets};
use report::{Measured, Report};
use sample::{Effort, Times};
use std::path::{Path, PathBuf};
use std::time::Duration;

const AFTER_HELP: &str = "\
Every case of the programs' test blocks that gives a result is run until both --runs and --min-time are reached, after one
run that is not counted. The interval is where the median lies with a probability of 95 %. Bytes are those of arguments and
result; their rate is compared with that of a plain copy on this machine, by as many threads.

With --json, --compare and --against this is done in seven processes, since one process is often a little faster than the next: the
interval is that of their medians, and only what differs between all of them is a change. --against measures both sides in turns.
What --json wrote is of another time, and the machine may have had other work then: a fixed copy and fixed arithmetic are measured
beside the calls, and only what has changed in relation to both is shown.

    par bench examples
    par bench sort.par --threads 1 --json --output before.json
    par bench sort.par --threads 1 --compare before.json     shows significant changes only
    par bench sort.par --against old_sort.par                measures both in turns
    par bench sort.par --against ../old/par                  the same program, compiled by another par
    par bench sort.par --against sort.c --threads 1          a function in C beside each entry point
    par bench --kernels --backend cuda                       scan, filter, sort, … compared with a copy on the GPU
    par bench --transfers --backend cuda                     arrays to the GPU and back

Exit status: 0 all was measured; 1 a call failed, or a file cannot be read; 2, 3, 101 as of `par run`.";

/// Arguments of `par bench`.
#[derive(clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    /// Programs, or folders with programs
    #[arg(value_name = "FILE", required_unless_present = "of_gpu")]
    files: Vec<PathBuf>,
    /// Instead of programs, time the bulk operations of a GPU one by one, and beside them the textbook's variants
    #[arg(long, group = "of_gpu", conflicts_with_all = ["files", "compare"])]
    kernels: bool,
    /// Instead of programs, time copies of arrays to a GPU and back, and beside them the driver's own
    #[arg(long, group = "of_gpu", conflicts_with_all = ["files", "compare"])]
    transfers: bool,
    /// With --kernels and --transfers: on arrays of so many elements of 4 bytes; may be repeated
    #[arg(long, value_name = "N", requires = "of_gpu", default_values = ["65536", "1048576", "16777216", "268435456"], value_parser = clap::value_parser!(u64).range(1024..1 << 32))]
    elements: Vec<u64>,
    /// Back end to run them on
    #[arg(long, value_enum, default_value = "cpu")]
    backend: BackendName,
    /// Number of threads; 0: one for each processor
    #[arg(long, value_name = "N", default_value = "0")]
    threads: usize,
    /// Run every call at least N times
    #[arg(long, value_name = "N", default_value = "10", value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Run every call for at least so long
    #[arg(long, value_name = "SECONDS", default_value = "0.5", value_parser = seconds)]
    min_time: Duration,
    /// Do not start another run of a call after so long
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    max_time: Duration,
    /// Only blocks with this tag; may be repeated
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// No blocks with this tag; may be repeated
    #[arg(long, value_name = "TAG")]
    exclude: Vec<String>,
    /// Compare with results that --json wrote; only what has changed is shown
    #[arg(long, value_name = "OLD.json")]
    compare: Option<PathBuf>,
    /// Measure another version of the program in turns with this one, or the same with another `par`; only what differs is shown. A file
    /// in C has a function `c_NAME` for each entry point NAME: docs/performance.md says what it takes
    #[arg(long, value_name = "FILE", conflicts_with_all = ["compare", "of_gpu"])]
    against: Option<PathBuf>,
    /// Measure in N processes [default: 7 with --json, --compare and --against, else 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    processes: Option<u32>,
    /// Measure for another process, which reads the results
    #[arg(long, hide = true)]
    part: bool,
    /// This program, under the name of the first one
    #[arg(long, hide = true, requires = "part")]
    instead: Option<PathBuf>,
    /// Write the results as JSON instead of a table, with --against those of both sides
    #[arg(long)]
    json: bool,
    /// Write to FILE instead of standard output
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    compile: Compile,
    #[command(flatten)]
    limits: Limits,
    /// Do not check bounds and assertions inside `#[unsafe]`, see `par run`
    #[arg(long)]
    allow_unsafe: bool,
}

/// Measures all calls and prints what they take.
pub fn bench(args: &Args) -> Result<Status, Status> {
    if args.kernels || args.transfers {
        return bench_gpu(args);
    }
    if args.part {
        let (report, failed) = measure(args)?;
        output::text(&report.json())?;
        return failed.map_or(Ok(Status::Success), Err);
    }
    let old = args.compare.as_deref().map(report::read).transpose().map_err(|m| status::fail(&m))?;
    let many = args.json || args.compare.is_some() || args.against.is_some();
    let processes = args.processes.unwrap_or(if many { 7 } else { 1 });
    let (report, old, failed) = match processes {
        1 if args.against.is_none() => {
            let (report, failed) = measure(args)?;
            (report, old, failed)
        }
        n => {
            let turns = turns::measure(args, n)?;
            (turns.report, old.or(turns.against), turns.failed)
        }
    };
    write(args, report, old)?;
    failed.map_or(Ok(Status::Success), Err)
}

/// Measures all calls in this process; and the status of the first one that failed.
fn measure(args: &Args) -> Result<(Report, Option<Status>), Status> {
    let mut files = Vec::new();
    for path in &args.files {
        files.extend(programs(path).map_err(|e| status::fail(&format!("{}: {e}", path.display())))?);
    }
    let bar = if args.part { ProgressBar::hidden() } else { progress::bar(files.len()) };
    let backend = args.backend.choose(args.limits.device(), false);
    let before = (backend != Backend::Cuda).then(|| machine::pace(threads(args)));
    let mut bench = Bench { args, backend, results: Vec::new(), failed: None, bar: &bar };
    files.iter().for_each(|file| bench.file(file));
    bar.finish_and_clear();
    let (results, failed) = (bench.results, bench.failed);
    if results.is_empty() {
        let nothing = || status::fail("the programs have no test that gives a result");
        return Err(failed.unwrap_or_else(nothing));
    }
    let report = match before {
        None => {
            let copy_rate = par::gpu_copy_rate(args.limits.device()).map_err(|m| status::fail(&m))?;
            Report { threads: report::GPU, copy_rate, paces: Vec::new(), results, against: Vec::new() }
        }
        Some((before, _)) => {
            let (after, copy_rate) = machine::pace(threads(args));
            Report {
                threads: threads(args),
                copy_rate,
                paces: vec![before.and(after)],
                results,
                against: Vec::new(),
            }
        }
    };
    Ok((report, failed))
}

#[cfg(not(feature = "cuda"))]
fn bench_gpu(_: &Args) -> Result<Status, Status> {
    Err(status::built_without("cuda"))
}

#[cfg(feature = "cuda")]
fn bench_gpu(args: &Args) -> Result<Status, Status> {
    if args.backend.choose(args.limits.device(), false) != Backend::Cuda {
        let option = if args.kernels { "--kernels" } else { "--transfers" };
        return Err(status::fail(&format!("{option} measures a GPU: use it with --backend cuda")));
    }
    let device = args.limits.device();
    let text = if args.kernels {
        let report = kernels::measure(device, &args.elements)?;
        if args.json { report.json() } else { report.table() }
    } else {
        let report = transfers::measure(device, &args.elements)?;
        if args.json { report.json() } else { report.table() }
    };
    write_text(args, &text)?;
    Ok(Status::Success)
}

fn threads(args: &Args) -> usize {
    match args.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        n => n,
    }
}

fn write(args: &Args, mut report: Report, old: Option<Report>) -> Result<(), Status> {
    let is_c = args.against.as_deref().is_some_and(turns::is_c);
    let text = match (args.json, old) {
        (true, old) => {
            let other = old.filter(|_| args.against.is_some());
            report.against = other.map_or(Vec::new(), |other| other.results);
            report.json()
        }
        (false, Some(c)) if is_c => report.beside(&c),
        (false, Some(old)) => {
            report.comparison(&old, args.against.is_some(), crate::explain::color() && args.output.is_none())
        }
        (false, None) => report.table(),
    };
    write_text(args, &text)
}

fn write_text(args: &Args, text: &str) -> Result<(), Status> {
    match &args.output {
        None => output::text(text),
        Some(path) => output::write_file(path, |file| std::io::Write::write_all(file, text.as_bytes()))
            .map_err(|m| status::fail(&m)),
    }
}

struct Bench<'a> {
    args: &'a Args,
    backend: Backend,
    results: Vec<Measured>,
    /// Of the first file or call that failed.
    failed: Option<Status>,
    bar: &'a ProgressBar,
}

impl Bench<'_> {
    fn file(&mut self, path: &Path) {
        let args = self.args;
        let mut options = args.limits.on(args.compile.options(false));
        options.allow_unsafe = args.allow_unsafe && !self.backend.is_interpreter();
        let settings = Settings {
            options,
            tags: args.tag.clone(),
            exclude: args.exclude.clone(),
            files: Some(input::read_parts),
            ..Settings::default()
        };
        let effort = Effort {
            backend: self.backend,
            threads: args.threads,
            runs: args.runs as usize,
            least: args.min_time,
            most: args.max_time,
        };
        let (program, c) = match args.instead.as_deref() {
            Some(c) if turns::is_c(c) => (path, Some(c)),
            Some(other) => (other, None),
            None => (path, None),
        };
        let mut functions = c.map(c::Functions::new);
        let bar = self.bar;
        let mut failed = None;
        let read = data_sets(program, &settings, &mut |program, set| {
            bar.set_message(format!("{}: {} {}", path.display(), set.entry, set.name));
            let times = match &mut functions {
                Some(functions) => functions.times(program, &set, &effort),
                None => sample::times(program, &set, &effort).map(Some).map_err(NoTimes::Call),
            };
            match times {
                Ok(None) => {}
                Ok(Some(Times { nanoseconds, with_copies, result })) => self.results.push(Measured {
                    medians: vec![stats::median_of(&nanoseconds)],
                    file: path.display().to_string(),
                    entry: set.entry.clone(),
                    name: set.name.clone(),
                    bytes: set.args.iter().map(size).sum::<u64>() + result,
                    nanoseconds,
                    with_copies,
                }),
                Err(problem) => {
                    failed.get_or_insert(bar.suspend(|| match problem {
                        NoTimes::Call(failure) => status::run_failure(program, &failure),
                        NoTimes::Function(message) => status::fail(&message),
                    }));
                }
            }
        });
        let status = match read {
            Ok(()) => failed,
            Err(NoData::Mistake(message)) => Some(bar.suspend(|| status::fail(&message))),
            Err(NoData::Failure(failure)) => Some(bar.suspend(|| status::failure(&failure))),
        };
        self.failed = self.failed.or(status);
        self.bar.inc(1);
    }
}

/// Why a call has no times.
enum NoTimes {
    /// A call that failed.
    Call(par::RunFailure),
    /// No usable function in C, with the reason.
    Function(String),
}
