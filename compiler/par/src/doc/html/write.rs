//! Pages of modules and the index.

use super::escape;
use super::plan::{Page, Plan, anchor};
use crate::doc::{Item, Kind};
use par_runtime::Prim;
use std::fmt::Write;

impl Plan<'_> {
    /// A document around a body; `root` leads to the top folder.
    pub(super) fn document(&self, title: &str, root: &str, body: &str) -> String {
        let title = escape(title);
        let nav = self.navigation(root);
        format!(
            "<!DOCTYPE html>
<html lang=\"en\">
<head>
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">
<meta name=\"color-scheme\" content=\"light dark\">
<title>{title} · Par</title>
<link rel=\"stylesheet\" href=\"{root}style.css\">
</head>
<body data-root=\"{root}\">
<nav aria-label=\"Modules\">
{nav}</nav>
<main>
{body}</main>
<script src=\"{root}names.js\"></script>
<script src=\"{root}search.js\"></script>
</body>
</html>
"
        )
    }

    fn navigation(&self, root: &str) -> String {
        let mut out = format!(
            "<a class=\"home\" href=\"{root}index.html\">Par library</a>\n<div id=\"search\"></div>\n"
        );
        for (heading, program) in [("Library", false), ("Programs", true)] {
            let pages: Vec<&Page> = self.pages.iter().filter(|p| p.program == program).collect();
            if pages.is_empty() {
                continue;
            }
            let _ = writeln!(out, "<h2>{heading}</h2>\n<ul>");
            for page in pages {
                let title = page.title.strip_prefix("Module ").unwrap_or(&page.title);
                let _ =
                    writeln!(out, "<li><a href=\"{root}{}\">{}</a></li>", escape(&page.file), escape(title));
            }
            out.push_str("</ul>\n");
        }
        out
    }

    /// The page of a module or program.
    pub(super) fn page(&self, page: &Page<'_>) -> String {
        let mut body = format!("<h1>{}</h1>\n", escape(&page.title));
        body.push_str(&self.markdown(&page.intro, "", ""));
        body.push_str("<p class=\"contents\">");
        for item in &page.items {
            let _ = write!(body, "<a href=\"#{}\">{}</a> ", anchor(&item.name), escape(shown(item, page)));
        }
        body.push_str("</p>\n");
        page.items.iter().for_each(|item| self.item(item, &mut body));
        self.document(&page.title, "", &body)
    }

    fn item(&self, item: &Item, out: &mut String) {
        let id = anchor(&item.name);
        let _ = writeln!(out, "<section id=\"{id}\">");
        let _ = write!(out, "<h2 class=\"signature\">{}{}", keyword(item.kind), self.signature(item));
        let _ = write!(out, "<span class=\"places\"><a href=\"#{id}\">link</a>");
        if let Some(place) = self.declared(item) {
            let _ = write!(out, " <a href=\"{}\">source</a>", escape(&place));
        }
        out.push_str("</span></h2>\n");
        out.push_str(&self.markdown(item.text.as_deref().unwrap_or(""), item.module(), ""));
        out.push_str("</section>\n");
    }

    /// A signature with the names in it linked, the item's own excepted.
    fn signature(&self, item: &Item) -> String {
        let mut out = String::new();
        let mut rest = item.signature.as_str();
        let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        while let Some(first) = rest.chars().next() {
            let end = rest.find(|c: char| is_name(c) != is_name(first)).unwrap_or(rest.len());
            let (token, after) = rest.split_at(end);
            // In `f32.i32 (x: i32)` the type is meant, not the function beside it.
            let module = if Prim::from_name(token).is_some() { "" } else { item.module() };
            let place = self.place_of(token, module).filter(|_| first.is_alphabetic());
            match place.filter(|_| is_type_position(item, rest, after)) {
                Some(place) => {
                    let _ = write!(out, "<a href=\"{}\">{}</a>", escape(place), escape(token));
                }
                None => out.push_str(&escape(token)),
            }
            rest = after;
        }
        out
    }

    /// The page with all names.
    pub(super) fn index(&self) -> String {
        let mut body = String::from(
            "<h1>Par library</h1>\n<p>The standard library of Par, an array language in which arrays of arrays of \
             different lengths are ordinary values.</p>\n",
        );
        for page in &self.pages {
            let _ = writeln!(
                body,
                "<h2><a href=\"{}\">{}</a></h2>\n<dl>",
                escape(&page.file),
                escape(&page.title)
            );
            for item in &page.items {
                let (name, place) = (escape(shown(item, page)), anchor(&item.name));
                let summary = self.markdown(&item.summary(), item.module(), "");
                let summary = summary.trim().trim_start_matches("<p>").trim_end_matches("</p>");
                let _ = writeln!(
                    body,
                    "<dt><a href=\"{}#{place}\">{name}</a></dt><dd>{summary}</dd>",
                    escape(&page.file)
                );
            }
            body.push_str("</dl>\n");
        }
        self.document("Library", "", &body)
    }

    /// Names for the search: name, place and summary of everything.
    pub(super) fn names(&self) -> String {
        let mut out = String::from("const NAMES = [\n");
        for page in &self.pages {
            for item in &page.items {
                let place = format!("{}#{}", page.file, anchor(&item.name));
                let _ = writeln!(out, "[{},{},{}],", text(&item.name), text(&place), text(&item.summary()));
            }
        }
        out.push_str("];\n");
        out
    }
}

fn keyword(kind: Kind) -> &'static str {
    match kind {
        Kind::Value => "<b>def</b> ",
        Kind::Entry => "<b>entry</b> ",
        _ => "",
    }
}

/// True if the name at the beginning of `rest` is one of a type or of a definition used in a size, and not the name of
/// the item, of a parameter (`x: t`) or a keyword of its declaration.
fn is_type_position(item: &Item, rest: &str, after: &str) -> bool {
    let at_start = rest.len() == item.signature.len();
    let declares =
        matches!(item.kind, Kind::Type | Kind::Module | Kind::ModuleType) && !item.signature.contains('=');
    !at_start && !declares && !after.trim_start().starts_with(':')
}

/// The name as it is shown on the item's own page.
fn shown<'a>(item: &'a Item, page: &Page<'_>) -> &'a str {
    if page.program { &item.name } else { item.base() }
}

/// A string in JavaScript that may stand in a script element too.
fn text(s: &str) -> String {
    let mut out = String::from("\"");
    for c in s.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '<' | '\u{2028}' | '\u{2029}' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
