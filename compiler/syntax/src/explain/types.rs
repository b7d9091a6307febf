//! Types as other languages write them.

use super::look::ident;
use super::{Failure, Slip};
use crate::diagnostic::Diagnostic;
use crate::token::Tok;

/// In the order in which they are tried.
pub(super) const SLIPS: &[Slip] = &[
    element_in_brackets,
    angle_arguments,
    constructor_without_hash,
    record_type_equals,
    quoted_variable,
    fat_arrow,
    parameter_without_quote,
];

/// `[i32]`.
fn element_in_brackets(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let close = f.before.len().checked_sub(1)?;
    if f.back(0) != Some(&Tok::RBracket) || !f.in_type() || f.can_follow("if") {
        return None;
    }
    let open = f.opening(close)?;
    let name = f.spelled(open + 1);
    let known = crate::ast::Prim::from_name(name).is_some();
    let span = f.places(open, close);
    if known && close == open + 2 {
        let error = f.foreign(span, format!("an array of `{name}` has the type `[]{name}`"), "not like this");
        return Some(error.note(format!("with its size in the brackets: [n]{name}")));
    }
    let error = Diagnostic::error("E0101", "the type of the elements is missing", span);
    Some(error.here("expected a type after this").note("for example: []f32, [n][m]i64"))
}

/// `Array<i32>`.
fn angle_arguments(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    if !f.found_is(|t| *t == Tok::Less) || f.can_follow("op") || f.can_follow("<") {
        return None;
    }
    let at = f.before.len().checked_sub(1)?;
    let name = ident(&f.before[at].1)?;
    let error = f.foreign(f.up_to_here(at), "type arguments are written without brackets", "not like this");
    let list = ["array", "vector", "vec", "list", "seq", "slice"].contains(&name.to_lowercase().as_str());
    if f.before[..at].last().is_some_and(|(_, t, _)| *t == Tok::Type) {
        let first =
            f.ahead(0).map(|t| t.to_string().replace(['`', '\''], "")).filter(|_| f.ahead(0).is_some());
        let param = first.unwrap_or_default().split(' ').next_back().unwrap_or("t").to_string();
        return Some(error.note(format!("for example: type {name} '{param} = …")));
    }
    Some(match list {
        true => error.note("an array type is written []t, or [n]t with its size"),
        false => error.note(format!("arguments stand one after the other: {name} [n] t")),
    })
}

/// `(x: 'a)`.
fn quoted_variable(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let Some(Tok::TypeVar(text)) = &f.found else { return None };
    if text.ends_with('\'') || !f.in_type() {
        return None;
    }
    let name = text.trim_start_matches(['\'', '^', '~']);
    let error = f.foreign(f.span, "a type parameter is used without the quote", format!("write `{name}`"));
    Some(
        error.note(format!(
            "it is declared with it, before the other parameters: def f '{name} (x: {name}) …"
        )),
    )
}

/// `i32 => i32`.
fn fat_arrow(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let arrow = f.found_is(|t| super::look::is_op(t, "=>")) && f.can_follow("->");
    let function = arrow && !f.can_follow("op") && !f.case_head() && f.lambda_head().is_none();
    function.then(|| f.foreign(f.span, "the type of a function is written `a -> b`", "write `->`"))
}

/// `type maybe a = …`.
fn parameter_without_quote(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let start = f.find(|t| *t == Tok::Type)?;
    let Some(Tok::Ident(name)) = &f.found else { return None };
    let head = f.before.len() > start + 1 && !f.before[start..].iter().any(|(_, t, _)| *t == Tok::Equals);
    if !head || !f.can_follow("=") {
        return None;
    }
    let error = f.foreign(f.span, "a type parameter is declared with a quote", format!("write `'{name}`"));
    Some(error.note("for example: type pair 'a 'b = (a, b), with a size: type row [n] = [n]f32"))
}

/// `type color = red | green`.
fn constructor_without_hash(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let start = f.find(|t| *t == Tok::Type)?;
    let equals = f.before[start..].iter().position(|(_, t, _)| *t == Tok::Equals)? + start;
    let body = f.before[equals..].iter().all(|(_, t, _)| !t.begins_declaration());
    if !f.found_is(|t| *t == Tok::Bar) || !body {
        return None;
    }
    let name = ident(&f.before.get(equals + 1)?.1).filter(|_| f.before.len() == equals + 2);
    let span = if name.is_some() { f.place(equals + 1) } else { f.span };
    let error = f.foreign(
        span,
        "a constructor begins with `#`",
        match name {
            Some(name) => format!("write `#{name}`"),
            None => "the constructors are left and right of this".to_string(),
        },
    );
    Some(error.note("for example: type color = #red | #green | #other u8"))
}

/// `{a = i32}` as a type, `{a: 1}` as a value, and a comma that is missing between fields.
fn record_type_equals(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    if !f.inside(&Tok::LBrace) {
        return None;
    }
    let field = f.before.len().checked_sub(1)?;
    let name = ident(&f.before[field].1)?;
    let sign = f.found.as_ref().filter(|t| matches!(t, Tok::Equals | Tok::Colon))?;
    if field > 0 && !matches!(f.before[field - 1].1, Tok::LBrace | Tok::Comma) {
        let error = Diagnostic::error("E0101", "a comma is missing between two fields", f.place(field));
        return Some(error.here(format!("expected `,` before `{name}`")));
    }
    match sign {
        Tok::Equals if f.can_follow(":") && !f.can_follow("=") => {
            let error = f.foreign(f.span, "the type of a field stands after a `:`", "write `:`");
            Some(error.note("for example: {x: f32, y: f32}"))
        }
        Tok::Colon if f.can_follow("=") => {
            let error = f.foreign(f.span, "the value of a field stands after a `=`", "write `=`");
            Some(error.note("for example: {x = 1, y = 2}"))
        }
        _ => None,
    }
}
