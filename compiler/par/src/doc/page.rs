//! One item as text.

use super::lookup::Found;
use super::{Item, Kind};
use par_syntax::Sources;
use std::fmt::Write;

/// The page of an item: signature as written, comment, place.
///
/// ```text
/// f64.mean [n] (xs: [n]f64) : f64
///
///   The mean of the elements, NaN for an empty array. …
///
///   stdlib/float.par.in:142
/// ```
pub fn page(found: &Found<'_>, sources: &Sources) -> String {
    let item = found.item;
    let mut out = format!("{}\n\n", heading(item));
    let text = item.text.as_deref().unwrap_or("(not documented)");
    for line in text.trim().lines() {
        out.push_str(format!("  {line}").trim_end());
        out.push('\n');
    }
    if !found.also.is_empty() {
        let _ = writeln!(out, "\n  Also in {}.", found.also.join(", "));
    }
    let _ = writeln!(out, "\n  {}", place(item, sources));
    out
}

/// The signature with the name qualified.
fn heading(item: &Item) -> String {
    match (item.kind, item.module()) {
        (Kind::Entry, "") => format!("entry {}", item.signature),
        (Kind::Value | Kind::Entry, module) if module.starts_with("lib/") => {
            let (file, inner) = module.split_once('.').map_or((module, ""), |(file, inner)| (file, inner));
            let dot = if inner.is_empty() { "" } else { "." };
            format!("import \"{file}\"\n\n{inner}{dot}{}", item.signature)
        }
        (Kind::Value | Kind::Entry, module) if !module.is_empty() => format!("{module}.{}", item.signature),
        _ => item.signature.clone(),
    }
}

/// Source place of an item's declaration: file and line.
fn place(item: &Item, sources: &Sources) -> String {
    if item.kind == Kind::Operator {
        return "built into the language".to_string();
    }
    let name = sources.files.get(item.file as usize).map_or("", |f| f.name.as_str());
    // A template is named with the type it was read for.
    let name = name.split_once(" (with ").map_or(name, |(file, _)| file);
    format!("{name}:{}", item.line)
}
