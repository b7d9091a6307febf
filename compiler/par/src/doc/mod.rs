//! Documentation: what is written about the names of the library and of programs, as text, as HTML, and as examples
//! that can be run.
//!
//! - `collect`: from syntax trees to [`Item`]s.
//! - `operators`: the operators that are built into the language and so have no definition to document.
//! - `lookup`: the item of a name, or the names that were perhaps meant.
//! - `example`: the examples in a comment.
//! - `page`: one item as text for a terminal.
//! - `html`: all of it as a folder of static pages.

mod collect;
mod example;
pub mod html;
mod lookup;
mod operators;
mod page;
#[cfg(test)]
mod tests;

pub use collect::items;
pub use example::{Example, examples};
pub use lookup::{Found, lookup};
pub use page::page;

use crate::library;
use par_syntax::Sources;
use par_syntax::ast::File;
use std::borrow::Borrow;

/// Kind of an [`Item`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A function or a constant.
    Value,
    /// A function that can be called from outside.
    Entry,
    /// A type abbreviation.
    Type,
    /// A module.
    Module,
    /// A module type.
    ModuleType,
    /// An operator that is built into the language.
    Operator,
}

/// A name with what is written about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Qualified by its modules: `f32.sqrt`.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// The head of the declaration: `sqrt (x: f32) : f32`.
    pub signature: String,
    /// Its documentation comment, in Markdown.
    pub text: Option<String>,
    /// The source it is declared in, as an index.
    pub file: u32,
    /// The line there, from 1; 0 for what is built in.
    pub line: usize,
}

impl Item {
    /// The module part of the name; empty outside of modules.
    pub fn module(&self) -> &str {
        match self.kind {
            Kind::Operator => "",
            _ => self.name.rsplit_once('.').map_or("", |(module, _)| module),
        }
    }

    /// The name without its module.
    pub fn base(&self) -> &str {
        let module = self.module();
        if module.is_empty() { &self.name } else { &self.name[module.len() + 1..] }
    }
}

/// The public names of the standard library, built-in operators included, and the library's sources.
pub fn library() -> (Vec<Item>, Sources) {
    let (sources, files, _) = library::load();
    let mut all = operators::items();
    all.extend(items(&files, &sources));
    (all, sources)
}

/// The page of a name in files (a built-in operator's too), or names that were perhaps meant.
pub fn find<F: Borrow<File>>(files: &[F], sources: &Sources, name: &str) -> Result<String, Vec<String>> {
    let mut all = operators::items();
    all.extend(items(files, sources));
    lookup(&all, name).map(|found| page(&found, sources))
}
