//! `par run`: arguments in, results out.

use crate::options::{Compile, Limits};
use crate::status::{self, Messages, Status};
use crate::{input, output, source, timeout};
use clap::ValueEnum;
use par::tuning::Tuning;
use par::{Backend, CallOptions, CancelToken, Entry, Options, Program, Value, pipeline};
use par_data::plot::{Kind, Style, plot};
use par_data::{Format, Target};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The back ends as they are named on the command line.
#[derive(Clone, Copy, ValueEnum)]
pub enum BackendName {
    /// Machine code on the processor's cores
    Cpu,
    /// The reference interpreter of nested parallel code
    Interp,
    /// The reference interpreter of flattened code
    FlatInterp,
    /// A GPU, by CUDA
    Cuda,
    /// A GPU if there is one, else the processor
    Auto,
}

impl BackendName {
    /// What it stands for on this machine, where `auto` looks for a GPU of that number. Says which it found if `verbose`.
    pub fn choose(self, device: usize, verbose: bool) -> Backend {
        match self {
            BackendName::Cpu => Backend::Cpu,
            BackendName::Interp => Backend::Interp,
            BackendName::FlatInterp => Backend::FlatInterp,
            BackendName::Cuda => Backend::Cuda,
            BackendName::Auto => {
                let (backend, words) = Backend::automatic(device);
                if verbose {
                    status::say(&format!("running on {words}"));
                }
                backend
            }
        }
    }
}

/// How arguments are given.
pub const INPUT_HELP: &str = "\
Arguments: FILE holds the next values, NAME=FILE the value of the parameter NAME; a FILE of named parts (a CSV's columns) holds the
values of the parameters with these names. May be repeated. Parameters that nothing is given for are read from standard
input";

/// The same with all details.
pub const INPUT_LONG_HELP: &str = "\
Arguments, each from [NAME=][FORMAT:]FILE[#PART]. May be repeated. Parameters that nothing is given for are read from
standard input, which is also the file `-`.

NAME=FILE is the value of the parameter NAME, NAME=@FILE that file's raw bytes for a parameter of type []u8. FILE alone holds
the next values, or, if it has parts that are called like parameters, the values of these. #PART takes a column, an array of an
archive, or a part of a matrix.

Formats are told by the file's first bytes or the ending of its name; FORMAT says it otherwise: text (Par's notation), binary
(Futhark's), raw, npy, npz, csv, tsv (csv-header and csv-noheader say whether the first row has names), mtx (Matrix
Market), png, pgm, ppm, arrow, arrows (Arrow's streams), parquet. docs/data.md says what each of them can hold";

/// Arguments of `par run`.
#[derive(clap::Args)]
pub struct Args {
    /// The program
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Entry point to call [default: main, or the only one]
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,
    /// What to run it on
    #[arg(long, value_enum, default_value = "cpu")]
    backend: BackendName,
    /// Say on standard error what `--backend auto` chose
    #[arg(long, short)]
    verbose: bool,
    /// Number of threads; 0: one for each processor
    #[arg(long, value_name = "N", default_value = "0")]
    threads: usize,
    #[arg(long, short, value_name = "[NAME=]FILE", help = INPUT_HELP, long_help = INPUT_LONG_HELP)]
    input: Vec<String>,
    /// Write the results to [FORMAT:]FILE instead of standard output, in the format that the ending of the name tells: npy, npz,
    /// csv, tsv, mtx, png, pgm, ppm, arrow, arrows, parquet, or text. `csv:-` is CSV on standard output
    #[arg(long, short, value_name = "[FORMAT:]FILE")]
    output: Option<String>,
    /// Write the results in Futhark's binary format
    #[arg(long)]
    binary: bool,
    /// Draw the result as SVG: lines over arrays of numbers, a heat map of a regular matrix, several lines for tuples and irregular rows
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// How to draw it
    #[arg(long, value_enum, value_name = "KIND", default_value = "auto", requires = "plot")]
    plot_as: PlotKind,
    /// Stop with an error if compiling and running take longer
    #[arg(long, value_name = "SECONDS", value_parser = timeout::seconds)]
    timeout: Option<Duration>,
    /// Run N times after one run that is not counted
    #[arg(long, value_name = "N", requires = "time")]
    runs: Option<usize>,
    /// Write the time of each counted run to FILE: microseconds, one per line
    #[arg(long, value_name = "FILE")]
    time: Option<PathBuf>,
    /// Use the thresholds between versions that `par tune` has written
    #[arg(long, value_name = "FILE")]
    tuning: Option<PathBuf>,
    /// Check the compiler's own work after every pass
    #[arg(long)]
    verify: bool,
    #[command(flatten)]
    messages: Messages,
    #[command(flatten)]
    compile: Compile,
    #[command(flatten)]
    limits: Limits,
    /// Do not check bounds and assertions inside `#[unsafe]`: where they do not hold, the program may read and write
    /// outside its arrays. The interpreters check everything
    #[arg(long)]
    allow_unsafe: bool,
}

/// What a plot shows, as it is named on the command line.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PlotKind {
    /// What suits the type
    Auto,
    /// Lines
    Lines,
    /// Points
    Points,
    /// How often values occur
    Histogram,
    /// A colour for each element of a matrix
    Heat,
}

