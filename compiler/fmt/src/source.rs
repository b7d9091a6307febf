//! The tokens of a text, each with what stands before it.

use par_syntax::pieces::{PieceKind, pieces};

/// A text taken apart.
pub struct Source<'a> {
    /// All tokens in order.
    pub tokens: Vec<Token<'a>>,
    /// The comments after the last token.
    pub rest: Vec<Comment<'a>>,
}

/// A token.
pub struct Token<'a> {
    /// Its text.
    pub text: &'a str,
    /// Offset of its first byte in the file.
    pub start: usize,
    /// A `[` that must stay where it is, directly after an operand.
    pub is_index: bool,
    /// The comments between the token before and this one.
    pub comments: Vec<Comment<'a>>,
    /// Line breaks between what stands before (a comment, a token) and this.
    pub breaks: usize,
    /// True if any white space or comment stands before it.
    pub spaced: bool,
}

/// A comment.
pub struct Comment<'a> {
    /// Its text with the dashes; white space at the end is kept only in test blocks.
    pub text: &'a str,
    /// Line breaks before it; none if it is at the end of a line of code.
    pub breaks: usize,
    /// Blanks before one at the end of a line.
    pub blanks: usize,
}

impl<'a> Source<'a> {
    /// Takes a text apart.
    pub fn new(text: &'a str) -> Source<'a> {
        let mut source = Source { tokens: Vec::new(), rest: Vec::new() };
        let (mut end, mut in_block) = (0, false);
        for piece in pieces(text) {
            let between = &text[end..piece.range.start];
            let breaks = between.matches('\n').count();
            let piece_text = &text[piece.range.clone()];
            if piece.kind == PieceKind::Comment {
                // A test block goes on in the comments on the lines that follow.
                in_block = (in_block && breaks == 1) || piece_text[2..].trim() == "==";
                let trimmed = if in_block { piece_text } else { piece_text.trim_end() };
                let blanks = between.chars().count().max(1);
                source.rest.push(Comment { text: trimmed, breaks, blanks });
            } else {
                source.tokens.push(Token {
                    text: piece_text,
                    start: piece.range.start,
                    is_index: piece.kind == PieceKind::IndexBracket,
                    comments: std::mem::take(&mut source.rest),
                    breaks,
                    spaced: !between.is_empty() || text[..piece.range.start].is_empty(),
                });
                in_block = false;
            }
            end = piece.range.end;
        }
        source
    }

    /// True if a line ends between the token before this one and this one.
    pub fn is_broken_before(&self, token: usize) -> bool {
        self.tokens.get(token).is_some_and(|t| t.breaks > 0 || !t.comments.is_empty())
    }

    /// The texts of all tokens and comments in order, and which are comments.
    pub fn everything(&self) -> Vec<(bool, &'a str)> {
        let mut out = Vec::new();
        for token in &self.tokens {
            out.extend(token.comments.iter().map(|c| (true, c.text)));
            out.push((false, token.text));
        }
        out.extend(self.rest.iter().map(|c| (true, c.text)));
        out
    }
}
