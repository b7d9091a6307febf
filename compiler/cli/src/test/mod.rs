//! `par test`: the tests in programs.
//!
//! Every file is tested in a process of its own (`worker`), several at a time (`pool`), so that a crash or an endless
//! loop in one program costs nothing but that program's tests. Results are printed as files end (`report`) and
//! written for other tools (`junit`).

mod junit;
mod pool;
mod report;
mod worker;

use crate::files::programs;
use crate::input;
use crate::options::{Compile, Limits};
use crate::run::BackendName;
use crate::status::{self, Messages, Status};
use par::Backend;
use par::testing::{ALL_TARGETS, Settings, Target};
use regex::Regex;
use std::path::PathBuf;
use std::time::Duration;

const AFTER_HELP: &str = "\
Tests are comment blocks:

    -- ==
    -- entry: total mean                                the entry points to call [default: main]
    -- tags { slow }
    -- input { [1, 2, 3] } output { 6 }
    -- \"one row\" input @ row.in output @ row.out        text, Futhark's binary format, .npy; also .gz
    -- input { [0] } error: division by zero            a text, or a regular expression
    -- random input { 20i32 [1000]i32 [9][]f64 in -1..<1 }  the same values in every run; `20i32` is itself, `[9][]` ragged
    -- auto output                                      what the interpreter gives
    -- random input { [20]f64 } gradient: 1e-9          its derivatives forward and backward differ by no more
    -- script input { (iota 10, 3i32) }                 the value of an expression, one component per parameter
    -- compiled input …                                 not on interpreters; no_cpu, no_cuda, no_interp, no_flat_interp
    -- notest input …                                   measured by `par bench` only; nobench: tested only
    -- structure { reduce 1 kernel 1 }                  operations after flattening; `structure core { … }` before it
    -- warning: never used
    -- compile error: E0301                             alone in its block: the program must be rejected

Floats are equal up to a relative error of 2e-6 (f32) or 1e-9 (f64), and not-a-number equals itself. Blocks with the tag
`disable` are left out unless --tag asks for them.

Examples:
    par test examples                       all programs in a folder
    par test sort.par --backend cpu --threads 4
    par test tests --only 'sort.*empty' --list
    par test tests --exclude slow --junit results.xml
    par test sort.par --update              writes the values found into `output { … }`

Exit status: 0 all tests passed; 1 a test failed or is malformed; 2 a program was rejected that should compile;
3 nothing but programs that use something not implemented failed; 101 a bug in Par, or the process of a program ended.
Failures and the summary go to standard output, as objects with --message-format=json; the progress goes to standard error.";

/// Arguments of `par test`.
#[derive(clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    /// Programs, or folders with programs
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Only this back end [default: all that need no GPU]
    #[arg(long, value_enum)]
    backend: Option<BackendName>,
    #[command(flatten)]
    messages: Messages,
    #[command(flatten)]
    compile: Compile,
    #[command(flatten)]
    limits: Limits,
    /// Numbers of threads to run machine code with
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1,2")]
    threads: Vec<usize>,
    /// Number of programs to test at the same time [default: one for each processor]
    #[arg(long, short, value_name = "N")]
    jobs: Option<usize>,
    /// Time for the tests of one program
    #[arg(long, value_name = "SECONDS", default_value = "600")]
    timeout: f64,
    /// Only blocks with this tag; may be repeated
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// No blocks with this tag; may be repeated
    #[arg(long, value_name = "TAG")]
    exclude: Vec<String>,
    /// Only tests whose `FILE:LINE: NAME` matches this regular expression
    #[arg(long, value_name = "REGEX")]
    only: Option<Regex>,
    /// Print the tests instead of running them
    #[arg(long, conflicts_with = "update")]
    list: bool,
    /// Write the values that were found into every `output { … }` that has others, then test
    #[arg(long)]
    update: bool,
    /// Write the results as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Test one file in this process and write what happens as JSON lines: how the files' processes are started
    #[arg(long, hide = true)]
    worker: bool,
}

/// Runs all tests and prints those that fail.
pub fn test(args: &Args) -> Result<Status, Status> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = args.jobs.unwrap_or(processors).max(1);
    if args.worker {
        // The processes of other files have the other processors.
        par_runtime::cuda::compile_on((processors / jobs).max(1));
        return worker::work(&args.files[0], &settings(args), args.update);
    }
    args.messages.choose();
    let mut files = Vec::new();
    for path in &args.files {
        files.extend(programs(path).map_err(|e| status::fail(&format!("{}: {e}", path.display())))?);
    }
    if files.is_empty() {
        return Err(status::fail("there are no programs (.par or .fut) in the folders"));
    }
    let limit =
        Duration::try_from_secs_f64(args.timeout).map_err(|e| status::fail(&format!("--timeout: {e}")))?;
    let jobs = jobs.min(files.len());
    let pool = pool::Pool { jobs, limit, arguments: worker_arguments(args, jobs) };
    let summary = report::run(&pool, &files, args.list).map_err(|m| status::fail(&m))?;
    let selected = !args.tag.is_empty() || args.only.is_some();
    if selected && summary.tests().next().is_none() {
        return Err(status::fail("no test is selected by --tag and --only"));
    }
    if let Some(path) = &args.junit {
        junit::write(path, &summary).map_err(|m| status::fail(&m))?;
    }
    Ok(summary.status())
}

fn settings(args: &Args) -> Settings {
    let wanted = args.backend.map(|b| b.choose(args.limits.device(), false));
    let mut targets: Vec<Target> =
        ALL_TARGETS.iter().copied().filter(|t| t.backend != Backend::Cpu).collect();
    targets.extend(args.threads.iter().map(|n| Target { backend: Backend::Cpu, threads: *n }));
    targets.retain(|t| wanted.is_none_or(|b| b == t.backend));
    // There need not be a GPU: its tests are to be asked for.
    if wanted == Some(Backend::Cuda) {
        targets.push(Target { backend: Backend::Cuda, threads: 1 });
    }
    let mut exclude = args.exclude.clone();
    if !args.tag.iter().any(|tag| tag == "disable") {
        exclude.push("disable".into());
    }
    let options = args.limits.on(args.compile.options(true));
    let (tags, only, list) = (args.tag.clone(), args.only.clone(), args.list);
    let (costs, files) = (false, Some(input::read_parts as _));
    Settings { targets, options, tags, exclude, only, list, costs, files }
}

/// The arguments that select tests, for the process of a file, which is one of so many.
fn worker_arguments(args: &Args, jobs: usize) -> Vec<String> {
    let mut out = vec!["test".to_string(), "--worker".to_string(), format!("--jobs={jobs}")];
    if let Some(backend) = args.backend {
        out.push(format!("--backend={}", backend.choose(args.limits.device(), false).name()));
    }
    let threads: Vec<String> = args.threads.iter().map(usize::to_string).collect();
    out.push(format!("--threads={}", threads.join(",")));
    out.extend(args.compile.arguments());
    out.extend(args.limits.arguments());
    out.extend(args.tag.iter().map(|t| format!("--tag={t}")));
    out.extend(args.exclude.iter().map(|t| format!("--exclude={t}")));
    out.extend(args.only.iter().map(|p| format!("--only={p}")));
    out.extend([(args.list, "--list"), (args.update, "--update")].iter().filter(|o| o.0).map(|o| o.1.into()));
    out
}
