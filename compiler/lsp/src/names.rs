//! All places of a name: references and renaming.

use crate::diagnostics::text_of;
use crate::document::{Document, Open, url_of};
use crate::text;
use lsp_types::{Location, Position, Range, TextEdit, Url, WorkspaceEdit};
use par::analysis::{Analysis, Symbol};
use std::collections::HashMap;

/// The open files.
pub type Documents = HashMap<Url, Document>;

/// The places of what is named at a position, in all open files.
pub fn references(documents: &mut Documents, open: &Open, url: &Url, at: Position) -> Option<Vec<Location>> {
    let (symbol, mut found) = own(documents, open, url, at)?;
    if let Symbol::Definition { file, at: start } = &symbol {
        let urls: Vec<Url> = documents.keys().filter(|u| *u != url).cloned().collect();
        for other in urls {
            let (source, analysis) = documents.get_mut(&other)?.typed(&other, open);
            found.extend(places(&other, source, analysis, &symbol));
        }
        // The definition itself may be in a file that is not open.
        let (_, analysis) = documents.get_mut(url)?.typed(url, open);
        found.extend(definition(analysis, file, *start).filter(|l| !found.contains(l)));
    }
    Some(found)
}

/// The symbol at a position, and its places in that file.
fn own(documents: &mut Documents, open: &Open, url: &Url, at: Position) -> Option<(Symbol, Vec<Location>)> {
    let (source, analysis) = documents.get_mut(url)?.typed(url, open);
    let symbol = analysis.symbol(text::offset(source, at))?;
    let places = places(url, source, analysis, &symbol);
    Some((symbol, places))
}

fn places(url: &Url, source: &str, analysis: &Analysis, symbol: &Symbol) -> Vec<Location> {
    let location = |span| Location { uri: url.clone(), range: text::range(source, span) };
    analysis.uses(symbol).into_iter().map(location).collect()
}

fn definition(analysis: &Analysis, file: &str, at: u32) -> Option<Location> {
    let number = analysis.sources.files.iter().position(|f| f.name == file)? as u32;
    if number == analysis.file() {
        return None;
    }
    let source = text_of(&analysis.sources, number);
    let start = text::position(source, at);
    let length =
        source[at as usize..].chars().take_while(|c| c.is_alphanumeric() || "_'".contains(*c)).count();
    let end = Position { character: start.character + length as u32, ..start };
    Some(Location { uri: url_of(&analysis.sources, number)?, range: Range::new(start, end) })
}

/// The name at a position, if it may be changed.
pub fn renameable(documents: &mut Documents, open: &Open, url: &Url, at: Position) -> Result<Range, String> {
    let document = documents.get_mut(url).ok_or("this file is not open")?;
    let analysis =
        document.faultless(url, open).ok_or("names cannot be changed while the program has mistakes")?;
    let source = text_of(&analysis.sources, analysis.file());
    let offset = text::offset(source, at);
    let symbol = analysis.symbol(offset).ok_or("there is no name of a value here")?;
    match analysis.name_of(&symbol) {
        Some((name, true)) if name.starts_with(|c: char| c.is_alphabetic() || c == '_') => {}
        Some((name, true)) => return Err(format!("`{name}` is no word")),
        Some((name, false)) => return Err(format!("`{name}` is defined in another file")),
        None => return Err("there is no name of a value here".into()),
    }
    let spans = analysis.uses(&symbol);
    let here = spans.into_iter().find(|s| (s.start..=s.end).contains(&offset));
    here.map(|span| text::range(source, span)).ok_or_else(|| "there is no name of a value here".into())
}

/// Another name for what is named at a position, in all open files. Fails if the program would mean something else then.
pub fn rename(
    documents: &mut Documents,
    open: &Open,
    url: &Url,
    at: Position,
    name: &str,
) -> Result<WorkspaceEdit, String> {
    renameable(documents, open, url, at)?;
    is_word(name)?;
    let places = references(documents, open, url, at).unwrap_or_default();
    let mut changes: HashMap<Url, Vec<TextEdit>> = HashMap::new();
    for place in places {
        let edit = TextEdit { range: place.range, new_text: name.to_string() };
        changes.entry(place.uri).or_default().push(edit);
    }
    let own = changes.get(url).cloned().unwrap_or_default();
    let document = documents.get_mut(url).ok_or("this file is not open")?;
    stays_the_same(document, url, open, &own, name)?;
    Ok(WorkspaceEdit { changes: Some(changes), ..Default::default() })
}

fn is_word(name: &str) -> Result<(), String> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '\'';
    let begins = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
    match begins && name.chars().all(is_part) && !par_syntax_keyword(name) {
        true => Ok(()),
        false => Err(format!("`{name}` is no name")),
    }
}

fn par_syntax_keyword(name: &str) -> bool {
    use par_syntax::classes::{Class, classify};
    !matches!(classify(name).as_slice(), [(_, Class::Name)])
}

/// The places where the new name stands must be those where the old one stood, and nothing else may be called so there.
fn stays_the_same(
    document: &Document,
    url: &Url,
    open: &Open,
    edits: &[TextEdit],
    name: &str,
) -> Result<(), String> {
    let mut sorted = edits.to_vec();
    sorted.sort_by_key(|e| (e.range.start.line, e.range.start.character));
    let changed = sorted.iter().rev().fold(document.text.clone(), |source, edit| {
        let (a, b) = (text::offset(&source, edit.range.start), text::offset(&source, edit.range.end));
        format!("{}{name}{}", &source[..a as usize], &source[b as usize..])
    });
    let mut after = Document::new(changed, document.version);
    let source = after.text.clone();
    let taken = || format!("`{name}` means something else where this is used");
    let analysis = after.faultless(url, open).ok_or_else(taken)?;
    let first = sorted.first().ok_or_else(taken)?;
    let symbol = analysis.symbol(text::offset(&source, first.range.start)).ok_or_else(taken)?;
    match analysis.uses(&symbol).len() == edits.len() {
        true => Ok(()),
        false => Err(taken()),
    }
}
