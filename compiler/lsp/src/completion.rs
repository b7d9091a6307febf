//! Names that may stand at a place, in the protocol's words.

use crate::text;
use lsp_types::{CompletionItem, CompletionItemKind, Position};
use par::analysis::{self, Analysis, Candidate, CandidateKind};
use par::doc::Kind;

/// The names that begin with what is written before the cursor. `source` is the present text; `analysis` may be of an
/// earlier one.
pub fn complete(source: &str, analysis: &Analysis, at: Position) -> Vec<CompletionItem> {
    let (_, candidates) = analysis::complete(source, analysis, text::offset(source, at));
    candidates.into_iter().map(item).collect()
}

fn item(candidate: Candidate) -> CompletionItem {
    // Local names come before everything else.
    let sort_text = (candidate.kind == CandidateKind::Local).then(|| "0".to_string());
    CompletionItem {
        label: candidate.name,
        kind: Some(match candidate.kind {
            CandidateKind::Local => CompletionItemKind::VARIABLE,
            CandidateKind::Keyword => CompletionItemKind::KEYWORD,
            CandidateKind::Declared(Kind::Value | Kind::Entry) => CompletionItemKind::FUNCTION,
            CandidateKind::Declared(Kind::Type) => CompletionItemKind::STRUCT,
            CandidateKind::Declared(Kind::Module) => CompletionItemKind::MODULE,
            CandidateKind::Declared(Kind::ModuleType) => CompletionItemKind::INTERFACE,
            CandidateKind::Declared(Kind::Operator) => CompletionItemKind::OPERATOR,
        }),
        detail: candidate.detail,
        sort_text,
        ..Default::default()
    }
}
