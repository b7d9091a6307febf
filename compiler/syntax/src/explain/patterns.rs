//! Patterns as other languages write them.

use super::look::ident;
use super::{Failure, Slip};
use crate::diagnostic::Diagnostic;
use crate::token::Tok;

/// In the order in which they are tried.
pub(super) const SLIPS: &[Slip] = &[constructor_pattern, late_size, array_pattern, cons_pattern];

const NO_ARRAY_PATTERNS: &str = "an array has no patterns";
const ARRAY_PARTS: &str = "for example: if null xs then a else let x = xs[0] let rest = xs[1:] in b";

/// `case Some x -> e`, `case Some(x) -> e`, `case some x -> e`.
fn constructor_pattern(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let last = f.before.len().checked_sub(1).filter(|_| f.case_head())?;
    let name = ident(&f.before[last].1)?;
    let argument =
        f.found_is(|t| matches!(t, Tok::LParen | Tok::Ident(_) | Tok::Underscore | Tok::Literal(_)));
    argument.then(|| f.foreign(f.place(last), "a constructor begins with `#`", format!("write `#{name}`")))
}

/// `case [] -> e`, `let [a, b] = e`.
fn array_pattern(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let bracket = f.found_is(|t| matches!(t, Tok::LBracket | Tok::IndexBracket));
    let listed = f.found_is(|t| *t == Tok::Comma)
        && matches!(f.back(0), Some(Tok::Ident(_)))
        && matches!(f.back(1), Some(Tok::LBracket | Tok::IndexBracket))
        && matches!(f.back(2), Some(Tok::Let));
    if listed {
        let open = f.place(f.before.len() - 2);
        return Some(f.foreign(open, NO_ARRAY_PATTERNS, "not possible here").note(ARRAY_PARTS));
    }
    let sizes = matches!(f.back(0), Some(Tok::Let)) && matches!(f.ahead(0), Some(Tok::Ident(_)));
    if !bracket || sizes || !f.can_follow("_") || f.can_follow("if") {
        return None;
    }
    Some(f.foreign(f.span, NO_ARRAY_PATTERNS, "not possible here").note(ARRAY_PARTS))
}

/// `def f (x: t) [n] (y: [n]t) = e`.
fn late_size(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    f.head()?;
    let bracket = f.found_is(|t| matches!(t, Tok::LBracket | Tok::IndexBracket));
    let size = matches!((f.ahead(0), f.ahead(1)), (Some(Tok::Ident(_)), Some(Tok::RBracket)));
    if !bracket || !size || f.bracket().is_some() || !f.can_follow("_") {
        return None;
    }
    let error = f.foreign(f.span, "sizes and types stand before the parameters", "not here");
    Some(error.note("for example: def f [n] 't (k: i64) (xs: [n]t) = …"))
}

/// `case x :: rest -> e`, and `x :: xs` elsewhere.
fn cons_pattern(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let last = f.before.len().checked_sub(1)?;
    let doubled = f.found_is(|t| *t == Tok::Colon) && f.before[last].1 == Tok::Colon;
    if !doubled || f.before[last].2 != f.span.start as usize {
        return None;
    }
    let span = f.up_to_here(last);
    if f.case_head() {
        return Some(f.foreign(span, NO_ARRAY_PATTERNS, "not possible here").note(ARRAY_PARTS));
    }
    let error = f.foreign(span, "there is no `::` in Par", "not possible here");
    Some(error.note("one element before others is [x] ++ xs; a type follows one `:`"))
}
