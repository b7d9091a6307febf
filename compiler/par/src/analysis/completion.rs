//! Names that may stand at a place.

use super::Analysis;
use crate::doc::{Item, Kind};

const KEYWORDS: [&str; 23] = [
    "def", "entry", "let", "in", "if", "then", "else", "loop", "for", "while", "do", "match", "case", "with",
    "type", "module", "import", "open", "local", "assert", "true", "false", "include",
];

/// A name that may stand at a place.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Without the module before it.
    pub name: String,
    /// The sort of name.
    pub kind: CandidateKind,
    /// Its type or signature; a keyword has none.
    pub detail: Option<String>,
}

/// Sort of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CandidateKind {
    /// Bound around the place.
    Local,
    /// Declared, here or in the library.
    Declared(Kind),
    /// A word of the language.
    Keyword,
}

/// The byte at which the name before `offset` begins, behind its module, and the names that begin with what is written of it. `source` is the present
/// text; `analysis` may be of an earlier one.
pub fn complete(source: &str, analysis: &Analysis, offset: u32) -> (u32, Vec<Candidate>) {
    let before = &source[..offset as usize];
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '\'' | '.');
    let start =
        before.rfind(|c| !is_part(c)).map_or(0, |i| i + before[i..].chars().next().map_or(1, char::len_utf8));
    // `1..n`: the dots of a range end a word.
    let word = before[start..].rsplit("..").next().unwrap_or_default().trim_start_matches('.');
    if let Some((module, name)) = word.rsplit_once('.') {
        let is_inside = |name: &str| name.strip_prefix(module).is_some_and(|rest| rest.starts_with('.'));
        let items = analysis.items_where(is_inside);
        let inside = items.iter().filter(|i| i.module() == module).map(candidate).collect();
        return (offset - name.len() as u32, inside);
    }
    let local = |(name, ty)| Candidate { name, kind: CandidateKind::Local, detail: Some(ty) };
    let items = analysis.items_where(|name| name.starts_with(word));
    let outer = items.iter().filter(|i| i.module().is_empty() && i.kind != Kind::Operator);
    let keywords = KEYWORDS.iter().map(|k| Candidate {
        name: (*k).to_string(),
        kind: CandidateKind::Keyword,
        detail: None,
    });
    let locals = analysis.locals_at(offset).into_iter().map(local);
    let mut all: Vec<Candidate> = locals.chain(outer.map(candidate)).chain(keywords).collect();
    all.retain(|c| c.name.starts_with(word));
    (offset - word.len() as u32, all)
}

fn candidate(item: &Item) -> Candidate {
    Candidate {
        name: item.base().to_string(),
        kind: CandidateKind::Declared(item.kind),
        detail: Some(item.signature.clone()),
    }
}
