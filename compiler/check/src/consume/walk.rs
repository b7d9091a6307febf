//! Expressions, in order of evaluation: what each may share, and whether what it mentions is still there.

use super::alias::{Alias, Function, Root, Roots, Signature, all};
use super::bind::Kind;
use super::calls::Operand;
use super::{Check, Frame};
use crate::free;
use crate::thir::{Expr, ExprKind, IndexArg, LocalId, Pat, Ty};
use par_runtime::Span;
use std::rc::Rc;

/// A local, or a component of one, with its text.
pub type Place = (LocalId, String);

impl<'p> Check<'p> {
    /// An expression.
    pub(super) fn expr(&mut self, e: &'p Expr) -> Alias {
        super::deep(|| self.expr_here(e))
    }

    fn expr_here(&mut self, e: &'p Expr) -> Alias {
        if let Some((place, alias)) = self.place(e) {
            self.used(Some(&place), &alias, e.span);
            return alias;
        }
        match &e.kind {
            ExprKind::Local(_) | ExprKind::Poly(..) | ExprKind::Literal(_) => Alias::Scalar,
            ExprKind::Op(_) | ExprKind::String(_) => Alias::fresh(),
            ExprKind::Hole(_) => Alias::fresh().fit(&e.ty),
            ExprKind::Def(id, _) => self.definition(*id).fit(&e.ty),
            ExprKind::Tuple(es) => Alias::Parts(self.together(es)),
            ExprKind::Record(fields) => self.record(fields),
            ExprKind::Array(es) => {
                self.together(es);
                Alias::fresh()
            }
            ExprKind::Constr(_, es) => Alias::Array(all(&self.together(es))),
            ExprKind::Range { start, second, end, .. } => {
                [Some(start), second.as_ref(), Some(end)]
                    .into_iter()
                    .flatten()
                    .for_each(|e| drop(self.expr(e)));
                Alias::fresh()
            }
            ExprKind::Lambda { params, ret, body } => self.function(params, ret.as_ref(), body),
            ExprKind::Apply(f, args) => self.call(f, args).fit(&e.ty),
            ExprKind::And(a, b) | ExprKind::Or(a, b) | ExprKind::Assert(a, b) => {
                self.expr(a);
                self.expr(b)
            }
            ExprKind::Let { .. } | ExprKind::LetFun { .. } => self.lets(e),
            ExprKind::If { cond, then, other } => {
                self.expr(cond);
                let arms = [&**then, &**other];
                self.branches(arms.into_iter().map(|arm| (None, arm)), &Alias::Scalar)
            }
            ExprKind::Match { value, cases } => {
                let value = self.expr(value);
                self.branches(cases.iter().map(|(pat, body)| (Some(pat), body)), &value)
            }
            ExprKind::Loop { pat, init, form, body } => self.loop_do(e, pat, init, form, body),
            ExprKind::Index(value, index) => {
                let value = self.operand(value);
                self.indices(index);
                self.still_there(&value);
                Alias::Array(value.alias.flat()).fit(&e.ty)
            }
            ExprKind::With { value, index, update } => self.with(value, index, update),
            ExprKind::WithField { value, fields, update } => self.with_field(value, fields, update),
            ExprKind::Field(value, field) => {
                let alias = self.expr(value);
                alias.part(position(&value.ty, field).map_or(usize::MAX, |(i, _)| i)).fit(&e.ty)
            }
            ExprKind::Ascribe(value, _)
            | ExprKind::Coerce(value, _)
            | ExprKind::At(value, _)
            | ExprKind::Attr(_, value) => self.expr(value),
        }
    }

    /// A chain of `let`s.
    fn lets(&mut self, e: &'p Expr) -> Alias {
        match &e.kind {
            ExprKind::Let { pat, value, body } => {
                let value = self.expr(value);
                self.bind(pat, &value);
                self.expr(body)
            }
            ExprKind::LetFun { name, recursive, params, ret, value, body, .. } => {
                if *recursive {
                    let alias = self.before_body(params, ret.as_ref(), value);
                    self.locals.insert(*name, super::Bound { alias, span: value.span });
                }
                let alias = self.function(params, ret.as_ref(), value);
                self.locals.insert(*name, super::Bound { alias, span: value.span });
                self.expr(body)
            }
            _ => self.expr(e),
        }
    }

