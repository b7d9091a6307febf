//! Comparison of results and messages with the expected ones.

use par_runtime::Value;
use par_runtime::io::compare::{Tolerance, differences};
use par_runtime::io::text::print_to;
use regex::Regex;
use std::fmt::{self, Write};

/// So many differences are listed.
const LISTED: usize = 10;

/// Compares results with what was expected; the error lists where they differ.
pub fn same_values(found: &[Value], expected: &[Value]) -> Result<(), String> {
    let mut lines = Vec::new();
    for (i, (expected, found_value)) in expected.iter().zip(found).enumerate() {
        let value = if found.len() > 1 { format!("value {} ", i + 1) } else { String::new() };
        // One more than is listed, to see whether there are more.
        for d in differences(expected, found_value, Tolerance::of, LISTED + 1)? {
            let place = if d.path.is_empty() { String::new() } else { format!("at {}", d.path) };
            let place = format!("{value}{place}");
            let colon = if place.is_empty() { "" } else { ": " };
            lines.push(format!("{}{colon}expected {}, found {}", place.trim_end(), d.left, d.right));
        }
    }
    if lines.is_empty() {
        return Ok(());
    }
    if lines.len() > LISTED {
        lines.truncate(LISTED);
        lines.push("… and more".into());
    }
    Err(format!("{}\nexpected: {}\nfound:    {}", lines.join("\n"), show_all(expected), show_all(found)))
}

/// Values, each shortened if it is long.
pub fn show_all(values: &[Value]) -> String {
    values.iter().map(show).collect::<Vec<_>>().join(" ")
}

/// A value, shortened if it is long.
pub fn show(value: &Value) -> String {
    let mut text = Short { text: String::new() };
    // It stops with an error where it is cut off.
    let complete = print_to(value, &mut text).is_ok();
    if complete { text.text } else { text.text + "…" }
}

/// Text up to a length.
struct Short {
    text: String,
}

impl Write for Short {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        const LONGEST: usize = 240;
        let room = LONGEST.saturating_sub(self.text.len());
        match s.char_indices().nth(room) {
            None => self.text.push_str(s),
            Some((at, _)) => {
                self.text.push_str(&s[..at]);
                return Err(fmt::Error);
            }
        }
        Ok(())
    }
}

/// Checks that a message is the expected one, all white space being alike: the regular expression matches somewhere in it, or
/// its text occurs as it stands (messages are full of brackets).
pub fn same_message(message: &str, pattern: &str) -> Result<(), String> {
    let words = |s: &str| s.split_whitespace().collect::<Vec<_>>().join(" ");
    let (message, pattern) = (words(message), words(pattern));
    if message.contains(&pattern) {
        return Ok(());
    }
    let expected = format!("expected: {pattern}\nfound:    {message}");
    match Regex::new(&pattern) {
        Ok(regex) if regex.is_match(&message) => Ok(()),
        Ok(_) => Err(expected),
        Err(e) => Err(format!("{expected}\nThe expected text is not a regular expression either: {e}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use par_runtime::io::text::read_values;
    use par_runtime::{Prim, ValueType};

    #[test]
    fn patterns() {
        assert!(same_message("index 7 is outside [0,5)", "outside [0,5)").is_ok());
        assert!(same_message("index 7 is\n outside", "index.*is outside").is_ok());
        assert!(same_message("index 7 is outside", r"^index \d+ is (in|out)side$").is_ok());
        assert!(same_message("index 7 is outside", "outside.*index").is_err());
        let error = same_message("index 7 is outside", "outside [0,").unwrap_err();
        assert!(error.contains("not a regular expression either"), "{error}");
    }

    #[test]
    fn differences_by_position() {
        let ty = ValueType::array(ValueType::ragged(ValueType::Prim(Prim::I32)));
        let value = |text: &str| read_values(text, std::slice::from_ref(&ty)).unwrap();
        let error = same_values(&value("[[1,2],[],[3]]"), &value("[[1,2],[7],[4]]")).unwrap_err();
        let lines: Vec<&str> = error.lines().collect();
        assert_eq!(
            lines[..2],
            ["at [1]: expected length 1, found length 0", "at [2][0]: expected 4i32, found 3i32"]
        );
        assert_eq!(lines[3], "found:    [[1i32, 2i32], [], [3i32]]");
        let many = |x: i32| value(&format!("[[{}]]", vec![x.to_string(); 500].join(",")));
        let error = same_values(&many(1), &many(2)).unwrap_err();
        assert_eq!(error.lines().nth(10), Some("… and more"));
        assert!(error.lines().all(|l| l.len() < 300), "{error}");
    }
}
