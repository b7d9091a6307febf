//! Running the cases of a file.

use super::blocks::{self, Case, Data, Expected, Spec};
use crate::failure::RunFailure;
use crate::pipeline::Options;
use crate::program::{Backend, Program, compile};
use par_runtime::io::compare::{Tolerance, compare};
use par_runtime::io::{self, InputError, text::print_value};
use par_runtime::{Value, ValueType};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// A back end with its number of threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub struct Target {
    pub backend: Backend,
    /// 0 stands for all processors.
    pub threads: usize,
}

/// Both interpreters, and machine code with one thread and with two.
pub const ALL_TARGETS: &[Target] = &[
    Target { backend: Backend::Interp, threads: 1 },
    Target { backend: Backend::FlatInterp, threads: 1 },
    Target { backend: Backend::Cpu, threads: 1 },
    Target { backend: Backend::Cpu, threads: 2 },
];

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.backend, self.threads) {
            (Backend::Cpu, 1) => write!(f, "cpu, 1 thread"),
            (Backend::Cpu, n) if n > 1 => write!(f, "cpu, {n} threads"),
            (backend, _) => write!(f, "{backend}"),
        }
    }
}

/// How the tests of a file went.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Cases times targets.
    pub passed: usize,
    /// What went wrong.
    pub failures: Vec<Failure>,
}

/// A case that went wrong.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The case: file, entry point, line, back end.
    pub place: String,
    /// What happened instead; several lines.
    pub message: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.place)?;
        self.message.lines().try_for_each(|line| write!(f, "\n    {line}"))
    }
}

impl Report {
    fn fail(&mut self, place: impl Into<String>, message: impl Into<String>) {
        self.failures.push(Failure { place: place.into(), message: message.into() });
    }

    fn add(&mut self, place: String, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => self.passed += 1,
            Err(message) => self.fail(place, message),
        }
    }
}

/// Runs the tests of a program on the targets. A file without tests must at least compile.
pub fn run_file(path: &Path, targets: &[Target], options: &Options) -> Report {
    let mut report = Report::default();
    let name = path.display().to_string();
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(e) => {
            report.fail(name, e.to_string());
            return report;
        }
    };
    let spec = match blocks::parse(&text, path.parent().unwrap_or(Path::new("."))) {
        Ok(spec) => spec,
        Err(message) => {
            report.fail(name, message);
            return report;
        }
    };
    match guarded(|| build(&text, &name, &spec, options).map_err(|e| e.to_string())) {
        Ok(program) => run_cases(&name, &program, &spec, targets, &mut report),
        Err(message) => report.add(name, rejected(&spec, message)),
    }
    report
}

/// Compiles; if the program should be rejected, as far as FLAT.
fn build(text: &str, name: &str, spec: &Spec, options: &Options) -> Result<Program, crate::failure::Failure> {
    let program = compile(text, name, options)?;
    if spec.compile_error.is_some() {
        program.prepare(Backend::FlatInterp)?;
    }
    Ok(program)
}

fn rejected(spec: &Spec, message: String) -> Result<(), String> {
    match &spec.compile_error {
        Some(text) => expect_text(&message, text),
        None => Err(message),
    }
}

fn run_cases(name: &str, program: &Program, spec: &Spec, targets: &[Target], report: &mut Report) {
    if let Some(text) = &spec.compile_error {
        report.fail(name, format!("compiles, but should be rejected: {text}"));
        return;
    }
    if spec.cases.is_empty() {
        report.passed += 1;
    }
    for target in targets {
        if let Err(message) = guarded(|| program.prepare(target.backend).map_err(|e| e.to_string())) {
            report.fail(format!("{name} ({target})"), message);
            continue;
        }
        for case in &spec.cases {
            let place = format!("{name}:{}: entry {} ({target})", case.line, case.entry);
            report.add(place, guarded(|| run_case(program, case, *target)));
        }
    }
}

/// A panic as an error, so that the other cases still run.
fn guarded<T>(run: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| Err("the compiler panicked".into()))
}

