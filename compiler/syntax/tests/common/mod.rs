//! Shared by the tests.

use par_syntax::{Diagnostic, Sources, ast::File, parse};

/// The diagnostics of a text as a person sees them.
#[allow(dead_code, reason = "not every test file uses it")]
pub fn rendered(name: &str, text: &str, diags: &[Diagnostic]) -> String {
    let mut sources = Sources::default();
    sources.add(name, text, false);
    par_syntax::render(diags, &sources, false)
}

/// Parses a text that has no errors.
#[allow(dead_code, reason = "not every test file uses it")]
pub fn valid(name: &str, text: &str) -> File {
    let (file, diags) = parse(text, 0);
    assert!(diags.is_empty(), "{}", rendered(name, text, &diags));
    file
}

/// A tree as text, without places.
#[allow(dead_code, reason = "not every test file uses it")]
pub fn without_spans(tree: &impl std::fmt::Debug) -> String {
    let text = format!("{tree:?}");
    let mut parts = text.split("Span { file: ");
    let first = parts.next().unwrap_or("").to_string();
    parts.fold(first, |plain, part| plain + part.split_once(" }").map_or("", |(_, rest)| rest))
}
