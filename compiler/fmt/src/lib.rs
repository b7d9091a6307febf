//! Formats programs: the same tokens and comments in the same order, with other white space between them.
//!
//! ```text
//! text ─ parse ─> tree ─ layout ─> document ─ print ─> text
//!      └ pieces ─> tokens and comments ─┘
//! ```
//!
//! - `source`: the tokens with the comments and line breaks before them.
//! - `layout/`: the tree decides where lines may be broken and what is indented; the text of the document is the tokens
//!   themselves, so that nothing can get lost.
//! - `doc`: documents, and printing them within a width.
//!
//! A line that the author broke where it may be broken stays broken; other lines are broken only if they are too long. So
//! formatting twice changes nothing more, and rows of numbers, pipelines and arms stay as they were arranged.

mod doc;
mod layout;
mod source;

use par_syntax::Diagnostic;
use source::Source;

/// Stack for work on a document, in bytes.
const STACK: usize = 64 << 20;

/// Options of formatting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns that a line should not exceed. Comments and what cannot be broken may.
    pub width: usize,
}

impl Default for Style {
    fn default() -> Style {
        Style { width: 100 }
    }
}

/// Why a text was not formatted.
#[derive(Clone, Debug)]
pub enum Refusal {
    /// Text that is no program.
    Wrong(Vec<Diagnostic>),
    /// The formatter lost or changed something: a bug. Says what.
    Bug(String),
}

/// The formatted text of a program. Lines end as they do in the text: in CRLF if the first one does.
pub fn format(text: &str, style: Style) -> Result<String, Refusal> {
    let crlf = text.find('\n').is_some_and(|at| text[..at].ends_with('\r'));
    let unix = text.replace("\r\n", "\n");
    let mut out = format_once(unix.strip_prefix('\u{feff}').unwrap_or(&unix), style)?;
    // A line that was broken counts as broken by the author the next time, which may make room for other decisions. Lines
    // are only ever broken, never joined again, so this ends.
    loop {
        let next = format_once(&out, style)?;
        if next == out {
            return Ok(if crlf { out.replace('\n', "\r\n") } else { out });
        }
        out = next;
    }
}

fn format_once(text: &str, style: Style) -> Result<String, Refusal> {
    let (file, diagnostics) = par_syntax::parse(text, 0);
    if diagnostics.iter().any(|d| d.severity == par_syntax::Severity::Error) {
        return Err(Refusal::Wrong(diagnostics));
    }
    let source = Source::new(text);
    // Documents nest more deeply than the trees that they are made of.
    let out = stacker::grow(STACK, || doc::print(&source, &layout::file(&source, &file), style.width));
    check(&source, &Source::new(&out))?;
    Ok(out)
}

/// Checks that the same tokens and comments are there in the same order.
fn check(before: &Source, after: &Source) -> Result<(), Refusal> {
    let (old, new) = (before.everything(), after.everything());
    if old == new {
        return Ok(());
    }
    let at = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let show = |pieces: &[(bool, &str)]| pieces.get(at).map_or("the end".into(), |p| format!("`{}`", p.1));
    Err(Refusal::Bug(format!("{} became {}", show(&old), show(&new))))
}
