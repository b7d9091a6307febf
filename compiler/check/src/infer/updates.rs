//! Updates: `value with place = update`.
//!
//! A place further in is one of a new value for what it is in:
//!
//! ```text
//! x with [i].f[j] = v    x with [i] = (x[i] with f = (x[i].f with [j] = v))
//! ```
//!
//! Value and indices are computed once.

use super::operators::bind;
use super::{Cx, errors};
use crate::thir::{Expr, ExprKind, IndexArg, Pat, Ty};
use par_runtime::Span;
use par_syntax::Diagnostic;
use par_syntax::ast::{self, Exp, Ident, Step};

/// A place that one update replaces: elements of an array, or a field.
enum Place {
    Index(Vec<IndexArg>),
    Fields(Vec<String>),
}

impl Cx<'_> {
    /// `value with place = update`.
    pub(super) fn with(&mut self, value: Expr, place: &[Step], update: &Exp, span: Span) -> Expr {
        let mut bound = Vec::new();
        let (first, rest) = place.split_at(together(place));
        let mut to = self.place(first);
        let value = if rest.is_empty() { value } else { self.once(value, &mut bound) };
        if let (Place::Index(index), false) = (&mut to, rest.is_empty()) {
            for arg in index {
                each_part(arg, &mut |e| *e = self.once(e.clone(), &mut bound));
            }
        }
        let update = match rest {
            [] => {
                let ty = match &to {
                    Place::Index(index) => self.indexed_type(&value, index),
                    Place::Fields(_) => self.updated_field(&value, first),
                };
                let update = self.exp(update);
                self.agree_update(&ty, &value, &update);
                update
            }
            rest => {
                let part = self.part(&value, &to, first);
                self.with(part, rest, update, span)
            }
        };
        let ty = value.ty.clone();
        let (value, update) = (Box::new(value), Box::new(update));
        let kind = match to {
            Place::Index(index) => ExprKind::With { value, index, update },
            Place::Fields(fields) => ExprKind::WithField { value, fields, update },
        };
        bound.into_iter().rev().fold(Expr { kind, ty, span }, |body, (pat, value)| bind(pat, value, body))
    }

    /// The type of the field that an update replaces.
    fn updated_field(&mut self, value: &Expr, place: &[Step]) -> Ty {
        let before = self.diags.len();
        let ty = fields(place).fold(value.ty.clone(), |ty, field| self.field_type(&ty, field));
        let is_update = matches!(value.kind, ExprKind::With { .. } | ExprKind::WithField { .. });
        if let (true, Some(diag)) = (is_update, self.diags[before..].last_mut()) {
            diag.notes.push("`a with x = b with y = c` is `(a with x = b) with y = c`: an update of `b` stands in parentheses".into());
        }
        ty
    }

    fn place(&mut self, steps: &[Step]) -> Place {
        match steps {
            [Step::Index(..), ..] => Place::Index(self.index_args(Step::indices(steps))),
            _ => Place::Fields(fields(steps).map(|f| f.name.clone()).collect()),
        }
    }

    /// The part of a value at a place.
    fn part(&mut self, value: &Expr, place: &Place, steps: &[Step]) -> Expr {
        let span = steps_span(steps);
        if let Place::Index(index) = place {
            let ty = self.indexed_type(value, index);
            return Expr { kind: ExprKind::Index(Box::new(value.clone()), index.clone()), ty, span };
        }
        fields(steps).fold(value.clone(), |value, field| self.field(value, field, span))
    }

    /// The expression under a name, unless it is one.
    fn once(&mut self, e: Expr, bound: &mut Vec<(Pat, Expr)>) -> Expr {
        if matches!(e.kind, ExprKind::Local(_) | ExprKind::Literal(_)) {
            return e;
        }
        let (pat, name) = self.parameter("part", e.ty.clone(), e.span);
        bound.push((pat, e));
        name
    }

    fn agree_update(&mut self, place: &Ty, value: &Expr, update: &Expr) {
        if self.types.unify(place, &update.ty).is_ok() {
            return;
        }
        let whole = self.show(&value.ty);
        self.agree(place, &update.ty, |clash, expected, found| {
            let diag = Diagnostic::error("E0301", "the new value does not fit its place", update.span)
                .here(format!("expected {expected}, found {found}"))
                .label(value.span, format!("this is `{whole}`"));
            errors::explain(diag, clash)
        });
    }
}

/// Number of steps at the beginning that are one place: fields, or indices after indices.
fn together(steps: &[Step]) -> usize {
    let is_field = |step: &Step| matches!(step, Step::Field(_));
    let is_slice = |arg: &ast::IndexArg| matches!(arg, ast::IndexArg::Slice { .. });
    let goes_on = |pair: &[Step]| match pair {
        [Step::Index(args, _), Step::Index(..)] => !args.iter().any(is_slice),
        pair => pair.iter().all(is_field),
    };
    steps.len().min(1) + steps.windows(2).take_while(|pair| goes_on(pair)).count()
}

fn fields(steps: &[Step]) -> impl Iterator<Item = &Ident> {
    steps.iter().filter_map(|step| if let Step::Field(f) = step { Some(f) } else { None })
}

fn steps_span(steps: &[Step]) -> Span {
    let span = |step: &Step| match step {
        Step::Index(_, span) => *span,
        Step::Field(name) => name.span,
    };
    match steps {
        [] => Span::default(),
        [first, .., last] => Span { end: span(last).end, ..span(first) },
        [one] => span(one),
    }
}

fn each_part(arg: &mut IndexArg, f: &mut dyn FnMut(&mut Expr)) {
    match arg {
        IndexArg::Index(e) => f(e),
        IndexArg::Slice { start, end, stride, .. } => {
            [start, end, stride].into_iter().flatten().for_each(f);
        }
    }
}
