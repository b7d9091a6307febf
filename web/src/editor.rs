//! Answers for an editor.

use crate::{NAME, Playground, entries, places};
use par::analysis::{Candidate, CandidateKind, complete};
use par::doc::Kind;
use par::{Diagnostic, Severity, Sources, render};
use par_fmt::{Refusal, Style};
use serde_json::{Value, json};

impl Playground {
    fn look(&mut self, text: String) {
        if self.document.is_new() || self.document.text != text {
            self.document.change(text);
        }
    }

    /// Mistakes and warnings of a text, and its entry points.
    pub(crate) fn check(&mut self, text: String) -> Value {
        self.look(text);
        let analysis = self.document.analysis(NAME, self.files.clone());
        let (sources, file) = (&analysis.sources, analysis.file());
        let shown: Vec<Value> = analysis.diagnostics.iter().map(|d| diagnostic(d, sources, file)).collect();
        let is_wrong = analysis.diagnostics.iter().any(|d| d.severity >= Severity::Unsupported);
        let text = &sources.files[file as usize].text;
        let entries = if is_wrong { json!([]) } else { entries::of(analysis, text) };
        json!({ "diagnostics": shown, "entries": entries, "wrong": is_wrong })
    }

    /// Names that may stand at a place.
    pub(crate) fn complete(&mut self, text: String, at: usize) -> Value {
        self.look(text);
        let at = places::byte(&self.document.text, at);
        let present = self.document.text.clone();
        let (_, analysis) = self.document.typed(NAME, self.files.clone());
        let (from, candidates) = complete(&present, analysis, at);
        let items: Vec<Value> = candidates.iter().map(candidate).collect();
        json!({ "from": places::unit(&present, from), "items": items })
    }

    /// Type and documentation of what is at a place; null if there is nothing.
    pub(crate) fn hover(&mut self, text: String, at: usize) -> Value {
        self.look(text);
        let (source, analysis) = self.document.typed(NAME, self.files.clone());
        let named = analysis.at(places::byte(source, at));
        named.map_or(Value::Null, |named| {
            json!({
                "from": places::unit(source, named.span.start),
                "to": places::unit(source, named.span.end),
                "head": named.heading(),
                "html": named.text.as_deref().map(crate::pages::markdown),
            })
        })
    }
}

fn candidate(c: &Candidate) -> Value {
    let kind = match c.kind {
        CandidateKind::Local => "variable",
        CandidateKind::Keyword => "keyword",
        CandidateKind::Declared(Kind::Value | Kind::Entry | Kind::Operator) => "function",
        CandidateKind::Declared(Kind::Type) => "type",
        CandidateKind::Declared(Kind::Module | Kind::ModuleType) => "namespace",
    };
    json!({ "name": c.name, "kind": kind, "detail": c.detail })
}

/// A diagnostic; its places are those in the program's own file.
pub fn diagnostic(d: &Diagnostic, sources: &Sources, file: u32) -> Value {
    let own = |span: par::Span| {
        let text = sources.files.get(span.file as usize).map_or("", |f| &f.text);
        (span.file == file)
            .then(|| [places::unit(text, span.start), places::unit(text, span.end.max(span.start))])
    };
    let labels: Vec<Value> = d
        .labels
        .iter()
        .filter_map(|label| Some(json!({ "at": own(label.span)?, "text": label.text })))
        .collect();
    json!({
        "at": d.labels.first().and_then(|label| own(label.span)),
        "severity": match d.severity {
            Severity::Note => "info",
            Severity::Warning => "warning",
            Severity::Error | Severity::Unsupported => "error",
        },
        "code": d.code,
        "message": d.message,
        "labels": labels,
        "notes": d.notes,
        "rendered": render(std::slice::from_ref(d), sources, false),
    })
}

/// The text of a program in its standard form.
pub fn format(text: &str) -> Result<Value, String> {
    match par_fmt::format(text, Style::default()) {
        Ok(text) => Ok(json!({ "text": text })),
        Err(Refusal::Wrong(_)) => Err("a program with syntax errors cannot be formatted".into()),
        Err(Refusal::Bug(what)) => Err(format!("a bug of the formatter: {what}")),
    }
}

/// Diagnostics of a program that was not compiled.
pub fn of_failure(failure: &par::Failure) -> Value {
    match failure {
        par::Failure::Rejected { diagnostics, sources } => {
            let file = own_file(sources);
            diagnostics.iter().map(|d| diagnostic(d, sources, file)).collect()
        }
        other => json!([plain(&other.render(false))]),
    }
}

/// The program's own file, which is the last one.
pub fn own_file(sources: &Sources) -> u32 {
    sources.files.len().saturating_sub(1) as u32
}

/// A message about no place.
pub fn plain(message: &str) -> Value {
    json!({
        "at": null, "severity": "error", "code": "", "message": message, "labels": [], "notes": [],
        "rendered": format!("Error: {message}\n"),
    })
}
