//! Files that a program imports.
//!
//! ```text
//! import "lib/rows"        lib/rows.par (or .fut), next to the file that says so
//! import "lib/linalg"      if there is none, the library's file of that name
//! ```
//!
//! An imported file comes before the one that imports it, in the list of sources as in the meaning of names.
//! Its entry points are ordinary functions to whoever imports it.

use crate::library;
use par_syntax::ast::{Dec, DecKind, File, ModExp, Span};
use par_syntax::{Diagnostic, Sources, parse};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Source of the texts of imported files: the only input that the compiler reads by itself.
pub trait Imports: std::fmt::Debug + Send + Sync {
    /// The text of a file, or why there is none.
    fn read(&self, path: &Path) -> Result<String, String>;
}

/// Imports from the file system.
#[derive(Clone, Copy, Debug)]
pub struct FileSystem;

impl Imports for FileSystem {
    fn read(&self, path: &Path) -> Result<String, String> {
        std::fs::read_to_string(path).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => "there is no such file".into(),
            _ => e.to_string(),
        })
    }
}

/// Sources and syntax trees as they are loaded.
pub(crate) struct Loader<'a> {
    pub(crate) imports: &'a dyn Imports,
    pub(crate) sources: Sources,
    pub(crate) files: Vec<Arc<File>>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Files whose imports are being loaded.
    pub(crate) open: Vec<PathBuf>,
}

impl Loader<'_> {
    /// Adds a program: what it imports first, then itself.
    pub(crate) fn add(&mut self, name: &str, text: &str) {
        let index = self.sources.files.len() as u32;
        let (mut file, mut diagnostics) = parse(text, index);
        let mut found = imports_of(&file);
        self.open.push(normal(Path::new(name)));
        let outcomes: Vec<Result<u32, String>> =
            found.iter().map(|(path, _)| self.import(name, path)).collect();
        self.open.pop();
        let final_index = self.sources.add(name, text, false);
        if final_index != index {
            // Spans hold the number of the file, which the imported ones have taken.
            (file, diagnostics) = parse(text, final_index);
            found = imports_of(&file);
        }
        for ((path, span), outcome) in found.into_iter().zip(outcomes) {
            match outcome {
                Ok(number) => file.imports.push((path, number)),
                Err(why) => {
                    let message = format!("cannot import `{path}`: {why}");
                    let diag = Diagnostic::error("E0204", message, span).here("imported here");
                    diagnostics.push(match of_library(&path) {
                        Some(advice) => diag.note(advice),
                        None => diag,
                    });
                }
            }
        }
        file.imported = !self.open.is_empty();
        file.decs.iter_mut().for_each(if file.imported { demote } else { promote });
        self.files.push(Arc::new(file));
        self.diagnostics.extend(diagnostics);
    }

    /// Adds a program, unless another one has imported it.
    pub(crate) fn add_once(&mut self, name: &str, text: &str) {
        let path = normal(Path::new(name));
        if !self.sources.files.iter().any(|s| !s.is_library && normal(Path::new(&s.name)) == path) {
            self.add(name, text);
        }
    }

    /// The number of an imported file, which is read if it has not been.
    fn import(&mut self, importer: &str, path: &str) -> Result<u32, String> {
        let base = Path::new(importer).parent().unwrap_or(Path::new("")).join(path);
        let candidates = match base.extension().and_then(|e| e.to_str()) {
            Some("par" | "fut") => vec![base],
            _ => ["par", "fut"].map(|e| PathBuf::from(format!("{}.{e}", base.display()))).to_vec(),
        };
        let mut failure = String::new();
        for file in candidates {
            let name = normal(&file).display().to_string();
            if let Some(number) = self.sources.files.iter().position(|s| !s.is_library && s.name == name) {
                return Ok(number as u32);
            }
            if self.open.contains(&normal(&file)) {
                return Err("the files import each other".into());
            }
            match self.imports.read(&file) {
                Ok(text) => {
                    self.add(&name, &text);
                    return Ok(self.sources.files.len() as u32 - 1);
                }
                Err(why) if failure.is_empty() => failure = format!("{name}: {why}"),
                Err(_) => {}
            }
        }
        self.library_file(path).ok_or(failure)
    }

    /// The number of a file of the library.
    fn library_file(&mut self, path: &str) -> Option<u32> {
        let text = library::imported(path)?;
        let name = format!("stdlib/{path}");
        let known = self.sources.files.iter().position(|s| s.name == name);
        Some(known.unwrap_or_else(|| {
            self.add(&name, text);
            self.sources.files.len() - 1
        }) as u32)
    }
}

/// The advice for a path that the library does not have, if the library may be meant.
fn of_library(path: &str) -> Option<String> {
    let names: Vec<&str> = library::imported_files().map(|(name, _)| name.trim_end_matches(".par")).collect();
    let inside = names.iter().find(|name| name.strip_prefix("lib/") == Some(path));
    match inside.copied().or_else(|| par_syntax::nearest(path, names.iter().copied())) {
        Some(meant) => Some(format!("did you mean `{meant}`?")),
        None => path.starts_with("lib/").then(|| format!("the library has `{}`", names.join("`, `"))),
    }
}

