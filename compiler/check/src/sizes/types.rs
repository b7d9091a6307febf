//! Types with sizes: what an expression's type is once all sizes that can be said are in it.

use super::term::{Atom, Term};
use crate::thir::{LocalId, TyVar};
use par_ir::hash::HashMap;
use std::rc::Rc;

/// Size of one dimension.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Dim {
    /// Nothing is known of it: of rows perhaps not even that they have one length.
    Any,
    /// In the result of a function: unknown, a new one at each application, but one for all mentions of the number.
    Exists(u32),
    Is(Term),
}

/// A type. Cloning is cheap.
#[derive(Clone, Debug)]
pub(super) enum Type {
    /// Without sizes: a scalar, or something of which no sizes are looked at.
    Leaf,
    Var(TyVar),
    Tuple(Rc<Vec<Type>>),
    Record(Rc<Vec<(String, Type)>>),
    Sum(Rc<Vec<(String, Vec<Type>)>>),
    Array(Dim, Rc<Type>),
    Fun(Rc<Arrow>),
}

/// A function type.
#[derive(Debug)]
pub(super) struct Arrow {
    /// The parameter's name, if it is an integer: sizes of the result may mention it.
    pub(super) name: Option<LocalId>,
    pub(super) param: Type,
    pub(super) ret: Type,
}

impl Type {
    pub(super) fn array(dim: Dim, element: Type) -> Type {
        Type::Array(dim, Rc::new(element))
    }

    pub(super) fn fun(name: Option<LocalId>, param: Type, ret: Type) -> Type {
        Type::Fun(Rc::new(Arrow { name, param, ret }))
    }

    /// With every dimension replaced.
    pub(super) fn with_dims(&self, dim: &mut dyn FnMut(&Dim) -> Dim) -> Type {
        self.rewritten(&mut |_| None, dim)
    }

    /// With every dimension replaced, and type parameters.
    pub(super) fn rewritten(
        &self,
        var: &mut dyn FnMut(TyVar) -> Option<Type>,
        dim: &mut dyn FnMut(&Dim) -> Dim,
    ) -> Type {
        super::deep(|| match self {
            Type::Leaf => Type::Leaf,
            Type::Var(v) => var(*v).unwrap_or(Type::Var(*v)),
            Type::Tuple(ts) => Type::Tuple(Rc::new(ts.iter().map(|t| t.rewritten(var, dim)).collect())),
            Type::Record(fs) => {
                Type::Record(Rc::new(fs.iter().map(|(f, t)| (f.clone(), t.rewritten(var, dim))).collect()))
            }
            Type::Sum(cs) => {
                let mut payload = |ts: &[Type]| ts.iter().map(|t| t.rewritten(var, dim)).collect();
                Type::Sum(Rc::new(cs.iter().map(|(c, ts)| (c.clone(), payload(ts))).collect()))
            }
            Type::Array(d, t) => {
                let d = dim(d);
                Type::array(d, t.rewritten(var, dim))
            }
            Type::Fun(a) => {
                let param = a.param.rewritten(var, dim);
                Type::fun(a.name, param, a.ret.rewritten(var, dim))
            }
        })
    }

    /// The terms of its dimensions, in order.
    pub(super) fn terms(&self, each: &mut dyn FnMut(&Term)) {
        super::deep(|| match self {
            Type::Leaf | Type::Var(_) => {}
            Type::Tuple(ts) => ts.iter().for_each(|t| t.terms(each)),
            Type::Record(fs) => fs.iter().for_each(|(_, t)| t.terms(each)),
            Type::Sum(cs) => cs.iter().flat_map(|(_, ts)| ts).for_each(|t| t.terms(each)),
            Type::Array(d, t) => {
                if let Dim::Is(term) = d {
                    each(term);
                }
                t.terms(each);
            }
            Type::Fun(a) => {
                a.param.terms(each);
                a.ret.terms(each);
            }
        })
    }

    /// The element of an array.
    pub(super) fn element(&self) -> Type {
        match self {
            Type::Array(_, t) => (**t).clone(),
            _ => Type::Leaf,
        }
    }

    /// The outermost size.
    pub(super) fn dim(&self) -> Dim {
        match self {
            Type::Array(d, _) => d.clone(),
            _ => Dim::Any,
        }
    }

    /// A field, or a component by its number.
    pub(super) fn field(&self, name: &str) -> Type {
        let found = match self {
            Type::Tuple(ts) => name.parse::<usize>().ok().and_then(|i| ts.get(i)),
            Type::Record(fs) => fs.iter().find(|(f, _)| f == name).map(|(_, t)| t),
            _ => None,
        };
        found.cloned().unwrap_or(Type::Leaf)
    }

    /// With another type for a field.
    pub(super) fn with_field(&self, path: &[String], new: Type) -> Type {
        let Some((name, rest)) = path.split_first() else { return new };
        let new = self.field(name).with_field(rest, new);
        match self {
            Type::Tuple(ts) => {
                let mut ts = ts.to_vec();
                if let Some(t) = name.parse::<usize>().ok().and_then(|i| ts.get_mut(i)) {
                    *t = new;
                }
                Type::Tuple(Rc::new(ts))
            }
            Type::Record(fs) => {
                let mut fs = fs.to_vec();
                fs.iter_mut().filter(|(f, _)| f == name).for_each(|(_, t)| *t = new.clone());
                Type::Record(Rc::new(fs))
            }
            other => other.clone(),
        }
    }

    /// The payload of a constructor.
    pub(super) fn payload(&self, name: &str) -> Vec<Type> {
        match self {
            Type::Sum(cs) => cs.iter().find(|(c, _)| c == name).map(|(_, ts)| ts.clone()).unwrap_or_default(),
            _ => Vec::new(),
        }
    }
}

/// A function or value that is used at several sizes.
#[derive(Debug)]
pub(super) struct Scheme {
    /// Sizes that each use has for itself.
    pub(super) sizes: Vec<LocalId>,
    /// Of those, the ones that no parameter's type says: what is around a use must say them.
    pub(super) implicit: Vec<LocalId>,
    /// Sizes left open by inference; each use has its own.
    pub(super) metas: Vec<u32>,
    pub(super) type_params: Vec<TyVar>,
    pub(super) ty: Type,
}

/// Substitution of names and open sizes, while a type is copied.
#[derive(Default)]
pub(super) struct Names {
    pub(super) locals: HashMap<LocalId, Option<Term>>,
    pub(super) metas: HashMap<u32, Term>,
}

impl Names {
    pub(super) fn get(&self, atom: Atom) -> Option<Option<Term>> {
        match atom {
            Atom::Local(l) => self.locals.get(&l).cloned(),
            Atom::Meta(m) => self.metas.get(&m).cloned().map(Some),
            Atom::Opaque(_) => None,
        }
    }
}
