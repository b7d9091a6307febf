//! The last walk over a definition: every inference variable is replaced by its solution, every number gets its value,
//! and names that waited for a type are chosen.

use super::Cx;
use super::decs::Group;
use super::entries::Function;
use super::scope::PER_TYPE;
use super::types::{any_part, erase};
use crate::thir::{Expr, ExprKind, IndexArg, LoopForm, Pat, PatKind, Size, Ty};
use par_runtime::Scalar;

impl Cx<'_> {
    /// Finishes a type, the sizes in it included.
    pub(super) fn finish_ty(&mut self, ty: &mut Ty, group: &Group) {
        *ty = self.known(ty);
        self.finish_sizes(ty, group);
    }

    /// A type with its variables solved, and nothing hidden.
    fn known(&mut self, ty: &Ty) -> Ty {
        let ty = self.types.resolve(ty);
        self.represent(&ty)
    }

    /// The same for a type that was inferred.
    fn known_erased(&mut self, ty: &Ty) -> Ty {
        let ty = self.types.resolve(ty);
        if any_part(&ty, &mut |t| matches!(t, Ty::Abstract(..))) { erase(&self.represent(&ty)) } else { ty }
    }

    fn finish_sizes(&mut self, ty: &mut Ty, group: &Group) {
        super::deep(|| match ty {
            Ty::Prim(_) | Ty::Var(_) | Ty::Meta(_) | Ty::Abstract(..) => {}
            Ty::Array(size, t) => {
                self.finish_size(size, group);
                self.finish_sizes(t, group);
            }
            Ty::Unique(t) => self.finish_sizes(t, group),
            Ty::Fun(a, r) => {
                self.finish_sizes(a, group);
                self.finish_sizes(r, group);
            }
            Ty::Tuple(ts) => ts.iter_mut().for_each(|t| self.finish_sizes(t, group)),
            Ty::Record(fs) => fs.iter_mut().for_each(|(_, t)| self.finish_sizes(t, group)),
            Ty::Sum(cs) => cs.update(&mut |t| self.finish_sizes(t, group)),
        })
    }

    fn finish_size(&mut self, size: &mut Size, group: &Group) {
        if let Size::Exp(e) = size {
            self.finish_expr(e, group);
            if let ExprKind::Literal(Scalar::I64(n)) = e.kind {
                *size = Size::Const(n);
            }
        }
    }

    /// Finishes a pattern.
    pub(super) fn finish_pat(&mut self, pat: &mut Pat, group: &Group) {
        super::deep(|| {
            self.finish_ty(&mut pat.ty, group);
            match &mut pat.kind {
                PatKind::Var(_)
                | PatKind::Wildcard
                | PatKind::Literal(Scalar::Bool(_))
                | PatKind::String(_) => {}
                PatKind::Literal(value) => *value = self.finish_number(*value, unwrap_unique(&pat.ty)),
                PatKind::Tuple(ps) | PatKind::Constr(_, ps) => {
                    ps.iter_mut().for_each(|p| self.finish_pat(p, group))
                }
                PatKind::Record(fs) => fs.iter_mut().for_each(|(_, p)| self.finish_pat(p, group)),
            }
        })
    }

    /// Finishes a pattern that must fit every value.
    pub(super) fn finish_binding(&mut self, pat: &mut Pat, group: &Group) {
        self.finish_pat(pat, group);
        self.check_pattern(pat);
    }

    /// Finishes an expression.
    pub(super) fn finish_expr(&mut self, e: &mut Expr, group: &Group) {
        super::deep(|| {
            e.ty = self.known_erased(&e.ty);
            self.finish_kind(e, group);
        })
    }

    fn finish_all<'e>(&mut self, es: impl IntoIterator<Item = &'e mut Expr>, group: &Group) {
        es.into_iter().for_each(|e| self.finish_expr(e, group));
    }

    fn finish_kind(&mut self, e: &mut Expr, group: &Group) {
        match &mut e.kind {
            ExprKind::Local(_) | ExprKind::Literal(Scalar::Bool(_)) | ExprKind::String(_) => {}
            ExprKind::Hole(text) => *text = self.show(&e.ty),
            ExprKind::Literal(value) => *value = self.finish_number(*value, &e.ty),
            ExprKind::Op(name) => {
                if let Some(chosen) = self.finish_per_type(name, &e.ty) {
                    e.kind = chosen;
                }
            }
            ExprKind::Poly(_, args) => args.iter_mut().for_each(|t| *t = self.types.resolve(t)),
            ExprKind::Def(id, args) => {
                args.iter_mut().for_each(|t| *t = self.known_erased(t));
                if group.defs.contains(id) {
                    args.extend(group.vars.iter().map(|v| Ty::Var(*v)));
                }
            }
            ExprKind::Tuple(es) | ExprKind::Array(es) | ExprKind::Constr(_, es) => self.finish_all(es, group),
            ExprKind::Record(fs) => self.finish_all(fs.iter_mut().map(|(_, e)| e), group),
            ExprKind::Range { start, second, end, .. } => {
                self.finish_expr(start, group);
                self.finish_all(second.as_deref_mut(), group);
                self.finish_expr(end, group);
            }
            ExprKind::Apply(f, args) => {
                self.finish_expr(f, group);
                self.finish_all(args, group);
            }
            ExprKind::And(a, b) | ExprKind::Or(a, b) | ExprKind::Assert(a, b) => {
                [a, b].into_iter().for_each(|e| self.finish_expr(e, group));
            }
            ExprKind::Lambda { .. }
            | ExprKind::Let { .. }
            | ExprKind::LetFun { .. }
            | ExprKind::Match { .. }
            | ExprKind::Loop { .. } => self.finish_names(&mut e.kind, group),
            ExprKind::If { cond, then, other } => {
                [cond, then, other].into_iter().for_each(|e| self.finish_expr(e, group));
            }
            ExprKind::Index(value, index) => {
                self.finish_expr(value, group);
                self.finish_index(index, group);
            }
            ExprKind::With { value, index, update } => {
                self.finish_expr(value, group);
                self.finish_index(index, group);
                self.finish_expr(update, group);
            }
            ExprKind::WithField { value, update, .. } => {
                [value, update].into_iter().for_each(|e| self.finish_expr(e, group));
            }
            ExprKind::Field(value, _) | ExprKind::Attr(_, value) => self.finish_expr(value, group),
            ExprKind::Ascribe(value, ty) | ExprKind::Coerce(value, ty) => {
                self.finish_expr(value, group);
                self.finish_ty(ty, group);
            }
            // Made later.
            ExprKind::At(value, _) => self.finish_expr(value, group),
        }
    }

    /// The expressions that bind names.
    fn finish_names(&mut self, kind: &mut ExprKind, group: &Group) {
        match kind {
            ExprKind::Lambda { params, ret, body } => {
                params.iter_mut().for_each(|p| self.finish_binding(p, group));
                ret.iter_mut().for_each(|t| self.finish_ty(t, group));
                self.finish_expr(body, group);
            }
            ExprKind::Let { pat, value, body } => {
                self.finish_binding(pat, group);
                self.finish_expr(value, group);
                self.finish_expr(body, group);
            }
            ExprKind::LetFun { recursive, name_span, params, ret, value, body, .. } => {
                params.iter_mut().for_each(|p| self.finish_binding(p, group));
                ret.iter_mut().for_each(|t| self.finish_ty(t, group));
                self.finish_expr(value, group);
                if *recursive {
                    let (declared, ret_span, mut inferred) = (ret.is_some(), *name_span, value.ty.clone());
                    let ret = ret.as_mut().unwrap_or(&mut inferred);
                    self.give_parameters(Function { params, ret, declared, ret_span, body: value });
                }
                self.finish_expr(body, group);
            }
            ExprKind::Match { value, cases } => {
                self.finish_expr(value, group);
                for (pat, body) in cases.iter_mut() {
                    self.finish_pat(pat, group);
                    self.finish_expr(body, group);
                }
                self.check_cases(value, cases);
            }
            ExprKind::Loop { pat, init, form, body } => {
                self.finish_binding(pat, group);
                self.finish_expr(init, group);
                self.finish_form(form, group);
                self.finish_expr(body, group);
            }
            _ => unreachable!("binds no names"),
        }
    }

    fn finish_form(&mut self, form: &mut LoopForm, group: &Group) {
        match form {
            LoopForm::For(_, e) | LoopForm::While(e) => self.finish_expr(e, group),
            LoopForm::ForIn(pat, e) => {
                self.finish_binding(pat, group);
                self.finish_expr(e, group);
            }
        }
    }

    fn finish_index(&mut self, index: &mut [IndexArg], group: &Group) {
        for arg in index {
            match arg {
                IndexArg::Index(e) => self.finish_expr(e, group),
                IndexArg::Slice { start, end, stride, .. } => {
                    self.finish_all([start, end, stride].into_iter().flatten(), group);
                }
            }
        }
    }

    /// `sum : []f32 -> f32` is `f32.sum`.
    fn finish_per_type(&self, name: &str, ty: &Ty) -> Option<ExprKind> {
        let Ty::Fun(argument, _) = ty else { return None };
        let Ty::Array(_, element) = &**argument else { return None };
        let Ty::Prim(prim) = **element else { return None };
        if !PER_TYPE.contains(&name) {
            return None;
        }
        self.scopes.of_prim(prim, name).map(|id| ExprKind::Def(id, Vec::new()))
    }
}

fn unwrap_unique(ty: &Ty) -> &Ty {
    match ty {
        Ty::Unique(t) => unwrap_unique(t),
        other => other,
    }
}