/// The path without `.` and `..`, as far as that is possible without asking the file system.
fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if out.file_name().is_some() => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

/// The imports of a file, in order.
fn imports_of(file: &File) -> Vec<(String, Span)> {
    let mut out = Vec::new();
    file.decs.iter().for_each(|dec| in_dec(dec, &mut out));
    out
}

fn in_dec(dec: &Dec, out: &mut Vec<(String, Span)>) {
    match &dec.kind {
        DecKind::Import { path, span } => out.push((path.clone(), *span)),
        DecKind::Local(inner) => in_dec(inner, out),
        DecKind::Open(body) | DecKind::Module { body, .. } => in_module(body, out),
        DecKind::Def(_) | DecKind::Type { .. } | DecKind::ModuleType { .. } => {}
    }
}

fn in_module(module: &ModExp, out: &mut Vec<(String, Span)>) {
    match module {
        ModExp::Import(path, span) => out.push((path.clone(), *span)),
        ModExp::Struct(decs, _) => decs.iter().for_each(|dec| in_dec(dec, out)),
        ModExp::Apply(f, x, _) => {
            in_module(f, out);
            in_module(x, out);
        }
        ModExp::Ascribe(m, ..) | ModExp::Lambda(_, _, m, _) => in_module(m, out),
        ModExp::Name(_) => {}
    }
}

/// Makes the entry points of an imported file ordinary functions.
pub(crate) fn demote(dec: &mut Dec) {
    match &mut dec.kind {
        DecKind::Def(def) => def.entry = false,
        DecKind::Local(inner) => demote(inner),
        _ => {}
    }
}

/// The name of a function that is an entry point whether or not it says so.
const MAIN: &str = "main";

fn promote(dec: &mut Dec) {
    if let DecKind::Def(def) = &mut dec.kind {
        def.entry |= def.name.name == MAIN;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::Options;
    use crate::program::compile;
    use std::sync::Arc;

    /// Files in memory.
    #[derive(Debug)]
    struct Memory(&'static [(&'static str, &'static str)]);

    impl Imports for Memory {
        fn read(&self, path: &Path) -> Result<String, String> {
            let file = self.0.iter().find(|(name, _)| Path::new(name) == path);
            file.map(|(_, text)| text.to_string()).ok_or("there is no such file".into())
        }
    }

    fn entries(text: &str, files: &'static [(&'static str, &'static str)]) -> Result<Vec<String>, String> {
        let options = Options { imports: Arc::new(Memory(files)), ..Options::default() };
        let program = compile(text, "dir/main.par", &options).map_err(|e| e.to_string())?;
        Ok(program.entries().iter().map(|e| e.name.clone()).collect())
    }

    #[test]
    fn files_are_found_next_to_their_importer() {
        let files: &[(&str, &str)] = &[
            ("dir/lib/a.par", "import \"b\"\nentry twice (x: i32) : i32 = two * x"),
            ("dir/lib/b.par", "def two = 2i32"),
        ];
        let text = "import \"lib/a\"\nentry main (x: i32) : i32 = twice x";
        assert_eq!(entries(text, files), Ok(vec!["main".to_string()]));
    }

    #[test]
    fn main_is_an_entry_point_without_saying_so() {
        let files: &[(&str, &str)] = &[("dir/a.par", "def main (x: i32) : i32 = 2 * x")];
        assert_eq!(
            entries("def main (x: i32) = x\ndef other (x: i32) = x", &[]),
            Ok(vec!["main".to_string()])
        );
        assert_eq!(entries("import \"a\"\nentry f (x: i32) = main x", files), Ok(vec!["f".to_string()]));
        assert_eq!(
            entries("local def main (x: i32) = x\nmodule m = { def main (x: i32) = x }", &[]),
            Ok(vec![])
        );
    }

    #[test]
    fn library_files_are_found_unless_there_is_a_file() {
        let text = "import \"lib/linalg\"\nmodule l = mk_linalg f32\nentry main (x: []f32) = l.norm x";
        assert_eq!(entries(text, &[]), Ok(vec!["main".to_string()]));
        let own: &[(&str, &str)] = &[("dir/lib/linalg.par", "def one = 1i32")];
        assert!(entries(text, own).unwrap_err().contains("mk_linalg"));
        assert_eq!(entries("import \"lib/linalg\"\nentry f = one", own), Ok(vec!["f".to_string()]));
    }

    #[test]
    fn missing_files_and_cycles_are_errors() {
        let error = entries("import \"x\"\nentry main = 1i32", &[]).unwrap_err();
        assert!(error.contains("cannot import `x`: dir/x.par: there is no such file"), "{error}");
        let files: &[(&str, &str)] = &[("dir/x.par", "import \"../dir/main\"")];
        let error = entries("import \"x\"\nentry main = 1i32", files).unwrap_err();
        assert!(error.contains("the files import each other"), "{error}");
    }
}
