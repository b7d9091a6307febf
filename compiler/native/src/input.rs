//! Arguments of an entry point from files and standard input.

use par_runtime::io::{self, InputError};
use par_runtime::{Array, Entry, Prim, Value, ValueType};
use std::io::Read;

/// Where one `--input` says the value is.
enum Source<'a> {
    /// `FILE`: the next values.
    Next(&'a str),
    /// `NAME=FILE`.
    Named(&'a str, &'a str),
    /// `NAME=@FILE`.
    Bytes(&'a str, &'a str),
}

/// A parameter and, once read, its value.
struct Slot<'a> {
    name: &'a str,
    ty: &'a ValueType,
    value: Option<Value>,
}

/// Reads all arguments. The error is one line that names what is wrong.
pub fn read(entry: &Entry, inputs: &[String]) -> Result<Vec<Value>, String> {
    let mut slots: Vec<Slot> = entry.params.iter().map(|(name, ty)| Slot { name, ty, value: None }).collect();
    let sources: Vec<Source> = inputs.iter().map(|text| parse(text)).collect();
    for source in &sources {
        match source {
            Source::Next(_) => {}
            Source::Named(name, file) => read_named(find(&mut slots, name)?, file)?,
            Source::Bytes(name, file) => read_raw(find(&mut slots, name)?, file)?,
        }
    }
    let mut from_files = false;
    for source in &sources {
        if let Source::Next(file) = source {
            read_next(&mut slots, file, &read_file(file)?)?;
            from_files = true;
        }
    }
    if !from_files && slots.iter().any(|s| s.value.is_none()) {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).map_err(|e| format!("cannot read standard input: {e}"))?;
        read_next(&mut slots, "standard input", &bytes)?;
    }
    slots.into_iter().map(finish).collect()
}

fn finish(slot: Slot) -> Result<Value, String> {
    slot.value.ok_or_else(|| format!("the argument `{}` of type {} is missing", slot.name, slot.ty))
}

/// `NAME=…` if what stands before the `=` could be a parameter.
fn parse(text: &str) -> Source<'_> {
    let is_name = |s: &str| {
        s.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && s.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '\''))
    };
    match text.split_once('=') {
        Some((name, rest)) if is_name(name) => match rest.strip_prefix('@') {
            Some(file) => Source::Bytes(name, file),
            None => Source::Named(name, rest),
        },
        _ => Source::Next(text),
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

fn read_file(file: &str) -> Result<Vec<u8>, String> {
    std::fs::read(file).map_err(|e| format!("cannot read {file}: {e}"))
}

fn read_raw(slot: &mut Slot, file: &str) -> Result<(), String> {
    let is_bytes = matches!(slot.ty, ValueType::Array { elem, .. } if **elem == ValueType::Prim(Prim::U8));
    if !is_bytes {
        let Slot { name, ty, .. } = slot;
        return Err(format!("--input {name}=@{file}: raw bytes have type []u8, but `{name}` has type {ty}"));
    }
    let mut value = Value::vector(Array::from_slice(&read_file(file)?));
    value.ty = slot.ty.clone();
    slot.value = Some(value);
    Ok(())
}

fn read_named(slot: &mut Slot, file: &str) -> Result<(), String> {
    let bytes = read_file(file)?;
    let types = [slot.ty.clone()];
    let values = io::read_some(&bytes, &types);
    let mut values = values.map_err(|e| describe(slot.name, slot.ty, file, &bytes, &e))?;
    slot.value = values.pop();
    Ok(())
}

/// Reads values for the parameters that have none yet, in order.
fn read_next(slots: &mut [Slot], origin: &str, bytes: &[u8]) -> Result<(), String> {
    let mut open: Vec<&mut Slot> = slots.iter_mut().filter(|s| s.value.is_none()).collect();
    let types: Vec<ValueType> = open.iter().map(|s| s.ty.clone()).collect();
    let values = io::read_some(bytes, &types).map_err(|e| match open.get(e.index) {
        Some(slot) => describe(slot.name, slot.ty, origin, bytes, &e),
        None => format!("{}: surplus argument: {e}", position(origin, bytes, &e)),
    })?;
    for (slot, value) in open.iter_mut().zip(values) {
        slot.value = Some(value);
    }
    Ok(())
}

fn describe(name: &str, ty: &ValueType, origin: &str, bytes: &[u8], e: &InputError) -> String {
    format!("{}: argument `{name}` of type {ty}: {e}", position(origin, bytes, e))
}

/// `origin:line:column` for text.
fn position(origin: &str, bytes: &[u8], e: &InputError) -> String {
    if io::npy::is_npy(bytes) || io::binary::is_binary(bytes) {
        return format!("{origin}, byte {}", e.range.start);
    }
    let before = &bytes[..e.range.start.min(bytes.len())];
    let line = before.iter().filter(|b| **b == b'\n').count() + 1;
    let start = before.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
    format!("{origin}:{line}:{column}")
}
