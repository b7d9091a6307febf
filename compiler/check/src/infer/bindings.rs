//! `let` in its forms: patterns, local functions, updates.

use super::mentions::{Place, unused_sizes};
use super::recursion::at_own_types;
use super::types::{MAX_TYPE_SIZE, Scheme, erase, function};
use super::{Binding, Cx, errors};
use crate::thir::{Expr, ExprKind, Ty};
use par_runtime::Span;
use par_syntax::Diagnostic;
use par_syntax::ast::{self, Exp, Ident, Step};

impl Cx<'_> {
    /// `let [n] pat = value in body`.
    pub(super) fn let_in(
        &mut self,
        sizes: &[Ident],
        pat: &ast::Pat,
        value: &Exp,
        body: &Exp,
        span: Span,
    ) -> Expr {
        let before = self.diags.len();
        let written = value;
        let mut value = self.exp(written);
        self.advise_recursion(before, pat, written);
        value.ty = self.of_moderate_size(value.ty, value.span);
        self.scoped(|cx| {
            cx.size_params(sizes.iter());
            cx.diags.extend(unused_sizes(sizes, &[Place::Pat(pat)], "the pattern"));
            let pat = cx.single_pat(pat);
            cx.agree_bound(&pat.ty, pat.span, &value);
            let body = cx.exp(body);
            let ty = body.ty.clone();
            Expr { kind: ExprKind::Let { pat, value: Box::new(value), body: Box::new(body) }, ty, span }
        })
    }

    /// The type, unless it is so large that it can only come from doubling again and again.
    pub(super) fn of_moderate_size(&mut self, ty: Ty, span: Span) -> Ty {
        if self.types.is_huge(&ty) { self.huge_type(span) } else { ty }
    }

    /// E0313.
    pub(super) fn huge_type(&mut self, span: Span) -> Ty {
        let message = format!("a type of more than {MAX_TYPE_SIZE} parts");
        let diag = Diagnostic::error("E0313", message, span).here("here");
        if !self.has_error_in(span) {
            self.diags.push(diag.note("every definition that uses another one's type twice doubles it"));
        }
        self.types.poison()
    }

    /// Checks a value against the pattern it is bound to.
    pub(super) fn agree_bound(&mut self, pat: &Ty, at: Span, value: &Expr) {
        let unzip = self.unzip_for(pat, &value.ty);
        self.agree(pat, &value.ty, |clash, expected, found| {
            let diag = Diagnostic::error("E0301", "the value does not match the pattern", value.span)
                .here(format!("found {found}"))
                .label(at, format!("expected {expected}"));
            match unzip {
                Some(f) => diag.note(format!("this is an array of tuples; `{f} (…)` is a tuple of arrays")),
                None => errors::explain(diag, clash),
            }
        });
    }

    /// The function that makes an array of tuples a tuple of arrays, where a pattern of as many parts meets one.
    fn unzip_for(&self, pat: &Ty, value: &Ty) -> Option<String> {
        let (Ty::Tuple(parts), Ty::Array(_, elem)) = (self.types.resolve(pat), self.types.resolve(value))
        else {
            return None;
        };
        let Ty::Tuple(of) = self.types.resolve(&elem) else { return None };
        match parts.len() {
            n if n != of.len() => None,
            2 => Some("unzip".into()),
            n @ 3..=5 => Some(format!("unzip{n}")),
            _ => None,
        }
    }

    /// `let f [n] 't p1 p2 : t = value in body`. The function is generalised over what it does not share with its
    /// surroundings; overloaded numbers stay one type. Inside, its name means the function itself, as for definitions.
    pub(super) fn let_fun(&mut self, def: &ast::Def, body: &Exp, span: Span) -> Expr {
        let (name, name_span) = (self.new_local(&def.name.name), def.name.span);
        let another = self.meaning_around(&def.name);
        self.types.level += 1;
        let mark = self.env.mark();
        let (mut vars, size_params) = self.type_params(&def.type_params);
        let params = self.pats(&def.type_params, &def.params);
        self.must_use_sizes(def);
        let ret = def.ret.as_ref().map(|t| (self.ty(t), t.span));
        let result = ret.as_ref().map_or_else(|| self.types.any(), |(t, _)| erase(t));
        let ty = function(params.iter().map(|p| &p.ty), result.clone());
        let own = !super::itself::means_another(def) && !self.env.is_bound_since(mark, &def.name.name);
        if own {
            let scheme = Scheme { vars: vars.clone(), ty: ty.clone() };
            self.env.bind(&def.name.name, Binding::Value { id: name, scheme });
        }
        let before = self.diags.len();
        let mut value = self.exp(&def.body);
        self.advise_mutual(before, def, body);
        let (declared, at) = ret.as_ref().map_or((&result, name_span), |(t, at)| (t, *at));
        self.agree_result(declared, at, &value);
        self.env.reset(mark);
        self.solve_pending();
        let ty = self.of_moderate_size(ty, name_span);
        let inferred = self.generalise(&[&ty], &vars);
        let recursive = own && at_own_types(&mut value, name, &inferred);
        vars.extend(inferred);
        self.types.level -= 1;
        if let (true, Some(another)) = (recursive, another) {
            self.calls_itself(&def.name, another);
        }
        let ty = self.types.resolve(&ty);
        if self.has_open_scalars(&ty) {
            self.component.of_one_type.insert(name);
        }
        self.scoped(|cx| {
            let scheme = Scheme { vars: vars.clone(), ty };
            cx.env.bind(&def.name.name, Binding::Value { id: name, scheme });
            let body = cx.exp(body);
            let ty = body.ty.clone();
            let (ret, value, body) = (ret.map(|(t, _)| t), Box::new(value), Box::new(body));
            let type_params = vars;
            let kind = ExprKind::LetFun {
                name,
                name_span,
                recursive,
                type_params,
                size_params,
                params,
                ret,
                value,
                body,
            };
            Expr { kind, ty, span }
        })
    }

    /// `let a[i].f = value in body`.
    pub(super) fn let_with(
        &mut self,
        name: &Ident,
        place: &[Step],
        value: &Exp,
        body: &Exp,
        span: Span,
    ) -> Expr {
        let old = self.name(&super::deps::field_name(name));
        let updated = self.with(old, place, value, span);
        self.scoped(|cx| {
            let pat = cx.name_pat(&name.name, Some(updated.ty.clone()), name.span);
            let body = cx.exp(body);
            super::operators::bind(pat, updated, body)
        })
    }
}
