//! Choice of the entry point to run.

use crate::nearest;
use par_runtime::Entry;

/// The entry point to run: the one asked for, else `main`, else the only one. The error says which ones there are.
pub fn choose<'e>(entries: &[&'e Entry], name: Option<&str>) -> Result<&'e Entry, String> {
    if let ([only], None) = (entries, name) {
        return Ok(only);
    }
    let names: Vec<&str> = entries.iter().map(|e| e.name.as_str()).collect();
    let wanted = name.unwrap_or("main");
    let close = nearest(wanted, names.iter().copied());
    let known = match (close, names.len()) {
        (Some(close), _) => format!("did you mean `{close}`?"),
        (None, 0) => "the program has none; write `entry` instead of `def` for what is to be run".to_string(),
        (None, _) => format!("there is {}", names.join(", ")),
    };
    let found = entries.iter().copied().find(|e| e.name == wanted);
    found.ok_or_else(|| format!("no entry point `{wanted}`: {known}"))
}
