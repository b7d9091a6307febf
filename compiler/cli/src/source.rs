//! Reading and compiling the program.

use crate::progress;
use crate::status::{self, Status};
use par::{Diagnostic, Failure, Options, Program, Sources, compile};
use std::path::Path;

/// Reads a program's text. A missing file or one that is not UTF-8 rejects the program.
pub fn read(path: &Path) -> Result<String, Status> {
    let bytes = std::fs::read(path).map_err(|e| {
        status::fail(&format!("cannot read the program {}: {e}", path.display()));
        Status::Rejected
    })?;
    String::from_utf8(bytes).map_err(|e| {
        status::failure(&not_utf8(&path.display().to_string(), e.as_bytes(), e.utf8_error().valid_up_to()))
    })
}

/// The diagnostic that points at the first byte that is not UTF-8. Places count the bytes of the file, so that every wrong
/// one is shown as one character of one byte.
fn not_utf8(name: &str, bytes: &[u8], at: usize) -> Failure {
    let mut sources = Sources::default();
    let text: String =
        bytes.utf8_chunks().flat_map(|c| [c.valid().to_string(), "?".repeat(c.invalid().len())]).collect();
    let file = sources.add(name, text, false);
    let span = par::Span { file, start: at as u32, end: at as u32 + 1 };
    let diagnostic = Diagnostic::error("E0100", "the program is not UTF-8 text", span).here("this byte");
    Failure::Rejected { diagnostics: vec![diagnostic], sources }
}

/// Compiles the program in a file and prints its warnings.
pub fn load(path: &Path, options: &Options) -> Result<Program, Status> {
    let text = read(path)?;
    let name = path.display().to_string();
    let line = progress::Line::new("compiling");
    let compiled = compile(&text, &name, options);
    drop(line);
    let program = compiled.map_err(|f| status::failure(&f))?;
    status::print(program.warnings(), program.sources());
    Ok(program)
}
