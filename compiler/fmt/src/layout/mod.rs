//! From the tree to a document. Every function takes tokens from left to right, so that all of them come out in order,
//! and uses the tree only to know where parts begin and end.

mod decs;
mod exps;
mod lists;
mod run;

use crate::doc::{Break, BreakKind, Doc};
use crate::source::Source;
use par_syntax::ast::{File, Span};

/// Indentation of the inside of a construct, in columns.
const STEP: usize = 2;

/// The document of a file.
pub fn file(source: &Source, file: &File) -> Doc {
    let mut layout = Layout { source, next: 0 };
    let decs = layout.decs(&file.decs);
    let rest = layout.run(source.tokens.len(), run::Mode::Plain);
    Doc::Cat(vec![decs, rest])
}

struct Layout<'a> {
    source: &'a Source<'a>,
    /// The next token.
    next: usize,
}

impl Layout<'_> {
    /// The next token.
    fn token(&mut self) -> Doc {
        self.next += 1;
        Doc::Token(self.next - 1)
    }

    /// The text of the next token.
    fn at(&self) -> &str {
        self.text(self.next)
    }

    fn text(&self, token: usize) -> &str {
        self.source.tokens.get(token).map_or("", |t| t.text)
    }

    /// The first token at or after a place.
    fn token_at(&self, place: u32) -> usize {
        self.source.tokens.partition_point(|t| t.start < place as usize)
    }

    /// The first token that is not inside a part of the text.
    fn end_of(&self, span: Span) -> usize {
        self.token_at(span.end)
    }

    /// True if the author ended a line before the next token.
    fn is_broken(&self) -> bool {
        self.source.is_broken_before(self.next)
    }

    /// A place before the next token.
    fn place(&self, kind: BreakKind) -> Break {
        Break { forced: self.is_broken(), kind, ..Break::default() }
    }

    /// A head, and an item after it, which goes to the next line, indented, if the author put it there or it is too
    /// long.
    fn hang(&mut self, head: Doc, kind: BreakKind, item: impl FnOnce(&mut Self) -> Doc) -> Doc {
        let place = Break { nest: STEP, ..self.place(kind) };
        let item = item(self);
        fill(head, vec![(place, item)])
    }

    /// The next token, which closes what is indented.
    fn closing_token(&mut self) -> Doc {
        self.next += 1;
        Doc::Close(self.next - 1)
    }
}

/// Lines that begin inside begin where this does.
fn align(doc: Doc) -> Doc {
    Doc::Align(Box::new(doc))
}

fn fill(first: Doc, rest: Vec<(Break, Doc)>) -> Doc {
    if rest.is_empty() { first } else { Doc::Fill(Box::new(first), rest) }
}
