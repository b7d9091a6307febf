//! Holes: `???` stands for an expression that is not written yet. Its type is inferred, and a warning (W0205) names it with
//! the local names that would fit. Whoever evaluates it gets an error at run time.

use super::types::erase;
use super::{Binding, Cx};
use crate::thir::Ty;
use par_runtime::Span;
use par_syntax::{Diagnostic, Severity};

/// As many names as a message lists.
const MAX_NAMES: usize = 5;

/// A hole whose type may not be known yet.
pub(super) struct Hole {
    pub(super) ty: Ty,
    pub(super) span: Span,
    /// The local names in scope, the newest first, with their types.
    pub(super) locals: Vec<(String, Ty)>,
}

impl Cx<'_> {
    /// The local names in scope that have one type, the newest first.
    pub(super) fn locals_in_scope(&self) -> Vec<(String, Ty)> {
        let typed = |(name, binding): (&str, &Binding)| match binding {
            Binding::Value { scheme, .. } if scheme.vars.is_empty() => {
                Some((name.to_string(), scheme.ty.clone()))
            }
            _ => None,
        };
        self.env.visible().into_iter().filter_map(typed).collect()
    }

    /// Reports the holes; their types are as known as they will be.
    pub(super) fn report_holes(&mut self) {
        for hole in std::mem::take(&mut self.component.holes) {
            let message = format!("a hole of type `{}`", self.show(&hole.ty));
            let diag = Diagnostic::new(Severity::Warning, "W0205", message, hole.span);
            let diag = diag.here("fails when it is evaluated");
            let names = self.fitting(&hole);
            self.diags.push(match names.is_empty() {
                true => diag,
                false => diag.note(format!("of this type there {}", listed(&names))),
            });
        }
    }

    /// The local names of exactly the type of a hole.
    fn fitting(&self, hole: &Hole) -> Vec<String> {
        let of = |ty: &Ty| erase(&self.types.resolve(ty));
        let wanted = of(&hole.ty);
        let fits = hole.locals.iter().filter(|(_, ty)| of(ty) == wanted);
        fits.map(|(name, _)| format!("`{name}`")).take(MAX_NAMES).collect()
    }
}

/// `is `x`` or `are `x`, `y``.
fn listed(names: &[String]) -> String {
    format!("{} {}", if names.len() == 1 { "is" } else { "are" }, names.join(", "))
}
