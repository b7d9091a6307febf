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
        let gives_a_result = |c: &&Case| !c.unmeasured && !matches!(c.expected, Expected::Error(_));
        for case in block.cases.iter().filter(gives_a_result) {
            for entry in &block.entries {
                let place = |message: String| NoData::Mistake(format!("{name}:{}: {message}", case.line));
                let args = call_arguments(program, case, entry, &source).map_err(|p| place(p.message))?;
                let called = case.name.clone().unwrap_or_else(|| format!("line {}", case.line));
                let set = DataSet { name: called, entry: entry.clone(), args: args.map_err(place)? };
                for_each(program, set);
            }
        }
    }
    Ok(())
}
