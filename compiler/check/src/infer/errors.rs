//! Diagnostics that several places give, and the spelling help for unknown names.

use super::absent;
use super::types::{Clash, Class};
use par_runtime::Span;
use par_syntax::Diagnostic;
use par_syntax::ast::Name;

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
    if let Some(diag) = absent::value(name) {
        return diag;
    }
    let message = format!("unknown name `{}`", spelled(name));
    let diag = Diagnostic::error("E0201", message, name.span).here("not defined");
    if name.base == "/=" { diag.note("did you mean `!=`?") } else { suggest(diag, name, candidates) }
}

/// E0201 for a module.
pub(super) fn unknown_module(name: &Name) -> Diagnostic {
    Diagnostic::error("E0201", format!("unknown module `{}`", spelled(name)), name.span).here("not defined")
}

/// E0201 for a type.
pub(super) fn unknown_type(name: &Name, candidates: &[String]) -> Diagnostic {
    if let Some(diag) = absent::ty(name) {
        return diag;
    }
    let message = format!("unknown type `{}`", spelled(name));
    suggest(Diagnostic::error("E0201", message, name.span).here("not defined"), name, candidates)
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
        .here(format!("expected `{expected}`, found `{found}`"));
    explain(diag, clash)
}

/// Says more about the less obvious reasons.
pub(super) fn explain(diag: Diagnostic, clash: &Clash) -> Diagnostic {
    match clash {
        Clash::Infinite => diag.note("the type would have to contain itself"),
        Clash::Class(Class::Eq) => diag.note("functions cannot be compared"),
        _ => diag,
    }
}

/// Longer names are not compared with others.
const MAX_SUGGESTED: usize = 100;

/// Adds a note with the candidate that is closest in spelling, if one is close.
fn suggest(diag: Diagnostic, name: &Name, candidates: &[String]) -> Diagnostic {
    // Names of one or two letters are close to too many others, and very long ones to none.
    let length = name.base.chars().count();
    let limit = (length / 3).min(3);
    if length > MAX_SUGGESTED {
        return diag;
    }
    let close = candidates
        .iter()
        .filter(|c| **c != name.base && c.len() <= 2 * MAX_SUGGESTED && c.chars().any(char::is_alphanumeric))
        .map(|c| (distance(&name.base, c), c))
        .filter(|(d, _)| *d <= limit)
        .min();
    match close {
        Some((_, c)) => {
            let meant = Name { base: c.clone(), ..name.clone() };
            diag.note(format!("did you mean `{}`?", spelled(&meant)))
        }
        None => diag,
    }
}

/// Edit distance: insertions, deletions, substitutions and swaps of neighbours.
pub fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before_last = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let substitute = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = substitute.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before_last[j - 2] + 1);
            }
            row.push(best);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn edit_distance() {
        assert_eq!(distance("map", "map"), 0);
        assert_eq!(distance("mpa", "map"), 1);
        assert_eq!(distance("redcue", "reduce"), 1);
        assert_eq!(distance("", "ab"), 2);
        assert_eq!(distance("länge", "lange"), 1);
    }
}
