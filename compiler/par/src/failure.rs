//! Why there is no program, or no result.

use par_runtime::cancel::Cancelled;
use par_runtime::{ErrorKind, RuntimeError};
use par_syntax::{Diagnostic, Severity, Sources, render};

/// A program was not compiled.
#[derive(Clone, Debug)]
pub enum Failure {
    /// The program is wrong, or uses something that is not implemented.
    Rejected {
        /// At least one is an error or unsupported.
        diagnostics: Vec<Diagnostic>,
        /// Sources that they refer to.
        sources: Sources,
    },
    /// The compiler is wrong.
    Bug(Bug),
    /// Something that the back end needs is not there; says what, and how to get it.
    Unavailable(String),
    /// Somebody used the [`CancelToken`](crate::CancelToken).
    Cancelled,
}

/// A mistake in Par itself, noticed by a check between two passes.
#[derive(Clone, Debug, PartialEq)]
pub struct Bug {
    /// After which pass.
    pub pass: String,
    /// Text of the mistake.
    pub message: String,
}

/// A program did not give a result.
#[derive(Clone, Debug)]
pub enum RunFailure {
    /// A check failed, or an argument does not fit.
    Error(RuntimeError),
    /// The back end does not support the program, or the compiler is wrong.
    Compile(Failure),
    /// Somebody used the [`CancelToken`](crate::CancelToken).
    Cancelled,
}

impl Failure {
    /// True if the program is legal, but uses something that is not implemented.
    pub fn is_unsupported(&self) -> bool {
        match self {
            Failure::Rejected { diagnostics, .. } => {
                !diagnostics.iter().any(|d| d.severity == Severity::Error)
            }
            Failure::Bug(_) | Failure::Unavailable(_) | Failure::Cancelled => false,
        }
    }

    /// The failure as text for a person.
    pub fn render(&self, color: bool) -> String {
        match self {
            Failure::Rejected { diagnostics, sources } => render(diagnostics, sources, color),
            Failure::Bug(bug) => bug.to_string(),
            Failure::Unavailable(what) => what.clone(),
            Failure::Cancelled => RuntimeError::cancelled().message,
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.render(false))
    }
}
impl std::error::Error for Failure {}

impl std::fmt::Display for Bug {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a bug in Par, after {}: {}", self.pass, self.message)
    }
}

impl std::fmt::Display for RunFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RunFailure::Error(error) => error.fmt(f),
            RunFailure::Compile(failure) => failure.fmt(f),
            RunFailure::Cancelled => Failure::Cancelled.fmt(f),
        }
    }
}
impl std::error::Error for RunFailure {}

impl From<RuntimeError> for RunFailure {
    fn from(error: RuntimeError) -> RunFailure {
        match error.kind {
            ErrorKind::Cancelled => RunFailure::Cancelled,
            _ => RunFailure::Error(error),
        }
    }
}

impl From<Failure> for RunFailure {
    fn from(failure: Failure) -> RunFailure {
        match failure {
            Failure::Cancelled => RunFailure::Cancelled,
            failure => RunFailure::Compile(failure),
        }
    }
}

impl From<Cancelled> for Failure {
    fn from(_: Cancelled) -> Failure {
        Failure::Cancelled
    }
}

impl From<Cancelled> for RunFailure {
    fn from(_: Cancelled) -> RunFailure {
        RunFailure::Cancelled
    }
}
