//! Documentation: what is written about the names of the library and of programs, as text, as HTML, and as examples
//! that can be run.
//!
//! - `collect`: from syntax trees to [`Item`]s.
//! - `operators`: the operators that are built into the language and so have no definition to document.
//! - `lookup`: the item of a name, or the names that were perhaps meant.
//! - `search`: items by words, by type, by module. `types`: which types fit.
//! - `example`: the examples in a comment.
//! - `page`: one item as text for a terminal.
//! - `html`: all of it as a folder of static pages.

mod collect;
mod example;
pub mod html;
mod lookup;
mod operators;
mod page;
pub mod search;
#[cfg(test)]
mod tests;
mod types;

pub use collect::{items, items_where};
pub use example::{Example, examples};
pub use lookup::{Found, lookup};
pub use page::page;
pub use types::Type;

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
    /// The type of a function or constant, if its declaration says it.
    pub ty: Option<Type>,
}

impl Item {
    /// The module part of the name; empty outside of modules.
    pub fn module(&self) -> &str {
        match self.kind {
            Kind::Operator => "",
            _ => self.name.rsplit_once('.').map_or("", |(module, _)| module),
        }
    }

    /// The first sentence of its documentation.
    pub fn summary(&self) -> String {
        let text = self.text.as_deref().unwrap_or("").trim();
        let joined = text.split("\n\n").next().unwrap_or("").split_whitespace().collect::<Vec<_>>().join(" ");
        joined.split_inclusive(". ").next().unwrap_or("").trim().to_string()
    }

    /// The name without its module.
    pub fn base(&self) -> &str {
        let module = self.module();
        if module.is_empty() { &self.name } else { &self.name[module.len() + 1..] }
    }
}

/// The public names of the standard library, built-in operators included, and the library's sources. What is in a file that programs
/// import has the file as its module: `lib/graph.csr`.
pub fn library() -> (Vec<Item>, Sources) {
    let (mut sources, files, _) = library::load();
    let mut all = operators::items();
    all.extend(items(&files, &sources));
    for (name, text) in library::imported_files() {
        let file = sources.add(format!("stdlib/{name}"), text, true);
        let module = name.strip_suffix(".par").unwrap_or(name);
        let mut inside = items(&[par_syntax::parse(text, file).0], &sources);
        inside.iter_mut().for_each(|item| item.name = format!("{module}.{}", item.name));
        all.push(imported(module, text, file));
        all.extend(inside);
    }
    (all, sources)
}

/// The file of that name as a module.
fn imported(module: &str, text: &str, file: u32) -> Item {
    Item {
        name: module.to_string(),
        kind: Kind::Module,
        signature: format!("import \"{module}\""),
        text: Some(head_comment(text)),
        file,
        line: 1,
        ty: None,
    }
}

/// The comment at the beginning of a file, as Markdown: up to a documentation comment, a test block or a declaration.
fn head_comment(text: &str) -> String {
    let is_head =
        |line: &&str| line.strip_prefix("--").is_some_and(|rest| !rest.trim_start().starts_with(['|', '=']));
    let lines =
        text.lines().take_while(is_head).map(|line| line[2..].strip_prefix(' ').unwrap_or(&line[2..]));
    lines.collect::<Vec<_>>().join("\n")
}

/// The page of a name in files (a built-in operator's too), or names that were perhaps meant.
pub fn find<F: Borrow<File>>(files: &[F], sources: &Sources, name: &str) -> Result<String, Vec<String>> {
    let mut all = operators::items();
    all.extend(items(files, sources));
    lookup(&all, name).map(|found| page(&found, sources))
}
