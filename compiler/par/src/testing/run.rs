//! Running the tests of a file.

use super::arguments::{ReadFile, Scope, arguments, read};
use super::blocks;
use super::expect::{same_message, same_values, show_all};
use super::gradient;
use super::report::{Event, Problem, Report, Target, Test};
use super::scan::Mistake;
use super::spec::{Block, Case, Data, Expected, Spec};
use super::structure;
use super::update::Mismatch;
use crate::failure::{Bug, Failure, RunFailure};
use crate::pipeline::Options;
use crate::pipeline::{Splitting, Versions};
use crate::program::{Backend, CallOptions, Program, compile};
use par_runtime::clock::Clock;
use par_runtime::{Counters, Value, ValueType, io};
use regex::Regex;
use std::cell::OnceCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Selection of tests to run, and the back ends to run them on.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Back ends.
    pub targets: Vec<Target>,
    /// Options of the compiler.
    pub options: Options,
    /// If not empty, only blocks with one of these tags.
    pub tags: Vec<String>,
    /// No blocks with one of these tags.
    pub exclude: Vec<String>,
    /// Only tests whose `FILE:LINE: NAME` matches.
    pub only: Option<Regex>,
    /// Only say what there is.
    pub list: bool,
    /// Machine code must count what the interpreter of FLAT counts.
    pub costs: bool,
    /// Reader of files in formats other than text and Futhark's.
    pub files: Option<ReadFile>,
}

/// Runs all tests of a program. A file without tests must at least compile.
pub fn run_file(path: &Path, settings: &Settings) -> Report {
    let mut report = Report::default();
    run_with(path, settings, &mut |event| report.add(event));
    report
}

/// Runs the selected tests of a program and tells how they go. Gives the outputs written in the file that are not
/// what was found.
pub fn run_with(path: &Path, settings: &Settings, tell: &mut dyn FnMut(Event)) -> Vec<Mismatch> {
    run_read(path, read_file(path), settings, tell)
}

/// As [`run_with`], of a program that is not in a file. Its name may have a folder, which the files that its tests name are relative to.
pub fn run_text(name: &str, text: &str, settings: &Settings, tell: &mut dyn FnMut(Event)) -> Vec<Mismatch> {
    run_read(name.as_ref(), read_text(name.as_ref(), text.to_string()), settings, tell)
}

fn run_read(
    path: &Path,
    read: Result<(String, Spec), Mistake>,
    settings: &Settings,
    tell: &mut dyn FnMut(Event),
) -> Vec<Mismatch> {
    let name = path.display().to_string();
    let mut runner = Runner { name: &name, settings, tell, mismatches: Vec::new() };
    match read {
        Err(mistake) => {
            let place = if mistake.line == 0 { name.clone() } else { format!("{name}:{}", mistake.line) };
            runner.test(place, "the tests can be read".into(), || Err(Problem::failed(mistake.message)));
        }
        Ok((text, spec)) => runner.file(&text, &spec),
    }
    runner.mismatches
}

pub(super) fn read_file(path: &Path) -> Result<(String, Spec), Mistake> {
    let text = std::fs::read_to_string(path).map_err(|e| Mistake { line: 0, message: e.to_string() })?;
    read_text(path, text)
}

fn read_text(path: &Path, text: String) -> Result<(String, Spec), Mistake> {
    let spec = blocks::parse(&text, path.parent().unwrap_or(Path::new(".")))?;
    Ok((text, spec))
}

struct Runner<'a> {
    name: &'a str,
    settings: &'a Settings,
    tell: &'a mut dyn FnMut(Event),
    mismatches: Vec<Mismatch>,
}

