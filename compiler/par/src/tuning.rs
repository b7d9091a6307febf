//! Measured thresholds of a program, as a file for people.
//!
//! ```text
//! # measured by `par tune rows.par`
//! rows.par:12:5 rows = 2048
//! rows.par:12:5 longest = 512
//! rows.par:30:1 calls = never
//! ```
//!
//! Every line names a place where versions are chosen, what is compared there, and from where on (`longest`: up to where) each row
//! or call is worked through by itself. Comments begin with `#`.

use par_passes::flatten::{Choice, Measure, Thresholds};
use par_syntax::Sources;
use std::fmt;

/// One line.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Entry {
    /// File, line and column.
    place: String,
    measure: Measure,
    threshold: i64,
}

/// The thresholds of a program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tuning {
    entries: Vec<Entry>,
}

/// Word for a threshold that nothing reaches.
const NEVER: &str = "never";

impl Tuning {
    /// Reads a file's text; the error says which line is wrong.
    pub fn parse(text: &str) -> Result<Tuning, String> {
        let lines = text.lines().map(str::trim).enumerate();
        let wanted = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let entry = |(i, line): (usize, &str)| {
            parse_entry(line).ok_or_else(|| {
                format!("line {}: `{line}` is not of the form `FILE:LINE:COLUMN calls|rows|longest|positions|iterations = NUMBER|never`", i + 1)
            })
        };
        wanted.map(entry).collect::<Result<_, _>>().map(|entries| Tuning { entries })
    }

    /// Tuning with these thresholds.
    pub fn new(thresholds: &Thresholds, sources: &Sources) -> Tuning {
        let entry = |(choice, threshold): (Choice, i64)| Entry {
            place: sources.place(choice.span),
            measure: choice.measure,
            threshold,
        };
        Tuning { entries: thresholds.iter().map(entry).collect() }
    }

    /// Measured threshold of a choice.
    pub(crate) fn threshold(&self, choice: Choice, sources: &Sources) -> Option<i64> {
        self.entries.iter().find(|e| e.is_of(choice, sources)).map(|e| e.threshold)
    }

    /// Fails with a message that names a line for which the program has no choice.
    pub(crate) fn check(&self, choices: &[Choice], sources: &Sources) -> Result<(), String> {
        let lost = self.entries.iter().find(|e| !choices.iter().any(|c| e.is_of(*c, sources)));
        let Some(Entry { place, measure, .. }) = lost else { return Ok(()) };
        let measure = measure.name();
        Err(format!(
            "the tuning file has `{measure}` for {place}, where no versions are chosen; the program has changed since: run `par tune` again"
        ))
    }
}

impl Entry {
    fn is_of(&self, choice: Choice, sources: &Sources) -> bool {
        choice.measure == self.measure && same_place(&sources.place(choice.span), &self.place)
    }
}

/// True if places are the same but for the folder of the file.
fn same_place(a: &str, b: &str) -> bool {
    let name = |place: &str| place.rsplit(['/', '\\']).next().unwrap_or_default().to_string();
    name(a) == name(b)
}

fn parse_entry(line: &str) -> Option<Entry> {
    let (left, threshold) = line.split_once('=')?;
    let (place, measure) = left.trim().rsplit_once(char::is_whitespace)?;
    let measure = Measure::ALL.into_iter().find(|m| m.name() == measure)?;
    let threshold = match threshold.trim() {
        NEVER => i64::MAX,
        number => number.parse().ok().filter(|n| *n >= 0)?,
    };
    Some(Entry { place: place.trim().to_string(), measure, threshold })
}

impl fmt::Display for Tuning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Entry { place, measure, threshold } in &self.entries {
            let threshold = if *threshold == i64::MAX { NEVER.to_string() } else { threshold.to_string() };
            writeln!(f, "{place} {} = {threshold}", measure.name())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_back() {
        let text = "a.par:1:2 rows = 10\na.par:1:2 longest = never\nb c.par:3:4 calls = 0\n";
        let tuning = Tuning::parse(&format!("# comment\n\n{text}")).expect("a tuning file");
        assert_eq!(tuning.to_string(), text);
    }

    #[test]
    fn mistakes_are_named() {
        for line in ["a.par:1:2 rows", "a.par:1:2 rows = -1", "a.par:1:2 width = 1", "rows = 1"] {
            let error = Tuning::parse(&format!("# x\n{line}")).expect_err(line);
            assert!(error.starts_with("line 2: "), "{error}");
        }
    }
}
