//! Diagnostics that several places give.

use super::foreign;
use super::types::{Clash, Class};
use par_runtime::Span;
use par_syntax::ast::Name;
use par_syntax::{Diagnostic, nearest};

/// A name as written, qualified.
pub(super) fn spelled(name: &Name) -> String {
    let mut out = String::new();
    for part in &name.path {
        out.push_str(part);
        out.push('.');
    }
    out + &name.base
}

/// E0201 for a value.
pub(super) fn unknown_name(name: &Name, candidates: &[String]) -> Diagnostic {
    let message = format!("unknown name `{}`", spelled(name));
    let diag = Diagnostic::error("E0201", message, name.span).here("not defined");
    match foreign::value(name) {
        Some(hint) => diag.note(hint),
        None => suggest(diag, name, candidates),
    }
}

/// E0701 for a module.
pub(super) fn unknown_module(name: &Name, candidates: &[String]) -> Diagnostic {
    let message = format!("unknown module `{}`", spelled(name));
    suggest(Diagnostic::error("E0701", message, name.span).here("not defined"), name, candidates)
}

/// E0701 for a module type.
pub(super) fn unknown_module_type(name: &Name, candidates: &[String]) -> Diagnostic {
    let message = format!("unknown module type `{}`", spelled(name));
    suggest(Diagnostic::error("E0701", message, name.span).here("not defined"), name, candidates)
}

/// E0201 for a type.
pub(super) fn unknown_type(name: &Name, candidates: &[String]) -> Diagnostic {
    let message = format!("unknown type `{}`", spelled(name));
    let diag = Diagnostic::error("E0201", message, name.span).here("not defined");
    match foreign::ty(&spelled(name)) {
        Some(hint) => diag.note(hint),
        None => suggest(diag, name, candidates),
    }
}

/// E0702: a parametric module where its result is needed.
pub(super) fn unapplied(span: Span) -> Diagnostic {
    Diagnostic::error("E0702", "this module needs an argument", span)
        .here("a parametric module, which has no members")
        .note("apply it, and give the result a name: `module m = f argument`")
}

/// E0202.
pub(super) fn duplicate(name: &str, first: Span, second: Span) -> Diagnostic {
    Diagnostic::error("E0202", format!("`{name}` is defined twice"), second)
        .here("defined again here")
        .label(first, "first defined here")
}

/// E0301 with what was wanted and what was found, as text.
pub(super) fn mismatch(clash: &Clash, expected: &str, found: &str, span: Span) -> Diagnostic {
    let diag = Diagnostic::error("E0301", "the types do not match", span)
        .here(format!("expected {expected}, found {found}"));
    explain(diag, clash)
}

/// Says more about the less obvious reasons.
pub(super) fn explain(diag: Diagnostic, clash: &Clash) -> Diagnostic {
    match clash {
        Clash::Infinite => diag.note("the type would have to contain itself"),
        Clash::Class(Class::Eq) => {
            diag.note("values with functions in them, or of hidden types, cannot be compared with `==`")
        }
        _ => diag,
    }
}

/// Adds a note with the candidate that is closest in spelling, if one is close.
fn suggest(diag: Diagnostic, name: &Name, candidates: &[String]) -> Diagnostic {
    match nearest(&name.base, candidates.iter().map(String::as_str)) {
        Some(close) => {
            let meant = Name { base: close.to_string(), ..name.clone() };
            diag.note(format!("did you mean `{}`?", spelled(&meant)))
        }
        None => diag,
    }
}
