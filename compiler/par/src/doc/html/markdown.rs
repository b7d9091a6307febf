//! Comments as HTML: Markdown without raw HTML, names in code linked to their pages.

use super::escape;
use super::plan::Plan;
use pulldown_cmark::{CowStr, Event, Parser, html};

impl Plan<'_> {
    /// A comment as HTML. `module` is where unqualified names are looked up first, `root` leads to the top folder.
    pub(super) fn markdown(&self, text: &str, module: &str, root: &str) -> String {
        let events = Parser::new(text).map(|event| match event {
            Event::Html(raw) | Event::InlineHtml(raw) => Event::Text(raw),
            Event::Code(code) => self.code(&code, module, root),
            other => other,
        });
        let mut out = String::new();
        html::push_html(&mut out, events);
        out
    }

    fn code<'e>(&self, code: &str, module: &str, root: &str) -> Event<'e> {
        let text = format!("<code>{}</code>", escape(code));
        let linked = match self.place_of(code, module) {
            Some(place) => format!("<a href=\"{root}{}\">{text}</a>", escape(place)),
            None => text,
        };
        Event::InlineHtml(CowStr::from(linked))
    }

    /// The place of a name as it is understood in a module.
    pub(super) fn place_of(&self, name: &str, module: &str) -> Option<&String> {
        let qualified = format!("{module}.{name}");
        self.places.get(qualified.as_str()).or_else(|| self.places.get(name))
    }
}
