//! Knowledge about a program while it is written: its mistakes, and what stands at a place.
//!
//! An [`Analysis`] is made of a program's text, also of one that is wrong: as far as its types are known, they can be asked for.
//!
//! - `document`: a text in an editor; `partial`: knowledge about one with mistakes.
//! - `completion`: names that may stand at a place.
//! - `walk`: the parts of the typed tree.
//! - `sizes`: sizes of local names, as far as signatures tell them.
//! - `places`: what is named at a place, where that is defined, which names are known there.
//! - `uses`: all places of a name.

mod completion;
mod document;
mod partial;
mod places;
mod sizes;
#[cfg(test)]
mod tests;
mod uses;
mod walk;

pub use completion::{Candidate, CandidateKind, complete};
pub use document::Document;
pub use places::{Hint, Named};
pub use uses::Symbol;

use crate::doc::{self, Item};
use crate::failure::Failure;
use crate::pipeline::{Options, Parsed, Pipeline, Trace, fatal};
use par_check::thir;
use par_runtime::Entry;
use par_syntax::ast::File;
use par_syntax::{Diagnostic, Sources};
use std::sync::Arc;

/// A program as far as it is understood.
pub struct Analysis {
    /// The program's files, the library's first and the program itself last.
    pub sources: Sources,
    /// Mistakes and warnings.
    pub diagnostics: Vec<Diagnostic>,
    files: Vec<Arc<File>>,
    /// None if it has no types.
    typed: Option<thir::Program>,
    entries: Vec<Entry>,
}

impl Analysis {
    /// Looks at a program, without making code of it. `name` is the file's path, which its imports are found beside.
    ///
    /// Work is that of checking: linear in the program's length and what it calls.
    pub fn of(text: &str, name: &str, options: &Options) -> Analysis {
        let trace = Trace::default();
        let pipeline = Pipeline { options, trace: &trace };
        let mut parsed = pipeline.library();
        pipeline.parse(&mut parsed, text, name);
        let (sources, files) = (parsed.sources.clone(), parsed.files.clone());
        let analysis = |typed, entries, diagnostics| Analysis { sources, diagnostics, files, typed, entries };
        let typed = match pipeline.typed(&mut parsed) {
            Ok(typed) => typed,
            Err(failure) => return analysis(None, Vec::new(), diagnostics_of(failure)),
        };
        let (entries, diagnostics) = shapes(&pipeline, &typed, parsed);
        analysis(Some(typed), entries, diagnostics)
    }

    /// The entry points in the order of the source; none of a program with mistakes.
    pub fn entries(&self) -> Vec<&Entry> {
        self.entries.iter().collect()
    }

    /// The index of the program's own file.
    pub fn file(&self) -> u32 {
        self.sources.files.len().saturating_sub(1) as u32
    }

    /// True if the types are known.
    pub fn is_typed(&self) -> bool {
        self.typed.is_some()
    }

    /// All declarations with what is written about them, the library's included.
    pub fn items(&self) -> Vec<Item> {
        doc::items(&self.files, &self.sources)
    }

    /// Of these the ones with the wanted names: work is in proportion to them.
    pub fn items_where(&self, wanted: impl Fn(&str) -> bool) -> Vec<Item> {
        doc::items_where(&self.files, &self.sources, &wanted)
    }
}

/// The entry points, and diagnostics that need shapes: sizes that differ, functions that cannot be specialised.
fn shapes(pipeline: &Pipeline, typed: &thir::Program, parsed: Parsed) -> (Vec<Entry>, Vec<Diagnostic>) {
    if fatal(&parsed.diagnostics) {
        return (Vec::new(), parsed.diagnostics);
    }
    match pipeline.optimise(typed, parsed, &|_| true) {
        Ok(front) => (front.core.funs.into_iter().filter_map(|f| f.entry).collect(), front.warnings),
        Err(failure) => (Vec::new(), diagnostics_of(failure)),
    }
}

fn diagnostics_of(failure: Failure) -> Vec<Diagnostic> {
    match failure {
        Failure::Rejected { diagnostics, .. } => diagnostics,
        Failure::Bug(_) | Failure::Unavailable(_) | Failure::Cancelled => Vec::new(),
    }
}
