//! A program that grows input by input: declarations, values that were computed, and expressions over both.
//!
//! ```text
//! def twice x = 2 * x      every input is a file of its own, and a file sees those before it:
//! let xs = map twice ys    so later definitions hide earlier ones, and diagnostics point into the input
//! length xs                an entry point of no parameters
//! ```
//!
//! - `input`: what a text is, and whether it is finished.
//! - `files`: loading files, and reading them again.
//! - `values`: how a computed value is used again without computing it again.
//! - `names`: what can be completed; `listing`: what there is.
//!
//! A session never runs anything: whoever owns it runs the program of an [`Evaluation`] and hands the result to
//! [`Session::keep`]. Kept values never change: passing one to a `*` parameter gives the function a copy.

mod files;
mod input;
mod listing;
mod names;
#[cfg(test)]
mod tests;
mod values;

pub use names::Names;

use crate::doc;
use crate::failure::Failure;
use crate::imports::demote;
use crate::pipeline::{Options, Parsed, Pipeline, Trace};
use crate::program::Program;
use files::Item;
use input::{ENTRY, Input};
pub(crate) use listing::definition_type;
use par_check::infer::{has_function, show_type};
use par_check::thir::{self, ExprKind};
use par_runtime::{Value, io};
use par_syntax::ast::{Def, ExpKind, File};
use par_syntax::{Diagnostic, Severity, Sources, ast};
use std::sync::Arc;
use values::Stored;

/// Declarations and values so far.
#[derive(Clone)]
pub struct Session {
    options: Options,
    /// The library and all accepted inputs.
    parsed: Parsed,
    items: Vec<Item>,
    stored: Vec<Stored>,
    /// Number of the next input.
    next: usize,
}

/// Outcome of an input.
pub enum Outcome {
    /// The input was empty.
    Nothing,
    /// The declarations are part of the session.
    Declared(Notes),
    /// Something to run.
    Evaluate(Box<Evaluation>),
    /// An expression without a value that could be shown: its type.
    Function(String),
}

/// Diagnostics that do not reject an input.
pub struct Notes {
    /// Warnings and notes.
    pub diagnostics: Vec<Diagnostic>,
    /// Sources that they refer to.
    pub sources: Sources,
}

/// An input as a program to run.
pub struct Evaluation {
    /// The program; its only entry point is [`Evaluation::ENTRY`].
    pub program: Program,
    /// The session's values that the entry point takes.
    pub args: Vec<Value>,
    /// Names for the result, or for its components if there are several. Empty for an expression.
    pub names: Vec<String>,
}

impl Evaluation {
    /// The name of the entry point.
    pub const ENTRY: &str = ENTRY;
}

/// The inputs in a text of several lines, as they would be if the lines were entered one by one; but what is only right as
/// a whole stays whole, and so do declarations, which may mention each other.
pub fn split(text: &str) -> Vec<String> {
    input::split(text)
}

/// True if an input ends too early, so that more lines must follow.
pub fn is_unfinished(text: &str) -> bool {
    matches!(input::read(text, 0), Input::Wrong { unfinished: true, .. })
}

impl Session {
    /// A session that knows the standard library.
    pub fn new(options: &Options) -> Session {
        let trace = Trace::default();
        let parsed = Pipeline { options, trace: &trace }.library();
        Session { options: options.clone(), parsed, items: Vec::new(), stored: Vec::new(), next: 1 }
    }

    /// Takes an input: declarations become part of the session if they are right.
    pub fn enter(&mut self, text: &str) -> Result<Outcome, Failure> {
        let name = format!("<input {}>", self.next);
        self.next += 1;
        let file = self.parsed.sources.files.len() as u32;
        match input::read(text, file) {
            Input::Nothing => Ok(Outcome::Nothing),
            Input::Declarations => {
                let notes = self.declare(text, &name)?;
                self.items.push(Item::Text(text.to_string()));
                Ok(Outcome::Declared(notes))
            }
            Input::Evaluate { def, names } => self.evaluate(text, &name, *def, names),
            Input::Wrong { diagnostics, .. } => Err(self.wrong(text, &name, diagnostics)),
        }
    }

