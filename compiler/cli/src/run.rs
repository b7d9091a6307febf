//! `par run`: compiles a program and calls an entry point.

use crate::options::Runnable;
use crate::progress;
use crate::ranks;
use crate::source;
use crate::status::{self, Status};
use clap::ValueEnum;
use par::pipeline::{self, Entries};
use par::{Backend, CallOptions, CancelToken, Program, Value};
use par_native::call::{Call, Callee};
use par_native::timeout;
use par_runtime::ranks::Ranks;
use std::path::PathBuf;
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
    /// Back end that it stands for on this machine, where `auto` looks for a GPU of that number. Says which it found if `verbose`.
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

/// Arguments of `par run`.
#[derive(clap::Args)]
pub struct Args {
    /// The program
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    call: Call,
    /// Back end to run it on
    #[arg(long, value_enum, default_value = "cpu")]
    backend: BackendName,
    /// Say on standard error what `--backend auto` chose
    #[arg(long, short)]
    verbose: bool,
    #[command(flatten)]
    program: Runnable,
}

/// Compiles and runs a program.
pub fn run(args: &Args) -> Result<Status, Status> {
    run_on(args, None)
}

/// The same together with other ranks, if there are such.
pub fn run_on(args: &Args, ranks: Option<&Ranks>) -> Result<Status, Status> {
    args.program.messages.choose();
    timeout::within(args.call.timeout, |token| work(args, token, ranks))
}

fn work(args: &Args, token: &CancelToken, ranks: Option<&Ranks>) -> Result<Status, Status> {
    let (program, options) = prepared(args, token, ranks)?;
    let entry = program.choose_entry(args.call.entry.as_deref()).map_err(|m| status::fail(&m))?;
    let is_quiet = args.call.is_timed() || program.shows() || ranks.is_some_and(|r| r.rank() > 0);
    args.call.run(
        entry,
        pipeline::enter,
        &Running { program: &program, entry: &entry.name, options, is_quiet },
    )
}

/// The compiled program, and how it is called.
fn prepared(
    args: &Args,
    token: &CancelToken,
    ranks: Option<&Ranks>,
) -> Result<(Program, CallOptions), Status> {
    let backend = args.backend.choose(args.program.limits.device(), args.verbose);
    if ranks.is_some() && backend != Backend::Cpu {
        return Err(status::fail("ranks run programs on their processors: `--backend cpu`"));
    }
    let mut options = args.program.options()?;
    options.allow_unsafe &= !backend.is_interpreter();
    options.entries = Entries::Chosen(args.call.entry.clone());
    let program = ranks::together(ranks, source::load(&args.file, &options))?;
    program.choose_entry(args.call.entry.as_deref()).map_err(|m| status::fail(&m))?;
    if ranks.is_none() {
        prepare(&program, backend)?;
    }
    let options = CallOptions {
        backend,
        threads: args.call.threads,
        cancel: token.clone(),
        // If ranks have all arguments, one says where they fail.
        locate: !args.call.is_timed() && ranks.is_none_or(|r| r.rank() == 0),
        keep_on_device: args.call.is_timed() || ranks.is_some(),
        ranks: ranks.cloned(),
        ..CallOptions::default()
    };
    Ok((program, options))
}

/// Times of so many calls on ranks, after one that is not counted. Nothing is written.
pub fn measure_on(args: &Args, ranks: &Ranks, times: u32) -> Result<Vec<Duration>, Status> {
    args.program.messages.choose();
    let (program, options) = prepared(args, &CancelToken::new(), Some(ranks))?;
    let entry = program.choose_entry(args.call.entry.as_deref()).map_err(|m| status::fail(&m))?;
    let running = Running { program: &program, entry: &entry.name, options, is_quiet: true };
    let values = args.call.arguments(entry, Some(ranks)).map_err(|m| status::fail(&m))?;
    let mut measured = Vec::new();
    for i in 0..=times {
        // All begin at the same time.
        ranks.all_gather_number(0).map_err(|e| status::fail(&e.to_string()))?;
        let start = Instant::now();
        running.call(values.clone())?;
        measured.extend((i > 0).then(|| start.elapsed()));
    }
    Ok(measured)
}

/// The program, about to be called.
struct Running<'a> {
    program: &'a Program,
    entry: &'a str,
    options: CallOptions,
    is_quiet: bool,
}

impl Callee for Running<'_> {
    fn upload(&self, value: Value) -> Result<Value, Status> {
        let there = self.program.upload(value, self.options.backend);
        there.map_err(|f| status::run_failure(self.program, &f))
    }

    fn call(&self, args: Vec<Value>) -> Result<Value, Status> {
        let _line = (!self.is_quiet).then(|| progress::Line::new(format!("running `{}`", self.entry)));
        let result = self.program.call(self.entry, args, &self.options);
        result.map_err(|f| status::run_failure(self.program, &f))
    }

    fn ranks(&self) -> Option<&Ranks> {
        self.options.ranks.as_ref()
    }
}

/// Compiles the program for a back end. On the processor, machine code is made when the arguments are known, which may have a program of their own.
fn prepare(program: &Program, backend: Backend) -> Result<(), Status> {
    let line = progress::Line::new("compiling");
    let prepared = program.prepare(if backend == Backend::Cpu { Backend::FlatInterp } else { backend });
    drop(line);
    prepared.map_err(|f| status::failure(&f))
}
