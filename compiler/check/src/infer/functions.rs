//! Application and lambdas.

use super::types::{Clash, erase, function};
use super::{Cx, errors};
use crate::thir::{Expr, ExprKind, Ty};
use par_runtime::Span;
use par_syntax::Diagnostic;
use par_syntax::ast::{self, Exp, TypeExp};

impl Cx<'_> {
    /// `f a b`.
    pub(super) fn apply(&mut self, f: Expr, args: Vec<Expr>, span: Span) -> Expr {
        let mut ty = f.ty.clone();
        for i in 0..args.len() {
            ty = self.apply_type(&f, &ty, &args, i);
        }
        let ty = self.of_moderate_size(ty, span);
        Expr { kind: ExprKind::Apply(Box::new(f), args), ty, span }
    }

    /// The type of a function after one more argument.
    fn apply_type(&mut self, f: &Expr, ty: &Ty, args: &[Expr], given: usize) -> Ty {
        let arg = &args[given];
        match self.types.shallow(ty) {
            Ty::Fun(param, result) => {
                if self.argument(f, &param, args, given) {
                    *result
                } else {
                    self.types.poison()
                }
            }
            Ty::Meta(_) if self.types.is_poison(ty) => self.types.poison(),
            meta @ Ty::Meta(_) => {
                let result = self.types.any();
                let wanted = Ty::Fun(Box::new(arg.ty.clone()), Box::new(result.clone()));
                match self.types.unify(&meta, &wanted) {
                    Ok(()) => result,
                    Err(Clash::Infinite) => self.contains_itself(f, arg),
                    Err(_) => self.not_a_function(f, arg, given),
                }
            }
            _ => self.not_a_function(f, arg, given),
        }
    }

    fn argument(&mut self, f: &Expr, param: &Ty, args: &[Expr], given: usize) -> bool {
        let arg = &args[given];
        if self.types.unify(&erase(param), &erase(&arg.ty)).is_ok() {
            return true;
        }
        let name = self.called(f).replace("this", "this function");
        let f_ty = self.show(&f.ty);
        let advice =
            self.advise_argument(Diagnostic::error("E0301", "", arg.span), f, param, args, given).notes;
        self.agree(param, &arg.ty, |clash, expected, found| {
            let message = format!("argument {} of {name} has the wrong type", given + 1);
            let diag = Diagnostic::error("E0301", message, arg.span)
                .here(format!("expected {expected}, found {found}"))
                .label(f.span, format!("{name} has type `{f_ty}`"));
            errors::explain(advice.into_iter().fold(diag, Diagnostic::note), clash)
        })
    }

    fn not_a_function(&mut self, f: &Expr, arg: &Expr, given: usize) -> Ty {
        // An argument that is unknown itself says enough.
        if self.types.is_poison(&arg.ty) {
            return self.types.poison();
        }
        let name = self.called(f);
        let (message, here) = match given {
            0 => (format!("{name} is not a function"), "but an argument follows"),
            n => {
                let s = if n == 1 { "" } else { "s" };
                (format!("{name} takes {n} argument{s}, but more are given"), "this argument is one too many")
            }
        };
        let diag = Diagnostic::error("E0302", message, arg.span).here(here);
        let ty = self.in_words(&f.ty);
        let diag = match f.kind {
            ExprKind::Literal(_) => diag.label(f.span, format!("this is {ty}")),
            _ => diag.label(f.span, format!("{name} has type {ty}")),
        };
        let diag = match (given, name.as_str()) {
            (0, _) => self.advise_call(diag, f, arg),
            (_, "`map`" | "`map2`" | "`map3`" | "`map4`") => diag.note(super::hints::MORE_ARRAYS),
            _ => diag,
        };
        self.diags.push(diag);
        self.types.poison()
    }

    fn contains_itself(&mut self, f: &Expr, arg: &Expr) -> Ty {
        let message = format!("{} would take itself as an argument", self.called(f));
        let diag =
            Diagnostic::error("E0301", message, arg.span).here("this argument has the function's type in it");
        self.diags.push(errors::explain(diag, &Clash::Infinite));
        self.types.poison()
    }

    /// Name of the function that is called, for messages.
    fn called(&self, f: &Expr) -> String {
        match &f.kind {
            ExprKind::Def(id, _) => format!("`{}`", self.defs[id.0 as usize].name),
            ExprKind::Local(id) => format!("`{}`", self.locals[id.0 as usize]),
            ExprKind::Op(op) => format!("`{op}`"),
            ExprKind::Literal(_) => "a number".to_string(),
            _ => "this".to_string(),
        }
    }

    /// `\p1 p2 : t -> e`.
    pub(super) fn lambda(
        &mut self,
        params: &[ast::Pat],
        ret: Option<&TypeExp>,
        body: &Exp,
        span: Span,
    ) -> Expr {
        self.scoped(|cx| {
            let params = cx.pats(&[], params);
            let ret = ret.map(|t| (cx.ty(t), t.span));
            let value = cx.exp(body);
            if let Some((declared, at)) = &ret {
                cx.agree_result(declared, *at, &value);
            }
            let result = ret.as_ref().map_or_else(|| value.ty.clone(), |(t, _)| erase(t));
            let ty = function(params.iter().map(|p| &p.ty), result);
            let kind = ExprKind::Lambda { params, ret: ret.map(|(t, _)| t), body: Box::new(value) };
            Expr { kind, ty, span }
        })
    }

    /// Checks a body against the declared result.
    pub(super) fn agree_result(&mut self, declared: &Ty, at: Span, value: &Expr) {
        let at_fault = self.decisive(value).span;
        self.agree(declared, &value.ty, |clash, expected, found| {
            let diag = Diagnostic::error("E0301", "the result does not have the declared type", at_fault)
                .here(format!("found {found}"))
                .label(at, format!("declared as {expected}"));
            errors::explain(diag, clash)
        });
    }

    /// The part of a body that decides its type: what a `let` gives, and of several arms the one that is not just a number.
    fn decisive<'e>(&self, mut e: &'e Expr) -> &'e Expr {
        loop {
            let part = match &e.kind {
                ExprKind::Let { body, .. }
                | ExprKind::LetFun { body, .. }
                | ExprKind::Attr(_, body)
                | ExprKind::Assert(_, body) => Some(&**body),
                // Arms that do not agree are an error of their own.
                _ if self.has_error_in(e.span) => None,
                ExprKind::If { then, other, .. } => self.the_only([&**then, &**other].into_iter()),
                ExprKind::Match { cases, .. } => self.the_only(cases.iter().map(|(_, arm)| arm)),
                _ => None,
            };
            match part {
                Some(part) => e = part,
                None => return e,
            }
        }
    }

    /// The only arm that is no number of an open type, if there is one such arm.
    fn the_only<'e>(&self, arms: impl Iterator<Item = &'e Expr>) -> Option<&'e Expr> {
        let mut others = arms.filter(|e| !self.is_plain_number(e));
        others.next().filter(|_| others.next().is_none())
    }
}
