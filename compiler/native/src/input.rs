//! Arguments of an entry point from files and standard input.

use crate::progress::Reading;
use crate::ranks;
use par_data::{DataError, Format, Input, split_part};
use par_runtime::ranks::Ranks;
use par_runtime::ranks::values::{has_rows, rows_of};
use par_runtime::{Entry, Value, ValueType, io};
use std::path::{Path, PathBuf};

/// Source of one `--input`: `[NAME=][FORMAT:]FILE[#PART]`.
struct Source<'a> {
    name: Option<&'a str>,
    format: Option<Format>,
    path: PathBuf,
    part: Option<String>,
    /// Each rank has a file of its own.
    is_own: bool,
    /// The ranks that read together.
    ranks: Option<&'a Ranks>,
}

/// A parameter and, once read, its value.
struct Slot<'a> {
    name: &'a str,
    ty: &'a ValueType,
    value: Option<Value>,
    /// The value is the part of it that this rank has read.
    is_part: bool,
}

/// An argument, or the rows of it that this rank has read.
pub struct Argument {
    /// The value.
    pub value: Value,
    /// Other ranks have other rows.
    pub is_part: bool,
}

/// Reads all arguments. The error is one line that names what is wrong.
pub fn read(entry: &Entry, inputs: &[String]) -> Result<Vec<Value>, String> {
    Ok(read_on(entry, inputs, None)?.into_iter().map(|a| a.value).collect())
}

/// The same on one of several ranks, which of large files reads some rows.
pub fn read_on(entry: &Entry, inputs: &[String], ranks: Option<&Ranks>) -> Result<Vec<Argument>, String> {
    let mut slots: Vec<Slot> = entry.params.iter().map(|(name, ty)| empty_slot(name, ty)).collect();
    let sources: Vec<Source> = inputs.iter().map(|text| parse(text, ranks)).collect();
    for source in &sources {
        if let Some(name) = source.name {
            read_named(find(&mut slots, name)?, source)?;
        }
    }
    let mut from_files = false;
    for source in sources.iter().filter(|s| s.name.is_none()) {
        read_next(&mut slots, source)?;
        from_files = true;
    }
    if !from_files && slots.iter().any(|s| s.value.is_none() && !s.ty.is_unit()) {
        let standard =
            Source { name: None, format: None, path: "-".into(), part: None, is_own: false, ranks };
        read_next(&mut slots, &standard)?;
    }
    slots.into_iter().map(finish).collect()
}

/// Reads values from a file that has columns or parts, by the names of its parts if it has such, else in order; `None` if its name is not that of such a
/// format. For the files of tests.
pub fn read_parts(path: &Path, wanted: &[(String, ValueType)]) -> Option<Result<Vec<Value>, String>> {
    let is_of_parts = |f: &Format| !matches!(f, Format::Text | Format::Texts | Format::Binary | Format::Raw);
    Format::from_path(path).filter(is_of_parts)?;
    let source =
        Source { name: None, format: None, path: path.to_path_buf(), part: None, is_own: false, ranks: None };
    let mut slots: Vec<Slot> = wanted.iter().map(|(name, ty)| empty_slot(name, ty)).collect();
    let value = |slot: Slot| {
        let Slot { name, ty, value, .. } = slot;
        value.ok_or_else(|| format!("{}: there is no `{name}` of type {ty}", path.display()))
    };
    Some(read_next(&mut slots, &source).and_then(|()| slots.into_iter().map(value).collect()))
}

fn empty_slot<'a>(name: &'a str, ty: &'a ValueType) -> Slot<'a> {
    Slot { name, ty, value: None, is_part: false }
}

fn finish(slot: Slot) -> Result<Argument, String> {
    let Slot { name, ty, value, is_part } = slot;
    let unit = || ty.is_unit().then(|| Value { ty: ty.clone(), columns: Vec::new() });
    let value = value.or_else(unit).map(|value| Argument { value, is_part });
    value.ok_or_else(|| {
        format!("the argument `{name}` of type {ty} is missing: `-i {name}=FILE` gives it, where - is standard input")
    })
}

/// With a name if what stands before the first `=` could be a parameter.
fn parse<'a>(text: &'a str, ranks: Option<&'a Ranks>) -> Source<'a> {
    let is_name = |s: &str| {
        s.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && s.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '\''))
    };
    let (name, rest) = match text.split_once('=') {
        Some((name, rest)) if is_name(name) => (Some(name), rest),
        _ => (None, text),
    };
    match (name, rest.strip_prefix('@')) {
        (Some(_), Some(file)) => placed(name, Some(Format::Raw), file.into(), None, ranks),
        _ => {
            let (format, path, part) = split_part(rest);
            placed(name, format, path, part, ranks)
        }
    }
}

/// A source whose name may stand for a file of each rank.
fn placed<'a>(
    name: Option<&'a str>,
    format: Option<Format>,
    path: PathBuf,
    part: Option<String>,
    ranks: Option<&'a Ranks>,
) -> Source<'a> {
    let own = ranks.and_then(|ranks| ranks::own_file(&path, ranks));
    Source { name, format, part, ranks, is_own: own.is_some(), path: own.unwrap_or(path) }
}

/// Of a value that each rank was to have a file for.
const NO_ROWS: &str = "it has no rows, of which each rank could read some";

