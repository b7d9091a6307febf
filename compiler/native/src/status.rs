//! Exit statuses and messages to standard error.
//!
//! With `--message-format=json` every diagnostic is one JSON object on a line of its own.

use par_message::{Diagnostic, Sources, render, report};
use par_runtime::{ErrorKind, RuntimeError};
use std::io::{IsTerminal, Write};
use std::panic::PanicHookInfo;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Exit status of the process. Scripts rely on the numbers.
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

impl Status {
    /// Status of another command of Par by its exit status, which is `None` if a signal ended it.
    pub fn of_code(code: Option<i32>) -> Status {
        match code {
            Some(0) => Status::Success,
            Some(2) => Status::Rejected,
            Some(3) => Status::Unsupported,
            Some(101) => Status::Bug,
            _ => Status::Failed,
        }
    }
}

/// Format of diagnostics.
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
    /// Format of diagnostics on standard error
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "human", long_help = FORMAT_HELP)]
    message_format: MessageFormat,
}

const FORMAT_HELP: &str = "\
How diagnostics are written to standard error. With json each is one object on a line of its own: severity (error, warning,
note, unsupported), code, message, file, start and end (bytes from the beginning of the file), line, column,
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

/// True if machines read what is written.
pub fn is_json() -> bool {
    FORMAT.get() == Some(&MessageFormat::Json)
}

/// True if standard error is coloured.
pub fn color() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

/// Writes a line to standard error.
pub fn say(line: &str) {
    write(&format!("{line}\n"));
}

/// Another process says everything.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Says nothing more, or says things again: of processes that do the same, one speaks.
pub fn be_quiet(quiet: bool) {
    QUIET.store(quiet, Relaxed);
}

/// Writes to standard error. If nobody reads there, nothing is left that could be done.
fn write(text: &str) {
    if QUIET.load(Relaxed) {
        return;
    }
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Prints diagnostics.
pub fn print(diagnostics: &[Diagnostic], sources: &Sources) {
    if is_json() {
        diagnostics.iter().for_each(|d| say(&report::json(d, sources).to_string()));
    } else if !diagnostics.is_empty() {
        write(&render(diagnostics, sources, color()));
    }
}

/// Reports that there is no result because of an error of the run.
pub fn run_error(error: &RuntimeError, sources: &Sources) -> Status {
    if let Some(message) = error.internal_message() {
        apologise("run", message, REPORT);
        return Status::Bug;
    }
    if error.kind == ErrorKind::Cancelled {
        return cancelled();
    }
    if error.span.is_some() {
        print(&[Diagnostic::of_run(error, sources)], sources);
        return Status::Failed;
    }
    fail(&error.message)
}

/// Why something was stopped, if it was.
static CANCELLED: OnceLock<String> = OnceLock::new();

/// Message for stopped work of this process.
pub fn explain_cancellation(reason: &str) {
    // A command has one reason.
    let _ = CANCELLED.set(reason.to_string());
}

/// Reports that there is no result because somebody stopped it.
pub fn cancelled() -> Status {
    fail(CANCELLED.get().unwrap_or(&RuntimeError::cancelled().message))
}

/// Reports a mistake that has no place in the program.
pub fn fail(message: &str) -> Status {
    match is_json() {
        true => say(&report::plain(message).to_string()),
        false => say(&format!("error: {message}")),
    }
    Status::Failed
}

/// Reports that a part is missing which is a feature of Cargo's, by its name.
pub fn built_without(feature: &str) -> Status {
    fail(&format!("this `par` was built without `{feature}`; build it with `--features {feature}`"));
    Status::Unsupported
}

/// Request to whoever sees a bug in Par.
const REPORT: &str = "Please report it with the program and its input.";

/// Reports a panic as the bug in Par that it is.
pub fn apologise_for(info: &PanicHookInfo, stage: &str) {
    apologise(stage, &describe(info), REPORT);
}

/// Text and place of a panic.
pub fn describe(info: &PanicHookInfo) -> String {
    let payload = info.payload();
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("panic");
    match info.location() {
        Some(at) => format!("{text} ({}:{})", at.file(), at.line()),
        None => text.to_string(),
    }
}

/// Reports a bug in Par: where it was noticed, and what is needed to find it.
pub fn apologise(stage: &str, message: &str, wanted: &str) {
    // The others know nothing of it.
    be_quiet(false);
    say(&format!(
        "This is a bug in Par, not in your program. Sorry!

    version: {}
    during:  {stage}
    message: {message}

{wanted}",
        VERSION.get().map_or(env!("CARGO_PKG_VERSION"), |v| v)
    ));
}

/// Version of the command.
static VERSION: OnceLock<&str> = OnceLock::new();

/// Says the version more exactly than this crate knows it.
pub fn set_version(version: &'static str) {
    // A command has one.
    let _ = VERSION.set(version);
}

/// A number of bytes.
pub fn bytes(text: &str) -> Result<usize, String> {
    let (digits, shift) = match text.chars().last() {
        Some('k' | 'K') => (&text[..text.len() - 1], 10),
        Some('m' | 'M') => (&text[..text.len() - 1], 20),
        Some('g' | 'G') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let n: usize = digits.parse().map_err(|_| "a number of bytes is needed, as in 500M".to_string())?;
    n.checked_mul(1 << shift).ok_or_else(|| "more bytes than can be counted".to_string())
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn bytes_may_have_a_unit() {
        assert_eq!((bytes("12"), bytes("3k"), bytes("2M")), (Ok(12), Ok(3 << 10), Ok(2 << 20)));
        assert_eq!(bytes("1G"), Ok(1 << 30));
        for wrong in ["", "k", "-1", "1.5M", "1T", "99999999999G"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }
}
