//! The `par` command, for programs that are it: one of its own, and that of a Python package. Exit statuses are a contract, see [`Status`].

mod bench;
mod build;
mod check;
mod dev;
mod doc;
mod explain;
mod explain_error;
mod files;
mod fmt;
mod fuzz;
mod ice;
mod literate;
mod lsp;
mod manual;
mod measure;
mod options;
mod profile;
pub mod ranks;
mod repl;
mod run;
mod source;
mod status;
mod test;
mod tune;

use clap::{Parser, Subcommand};
use par_native::{input, output, progress};
use par_runtime::simd::{Level, VARIABLE};
pub use status::Status;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Stack of the thread that does the work: the compiler recurses on the program's nesting.
const STACK: usize = 512 << 20;

const AFTER_HELP: &str = "\
Exit status: 0 success; 1 the program failed or its input is wrong; 2 the program was rejected;
3 the program is legal but uses something that is not implemented; 101 a bug in Par.";

/// Compiles and runs programs in Par, a data-parallel language with irregular arrays.
#[derive(Parser)]
#[command(name = "par", version = env!("PAR_VERSION"), after_help = AFTER_HELP)]
struct Cli {
    /// Use vector instructions up to this level only: avx512, avx2 or baseline (also PAR_SIMD)
    #[arg(long, global = true, value_name = "LEVEL", value_parser = simd)]
    simd: Option<Level>,
    #[command(subcommand)]
    command: Command,
}

/// The level of vector instructions with a name.
fn simd(name: &str) -> Result<Level, String> {
    let names = Level::ALL.map(Level::name).join(", ");
    Level::from_name(name).ok_or_else(|| format!("the levels are {names}"))
}

/// Makes `--simd` known to this process and to those that it starts. A name that `PAR_SIMD` cannot have is an error.
fn lower_simd(wanted: Option<Level>) -> Result<(), Status> {
    if let Some(level) = wanted {
        // SAFETY: no other thread was started yet.
        unsafe { std::env::set_var(VARIABLE, level.name()) };
    } else if let Ok(name) = std::env::var(VARIABLE) {
        simd(&name).map_err(|e| status::fail(&format!("{VARIABLE} is `{name}`; {e}")))?;
    }
    Ok(())
}

#[derive(Subcommand)]
enum Command {
    /// Check a program without running it
    Check(check::Args),
    /// Compile a program and run one of its entry points
    Run(run::Args),
    /// Compile a program to an executable of its own
    Build(build::Args),
    /// Format programs
    Fmt(fmt::Args),
    /// Run the tests in programs (their `-- ==` blocks) on every back end
    Test(test::Args),
    /// Try definitions and expressions one after the other
    Repl(repl::Args),
    /// Write a program with its comments, values, plots and pictures as a page
    Literate(literate::Args),
    /// Look up a name of the standard library, or write the documentation as HTML
    Doc(doc::Args),
    /// Explain what the code of an error or a warning means
    ExplainError(explain_error::Args),
    /// Show what became of a program: its bulk operations beside its lines, with what they cost
    Explain(explain::Args),
    /// Show which bulk operations of a program take how long
    Profile(profile::Args),
    /// Measure the calls that the tests in programs describe
    Bench(bench::Args),
    /// Measure which versions of nests are faster from which sizes on
    Tune(tune::Args),
    /// Look for disagreements between the stages of the compiler with random programs
    Fuzz(fuzz::Args),
    /// Serve an editor: the language server protocol on standard input and output
    Lsp(lsp::Args),
    /// Write the manual page, or completions for a shell
    Manual(manual::Args),
    /// Look inside the compiler
    Dev(dev::Args),
}

/// Command line of this process, to run the command again.
struct Invocation {
    command: Option<PathBuf>,
    arguments: Vec<OsString>,
}

static INVOCATION: OnceLock<Invocation> = OnceLock::new();

/// The file that is this command.
fn this_command() -> Result<&'static Path, String> {
    let command = INVOCATION.get().and_then(|i| i.command.as_deref());
    command.ok_or_else(|| "cannot find the par command".to_string())
}

/// Arguments of the command line, without the program name.
fn arguments() -> &'static [OsString] {
    INVOCATION.get().map_or(&[], |i| i.arguments.get(1..).unwrap_or_default())
}

/// Does what the command line says, whose first word is the command's name; once in a process. `command` is the file that starts this
/// command again.
pub fn main(arguments: Vec<OsString>, command: Option<PathBuf>) -> Status {
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(said) => {
            // Nothing can be done if it cannot be printed.
            let _ = said.print();
            return if said.use_stderr() { Status::Rejected } else { Status::Success };
        }
    };
    INVOCATION.get_or_init(|| Invocation { command, arguments });
    ice::install();
    if let Err(status) = lower_simd(cli.simd) {
        return status;
    }
    on_worker(|| execute(cli.command))
}

/// Does the work on a thread with much stack.
fn on_worker(work: impl FnOnce() -> Status + Send + 'static) -> Status {
    let worker = std::thread::Builder::new().name("par".into()).stack_size(STACK).spawn(work);
    match worker.map(std::thread::JoinHandle::join) {
        Ok(Ok(status)) => status,
        // The panic hook has said everything.
        Ok(Err(_)) => Status::Bug,
        Err(e) => {
            status::say(&format!("par: no thread to work in: {e}"));
            Status::Failed
        }
    }
}

fn execute(command: Command) -> Status {
    match command {
        Command::Check(args) => check::check(&args),
        Command::Run(args) => run::run(&args),
        Command::Build(args) => build::build(&args),
        Command::Fmt(args) => fmt::fmt(&args),
        Command::Test(args) => test::test(&args),
        Command::Repl(args) => repl::repl(&args),
        Command::Literate(args) => literate::literate(&args),
        Command::Doc(args) => doc::doc(&args),
        Command::ExplainError(args) => explain_error::explain(&args),
        Command::Explain(args) => explain::explain(&args),
        Command::Profile(args) => profile::profile(&args),
        Command::Bench(args) => bench::bench(&args),
        Command::Tune(args) => tune::tune(&args),
        Command::Fuzz(args) => fuzz::fuzz(&args),
        Command::Lsp(args) => lsp::lsp(&args),
        Command::Manual(args) => manual::manual(&args),
        Command::Dev(args) => dev::dev(&args),
    }
    .unwrap_or_else(|status| status)
}
