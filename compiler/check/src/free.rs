//! Locals that an expression mentions, its types' sizes included. Local names are unique in the program, so those that are bound
//! where a function is made are the ones it captures.

use crate::consume::deep;
use crate::thir::{Expr, ExprKind, IndexArg, LocalId, LoopForm, Pat, PatKind, Size, Ty};

/// The locals that an expression mentions.
pub(crate) fn expr(e: &Expr, out: &mut Vec<LocalId>) {
    deep(|| {
        ty(&e.ty, out);
        kind(&e.kind, out);
    });
}

fn kind(k: &ExprKind, out: &mut Vec<LocalId>) {
    match k {
        ExprKind::Local(l) => out.push(*l),
        ExprKind::Poly(l, ts) => {
            out.push(*l);
            ts.iter().for_each(|t| ty(t, out));
        }
        ExprKind::Def(_, ts) => ts.iter().for_each(|t| ty(t, out)),
        ExprKind::Op(_) | ExprKind::Literal(_) | ExprKind::String(_) | ExprKind::Hole(_) => {}
        ExprKind::Tuple(es) | ExprKind::Array(es) | ExprKind::Constr(_, es) => all(es, out),
        ExprKind::Record(fs) => all(fs.iter().map(|(_, e)| e), out),
        ExprKind::Range { start, second, end, .. } => {
            expr(start, out);
            all(second.as_deref(), out);
            expr(end, out);
        }
        ExprKind::Lambda { params, ret, body } => function(params, ret.as_ref(), body, out),
        ExprKind::Apply(f, args) => all(std::iter::once(&**f).chain(args), out),
        ExprKind::And(a, b) | ExprKind::Or(a, b) | ExprKind::Assert(a, b) => all([&**a, &**b], out),
        ExprKind::Let { pat: p, value, body } => {
            pat(p, out);
            expr(value, out);
            expr(body, out);
        }
        ExprKind::LetFun { params, ret, value, body, .. } => {
            function(params, ret.as_ref(), value, out);
            expr(body, out);
        }
        ExprKind::If { cond, then, other } => all([&**cond, &**then, &**other], out),
        ExprKind::Match { value, cases } => {
            expr(value, out);
            for (p, e) in cases {
                pat(p, out);
                expr(e, out);
            }
        }
        ExprKind::Loop { pat: p, init, form, body } => {
            pat(p, out);
            expr(init, out);
            loop_form(form, out);
            expr(body, out);
        }
        ExprKind::Index(a, index) => {
            expr(a, out);
            indices(index, out);
        }
        ExprKind::With { value, index, update } => {
            expr(value, out);
            indices(index, out);
            expr(update, out);
        }
        ExprKind::WithField { value, update, .. } => all([&**value, &**update], out),
        ExprKind::Ascribe(e, t) | ExprKind::Coerce(e, t) => {
            expr(e, out);
            ty(t, out);
        }
        ExprKind::At(e, sizes) => all(std::iter::once(&**e).chain(sizes.iter().map(|(_, size)| size)), out),
        ExprKind::Field(e, _) | ExprKind::Attr(_, e) => expr(e, out),
    }
}

fn all<'e>(es: impl IntoIterator<Item = &'e Expr>, out: &mut Vec<LocalId>) {
    es.into_iter().for_each(|e| expr(e, out));
}

fn loop_form(form: &LoopForm, out: &mut Vec<LocalId>) {
    match form {
        LoopForm::For(_, e) | LoopForm::While(e) => expr(e, out),
        LoopForm::ForIn(p, e) => {
            pat(p, out);
            expr(e, out);
        }
    }
}

/// The locals that a function mentions.
pub(crate) fn function(params: &[Pat], ret: Option<&Ty>, body: &Expr, out: &mut Vec<LocalId>) {
    params.iter().for_each(|p| pat(p, out));
    ret.iter().for_each(|t| ty(t, out));
    expr(body, out);
}

fn indices(index: &[IndexArg], out: &mut Vec<LocalId>) {
    for arg in index {
        match arg {
            IndexArg::Index(e) => expr(e, out),
            IndexArg::Slice { start, end, stride, .. } => {
                [start, end, stride].into_iter().flatten().for_each(|e| expr(e, out));
            }
        }
    }
}

fn pat(p: &Pat, out: &mut Vec<LocalId>) {
    ty(&p.ty, out);
    match &p.kind {
        PatKind::Tuple(ps) | PatKind::Constr(_, ps) => ps.iter().for_each(|p| pat(p, out)),
        PatKind::Record(fs) => fs.iter().for_each(|(_, p)| pat(p, out)),
        PatKind::Var(_) | PatKind::Wildcard | PatKind::Literal(_) | PatKind::String(_) => {}
    }
}

/// The locals that the sizes of a type mention.
pub(crate) fn ty(t: &Ty, out: &mut Vec<LocalId>) {
    match t {
        Ty::Tuple(ts) => ts.iter().for_each(|t| ty(t, out)),
        Ty::Record(fs) => fs.iter().for_each(|(_, t)| ty(t, out)),
        Ty::Sum(cs) => cs.payloads().for_each(|t| ty(t, out)),
        Ty::Array(size, t) => {
            match size {
                Size::Local(l) => out.push(*l),
                Size::Exp(e) => expr(e, out),
                Size::Anon | Size::Const(_) | Size::Own { .. } => {}
            }
            ty(t, out);
        }
        Ty::Fun(a, b) => {
            ty(a, out);
            ty(b, out);
        }
        Ty::Unique(t) => ty(t, out),
        Ty::Prim(_) | Ty::Var(_) | Ty::Meta(_) | Ty::Abstract(..) => {}
    }
}
