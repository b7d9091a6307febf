//! A program with calls of its entry points.

use serde::{Deserialize, Serialize};

/// Case of a comparison: a program, and the arguments of its calls.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Case {
    /// Text of the program.
    pub source: String,
    /// Calls, in order.
    pub calls: Vec<Call>,
    /// True if floats depend on an order that the language leaves open: they are compared up to rounding, and exactly between
    /// numbers of threads.
    #[serde(default)]
    pub rounded: bool,
    /// True if it is run by CUDA too.
    #[serde(default)]
    pub cuda: bool,
    /// True if it is run on several ranks too.
    #[serde(default)]
    pub ranks: bool,
}

/// The entry point that must give `true`.
pub const LAW: &str = "law";

/// One call.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Call {
    /// Entry point.
    pub entry: String,
    /// Arguments as text.
    pub args: Vec<String>,
}

/// As a program with test blocks that say nothing of results.
impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for call in &self.calls {
            write!(f, "-- ==\n-- entry: {}\n-- input {{ {} }}\n", call.entry, call.args.join(" "))?;
        }
        writeln!(f, "\n{}", self.source)
    }
}
