//! Par for web pages: requests and answers in JSON, without files, threads or clocks.
//!
//! ```text
//! {"do": "check", "text": "entry main = 1 +"}          {"diagnostics": [{"from": 16, "to": 16, "message": …}], "entries": []}
//! {"do": "run", "text": …, "entry": "main",            {"values": [{"type": "[]i64", "text": "[1i64]", "shown": …}]}
//!  "inputs": ["[1, 2]"], "memory": 1000000}
//! ```
//!
//! A [`Playground`] answers one request after the other, and keeps what it knows of the last program. Places in texts are in UTF-16 code units, as
//! in JavaScript's strings. In WebAssembly the kernels of programs run as WebAssembly, natively on the interpreter of FLAT. What cannot be answered is `{"error": …}`.
//!
//! - `request`: the requests.
//! - `editor`: messages, completion, types under the cursor, formatting.
//! - `entries`: entry points with inputs to begin with.
//! - `run`: calls of entry points, tests in programs.
//! - `show`: values as trees that a page can draw.
//! - `insight`: what the compiler made of a program.
//! - `pages`: documentation as HTML.
//! - `places`: bytes and code units.
//! - `module`: the functions of the WebAssembly module.

mod editor;
mod entries;
mod insight;
#[cfg(target_family = "wasm")]
mod module;
mod pages;
mod places;
mod request;
mod run;
mod show;
#[cfg(test)]
mod tests;

use par::analysis::Document;
use par::imports::Imports;
use par::{Failure, Options, Program, Value, compile};
use request::Request;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The name of the program in the editor.
const NAME: &str = "program.par";

/// Files that a program may import besides the library's.
#[derive(Clone, Debug, Default, PartialEq)]
struct Files(BTreeMap<PathBuf, String>);

impl Imports for Files {
    fn read(&self, path: &Path) -> Result<String, String> {
        self.0.get(path).cloned().ok_or_else(|| "there is no such file here".to_string())
    }
}

/// A page's conversation with Par.
pub struct Playground {
    document: Document,
    compiled: Option<Compiled>,
    /// Results of the last run.
    values: Vec<Value>,
    files: Arc<Files>,
}

/// A program that was compiled, or why it was not.
struct Compiled {
    text: String,
    program: Result<Program, Failure>,
}

impl Default for Playground {
    fn default() -> Playground {
        let document = Document::new(String::new());
        Playground { document, compiled: None, values: Vec::new(), files: Arc::default() }
    }
}

impl Playground {
    /// The answer to a request.
    pub fn answer(&mut self, request: &str) -> String {
        let answer = match serde_json::from_str(request) {
            Ok(request) => self.answer_to(request),
            Err(e) => Err(format!("not a request: {e}")),
        };
        answer.unwrap_or_else(|message| json!({ "error": message })).to_string()
    }

    fn answer_to(&mut self, request: Request) -> Result<serde_json::Value, String> {
        match request {
            Request::Files { files } => {
                self.files = Arc::new(Files(files));
                (self.document, self.compiled) = (Document::new(String::new()), None);
                Ok(json!({}))
            }
            Request::Check { text } => Ok(self.check(text)),
            Request::Prepare { text } => Ok(self.prepare(&text)),
            Request::Complete { text, at } => Ok(self.complete(text, at)),
            Request::Hover { text, at } => Ok(self.hover(text, at)),
            Request::Format { text } => editor::format(&text),
            Request::Run(call) => self.run(&call),
            Request::Plot { value, kind } => self.plot(value, &kind),
            Request::Test { text, name } => Ok(run::test(&text, &name, &self.files)),
            Request::Explain { text, entry } => self.explain(&text, &entry),
            Request::Dump { text, stage } => self.dump(&text, &stage),
            Request::Stages {} => Ok(insight::stages()),
            Request::Error { code } => pages::error(&code),
            Request::Markdown { text } => Ok(json!({ "html": pages::markdown(&text) })),
            Request::Library {} => pages::library(),
        }
    }

    /// Does what a run of the program needs, if there is no mistake in it.
    fn prepare(&mut self, text: &str) -> serde_json::Value {
        if let Ok(program) = self.program(text) {
            // A failure is reported by the run.
            let _ = program.flat();
        }
        json!({})
    }

    /// The program of a text, compiled if it is another one than before.
    fn program(&mut self, text: &str) -> &Result<Program, Failure> {
        let known = self.compiled.take().filter(|c| c.text == text);
        let compiled = known.unwrap_or_else(|| {
            let program = compile(text, NAME, &options(&self.files));
            Compiled { text: text.to_string(), program }
        });
        &self.compiled.insert(compiled).program
    }
}

/// Options of compilation.
fn options(files: &Arc<Files>) -> Options {
    Options { imports: files.clone(), verify: false, ..Options::default() }
}
