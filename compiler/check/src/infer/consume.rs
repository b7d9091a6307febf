//! Uses of a name after a call that consumed it: the argument of a parameter written `*t`. Other names for the same
//! array are not followed; the meaning of a program never depends on what is consumed.
//!
//! ```text
//! def put (xs: *[]i32) : []i32 = xs with [0] = 1
//! … let ys = put a in a[0]        `a` is used after it was consumed
//! ```

use crate::thir::{Def, Expr, ExprKind, IndexArg, LocalId, LoopForm, Pat, PatKind, Ty};
use par_runtime::Span;
use par_syntax::Diagnostic;
use std::collections::HashMap;

struct Walk<'a> {
    defs: &'a [Def],
    locals: &'a [String],
    /// Which parameters of local functions are consumed.
    functions: HashMap<LocalId, Vec<bool>>,
    /// Names that were consumed, and where.
    consumed: HashMap<LocalId, Span>,
    found: Vec<Diagnostic>,
}

/// E0601 for every use after consumption in the user's definitions.
pub(super) fn uses_after_consumption(defs: &[Def], locals: &[String]) -> Vec<Diagnostic> {
    let mut walk =
        Walk { defs, locals, functions: HashMap::new(), consumed: HashMap::new(), found: Vec::new() };
    for def in defs.iter().filter(|d| !d.library) {
        walk.consumed.clear();
        walk.expr(&def.body);
    }
    walk.found
}

fn unique(params: &[Pat]) -> Vec<bool> {
    params.iter().map(|p| matches!(p.ty, Ty::Unique(_))).collect()
}

impl Walk<'_> {
    fn all<'e>(&mut self, es: impl IntoIterator<Item = &'e Expr>) {
        es.into_iter().for_each(|e| self.expr(e));
    }

    fn expr(&mut self, e: &Expr) {
        super::deep(|| self.kind(e));
    }

    fn kind(&mut self, e: &Expr) {
        match &e.kind {
            ExprKind::Local(l) => self.local(*l, e.span),
            ExprKind::Def(..) | ExprKind::Op(_) | ExprKind::Literal(_) | ExprKind::String(_) => {}
            ExprKind::Tuple(es) | ExprKind::Array(es) | ExprKind::Constr(_, es) => self.all(es),
            ExprKind::Record(fs) => self.all(fs.iter().map(|(_, e)| e)),
            ExprKind::Range { start, second, end, .. } => {
                self.expr(start);
                self.all(second.as_deref());
                self.expr(end);
            }
            ExprKind::Lambda { body, .. } => self.expr(body),
            ExprKind::Apply(f, args) => self.call(f, args),
            ExprKind::And(a, b) | ExprKind::Or(a, b) | ExprKind::Assert(a, b) => self.all([&**a, &**b]),
            ExprKind::Let { pat, value, body } => {
                self.expr(value);
                self.bind(pat);
                self.expr(body);
            }
            ExprKind::LetFun { name, params, value, body, .. } => {
                self.functions.insert(*name, unique(params));
                self.all([&**value, &**body]);
            }
            ExprKind::If { cond, then, other } => {
                self.expr(cond);
                self.branches([&**then, &**other]);
            }
            ExprKind::Match { value, cases } => {
                self.expr(value);
                self.branches(cases.iter().map(|(_, e)| e));
            }
            ExprKind::Loop { pat, init, form, body } => self.repeat(pat, init, form, body),
            ExprKind::Index(value, index) => {
                self.expr(value);
                self.index(index);
            }
            ExprKind::With { value, index, update } => {
                self.expr(value);
                self.index(index);
                self.expr(update);
            }
            ExprKind::WithField { value, update, .. } => self.all([&**value, &**update]),
            ExprKind::Field(v, _) | ExprKind::Attr(_, v) | ExprKind::Ascribe(v, _) => self.expr(v),
        }
    }

    fn local(&mut self, l: LocalId, span: Span) {
        let Some(place) = self.consumed.get(&l) else { return };
        let name = &self.locals[l.0 as usize];
        let diag = Diagnostic::error("E0601", format!("`{name}` is used after it was consumed"), span)
            .here("used here")
            .label(*place, "consumed here, by a parameter written with `*`")
            .note(format!("pass `copy {name}` to keep it"));
        if !self.found.contains(&diag) {
            self.found.push(diag);
        }
    }

    fn call(&mut self, f: &Expr, args: &[Expr]) {
        self.expr(f);
        self.all(args);
        let consumes = match &f.kind {
            ExprKind::Def(d, _) => self.defs.get(d.0 as usize).map(|d| unique(&d.params)),
            ExprKind::Local(l) => self.functions.get(l).cloned(),
            _ => None,
        };
        for (arg, _) in args.iter().zip(consumes.unwrap_or_default()).filter(|(_, consumed)| *consumed) {
            if let ExprKind::Local(l) = arg.kind {
                self.consumed.insert(l, arg.span);
            }
        }
    }

    /// What one branch consumes is consumed afterwards, but not in the other branches.
    fn branches<'e>(&mut self, es: impl IntoIterator<Item = &'e Expr>) {
        let before = self.consumed.clone();
        let mut after = before.clone();
        for e in es {
            self.consumed.clone_from(&before);
            self.expr(e);
            after.extend(self.consumed.drain());
        }
        self.consumed = after;
    }

    fn repeat(&mut self, pat: &Pat, init: &Expr, form: &LoopForm, body: &Expr) {
        self.expr(init);
        let cond = match form {
            LoopForm::For(_, e) => {
                self.expr(e);
                None
            }
            LoopForm::ForIn(_, e) => {
                self.expr(e);
                None
            }
            LoopForm::While(e) => Some(e),
        };
        self.bind(pat);
        let before = self.consumed.len();
        self.all(cond.map(|c| &**c).into_iter().chain([body]));
        self.bind(pat);
        // The next iteration sees what the first one consumed.
        if self.consumed.len() > before {
            self.all(cond.map(|c| &**c).into_iter().chain([body]));
            self.bind(pat);
        }
    }

    fn index(&mut self, index: &[IndexArg]) {
        for arg in index {
            match arg {
                IndexArg::Index(e) => self.expr(e),
                IndexArg::Slice { start, end, stride, .. } => {
                    self.all([start, end, stride].into_iter().flatten())
                }
            }
        }
    }

    /// A name that is bound anew stands for something else.
    fn bind(&mut self, pat: &Pat) {
        match &pat.kind {
            PatKind::Var(l) => {
                self.consumed.remove(l);
            }
            PatKind::Tuple(ps) | PatKind::Constr(_, ps) => ps.iter().for_each(|p| self.bind(p)),
            PatKind::Record(fs) => fs.iter().for_each(|(_, p)| self.bind(p)),
            PatKind::Wildcard | PatKind::Literal(_) => {}
        }
    }
}
