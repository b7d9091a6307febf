//! Code actions: fixes for diagnostics, and formatting of a range.

use crate::text;
use lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, Diagnostic, Position, Range, TextEdit, Url,
    WorkspaceEdit,
};
use par_fmt::Style;
use std::collections::HashMap;

/// The changes that notes of messages advise.
pub fn fixes(url: &Url, source: &str, diagnostics: &[Diagnostic]) -> Vec<CodeActionOrCommand> {
    diagnostics.iter().flat_map(|d| fixes_of(url, source, d)).map(CodeActionOrCommand::CodeAction).collect()
}

fn fixes_of(url: &Url, source: &str, diagnostic: &Diagnostic) -> Vec<CodeAction> {
    let advice = diagnostic.message.lines().skip(1).filter_map(meant);
    advice
        .map(|meant| {
            let range = diagnostic.range;
            let (a, b) =
                (text::offset(source, range.start) as usize, text::offset(source, range.end) as usize);
            let old = source.get(a..b).unwrap_or("");
            let edit = TextEdit { range, new_text: meant.to_string() };
            CodeAction {
                title: format!("write `{meant}` for `{old}`"),
                kind: Some(CodeActionKind::QUICKFIX),
                diagnostics: Some(vec![diagnostic.clone()]),
                edit: Some(WorkspaceEdit {
                    changes: Some(HashMap::from([(url.clone(), vec![edit])])),
                    ..Default::default()
                }),
                is_preferred: Some(true),
                ..Default::default()
            }
        })
        .collect()
}

/// Replacement text that a line of a diagnostic suggests.
fn meant(line: &str) -> Option<&str> {
    let quoted = line.trim().strip_prefix("did you mean `")?;
    quoted.strip_suffix("`?")
}

/// The declarations that a range touches, formatted.
pub fn formatted(source: &str, range: Range) -> Vec<TextEdit> {
    let begins = |line: &str| line.starts_with(|c: char| c.is_alphabetic() || c == '#');
    let lines: Vec<&str> = source.split_inclusive('\n').collect();
    if lines.is_empty() {
        return Vec::new();
    }
    let last = lines.len() - 1;
    let mut first = (range.start.line as usize).min(last);
    while first > 0 && !begins(lines[first]) {
        first -= 1;
    }
    let inner = if range.end.character == 0 { range.end.line.saturating_sub(1) } else { range.end.line };
    let mut end = (inner as usize).clamp(first, last) + 1;
    while end < lines.len() && !begins(lines[end]) {
        end += 1;
    }
    // Comments before the next declaration are its own.
    while end > first + 1 && (lines[end - 1].trim().is_empty() || lines[end - 1].starts_with("--")) {
        end -= 1;
    }
    let part = lines[first..end].concat();
    match par_fmt::format(&part, Style::default()) {
        Ok(new) if new != part => {
            let range = Range::new(Position::new(first as u32, 0), Position::new(end as u32, 0));
            vec![TextEdit { range, new_text: new }]
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::{formatted, meant};
    use lsp_types::{Position, Range};

    #[test]
    fn advice_is_taken_from_notes() {
        assert_eq!(meant("did you mean `map2`?"), Some("map2"));
        assert_eq!(meant("a local function cannot call itself"), None);
    }

    #[test]
    fn whole_declarations_are_formatted() {
        let text = "def a=1\n\n-- b\ndef b (x:i64)=\n  x+1\n\n-- c\ndef c=2\n";
        let at = |a, b| formatted(text, Range::new(Position::new(a, 0), Position::new(b, 2)));
        let edits = at(4, 4);
        assert_eq!(edits.len(), 1);
        assert_eq!(edits[0].range, Range::new(Position::new(3, 0), Position::new(5, 0)));
        assert!(edits[0].new_text.starts_with("def b (x: i64) ="), "{}", edits[0].new_text);
        assert_eq!(at(0, 0)[0].new_text, "def a = 1\n");
        assert!(formatted("def a = 1\n", Range::default()).is_empty());
        assert!(formatted("", Range::default()).is_empty());
    }
}
