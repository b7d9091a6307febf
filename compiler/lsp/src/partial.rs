//! Knowledge about a text that never had types, as of a file that is opened with mistakes in it.
//!
//! ```text
//! def twice (x: i64) : i64 = x * 2
//! def wrong (x: i64) : i64 = y             left out: it is wrong
//! entry main (x: i64) : i64 = wrong x      left out then: it calls what is left out
//! ```
//!
//! Omitted text becomes blanks, so that the rest stands where it stood.

use par::Options;
use par::analysis::Analysis;

/// How often something may be left out: each time the text is looked at once more.
const ATTEMPTS: usize = 4;

/// Looks at a text without the declarations that `first`, what is known about all of it, says to be wrong. None if
/// nothing with types is left.
pub fn analysis(
    text: &str,
    first: &Analysis,
    look: impl Fn(&str, &Options) -> Analysis,
    options: &Options,
) -> Option<Analysis> {
    let mut left = text.to_string();
    let mut wrong = places(first);
    for _ in 0..ATTEMPTS {
        let blanked = without(&left, &wrong);
        if blanked == left {
            return None;
        }
        left = blanked;
        let analysis = look(&left, options);
        if analysis.is_typed() {
            return Some(analysis);
        }
        wrong = places(&analysis);
    }
    None
}

/// Where the program's own file is wrong.
fn places(analysis: &Analysis) -> Vec<usize> {
    let spans = analysis.diagnostics.iter().filter_map(|d| d.labels.first()).map(|label| label.span);
    spans.filter(|span| span.file == analysis.file()).map(|span| span.start as usize).collect()
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
    use super::without;

    #[test]
    fn declarations_become_blanks() {
        let text = "def f = 1\ndef g =\n  ü\n\nentry main = g\n";
        assert_eq!(without(text, &[20]), "def f = 1\n       \n    \n\nentry main = g\n");
        assert_eq!(without(text, &[0, text.len()]), "         \ndef g =\n  ü\n\n              \n");
        assert_eq!(without(text, &[]), text);
    }
}
