//! Examples in documentation comments.
//!
//! ```text
//! Example: `rotate 1 [1, 2, 3]` is `[2, 3, 1]` and `rotate (-1) [1, 2, 3]` is `[3, 1, 2]`.
//! ```

/// An expression and its value, in the notation of value text.
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Example {
    /// In source syntax.
    pub expression: String,
    /// Its value.
    pub value: String,
}

/// The examples of a comment; an error is a paragraph that begins as one but cannot be read.
pub fn examples(text: &str) -> Result<Vec<Example>, String> {
    let mut out = Vec::new();
    for paragraph in text.split("\n\n").flat_map(|p| p.split("\n\r\n")) {
        let Some(rest) = paragraph.trim().strip_prefix("Example:") else { continue };
        let joined = rest.split_whitespace().collect::<Vec<_>>().join(" ");
        read(&joined, &mut out).ok_or_else(|| format!("this example cannot be read: {joined}"))?;
    }
    Ok(out)
}

fn read(text: &str, out: &mut Vec<Example>) -> Option<()> {
    let mut rest = text;
    loop {
        let (expression, after) = quoted(rest)?;
        let (value, after) = quoted(after.strip_prefix(" is ")?)?;
        out.push(Example { expression: expression.to_string(), value: value.to_string() });
        rest = match after.strip_prefix(" and ").or_else(|| after.strip_prefix(", ")) {
            Some(more) => more.strip_prefix("and ").unwrap_or(more),
            None => return (after == ".").then_some(()),
        };
    }
}

/// Text in backticks at the beginning, and the rest.
fn quoted(text: &str) -> Option<(&str, &str)> {
    text.trim_start().strip_prefix('`')?.split_once('`')
}
