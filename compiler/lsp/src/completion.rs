//! Names that may stand at a place.

use crate::text;
use lsp_types::{CompletionItem, CompletionItemKind, Position};
use par::analysis::Analysis;
use par::doc::{Item, Kind};

const KEYWORDS: [&str; 23] = [
    "def", "entry", "let", "in", "if", "then", "else", "loop", "for", "while", "do", "match", "case", "with",
    "type", "module", "import", "open", "local", "assert", "true", "false", "include",
];

/// The names that begin with what is written before the cursor. `source` is the present text; `analysis` may be of an
/// earlier one.
pub fn complete(source: &str, analysis: &Analysis, at: Position) -> Vec<CompletionItem> {
    let offset = text::offset(source, at);
    let before = &source[..offset as usize];
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '\'' | '.');
    let start =
        before.rfind(|c| !is_part(c)).map_or(0, |i| i + before[i..].chars().next().map_or(1, char::len_utf8));
    // `1..n`: the dots of a range end a word.
    let word = before[start..].rsplit("..").next().unwrap_or_default().trim_start_matches('.');
    let items = analysis.items();
    if let Some((module, _)) = word.rsplit_once('.') {
        return items.iter().filter(|i| i.module() == module).map(item).collect();
    }
    let locals = analysis.locals_at(offset).into_iter().map(|(name, ty)| CompletionItem {
        label: name,
        kind: Some(CompletionItemKind::VARIABLE),
        detail: Some(ty),
        // Before everything else.
        sort_text: Some("0".to_string()),
        ..Default::default()
    });
    let outer = items.iter().filter(|i| i.module().is_empty() && i.kind != Kind::Operator);
    let keywords = KEYWORDS.iter().map(|k| CompletionItem {
        label: (*k).to_string(),
        kind: Some(CompletionItemKind::KEYWORD),
        ..Default::default()
    });
    let mut all: Vec<CompletionItem> = locals.chain(outer.map(item)).chain(keywords).collect();
    all.retain(|c| c.label.starts_with(word));
    all
}

fn item(item: &Item) -> CompletionItem {
    CompletionItem {
        label: item.base().to_string(),
        kind: Some(match item.kind {
            Kind::Value | Kind::Entry => CompletionItemKind::FUNCTION,
            Kind::Type => CompletionItemKind::STRUCT,
            Kind::Module => CompletionItemKind::MODULE,
            Kind::ModuleType => CompletionItemKind::INTERFACE,
            Kind::Operator => CompletionItemKind::OPERATOR,
        }),
        detail: Some(item.signature.clone()),
        ..Default::default()
    }
}
