//! Expressions: the table of kinds, and the simple ones.

use super::report::{Site, What};
use super::term::{Atom, Term};
use super::types::{Dim, Type};
use super::{Bound, Check};
use crate::thir::{Expr, ExprKind, IndexArg, LocalId, RangeKind, Ty};
use par_runtime::{Prim, Scalar};
use std::rc::Rc;

/// The type and value of an expression, as far as they are known.
#[derive(Clone, Debug)]
pub(super) struct Typed {
    pub(super) ty: Type,
    pub(super) value: Value,
}

/// A value, as far as sizes may depend on it.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Unknown,
    Is(Term),
    Parts(Vec<Value>),
}

impl Value {
    pub(super) fn term(self) -> Option<Term> {
        match self {
            Value::Is(term) => Some(term),
            _ => None,
        }
    }

    pub(super) fn of(term: Option<Term>) -> Value {
        term.map_or(Value::Unknown, Value::Is)
    }
}

impl Typed {
    pub(super) fn of(ty: Type) -> Typed {
        Typed { ty, value: Value::Unknown }
    }

    fn scalar(term: Option<Term>) -> Typed {
        Typed { ty: Type::Leaf, value: Value::of(term) }
    }
}

impl<'p> Check<'p> {
    /// The type of an expression.
    pub(super) fn expr(&mut self, e: &'p Expr) -> Typed {
        super::deep(|| self.expr_here(e))
    }

    fn expr_here(&mut self, e: &'p Expr) -> Typed {
        match &e.kind {
            ExprKind::Local(l) => self.local(*l, &[], e),
            ExprKind::Poly(l, types) => self.local(*l, types, e),
            ExprKind::Def(d, types) => self.mention(*d, types, e),
            ExprKind::Op(_) => Typed::of(Type::Leaf),
            ExprKind::Hole(_) => Typed::of(self.guessed(&e.ty)),
            ExprKind::Literal(s) => Typed::scalar(number(s).map(Term::constant)),
            ExprKind::String(bytes) => {
                Typed::of(Type::array(Dim::Is(Term::constant(bytes.len() as i64)), Type::Leaf))
            }
            ExprKind::Tuple(es) => self.tuple(es),
            ExprKind::Record(fs) => self.record(fs),
            ExprKind::Array(es) => self.array(es, e),
            ExprKind::Range { start, second, end, kind } => {
                self.range(start, second.as_deref(), end, *kind, e)
            }
            ExprKind::Lambda { params, ret, body } => Typed::of(self.lambda(params, ret.as_ref(), body)),
            ExprKind::Apply(f, args) => self.apply(e, f, args),
            ExprKind::At(f, _) => self.expr(f),
            ExprKind::And(a, b) | ExprKind::Or(a, b) => {
                self.expr(a);
                self.expr(b);
                Typed::of(Type::Leaf)
            }
            ExprKind::Let { .. } | ExprKind::LetFun { .. } => self.lets(e),
            ExprKind::If { cond, then, other } => {
                self.expr(cond);
                self.arms([&**then, &**other].into_iter())
            }
            ExprKind::Match { value, cases } => {
                let value_type = self.expr(value);
                for (pat, _) in cases {
                    self.bind(pat, &value_type.ty, &value_type.value, value.span);
                }
                self.arms(cases.iter().map(|(_, body)| body))
            }
            ExprKind::Loop { pat, init, form, body } => self.loop_expr(pat, init, form, body),
            ExprKind::Index(array, index) => self.index(array, index, e),
            ExprKind::With { value, index, update } => Typed::of(self.updated(value, index, update, e)),
            ExprKind::WithField { value, fields, update } => {
                let value = self.expr(value);
                let new = self.expr(update);
                Typed::of(value.ty.with_field(fields, new.ty))
            }
            ExprKind::Field(value, name) => self.field(value, name, e),
            ExprKind::Ascribe(value, ty) => self.ascribe(value, ty, false),
            ExprKind::Coerce(value, ty) => self.ascribe(value, ty, true),
            ExprKind::Assert(cond, value) => {
                self.expr(cond);
                self.expr(value)
            }
            ExprKind::Constr(name, args) => self.constructor(name, args, e),
            ExprKind::Attr(_, value) => self.expr(value),
        }
    }

