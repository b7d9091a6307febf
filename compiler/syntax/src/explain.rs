//! Turns the parser's errors into messages for people.

use lalrpop_util::ParseError;

use crate::actions::Context;
use crate::diagnostic::Diagnostic;
use crate::lexer::Spanned;
use crate::token::Tok;

/// The message for an error in these tokens.
pub(crate) fn explain(ctx: &Context<'_>, tokens: &[Spanned<'_>], error: ParseError<usize, Tok<'_>, ()>) -> Diagnostic {
    match error {
        ParseError::UnrecognizedToken { token: (start, tok, end), expected } => {
            Diagnostic::error("E0101", format!("unexpected {tok}"), ctx.span(start, end)).note(format!("{expected:?}"))
        }
        _ => Diagnostic::error("E0101", format!("unexpected end {}", tokens.len()), ctx.span(0, 0)),
    }
}
