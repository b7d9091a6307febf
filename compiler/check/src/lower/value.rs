//! Compile-time values: what an expression evaluates to while lowering.
//!
//! Tuples and functions exist only here. An array of tuples is one [`Val::Array`] around a tuple of leaves, each leaf being
//! a CORE variable whose type has all the enclosing dimensions:
//!
//! ```text
//! [n](i32, []f32)   =   Array(Size n, Tuple [Leaf a, Array(Seg s, Leaf b)])     a: [n]i32   s: [n]desc   b: [n][s]f32
//! ```
//!
//! A value of a sum type is a tuple: the number of its constructor (in the order of their names), then the slots that the
//! constructors' payloads share (see [`Layout`]). A slot that the constructor does not use has its type's neutral value: zero,
//! `false`, an array without rows. So arrays of sums are columns like all others:
//!
//! ```text
//! [n](#a i32 | #b [] f32 | #c i32)   Array(Size n, Tuple [Leaf tag, Leaf x, Array(Seg s, Leaf y)])
//! ```
//!
//! The outermost dimension of a value is always a `Size`; `Seg` occurs below it only.

use super::env::Env;
use super::layout::Layout;
use crate::thir::{DefId, Expr, LocalId, Pat, Ty, TyVar};
use par_ir::{Atom, Dim, Prim, Span, Var};
use std::rc::Rc;