    /// Remembers the result of an evaluation under its names, that of an expression as `it`.
    pub fn keep(&mut self, names: &[String], value: Value) {
        match names {
            [] => self.store("it", value),
            [name] => self.store(name, value),
            _ => {
                names.iter().zip(io::components(value)).for_each(|(name, value)| self.store(name, value));
            }
        }
    }

    fn store(&mut self, name: &str, value: Value) {
        self.forget(name);
        let text = values::declaration(name, &value.ty);
        let Parsed { sources, files, values, .. } = &mut self.parsed;
        let file = sources.add(format!("<value {name}>"), text.clone(), false);
        files.push(Arc::new(par_syntax::parse(&text, file).0));
        values.insert(file);
        self.items.push(Item::Value(name.to_string(), value.clone()));
        self.stored.push(Stored { name: name.to_string(), file, value });
    }

    /// Drops the last value of a name that gets another one, unless a declaration after it may mention it.
    fn forget(&mut self, name: &str) {
        let is_it = |item: &Item| matches!(item, Item::Value(n, _) if n == name);
        let may_mention = |item: &Item| match item {
            Item::File(_) => true,
            Item::Text(text) => text.contains(name),
            Item::Value(..) => false,
        };
        if let Some(at) = self.items.iter().rposition(is_it)
            && !self.items[at..].iter().any(may_mention)
        {
            self.items.remove(at);
            if let Some(at) = self.stored.iter().rposition(|s| s.name == name) {
                let file = self.stored.remove(at).file;
                self.parsed.files[file as usize] = Arc::new(File::default());
            }
        }
    }

    fn declare(&mut self, text: &str, name: &str) -> Result<Notes, Failure> {
        let trace = Trace::default();
        let pipeline = Pipeline { options: &self.options, trace: &trace };
        let mut parsed = self.parsed.clone();
        pipeline.parse(&mut parsed, text, name);
        let mut accepted = parsed.clone();
        let mut thir = pipeline.infer(&mut parsed).map_err(|f| self.only_new(f))?;
        let sources = parsed.sources.clone();
        values::bind(&mut thir, &self.stored, usize::MAX);
        let known = self.parsed.files.len() as u32;
        let new = |def: &par_check::thir::Def| def.span.file >= known;
        let front = pipeline.optimise(&thir, parsed, &new).map_err(|f| self.only_new(f))?;
        let diagnostics = self.new_ones(front.warnings);
        // From now on its entry points are called like other functions.
        let fresh = &mut accepted.files[self.parsed.files.len()..];
        fresh.iter_mut().flat_map(|f| &mut Arc::make_mut(f).decs).for_each(demote);
        self.parsed = accepted;
        Ok(Notes { diagnostics, sources })
    }

    fn evaluate(&mut self, text: &str, name: &str, def: Def, names: Vec<String>) -> Result<Outcome, Failure> {
        let trace = Trace::default();
        let pipeline = Pipeline { options: &self.options, trace: &trace };
        let (mut thir, parsed) = self.checked(&pipeline, text, name, def)?;
        let Some(at) = entry(&thir) else { return Ok(Outcome::Nothing) };
        let found = &thir.defs[at];
        if !found.type_params.is_empty() || has_function(&found.ret) {
            let ty = show_type(&found.ret, &thir);
            if names.is_empty() {
                return Ok(Outcome::Function(ty));
            }
            let notes = self.declare(text, name)?;
            self.items.push(Item::Text(text.to_string()));
            return Ok(Outcome::Declared(notes));
        }
        thir.defs[at].entry = true;
        let needed = values::bind(&mut thir, &self.stored, at);
        let mut front = pipeline.optimise(&thir, parsed, &|_| false).map_err(|f| self.only_new(f))?;
        front.warnings = self.new_ones(front.warnings);
        // What always fails is about to be seen.
        front.warnings.retain(|w| w.code != "W0302");
        let args = needed.into_iter().map(|slot| self.stored[slot].value.clone()).collect();
        front.typed = Some(Arc::new(thir));
        let program = Program::new(front, &self.options, trace);
        Ok(Outcome::Evaluate(Box::new(Evaluation { program, args, names })))
    }

