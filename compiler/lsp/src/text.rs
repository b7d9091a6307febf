//! Places in a text: bytes here, lines and UTF-16 code units in the protocol.

use lsp_types::{Position, Range};
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

#[cfg(test)]
mod tests {
    use super::{offset, position};
    use lsp_types::Position;

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