    fn tuple(&mut self, es: &'p [Expr]) -> Typed {
        let parts: Vec<Typed> = es.iter().map(|e| self.expr(e)).collect();
        let (types, values) = parts.into_iter().map(|p| (p.ty, p.value)).unzip();
        let ty = if es.is_empty() { Type::Leaf } else { Type::Tuple(Rc::new(types)) };
        Typed { ty, value: Value::Parts(values) }
    }

    fn record(&mut self, fs: &'p [(String, Expr)]) -> Typed {
        let mut fields: Vec<_> = fs.iter().map(|(f, e)| (f.clone(), self.expr(e).ty)).collect();
        fields.sort_by(|a, b| a.0.cmp(&b.0));
        Typed::of(Type::Record(Rc::new(fields)))
    }

    fn local(&mut self, l: LocalId, types: &'p [Ty], e: &'p Expr) -> Typed {
        match self.bindings.locals.get(&l).cloned() {
            Some(Bound::Value(typed)) => typed,
            Some(Bound::Function(scheme)) => {
                let (ty, sizes) = self.instance(&scheme, types);
                self.note_use(e, sizes);
                Typed::of(ty)
            }
            None => Typed::scalar(Some(self.name(l))),
        }
    }

    fn array(&mut self, es: &'p [Expr], e: &'p Expr) -> Typed {
        let size = Dim::Is(Term::constant(es.len() as i64));
        if es.is_empty() {
            return match &e.ty {
                Ty::Array(_, t) => Typed::of(Type::array(size, self.guessed(t))),
                _ => Typed::of(Type::Leaf),
            };
        }
        let types: Vec<_> = es.iter().map(|e| (self.expr(e).ty, Site::new(e.span, What::Joined))).collect();
        Typed::of(Type::array(size, self.joined(&types)))
    }

    fn arms(&mut self, arms: impl Iterator<Item = &'p Expr>) -> Typed {
        let mut types = Vec::new();
        for arm in arms {
            types.push((self.expr(arm).ty, Site::new(decisive(arm).span, What::Joined)));
        }
        Typed::of(self.joined(&types))
    }

    fn range(
        &mut self,
        start: &'p Expr,
        second: Option<&'p Expr>,
        end: &'p Expr,
        kind: RangeKind,
        e: &'p Expr,
    ) -> Typed {
        let (from, to) = (self.expr(start).value.term(), self.expr(end).value.term());
        second.into_iter().for_each(|e| drop(self.expr(e)));
        let length = match (second, kind, start.ty == Ty::Prim(Prim::I64)) {
            (None, RangeKind::UpTo | RangeKind::Plain, true) => from.zip(to).and_then(|(a, b)| b.minus(&a)),
            (None, RangeKind::Inclusive, true) => {
                from.zip(to).and_then(|(a, b)| b.minus(&a)?.plus(&Term::constant(1)))
            }
            _ => None,
        };
        let length = length.filter(|n| n.as_constant().is_none_or(|n| n >= 0));
        let length = length.unwrap_or_else(|| self.unknown(e.span));
        Typed::of(Type::array(Dim::Is(length), Type::Leaf))
    }

    fn field(&mut self, value: &'p Expr, name: &str, e: &'p Expr) -> Typed {
        let value = self.expr(value);
        let part = match (value.value, name.parse::<usize>()) {
            (Value::Parts(parts), Ok(i)) => parts.get(i).cloned().unwrap_or(Value::Unknown),
            (Value::Is(term), _) if matches!(e.ty, Ty::Prim(_)) => {
                Value::Is(self.computed(format!(".{name}"), vec![term], Some(e)))
            }
            _ => Value::Unknown,
        };
        Typed { ty: value.ty.field(name), value: part }
    }

