//! Knowledge about a text with mistakes in it.
//!
//! ```text
//! def twice (x: i64) : i64 = x * 2
//! def wrong (x: i64) : i64 = x + last x    an expression that is wrong becomes a hole: x + ???
//! def worse (x: i64 : i64 = x              a declaration that stays wrong is left out
//! entry main (x: i64) : i64 = worse x      and so is what calls it
//! ```
//!
//! Omitted text is replaced by blanks, so that all other positions stay the same.

use super::Analysis;
use crate::pipeline::Options;
use std::ops::Range;

/// Maximum number of attempts: each leaves something out and looks at the text once more.
const ATTEMPTS: usize = 6;
/// An expression of any type.
const HOLE: &str = "???";

/// Looks at a text without what `first`, what is known about all of it, says to be wrong: expressions, and with `declarations` also whole
/// declarations. None if nothing with types is left.
pub fn analysis(
    text: &str,
    first: &Analysis,
    declarations: bool,
    look: impl Fn(&str, &Options) -> Analysis,
    options: &Options,
) -> Option<Analysis> {
    let mut left = text.to_string();
    let mut wrong = spans(first);
    for _ in 0..ATTEMPTS {
        let filled = with_holes(&left, &wrong);
        let starts: Vec<usize> = wrong.iter().map(|span| span.start).collect();
        let blanked = || declarations.then(|| without(&left, &starts));
        let changed = filled.or_else(blanked).filter(|changed| *changed != left)?;
        left = changed;
        let analysis = look(&left, options);
        if analysis.is_typed() {
            return Some(analysis);
        }
        wrong = spans(&analysis);
    }
    None
}

/// Byte ranges of the program's own file that diagnostics are about.
fn spans(analysis: &Analysis) -> Vec<Range<usize>> {
    let spans = analysis.diagnostics.iter().filter_map(|d| d.labels.first()).map(|label| label.span);
    let own = spans.filter(|span| span.file == analysis.file());
    own.map(|span| span.start as usize..span.end as usize).collect()
}

/// The text with holes in place of expressions on one line, if all of these can be some: what is shorter
/// than one has no room for it.
fn with_holes(text: &str, spans: &[Range<usize>]) -> Option<String> {
    let mut out = text.to_string();
    for span in spans {
        let wrong = out.get(span.clone()).filter(|t| !t.contains('\n') && !t.contains(HOLE))?;
        let blanks = wrong.len().checked_sub(HOLE.len())?;
        out.replace_range(span.clone(), &format!("{HOLE}{}", " ".repeat(blanks)));
    }
    (!spans.is_empty()).then_some(out)
}

/// The text with blanks for the declarations around some places. A declaration begins at the margin and ends where the next one begins.
fn without(text: &str, places: &[usize]) -> String {
    let begins = |line: &str| line.starts_with(|c: char| c.is_alphabetic() || c == '#');
    let mut out: Vec<u8> = Vec::with_capacity(text.len());
    let mut start = 0;
    let mut declarations = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if begins(line) && at > start {
            declarations.push(start..at);
            start = at;
        }
        at += line.len();
    }
    declarations.push(start..text.len());
    for range in declarations {
        let is_wrong = places.iter().any(|p| range.contains(p) || *p == text.len() && range.end == *p);
        let bytes = text[range].bytes();
        out.extend(bytes.map(|b| if is_wrong && b != b'\n' { b' ' } else { b }));
    }
    String::from_utf8(out).unwrap_or_else(|_| text.to_string())
}

#[cfg(test)]
mod tests {
    use super::{with_holes, without};
    use std::slice::from_ref;

    #[test]
    fn expressions_become_holes_of_their_length() {
        let text = "def f = sum xs + 1\n";
        assert_eq!(with_holes(text, from_ref(&(8..14))).as_deref(), Some("def f = ???    + 1\n"));
        assert_eq!(with_holes(text, from_ref(&(17..18))), None);
        assert_eq!(with_holes("def f = ???", from_ref(&(8..11))), None);
    }

    #[test]
    fn declarations_become_blanks() {
        let text = "def f = 1\ndef g =\n  ü\n\nentry main = g\n";
        assert_eq!(without(text, &[20]), "def f = 1\n       \n    \n\nentry main = g\n");
        assert_eq!(without(text, &[0, text.len()]), "         \ndef g =\n  ü\n\n              \n");
        assert_eq!(without(text, &[]), text);
    }
}
