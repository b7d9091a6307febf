//! `par run`: compiles a program and calls an entry point.

use crate::options::{Compile, Limits};
use crate::source;
use crate::status::{self, Messages, Status};
use clap::ValueEnum;
use par::tuning::Tuning;
use par::{Backend, CallOptions, CancelToken, Options, pipeline};
use par_native::call::Call;
use par_native::timeout;
use std::path::{Path, PathBuf};

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

/// Compiles and runs a program.
pub fn run(args: &Args) -> Result<Status, Status> {
    args.messages.choose();
    timeout::within(args.call.timeout, |token| work(args, token))
}

fn work(args: &Args, token: &CancelToken) -> Result<Status, Status> {
    let backend = args.backend.choose(args.limits.device(), args.verbose);
    let tuning = args.tuning.as_deref().map(tuning).transpose()?;
    let allow_unsafe = args.allow_unsafe && !backend.is_interpreter();
    let options = Options { tuning, allow_unsafe, ..args.limits.on(args.compile.options(args.verify)) };
    let program = source::load(&args.file, &options)?;
    let entry = program.choose_entry(args.call.entry.as_deref()).map_err(|m| status::fail(&m))?;
    program.prepare(backend).map_err(|f| status::failure(&f))?;
    let options =
        CallOptions { backend, threads: args.call.threads, cancel: token.clone(), ..CallOptions::default() };
    args.call.run(entry, pipeline::enter, |values| {
        let result = program.call(&entry.name, values, &options);
        result.map_err(|f| status::run_failure(&program, &f))
    })
}

/// The thresholds in a file.
pub fn tuning(path: &Path) -> Result<Tuning, Status> {
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string());
    let tuning = text.and_then(|text| Tuning::parse(&text));
    tuning.map_err(|message| status::fail(&format!("{}: {message}", path.display())))
}
