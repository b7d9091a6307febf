//! Exceptions.

use crate::python::{COMPILE_ERROR, INTERNAL_ERROR, Imported, RUNTIME_ERROR, UNAVAILABLE, UNSUPPORTED};
use par::{Diagnostic, Failure, Program, RunFailure, RuntimeError, Sources, report};
use par_runtime::ErrorKind;
use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError};
use pyo3::prelude::*;

/// An exception of the package, of a text and of diagnostics.
fn exception(
    py: Python<'_>,
    class: &Imported,
    text: &str,
    diagnostics: &[Diagnostic],
    sources: &Sources,
) -> PyErr {
    let data: Vec<_> = diagnostics.iter().map(|d| report::json(d, sources)).collect();
    let data = serde_json::Value::Array(data).to_string();
    let made = class.get(py).and_then(|class| class.call1((text.trim_end(), data)));
    made.map_or_else(|error| error, PyErr::from_value)
}

/// Reason why there is no program.
pub fn of_compiling(py: Python<'_>, failure: &Failure) -> PyErr {
    let text = failure.render(false);
    let plain = |class| exception(py, class, &text, &[], &Sources::default());
    match failure {
        Failure::Rejected { diagnostics, sources } => {
            let class = if failure.is_unsupported() { &UNSUPPORTED } else { &COMPILE_ERROR };
            exception(py, class, &text, diagnostics, sources)
        }
        Failure::Bug(_) => plain(&INTERNAL_ERROR),
        Failure::Unavailable(_) => plain(&UNAVAILABLE),
        Failure::Cancelled => interrupted(py),
    }
}

/// Reason why a call gave no result.
pub fn of_running(py: Python<'_>, failure: &RunFailure, program: &Program) -> PyErr {
    match failure {
        RunFailure::Error(error) => of_check(py, error, program),
        RunFailure::Compile(failure) => of_compiling(py, failure),
        RunFailure::Cancelled => interrupted(py),
    }
}

fn of_check(py: Python<'_>, error: &RuntimeError, program: &Program) -> PyErr {
    let diagnostic = program.diagnostic(error);
    let text = match error.span {
        Some(_) => par::render(std::slice::from_ref(&diagnostic), program.sources(), false),
        None => error.message.clone(),
    };
    match error.kind {
        ErrorKind::OutOfMemory => PyMemoryError::new_err(text.trim_end().to_string()),
        _ => exception(py, &RUNTIME_ERROR, &text, &[diagnostic], program.sources()),
    }
}

/// Exception that the interpreter's signal handler raises.
fn interrupted(py: Python<'_>) -> PyErr {
    py.check_signals().err().unwrap_or_else(|| PyKeyboardInterrupt::new_err(()))
}
