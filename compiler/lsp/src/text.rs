//! Places in a text: bytes here, lines and UTF-16 code units in the protocol.

use lsp_types::{Position, Range, TextDocumentContentChangeEvent};
use par::Span;

/// The byte at a position. Behind the end of a line it is the end of the line, behind the last line the end of the text.
pub fn offset(text: &str, position: Position) -> u32 {
    let mut start = 0;
    for _ in 0..position.line {
        match text[start..].find('\n') {
            Some(at) => start += at + 1,
            None => return text.len() as u32,
        }
    }
    let line = text[start..].split('\n').next().unwrap_or("").trim_end_matches('\r');
    let mut units = 0;
    for (at, c) in line.char_indices() {
        if units >= position.character as usize {
            return (start + at) as u32;
        }
        units += c.len_utf16();
    }
    (start + line.len()) as u32
}

/// The position of a byte.
pub fn position(text: &str, offset: u32) -> Position {
    let mut end = (offset as usize).min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let before = &text[..end];
    let line = before.rsplit('\n').next().unwrap_or("");
    Position::new(before.matches('\n').count() as u32, line.encode_utf16().count() as u32)
}

/// The range of a span of that text.
pub fn range(text: &str, span: Span) -> Range {
    Range::new(position(text, span.start), position(text, span.end.max(span.start)))
}

/// The text after a change of a part of it, or of all of it.
pub fn changed(mut text: String, change: TextDocumentContentChangeEvent) -> String {
    let Some(part) = change.range else { return change.text };
    let (a, b) = (offset(&text, part.start) as usize, offset(&text, part.end) as usize);
    text.replace_range(a.min(b)..a.max(b), &change.text);
    text
}

#[cfg(test)]
mod tests {
    use super::{changed, offset, position};
    use lsp_types::{Position, Range, TextDocumentContentChangeEvent};

    #[test]
    fn parts_are_replaced_wherever_they_are() {
        let text = "a\u{1d465}b\r\nc\n";
        let part = |a, b, c, d| Some(Range::new(Position::new(a, b), Position::new(c, d)));
        for (range, new, after) in [
            (None, "x", "x"),
            (part(0, 1, 0, 3), "y", "ayb\r\nc\n"),
            (part(0, 3, 1, 0), "", "a\u{1d465}c\n"),
            (part(1, 1, 0, 4), "-", "a\u{1d465}b-\n"),
            (part(9, 9, 9, 9), "d", "a\u{1d465}b\r\nc\nd"),
        ] {
            let change = TextDocumentContentChangeEvent { range, range_length: None, text: new.to_string() };
            assert_eq!(changed(text.to_string(), change), after);
        }
    }

    #[test]
    fn positions_count_lines_and_code_units() {
        let text = "a\n\u{1d465}b\r\nc";
        for (at, line, character) in [(0, 0, 0), (1, 0, 1), (2, 1, 0), (6, 1, 2), (9, 2, 0), (10, 2, 1)] {
            assert_eq!(position(text, at), Position::new(line, character));
            assert_eq!(offset(text, Position::new(line, character)), at);
        }
        assert_eq!(offset(text, Position::new(1, 99)), 7);
        assert_eq!(offset(text, Position::new(7, 0)), 10);
        assert_eq!(position(text, 99), Position::new(2, 1));
    }
}
