//! Exit statuses and messages to standard error.
//!
//! With `--message-format=json` every diagnostic is one JSON object on a line of its own.

use crate::ice;
use par::{Diagnostic, Failure, Program, RunFailure, RuntimeError, Sources};
use std::io::{IsTerminal, Write};
use std::sync::OnceLock;

/// How the process ends. Scripts rely on the numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Status {
    /// All well.
    Success = 0,
    /// A check failed while the program ran, or its input is wrong, or a file cannot be written.
    Failed = 1,
    /// The program has an error.
    Rejected = 2,
    /// The program is legal, but uses something that is not implemented.
    Unsupported = 3,
    /// Par has an error.
    Bug = 101,
}

/// How diagnostics are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum MessageFormat {
    /// Text with the lines of the program
    Human,
    /// One JSON object per diagnostic and line, for editors
    Json,
}

/// The argument for it.
#[derive(clap::Args)]
pub struct Messages {
    /// How diagnostics are written to standard error
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "human", long_help = FORMAT_HELP)]
    message_format: MessageFormat,
}

const FORMAT_HELP: &str = "\
How diagnostics are written to standard error, and the results of `par test` to standard output. With json each is one object on a line of its own: severity (error,
warning, note, unsupported), code, message, file, start and end (bytes from the beginning of the file), line, column,
end_line, end_column (from 1, in characters), utf16_column and utf16_end_column (the same in UTF-16 code units), labels
(places with their texts, the first is the primary one), notes, and rendered (the text for a person)";

static FORMAT: OnceLock<MessageFormat> = OnceLock::new();

impl Messages {
    /// Makes this the format from now on.
    pub fn choose(&self) {
        // Only the first choice counts, and a command has one.
        let _ = FORMAT.set(self.message_format);
    }
}

/// Whether machines read what is written.
pub fn is_json() -> bool {
    FORMAT.get() == Some(&MessageFormat::Json)
}

/// Whether to color what goes to standard error.
pub fn color() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

/// Writes a line to standard error.
pub fn say(line: &str) {
    write(&format!("{line}\n"));
}

/// Writes to standard error. If nobody reads there, nothing is left that could be done.
fn write(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Prints diagnostics.
pub fn print(diagnostics: &[Diagnostic], sources: &Sources) {
    if is_json() {
        diagnostics.iter().for_each(|d| say(&par::report::json(d, sources).to_string()));
    } else if !diagnostics.is_empty() {
        write(&par::render(diagnostics, sources, color()));
        explain_hint(diagnostics);
    }
}

/// Says once how to learn more.
fn explain_hint(diagnostics: &[Diagnostic]) {
    let code = diagnostics.iter().map(|d| d.code.as_str()).find(|code| par::explain::page(code).is_ok());
    if let Some(code) = code {
        say(&format!("help: `par explain-error {code}` says more about this"));
    }
}

/// Why something was stopped, if it was.
static CANCELLED: OnceLock<String> = OnceLock::new();

/// What is said when the work of this process is stopped.
pub fn explain_cancellation(reason: &str) {
    // A command has one reason.
    let _ = CANCELLED.set(reason.to_string());
}

/// Reports that there is no program.
pub fn failure(failure: &Failure) -> Status {
    match failure {
        Failure::Rejected { diagnostics, sources } => {
            print(diagnostics, sources);
            if failure.is_unsupported() { Status::Unsupported } else { Status::Rejected }
        }
        Failure::Bug(bug) => {
            ice::apologise(&bug.pass, &bug.message);
            Status::Bug
        }
        Failure::Cancelled => fail(CANCELLED.get().unwrap_or(&failure.to_string())),
        Failure::Unavailable(_) => fail(&failure.to_string()),
    }
}

/// Reports that there is no result.
pub fn run_failure(program: &Program, run_failure: &RunFailure) -> Status {
    match run_failure {
        RunFailure::Error(error) => runtime_error(program, error),
        RunFailure::Compile(f) => failure(f),
        RunFailure::Cancelled => failure(&Failure::Cancelled),
    }
}

fn runtime_error(program: &Program, error: &RuntimeError) -> Status {
    if error.span.is_some() {
        print(&[program.diagnostic(error)], program.sources());
        return Status::Failed;
    }
    fail(&error.message)
}

/// Reports a mistake that has no place in the program.
pub fn fail(message: &str) -> Status {
    match is_json() {
        true => say(&par::report::plain(message).to_string()),
        false => say(&format!("error: {message}")),
    }
    Status::Failed
}
