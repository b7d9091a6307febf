//! Documentation as HTML.

use par::doc::html::site;
use par::explain;
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};
use serde_json::{Value, json};

/// A text in Markdown as HTML. It may be anybody's: raw HTML in it is shown as text, and links lead to pages only.
pub fn markdown(text: &str) -> String {
    let events = Parser::new_ext(text, Options::ENABLE_TABLES).map(|event| match event {
        Event::Html(raw) | Event::InlineHtml(raw) => Event::Text(raw),
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            let dest_url = if is_page(&dest_url) { dest_url } else { CowStr::Borrowed("") };
            Event::Start(Tag::Link { link_type, dest_url, title, id })
        }
        Event::Start(Tag::Image { .. }) | Event::End(TagEnd::Image) => Event::Text(CowStr::Borrowed("")),
        other => other,
    });
    let mut out = String::new();
    html::push_html(&mut out, events);
    out
}

/// True for an address on the web or of a document beside this one.
fn is_page(url: &str) -> bool {
    match url.split_once(':') {
        Some((scheme, _)) if !scheme.contains(['/', '#', '?']) => matches!(scheme, "http" | "https"),
        _ => true,
    }
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

#[cfg(test)]
mod tests {
    use super::markdown;

    #[test]
    fn nothing_in_a_comment_is_a_script() {
        let html = markdown("<b onclick=x>a</b> [b](javascript:x) [c](https://c) [d](d.md#e) ![f](data:g)");
        assert!(!html.contains("javascript") && !html.contains("<b") && !html.contains("<img"), "{html}");
        assert!(html.contains("href=\"https://c\"") && html.contains("href=\"d.md#e\""), "{html}");
    }
}
