//! Wrong programs, one mistake each, with what is said about them.
//!
//! `tests/diagnostics/AREA/NAME.par` is named after its mistake, `NAME.txt` beside it holds what a person sees. Set
//! `UPDATE_DIAGNOSTICS=1` to write the texts, and read them: would they help you? Comments at the beginning of a program
//! say what differs from one error of the compiler:
//!
//! ```text
//! -- expect: 2 errors          or 1 warning
//! -- run: [1, 2] 3i64          the program is right; this input makes it fail
//! -- entry: NAME               the entry point that is asked for
//! -- deny: sizes               a warning that rejects the program
//! -- warn: copies              a warning that is not given by default
//! ```

use par::imports::{FileSystem, Imports};
use par::{Backend, Diagnostic, Failure, Options, Program, RunFailure, Severity, compile, read_values};
use par_tests::{on_threads, programs, root};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files below the folder of the wrong programs.
#[derive(Debug)]
struct Below(PathBuf);

impl Imports for Below {
    fn read(&self, path: &Path) -> Result<String, String> {
        // The reasons that an operating system gives are not the same everywhere.
        FileSystem.read(&self.0.join(path)).map_err(|_| "there is no such file".to_string())
    }
}

/// Requests in the comments at the beginning.
struct Wanted<'t> {
    count: usize,
    severity: Severity,
    run: Option<&'t str>,
    entry: Option<&'t str>,
    deny: Option<&'t str>,
    warn: Option<&'t str>,
}

impl Wanted<'_> {
    fn of(text: &str) -> Wanted<'_> {
        let mut wanted =
            Wanted { count: 1, severity: Severity::Error, run: None, entry: None, deny: None, warn: None };
        for line in text.lines().map_while(|line| line.strip_prefix("-- ")) {
            let Some((key, value)) = line.split_once(':') else { break };
            let value = value.trim();
            match (key, value.split_once(' ')) {
                ("expect", Some((count, what))) => {
                    wanted.count = count.parse().expect("a number of diagnostics");
                    wanted.severity = match what {
                        "warning" | "warnings" => Severity::Warning,
                        "note" | "notes" => Severity::Note,
                        "unsupported" => Severity::Unsupported,
                        _ => Severity::Error,
                    };
                }
                ("run", _) => wanted.run = Some(value),
                ("entry", _) => wanted.entry = Some(value),
                ("deny", _) => wanted.deny = Some(value),
                ("warn", _) => wanted.warn = Some(value),
                _ => panic!("what is `{line}`?"),
            }
        }
        wanted
    }
}

/// Messages about a program, and the diagnostics.
fn said(text: &str, name: &str, wanted: &Wanted<'_>, options: &Options) -> (String, Vec<Diagnostic>) {
    let program = match compile(text, name, options) {
        Ok(program) => program,
        Err(failure) => return of_failure(failure),
    };
    if let Some(input) = wanted.run {
        return run(&program, input, wanted.entry);
    }
    let warnings = program.warnings().to_vec();
    (par::render(&warnings, program.sources(), false), warnings)
}

fn of_failure(failure: Failure) -> (String, Vec<Diagnostic>) {
    match failure {
        Failure::Rejected { diagnostics, sources } => {
            (par::render(&diagnostics, &sources, false), diagnostics)
        }
        failure => panic!("{failure}"),
    }
}

/// The failure of a right program on this input.
fn run(program: &Program, input: &str, entry: Option<&str>) -> (String, Vec<Diagnostic>) {
    let plain = |message: String| {
        let error = par::RuntimeError::plain(message);
        let diagnostic = program.diagnostic(&error);
        (par::render(std::slice::from_ref(&diagnostic), program.sources(), false), vec![diagnostic])
    };
    let entry = match program.choose_entry(entry) {
        Ok(entry) => entry,
        Err(message) => return plain(message),
    };
    let types: Vec<_> = entry.params.iter().map(|(_, ty)| ty.clone()).collect();
    let values = match read_values(input, &types) {
        Ok(values) => values,
        Err(message) => return plain(message.to_string()),
    };
    match program.run(&entry.name, values, Backend::Interp, 1) {
        Ok(_) => (String::new(), Vec::new()),
        Err(RunFailure::Compile(failure)) => of_failure(failure),
        Err(failure @ RunFailure::Cancelled) => panic!("{failure}"),
        Err(RunFailure::Error(error)) => {
            let diagnostic = program.diagnostic(&error);
            (par::render(std::slice::from_ref(&diagnostic), program.sources(), false), vec![diagnostic])
        }
    }
}

fn check(folder: &Path, file: &Path) -> Result<(), String> {
    let name = file.strip_prefix(folder).expect("a file of the folder").display().to_string();
    let text = std::fs::read_to_string(file).expect("a readable program");
    let wanted = Wanted::of(&text);
    let mut options = Options { imports: Arc::new(Below(folder.to_path_buf())), ..Options::default() };
    if let Some(name) = wanted.deny {
        options.warnings.set(&format!("{name}=error")).expect("a warning");
    }
    if let Some(name) = wanted.warn {
        options.warnings.set(name).expect("a warning");
    }
    let (rendered, diagnostics) = said(&text, &name, &wanted, &options);
    let count = diagnostics.iter().filter(|d| d.severity == wanted.severity).count();
    let worse = diagnostics.iter().filter(|d| d.severity > wanted.severity).count();
    if count != wanted.count || worse > 0 {
        let expected = wanted.count;
        return Err(format!(
            "{name}: {count} diagnostics instead of {expected}, {worse} worse ones\n{rendered}"
        ));
    }
    let expected = file.with_extension("txt");
    if std::env::var_os("UPDATE_DIAGNOSTICS").is_some() {
        return std::fs::write(&expected, rendered).map_err(|e| e.to_string());
    }
    match std::fs::read_to_string(&expected) {
        Ok(text) if text == rendered => Ok(()),
        Ok(text) => Err(format!("{name}: expected\n{text}\nbut found\n{rendered}")),
        Err(e) => Err(format!("{}: {e}", expected.display())),
    }
}

#[test]
fn every_mistake_is_explained() {
    let folder = root().join("tests/diagnostics");
    let files = programs(&folder);
    assert!(files.len() >= 150, "only {} programs", files.len());
    let failures: Vec<String> =
        on_threads(&files, |file| check(&folder, file).err()).into_iter().flatten().collect();
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

/// A text without its program is left over.
#[test]
fn every_text_has_its_program() {
    let folder = root().join("tests/diagnostics");
    let areas = std::fs::read_dir(&folder).expect("the folder").flatten().map(|e| e.path());
    for area in areas.filter(|p| p.is_dir()) {
        for entry in std::fs::read_dir(area).expect("an area").flatten() {
            let path = entry.path();
            let is_text = path.extension().is_some_and(|e| e == "txt");
            assert!(!is_text || path.with_extension("par").is_file(), "{}", path.display());
        }
    }
}
