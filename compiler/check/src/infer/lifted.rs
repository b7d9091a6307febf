//! Types that may have functions in them: arrays, branches, loops and plain type parameters take none.
//!
//! ```text
//! [\x -> x + 1]                            E0314, as are `if c then f else g` and `loop f = … do …`
//! def twice '^t (x: t) = [x, x]            E0314: `t` may be a type of functions
//! type step = i32 -> i32                   E0315: written `type^`
//! type row = []i32                         W0403, if asked for: written `type~`
//! ```

use super::Cx;
use super::scope::{Lifted, TypeId};
use super::types::{Class, any_part, has_writes};
use crate::thir::{Expr, Size, Ty};
use par_runtime::Span;
use par_syntax::diagnostic::{Diagnostic, Severity};

/// Note on the places in which functions may stand.
pub(super) const NOTE: &str = "arrays, branches and loops give no functions, and only type parameters like `'^t` stand for types with functions";

/// E0317 for an accumulator where there can be none.
pub(super) fn no_writes(what: &str, ty: &str, span: Span) -> Diagnostic {
    Diagnostic::error("E0317", format!("{what} an accumulator"), span)
        .here(format!("this is `{ty}`"))
        .note(NO_WRITES)
}

/// Note on the places in which accumulators may stand.
pub(super) const NO_WRITES: &str = "an accumulator is passed on to `write`, to functions, and through branches and loops; the function that was given it gives it back";

impl Cx<'_> {
    /// E0314 for a value that may have functions in it, where it is known only at run time which. Arrays hold [`Class::Data`],
    /// which has no accumulators either (E0317).
    pub(super) fn must_be_data(&mut self, e: &Expr, class: Class, what: &str) {
        if self.types.restrict(&e.ty, class).is_err() && !self.has_error_in(e.span) {
            let ty = self.types.resolve(&e.ty);
            if has_writes(&ty) && class == Class::Data {
                return self.diags.push(no_writes(&format!("{what} cannot hold"), &self.show(&ty), e.span));
            }
            let message = format!("{what} cannot be or hold a function");
            let diag = Diagnostic::error("E0314", message, e.span);
            self.diags.push(diag.here(format!("of type `{}`", self.show(&e.ty))).note(NOTE));
        }
    }

    /// E0314 for a written type with functions that stands where there may be none.
    pub(super) fn must_be_plain(&mut self, ty: &Ty, what: &str, span: Span) {
        if has_writes(ty) && !self.has_error_in(span) {
            return self.diags.push(no_writes(&format!("{what} cannot hold"), &self.show(ty), span));
        }
        if self.types.is_lifted(ty) && !self.has_error_in(span) {
            let message = format!("{what} cannot be or hold functions");
            let diag = Diagnostic::error("E0314", message, span);
            self.diags.push(diag.here(format!("this is `{}`", self.show(ty))).note(NOTE));
        }
    }

    /// E0315 for an abbreviation that does not say that its type has functions in it, W0403 for one of unknown sizes.
    pub(super) fn must_be_declared(&mut self, id: TypeId, ty: &Ty) {
        let def = &self.scopes.types[id.0 as usize];
        if def.lifted != Lifted::Functions && self.types.is_lifted(ty) && !self.has_error_in(def.span) {
            let message = format!("the type `{}` may have functions in it, but does not say so", def.name);
            let diag = Diagnostic::error("E0315", message, def.span).here("not declared as such a type");
            self.diags.push(diag.note(format!("write `type^ {} = …`", def.name)));
        } else if def.lifted == Lifted::No && hides_sizes(ty) {
            let message = format!("the type `{}` has sizes that it does not name", def.name);
            let diag = Diagnostic::new(Severity::Warning, "W0403", message, def.span);
            let diag = diag.here("values of this type may differ in size");
            self.diags
                .push(diag.note(format!("write `type~ {} = …`, or give it a size as a parameter", def.name)));
        }
    }
}

/// True if values of a type may differ in size.
pub(super) fn hides_sizes(ty: &Ty) -> bool {
    any_part(ty, &mut |t| matches!(t, Ty::Array(Size::Anon | Size::Own { .. }, _)))
}
