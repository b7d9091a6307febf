//! `par tune`: measures from which sizes on which version is faster, and writes that down.

use crate::measure::seconds;
use crate::options::Compile;
use crate::run::BackendName;
use crate::status::{self, Messages, Status};
use crate::{input, output, source};
use par::pipeline::{Choice, Measure, Target, Thresholds};
use par::testing::{DataSet, NoData, Settings, data_sets};
use par::tuning::Tuning;
use par::{Backend, CallOptions, Options, Program, Value};
use par_native::call::{INPUT_HELP, INPUT_LONG_HELP};
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const AFTER_HELP: &str = "\
Where a nest, or a batch of calls, has a flat version and one that works through each row or call by itself, both are run with
different thresholds on the cases of the program's test blocks that give a result, or on --input; the fastest are written to a
file, one per line, for `par run --tuning`. Versions give the same values, up to the order in which floats are added.

    par tune rows.par                             writes rows.par.tuning
    par tune rows.par --input big.in --output big.tuning
    par tune rows.par --backend cuda --output gpu.tuning
    par run rows.par --tuning rows.par.tuning

Exit status: 0 the file was written; 1 a call failed, or there is nothing to measure with; 2, 3, 101 as of `par run`.";

/// Arguments of `par tune`.
#[derive(clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    /// The program
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Entry point for --input [default: main, or the only one]
    #[arg(long, value_name = "NAME", requires = "input")]
    entry: Option<String>,
    #[arg(long, short, value_name = "[NAME=]FILE", help = INPUT_HELP, long_help = INPUT_LONG_HELP)]
    input: Vec<String>,
    /// Back end to run them on
    #[arg(long, value_enum, default_value = "cpu")]
    backend: BackendName,
    /// Number of the GPU, where there are several, for `--backend cuda` and `auto`
    #[arg(long, value_name = "N", default_value = "0")]
    device: usize,
    /// Number of threads; 0: one for each processor
    #[arg(long, value_name = "N", default_value = "0")]
    threads: usize,
    /// Run every call N times for each threshold, after one run that is not counted; the fastest counts
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Try no further threshold after so long
    #[arg(long, value_name = "SECONDS", default_value = "120", value_parser = seconds)]
    max_time: Duration,
    /// Write the thresholds to FILE [default: the program's name with `.tuning`]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    messages: Messages,
    #[command(flatten)]
    compile: Compile,
}

/// Measures and writes the thresholds.
pub fn tune(args: &Args) -> Result<Status, Status> {
    args.messages.choose();
    let backend = args.backend.choose(args.device, false);
    let options = Options { device: args.device, ..args.compile.options(false) };
    let program = source::load(&args.file, &options)?;
    program.prepare(backend).map_err(|f| status::failure(&f))?;
    let target = if backend == Backend::Cuda { Target::Gpu } else { Target::Processor };
    let choices = program.choices(target).map_err(|f| status::failure(&f))?;
    let sets = sets(args, &program)?;
    let mut tuner = Tuner { args, backend, program: &program, options, sets, start: Instant::now() };
    let mut thresholds = Thresholds::default();
    choices.iter().for_each(|c| thresholds.set(*c, c.measure.default_threshold(target)));
    let thresholds = tuner.improved(choices, thresholds)?;
    let path = args.output.clone().unwrap_or_else(|| {
        let mut name = args.file.clone().into_os_string();
        name.push(".tuning");
        name.into()
    });
    let tuning = Tuning::new(&thresholds, program.sources());
    let text = format!("# measured by `par tune {}`\n{tuning}", args.file.display());
    output::write_file(&path, |file| file.write_all(text.as_bytes())).map_err(|m| status::fail(&m))?;
    output::text(&format!("{}{}: {} thresholds\n", tuning, path.display(), choices.len()))?;
    Ok(Status::Success)
}

/// The calls to measure.
fn sets(args: &Args, program: &Program) -> Result<Vec<DataSet>, Status> {
    if !args.input.is_empty() {
        let entry = program.choose_entry(args.entry.as_deref()).map_err(|m| status::fail(&m))?;
        let values = input::read(entry, &args.input).map_err(|m| status::fail(&m))?;
        return Ok(vec![DataSet { name: "--input".into(), entry: entry.name.clone(), args: values }]);
    }
    let mut sets = Vec::new();
    let settings = Settings { files: Some(input::read_parts), ..Settings::default() };
    let read = data_sets(&args.file, &settings, &mut |_, set| sets.push(set));
    match read {
        Err(NoData::Mistake(message)) => Err(status::fail(&message)),
        Err(NoData::Failure(failure)) => Err(status::failure(&failure)),
        Ok(()) if sets.is_empty() => {
            Err(status::fail("the program has no test that gives a result; name arguments with --input"))
        }
        Ok(()) => Ok(sets),
    }
}

struct Tuner<'a> {
    args: &'a Args,
    backend: Backend,
    program: &'a Program,
    options: Options,
    sets: Vec<DataSet>,
    start: Instant,
}

/// A threshold is changed if that saves this part of the time.
const GAIN: f64 = 0.03;

impl Tuner<'_> {
    /// The best thresholds found from those given, one choice after the other.
    fn improved(&mut self, choices: &[Choice], mut best: Thresholds) -> Result<Thresholds, Status> {
        let mut time = self.time(&best)?;
        for choice in choices {
            for candidate in candidates(choice.measure) {
                if best.get(*choice) == Some(candidate) || self.start.elapsed() > self.args.max_time {
                    continue;
                }
                let mut changed = best.clone();
                changed.set(*choice, candidate);
                let found = self.time(&changed)?;
                if found.as_secs_f64() < time.as_secs_f64() * (1.0 - GAIN) {
                    (best, time) = (changed, found);
                }
            }
        }
        Ok(best)
    }

    /// Time of all calls together with these thresholds: of each call the fastest run.
    fn time(&self, thresholds: &Thresholds) -> Result<Duration, Status> {
        let tuning = Some(Tuning::new(thresholds, self.program.sources()));
        let program = self.program.variant(&Options { tuning, ..self.options.clone() });
        let mut all = Duration::ZERO;
        let options = CallOptions {
            backend: self.backend,
            threads: self.args.threads,
            keep_on_device: true,
            ..CallOptions::default()
        };
        let failed = |f| status::run_failure(&program, &f);
        for set in &self.sets {
            let mut least = Duration::MAX;
            let upload = |value: &Value| program.upload(value.clone(), self.backend);
            let args = set.args.iter().map(upload).collect::<Result<Vec<Value>, _>>().map_err(failed)?;
            for run in 0..=self.args.runs {
                let start = Instant::now();
                let done = program.call(&set.entry, args.clone(), &options);
                let time = start.elapsed();
                done.map_err(failed)?;
                if run > 0 {
                    least = least.min(time);
                }
            }
            all += least;
        }
        Ok(all)
    }
}

/// Thresholds that are tried.
fn candidates(measure: Measure) -> Vec<i64> {
    let powers = match measure {
        Measure::Calls | Measure::Rows | Measure::Positions | Measure::Steps | Measure::Iterations => {
            [0, 3, 6, 9, 12, 15, 18]
        }
        Measure::Longest => [2, 3, 4, 6, 9, 12, 15],
    };
    powers.into_iter().map(|k| 1 << k).chain([i64::MAX]).collect()
}
