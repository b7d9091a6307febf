//! Errors in files.

use par_runtime::array::OutOfMemory;
use par_runtime::io::InputError;
use std::fmt;

/// Why a file could not be read or written: one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataError {
    /// Place in the file, as it follows the file's name: `:3:1`, `, byte 20`, or empty.
    pub place: String,
    /// The mistake, without the file's name.
    pub message: String,
    /// Index of the value that was being read among several values asked for, from 0.
    pub index: usize,
}

impl DataError {
    /// An error that is about the whole file. Control characters, which names in a file may have, are escaped.
    pub fn new(message: impl Into<String>) -> DataError {
        DataError { place: String::new(), message: in_a_line(message.into()), index: 0 }
    }

    /// An error in a line, counted from 1.
    pub fn in_line(line: u64, message: impl Into<String>) -> DataError {
        DataError { place: format!(":{line}"), ..DataError::new(message) }
    }

    /// An error of a reader of text.
    pub(crate) fn in_text(bytes: &[u8], e: &InputError) -> DataError {
        let place = line_and_column(bytes, e.range.start);
        DataError { place, index: e.index, ..DataError::new(e.message.as_str()) }
    }

    /// An error of a reader of bytes.
    pub(crate) fn at_byte(e: &InputError) -> DataError {
        DataError {
            place: format!(", byte {}", e.range.start),
            index: e.index,
            ..DataError::new(e.message.as_str())
        }
    }
}

fn in_a_line(message: String) -> String {
    if !message.contains(char::is_control) {
        return message;
    }
    let shown = |c: char| if c.is_control() { c.escape_debug().to_string() } else { c.to_string() };
    message.chars().map(shown).collect()
}

fn line_and_column(bytes: &[u8], at: usize) -> String {
    let before = &bytes[..at.min(bytes.len())];
    let line = before.iter().filter(|b| **b == b'\n').count() + 1;
    let start = before.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
    format!(":{line}:{column}")
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place.trim_start_matches([':', ',', ' ']) {
            "" => f.write_str(&self.message),
            place => write!(f, "{place}: {}", self.message),
        }
    }
}
impl std::error::Error for DataError {}

impl From<String> for DataError {
    fn from(message: String) -> DataError {
        DataError::new(message)
    }
}

impl From<OutOfMemory> for DataError {
    fn from(lack: OutOfMemory) -> DataError {
        DataError::new(lack.to_string())
    }
}

impl From<&str> for DataError {
    fn from(message: &str) -> DataError {
        DataError::new(message)
    }
}

impl From<std::io::Error> for DataError {
    fn from(e: std::io::Error) -> DataError {
        DataError::new(e.to_string())
    }
}

#[test]
fn control_characters_are_escaped() {
    let e = DataError::new("`\nrr_0`: this is no \u{1b}[31m.npy file, \"é\"");
    assert_eq!(e.to_string(), "`\\nrr_0`: this is no \\u{1b}[31m.npy file, \"é\"");
}
