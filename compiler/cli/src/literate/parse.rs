//! A program's text as prose, code and directives.

/// A part of a page.
#[derive(PartialEq, Debug)]
pub enum Piece {
    /// Markdown.
    Prose(String),
    /// Lines of the program.
    Code(String),
    /// A directive's text, and its line.
    Directive { text: String, line: usize },
}

/// Kind of a line.
enum Line<'a> {
    Blank,
    /// A comment at the beginning of the line, without the marks.
    Comment(&'a str),
    Directive(&'a str),
    /// Start of a test block, which reaches to the end of its comment.
    Test,
    Code,
}

fn line(text: &str) -> Line<'_> {
    let Some(comment) = text.strip_prefix("--") else {
        return if text.trim().is_empty() { Line::Blank } else { Line::Code };
    };
    let inside = comment.strip_prefix(' ').unwrap_or(comment);
    if inside.trim() == "==" {
        return Line::Test;
    }
    match inside.strip_prefix('>') {
        Some(directive) => Line::Directive(directive.strip_prefix(' ').unwrap_or(directive)),
        // A documentation comment is prose as well.
        None => Line::Comment(inside.strip_prefix("| ").unwrap_or(inside)),
    }
}

/// The pieces of a program.
pub fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces = Pieces::default();
    let mut in_test = false;
    for (number, text) in text.lines().enumerate() {
        let line = line(text);
        in_test &= matches!(line, Line::Comment(_) | Line::Directive(_) | Line::Test);
        match line {
            Line::Test => in_test = true,
            _ if in_test => {}
            Line::Blank => pieces.blank(),
            Line::Comment(text) => pieces.prose(text),
            Line::Directive(text) => pieces.directive(text, number + 1),
            Line::Code => pieces.code(text),
        }
    }
    pieces.end();
    pieces.all
}

#[derive(Default)]
struct Pieces {
    all: Vec<Piece>,
    /// The piece that is being collected.
    open: Option<Piece>,
    /// A directive that needs more lines.
    unfinished: bool,
}

impl Pieces {
    fn end(&mut self) {
        self.unfinished = false;
        if let Some(mut piece) = self.open.take() {
            if let Piece::Prose(text) | Piece::Code(text) = &mut piece {
                *text = text.trim_end().trim_start_matches('\n').to_string();
            }
            self.all.push(piece);
        }
    }

    fn blank(&mut self) {
        match &mut self.open {
            Some(Piece::Prose(text) | Piece::Code(text)) => text.push('\n'),
            _ => self.end(),
        }
    }

    fn prose(&mut self, line: &str) {
        if !matches!(self.open, Some(Piece::Prose(_))) {
            self.end();
        }
        match &mut self.open {
            Some(Piece::Prose(text)) => *text += &format!("{line}\n"),
            _ => self.open = Some(Piece::Prose(format!("{line}\n"))),
        }
    }

    fn code(&mut self, line: &str) {
        if !matches!(self.open, Some(Piece::Code(_))) {
            self.end();
        }
        match &mut self.open {
            Some(Piece::Code(text)) => *text += &format!("{line}\n"),
            _ => self.open = Some(Piece::Code(format!("{line}\n"))),
        }
    }

    fn directive(&mut self, line: &str, number: usize) {
        if let (true, Some(Piece::Directive { text, .. })) = (self.unfinished, &mut self.open) {
            *text += &format!("\n{line}");
        } else {
            self.end();
            self.open = Some(Piece::Directive { text: line.to_string(), line: number });
        }
        if let Some(Piece::Directive { text, .. }) = &self.open {
            self.unfinished = par::session::is_unfinished(expression(text).1);
        }
    }
}

/// The command of a directive, if it has one, and what it is about.
pub fn expression(text: &str) -> (Option<&str>, &str) {
    match text.trim_start().strip_prefix(':') {
        Some(rest) => {
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            (Some(&rest[..end]), rest[end..].trim_start())
        }
        None => (None, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_code_and_directives() {
        let text = "-- # Title\n--\n-- prose\ndef f x = -- no prose\n  x\n\n-- | doc\n-- ==\n-- input { 1 }\n-- > no directive\n\
                    entry g = 1\n-- > f [1,\n-- >    2]\n-- > :plot f 1\n";
        let directive = |text: &str, line| Piece::Directive { text: text.into(), line };
        let expected = [
            Piece::Prose("# Title\n\nprose".into()),
            Piece::Code("def f x = -- no prose\n  x".into()),
            Piece::Prose("doc".into()),
            Piece::Code("entry g = 1".into()),
            directive("f [1,\n   2]", 12),
            directive(":plot f 1", 14),
        ];
        assert_eq!(pieces(text), expected);
        assert_eq!(expression(" :plot f 1"), (Some("plot"), "f 1"));
    }
}
