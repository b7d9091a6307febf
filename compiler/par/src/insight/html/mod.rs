//! One self-contained page: the source with what became of each line beside it, the graph of operations, tables. Nothing
//! is loaded from elsewhere, and there is no script; colours follow the reader's choice of light or dark.
//!
//! - `source`: the lines and their operations.
//! - `graph`: operations and what flows between them, as a drawing.
//! - `tables`: operations by time, row lengths, checks.

mod graph;
mod source;
mod tables;

use super::Insight;
use super::text::{summary, totals};
use std::fmt::Write;

/// The page.
pub fn page(insight: &Insight) -> String {
    let name = insight.sources.files.iter().rev().find(|f| !f.is_library).map_or("", |f| f.name.as_str());
    let title = format!("{} in {}", insight.entry, name.rsplit('/').next().unwrap_or(name));
    let mut body = String::new();
    let _ = write!(body, "<header><h1>{}</h1>", escape(&title));
    match &insight.run {
        Some(run) => {
            let _ = write!(body, "<p>{}</p>", escape(&summary(run)));
            totals(run).iter().for_each(|line| body += &format!("<p class=\"dim\">{}</p>", escape(line)));
        }
        None => body.push_str(
            "<p class=\"dim\">As compiled. With an input also times, bytes and the lengths of rows.</p>",
        ),
    }
    body.push_str("</header>\n");
    body += &source::section(insight);
    body += &graph::section(insight);
    body += &tables::sections(insight);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n\
         <style>\n{}</style>\n</head>\n<body>\n{body}</body>\n</html>\n",
        escape(&title),
        include_str!("style.css")
    )
}

/// Text as HTML.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A link to an operation.
fn link(number: usize) -> String {
    format!("<a class=\"no\" href=\"#op{number}\">{number}</a>")
}
