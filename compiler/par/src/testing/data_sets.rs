//! The calls in programs' tests, for measuring them.

use super::run::{Settings, Source, call_arguments, read_file};
use super::spec::{Case, Expected};
use crate::failure::Failure;
use crate::program::Program;
use par_runtime::Value;
use std::path::Path;

/// A call that a program's tests ask for: an entry point with its arguments.
#[derive(Clone, Debug)]
pub struct DataSet {
    /// Name in the test, or where it stands.
    pub name: String,
    /// The entry point.
    pub entry: String,
    /// Its arguments.
    pub args: Vec<Value>,
}

/// Why there are no data sets.
#[derive(Debug)]
pub enum NoData {
    /// The file, its tests or the arguments in them cannot be read: what is wrong.
    Mistake(String),
    /// The program was not compiled.
    Failure(Failure),
}

/// A program with the calls in its tests, one for each selected case that is to give a result. `for_each` gets them one
/// after the other, since they may be large.
pub fn data_sets(
    path: &Path,
    settings: &Settings,
    for_each: &mut dyn FnMut(&Program, DataSet),
) -> Result<(), NoData> {
    let gives_a_result = |c: &Case| !c.unmeasured && !matches!(c.expected, Expected::Error(_));
    chosen(path, settings, &gives_a_result, for_each)
}

/// As [`data_sets`], one for each selected case that has arguments, those that are to fail, too.
pub fn calls(
    path: &Path,
    settings: &Settings,
    for_each: &mut dyn FnMut(&Program, DataSet),
) -> Result<(), NoData> {
    chosen(path, settings, &|c: &Case| !c.untested, for_each)
}

fn chosen(
    path: &Path,
    settings: &Settings,
    is_chosen: &dyn Fn(&Case) -> bool,
    for_each: &mut dyn FnMut(&Program, DataSet),
) -> Result<(), NoData> {
    let name = path.display().to_string();
    let (text, spec) = read_file(path).map_err(|m| {
        let line = if m.line == 0 { String::new() } else { format!(":{}", m.line) };
        NoData::Mistake(format!("{name}{line}: {}", m.message))
    })?;
    if spec.blocks.iter().any(|b| b.compile_error.is_some()) {
        return Ok(());
    }
    let source = Source::new(&name, &text, settings);
    let program = source.compiled().map_err(|f| NoData::Failure(f.clone()))?;
    for block in spec.blocks.iter().filter(|b| b.is_selected(&settings.tags, &settings.exclude)) {
        for case in block.cases.iter().filter(|c| is_chosen(c)) {
            for entry in &block.entries {
                let place = |message: String| NoData::Mistake(format!("{name}:{}: {message}", case.line));
                let args = call_arguments(program, case, entry, &source).map_err(|p| place(p.message))?;
                let called = case.name.clone().unwrap_or_else(|| format!("line {}", case.line));
                let args = match args {
                    Err(_) if matches!(case.expected, Expected::Error(_)) => continue,
                    args => args.map_err(place)?,
                };
                for_each(program, DataSet { name: called, entry: entry.clone(), args });
            }
        }
    }
    Ok(())
}
