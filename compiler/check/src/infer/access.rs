//! Indexing, slices, fields.

use super::Cx;
use super::types::{PrimSet, array};
use crate::thir::{Expr, ExprKind, IndexArg, Ty};
use par_runtime::Span;
use par_syntax::Diagnostic;
use par_syntax::ast::{self, Exp, Ident};

impl Cx<'_> {
    /// `a[i, j:k]`.
    pub(super) fn index(&mut self, value: Expr, index: &[ast::IndexArg], span: Span) -> Expr {
        let before = self.diags.len();
        let index = self.index_args(index);
        let written = self.diags.len();
        let ty = self.indexed_type(&value, &index);
        // Of what has no indices, those given do not matter.
        if self.diags.len() > written && self.diags[written].message.ends_with("cannot be indexed") {
            self.diags.drain(before..written);
        }
        Expr { kind: ExprKind::Index(Box::new(value), index), ty, span }
    }

    pub(super) fn index_args<'e>(
        &mut self,
        index: impl IntoIterator<Item = &'e ast::IndexArg>,
    ) -> Vec<IndexArg> {
        let mut out = Vec::new();
        for arg in index {
            out.push(match arg {
                ast::IndexArg::Index(e) => IndexArg::Index(self.position(PrimSet::integers(), e)),
                ast::IndexArg::Slice { start, end, stride, span } => {
                    let mut part = |e: &Option<Exp>| e.as_ref().map(|e| self.position(PrimSet::bounds(), e));
                    let (start, end, stride) = (part(start), part(end), part(stride));
                    IndexArg::Slice { start, end, stride, span: *span }
                }
            });
        }
        out
    }

    fn position(&mut self, set: PrimSet, e: &Exp) -> Expr {
        let e = self.exp(e);
        self.integer_of(set, &e, "an index must be an integer");
        e
    }

    /// The type of what indices select: an index takes a dimension away, a slice keeps it.
    pub(super) fn indexed_type(&mut self, value: &Expr, index: &[IndexArg]) -> Ty {
        let mut ty = value.ty.clone();
        let mut kept = 0;
        let (parts, record) = match self.types.shallow(&ty) {
            Ty::Tuple(_) => (true, false),
            Ty::Record(_) => (false, true),
            _ => (false, false),
        };
        for (i, arg) in index.iter().enumerate() {
            if self.types.is_poison(&ty) {
                return ty;
            }
            let element = self.types.data();
            if self.types.unify(&array(element.clone()), &ty).is_ok() {
                kept += usize::from(matches!(arg, IndexArg::Slice { .. }));
                ty = element;
                continue;
            }
            let whole = self.show(&value.ty);
            self.agree(&array(element), &ty, |_, _, _| {
                let message = match i {
                    0 => format!("a value of type `{whole}` cannot be indexed"),
                    n => format!(
                        "{} indices for a value of type `{whole}`, which has {n} dimension{}",
                        index.len(),
                        if n == 1 { "" } else { "s" }
                    ),
                };
                let diag = Diagnostic::error("E0311", message, value.span).here(format!("this is `{whole}`"));
                match (parts, record) {
                    (true, _) => diag.note("the parts of a tuple are written `.0`, `.1` and so on"),
                    (_, true) => diag.note("the fields of a record are written `.name`"),
                    _ => diag,
                }
            });
            return self.types.poison();
        }
        (0..kept).fold(ty, |ty, _| array(ty))
    }

    /// `e.field`.
    pub(super) fn field(&mut self, value: Expr, field: &Ident, span: Span) -> Expr {
        let ty = self.field_type(&value.ty, field);
        Expr { kind: ExprKind::Field(Box::new(value), field.name.clone()), ty, span }
    }
}