impl Runner<'_> {
    fn test(&mut self, place: String, name: String, run: impl FnOnce() -> Result<(), Problem>) {
        self.test_on(None, place, name, run);
    }

    /// Runs a test if it is selected, and tells how it went. A panic is a failure like any other.
    fn test_on(
        &mut self,
        target: Option<&Target>,
        place: String,
        name: String,
        run: impl FnOnce() -> Result<(), Problem>,
    ) {
        if !self.is_wanted(&place, &name) {
            return;
        }
        let target = target.map(Target::to_string);
        (self.tell)(Event::Begin { place: place.clone(), name: name.clone(), target: target.clone() });
        let start = Clock::start();
        let result = if self.settings.list {
            Ok(())
        } else {
            catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| Err(Problem::bug("Par panicked")))
        };
        (self.tell)(Event::Done(Test { place, name, target, problem: result.err(), time: start.elapsed() }));
    }

    fn is_wanted(&self, place: &str, name: &str) -> bool {
        self.settings.only.as_ref().is_none_or(|only| only.is_match(&format!("{place}: {name}")))
    }

    fn file(&mut self, text: &str, spec: &Spec) {
        let Settings { tags, exclude, targets, .. } = self.settings;
        let blocks: Vec<&Block> = spec.blocks.iter().filter(|b| b.is_selected(tags, exclude)).collect();
        if blocks.is_empty() && !(spec.blocks.is_empty() && tags.is_empty()) {
            return;
        }
        let has_error = blocks.iter().any(|b| b.compile_error.is_some());
        let source = Source::new(self.name, text, self.settings);
        if has_error {
            self.test(self.name.into(), "is rejected".into(), || is_rejected(&source, &blocks));
        } else if blocks.iter().all(|b| b.has_no_tests()) {
            (self.tell)(Event::NoTests);
            self.test(self.name.into(), "compiles".into(), || {
                let program = source.program()?;
                let mut targets = targets.iter();
                targets.try_for_each(|t| program.prepare_all(t.backend)).map_err(|e| Problem::from(&e))
            });
        } else if let (false, Err(failure)) = (self.settings.list, source.compiled()) {
            self.test(self.name.into(), "compiles".into(), || Err(failure.into()));
        } else {
            blocks.into_iter().for_each(|block| self.block(block, &source));
        }
    }

    fn block(&mut self, block: &Block, source: &Source) {
        for pattern in &block.warnings {
            let place = format!("{}:{}", self.name, block.line);
            self.test(place, "warning".into(), || has_warning(source.program()?, pattern));
        }
        // The counts are those of what runs if nothing is forced.
        let forced = self.settings.options.versions != Versions::Auto
            || self.settings.options.splitting != Splitting::Never;
        for structure in block.structures.iter().filter(|_| !forced) {
            let place = format!("{}:{}", self.name, structure.line);
            self.test(place, "structure".into(), || {
                structure::check(source.program()?, structure).map_err(Problem::failed)
            });
        }
        for case in block.cases.iter().filter(|case| !case.untested) {
            block.entries.iter().for_each(|entry| self.case(source, case, entry));
        }
    }

    fn case(&mut self, source: &Source, case: &Case, entry: &str) {
        // Both are the same on all back ends.
        let (mut args, mut automatic) = (None, None);
        let is_measured =
            self.settings.costs && !case.unmeasured && !matches!(case.expected, Expected::Error(_));
        let mut cost = None;
        let derivative = OnceCell::new();
        let targets = self.settings.targets.iter().filter(|t| !case.without.contains(&t.backend));
        for target in targets {
            let quoted = case.name.as_ref().map_or(String::new(), |name| format!(" \"{name}\""));
            let place = format!("{}:{}", self.name, case.line);
            let mut mismatch = None;
            self.test_on(Some(target), place, format!("entry {entry}{quoted}"), || {
                let program = source.program()?;
                program.prepare_all(target.backend).map_err(|e| Problem::from(&e))?;
                let args = args.get_or_insert_with(|| call_arguments(program, case, entry, source)).as_ref();
                let args = args.map_err(Problem::clone)?;
                let call = Call { program, case, entry, args, files: source.scope.files };
                let has_cost = is_measured && target.backend != Backend::Interp;
                let value = if has_cost { call.costs(*target, &mut cost)? } else { None };
                if let (Expected::Gradient(most), Ok(args), Some(signature)) =
                    (&case.expected, args, program.entry(entry))
                {
                    let Scope { name, text, options, .. } = source.scope;
                    let made = derivative.get_or_init(|| gradient::program(name, text, signature, options));
                    let made = made.as_ref().map_err(Problem::clone)?;
                    let name = gradient::name_of(signature);
                    return match made.run(&name, args.clone(), target.backend, target.threads) {
                        Ok(value) => gradient::check(&value, *most).map_err(Problem::failed),
                        Err(RunFailure::Error(error)) => Err(Problem::failed(error.message)),
                        Err(failure) => Err(Problem::from(&failure)),
                    };
                }
                call.run(*target, value, &mut automatic, &mut mismatch)
            });
            self.mismatches.extend(mismatch);
        }
    }
}

