//! Writing what was found into the `output { … }` of a file.

use par_runtime::Value;
use par_runtime::io::text::print_value;
use std::collections::BTreeMap;
use std::ops::Range;

/// An output written in a file that is not what was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Mismatch {
    /// The bytes between the braces.
    pub range: Range<usize>,
    /// Values that were found.
    pub found: Vec<Value>,
}

/// Longer outputs have a line for each value.
const WIDTH: usize = 100;

/// The text with the outputs that were found; everything else stays as it is. Gives their number too. An output for
/// which back ends or entry points found different values stays as it is.
pub fn updated(text: &str, mismatches: &[Mismatch]) -> (String, usize) {
    let mut edits: BTreeMap<usize, (Range<usize>, Vec<String>)> = BTreeMap::new();
    let mut refused = Vec::new();
    for Mismatch { range, found } in mismatches {
        let values: Vec<String> = found.iter().map(print_value).collect();
        let known = edits.entry(range.start).or_insert_with(|| (range.clone(), values.clone()));
        if known.1 != values {
            refused.push(range.start);
        }
    }
    edits.retain(|start, _| !refused.contains(start));
    let (mut out, mut at) = (String::new(), 0);
    for (range, values) in edits.values() {
        out += &text[at..range.start];
        out += &output(text, range, values);
        at = range.end;
    }
    (out + &text[at..], edits.len())
}

fn output(text: &str, range: &Range<usize>, values: &[String]) -> String {
    let line = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
    let before = &text[line..range.start];
    let joined = values.join(" ");
    if values.len() < 2 || before.chars().count() + joined.chars().count() + 4 <= WIDTH {
        return format!(" {joined} ");
    }
    let column = before.chars().count().saturating_sub(before.find("--").unwrap_or(0) + 2) + 1;
    let indent = &before[..before.find("--").unwrap_or(0)];
    let ending =
        if text[range.start..].lines().next().is_some() && text.contains("\r\n") { "\r\n" } else { "\n" };
    format!(" {} ", values.join(&format!("{ending}{indent}--{}", " ".repeat(column))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use par_runtime::{Array, Scalar};

    fn mismatch(text: &str, nth: usize, x: i32) -> Mismatch {
        let start = text.match_indices("output {").nth(nth).map(|(at, _)| at + 8).unwrap();
        let end = start + text[start..].find('}').unwrap();
        Mismatch { range: start..end, found: vec![Value::scalar(Scalar::I32(x))] }
    }

    #[test]
    fn only_outputs_change() {
        let text = "-- ==\n-- input {1} output {2} -- {}\n--   input { 1 }\n-- output { 4 }\ndef é = 1";
        let (new, n) = updated(text, &[mismatch(text, 1, 7), mismatch(text, 0, 3), mismatch(text, 0, 3)]);
        assert_eq!(n, 2);
        assert_eq!(
            new,
            "-- ==\n-- input {1} output { 3i32 } -- {}\n--   input { 1 }\n-- output { 7i32 }\ndef é = 1"
        );
    }

    #[test]
    fn different_values_are_refused() {
        let text = "-- ==\n-- input {1} output {2}";
        assert_eq!(updated(text, &[mismatch(text, 0, 3), mismatch(text, 0, 4)]), (text.to_string(), 0));
    }

    #[test]
    fn long_outputs_have_lines() {
        let text = "-- ==\n-- input {1}\n-- output {2}";
        let row = Value::vector(Array::from_slice(&[1i32; 12]));
        let found = Mismatch { found: vec![row.clone(), row], ..mismatch(text, 0, 0) };
        let (new, _) = updated(text, &[found]);
        let lines: Vec<&str> = new.lines().collect();
        assert_eq!(lines.len(), 4);
        assert!(lines[3].starts_with("--          [1i32"), "{new}");
        assert!(lines[2].starts_with("-- output { [1i32"), "{new}");
    }
}
