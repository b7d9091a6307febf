//! Files, lines and columns of spans.

use par_runtime::Span;
use par_syntax::Sources;
use serde::Serialize;

/// A place in a source.
#[derive(Clone, PartialEq, Eq, Debug, PartialOrd, Ord, Serialize)]
pub struct Location {
    /// Index of the file.
    #[serde(skip)]
    pub file: u32,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1, in characters.
    pub column: usize,
    /// The first word or so of what stands there.
    pub text: String,
}

/// Approximate limit on the characters of the source that are quoted.
const QUOTED: usize = 24;

impl Location {
    pub(super) fn of(span: Span, sources: &Sources) -> Location {
        let text = sources.files.get(span.file as usize).map_or("", |f| f.text.as_str());
        let before = text.get(..span.start as usize).unwrap_or("");
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        Location { file: span.file, line, column, text: quoted(sources.text(span)) }
    }
}

/// The beginning of a piece of source, on one line.
fn quoted(text: &str) -> String {
    let mut words = String::new();
    for word in text.split_whitespace() {
        let longer = words.chars().count() + word.chars().count() + 1;
        if !words.is_empty() && longer > QUOTED {
            return format!("{words} …");
        }
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
    }
    if words.chars().count() <= 2 * QUOTED {
        return words;
    }
    format!("{}…", words.chars().take(QUOTED).collect::<String>())
}
