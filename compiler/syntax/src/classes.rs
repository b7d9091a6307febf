//! Classes of the pieces of a text, for editors that colour it.

use crate::ast::Literal;
use crate::lexer::lex;
use crate::token::{KEYWORDS, Tok};
use std::ops::Range;

/// The kind of a piece of text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// A word of the language.
    Keyword,
    /// A number, `true`, `false`.
    Constant,
    /// A string or a character.
    Text,
    /// From `--` to the end of the line.
    Comment,
    /// `#name`.
    Constructor,
    /// `'t`.
    TypeParam,
    /// An opening bracket.
    Open,
    /// A closing bracket.
    Close,
    /// A name, qualified or not.
    Name,
    /// Anything else that is a token.
    Other,
}

/// The pieces of a text that are more than white space, in order. Works on every text, finished or not.
pub fn classify(text: &str) -> Vec<(Range<usize>, Class)> {
    let mut out = Vec::new();
    let mut end = 0;
    for (start, tok, stop) in lex(text, 0).tokens {
        comments(text, end..start, &mut out);
        out.push((start..stop, class(&tok)));
        end = stop;
    }
    comments(text, end..text.len(), &mut out);
    out
}

/// Between two tokens there are comments, and what the lexer could make nothing of.
fn comments(text: &str, gap: Range<usize>, out: &mut Vec<(Range<usize>, Class)>) {
    let mut at = gap.start;
    for line in text[gap].split_inclusive('\n') {
        if let Some(start) = line.find("--") {
            out.push((at + start..at + line.trim_end().len(), Class::Comment));
        }
        at += line.len();
    }
}

fn class(tok: &Tok) -> Class {
    match tok {
        Tok::Literal(literal) => match **literal {
            Literal::String(_) | Literal::Char(_) => Class::Text,
            _ => Class::Constant,
        },
        Tok::Constr(_) => Class::Constructor,
        Tok::TypeVar(_) => Class::TypeParam,
        Tok::Ident(_) | Tok::Qual(_) => Class::Name,
        Tok::RParen | Tok::RBracket | Tok::RBrace => Class::Close,
        tok if tok.opens_bracket() => Class::Open,
        tok if KEYWORDS.iter().any(|(_, keyword)| keyword == tok) => Class::Keyword,
        _ => Class::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_has_its_class() {
        let text = "def f 't (x: t) = [1, \"--\"] -- why\n#a";
        let found: Vec<(&str, Class)> = classify(text).into_iter().map(|(r, c)| (&text[r], c)).collect();
        use Class::*;
        let expected = [
            ("def", Keyword),
            ("f", Name),
            ("'t", TypeParam),
            ("(", Open),
            ("x", Name),
            (":", Other),
            ("t", Name),
            (")", Close),
            ("=", Other),
            ("[", Open),
            ("1", Constant),
            (",", Other),
            ("\"--\"", Text),
            ("]", Close),
            ("-- why", Comment),
            ("#a", Constructor),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn unfinished_texts_have_pieces_too() {
        for text in ["\"open", "f (", "'", "ä", "§ 1", "1..", "--", "?[n]", "a.", "`x"] {
            let pieces = classify(text);
            assert!(pieces.windows(2).all(|w| w[0].0.end <= w[1].0.start), "{text}");
            pieces.iter().for_each(|(range, _)| assert!(text.get(range.clone()).is_some(), "{text}"));
        }
    }
}
