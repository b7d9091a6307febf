//! The parts of an expression of the typed tree, to walk over it.

use crate::thir::{Def, Expr, ExprKind, IndexArg, LoopForm, Pat, PatKind, Size, Ty};

/// Work on each part.
pub type Visit<'a> = &'a mut dyn FnMut(&mut Expr);

/// Calls `f` with every outermost expression of a definition: its body, and the sizes in its signature.
pub fn def(d: &mut Def, f: Visit) {
    d.params.iter_mut().for_each(|p| pat(p, f));
    ty(&mut d.ret, f);
    f(&mut d.body);
}

/// Calls `f` with every expression directly inside this one, the sizes in its types included.
pub fn children(e: &mut Expr, f: Visit) {
    ty(&mut e.ty, f);
    match &mut e.kind {
        ExprKind::Local(_)
        | ExprKind::Op(_)
        | ExprKind::Literal(_)
        | ExprKind::String(_)
        | ExprKind::Hole(_) => {}
        ExprKind::Def(_, ts) | ExprKind::Poly(_, ts) => ts.iter_mut().for_each(|t| ty(t, f)),
        ExprKind::Tuple(es) | ExprKind::Array(es) | ExprKind::Constr(_, es) => es.iter_mut().for_each(f),
        ExprKind::Record(fs) => fs.iter_mut().for_each(|(_, e)| f(e)),
        ExprKind::Range { start, second, end, .. } => {
            [Some(start), second.as_mut(), Some(end)].into_iter().flatten().for_each(|e| f(e));
        }
        ExprKind::Lambda { params, ret, body } => function(params, ret.as_mut(), body, f),
        ExprKind::Apply(g, args) => std::iter::once(&mut **g).chain(args).for_each(f),
        ExprKind::And(a, b) | ExprKind::Or(a, b) | ExprKind::Assert(a, b) => both([a, b], f),
        ExprKind::Let { pat: p, value, body } => {
            pat(p, f);
            both([value, body], f);
        }
        ExprKind::LetFun { params, ret, value, body, .. } => {
            function(params, ret.as_mut(), value, f);
            f(body);
        }
        ExprKind::If { cond, then, other } => [cond, then, other].into_iter().for_each(|e| f(e)),
        ExprKind::Match { value, cases } => {
            f(value);
            for (p, body) in cases {
                pat(p, f);
                f(body);
            }
        }
        ExprKind::Loop { pat: p, init, form, body } => {
            pat(p, f);
            f(init);
            loop_form(form, f);
            f(body);
        }
        ExprKind::Index(array, args) => {
            f(array);
            index(args, f);
        }
        ExprKind::With { value, index: args, update } => {
            f(value);
            index(args, f);
            f(update);
        }
        ExprKind::WithField { value, update, .. } => both([value, update], f),
        ExprKind::Field(value, _) | ExprKind::Attr(_, value) => f(value),
        ExprKind::Ascribe(value, t) | ExprKind::Coerce(value, t) => {
            f(value);
            ty(t, f);
        }
        ExprKind::At(g, sizes) => {
            f(g);
            sizes.iter_mut().for_each(|(_, size)| f(size));
        }
    }
}

fn both(es: [&mut Expr; 2], f: Visit) {
    es.into_iter().for_each(f);
}

fn function(params: &mut [Pat], ret: Option<&mut Ty>, body: &mut Expr, f: Visit) {
    params.iter_mut().for_each(|p| pat(p, f));
    ret.into_iter().for_each(|t| ty(t, f));
    f(body);
}

fn loop_form(form: &mut LoopForm, f: Visit) {
    match form {
        LoopForm::For(_, e) | LoopForm::While(e) => f(e),
        LoopForm::ForIn(p, e) => {
            pat(p, f);
            f(e);
        }
    }
}

fn index(args: &mut [IndexArg], f: Visit) {
    for arg in args {
        match arg {
            IndexArg::Index(e) => f(e),
            IndexArg::Slice { start, end, stride, .. } => {
                [start, end, stride].into_iter().flatten().for_each(&mut *f);
            }
        }
    }
}

fn pat(p: &mut Pat, f: Visit) {
    ty(&mut p.ty, f);
    match &mut p.kind {
        PatKind::Var(_) | PatKind::Wildcard | PatKind::Literal(_) | PatKind::String(_) => {}
        PatKind::Tuple(ps) | PatKind::Constr(_, ps) => ps.iter_mut().for_each(|p| pat(p, f)),
        PatKind::Record(fs) => fs.iter_mut().for_each(|(_, p)| pat(p, f)),
    }
}

fn ty(t: &mut Ty, f: Visit) {
    match t {
        Ty::Prim(_) | Ty::Var(_) | Ty::Meta(_) | Ty::Abstract(..) => {}
        Ty::Unique(t) => ty(t, f),
        Ty::Array(size, t) => {
            if let Size::Exp(e) = size {
                f(e);
            }
            ty(t, f);
        }
        Ty::Fun(a, b) => {
            ty(a, f);
            ty(b, f);
        }
        Ty::Tuple(ts) => ts.iter_mut().for_each(|t| ty(t, f)),
        Ty::Record(fs) => fs.iter_mut().for_each(|(_, t)| ty(t, f)),
        Ty::Sum(cs) => cs.update(&mut |t| ty(t, f)),
    }
}
