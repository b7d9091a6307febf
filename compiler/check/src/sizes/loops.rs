//! Loops. A size of the state that the body leaves alone stays as it is, another one is unknown.

use super::Check;
use super::expr::{Typed, Value, decisive};
use super::report::{Site, What};
use super::term::Term;
use super::types::{Dim, Type};
use super::unknowns::Kind;
use crate::thir::{Expr, LocalId, LoopForm, Pat, PatKind, Size, Ty};
use par_ir::hash::HashSet;

impl<'p> Check<'p> {
    pub(super) fn loop_expr(
        &mut self,
        pat: &'p Pat,
        init: &'p Expr,
        form: &'p LoopForm,
        body: &'p Expr,
    ) -> Typed {
        let start = self.expr(init);
        let mut names = Vec::new();
        self.new_names(pat, &mut names);
        // What is not declared is joined of what the loop begins with and what its body gives.
        let state = start.ty.with_dims(&mut |_| Dim::Is(self.meta(Kind::Loose)));
        let site = Site::new(decisive(init).span, What::Loop);
        let bound = match form {
            LoopForm::For(_, e) | LoopForm::ForIn(_, e) => Some(self.expr(e)),
            LoopForm::While(_) => None,
        };
        self.level += 1;
        names.iter().for_each(|l| _ = self.bindings.levels.insert(*l, self.level));
        let inside = self.state_type(pat, &state);
        let outside = self.with_names(&inside, &names, &mut |cx| cx.meta(Kind::Implicit));
        self.flow(&start.ty, &outside, &site);
        let silent = self.silence(true);
        self.bind(pat, &inside, &Value::Unknown, init.span);
        self.silence(silent);
        match (form, bound) {
            (LoopForm::For(i, _), _) => {
                self.bind_name(*i, &Ty::Tuple(Vec::new()), Type::Leaf, Value::Unknown)
            }
            (LoopForm::ForIn(x, _), Some(xs)) => {
                let element = xs.ty.element();
                let element = self.sized_outside(&element, x.span);
                self.bind(x, &element, &Value::Unknown, x.span);
            }
            (LoopForm::While(cond), _) => drop(self.expr(cond)),
            (LoopForm::ForIn(..), None) => {}
        }
        let end = self.expr(body).ty;
        let again = self.with_names(&inside, &names, &mut |cx| cx.meta(Kind::Implicit));
        self.flow(&end, &again, &Site { asked: pat.span, ..Site::new(decisive(body).span, What::Loop) });
        self.level -= 1;
        let result = self.with_names(&inside, &names, &mut |cx| cx.unknown(body.span));
        Typed::of(self.sized_outside(&result, body.span))
    }

    /// The type of the state in the body.
    fn state_type(&mut self, pat: &'p Pat, state: &Type) -> Type {
        match &pat.kind {
            PatKind::Tuple(ps) => {
                let parts = ps.iter().enumerate();
                let parts = parts.map(|(i, p)| self.state_type(p, &state.field(&i.to_string()))).collect();
                if ps.is_empty() { Type::Leaf } else { Type::Tuple(std::rc::Rc::new(parts)) }
            }
            PatKind::Record(ps) => {
                let fields = ps.iter().map(|(f, p)| (f.clone(), self.state_type(p, &state.field(f))));
                Type::Record(std::rc::Rc::new(fields.collect()))
            }
            _ if pat.declared => self.declare(&pat.ty, state),
            _ => state.clone(),
        }
    }

    /// Sizes that the pattern of a loop declares: another number in every iteration.
    fn new_names(&self, pat: &Pat, out: &mut Vec<LocalId>) {
        match &pat.kind {
            PatKind::Tuple(ps) | PatKind::Constr(_, ps) => ps.iter().for_each(|p| self.new_names(p, out)),
            PatKind::Record(ps) => ps.iter().for_each(|(_, p)| self.new_names(p, out)),
            _ => {
                let mut known = HashSet::default();
                sizes(&pat.ty, &mut known);
                out.extend(known.into_iter().filter(|l| !self.bindings.levels.contains_key(l)));
            }
        }
    }

    /// The type with another size in place of each of the names.
    fn with_names(&mut self, ty: &Type, names: &[LocalId], new: &mut dyn FnMut(&mut Self) -> Term) -> Type {
        names.iter().fold(ty.clone(), |ty, name| {
            let size = new(self);
            self.with_name(&ty, *name, Some(size))
        })
    }
}

/// The names that are sizes of a type.
fn sizes(ty: &Ty, out: &mut HashSet<LocalId>) {
    match ty {
        Ty::Array(size, t) => {
            if let Size::Local(l) = size {
                out.insert(*l);
            }
            sizes(t, out);
        }
        Ty::Unique(t) => sizes(t, out),
        Ty::Tuple(ts) => ts.iter().for_each(|t| sizes(t, out)),
        Ty::Record(fs) => fs.iter().for_each(|(_, t)| sizes(t, out)),
        _ => {}
    }
}
