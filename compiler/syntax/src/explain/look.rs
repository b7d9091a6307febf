//! Looking at the tokens around the place of an error.

use super::Failure;
use crate::ast::Span;
use crate::lexer::Spanned;
use crate::token::Tok;

/// The text of a plain name.
pub(super) fn ident<'a>(tok: &Tok<'a>) -> Option<&'a str> {
    if let Tok::Ident(name) = tok { Some(name) } else { None }
}

/// True if a token is this operator.
pub(super) fn is_op(tok: &Tok<'_>, base: &str) -> bool {
    matches!(tok, Tok::Op(name) if name.base == base && name.path.is_empty())
}

impl<'a> Failure<'_, 'a> {
    /// The token before the error, or further back.
    pub(super) fn back(&self, n: usize) -> Option<&Tok<'a>> {
        self.before.iter().rev().nth(n).map(|(_, tok, _)| tok)
    }

    /// The token after the one found, or further on.
    pub(super) fn ahead(&self, n: usize) -> Option<&Tok<'a>> {
        self.after.get(n).map(|(_, tok, _)| tok)
    }

    /// Span of a token before the error.
    pub(super) fn place(&self, index: usize) -> Span {
        self.before.get(index).map_or(self.span, |(start, _, end)| self.ctx.span(*start, *end))
    }

    /// From one token before the error to another.
    pub(super) fn places(&self, first: usize, last: usize) -> Span {
        crate::actions::join(self.place(first), self.place(last))
    }

    /// From a token before the error to the one found.
    pub(super) fn up_to_here(&self, first: usize) -> Span {
        crate::actions::join(self.place(first), self.span)
    }

    /// The last token before the error for which something holds.
    pub(super) fn find(&self, is_it: impl Fn(&Tok<'a>) -> bool) -> Option<usize> {
        self.before.iter().rposition(|(_, tok, _)| is_it(tok))
    }

    /// As [`Failure::find`], among the last few tokens.
    pub(super) fn find_near(&self, distance: usize, is_it: impl Fn(&Tok<'a>) -> bool) -> Option<usize> {
        self.find(is_it).filter(|i| self.before.len() - i <= distance)
    }

    /// True if the token found satisfies a condition.
    pub(super) fn found_is(&self, is_it: impl Fn(&Tok<'a>) -> bool) -> bool {
        self.found.as_ref().is_some_and(is_it)
    }

    /// True if only blanks stand before this place on its line.
    pub(super) fn begins_line(&self, at: usize) -> bool {
        let before = &self.ctx.text[..at];
        before.rsplit('\n').next().is_none_or(|line| line.trim().is_empty())
    }

    /// The first token of the line of a token before the error.
    pub(super) fn line_start(&self, index: usize) -> usize {
        (0..=index).rev().find(|i| self.begins_line(self.before[*i].0)).unwrap_or(0)
    }

    /// The innermost bracket that is open at the error.
    pub(super) fn bracket(&self) -> Option<usize> {
        let mut closed = 0;
        for (i, (_, tok, _)) in self.before.iter().enumerate().rev() {
            match tok {
                Tok::RParen | Tok::RBracket | Tok::RBrace => closed += 1,
                tok if tok.opens_bracket() && closed == 0 => return Some(i),
                tok if tok.opens_bracket() => closed -= 1,
                _ => {}
            }
        }
        None
    }

    /// True if the innermost bracket is this one.
    pub(super) fn inside(&self, open: &Tok<'_>) -> bool {
        self.bracket().is_some_and(|i| self.before[i].1 == *open)
    }

    /// The bracket that the token at this index closes.
    pub(super) fn opening(&self, close: usize) -> Option<usize> {
        let mut depth = 0;
        for (i, (_, tok, _)) in self.before[..=close].iter().enumerate().rev() {
            match tok {
                Tok::RParen | Tok::RBracket | Tok::RBrace => depth += 1,
                tok if tok.opens_bracket() => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Some(i);
            }
        }
        None
    }

    /// Index of the keyword of the definition whose head is being read.
    pub(super) fn head(&self) -> Option<usize> {
        let start = self.find(|t| matches!(t, Tok::Def | Tok::Entry))?;
        let body = self.before[start..].iter().any(|(_, tok, _)| *tok == Tok::Equals);
        (!body).then_some(start)
    }

    /// True if the pattern of a `case`, or its `->`, is being read.
    pub(super) fn case_head(&self) -> bool {
        let case = self.find(|t| *t == Tok::Case);
        case.is_some_and(|i| !self.before[i..].iter().any(|(_, t, _)| *t == Tok::Arrow))
    }

    /// The `\` whose parameters are being read.
    pub(super) fn lambda_head(&self) -> Option<usize> {
        let start = self.find(|t| *t == Tok::Backslash)?;
        (!self.before[start..].iter().any(|(_, t, _)| *t == Tok::Arrow)).then_some(start)
    }

    /// True if a type could stand here, or go on.
    pub(super) fn in_type(&self) -> bool {
        self.can_follow("?") || (self.can_follow("*") && !self.can_follow("op"))
    }

    /// True if the body of a definition could end here.
    pub(super) fn body_may_end(&self) -> bool {
        let body = self.find(|t| *t == Tok::Equals).is_some();
        self.after_expression() || self.can_follow("def") && body
    }

    /// True if a token before the error is on its line.
    pub(super) fn on_line_of(&self, index: usize) -> bool {
        let from = self.before[index].2;
        let to = (self.span.start as usize).max(from);
        self.ctx.text.get(from..to).is_some_and(|between| !between.contains('\n'))
    }

    /// The source text of a range.
    pub(super) fn text(&self, span: Span) -> &str {
        self.ctx.text.get(span.start as usize..span.end as usize).unwrap_or("")
    }

    /// The source text of a token before the error.
    pub(super) fn spelled(&self, index: usize) -> &str {
        self.text(self.place(index))
    }

    /// The tokens of the declaration up to the one found.
    pub(super) fn read(&self) -> &[Spanned<'a>] {
        self.before
    }
}
