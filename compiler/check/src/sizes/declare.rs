//! Types of the typed tree as types with sizes.

use super::Check;
use super::term::{Atom, Term};
use super::types::{Dim, Type};
use super::unknowns::Kind;
use crate::thir::{LocalId, Size, Ty};
use par_runtime::Span;
use std::rc::Rc;

/// Meaning of a size that is not declared, or of one that every value has for itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// In a parameter's type, for callers: any.
    Argument,
    /// In a result's type, for callers: unknown.
    Result,
    /// In a declared type, for what uses the value: unknown, of rows any.
    Declared,
    /// In the type of a parameter without a declared one: to be found.
    Parameter,
    /// To be found, where several values become one.
    Joined,
}

impl<'p> Check<'p> {
    /// The type with sizes that are to be found where none is declared.
    pub(super) fn guessed(&mut self, ty: &'p Ty) -> Type {
        self.convert(ty, 0, How::Joined)
    }

    pub(super) fn convert(&mut self, ty: &'p Ty, depth: usize, how: How) -> Type {
        super::deep(|| match ty {
            Ty::Prim(_) | Ty::Meta(_) | Ty::Abstract(..) => Type::Leaf,
            Ty::Var(v) => Type::Var(*v),
            Ty::Unique(t) => self.convert(t, depth, how),
            Ty::Tuple(ts) if ts.is_empty() => Type::Leaf,
            Ty::Tuple(ts) => Type::Tuple(Rc::new(self.converted(ts, depth, how))),
            Ty::Record(fs) => {
                let fields = fs.iter().map(|(f, t)| (f.clone(), self.convert(t, depth, how)));
                Type::Record(Rc::new(fields.collect()))
            }
            Ty::Sum(cs) if cs.is_sizeless() => Type::Leaf,
            Ty::Sum(cs) => {
                // Sizes inside a sum are every value's own.
                let inside = if how == How::Declared { How::Argument } else { how };
                let payloads = cs.iter().map(|(c, ts)| (c.clone(), self.converted(ts, depth + 1, inside)));
                Type::Sum(Rc::new(payloads.collect()))
            }
            Ty::Array(size, t) => {
                let dim = self.size(size, depth, how);
                Type::array(dim, self.convert(t, depth + 1, how))
            }
            Ty::Fun(a, r) => {
                let (param, ret) = match how {
                    How::Parameter | How::Joined => (How::Joined, How::Joined),
                    _ => (How::Argument, How::Result),
                };
                let param = self.convert(a, 0, param);
                Type::fun(None, param, self.convert(r, 0, ret))
            }
        })
    }

    fn converted(&mut self, ts: &'p [Ty], depth: usize, how: How) -> Vec<Type> {
        ts.iter().map(|t| self.convert(t, depth, how)).collect()
    }

    fn size(&mut self, size: &'p Size, depth: usize, how: How) -> Dim {
        match size {
            Size::Const(n) => Dim::Is(Term::constant(*n)),
            Size::Local(l) => Dim::Is(self.name(*l)),
            Size::Exp(e) => match self.expr(e).value.term() {
                Some(term) => Dim::Is(term),
                None if how == How::Declared => Dim::Is(self.unknown(e.span)),
                None => Dim::Any,
            },
            Size::Own { .. } if size.varies(depth) => Dim::Any,
            Size::Own { name, .. } => match how {
                How::Argument => Dim::Any,
                How::Result => Dim::Exists(name.0),
                _ => Dim::Is(self.name(*name)),
            },
            Size::Anon => match how {
                How::Joined => Dim::Is(self.meta(Kind::Loose)),
                How::Parameter if depth == 0 => Dim::Is(self.meta(Kind::Parameter)),
                How::Parameter => Dim::Is(self.meta(Kind::Loose)),
                How::Result if depth == 0 => {
                    self.terms.exists += 1;
                    Dim::Exists(self.terms.exists)
                }
                How::Declared if depth == 0 => Dim::Is(self.unknown(Span::default())),
                How::Result | How::Declared | How::Argument => Dim::Any,
            },
        }
    }

    /// The size that a name stands for. A type that mentions it first declares it.
    pub(super) fn name(&mut self, l: LocalId) -> Term {
        let level = self.level;
        self.bindings.levels.entry(l).or_insert(level);
        match self.bindings.values.get(&l) {
            Some(term) => term.clone(),
            None => Term::atom(Atom::Local(l)),
        }
    }

    /// The declared type of a value, with the value's own sizes where none is declared. Names that are new are its sizes.
    pub(super) fn declare(&mut self, ty: &'p Ty, value: &Type) -> Type {
        super::deep(|| match (ty, value) {
            (Ty::Unique(t), _) => self.declare(t, value),
            (Ty::Array(size, t), Type::Array(dim, u)) => {
                let dim = self.declared_size(size, dim);
                Type::array(dim, self.declare(t, u))
            }
            (Ty::Tuple(ts), Type::Tuple(us)) => {
                Type::Tuple(Rc::new(ts.iter().zip(us.iter()).map(|(t, u)| self.declare(t, u)).collect()))
            }
            (Ty::Record(ts), Type::Record(us)) => {
                let parts = ts.iter().zip(us.iter());
                let fields = parts.map(|((f, t), (_, u))| (f.clone(), self.declare(t, u)));
                Type::Record(Rc::new(fields.collect()))
            }
            (Ty::Fun(..), Type::Fun(_)) if has_sizes(ty) => self.convert(ty, 0, How::Declared),
            _ => value.clone(),
        })
    }

    fn declared_size(&mut self, size: &'p Size, value: &Dim) -> Dim {
        match (size, value) {
            (Size::Anon, _) => value.clone(),
            (Size::Own { .. }, _) => value.clone(),
            (Size::Local(l), Dim::Is(term)) if !self.bindings.levels.contains_key(l) => {
                self.bindings.levels.insert(*l, self.level);
                self.bindings.values.insert(*l, term.clone());
                value.clone()
            }
            _ => match self.size(size, 0, How::Argument) {
                Dim::Any => value.clone(),
                known => known,
            },
        }
    }
}

/// True if a size is declared.
pub(super) fn has_sizes(ty: &Ty) -> bool {
    match ty {
        Ty::Prim(_) | Ty::Meta(_) | Ty::Abstract(..) | Ty::Var(_) => false,
        Ty::Array(size, t) => *size != Size::Anon || has_sizes(t),
        Ty::Unique(t) => has_sizes(t),
        Ty::Fun(a, b) => has_sizes(a) || has_sizes(b),
        Ty::Tuple(ts) => ts.iter().any(has_sizes),
        Ty::Record(fs) => fs.iter().any(|(_, t)| has_sizes(t)),
        Ty::Sum(cs) => cs.payloads().any(has_sizes),
    }
}

/// True if a size of the type is just this name, outside function types.
pub(crate) fn says(ty: &Ty, name: LocalId) -> bool {
    match ty {
        Ty::Array(size, t) => matches!(size, Size::Local(l) if *l == name) || says(t, name),
        Ty::Unique(t) => says(t, name),
        Ty::Tuple(ts) => ts.iter().any(|t| says(t, name)),
        Ty::Record(fs) => fs.iter().any(|(_, t)| says(t, name)),
        _ => false,
    }
}