    fn index(&mut self, array: &'p Expr, index: &'p [IndexArg], e: &'p Expr) -> Typed {
        let array = self.expr(array);
        let (ty, at) = self.selected(&array.ty, index, e);
        let value = match (array.value, at) {
            (Value::Is(of), Some(mut at)) if matches!(e.ty, Ty::Prim(_)) => {
                at.insert(0, of);
                Value::Is(self.computed("[]".to_string(), at, Some(e)))
            }
            _ => Value::Unknown,
        };
        Typed { ty: self.sized_outside(&ty, e.span), value }
    }

    /// The type of what indices select, and the indices if they are known.
    fn selected(&mut self, array: &Type, index: &'p [IndexArg], e: &'p Expr) -> (Type, Option<Vec<Term>>) {
        let mut kept = Vec::new();
        let mut at = Some(Vec::new());
        let mut ty = array.clone();
        for arg in index {
            match arg {
                IndexArg::Index(i) => {
                    let i = self.expr(i).value.term();
                    at = at.zip(i).map(|(mut at, i)| {
                        at.push(i);
                        at
                    });
                }
                IndexArg::Slice { start, end, stride, .. } => {
                    let dim = self.slice(&ty.dim(), start.as_ref(), end.as_ref(), stride.as_ref(), e);
                    kept.push(dim);
                }
            }
            ty = ty.element();
        }
        (kept.into_iter().rev().fold(ty, |ty, dim| Type::array(dim, ty)), at)
    }

    /// The type of an array with a new value somewhere. Rows may have other lengths than before.
    fn updated(&mut self, value: &'p Expr, index: &'p [IndexArg], update: &'p Expr, e: &'p Expr) -> Type {
        let array = self.expr(value).ty;
        let (place, _) = self.selected(&array, index, e);
        let new = self.expr(update).ty;
        let slice =
            index.iter().find_map(|i| if let IndexArg::Slice { span, .. } = i { Some(*span) } else { None });
        let site = Site { first: slice.unwrap_or(value.span), ..Site::new(update.span, What::Update) };
        if slice.is_some() {
            self.flow(&new, &place, &site);
            return array;
        }
        let Type::Array(..) = place else { return array };
        self.flow(&new, &place, &Site { what: What::Row, ..site });
        let mut dims = Vec::new();
        index.iter().fold(array.clone(), |ty, _| {
            dims.push(ty.dim());
            ty.element()
        });
        let other = dims.into_iter().rev().fold(new, |ty, dim| Type::array(dim, ty));
        let joined = Site::new(update.span, What::Joined);
        self.joined(&[(array, joined), (other, joined)])
    }

    fn slice(
        &mut self,
        of: &Dim,
        start: Option<&'p Expr>,
        end: Option<&'p Expr>,
        stride: Option<&'p Expr>,
        e: &'p Expr,
    ) -> Dim {
        let mut part =
            |e: Option<&'p Expr>| e.map(|e| (self.expr(e).value.term(), e.ty == Ty::Prim(Prim::I64)));
        let (from, to, step) = (part(start), part(end), part(stride));
        let is = |part: &Option<(Option<Term>, bool)>, n: i64| {
            part.as_ref().is_some_and(|(t, _)| t.as_ref().and_then(Term::as_constant) == Some(n))
        };
        if from.is_none() && to.is_none() && (step.is_none() || is(&step, -1) || is(&step, 1)) {
            return of.clone();
        }
        let whole = match of {
            Dim::Is(term) => Some(term.clone()),
            _ => None,
        };
        let bound = |part: Option<(Option<Term>, bool)>, otherwise: Option<Term>| match part {
            Some((term, whole)) => term.filter(|t| whole || t.as_constant().is_some()),
            None => otherwise,
        };
        let length = match step.is_none() || is(&step, 1) {
            true => bound(from, Some(Term::constant(0))).zip(bound(to, whole)).and_then(|(a, b)| b.minus(&a)),
            false => None,
        };
        let length = length.filter(|n| n.as_constant().is_none_or(|n| n >= 0));
        Dim::Is(length.unwrap_or_else(|| self.unknown(e.span)))
    }