fn run_case(program: &Program, case: &Case, target: Target) -> Result<(), String> {
    let entry = program.entry(&case.entry).ok_or_else(|| format!("no entry point `{}`", case.entry))?;
    let types: Vec<ValueType> = entry.params.iter().map(|p| p.1.clone()).collect();
    let args = match read(&case.input, &types) {
        Ok(args) => args,
        Err(message) => return check_failure(case, &format!("input: {message}")),
    };
    match program.run(&case.entry, args, target.backend, target.threads) {
        Ok(value) => check_result(case, value),
        Err(RunFailure::Error(error)) => check_failure(case, &error.message),
        Err(failure) => Err(failure.to_string()),
    }
}

/// The values of exactly these types.
fn read(data: &Data, types: &[ValueType]) -> Result<Vec<Value>, String> {
    let bytes = match data {
        Data::Text(text) => text.clone().into_bytes(),
        Data::File(path) => std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?,
    };
    let describe = |e: InputError| format!("value {}: {e}", e.index + 1);
    let values = io::read_some(&bytes, types).map_err(describe)?;
    match types.get(values.len()) {
        None => Ok(values),
        Some(ty) => Err(format!("value {} of type {ty} is missing", values.len() + 1)),
    }
}

fn check_failure(case: &Case, message: &str) -> Result<(), String> {
    match &case.expected {
        Expected::Error(text) => expect_text(message, text),
        _ => Err(message.to_string()),
    }
}

fn check_result(case: &Case, value: Value) -> Result<(), String> {
    let data = match &case.expected {
        Expected::Anything => return Ok(()),
        Expected::Output(data) => data,
        Expected::Error(text) => {
            return Err(format!("gives {}, but should fail: {text}", print_value(&value)));
        }
    };
    let actual = io::components(value);
    let types: Vec<ValueType> = actual.iter().map(|v| v.ty.clone()).collect();
    let expected = read(data, &types).or_else(|e| whole_tuple(data, &types).ok_or(e));
    let expected = expected.map_err(|e| format!("expected output: {e}\nactual: {}", show_all(&actual)))?;
    for (actual, expected) in actual.iter().zip(&expected) {
        compare(actual, expected, Tolerance::of).map_err(|difference| {
            format!("actual:   {}\nexpected: {}\n{difference}", show(actual), show(expected))
        })?;
    }
    Ok(())
}

/// The expected values written as one tuple.
fn whole_tuple(data: &Data, types: &[ValueType]) -> Option<Vec<Value>> {
    let tuple = ValueType::Tuple(types.to_vec());
    let value = read(data, &[tuple]).ok()?.pop()?;
    Some(io::components(value))
}

fn show_all(values: &[Value]) -> String {
    values.iter().map(show).collect::<Vec<_>>().join(" ")
}

/// A value, shortened if it is long.
fn show(value: &Value) -> String {
    const LONGEST: usize = 400;
    let text = print_value(value);
    match text.char_indices().nth(LONGEST) {
        None => text,
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}

/// Whether `pattern` occurs in a message; `.*` stands for anything, and all white space is alike.
fn expect_text(message: &str, pattern: &str) -> Result<(), String> {
    let words = |s: &str| s.split_whitespace().collect::<Vec<_>>().join(" ");
    let (message, pattern) = (words(message), words(pattern));
    let mut rest = message.as_str();
    for piece in pattern.split(".*") {
        match rest.split_once(piece) {
            Some((_, after)) => rest = after,
            None => return Err(format!("fails with: {message}\nexpected:   {pattern}")),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::expect_text;

    #[test]
    fn patterns() {
        assert!(expect_text("index 7 is outside [0,5)", "outside [0,5)").is_ok());
        assert!(expect_text("index 7 is\n outside", "index.*is outside").is_ok());
        assert!(expect_text("index 7 is outside", "outside.*index").is_err());
        assert!(expect_text("anything", "").is_ok());
    }
}
