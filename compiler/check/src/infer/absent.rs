//! Names of Futhark's prelude that Par does not have, so that a program that uses one is told which feature it is.

use par_syntax::Diagnostic;
use par_syntax::ast::Name;

/// The feature that a value stands for.
fn feature(name: &str) -> Option<&'static str> {
    Some(match name {
        "jvp" | "jvp2" | "vjp" | "vjp2" | "jmp" | "jmp2" | "mjp" | "mjp2" | "with_vjp" | "with_vjp_tape" => {
            "automatic differentiation"
        }
        "scatter_stream" | "reduce_by_index_stream" | "with_acc" => "accumulators",
        "map_stream" | "map_stream_per" | "reduce_stream" | "reduce_stream_per" | "stream_map"
        | "stream_red" => "streaming operators",
        _ => return None,
    })
}

/// True if an error only says that an accumulator cannot be written to, in a program that is told of accumulators.
pub(super) fn follows(diag: &Diagnostic, all: &[Diagnostic]) -> bool {
    diag.message == "unknown name `write`" && all.iter().any(|d| d.message.contains("accumulators"))
}

/// The diagnostic for an unknown value that is one of a missing feature.
pub(super) fn value(name: &Name) -> Option<Diagnostic> {
    let feature = feature(&name.base).filter(|_| name.path.is_empty())?;
    Some(Diagnostic::unsupported(format!("{feature} (`{}`)", name.base), name.span))
}

/// The same for a type: `acc t`.
pub(super) fn ty(name: &Name) -> Option<Diagnostic> {
    let is_acc = name.path.is_empty() && name.base == "acc";
    is_acc.then(|| Diagnostic::unsupported("accumulators (`acc`)", name.span))
}