    fn ascribe(&mut self, value: &'p Expr, ty: &'p Ty, coerced: bool) -> Typed {
        let found = self.expr(value);
        let declared = self.declare(ty, &found.ty);
        let site = Site::new(decisive(value).span, What::Ascribed);
        self.flow(&found.ty, &declared, &Site { coerced, ..site });
        Typed { ty: declared, value: found.value }
    }

    fn constructor(&mut self, name: &str, args: &'p [Expr], e: &'p Expr) -> Typed {
        let ty = self.guessed(&e.ty);
        let payload = ty.payload(name);
        for (i, arg) in args.iter().enumerate() {
            let arg_type = self.expr(arg).ty;
            self.flow(&arg_type, payload.get(i).unwrap_or(&Type::Leaf), &Site::new(arg.span, What::Joined));
        }
        Typed::of(ty)
    }

    /// The value of a built-in operator.
    pub(super) fn operated(&mut self, op: &str, args: &[Option<Term>], e: &'p Expr) -> Option<Term> {
        let whole = e.ty == Ty::Prim(Prim::I64);
        match (op, args) {
            ("+", [Some(a), Some(b)]) if whole => Some(a.plus(b)?.spelled(true, a.clone(), b.clone())),
            ("-", [Some(a), Some(b)]) if whole => a.minus(b),
            ("*", [Some(a), Some(b)]) if whole => Some(a.times(b)?.spelled(false, a.clone(), b.clone())),
            ("neg", [Some(a)]) if whole => a.scaled(-1),
            _ if matches!(e.ty, Ty::Prim(p) if p.is_integer()) => {
                let args = args.iter().cloned().collect::<Option<Vec<_>>>()?;
                Some(self.computed(op.to_string(), args, Some(e)))
            }
            _ => None,
        }
    }

    /// A value under a name.
    pub(super) fn named(&mut self, l: LocalId, ty: &Ty, value: Value) -> Value {
        self.bindings.levels.insert(l, self.level);
        match value {
            Value::Is(term) if *unwrapped(ty) == Ty::Prim(Prim::I64) => {
                if let Some(Atom::Opaque(o)) = term.as_atom() {
                    self.terms.opaques[o as usize].value_of.get_or_insert(l);
                }
                self.bindings.values.insert(l, term.clone());
                Value::Is(term)
            }
            parts @ Value::Parts(_) => parts,
            _ => Value::Is(Term::atom(Atom::Local(l))),
        }
    }
}

/// The type without `*`.
pub(super) fn unwrapped(ty: &Ty) -> &Ty {
    match ty {
        Ty::Unique(t) => unwrapped(t),
        other => other,
    }
}

fn number(s: &Scalar) -> Option<i64> {
    match s {
        Scalar::I64(n) => Some(*n),
        Scalar::I32(n) => Some((*n).into()),
        Scalar::I16(n) => Some((*n).into()),
        Scalar::I8(n) => Some((*n).into()),
        Scalar::U32(n) => Some((*n).into()),
        Scalar::U16(n) => Some((*n).into()),
        Scalar::U8(n) => Some((*n).into()),
        _ => None,
    }
}

/// The part of an expression that gives its value.
pub(super) fn decisive(mut e: &Expr) -> &Expr {
    while let ExprKind::Let { body, .. }
    | ExprKind::LetFun { body, .. }
    | ExprKind::Attr(_, body)
    | ExprKind::Assert(_, body) = &e.kind
    {
        e = body;
    }
    e
}
