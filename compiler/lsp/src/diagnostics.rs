//! Diagnostics in the protocol's words.

use crate::document::url_of;
use crate::text;
use lsp_types::{DiagnosticRelatedInformation, DiagnosticSeverity, Location, NumberOrString, Url};
use par::analysis::Analysis;
use par::{Diagnostic, Severity, Sources};
use std::collections::BTreeMap;

/// The diagnostics of a program by file; the program's own file is among them even if nothing is wrong in it.
pub fn by_file(url: &Url, analysis: &Analysis) -> BTreeMap<Url, Vec<lsp_types::Diagnostic>> {
    let mut files = BTreeMap::from([(url.clone(), Vec::new())]);
    for diagnostic in &analysis.diagnostics {
        let file = diagnostic.labels.first().map_or(analysis.file(), |l| l.span.file);
        let at = if file == analysis.file() { Some(url.clone()) } else { url_of(&analysis.sources, file) };
        let shown = shown(diagnostic, url, analysis);
        files.entry(at.unwrap_or_else(|| url.clone())).or_default().push(shown);
    }
    files
}

fn shown(d: &Diagnostic, url: &Url, analysis: &Analysis) -> lsp_types::Diagnostic {
    let sources = &analysis.sources;
    let first = d.labels.first();
    let mut message = d.message.clone();
    for more in first.map(|l| &l.text).into_iter().filter(|t| !t.is_empty()).chain(&d.notes) {
        message += &format!("\n{more}");
    }
    let location = |file, range| {
        let uri = if file == analysis.file() { url.clone() } else { url_of(sources, file)? };
        Some(Location { uri, range })
    };
    let related = d.labels.iter().skip(1).filter_map(|l| {
        let location = location(l.span.file, text::range(text_of(sources, l.span.file), l.span))?;
        Some(DiagnosticRelatedInformation { location, message: l.text.clone() })
    });
    let related: Vec<_> = related.collect();
    lsp_types::Diagnostic {
        range: first.map(|l| text::range(text_of(sources, l.span.file), l.span)).unwrap_or_default(),
        severity: Some(match d.severity {
            Severity::Error | Severity::Unsupported => DiagnosticSeverity::ERROR,
            Severity::Warning => DiagnosticSeverity::WARNING,
            Severity::Note => DiagnosticSeverity::INFORMATION,
        }),
        code: (!d.code.is_empty()).then(|| NumberOrString::String(d.code.clone())),
        source: Some("par".to_string()),
        message,
        related_information: (!related.is_empty()).then_some(related),
        ..Default::default()
    }
}

/// The text of a source.
pub fn text_of(sources: &Sources, file: u32) -> &str {
    sources.files.get(file as usize).map_or("", |f| &f.text)
}