/// A value.
#[derive(Clone)]
pub(super) enum Val<'p> {
    /// A scalar outside any array.
    Scalar(Atom, Prim),
    Tuple(Vec<Val<'p>>),
    /// Fields sorted by name.
    Record(Vec<(String, Val<'p>)>),
    Array(Dim, Box<Val<'p>>),
    /// Below an `Array` only: the array variable that holds this component of all elements.
    Leaf(Var, Prim),
    Fun(Rc<Fun<'p>>),
}

/// A function value.
pub(super) enum Fun<'p> {
    Closure(Closure<'p>),
    Def(Defined<'p>),
    /// A built-in operator.
    Op(&'p str),
    /// Too few arguments so far.
    Partial(Rc<Fun<'p>>, Vec<Val<'p>>),
    /// A function whose declared type has sizes.
    Sized(Sized<'p>),
    /// A parameter of a definition that nobody calls, or a hole.
    Unknown(Unknown<'p>),
    /// Part of a constructor that a value does not have.
    Absent,
}

/// A definition as a function.
#[derive(Clone)]
pub(super) struct Defined<'p> {
    pub id: DefId,
    /// The types in place of its type parameters.
    pub types: Rc<Vec<Shape>>,
    /// Sizes that the context of the use says, and no argument.
    pub sizes: Vec<(LocalId, Val<'p>)>,
}

/// A function of which only the type is known.
pub(super) struct Unknown<'p> {
    pub ty: &'p Ty,
    /// Environment of the type parameters.
    pub env: Env<'p>,
    /// A hole's, which fails before it is called; else what is made of it is thrown away.
    pub runs: bool,
}

/// A function with the type it was declared at, whose sizes its arguments and results must have.
pub(super) struct Sized<'p> {
    pub fun: Rc<Fun<'p>>,
    pub ty: &'p Ty,
    /// Environment of the sizes.
    pub env: Env<'p>,
    /// Declared name, for messages, and where.
    pub name: String,
    pub span: Span,
}

/// A lambda or local function with the environment it was made in.
pub(super) struct Closure<'p> {
    /// Type parameters of its own.
    pub type_params: &'p [TyVar],
    /// Its own name and sizes, for a recursive function.
    pub own: Option<Own<'p>>,
    pub params: &'p [Pat],
    pub ret: Option<&'p Ty>,
    pub body: &'p Expr,
    pub env: Env<'p>,
}

impl<'p> Closure<'p> {
    /// The same function in another environment.
    pub fn within(&self, env: Env<'p>) -> Closure<'p> {
        let Closure { type_params, own, params, ret, body, .. } = *self;
        Closure { type_params, own, params, ret, body, env }
    }
}

/// A recursive local function's own name and sizes.
#[derive(Clone, Copy)]
pub(super) struct Own<'p> {
    pub name: LocalId,
    /// Place of the name.
    pub span: Span,
    /// Size parameters, bound anew by each call.
    pub sizes: &'p [LocalId],
}

/// A type with its type variables replaced and its sizes evaluated.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Shape {
    Prim(Prim),
    Tuple(Vec<Shape>),
    Record(Vec<(String, Shape)>),
    Array(Extent, Box<Shape>),
    /// A function.
    Fun,
    /// A sum type.
    Sum(Rc<Layout>),
    /// A type that inference left open.
    Unknown,
}

/// A size in a [`Shape`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Extent {
    /// Not declared.
    Any,
    /// Declared by a name that is not bound yet: some uniform size.
    Named,
    /// Declared and known.
    Is(Atom),
}

impl Shape {
    /// Number of type constructors that it is made of.
    pub fn parts(&self) -> usize {
        1 + match self {
            Shape::Tuple(ts) => ts.iter().map(Shape::parts).sum(),
            Shape::Record(fs) => fs.iter().map(|(_, t)| t.parts()).sum::<usize>(),
            Shape::Array(_, t) => t.parts(),
            Shape::Sum(l) => 1 + l.slots().iter().map(|s| s.shape.parts()).sum::<usize>(),
            Shape::Prim(_) | Shape::Fun | Shape::Unknown => 0,
        }
    }

    /// Without any sizes.
    pub fn erased(&self) -> Shape {
        match self {
            Shape::Tuple(ts) => Shape::Tuple(ts.iter().map(Shape::erased).collect()),
            Shape::Record(fs) => Shape::Record(fs.iter().map(|(n, t)| (n.clone(), t.erased())).collect()),
            Shape::Array(_, t) => Shape::Array(Extent::Any, Box::new(t.erased())),
            other => other.clone(),
        }
    }
}

impl<'p> Val<'p> {
    /// An `i64`.
    pub fn i64(a: Atom) -> Val<'p> {
        Val::Scalar(a, Prim::I64)
    }

    /// A bool.
    pub fn bool(a: Atom) -> Val<'p> {
        Val::Scalar(a, Prim::Bool)
    }

    /// An array of scalars.
    pub fn vector(size: Atom, v: Var, prim: Prim) -> Val<'p> {
        Val::Array(Dim::Size(size), Box::new(Val::Leaf(v, prim)))
    }

    /// The dimensions, depth first, each array's before its elements'.
    pub fn dims(&self) -> Vec<Dim> {
        let mut out = Vec::new();
        self.visit(&mut |v| {
            if let Val::Array(d, _) = v {
                out.push(*d);
            }
        });
        out
    }

    /// The scalars and array variables, in order.
    pub fn leaves(&self) -> Vec<(Atom, Prim)> {
        let mut out = Vec::new();
        self.visit(&mut |v| match v {
            Val::Scalar(a, p) => out.push((*a, *p)),
            Val::Leaf(v, p) => out.push((Atom::Var(*v), *p)),
            _ => {}
        });
        out
    }

    /// Its type, without sizes. Of a sum it is that of the tuple which represents it.
    pub fn shape(&self) -> Shape {
        match self {
            Val::Scalar(_, p) | Val::Leaf(_, p) => Shape::Prim(*p),
            Val::Tuple(vs) => Shape::Tuple(vs.iter().map(Val::shape).collect()),
            Val::Record(fs) => Shape::Record(fs.iter().map(|(n, v)| (n.clone(), v.shape())).collect()),
            Val::Array(_, e) => Shape::Array(Extent::Any, Box::new(e.shape())),
            Val::Fun(_) => Shape::Fun,
        }
    }

    /// No arrays and no functions inside.
    pub fn is_scalar(&self) -> bool {
        let mut scalar = true;
        self.visit(&mut |v| scalar &= !matches!(v, Val::Array(..) | Val::Fun(_)));
        scalar
    }

    /// A function occurs inside.
    pub fn has_fun(&self) -> bool {
        let mut found = false;
        self.visit(&mut |v| found |= matches!(v, Val::Fun(_)));
        found
    }

    /// Calls `f` on this value and on its parts, depth first.
    pub fn visit(&self, f: &mut dyn FnMut(&Val<'p>)) {
        f(self);
        match self {
            Val::Tuple(vs) => vs.iter().for_each(|v| v.visit(f)),
            Val::Record(fs) => fs.iter().for_each(|(_, v)| v.visit(f)),
            Val::Array(_, v) => v.visit(f),
            Val::Scalar(..) | Val::Leaf(..) | Val::Fun(_) => {}
        }
    }

    /// The same tuple structure with other scalars, for values without arrays and for elements of arrays.
    pub fn refill(&self, atoms: &mut dyn Iterator<Item = Atom>) -> Val<'p> {
        match self {
            Val::Scalar(a, p) => Val::Scalar(atoms.next().unwrap_or(*a), *p),
            Val::Leaf(_, p) => atoms.next().map_or_else(|| self.clone(), |a| Val::Scalar(a, *p)),
            Val::Tuple(vs) => Val::Tuple(vs.iter().map(|v| v.refill(atoms)).collect()),
            Val::Record(fs) => Val::Record(fs.iter().map(|(n, v)| (n.clone(), v.refill(atoms))).collect()),
            other => other.clone(),
        }
    }
}
