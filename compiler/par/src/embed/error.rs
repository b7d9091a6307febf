//! Errors in an embedding program.

use crate::{Diagnostic, Failure, RunFailure, RuntimeError, Severity, Span};
use std::fmt;
use std::path::PathBuf;

/// Why there is no program or no result. Its text is what a person should see, with the place in the source.
#[non_exhaustive]
pub enum Error {
    /// The program is wrong.
    Rejected {
        /// Mistakes, with labels and notes.
        diagnostics: Vec<Diagnostic>,
        /// The diagnostics as text.
        rendered: String,
    },
    /// The program is legal, but uses something that is not implemented.
    Unsupported {
        /// The error as text.
        rendered: String,
    },
    /// There is no such entry point, or a value of Rust does not fit the type in the program.
    Mismatch(Mismatch),
    /// A check failed while the program ran: an index, a size, an `assert`, memory.
    Failed {
        /// Text of the failure.
        message: String,
        /// Where, if it has a place.
        span: Option<Span>,
        /// Message and place as text.
        rendered: String,
    },
    /// The call was stopped by its token.
    Cancelled,
    /// The program's file cannot be read.
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// Something that the back end needs is not there, a GPU for one.
    Unavailable(String),
    /// A mistake in Par itself.
    Bug(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Rejected { rendered, .. }
            | Error::Unsupported { rendered }
            | Error::Failed { rendered, .. } => f.write_str(rendered.trim_end()),
            Error::Mismatch(mismatch) => mismatch.fmt(f),
            Error::Cancelled => f.write_str(&RuntimeError::cancelled().message),
            Error::File { path, error } => write!(f, "cannot read {}: {error}", path.display()),
            Error::Unavailable(message) | Error::Bug(message) => f.write_str(message),
        }
    }
}

/// As for a person: it is what a `main` prints that gives the error back.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::File { error, .. } => Some(error),
            _ => None,
        }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        let (rendered, unsupported) = (failure.render(false), failure.is_unsupported());
        match failure {
            Failure::Rejected { .. } if unsupported => Error::Unsupported { rendered },
            Failure::Rejected { mut diagnostics, .. } => {
                diagnostics.retain(|d| d.severity >= Severity::Unsupported);
                Error::Rejected { diagnostics, rendered }
            }
            Failure::Unavailable(_) => Error::Unavailable(rendered),
            Failure::Bug(_) => Error::Bug(rendered),
            Failure::Cancelled => Error::Cancelled,
        }
    }
}

impl Error {
    /// Why a call of a program gave no result.
    pub(super) fn of_call(failure: RunFailure, program: &crate::Program) -> Error {
        match failure {
            RunFailure::Error(error) => {
                let rendered = match error.span {
                    Some(_) => crate::render(&[program.diagnostic(&error)], program.sources(), false),
                    None => error.message.clone(),
                };
                Error::Failed { message: error.message, span: error.span, rendered }
            }
            RunFailure::Compile(failure) => failure.into(),
            RunFailure::Cancelled => Error::Cancelled,
        }
    }
}

/// A value that does not fit a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch(String);

impl Mismatch {
    /// With a message that says what was expected and what was given.
    pub fn new(message: impl Into<String>) -> Mismatch {
        Mismatch(message.into())
    }

    /// The same, inside something: ``argument `xs` of `sum` ``.
    #[must_use]
    pub fn inside(self, place: &str) -> Mismatch {
        Mismatch(format!("{place}: {}", self.0))
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Mismatch {}

impl From<Mismatch> for Error {
    fn from(mismatch: Mismatch) -> Error {
        Error::Mismatch(mismatch)
    }
}
