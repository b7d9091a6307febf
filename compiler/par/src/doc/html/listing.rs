//! A source as a page with numbered lines that can be linked to.

use super::escape;
use super::plan::{Listing, Plan};
use std::fmt::Write;

impl Plan<'_> {
    /// The page of a source.
    pub(super) fn listing(&self, listing: &Listing<'_>) -> String {
        let mut body = format!("<h1>{}</h1>\n<pre class=\"listing\">", escape(listing.name));
        for (i, line) in listing.text.lines().enumerate() {
            let n = i + 1;
            let _ = write!(body, "<a id=\"L{n}\" href=\"#L{n}\">{n}</a>{}", highlighted(line));
            body.push('\n');
        }
        body.push_str("</pre>\n");
        self.document(listing.name, "../", &body)
    }
}

/// A line with its comment marked. Two hyphens inside a string literal are none.
fn highlighted(line: &str) -> String {
    let mut in_string = false;
    let mut escaped = false;
    for (i, c) in line.char_indices() {
        if !in_string && line[i..].starts_with("--") {
            let (code, comment) = line.split_at(i);
            return format!("{}<i>{}</i>", escape(code), escape(comment));
        }
        in_string ^= c == '"' && !escaped;
        escaped = in_string && c == '\\' && !escaped;
    }
    escape(line)
}