/// A program's text, compiled if something asks for it.
pub(super) struct Source<'a> {
    scope: Scope<'a>,
    program: OnceCell<Result<Program, Failure>>,
}

impl<'a> Source<'a> {
    pub(super) fn new(name: &'a str, text: &'a str, settings: &'a Settings) -> Source<'a> {
        let scope = Scope { name, text, options: &settings.options, files: settings.files };
        Source { scope, program: OnceCell::new() }
    }

    fn program(&self) -> Result<&Program, Problem> {
        self.compiled().map_err(Problem::from)
    }

    pub(super) fn compiled(&self) -> Result<&Program, &Failure> {
        let Scope { name, text, options, .. } = self.scope;
        // A second attempt would panic like the first.
        let bug = |_| Err(Failure::Bug(Bug { pass: "the front end".into(), message: "a panic".into() }));
        let compile = AssertUnwindSafe(|| compile(text, name, options));
        self.program.get_or_init(|| catch_unwind(compile).unwrap_or_else(bug)).as_ref()
    }
}

/// Checks that the program is rejected, by flattening at the latest, with the expected diagnostics.
fn is_rejected(source: &Source, blocks: &[&Block]) -> Result<(), Problem> {
    let message = match source.compiled() {
        Err(Failure::Bug(bug)) => return Err(Problem::bug(bug.to_string())),
        Err(failure) => failure.to_string(),
        Ok(program) => match program.prepare(Backend::FlatInterp) {
            Err(Failure::Bug(bug)) => return Err(Problem::bug(bug.to_string())),
            Err(failure) => failure.to_string(),
            Ok(()) => return Err(Problem::failed("the program compiles, but should be rejected")),
        },
    };
    let mut patterns = blocks.iter().filter_map(|b| b.compile_error.as_ref());
    patterns.try_for_each(|pattern| same_message(&message, pattern)).map_err(Problem::failed)
}

fn has_warning(program: &Program, pattern: &str) -> Result<(), Problem> {
    let warnings: Vec<String> = program
        .warnings()
        .iter()
        .map(|warning| par_syntax::render(std::slice::from_ref(warning), program.sources(), false))
        .collect();
    if warnings.iter().any(|warning| same_message(warning, pattern).is_ok()) {
        return Ok(());
    }
    let found = if warnings.is_empty() { "none\n".into() } else { warnings.concat() };
    Err(Problem::failed(format!("expected a warning: {pattern}\nfound: {found}")))
}

/// The arguments, or the message of an error that the test may expect.
pub(super) type Arguments = Result<Vec<Value>, String>;

pub(super) fn call_arguments(
    program: &Program,
    case: &Case,
    entry: &str,
    source: &Source,
) -> Result<Arguments, Problem> {
    let names = || program.entries().iter().map(|e| e.name.clone()).collect::<Vec<_>>().join(", ");
    let signature = program
        .entry(entry)
        .ok_or_else(|| Problem::failed(format!("no entry point `{entry}`; the program has: {}", names())))?;
    Ok(arguments(&case.input, &signature.params, &source.scope).map_err(|e| format!("input: {e}")))
}

/// A call of an entry point.
struct Call<'a> {
    program: &'a Program,
    case: &'a Case,
    entry: &'a str,
    args: &'a Arguments,
    files: Option<ReadFile>,
}

