//! Definitions that are parsed when somebody looks into them.
//!
//! Most programs use little of the library. In formatted text the lines say where a definition begins and ends, so that [`parse_late`] parses
//! only what is around definitions, and notes where the rest of each stands:
//!
//! ```text
//! module i32 = {                               module i32 = {
//!   #[intrinsic]                                 #[intrinsic]
//!   def max (x: i32) (y: i32) : i32 = ???        def max = ???
//! }                                            }
//! ```

use crate::ast::{Dec, DecKind, Def, Definition, File, Ident, ModExp, Span};
use crate::diagnostic::Diagnostic;
use crate::parse::{parse, parse_definition};
use std::fmt;
use std::iter::Peekable;
use std::ops::{Deref, DerefMut, Range};
use std::sync::{Arc, OnceLock};
use std::vec::IntoIter;

/// Keyword of a definition.
const DEF: &str = "def ";
/// Placeholder for the rest of a definition.
const REST: &str = " = ???";

/// A definition that has not been parsed.
#[derive(Clone)]
pub(crate) struct Late {
    name: Ident,
    /// The text of its file.
    text: Arc<str>,
    /// Its place there, from the keyword on.
    span: Span,
}

impl Definition {
    /// Its name, for which nothing is parsed.
    pub fn name(&self) -> &Ident {
        self.late.as_ref().map_or_else(|| &self.name, |late| &late.name)
    }

    /// The definition itself.
    pub fn into_def(self) -> Def {
        let _: &Def = &self;
        *self.known.into_inner().expect("it has just been parsed")
    }

    fn of(late: Late) -> Definition {
        Definition { known: OnceLock::new(), late: Some(late) }
    }
}

impl From<Def> for Definition {
    fn from(def: Def) -> Definition {
        Definition { known: OnceLock::from(Box::new(def)), late: None }
    }
}

impl Deref for Definition {
    type Target = Def;

    fn deref(&self) -> &Def {
        self.known.get_or_init(|| {
            let parsed = self.late.as_ref().and_then(|late| parse_definition(&late.text, late.span));
            Box::new(parsed.expect("a file that is parsed late has no mistakes"))
        })
    }
}

impl DerefMut for Definition {
    fn deref_mut(&mut self) -> &mut Def {
        // Parsed first, if it has not been; what changes may be its name.
        let _: &Def = self;
        self.late = None;
        self.known.get_mut().expect("it has just been parsed")
    }
}

impl PartialEq for Definition {
    fn eq(&self, other: &Definition) -> bool {
        **self == **other
    }
}

impl fmt::Debug for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Parses a file in the form that the formatter gives it, and without mistakes: its definitions when they are needed.
pub fn parse_late(text: &Arc<str>, file: u32) -> (File, Vec<Diagnostic>) {
    let found = definitions(text);
    let (mut tree, diagnostics) = parse(&outline(text, &found), file);
    put_back(&mut tree.decs, &mut found.into_iter().peekable(), text);
    (tree, diagnostics)
}

/// The text with a placeholder and blanks for each definition; all else keeps its place.
fn outline(text: &str, found: &[Found]) -> String {
    let mut out = String::with_capacity(text.len());
    for Found { whole, rest } in found {
        out.push_str(&text[out.len()..*rest]);
        out.push_str(REST);
        out.extend(std::iter::repeat_n(' ', whole.end - out.len()));
    }
    out.push_str(&text[out.len()..]);
    out
}

/// The place of a definition.
struct Found {
    /// From the keyword on.
    whole: Range<usize>,
    /// Behind its name.
    rest: usize,
}

/// The definitions of a text in order, as its lines show them: each goes on as long as lines are indented more than its first one.
fn definitions(text: &str) -> Vec<Found> {
    let mut out: Vec<Found> = Vec::new();
    // The definition that is going on, and how far it is indented.
    let mut open: Option<(Range<usize>, usize)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let content = line.trim();
        let indent = line.len() - line.trim_start().len();
        match &mut open {
            _ if content.is_empty() => {}
            Some((whole, own)) if indent > *own => whole.end = at + line.trim_end().len(),
            _ => {
                out.extend(open.take().and_then(|(whole, _)| found(text, whole)));
                let whole = at + indent..at + line.trim_end().len();
                open = content.starts_with(DEF).then_some((whole, indent));
            }
        }
        at += line.len();
    }
    out.extend(open.and_then(|(whole, _)| found(text, whole)));
    out
}

/// None for a definition that is too short to be left for later.
fn found(text: &str, whole: Range<usize>) -> Option<Found> {
    let name = whole.start + DEF.len();
    let rest = name + text[name..whole.end].find(char::is_whitespace)?;
    (whole.end - rest >= REST.len()).then_some(Found { whole, rest })
}

/// Replaces placeholders by the definitions found; `found` begins with what is in these declarations.
fn put_back(decs: &mut [Dec], found: &mut Peekable<IntoIter<Found>>, text: &Arc<str>) {
    for dec in decs {
        match &mut dec.kind {
            DecKind::Def(def) => {
                let is_in = |f: &Found| {
                    dec.span.start as usize <= f.whole.start && f.whole.start < dec.span.end as usize
                };
                if let Some(Found { whole, .. }) = found.next_if(is_in) {
                    dec.span.end = whole.end as u32;
                    let span = Span { start: whole.start as u32, ..dec.span };
                    *def = Definition::of(Late { name: def.name.clone(), text: text.clone(), span });
                }
            }
            DecKind::Local(inner) => {
                put_back(std::slice::from_mut(inner), found, text);
                dec.span.end = inner.span.end;
            }
            DecKind::Module { body, .. } | DecKind::Open(body) => in_module(body, found, text),
            DecKind::Type { .. } | DecKind::ModuleType { .. } | DecKind::Import { .. } => {}
        }
    }
}

fn in_module(module: &mut ModExp, found: &mut Peekable<IntoIter<Found>>, text: &Arc<str>) {
    match module {
        ModExp::Struct(decs, _) => put_back(decs, found, text),
        ModExp::Ascribe(body, ..) | ModExp::Lambda(_, _, body, _) => in_module(body, found, text),
        ModExp::Apply(f, x, _) => [f, x].into_iter().for_each(|m| in_module(m, found, text)),
        ModExp::Name(_) | ModExp::Import(..) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "-- | One.\ndef one = 1\n\nmodule m = {\n  #[inline]\n  def twice 't (f: t -> t)\n            (x: t) : t =\n    f (f x)\n\n  \
        -- | Of both.\n  def (<+>) (x: i64) (y: i64) : i64 =\n    -- not one line\n    x + y\n  type t = i64\n}\n\nlocal\n-- | Seen here.\ndef \
        id 't (x: t) : t = x\nentry main = one m.<+> id 2\n";

    #[test]
    fn what_is_parsed_late_is_what_is_parsed_at_once() {
        let (late, diagnostics) = parse_late(&TEXT.into(), 3);
        assert_eq!(diagnostics, []);
        assert_eq!(definitions(TEXT).len(), 3, "`one` is too short");
        let (whole, _) = parse(TEXT, 3);
        assert_eq!(late, whole);
    }

    #[test]
    fn names_are_known_before() {
        let (late, _) = parse_late(&TEXT.into(), 0);
        let DecKind::Module { body: ModExp::Struct(decs, _), .. } = &late.decs[1].kind else { panic!() };
        let DecKind::Def(twice) = &decs[0].kind else { panic!() };
        assert_eq!((twice.name().name.as_str(), twice.known.get()), ("twice", None));
        assert_eq!((twice.params.len(), twice.known.get().is_some()), (2, true));
    }
}