/// A value, or this rank's rows of it, and which of the two. Few bytes are read whole.
fn read_value(
    input: &mut Input,
    part: Option<&str>,
    ty: &ValueType,
    source: &Source,
) -> Result<(Value, bool), DataError> {
    if source.is_own {
        let value = input.read(part, ty)?;
        return match has_rows(ty) {
            true => Ok((value, true)),
            false => Err(NO_ROWS.into()),
        };
    }
    let many = source.ranks.filter(|ranks| ranks.size() > 1 && input.size() >= ranks.least as u64);
    let rows = many.and_then(|ranks| Some((ranks, input.rows(part, ty)?)));
    match rows.filter(|(ranks, rows)| *rows >= ranks.size()) {
        Some((ranks, rows)) => {
            Ok((input.read_rows(part, ty, rows_of(ranks.rank(), ranks.size(), rows))?, true))
        }
        None => Ok((input.read(part, ty)?, false)),
    }
}

fn find<'s, 'a>(slots: &'s mut [Slot<'a>], name: &str) -> Result<&'s mut Slot<'a>, String> {
    let known = slots.iter().map(|s| format!("{}: {}", s.name, s.ty)).collect::<Vec<_>>().join(", ");
    let slot = slots.iter_mut().find(|s| s.name == name);
    let slot = slot.ok_or_else(|| format!("--input {name}: the parameters are ({known})"))?;
    match slot.value {
        None => Ok(slot),
        Some(_) => Err(format!("--input {name}: the argument is given twice")),
    }
}

/// Name of a file in messages.
fn origin(path: &Path) -> String {
    if path == Path::new("-") { "standard input".into() } else { path.display().to_string() }
}

fn open<'w>(source: &Source, reading: &'w dyn Fn(u64, u64)) -> Result<Input<'w>, String> {
    let opened = Input::open(&source.path, source.format, reading);
    opened.map_err(|e| {
        let name = origin(&source.path);
        let advice = if is_value(&name) && !source.path.exists() {
            format!("; --input takes files: write a value to standard input, echo '{name}' | par run …")
        } else {
            String::new()
        };
        format!("cannot read {name}: {}{advice}", e.message)
    })
}

/// True for a number or an array of numbers, which is hardly the name of a file: `2020.csv` is none.
fn is_value(text: &str) -> bool {
    let begins = text.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit() || c == '[');
    begins && text.chars().all(|c| c.is_ascii_digit() || "[](), .+-_eiuf".contains(c))
}

fn read_named(slot: &mut Slot, source: &Source) -> Result<(), String> {
    let reading = Reading::new(&source.path);
    let watch = |done, all| reading.tell(done, all);
    let value = read_value(&mut open(source, &watch)?, source.part.as_deref(), slot.ty, source);
    put(slot, value.map_err(|e| describe(slot, source, &e))?);
    Ok(())
}

/// Reads values for parameters that have none yet: those that are called like parts of the file, or else the next ones.
fn read_next(slots: &mut [Slot], source: &Source) -> Result<(), String> {
    let reading = Reading::new(&source.path);
    let watch = |done, all| reading.tell(done, all);
    let mut input = open(source, &watch)?;
    let mut open: Vec<&mut Slot> = slots.iter_mut().filter(|s| s.value.is_none()).collect();
    if let Some(part) = &source.part {
        let Some(slot) = open.first_mut() else {
            return Err(format!("{}: surplus argument", origin(&source.path)));
        };
        let value = read_value(&mut input, Some(part), slot.ty, source);
        put(slot, value.map_err(|e| describe(slot, source, &e))?);
        return Ok(());
    }
    let at = |e: &DataError| format!("{}{}", origin(&source.path), e.place);
    let names = input.names().map_err(|e| format!("{}: {}", at(&e), e.message))?;
    let mut called: Vec<&mut &mut Slot> =
        open.iter_mut().filter(|s| names.iter().any(|n| n == s.name)).collect();
    if !called.is_empty() {
        called.sort_by_key(|slot| slot.name);
        let fields = called.iter().map(|s| (s.name.to_string(), s.ty.clone())).collect();
        let value = read_value(&mut input, None, &ValueType::Record(fields), source);
        let (Value { columns, .. }, is_part) = value.map_err(|e| format!("{}: {}", at(&e), e.message))?;
        let types = called.iter().map(|s| s.ty.clone()).collect();
        let values = io::components(Value { ty: ValueType::Tuple(types), columns });
        called.into_iter().zip(values).for_each(|(slot, value)| put(slot, (value, is_part)));
        return Ok(());
    }
    if let (Some(slot), false) = (open.first_mut(), input.is_of_several()) {
        let value = read_value(&mut input, None, slot.ty, source);
        put(slot, value.map_err(|e| describe(slot, source, &e))?);
        return Ok(());
    }
    let types: Vec<ValueType> = open.iter().map(|s| s.ty.clone()).collect();
    let values = input.read_some(&types).map_err(|e| match open.get(e.index) {
        Some(slot) => describe(slot, source, &e),
        None => format!("{}: surplus argument: {}", at(&e), e.message),
    })?;
    let read = open.iter_mut().zip(values);
    read.for_each(|(slot, value)| put(slot, (value, source.is_own)));
    match open.iter().find(|s| s.is_part && !has_rows(s.ty)) {
        Some(slot) => Err(describe(slot, source, &NO_ROWS.into())),
        None => Ok(()),
    }
}

fn put(slot: &mut Slot, (value, is_part): (Value, bool)) {
    slot.is_part = is_part;
    slot.value = Some(value);
}

fn describe(slot: &Slot, source: &Source, e: &DataError) -> String {
    let Slot { name, ty, .. } = slot;
    format!("{}{}: argument `{name}` of type {ty}: {}", origin(&source.path), e.place, e.message)
}
