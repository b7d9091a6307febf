//! `par run`: compiles a program and calls an entry point.

use crate::options::Runnable;
use crate::progress;
use crate::source;
use crate::status::{self, Status};
use clap::ValueEnum;
use par::pipeline::{self, Entries};
use par::{Backend, CallOptions, CancelToken, Program};
use par_native::call::Call;
use par_native::timeout;
use std::path::PathBuf;

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
    /// What to run it on
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
    args.program.messages.choose();
    timeout::within(args.call.timeout, |token| work(args, token))
}

fn work(args: &Args, token: &CancelToken) -> Result<Status, Status> {
    let backend = args.backend.choose(args.program.limits.device(), args.verbose);
    let mut options = args.program.options()?;
    options.allow_unsafe &= !backend.is_interpreter();
    options.entries = Entries::Chosen(args.call.entry.clone());
    let program = source::load(&args.file, &options)?;
    let entry = program.choose_entry(args.call.entry.as_deref()).map_err(|m| status::fail(&m))?;
    prepare(&program, backend)?;
    let options = CallOptions {
        backend,
        threads: args.call.threads,
        cancel: token.clone(),
        locate: !args.call.is_timed(),
        ..CallOptions::default()
    };
    let is_quiet = args.call.is_timed() || program.shows();
    args.call.run(entry, pipeline::enter, |values| {
        let _line = (!is_quiet).then(|| progress::Line::new(format!("running `{}`", entry.name)));
        let result = program.call(&entry.name, values, &options);
        result.map_err(|f| status::run_failure(&program, &f))
    })
}

/// Compiles the program for a back end.
fn prepare(program: &Program, backend: Backend) -> Result<(), Status> {
    let line = progress::Line::new("compiling");
    let prepared = program.prepare(backend);
    drop(line);
    prepared.map_err(|f| status::failure(&f))
}
