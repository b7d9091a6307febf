//! Parts of views, for what `#[derive(FromPar)]` writes.

use super::from::wrong;
use super::{FromPar, Mismatch};
use par_runtime::io::view::View;

/// The fields of a record that has as many.
pub fn record<'v, 'a>(view: &'v View<'a>, count: usize) -> Result<&'v [(&'a str, View<'a>)], Mismatch> {
    match view {
        View::Record(fields, _) if fields.len() == count => Ok(fields),
        _ => wrong(view, &format!("a record of {count} fields")),
    }
}

fn find<'v, 'a>(fields: &'v [(&str, View<'a>)], name: &str) -> Result<&'v View<'a>, Mismatch> {
    let found = fields.iter().find(|f| f.0 == name);
    found.map(|f| &f.1).ok_or_else(|| Mismatch::new(format!("there is no field `{name}`")))
}

/// A field, read.
pub fn field<T: FromPar>(fields: &[(&str, View<'_>)], name: &str, row: usize) -> Result<T, Mismatch> {
    T::from_view(find(fields, name)?, row).map_err(|m| m.inside(&format!("field `{name}`")))
}

/// Checks that a field can be read.
pub fn fits<T: FromPar>(fields: &[(&str, View<'_>)], name: &str) -> Result<(), Mismatch> {
    T::fits(find(fields, name)?).map_err(|m| m.inside(&format!("field `{name}`")))
}

/// Checks that there are values of a sum type.
pub fn sum(view: &View<'_>) -> Result<(), Mismatch> {
    if let View::Sum(..) = view { Ok(()) } else { wrong(view, "a value of a sum type") }
}

/// The components of a tuple that has as many.
pub fn tuple<'v, 'a>(view: &'v View<'a>, count: usize) -> Result<&'v [View<'a>], Mismatch> {
    match view {
        View::Tuple(parts) if parts.len() == count => Ok(parts),
        _ => wrong(view, &format!("a tuple of {count} components")),
    }
}

/// The constructor of a value of a sum type, with its payload.
pub fn constructor<'v, 'a>(view: &'v View<'a>, row: usize) -> Result<(&'a str, &'v [View<'a>]), Mismatch> {
    let View::Sum(tag, cases) = view else { return wrong(view, "a value of a sum type") };
    let found = cases.get(tag.tag(row));
    found.map(|(name, payload)| (*name, payload.as_slice())).ok_or_else(|| Mismatch::new("no constructor"))
}

/// A payload of as many parts.
pub fn payload<'v, 'a>(payload: &'v [View<'a>], count: usize) -> Result<&'v [View<'a>], Mismatch> {
    match payload.len() == count {
        true => Ok(payload),
        false => {
            let message = format!("a payload of {} parts cannot be read as one of {count}", payload.len());
            Err(Mismatch::new(message))
        }
    }
}

/// A constructor that the type of Rust lacks.
pub fn unknown_constructor(name: &str, known: &[&str]) -> Mismatch {
    let known: Vec<String> = known.iter().map(|name| format!("`#{name}`")).collect();
    Mismatch::new(format!("`#{name}` is none of {}", known.join(", ")))
}
