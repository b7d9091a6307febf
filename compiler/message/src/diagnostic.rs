//! Diagnostics as plain data; `render` turns them into text.

use crate::source::Sources;
use par_runtime::{RuntimeError, Span};

/// Severity of a diagnostic, and with it the exit status: an error rejects the program (2), an unsupported feature is legal
/// but not implemented yet (3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Severity {
    Note,
    Warning,
    Unsupported,
    Error,
}

/// One message with the places involved.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// Its severity.
    pub severity: Severity,
    /// `E0203`: E01xx syntax, E02xx names, E03xx types, E04xx sizes, E05xx functions and specialisation, E06xx
    /// uniqueness, E09xx not implemented yet; W… warnings; empty for run-time errors.
    pub code: String,
    /// One line, no full stop.
    pub message: String,
    /// The first is the primary place.
    pub labels: Vec<Label>,
    /// Advice, and further facts.
    pub notes: Vec<String>,
    /// True if the text just ends too early: a bracket is open or something must follow.
    pub unfinished: bool,
}

/// A source range with a text.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Label {
    pub span: Span,
    pub text: String,
}

impl Diagnostic {
    /// An error of a running program, with the rows and calls that it was in.
    pub fn of_run(error: &RuntimeError, sources: &Sources) -> Diagnostic {
        let mut diagnostic =
            Diagnostic::new(Severity::Error, "", &error.message, error.span.unwrap_or_default());
        if error.span.is_none() {
            diagnostic.labels.clear();
        }
        diagnostic.notes.extend(context(error, sources));
        diagnostic
    }

    /// An error at a place.
    pub fn error(code: &str, message: impl Into<String>, span: Span) -> Diagnostic {
        Diagnostic::new(Severity::Error, code, message, span)
    }

    /// A legal feature that is not implemented yet.
    pub fn unsupported(feature: impl Into<String>, span: Span) -> Diagnostic {
        let feature = feature.into();
        Diagnostic::new(Severity::Unsupported, "E0900", format!("not implemented yet: {feature}"), span)
    }

    /// Any diagnostic with one (so far unlabelled) place.
    pub fn new(severity: Severity, code: &str, message: impl Into<String>, span: Span) -> Diagnostic {
        Diagnostic {
            severity,
            code: code.into(),
            message: message.into(),
            labels: vec![Label { span, text: String::new() }],
            notes: Vec::new(),
            unfinished: false,
        }
    }

    /// Marks an error that more text could mend.
    pub fn unfinished(mut self) -> Diagnostic {
        self.unfinished = true;
        self
    }

    /// Sets the text at the primary place.
    pub fn here(mut self, text: impl Into<String>) -> Diagnostic {
        self.labels[0].text = text.into();
        self
    }

    /// Adds a further place.
    pub fn label(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.labels.push(Label { span, text: text.into() });
        self
    }

    /// Adds a note.
    pub fn note(mut self, text: impl Into<String>) -> Diagnostic {
        self.notes.push(text.into());
        self
    }
}

/// Constructs around a failure that are named: the innermost ones.
const MOST_FRAMES: usize = 6;

/// `in row 3 of the map at line 7, called at line 12`: the constructs around a failure, but for those of the library.
fn context(error: &RuntimeError, sources: &Sources) -> Option<String> {
    let is_own = |span: &Span| sources.files.get(span.file as usize).is_some_and(|f| !f.is_library);
    let own: Vec<_> = error.context.iter().filter(|f| is_own(&f.span)).collect();
    let mut parts: Vec<String> = own
        .iter()
        .take(MOST_FRAMES)
        .map(|f| {
            let file = &sources.files[f.span.file as usize];
            let line = file.text.get(..f.span.start as usize).unwrap_or("").matches('\n').count() + 1;
            match error.span.is_some_and(|s| s.file == f.span.file) {
                true => format!("{} at line {line}", f.words),
                false => format!("{} at {}:{line}", f.words, file.name),
            }
        })
        .collect();
    if own.len() > MOST_FRAMES {
        parts.push(format!("and {} more", own.len() - MOST_FRAMES));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}