    /// The session with one more definition, checked.
    fn checked(
        &self,
        pipeline: &Pipeline,
        text: &str,
        name: &str,
        def: Def,
    ) -> Result<(thir::Program, Parsed), Failure> {
        let mut parsed = self.parsed.clone();
        let file = parsed.sources.add(name, text, false);
        let span = input::whole(file, text);
        let dec = ast::Dec { kind: ast::DecKind::Def(def.into()), attrs: Vec::new(), doc: None, span };
        parsed.files.push(Arc::new(File { decs: vec![dec], ..File::default() }));
        let thir = pipeline.infer(&mut parsed).map_err(|f| self.only_new(f))?;
        Ok((thir, parsed))
    }

    /// The type of an expression: of a definition as it was declared, of anything else as it was inferred.
    pub fn type_of(&mut self, text: &str) -> Result<String, Failure> {
        let name = format!("<input {}>", self.next);
        self.next += 1;
        let file = self.parsed.sources.files.len() as u32;
        let def = match input::read(text, file) {
            Input::Evaluate { def, names } if names.is_empty() => *def,
            Input::Wrong { diagnostics, .. } => return Err(self.wrong(text, &name, diagnostics)),
            _ => {
                let span = input::whole(file, text);
                let error = Diagnostic::error("E0101", "an expression is needed here", span);
                return Err(self.wrong(text, &name, vec![error.here("this is none")]));
            }
        };
        let is_name = matches!(def.body.kind, ExpKind::Name(_));
        let trace = Trace::default();
        let pipeline = Pipeline { options: &self.options, trace: &trace };
        let (thir, _) = self.checked(&pipeline, text, &name, def)?;
        let Some(found) = entry(&thir).map(|at| &thir.defs[at]) else { return Ok(String::new()) };
        if let (true, ExprKind::Def(id, _)) = (is_name, &found.body.kind)
            && let Some(def) = thir.defs.get(id.0 as usize)
        {
            if let Some(stored) = self.stored.iter().find(|s| s.file == def.span.file) {
                return Ok(stored.value.ty.to_string());
            }
            return Ok(definition_type(def, &thir));
        }
        Ok(show_type(&found.ret, &thir))
    }

    /// The page of a definition of the library or the session, or names that were perhaps meant.
    pub fn doc(&self, name: &str) -> Result<String, Vec<String>> {
        doc::find(&self.parsed.files, &self.parsed.sources, name)
    }

    /// All names in scope.
    pub fn names(&self) -> Names {
        Names::of(&self.parsed.files)
    }

    /// The value that is kept under a name.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.stored.iter().rev().find(|s| s.name == name).map(|s| &s.value)
    }

    /// The files that were loaded.
    pub fn loaded(&self) -> impl Iterator<Item = &str> {
        self.items.iter().filter_map(|item| match item {
            Item::File(path) => Some(path.as_str()),
            _ => None,
        })
    }

    fn wrong(&self, text: &str, name: &str, diagnostics: Vec<Diagnostic>) -> Failure {
        let mut sources = self.parsed.sources.clone();
        sources.add(name, text, false);
        Failure::Rejected { diagnostics, sources }
    }

    /// Without what was said about earlier inputs, when they were entered.
    fn new_ones(&self, diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let first = self.parsed.sources.files.len() as u32;
        let is_new = |d: &Diagnostic| d.labels.first().is_none_or(|l| l.span.file >= first);
        diagnostics.into_iter().filter(|d| d.severity >= Severity::Unsupported || is_new(d)).collect()
    }

    fn only_new(&self, failure: Failure) -> Failure {
        match failure {
            Failure::Rejected { diagnostics, sources } => {
                let mut diagnostics = self.new_ones(diagnostics);
                // Nobody wrote the declarations of values.
                let written = |file: u32| self.stored.iter().all(|s| s.file != file);
                diagnostics.iter_mut().for_each(|d| d.labels.retain(|l| written(l.span.file)));
                Failure::Rejected { diagnostics, sources }
            }
            bug => bug,
        }
    }
}

/// The definition that is evaluated.
fn entry(thir: &thir::Program) -> Option<usize> {
    thir.defs.iter().rposition(|def| def.name == ENTRY)
}
