//! Expressions in brackets with commas between them.

use super::run::{Mode, opens};
use super::{Layout, fill};
use crate::doc::{Break, BreakKind, Doc};
use par_syntax::ast::{Exp, IndexArg};

impl Layout<'_> {
    /// `[a, b]`, `(a, b)`, `{x = a, y}` and so on, up to a token; the expressions are its parts in order.
    pub(super) fn list(&mut self, end: usize, parts: &[&Exp]) -> Doc {
        let close = end.saturating_sub(1);
        let mut open = self.token();
        if self.has_leading_comma(close) && !self.is_broken() {
            open = Doc::Cat(vec![open, Doc::Space]);
        }
        self.enclosed(open, close, |layout| layout.items(close, parts))
    }

    /// True if a line begins with a comma of this list.
    fn has_leading_comma(&self, close: usize) -> bool {
        let mut depth = 0;
        (self.next..close).any(|i| {
            match self.text(i) {
                text if opens(text) => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                _ => {}
            }
            depth == 0 && self.text(i) == "," && self.source.is_broken_before(i)
        })
    }

    /// Items between brackets. A line that the author ended before a comma begins with it, left of the others.
    fn items(&mut self, close: usize, parts: &[&Exp]) -> Doc {
        let mut parts = parts.iter();
        let mut part = parts.next();
        let mut items: Vec<(Break, Vec<Doc>)> = vec![(Break::default(), Vec::new())];
        while self.next < close {
            let place = self.place(BreakKind::Soft);
            let after_comma = self.text(self.next - 1) == ",";
            let leads = self.at() == "," && self.is_broken();
            let blank = self.blank(Mode::Index);
            let doc = match part {
                Some(e) if self.next >= self.token_at(e.span.start) => {
                    part = parts.next();
                    self.exp(e)
                }
                _ => self.token(),
            };
            let last = items.len() - 1;
            if leads {
                items.push((Break { tight: true, outdent: 2, ..place }, vec![doc]));
            } else if after_comma && items[last].1.len() > 1 {
                items.push((place, vec![doc]));
            } else {
                if blank && !items[last].1.is_empty() {
                    items[last].1.push(Doc::Space);
                }
                items[last].1.push(doc);
            }
        }
        let mut items = items.into_iter().map(|(place, docs)| (place, Doc::Cat(docs)));
        match items.next() {
            None => Doc::Empty,
            Some((_, first)) => fill(first, items.collect()),
        }
    }
}

/// The expressions in an index.
pub fn index_parts<'e>(args: impl IntoIterator<Item = &'e IndexArg>) -> Vec<&'e Exp> {
    let mut parts = Vec::new();
    for arg in args {
        match arg {
            IndexArg::Index(e) => parts.push(e),
            IndexArg::Slice { start, end, stride, .. } => {
                parts.extend([start, end, stride].into_iter().flatten())
            }
        }
    }
    parts
}
