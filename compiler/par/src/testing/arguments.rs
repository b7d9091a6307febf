//! The arguments of a case, and expected values, from wherever they are.

use super::random;
use super::spec::{Data, Input};
use crate::failure::RunFailure;
use crate::pipeline::Options;
use crate::program::Backend;
use crate::program::matrices::as_declared;
use crate::session::{Evaluation, Outcome, Session};
use par_runtime::io::{self, InputError, text::print_value};
use par_runtime::{ErrorKind, Value, ValueType};
use std::borrow::Cow;
use std::io::Read;
use std::path::Path;

/// Reads a file in a format of columns or archives: values of these types, which are parts of these names if the file has such. `None`: it is not in such a
/// format.
pub type ReadFile = fn(&Path, &[(String, ValueType)]) -> Option<Result<Vec<Value>, String>>;

/// The program that an expression in a test is evaluated in.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    /// The file's name.
    pub name: &'a str,
    /// The file's text.
    pub text: &'a str,
    /// Options of the compiler.
    pub options: &'a Options,
    /// Reader of files in formats other than text and Futhark's.
    pub files: Option<ReadFile>,
}

/// The arguments of a call.
pub fn arguments(input: &Input, params: &[(String, ValueType)], scope: &Scope) -> Result<Vec<Value>, String> {
    let types: Vec<ValueType> = params.iter().map(|p| p.1.clone()).collect();
    match input {
        Input::Data(data) => read(data, params, scope.files),
        Input::Random(random) => random::values(random, &types),
        Input::Script(expression) => script(expression, &types, scope),
    }
}

/// The values of exactly these types.
pub fn read(
    data: &Data,
    wanted: &[(String, ValueType)],
    files: Option<ReadFile>,
) -> Result<Vec<Value>, String> {
    if let (Data::File(path), Some(files)) = (data, files)
        && let Some(values) = files(path, wanted)
    {
        return values;
    }
    let types: Vec<ValueType> = wanted.iter().map(|w| w.1.clone()).collect();
    let bytes = match data {
        Data::Text { text, .. } => Cow::Borrowed(text.as_bytes()),
        Data::File(path) => Cow::Owned(contents(path).map_err(|e| format!("{}: {e}", path.display()))?),
    };
    exactly(&bytes, &types)
}

/// A file's bytes, decompressed if its name ends in `.gz`.
fn contents(path: &Path) -> std::io::Result<Vec<u8>> {
    let bytes = std::fs::read(path)?;
    if path.extension().is_none_or(|e| e != "gz") {
        return Ok(bytes);
    }
    let mut plain = Vec::new();
    flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_end(&mut plain)?;
    Ok(plain)
}

fn exactly(bytes: &[u8], types: &[ValueType]) -> Result<Vec<Value>, String> {
    let describe = |e: InputError| format!("value {}: {e}", e.index + 1);
    let values = io::read_some(bytes, types).map_err(describe)?;
    match types.get(values.len()) {
        None => Ok(values),
        Some(ty) => Err(format!("value {} of type {ty} is missing", values.len() + 1)),
    }
}

/// The components of an expression's value, interpreted, or run on the processor if that takes more memory than the interpreter may have. What has other types
/// than are wanted is read as text.
fn script(expression: &str, types: &[ValueType], scope: &Scope) -> Result<Vec<Value>, String> {
    let mut session = Session::new(scope.options);
    session.load(scope.name, scope.text).map_err(|e| e.to_string())?;
    let outcome = session.enter(expression.trim()).map_err(|e| e.to_string())?;
    let Outcome::Evaluate(evaluation) = outcome else {
        return Err(format!("`{}` has no value that a function can be called with", expression.trim()));
    };
    let Evaluation { program, args, .. } = *evaluation;
    let run = |args, backend| program.run(Evaluation::ENTRY, args, backend, 0);
    let value = match run(args.clone(), Backend::Interp) {
        Err(RunFailure::Error(e)) if e.kind == ErrorKind::OutOfMemory => run(args, Backend::Cpu),
        result => result,
    };
    let value = value.map_err(|e| e.to_string())?;
    let values = if types.len() == 1 { vec![value] } else { io::components(value) };
    let direct = || values.iter().zip(types).map(|(v, ty)| as_declared(v.clone(), ty)).collect();
    let same = values.len() == types.len();
    match same.then(direct).flatten() {
        Some(direct) => Ok(direct),
        None => {
            let text: Vec<String> = values.iter().map(print_value).collect();
            exactly(text.join("\n").as_bytes(), types)
        }
    }
}
