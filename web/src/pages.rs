//! Documentation as HTML.

use par::doc::html::site;
use par::explain;
use pulldown_cmark::{Event, Options, Parser, html};
use serde_json::{Value, json};

/// A text in Markdown as HTML. Raw HTML in it is shown as text, since it may be anybody's.
pub fn markdown(text: &str) -> String {
    let events = Parser::new_ext(text, Options::ENABLE_TABLES).map(|event| match event {
        Event::Html(raw) | Event::InlineHtml(raw) => Event::Text(raw),
        other => other,
    });
    let mut out = String::new();
    html::push_html(&mut out, events);
    out
}

/// The page of an error's code.
pub fn error(code: &str) -> Result<Value, String> {
    let page = explain::page(code).map_err(|_| format!("there is no page about `{code}`"))?;
    Ok(json!({ "code": page.code, "html": markdown(page.text) }))
}

/// The pages of the library and of errors: names and texts of files.
pub fn library() -> Result<Value, String> {
    let files = site(&[]).map_err(|failure| failure.render(false))?;
    let errors = explain::html().into_iter().map(|(name, text)| (format!("errors/{name}"), text));
    Ok(
        json!({ "files": files.into_iter().map(|(n, t)| (format!("library/{n}"), t)).chain(errors).collect::<Vec<_>>() }),
    )
}