impl From<PlotKind> for Kind {
    fn from(kind: PlotKind) -> Kind {
        match kind {
            PlotKind::Auto => Kind::Auto,
            PlotKind::Lines => Kind::Lines,
            PlotKind::Points => Kind::Points,
            PlotKind::Histogram => Kind::Histogram,
            PlotKind::Heat => Kind::Heat,
        }
    }
}

/// Compiles and runs a program.
pub fn run(args: &Args) -> Result<Status, Status> {
    args.messages.choose();
    timeout::within(args.timeout, |token| work(args, token))
}

fn work(args: &Args, token: &CancelToken) -> Result<Status, Status> {
    let backend = args.backend.choose(args.limits.device(), args.verbose);
    let tuning = args.tuning.as_deref().map(tuning).transpose()?;
    let allow_unsafe = args.allow_unsafe && !backend.is_interpreter();
    let options = Options { tuning, allow_unsafe, ..args.limits.on(args.compile.options(args.verify)) };
    let program = source::load(&args.file, &options)?;
    let entry = program.choose_entry(args.entry.as_deref()).map_err(|m| status::fail(&m))?;
    program.prepare(backend).map_err(|f| status::failure(&f))?;
    pipeline::enter("reading the input");
    let values = input::read(entry, &args.input).map_err(|message| status::fail(&message))?;
    let (value, times) = run_timed(&program, entry, values, (backend, token), args)?;
    pipeline::enter("writing the output");
    output::tidy_when_interrupted();
    if let Some(path) = &args.plot {
        let style = Style { kind: args.plot_as.into(), ..Style::default() };
        let svg = plot(value.clone(), &style).map_err(|m| status::fail(&m))?;
        output::write_file(path, |file| file.write_all(svg.as_bytes())).map_err(|m| status::fail(&m))?;
        if args.output.is_none() {
            return write_times(args, &times);
        }
    }
    target(args).write(value).map_err(|e| status::fail(&e.message))?;
    write_times(args, &times)
}

fn write_times(args: &Args, times: &[u128]) -> Result<Status, Status> {
    if let Some(path) = &args.time {
        let lines: String = times.iter().map(|t| format!("{t}\n")).collect();
        output::write_file(path, |file| file.write_all(lines.as_bytes())).map_err(|m| status::fail(&m))?;
    }
    Ok(Status::Success)
}

/// Where the results go.
fn target(args: &Args) -> Target {
    let target = args.output.as_deref().map_or_else(Target::standard_output, Target::parse);
    if args.binary { Target { format: Format::Binary, ..target } } else { target }
}

/// The thresholds in a file.
fn tuning(path: &Path) -> Result<Tuning, Status> {
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string());
    let tuning = text.and_then(|text| Tuning::parse(&text));
    tuning.map_err(|message| status::fail(&format!("{}: {message}", path.display())))
}

/// The result and the microseconds of every counted run.
fn run_timed(
    program: &Program,
    entry: &Entry,
    values: Vec<Value>,
    (backend, token): (Backend, &CancelToken),
    args: &Args,
) -> Result<(Value, Vec<u128>), Status> {
    let options =
        CallOptions { backend, threads: args.threads, cancel: token.clone(), ..CallOptions::default() };
    let once = |values| {
        let start = Instant::now();
        let result = program.call(&entry.name, values, &options);
        let time = start.elapsed().as_micros();
        result.map(|value| (value, time)).map_err(|f| status::run_failure(program, &f))
    };
    let counted = args.runs.unwrap_or(if args.time.is_some() { 1 } else { 0 });
    let mut result = None;
    let mut times = Vec::new();
    for i in 0..counted {
        // Dropped first, so that its memory can be used again.
        drop(result.take());
        let (value, time) = once(values.clone())?;
        if i > 0 {
            times.push(time);
        }
        result = Some(value);
    }
    drop(result.take());
    let (value, time) = once(values)?;
    if counted > 0 {
        times.push(time);
    }
    Ok((value, times))
}
