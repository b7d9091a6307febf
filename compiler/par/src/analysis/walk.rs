//! The parts of the typed tree, in the order of the text.

use par_check::thir::{Expr, ExprKind, IndexArg, LocalId, LoopForm, Pat, PatKind};

/// Parts of an expression, one level down.
#[derive(Default)]
pub(super) struct Parts<'a> {
    pub exprs: Vec<&'a Expr>,
    /// Patterns that bind names.
    pub pats: Vec<&'a Pat>,
    /// Names that are bound without a pattern, and so without a place of their own.
    pub names: Vec<LocalId>,
}

/// The parts of an expression.
pub(super) fn parts(e: &Expr) -> Parts<'_> {
    let mut parts = Parts::default();
    let exprs = &mut parts.exprs;
    match &e.kind {
        ExprKind::Local(_)
        | ExprKind::Poly(..)
        | ExprKind::Def(..)
        | ExprKind::Op(_)
        | ExprKind::Literal(_)
        | ExprKind::String(_)
        | ExprKind::Hole(_) => {}
        ExprKind::Tuple(es) | ExprKind::Array(es) | ExprKind::Constr(_, es) => exprs.extend(es),
        ExprKind::Record(fields) => exprs.extend(fields.iter().map(|f| &f.1)),
        ExprKind::Range { start, second, end, .. } => {
            exprs.extend([Some(&**start), second.as_deref(), Some(&**end)].into_iter().flatten());
        }
        ExprKind::Lambda { params, body, .. } => {
            parts.pats.extend(params);
            exprs.push(body);
        }
        ExprKind::Apply(f, args) => exprs.extend(std::iter::once(&**f).chain(args)),
        ExprKind::And(a, b) | ExprKind::Or(a, b) | ExprKind::Assert(a, b) => exprs.extend([&**a, &**b]),
        ExprKind::Let { pat, value, body } => {
            parts.pats.push(pat);
            exprs.extend([&**value, &**body]);
        }
        ExprKind::LetFun { name, size_params, params, value, body, .. } => {
            parts.names.push(*name);
            parts.names.extend(size_params);
            parts.pats.extend(params);
            exprs.extend([&**value, &**body]);
        }
        ExprKind::If { cond, then, other } => exprs.extend([&**cond, &**then, &**other]),
        ExprKind::Match { value, cases } => {
            exprs.push(value);
            for (pat, body) in cases {
                parts.pats.push(pat);
                exprs.push(body);
            }
        }
        ExprKind::Loop { pat, init, form, body } => parts.loop_do(pat, init, form, body),
        ExprKind::Index(array, args) => {
            exprs.push(array);
            args.iter().for_each(|a| index(a, exprs));
        }
        ExprKind::With { value, index: args, update } => {
            exprs.push(value);
            args.iter().for_each(|a| index(a, exprs));
            exprs.push(update);
        }
        ExprKind::WithField { value, update, .. } => exprs.extend([&**value, &**update]),
        ExprKind::Field(value, _)
        | ExprKind::Attr(_, value)
        | ExprKind::Ascribe(value, _)
        | ExprKind::Coerce(value, _)
        | ExprKind::At(value, _) => exprs.push(value),
    }
    parts
}

impl<'a> Parts<'a> {
    fn loop_do(&mut self, pat: &'a Pat, init: &'a Expr, form: &'a LoopForm, body: &'a Expr) {
        self.pats.push(pat);
        self.exprs.push(init);
        match form {
            LoopForm::For(i, bound) => {
                self.names.push(*i);
                self.exprs.push(bound);
            }
            LoopForm::ForIn(x, xs) => {
                self.pats.push(x);
                self.exprs.push(xs);
            }
            LoopForm::While(cond) => self.exprs.push(cond),
        }
        self.exprs.push(body);
    }
}

fn index<'a>(arg: &'a IndexArg, exprs: &mut Vec<&'a Expr>) {
    match arg {
        IndexArg::Index(e) => exprs.push(e),
        IndexArg::Slice { start, end, stride, .. } => {
            exprs.extend([start, end, stride].into_iter().flatten());
        }
    }
}

/// Every name that a pattern binds, with its part of the pattern.
pub(super) fn bound<'a>(pat: &'a Pat, out: &mut Vec<(LocalId, &'a Pat)>) {
    match &pat.kind {
        PatKind::Var(v) => out.push((*v, pat)),
        PatKind::Wildcard | PatKind::Literal(_) | PatKind::String(_) => {}
        PatKind::Tuple(ps) | PatKind::Constr(_, ps) => ps.iter().for_each(|p| bound(p, out)),
        PatKind::Record(fields) => fields.iter().for_each(|(_, p)| bound(p, out)),
    }
}
