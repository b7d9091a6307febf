//! Run-time checks and the errors they raise. The text of an error is made here and nowhere else, so that it
//! is the same on every back end.

use crate::prim::Scalar;
use serde::{Deserialize, Serialize};

/// Calls of functions outside kernels that may be active at a time, on every back end: beyond it recursion is too deep. A call
/// counts as 4 KiB, and all together may take half of the memory there is.
pub fn max_depth() -> usize {
    const CALL: usize = 4 << 10;
    const LEAST: usize = 10_000;
    const MOST: usize = 1_200_000;
    (crate::pool::limit() / 2 / CALL).clamp(LEAST, MOST)
}

/// A source range: `file` indexes the program's source table, `start..end` are bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, PartialOrd, Ord, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Span {
    pub file: u32,
    pub start: u32,
    pub end: u32,
}

/// Condition that a check statement verifies. The comment gives its arguments, in order.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum CheckKind {
    /// `index, size`: `0 <= index < size`.
    Bounds,
    /// `start, end, size`: `0 <= start <= end <= size`.
    Slice,
    /// no arguments: the divisor is not zero.
    DivisionByZero,
    /// `exponent`: the exponent of an integer is not negative.
    NegativeExponent,
    /// `size`: a size is not negative.
    NegativeSize,
    /// `left, right`: two sizes that must be equal. The text says what they are sizes of (`"the arguments of map2"`).
    SizeMismatch(String),
    /// `row, length, expected`: a row of a ragged array has the length that a rectangle needs.
    RowLength,
    /// `sum, length`: `segments` with lengths that do not add up.
    SegmentSum,
    /// `index, first, second`: a scatter writes one value to an index; if not, at which positions they stand.
    Conflict,
    /// no arguments: an `assert`; the text is the asserted expression's source.
    Assert(String),
    /// no arguments: reduction or `head` … of something empty; the text says which.
    Empty(String),
    /// no arguments: recursion exceeded the memory there is for it.
    TooDeep,
    /// `bytes`: out of memory.
    OutOfMemory,
    /// no arguments: a step of zero in a slice.
    ZeroStep,
    /// `start, end, step`: the steps of a range lead from its start towards its end.
    Range,
    /// any failing check with a fixed text.
    Other(String),
}

impl CheckKind {
    /// The error's text for these argument values.
    pub fn message(&self, args: &[Scalar]) -> String {
        let arg = |i: usize| args.get(i).and_then(|x| x.as_i64()).unwrap_or(0);
        match self {
            CheckKind::Bounds => {
                let backwards =
                    if is_from_end(arg(0), arg(1)) { ": indices do not count from the end" } else { "" };
                format!("index {} is outside [0,{}){backwards}", arg(0), arg(1))
            }
            CheckKind::Slice => {
                let backwards = [arg(0), arg(1)].iter().any(|end| is_from_end(*end, arg(2)));
                let backwards = if backwards { ": its ends do not count from the end" } else { "" };
                format!("slice [{}:{}] is outside an array of length {}{backwards}", arg(0), arg(1), arg(2))
            }
            CheckKind::DivisionByZero => "division by zero".into(),
            CheckKind::NegativeExponent => format!("the exponent {} of an integer is negative", arg(0)),
            CheckKind::NegativeSize => format!("size {} is negative", arg(0)),
            CheckKind::SizeMismatch(what) => {
                format!("sizes differ: {} and {} ({what})", arg(0), arg(1))
            }
            CheckKind::RowLength => {
                format!("row {} has length {}, but length {} is needed", arg(0), arg(1), arg(2))
            }
            CheckKind::SegmentSum => {
                format!("the segment lengths add up to {}, but the array has length {}", arg(0), arg(1))
            }
            CheckKind::Conflict => format!(
                "scatter writes different values to index {}: those at positions {} and {}",
                arg(0),
                arg(1),
                arg(2)
            ),
            CheckKind::Assert(text) => format!("assertion failed: {text}"),
            CheckKind::Empty(what) => format!("{what} of an empty array"),
            CheckKind::TooDeep => "recursion is too deep".into(),
            CheckKind::OutOfMemory => format!("out of memory ({} bytes were asked for)", arg(0)),
            CheckKind::ZeroStep => "the step is zero".into(),
            CheckKind::Range if arg(2) == 0 => "the step is zero".into(),
            CheckKind::Range => {
                let (from, to, step) = (arg(0), arg(1), arg(2));
                let empty = match from.checked_sub(step) == Some(to) && step == 1 {
                    true => format!("; one that may be empty ends with `..<`: {from}..<{from}"),
                    false => String::new(),
                };
                format!("a range from {from} to {to} cannot go in steps of {step}{empty}")
            }
            CheckKind::Other(text) => text.clone(),
        }
    }
}

