//! Source files of a program.

use serde::{Deserialize, Serialize};

/// One source text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// As given by the user, or `"prelude"` and the like for embedded files.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Part of the embedded standard library.
    pub is_library: bool,
}
