//! Errors where there is no GPU, or none that runs a program.

use std::fmt;

/// Why there is no GPU to run on: one line that says what is missing, and how to get it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unavailable(pub String);

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unavailable {}

/// Why a program is not on a device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LoadError {
    /// Something that is needed is not there.
    Unavailable(Unavailable),
    /// The compiler refuses what Par has generated; with its messages.
    Refused(String),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::Unavailable(what) => write!(f, "{what}"),
            LoadError::Refused(messages) => write!(f, "CUDA's compiler refuses the kernels: {messages}"),
        }
    }
}

impl std::error::Error for LoadError {}

impl From<Unavailable> for LoadError {
    fn from(e: Unavailable) -> LoadError {
        LoadError::Unavailable(e)
    }
}