    fn with(&mut self, value: &'p Expr, index: &'p [IndexArg], update: &'p Expr) -> Alias {
        let value = self.operand(value);
        self.indices(index);
        let update = self.operand(update);
        self.still_there(&value);
        self.still_there(&update);
        Alias::fresh()
    }

    /// The local that an expression is, or is a component of, with what that may share.
    pub(super) fn place(&self, e: &Expr) -> Option<(Place, Alias)> {
        match &e.kind {
            ExprKind::Local(id) | ExprKind::Poly(id, _) => {
                // Sizes are numbers that no pattern introduces.
                let alias = self.locals.get(id)?.alias.clone();
                Some(((*id, self.program.locals[id.0 as usize].clone()), alias))
            }
            ExprKind::Field(value, field) => {
                let ((id, name), alias) = self.place(value)?;
                let (i, _) = position(&value.ty, field)?;
                Some(((id, format!("{name}.{field}")), alias.part(i)))
            }
            ExprKind::Ascribe(value, _)
            | ExprKind::Coerce(value, _)
            | ExprKind::At(value, _)
            | ExprKind::Attr(_, value) => self.place(value),
            _ => None,
        }
    }

    /// Notes a use, and reports what was consumed.
    pub(super) fn used(&mut self, place: Option<&Place>, alias: &Alias, span: Span) {
        if matches!(alias, Alias::Scalar) {
            return;
        }
        let roots = alias.flat();
        for frame in &mut self.frames {
            frame.captured.extend(roots.iter().filter(|r| **r < frame.mark));
        }
        if let Some((root, site)) = roots.iter().find_map(|r| Some((*r, self.consumed.get(r)?.clone()))) {
            self.after_consume(place, root, &site, span);
        }
    }

    /// An expression whose value is used together with others that are computed after it.
    pub(super) fn operand(&mut self, e: &'p Expr) -> Operand {
        let alias = self.expr(e);
        Operand { alias, span: e.span, place: self.place(e).map(|(place, _)| place) }
    }

    /// Reports an operand that was consumed while the others were computed.
    pub(super) fn still_there(&mut self, operand: &Operand) {
        self.used(operand.place.as_ref(), &operand.alias, operand.span);
    }

    /// Expressions whose values are all used at the end.
    fn together(&mut self, es: impl IntoIterator<Item = &'p Expr>) -> Vec<Alias> {
        let operands: Vec<Operand> = es.into_iter().map(|e| self.operand(e)).collect();
        operands.iter().for_each(|o| self.still_there(o));
        operands.into_iter().map(|o| o.alias).collect()
    }

    fn record(&mut self, fields: &'p [(String, Expr)]) -> Alias {
        let values = self.together(fields.iter().map(|(_, e)| e));
        let mut parts: Vec<(&String, Alias)> = fields.iter().map(|(f, _)| f).zip(values).collect();
        parts.sort_by_key(|(f, _)| *f);
        Alias::Parts(parts.into_iter().map(|(_, alias)| alias).collect())
    }

    /// A record with a field replaced. The old field is not used, so it may have been consumed.
    fn with_field(&mut self, value: &'p Expr, fields: &[String], update: &'p Expr) -> Alias {
        let (place, old) = match self.place(value) {
            Some((place, alias)) => (Some(place), alias),
            None => (None, self.expr(value)),
        };
        let rest = replaced(old.clone(), &value.ty, fields, Alias::Scalar);
        self.used(place.as_ref(), &rest, value.span);
        let part = self.expr(update);
        self.used(place.as_ref(), &rest, value.span);
        replaced(old, &value.ty, fields, part)
    }

    fn indices(&mut self, index: &'p [IndexArg]) {
        for arg in index {
            match arg {
                IndexArg::Index(e) => drop(self.expr(e)),
                IndexArg::Slice { start, end, stride, .. } => {
                    [start, end, stride].into_iter().flatten().for_each(|e| drop(self.expr(e)));
                }
            }
        }
    }

