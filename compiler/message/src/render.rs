//! Diagnostics as text, with the source lines they are about. Errors of a running program are shown in the same
//! form: they have no code.

use std::collections::{BTreeSet, HashMap};
use std::fmt::{self, Display};

use ariadne::{Color, Config, IndexType, Label, Report, ReportKind};

use crate::diagnostic::{Diagnostic, Severity};
use crate::excerpt::Excerpt;
use crate::source::Sources;
use par_runtime::Span;

/// All diagnostics, one after the other, with a blank line after each.
pub fn render(diags: &[Diagnostic], sources: &Sources, color: bool) -> String {
    let parsed = sources.files.iter().map(|_| None).collect();
    let mut cache = Cache { sources, parsed, cut: HashMap::new() };
    diags.iter().map(|diag| one(diag, &mut cache, color) + "\n").collect()
}

fn one(diag: &Diagnostic, cache: &mut Cache<'_>, color: bool) -> String {
    let places: Vec<(Place, &str)> = diag
        .labels
        .iter()
        .filter_map(|label| Some((Place::new(label.span, cache.sources)?, label.text.as_str())))
        .collect();
    let Some((primary, _)) = places.first().cloned() else { return without_place(diag) };
    let position = cache.position(&primary);
    let places = cache.excerpts(places);
    let (primary, _) = &places[0];
    let config = Config::default().with_index_type(IndexType::Byte).with_color(color).with_tab_width(4);
    let mut report = Report::build(kind(diag.severity), primary.clone())
        .with_config(config)
        .with_message(printable(&diag.message));
    if !diag.code.is_empty() {
        report = report.with_code(&diag.code);
    }
    for (i, (place, text)) in places.iter().enumerate() {
        report = report.with_label(label(place, text, i == 0, diag.severity));
    }
    for note in &diag.notes {
        report = report.with_note(printable(note));
    }
    let mut out = Vec::new();
    let written = report.finish().write(&mut *cache, &mut out);
    cache.cut.clear();
    match written {
        Ok(()) => {
            let text = String::from_utf8_lossy(&out);
            finish_lines(&with_position(&text, &position), color)
        }
        Err(_) => without_place(diag),
    }
}

fn label(place: &Place, text: &str, primary: bool, severity: Severity) -> Label<Place> {
    let color = if primary { severity_color(severity) } else { Color::Blue };
    let label = Label::new(place.clone()).with_color(color).with_priority(i32::from(primary));
    // Places without a text are not shown at all.
    label.with_message(if text.is_empty() { "here".into() } else { printable(text) })
}

/// For errors of a program that has no source any more, or of none at all.
fn without_place(diag: &Diagnostic) -> String {
    let code = if diag.code.is_empty() { String::new() } else { format!("[{}] ", diag.code) };
    let mut text = format!("{code}{}: {}\n", severity_name(diag.severity), printable(&diag.message));
    for note in &diag.notes {
        text += &format!("  Note: {}\n", printable(note));
    }
    text
}

fn severity_name(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "Note",
        Severity::Warning => "Warning",
        Severity::Unsupported => "Unsupported",
        Severity::Error => "Error",
    }
}

fn severity_color(severity: Severity) -> Color {
    match severity {
        Severity::Note => Color::Cyan,
        Severity::Warning => Color::Yellow,
        Severity::Unsupported => Color::Magenta,
        Severity::Error => Color::Red,
    }
}

fn kind(severity: Severity) -> ReportKind<'static> {
    ReportKind::Custom(severity_name(severity), severity_color(severity))
}

/// Text that cannot change the state of a terminal; byte positions stay the same.
fn printable(text: &str) -> String {
    let visible = |c: char| match (c, c.len_utf8()) {
        ('\n' | '\r' | '\t', _) => c,
        (_, 1) if c.is_control() => '?',
        (_, _) if c.is_control() => '¿',
        _ => c,
    };
    text.chars().map(visible).collect()
}

