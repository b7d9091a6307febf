//! Types, patterns, heads of definitions: sequences of tokens with brackets.

use super::{Layout, STEP, align, fill};
use crate::doc::{Break, BreakKind, Doc};

/// Kind of a sequence, where that decides about blanks and line breaks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A type, or a pattern.
    Plain,
    /// After `def`, outside brackets: parameters, and a type after a colon between blanks.
    Head,
    /// Between the brackets of an index: a colon without blanks.
    Index,
    /// Inside an attribute: arguments beside the name, as the author wrote them.
    Attr,
}

impl Layout<'_> {
    /// The tokens up to this one.
    pub(super) fn run(&mut self, end: usize, mode: Mode) -> Doc {
        let mut items: Vec<(Break, Vec<Doc>)> = Vec::new();
        let first = self.next;
        while self.next < end {
            let begins = self.next == first;
            let place = self.run_place(end, mode);
            let glued = !begins && place.tight;
            let doc = match self.at() {
                // The type of a result is one piece.
                ":" if mode == Mode::Head => {
                    Doc::Cat(vec![self.token(), Doc::Space, self.run(end, Mode::Plain)])
                }
                text if opens(text) => self.brackets(end, mode),
                _ => self.token(),
            };
            match items.last_mut() {
                Some((_, docs)) if glued => docs.push(doc),
                _ => items.push((place, vec![doc])),
            }
        }
        let mut items = items.into_iter().map(|(place, docs)| (place, Doc::Cat(docs)));
        match items.next() {
            None => Doc::Empty,
            Some((_, first)) => fill(first, items.collect()),
        }
    }

    /// Break between the token before and the next one.
    fn run_place(&self, end: usize, mode: Mode) -> Break {
        let (before, here) = (self.text(self.next.wrapping_sub(1)), self.at());
        let kind = match (before, here) {
            // Their text is all that is known of an attribute's arguments.
            _ if mode == Mode::Attr => BreakKind::Rigid,
            // What ends a head stays with it.
            (_, "=" | "->") if self.next + 1 == end => BreakKind::Rigid,
            (",", _) | (_, "->" | "|") => BreakKind::Soft,
            _ if mode == Mode::Head => BreakKind::Soft,
            _ => BreakKind::Rigid,
        };
        let tight = !self.blank(mode);
        Break { forced: !tight && self.is_broken(), tight, kind, ..Break::default() }
    }

    /// True if there is a blank between the token before and the next one. Where both mean something else (`t [n] a`, `[n]a`) or
    /// nobody knows better, as the author wrote it.
    pub(super) fn blank(&self, mode: Mode) -> bool {
        let Some(token) = self.source.tokens.get(self.next) else { return false };
        let (before, here) = (self.text(self.next.wrapping_sub(1)), token.text);
        match (before, here) {
            (b, _) if opens(b) => false,
            (_, ")" | "]" | "}" | ",") => false,
            (",", _) => true,
            (":", _) | (_, ":") if mode == Mode::Index => false,
            (":", _) => true,
            (_, ":") => mode == Mode::Head,
            ("=" | "->" | "|" | ":>", _) | (_, "=" | "->" | "|" | ":>") => true,
            ("\\" | "?" | ".", _) | (_, ".") => false,
            _ if mode == Mode::Head => true,
            _ if token.is_index => false,
            _ if mode == Mode::Attr => token.spaced,
            ("]" | "*", _) => token.spaced,
            (b, h) if is_word(b) && (is_word(h) || matches!(h, "(" | "{" | "[" | "#[" | "*")) => true,
            (")" | "}", h) if is_word(h) || h == "(" => true,
            _ => token.spaced,
        }
    }

    /// From an opening bracket to the one that closes it.
    fn brackets(&mut self, end: usize, outside: Mode) -> Doc {
        let close = self.closing(end);
        let is_index = self.source.tokens.get(self.next).is_some_and(|t| t.is_index);
        let mode = match self.at() {
            "#[" => Mode::Attr,
            _ if outside == Mode::Attr => Mode::Attr,
            _ if is_index => Mode::Index,
            _ => Mode::Plain,
        };
        let open = self.token();
        self.enclosed(open, close, |layout| layout.run(close, mode))
    }

    /// The token that closes the bracket here, or the end.
    fn closing(&self, end: usize) -> usize {
        let mut depth = 0;
        for i in self.next..end {
            match self.text(i) {
                text if opens(text) => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return i;
            }
        }
        end
    }

    /// An opening bracket, what is inside, and the bracket that closes it. If the author ended the line after the first,
    /// the inside is indented on lines of its own.
    pub(super) fn enclosed(&mut self, open: Doc, close: usize, inside: impl FnOnce(&mut Self) -> Doc) -> Doc {
        let block = self.next < close && self.is_broken();
        let inside = inside(self);
        let last = if self.is_broken() { Doc::Hard } else { Doc::Empty };
        let close = if self.next == close { self.closing_token() } else { Doc::Empty };
        if block {
            let inside = Doc::Nest(STEP, Box::new(Doc::Cat(vec![Doc::Hard, inside])));
            return Doc::Cat(vec![open, inside, last, close]);
        }
        align(Doc::Cat(vec![open, align(inside), last, close]))
    }
}

/// True if a closing bracket belongs to a token.
pub fn opens(text: &str) -> bool {
    matches!(text, "(" | "[" | "{" | ".(" | ".[" | "#[")
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '\'' | '"' | '#'))
}
