//! `if`, `match`, loops.

use super::mentions::{Place, unused_sizes};
use super::types::{BOOL, Class, PrimSet, array, erase};
use super::{Cx, errors};
use crate::thir::{Expr, ExprKind, LoopForm, Ty};
use par_runtime::Span;
use par_syntax::Diagnostic;
use par_syntax::ast::{self, Exp, Ident};

impl Cx<'_> {
    /// An expression that must be a bool.
    pub(super) fn condition(&mut self, e: &Exp, what: &str) -> Expr {
        let e = self.exp(e);
        self.must_be_bool(&e, what);
        e
    }

    /// E0308 if it is not a bool.
    pub(super) fn must_be_bool(&mut self, e: &Expr, what: &str) {
        self.agree(&BOOL, &e.ty, |_, _, found| {
            let message = format!("{what} must be `bool`");
            Diagnostic::error("E0308", message, e.span).here(format!("found {found}"))
        });
    }

    /// `if cond then a else b`.
    pub(super) fn if_then_else(&mut self, cond: &Exp, then: &Exp, other: &Exp, span: Span) -> Expr {
        let cond = Box::new(self.condition(cond, "the condition of `if`"));
        let then = Box::new(self.exp(then));
        let other = Box::new(self.exp(other));
        if self.agree_arms("`if`", &then, &other) {
            self.must_be_data(&then, Class::Joined, "the value of an `if`");
        }
        let ty = then.ty.clone();
        Expr { kind: ExprKind::If { cond, then, other }, ty, span }
    }

    fn agree_arms(&mut self, what: &str, first: &Expr, other: &Expr) -> bool {
        self.agree(&first.ty, &other.ty, |clash, expected, found| {
            let message = format!("the branches of {what} have different types");
            let diag = Diagnostic::error("E0305", message, other.span)
                .here(format!("this is {found}"))
                .label(first.span, format!("this is {expected}"));
            errors::explain(diag, clash)
        })
    }

    /// `match value case pat -> e …`.
    pub(super) fn match_with(&mut self, value: &Exp, cases: &[(ast::Pat, Exp)], span: Span) -> Expr {
        let value = self.exp(value);
        let mut arms = Vec::new();
        for (pat, body) in cases {
            let arm = self.scoped(|cx| {
                let pat = cx.single_pat(pat);
                cx.agree_bound(&pat.ty, pat.span, &value);
                (pat, cx.exp(body))
            });
            if let Some((_, first)) = arms.first() {
                self.agree_arms("`match`", first, &arm.1);
            }
            arms.push(arm);
        }
        if let Some((_, first)) = arms.first() {
            self.must_be_data(first, Class::Joined, "the value of a `match`");
        }
        let ty = arms.first().map(|(_, e)| e.ty.clone()).unwrap_or_else(|| self.types.any());
        Expr { kind: ExprKind::Match { value: Box::new(value), cases: arms }, ty, span }
    }

    /// `loop pat = init for … do body`.
    pub(super) fn loop_do(
        &mut self,
        sizes: &[Ident],
        pat: &ast::Pat,
        init: &Exp,
        form: &ast::LoopForm,
        body: &Exp,
        span: Span,
    ) -> Expr {
        let init = self.exp(init);
        let bound = match form {
            ast::LoopForm::For(_, e) | ast::LoopForm::ForIn(_, e) => Some(self.exp(e)),
            ast::LoopForm::While(_) => None,
        };
        self.scoped(|cx| {
            cx.size_params(sizes.iter());
            cx.diags.extend(unused_sizes(sizes, &[Place::Pat(pat)], "the pattern"));
            let pat = cx.single_pat(pat);
            cx.agree_bound(&pat.ty, pat.span, &init);
            cx.must_be_data(&init, Class::Joined, "the state of a loop");
            let form = cx.loop_form(form, bound);
            let body = cx.exp(body);
            cx.agree(&pat.ty, &body.ty, |clash, expected, found| {
                let diag = Diagnostic::error(
                    "E0301",
                    "the body of the loop gives another type than it takes",
                    body.span,
                )
                .here(format!("found {found}"))
                .label(pat.span, format!("expected {expected}"));
                errors::explain(diag, clash)
            });
            let ty = erase(&pat.ty);
            Expr { kind: ExprKind::Loop { pat, init: Box::new(init), form, body: Box::new(body) }, ty, span }
        })
    }

    /// Binds the loop's own names. `bound` is the limit or the array, computed outside.
    fn loop_form(&mut self, form: &ast::LoopForm, bound: Option<Expr>) -> LoopForm {
        match (form, bound) {
            (ast::LoopForm::For(i, _), Some(limit)) => {
                let ty = self.integer_type(&limit, "the limit of a loop is an integer");
                LoopForm::For(self.bind_local(&i.name, ty), Box::new(limit))
            }
            (ast::LoopForm::ForIn(pat, _), Some(xs)) => {
                let element = self.types.data();
                self.agree(&array(element.clone()), &xs.ty, |_, _, found| {
                    let diag = Diagnostic::error("E0311", "`for … in` goes over an array", xs.span);
                    diag.here(format!("found {found}"))
                });
                let pat = self.single_pat(pat);
                self.agree(&pat.ty, &element, |clash, expected, found| {
                    let diag = Diagnostic::error("E0301", "the elements do not match the pattern", pat.span);
                    let diag = diag.here(format!("expected {expected}"));
                    errors::explain(diag.label(xs.span, format!("has elements of type {found}")), clash)
                });
                LoopForm::ForIn(pat, Box::new(xs))
            }
            (ast::LoopForm::While(cond), _)
            | (ast::LoopForm::For(_, cond) | ast::LoopForm::ForIn(_, cond), None) => {
                LoopForm::While(Box::new(self.condition(cond, "the condition of a loop")))
            }
        }
    }

    /// The type of an expression that must be an integer.
    pub(super) fn integer_type(&mut self, e: &Expr, message: &str) -> Ty {
        self.integer_of(PrimSet::integers(), e, message)
    }

    /// The same, of some of the integers.
    pub(super) fn integer_of(&mut self, set: PrimSet, e: &Expr, message: &str) -> Ty {
        let ty = self.types.fresh(Class::Prims(set));
        let good = self.agree(&ty, &e.ty, |_, _, found| {
            let diag = Diagnostic::error("E0301", message, e.span).here(format!("found {found}"));
            match e.kind {
                ExprKind::Range { .. } => diag.note("a slice is written with colons: xs[i:j]"),
                _ if message.starts_with("a range") => {
                    diag.note("floats in equal steps: map (\\i -> 0.5 * f64.i64 i) (0..<n)")
                }
                _ => diag,
            }
        });
        if good { ty } else { self.types.poison() }
    }
}
