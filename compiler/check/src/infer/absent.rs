//! Names of Futhark's prelude that Par does not have, so that a program that uses one is told which feature it is.

use par_syntax::Diagnostic;
use par_syntax::ast::Name;

/// The feature that a value stands for.
fn feature(name: &str) -> Option<&'static str> {
    Some(match name {
        "with_vjp" | "with_vjp_tape" => "derivatives given by hand",
        _ => return None,
    })
}

/// The diagnostic for an unknown value that is one of a missing feature.
pub(super) fn value(name: &Name) -> Option<Diagnostic> {
    let feature = feature(&name.base).filter(|_| name.path.is_empty())?;
    Some(Diagnostic::unsupported(format!("{feature} (`{}`)", name.base), name.span))
}
