//! Text to syntax tree. Knows no types.
//!
//! [`parse()`] goes through `lexer` (tokens), `nesting` (brackets, declarations), the grammar in `grammar.lalrpop`
//! with its `actions` and `infix` precedences, and on errors `explain`. [`parse_late()`] leaves definitions of the library for later. [`pretty`] prints a tree as source text,
//! [`classes`] tells an editor what to colour. Diagnostics are those of `par-message`.

mod actions;
pub mod ast;
mod characters;
pub mod classes;
mod explain;
mod infix;
mod late;
mod lexer;
mod literal;
mod nesting;
mod parse;
pub mod pieces;
pub mod pretty;
mod token;

/// The generated parser.
#[allow(clippy::all, clippy::pedantic, missing_docs, unused_qualifications, trivial_numeric_casts)]
mod grammar {
    include!(concat!(env!("OUT_DIR"), "/grammar.rs"));
}

pub use late::parse_late;
pub use par_message::{
    Diagnostic, Label, Severity, Source, Sources, diagnostic, distance, nearest, render, source,
};
pub use parse::{parse, parse_expression, parse_type};
