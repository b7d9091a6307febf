//! The requests.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Something that a page wants to know.
#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "lowercase")]
pub enum Request {
    /// From now on programs may import these files.
    Files { files: BTreeMap<PathBuf, String> },
    /// Mistakes and warnings, and the entry points if there are no mistakes.
    Check { text: String },
    /// Compiles a program that is going to be run.
    Prepare { text: String },
    /// Names that may stand at a place.
    Complete { text: String, at: usize },
    /// Type and documentation of what is at a place.
    Hover { text: String, at: usize },
    /// The program in its standard form.
    Format { text: String },
    /// The results of a call.
    Run(Call),
    /// The plot of a result of the last call.
    Plot { value: usize, kind: String },
    /// Runs the tests in the program's comments; `name` is the program's name in messages.
    Test { text: String, name: String },
    /// `par explain` of an entry point.
    Explain { text: String, entry: String },
    /// The program after a step of the compiler.
    Dump { text: String, stage: String },
    /// The steps of the compiler.
    Stages {},
    /// The page of an error's code.
    Error { code: String },
    /// A text in Markdown as HTML.
    Markdown { text: String },
    /// The pages of the library.
    Library {},
}

/// A call of an entry point.
#[derive(Deserialize)]
pub struct Call {
    /// The program.
    pub text: String,
    /// The entry point.
    pub entry: String,
    /// Its arguments as text.
    pub inputs: Vec<String>,
    /// Bytes that it may hold.
    pub memory: usize,
}