impl Call<'_> {
    /// Checks the value that was found, or the outcome of a run.
    fn run(
        &self,
        target: Target,
        value: Option<Value>,
        automatic: &mut Option<Result<Value, String>>,
        mismatch: &mut Option<Mismatch>,
    ) -> Result<(), Problem> {
        let args = match self.args {
            Ok(args) => args,
            Err(message) => return self.check_failure(message),
        };
        if target.backend == Backend::Interp && matches!(self.case.expected, Expected::Auto) {
            // It gives what is expected.
            let expected = automatic.get_or_insert_with(|| self.interpret()).as_ref();
            return expected.map(|_| ()).map_err(|message| Problem::failed(message.clone()));
        }
        let run = || self.program.run(self.entry, args.clone(), target.backend, target.threads);
        let result = value.map_or_else(run, Ok);
        let checked = match result {
            Ok(value) => self.check_result(value, automatic, mismatch).map_err(Problem::failed),
            Err(RunFailure::Error(error)) => self.check_failure(&error.message),
            Err(failure) => Err(Problem::from(&failure)),
        };
        checked.map_err(|p| Problem { message: format!("{}\ninput:    {}", p.message, show_all(args)), ..p })
    }

    /// Compares what machine code counts with what the interpreter of FLAT does, which is noted; the interpreter's value if that is the target.
    fn costs(&self, target: Target, cost: &mut Option<Option<Counters>>) -> Result<Option<Value>, Problem> {
        let Ok(args) = self.args else { return Ok(None) };
        let profile = |backend, threads| {
            let options = CallOptions { backend, threads, ..CallOptions::default() };
            self.program.profile(self.entry, args.clone(), &options, true).ok()
        };
        let mut value = None;
        if cost.is_none() {
            let found = profile(Backend::FlatInterp, 1);
            *cost = Some(found.as_ref().map(|(_, profile)| profile.total));
            value = found.map(|(value, _)| value).filter(|_| target.backend == Backend::FlatInterp);
        }
        if let (Backend::Cpu, Some(Some(expected))) = (target.backend, *cost) {
            let found = profile(target.backend, target.threads).map(|(_, profile)| profile.total);
            if found != Some(expected) {
                return Err(Problem::failed(format!("costs: expected {expected:?}\nfound:  {found:?}")));
            }
        }
        Ok(value)
    }

    fn check_failure(&self, message: &str) -> Result<(), Problem> {
        match &self.case.expected {
            Expected::Error(pattern) => same_message(message, pattern).map_err(Problem::failed),
            _ => Err(Problem::failed(message)),
        }
    }

    fn check_result(
        &self,
        value: Value,
        automatic: &mut Option<Result<Value, String>>,
        mismatch: &mut Option<Mismatch>,
    ) -> Result<(), String> {
        let (data, found) = match &self.case.expected {
            Expected::Anything | Expected::Gradient(_) => return Ok(()),
            Expected::Error(pattern) => {
                return Err(format!(
                    "expected an error: {pattern}\nfound: {}",
                    show_all(&io::components(value))
                ));
            }
            Expected::Auto => {
                let expected = automatic.get_or_insert_with(|| self.interpret()).clone()?;
                return same_values(&io::components(value), &io::components(expected));
            }
            Expected::Output(data) => (data, io::components(value)),
        };
        let expected = read(data, &named(&found), self.files).or_else(|e| whole_tuple(data, &found, e));
        let compared = match expected {
            Ok(expected) => same_values(&found, &expected),
            Err(e) => Err(format!("the expected output: {e}\nfound: {}", show_all(&found))),
        };
        if let (Err(_), Data::Text { range, .. }) = (&compared, data) {
            *mismatch = Some(Mismatch { range: range.clone(), found });
        }
        compared
    }

    /// Result of the interpreter for these arguments.
    fn interpret(&self) -> Result<Value, String> {
        let args = self.args.clone()?;
        let value = self.program.run(self.entry, args, Backend::Interp, 1);
        value.map_err(|e| format!("the interpreter, which gives the expected output, fails: {e}"))
    }
}

/// Name of the expected result in files that have names for their parts; of several, with their numbers behind it.
const RESULT: &str = "result";

/// The types of results, with their names in files.
fn named(results: &[Value]) -> Vec<(String, ValueType)> {
    let name = |i| if results.len() == 1 { RESULT.to_string() } else { format!("{RESULT}{i}") };
    results.iter().enumerate().map(|(i, v)| (name(i), v.ty.clone())).collect()
}

/// The expected values written as one tuple. If that is wrong too, what is wrong with the form that was meant.
fn whole_tuple(data: &Data, found: &[Value], apart: String) -> Result<Vec<Value>, String> {
    let types: Vec<ValueType> = found.iter().map(|v| v.ty.clone()).collect();
    let tuple = ValueType::Tuple(types.clone());
    let first_is_tuple = matches!(types.first(), Some(ValueType::Tuple(_)));
    let meant =
        matches!(data, Data::Text { text, .. } if text.trim_start().starts_with('(')) && !first_is_tuple;
    match read(data, &[(RESULT.to_string(), tuple)], None) {
        Ok(mut values) => Ok(values.pop().map(io::components).unwrap_or_default()),
        Err(whole) => Err(if meant && types.len() > 1 { whole } else { apart }),
    }
}