/// True for a negative index that another language would count from the end.
fn is_from_end(index: i64, length: i64) -> bool {
    index < 0 && index >= -length
}

/// The reason why a run ended without a result, for programs; [`RuntimeError::message`] is for people.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorKind {
    /// A check that failed, or input that does not fit.
    Failed,
    /// Recursion beyond the memory there is for it.
    TooDeep,
    /// Not enough memory.
    OutOfMemory,
    /// A [`CancelToken`](crate::CancelToken) that was used.
    Cancelled,
    /// A mistake of the compiler or of this crate.
    Internal,
}

/// A program's failure: what check failed, with which values, where.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub struct RuntimeError {
    pub kind: ErrorKind,
    pub message: String,
    pub span: Option<Span>,
    /// Constructs around the check, innermost first; empty if nobody looked for them.
    pub context: Vec<Frame>,
}

/// A construct around a check that failed: which row or iteration of it, or a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// `in row 3 of the map`, `called`.
    pub words: String,
    /// Source place of the construct.
    pub span: Span,
}

/// Prefix of the text of an error that is not the program's.
const INTERNAL: &str = "internal error: ";

impl RuntimeError {
    /// The end of a program whose [`CancelToken`](crate::CancelToken) was used.
    pub fn cancelled() -> RuntimeError {
        RuntimeError { kind: ErrorKind::Cancelled, ..RuntimeError::plain("interrupted") }
    }

    /// The error of a failed check.
    pub fn check(check: &CheckKind, args: &[Scalar], span: Span) -> RuntimeError {
        let kind = match check {
            CheckKind::OutOfMemory => ErrorKind::OutOfMemory,
            CheckKind::TooDeep => ErrorKind::TooDeep,
            _ => ErrorKind::Failed,
        };
        RuntimeError { kind, message: check.message(args), span: Some(span), context: Vec::new() }
    }

    /// A mistake of the compiler or of this crate.
    pub fn internal(what: impl std::fmt::Display) -> RuntimeError {
        RuntimeError { kind: ErrorKind::Internal, ..RuntimeError::plain(format!("{INTERNAL}{what}")) }
    }

    /// Text of the mistake, if it is one of the compiler or of this crate and not of the program.
    pub fn internal_message(&self) -> Option<&str> {
        (self.kind == ErrorKind::Internal).then(|| self.message.strip_prefix(INTERNAL)).flatten()
    }

    /// The same error of a program in which some checks are left out: then it is its own mistake.
    pub fn of_unsafe(self) -> RuntimeError {
        match self.internal_message() {
            Some(text) => {
                RuntimeError::plain(format!("a check that `#[unsafe]` leaves out does not hold: {text}"))
            }
            None => self,
        }
    }

    /// An error without a place in the source, of bad input.
    pub fn plain(message: impl Into<String>) -> RuntimeError {
        RuntimeError { kind: ErrorKind::Failed, message: message.into(), span: None, context: Vec::new() }
    }
}

impl std::fmt::Display for RuntimeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}
impl std::error::Error for RuntimeError {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages that a program gives itself, in the words of the runtime.
    #[test]
    fn a_message_does_not_say_of_what_kind_an_error_is() {
        let texts = ["interrupted", "internal error: made up", "out of memory (1 bytes were asked for)"];
        for text in texts {
            assert_eq!(RuntimeError::plain(text).kind, ErrorKind::Failed);
            let check = RuntimeError::check(&CheckKind::Other(text.into()), &[], Span::default());
            assert_eq!((check.kind, check.internal_message()), (ErrorKind::Failed, None));
        }
    }

    #[test]
    fn an_error_has_the_kind_of_its_check() {
        let kind = |check| RuntimeError::check(&check, &[], Span::default()).kind;
        assert_eq!(kind(CheckKind::OutOfMemory), ErrorKind::OutOfMemory);
        assert_eq!(kind(CheckKind::TooDeep), ErrorKind::TooDeep);
        assert_eq!(kind(CheckKind::Bounds), ErrorKind::Failed);
    }

    #[test]
    fn without_checks_an_internal_error_is_the_programs() {
        let error = RuntimeError::internal("a read at 7");
        assert_eq!(
            (error.message.as_str(), error.internal_message()),
            ("internal error: a read at 7", Some("a read at 7"))
        );
        let error = error.of_unsafe();
        assert_eq!(error.kind, ErrorKind::Failed);
        assert_eq!(error.message, "a check that `#[unsafe]` leaves out does not hold: a read at 7");
    }
}
