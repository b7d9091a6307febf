//! Answers about a place or a file.

use crate::diagnostics::text_of;
use crate::document::url_of;
use crate::text;
use lsp_types::{
    Hover, HoverContents, InlayHint, InlayHintKind, InlayHintLabel, Location, MarkupContent, MarkupKind,
    Position, Range, SymbolInformation, SymbolKind, TextEdit, Url,
};
use par::analysis::{Analysis, Named};
use par::doc::Kind;
use par_fmt::Style;

/// The type and the documentation of what is under the cursor.
pub fn hover(source: &str, analysis: &Analysis, at: Position) -> Option<Hover> {
    let named = analysis.at(text::offset(source, at))?;
    let mut value = format!("```par\n{}\n```", named.heading());
    let Named { text: written, span, .. } = named;
    if let Some(written) = written {
        value += &format!("\n\n{}", written.trim());
    }
    let contents = HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value });
    Some(Hover { contents, range: Some(text::range(source, span)) })
}

/// Location of the definition of what is under the cursor.
pub fn definition(url: &Url, source: &str, analysis: &Analysis, at: Position) -> Option<Location> {
    let span = analysis.at(text::offset(source, at))?.definition?;
    let own = span.file == analysis.file();
    let uri = if own { url.clone() } else { url_of(&analysis.sources, span.file)? };
    Some(Location { uri, range: text::range(text_of(&analysis.sources, span.file), span) })
}

/// The types that nobody has written, in a part of a file.
pub fn hints(source: &str, analysis: &Analysis, part: Range) -> Vec<InlayHint> {
    let inside = |p: &Position| (part.start..=part.end).contains(p);
    let hint = |h: par::analysis::Hint| InlayHint {
        position: text::position(source, h.at),
        label: InlayHintLabel::String(h.text),
        kind: Some(InlayHintKind::TYPE),
        text_edits: None,
        tooltip: None,
        padding_left: None,
        padding_right: None,
        data: None,
    };
    analysis.hints().into_iter().map(hint).filter(|h| inside(&h.position)).collect()
}

/// The declarations of a file.
#[allow(deprecated)] // A field of the protocol's type, which has no default.
pub fn symbols(url: &Url, analysis: &Analysis) -> Vec<SymbolInformation> {
    let own = analysis.items().into_iter().filter(|i| i.file == analysis.file() && i.line > 0);
    own.map(|item| {
        let at = Position::new(item.line as u32 - 1, 0);
        let container_name = (!item.module().is_empty()).then(|| item.module().to_string());
        SymbolInformation {
            kind: match item.kind {
                Kind::Entry | Kind::Value | Kind::Operator => SymbolKind::FUNCTION,
                Kind::Type => SymbolKind::STRUCT,
                Kind::Module => SymbolKind::MODULE,
                Kind::ModuleType => SymbolKind::INTERFACE,
            },
            name: item.base().to_string(),
            tags: None,
            deprecated: None,
            location: Location { uri: url.clone(), range: Range::new(at, at) },
            container_name,
        }
    })
    .collect()
}

/// The whole file formatted; nothing if it is, or if it cannot be read.
pub fn formatted(source: &str) -> Vec<TextEdit> {
    match par_fmt::format(source, Style::default()) {
        Ok(new) if new != source => {
            let end = text::position(source, source.len() as u32);
            vec![TextEdit { range: Range::new(Position::new(0, 0), end), new_text: new }]
        }
        _ => Vec::new(),
    }
}
