//! Diagnostics as JSON, for editors and scripts.
//!
//! ```text
//! {"severity": "error", "code": "E0201", "message": "unknown name `y`",
//!  "file": "a.par", "start": 12, "end": 13, "line": 1, "column": 13, "end_line": 1, "end_column": 14,
//!  "utf16_column": 13, "utf16_end_column": 14,
//!  "labels": [{"primary": true, "text": "not defined", "file": …}], "notes": […], "rendered": "…"}
//! ```
//!
//! `start` and `end` are bytes from the beginning of the file. Lines and columns count from 1; `column` counts
//! characters (Unicode scalar values), `utf16_column` UTF-16 code units as editors do. The end is behind the last
//! character. The place of a diagnostic is that of its first label; one without a place has null in its stead.

use crate::{Diagnostic, Severity, Sources, render};
use par_runtime::Span;
use serde_json::{Map, Value, json};

/// A diagnostic as one JSON object.
pub fn json(diagnostic: &Diagnostic, sources: &Sources) -> Value {
    let mut object = match diagnostic.labels.first().map(|label| place(label.span, sources)) {
        Some(object) => object,
        None => Map::from_iter([("file".to_string(), Value::Null)]),
    };
    let labels: Vec<Value> = diagnostic
        .labels
        .iter()
        .enumerate()
        .map(|(i, label)| {
            let mut object = place(label.span, sources);
            object.insert("primary".into(), (i == 0).into());
            object.insert("text".into(), label.text.as_str().into());
            object.into()
        })
        .collect();
    let code = if diagnostic.code.is_empty() { Value::Null } else { diagnostic.code.as_str().into() };
    object.extend([
        ("severity".to_string(), severity(diagnostic.severity).into()),
        ("code".to_string(), code),
        ("message".to_string(), diagnostic.message.as_str().into()),
        ("labels".to_string(), labels.into()),
        ("notes".to_string(), diagnostic.notes.clone().into()),
        ("rendered".to_string(), render(std::slice::from_ref(diagnostic), sources, false).into()),
    ]);
    object.into()
}

/// An error that is about no place in a program, in the same form.
pub fn plain(message: &str) -> Value {
    let rendered = format!("error: {message}\n");
    json!({
        "severity": "error", "code": null, "message": message, "file": null,
        "labels": [], "notes": [], "rendered": rendered,
    })
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Unsupported => "unsupported",
        Severity::Error => "error",
    }
}

fn place(span: Span, sources: &Sources) -> Map<String, Value> {
    let source = sources.files.get(span.file as usize);
    let text = source.map_or("", |s| s.text.as_str());
    let start = text.floor_char_boundary(span.start as usize);
    let end = text.floor_char_boundary((span.end as usize).max(start));
    let (first, last) = (Position::of(text, start), Position::of(text, end));
    let object = json!({
        "file": source.map(|s| s.name.as_str()),
        "start": start,
        "end": end,
        "line": first.line,
        "column": first.column,
        "utf16_column": first.utf16,
        "end_line": last.line,
        "end_column": last.column,
        "utf16_end_column": last.utf16,
    });
    if let Value::Object(map) = object { map } else { Map::new() }
}

/// A place in a text, counted from 1.
#[derive(PartialEq, Debug)]
struct Position {
    line: usize,
    column: usize,
    utf16: usize,
}

impl Position {
    fn of(text: &str, at: usize) -> Position {
        let before = &text[..at];
        let line = before.rsplit('\n').next().unwrap_or("");
        Position {
            line: before.matches('\n').count() + 1,
            column: line.chars().count() + 1,
            utf16: line.encode_utf16().count() + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_code_units() {
        let text = "def a = 1\r\n\té𝛑 = x";
        let at = text.find('=').map_or(0, |_| text.rfind('x').unwrap_or(0));
        assert_eq!(Position::of(text, at), Position { line: 2, column: 7, utf16: 8 });
        assert_eq!(Position::of(text, 0), Position { line: 1, column: 1, utf16: 1 });
    }

    #[test]
    fn one_object_per_diagnostic() {
        let mut sources = Sources::default();
        let file = sources.add("a.par", "def ä = y\n", false);
        let span = Span { file, start: 9, end: 10 };
        let error = Diagnostic::error("E0201", "unknown name `y`", span).here("not defined").note("a note");
        let value = json(&error, &sources);
        assert_eq!(value["severity"], "error");
        assert_eq!(
            (&value["start"], &value["column"], &value["end_column"]),
            (&json!(9), &json!(9), &json!(10))
        );
        assert_eq!(value["labels"][0]["text"], "not defined");
        assert_eq!(value["notes"], json!(["a note"]));
        assert!(value["rendered"].as_str().is_some_and(|text| text.contains("E0201")));
        let unplaced = Diagnostic { labels: Vec::new(), code: String::new(), ..error };
        assert_eq!(
            (&json(&unplaced, &sources)["file"], &json(&unplaced, &sources)["code"]),
            (&json!(null), &json!(null))
        );
    }
}
