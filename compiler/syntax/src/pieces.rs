//! The text of a program as a formatter sees it: tokens and comments, nothing decoded, nothing left out.

use crate::lexer;
use crate::token::Tok;
use std::ops::Range;

/// Kind of a piece of text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PieceKind {
    /// From `--` to the end of the line.
    Comment,
    /// A `[` that directly follows an operand, and so must stay there: an index.
    IndexBracket,
    /// Any other token.
    Token,
}

/// A token or a comment with its byte range.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub struct Piece {
    pub kind: PieceKind,
    pub range: Range<usize>,
}

/// All tokens and comments in order; between them is white space, or what means nothing in the language.
pub fn pieces(text: &str) -> Vec<Piece> {
    let lexed = lexer::lex(text, 0);
    let tokens = lexed.tokens.iter().map(|(start, tok, end)| {
        let kind = if *tok == Tok::IndexBracket { PieceKind::IndexBracket } else { PieceKind::Token };
        Piece { kind, range: *start..*end }
    });
    let comments =
        lexed.comments.iter().map(|(start, end)| Piece { kind: PieceKind::Comment, range: *start..*end });
    let mut pieces: Vec<Piece> = tokens.chain(comments).collect();
    pieces.sort_by_key(|piece| piece.range.start);
    pieces
}
