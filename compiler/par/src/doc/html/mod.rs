//! Documentation as a folder of static pages: one for every module of the library and for every given program, one for
//! every source, an index with all names, and a search that needs no server. Nothing is loaded from elsewhere.
//!
//! - `plan`: which pages there are, and where the page of a name is.
//! - `write`: pages of modules and the index.
//! - `markdown`: comments.
//! - `listing`: sources with numbered lines.

mod listing;
mod markdown;
mod plan;
mod write;

use crate::failure::Failure;
use crate::imports::{FileSystem, Loader};
use par_syntax::Severity;
use plan::Plan;

/// The pages of the library, of programs (given by name and text) and of what these import as files: path and content. An error is
/// a program that cannot be read.
pub fn site(programs: &[(String, String)]) -> Result<Vec<(String, String)>, Failure> {
    let (mut items, sources) = super::library();
    let (imports, files, diagnostics) = (&FileSystem, Vec::new(), Vec::new());
    let mut loader = Loader { imports, sources, files, diagnostics, open: Vec::new() };
    programs.iter().for_each(|(name, text)| loader.add_once(name, text));
    let Loader { sources, files, mut diagnostics, .. } = loader;
    diagnostics.retain(|d| d.severity >= Severity::Unsupported);
    if !diagnostics.is_empty() {
        return Err(Failure::Rejected { diagnostics, sources });
    }
    items.extend(super::items(&files, &sources));
    let plan = Plan::new(&items, &sources);
    let mut out = vec![
        ("style.css".to_string(), include_str!("style.css").to_string()),
        ("search.js".to_string(), include_str!("search.js").to_string()),
        ("names.js".to_string(), plan.names()),
        ("index.html".to_string(), plan.index()),
    ];
    out.extend(plan.pages.iter().map(|page| (page.file.clone(), plan.page(page))));
    out.extend(plan.listings.iter().map(|l| (l.file.clone(), plan.listing(l))));
    Ok(out)
}

/// Text as HTML.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(c),
        }
    }
    out
}
