//! Exit statuses and messages to standard error.

use crate::ice;
use par::{Diagnostic, Failure, Program, RunFailure, RuntimeError, Sources};
use std::io::IsTerminal;

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

/// Whether to color what goes to standard error.
pub fn color() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

/// Prints diagnostics.
pub fn print(diagnostics: &[Diagnostic], sources: &Sources) {
    if !diagnostics.is_empty() {
        eprint!("{}", par::render(diagnostics, sources, color()));
    }
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
        Failure::Cancelled => fail(&failure.to_string()),
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
    eprintln!("error: {message}");
    Status::Failed
}
