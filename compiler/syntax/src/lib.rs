//! Text to syntax tree, and diagnostics. Knows no types.

pub mod ast;
pub mod diagnostic;
pub mod source;

pub use diagnostic::{Diagnostic, Label, Severity};
pub use source::{Source, Sources};