/// Lines without the blanks at their ends, and without the colors that a custom kind of report always has.
fn finish_lines(text: &str, color: bool) -> String {
    let text = if color { text.to_string() } else { without_color(text) };
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// The text with the column of the primary place corrected: in a line that was cut it is another one.
fn with_position(text: &str, (line, column): &(String, usize)) -> String {
    let Some(at) = text.find(line.as_str()).map(|at| at + line.len()) else { return text.to_string() };
    let digits = text[at..].find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
    format!("{}{column}{}", &text[..at], &text[at + digits..])
}

/// Leaves out the sequences `ESC [ … m`.
fn without_color(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let plain = parts.next().unwrap_or("").to_string();
    parts.fold(plain, |plain, part| plain + part.split_once('m').map_or("", |(_, rest)| rest))
}

/// A range that certainly lies in a file, between characters, and covers one if there are any.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Place {
    file: usize,
    start: usize,
    end: usize,
}

impl Place {
    fn new(span: Span, sources: &Sources) -> Option<Place> {
        let file = span.file as usize;
        let text = &sources.files.get(file)?.text;
        let mut start = text.floor_char_boundary(span.start as usize);
        let mut end = text.floor_char_boundary((span.end as usize).max(start));
        if start == end {
            end = text.ceil_char_boundary((end + 1).min(text.len()));
        }
        if start >= text.trim_end().len() {
            // After the last line: point to its last character.
            let last = text.trim_end().char_indices().next_back();
            (start, end) = last.map_or((0, 0), |(at, c)| (at, at + c.len_utf8()));
        }
        Some(Place { file, start, end })
    }
}

impl ariadne::Span for Place {
    type SourceId = usize;

    fn source(&self) -> &usize {
        &self.file
    }

    fn start(&self) -> usize {
        self.start
    }

    fn end(&self) -> usize {
        self.end
    }
}

/// The sources, split into lines when they are first needed.
struct Cache<'a> {
    sources: &'a Sources,
    parsed: Vec<Option<ariadne::Source<String>>>,
    /// Files in which the present diagnostic is about very long lines, with these cut.
    cut: HashMap<usize, ariadne::Source<String>>,
}

impl Cache<'_> {
    /// File and line of a place, as they are written, and its column in characters from 1.
    fn position(&self, place: &Place) -> (String, usize) {
        let source = &self.sources.files[place.file];
        let before = &source.text[..place.start];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1;
        (format!("{}:{line}:", source.name), column)
    }

    /// The places after long lines were cut.
    fn excerpts<'t>(&mut self, mut places: Vec<(Place, &'t str)>) -> Vec<(Place, &'t str)> {
        let files: BTreeSet<usize> = places.iter().map(|(place, _)| place.file).collect();
        for file in files {
            let here = places.iter().map(|(p, _)| p).filter(|p| p.file == file);
            let ranges: Vec<_> = here.map(|p| p.start..p.end).collect();
            let Some(excerpt) = Excerpt::new(&self.sources.files[file].text, &ranges) else { continue };
            for (place, _) in places.iter_mut().filter(|(p, _)| p.file == file) {
                (place.start, place.end) = (excerpt.place(place.start), excerpt.place(place.end));
            }
            self.cut.insert(file, ariadne::Source::from(printable(&excerpt.text)));
        }
        places
    }
}

impl ariadne::Cache<usize> for Cache<'_> {
    type Storage = String;

    fn fetch(&mut self, id: &usize) -> Result<&ariadne::Source<String>, impl fmt::Debug> {
        if let Some(cut) = self.cut.get(id) {
            return Ok(cut);
        }
        let (Some(source), Some(parsed)) = (self.sources.files.get(*id), self.parsed.get_mut(*id)) else {
            return Err(format!("there is no file {id}"));
        };
        Ok(&*parsed.get_or_insert_with(|| ariadne::Source::from(printable(&source.text))))
    }

    fn display<'b>(&self, id: &'b usize) -> Option<impl Display + 'b> {
        self.sources.files.get(*id).map(|source| source.name.clone())
    }
}
