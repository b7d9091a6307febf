//! Text to syntax tree, and diagnostics. Knows no types.
//!
//! [`parse()`] goes through `lexer` (tokens), `nesting` (brackets, declarations), the grammar in `grammar.lalrpop`
//! with its `actions` and `infix` precedences, and on errors `explain`. [`pretty`] prints a tree as source text,
//! [`render()`] prints diagnostics,
//! [`classes`] tells an editor what to colour.

mod actions;
pub mod ast;
mod characters;
pub mod classes;
pub mod diagnostic;
mod excerpt;
mod explain;
mod infix;
mod lexer;
mod literal;
mod nesting;
mod parse;
pub mod pieces;
pub mod pretty;
mod render;
pub mod source;
mod spelling;
mod token;

/// The generated parser.
#[allow(clippy::all, clippy::pedantic, missing_docs, unused_qualifications, trivial_numeric_casts)]
mod grammar {
    include!(concat!(env!("OUT_DIR"), "/grammar.rs"));
}

pub use diagnostic::{Diagnostic, Label, Severity};
pub use parse::{parse, parse_expression, parse_type};
pub use render::render;
pub use source::{Source, Sources};
pub use spelling::{distance, nearest};
