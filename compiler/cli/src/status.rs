//! Exit statuses of commands, and their messages about programs; see [`par_native::status`].

use crate::ice;
use par::{Diagnostic, Failure, Program, RunFailure, Sources};
pub use par_native::status::*;

/// Prints diagnostics.
pub fn print(diagnostics: &[Diagnostic], sources: &Sources) {
    par_native::status::print(diagnostics, sources);
    if !is_json() {
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
        Failure::Cancelled => cancelled(),
        Failure::Unavailable(_) => fail(&failure.to_string()),
    }
}

/// Reports that there is no result.
pub fn run_failure(program: &Program, run_failure: &RunFailure) -> Status {
    match run_failure {
        RunFailure::Error(error) => run_error(error, program.sources()),
        RunFailure::Compile(f) => failure(f),
        RunFailure::Cancelled => failure(&Failure::Cancelled),
    }
}