    /// One of several expressions, each after a pattern is bound: what any of them consumes is consumed.
    fn branches(&mut self, arms: impl Iterator<Item = (Option<&'p Pat>, &'p Expr)>, value: &Alias) -> Alias {
        let before = self.consumed.clone();
        let mut after = before.clone();
        let mut result = None;
        for (pat, body) in arms {
            self.consumed.clone_from(&before);
            pat.iter().for_each(|p| self.bind(p, value));
            let alias = self.expr(body);
            result = Some(match result.take() {
                None => alias,
                Some(other) => alias.join(other),
            });
            after.extend(self.consumed.drain());
        }
        self.consumed = after;
        // What one arm has consumed nobody can use any more: if another arm gives just that, it is the result's alone.
        let there = |root| before.contains_key(&root) || !self.consumed.contains_key(&root);
        result.map_or(Alias::Scalar, |alias| alias.pruned(&there))
    }

    /// A lambda or local function.
    fn function(&mut self, params: &'p [Pat], ret: Option<&'p Ty>, body: &'p Expr) -> Alias {
        let mark = self.mark();
        let code = self.code(super::Body { params, ret, body, is_definition: false });
        self.frames.push(Frame { mark, is_loop: false, captured: Roots::new() });
        let params: Vec<Alias> = params.iter().map(|p| self.open(p, Kind::Param, false)).collect();
        let result = self.expr(body).fit(&body.ty);
        if let Some(ret) = ret {
            self.own_result(&result, ret, body, Some(mark));
        }
        let result = ret.into_iter().fold(result, Alias::masked);
        let captured = self.frames.pop().map_or_else(Roots::new, |f| f.captured);
        let own = all(&params);
        let result = result.pruned(&|r| self.outlives(r, mark) || own.contains(&r));
        Alias::Function(captured, Function::bare(Rc::new(Signature { params, result, code })))
    }

    /// A local function as its own body sees it: a call may give back anything that it was given or that the function captures.
    fn before_body(&mut self, params: &'p [Pat], ret: Option<&'p Ty>, body: &'p Expr) -> Alias {
        let mut mentioned = Vec::new();
        free::function(params, ret, body, &mut mentioned);
        let bound = mentioned.iter().filter_map(|l| self.locals.get(l));
        let captured: Roots = bound.flat_map(|b| b.alias.flat()).collect();
        let code = self.code(super::Body { params, ret, body, is_definition: false });
        let params: Vec<Alias> = params.iter().map(|p| self.open(p, Kind::Param, false)).collect();
        let given = self.kept(&params).into_iter().chain(captured.iter().copied()).collect();
        let ty = ret.unwrap_or(&body.ty);
        let result = Alias::Array(given).fit(ty).masked(ty);
        Alias::Function(captured, Function::bare(Rc::new(Signature { params, result, code })))
    }

    /// True if a root is there before and after what begins at `mark`.
    pub(super) fn outlives(&self, root: Root, mark: Root) -> bool {
        root < mark || self.info(root).kind == Kind::Global
    }
}

/// Index of a field in a tuple or record, and its type.
fn position<'t>(ty: &'t Ty, field: &str) -> Option<(usize, &'t Ty)> {
    match ty {
        Ty::Unique(t) => position(t, field),
        Ty::Tuple(ts) => field.parse().ok().and_then(|i: usize| Some((i, ts.get(i)?))),
        Ty::Record(fs) => {
            let i = fs.iter().position(|(f, _)| f == field)?;
            Some((i, &fs[i].1))
        }
        _ => None,
    }
}

/// A record with a field replaced, possibly deep inside.
fn replaced(whole: Alias, ty: &Ty, fields: &[String], part: Alias) -> Alias {
    let Some((first, rest)) = fields.split_first() else { return part };
    match (whole.fit(ty), position(ty, first)) {
        (Alias::Parts(mut parts), Some((i, field))) if i < parts.len() => {
            let old = std::mem::replace(&mut parts[i], Alias::Scalar);
            parts[i] = replaced(old, field, rest, part);
            Alias::Parts(parts)
        }
        (other, _) => other.join(part),
    }
}
