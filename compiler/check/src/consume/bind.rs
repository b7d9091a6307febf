//! Patterns: new names, and the roots that they introduce.

use super::Check;
use super::alias::{Alias, Code, Function, Root, Roots, Signature};
use crate::thir::{LocalId, Pat, PatKind, Ty};
use par_runtime::Span;
use std::rc::Rc;

/// Origin of a root.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A `let`, a case, a loop: free to be consumed.
    Own,
    /// A parameter of a function.
    Param,
    /// An argument that a function holds until it is called.
    Held,
    /// A definition that is a value.
    Global,
}

/// Facts about a root.
#[derive(Clone)]
pub struct RootInfo {
    /// For messages: `xs`, `t.0`.
    pub name: String,
    /// The name that introduced it.
    pub owner: Option<LocalId>,
    /// Source place that introduces it.
    pub span: Span,
    pub kind: Kind,
    /// Of a parameter: written with `*`.
    pub unique: bool,
    /// Part of an accumulator: there are no copies.
    pub accumulator: bool,
}

/// A local in scope.
pub struct Bound {
    pub alias: Alias,
    /// Source place that introduces its name.
    pub span: Span,
}

impl Check<'_> {
    /// Facts about a root.
    pub(super) fn info(&self, root: Root) -> &RootInfo {
        &self.roots[root.0 as usize]
    }

    /// The root that will be introduced next.
    pub(super) fn mark(&self) -> Root {
        Root(self.roots.len() as u32)
    }

    pub(super) fn new_root(&mut self, info: RootInfo) -> Root {
        let root = self.mark();
        self.roots.push(info);
        root
    }

    /// Binds a pattern to something unknown: parameters of functions, the state of loops. Every leaf gets a root.
    pub(super) fn open(&mut self, pat: &Pat, kind: Kind, unique: bool) -> Alias {
        let unique = unique || matches!(pat.ty, Ty::Unique(_));
        match &pat.kind {
            PatKind::Literal(_) | PatKind::String(_) => Alias::Scalar,
            PatKind::Wildcard => self.unknown(&pat.ty, &named("_", None, pat.span, kind, unique)),
            PatKind::Var(id) => {
                let name = &self.program.locals[id.0 as usize];
                let alias = self.unknown(&pat.ty, &named(name, Some(*id), pat.span, kind, unique));
                self.locals.insert(*id, Bound { alias: alias.clone(), span: pat.span });
                alias
            }
            PatKind::Tuple(ps) => Alias::Parts(ps.iter().map(|p| self.open(p, kind, unique)).collect()),
            PatKind::Record(fs) => Alias::Parts(fs.iter().map(|(_, p)| self.open(p, kind, unique)).collect()),
            PatKind::Constr(_, ps) => {
                let root = self.new_root(named("_", None, pat.span, kind, unique));
                let alias = Alias::Array(Roots::from([root]));
                ps.iter().for_each(|p| self.bind(p, &alias));
                alias
            }
        }
    }

    /// A value of a type with a root at every leaf; `info` describes the whole.
    fn unknown(&mut self, ty: &Ty, info: &RootInfo) -> Alias {
        match ty {
            Ty::Prim(_) => Alias::Scalar,
            Ty::Unique(t) => self.unknown(t, &named(&info.name, info.owner, info.span, info.kind, true)),
            Ty::Tuple(ts) => {
                let one = |(i, t)| self.unknown(t, &component(info, &i));
                Alias::Parts(ts.iter().enumerate().map(one).collect())
            }
            Ty::Record(fs) => {
                Alias::Parts(fs.iter().map(|(f, t)| self.unknown(t, &field(info, f))).collect())
            }
            Ty::Array(..) | Ty::Sum(_) | Ty::Var(_) | Ty::Meta(_) | Ty::Abstract(..) => {
                Alias::Array(Roots::from([self.new_root(info.clone())]))
            }
            Ty::Fun(..) => {
                let root = self.new_root(info.clone());
                let signature = Rc::new(self.declared(ty, root, info.span));
                Alias::Function(Roots::from([root]), Function::bare(signature))
            }
        }
    }

    /// Signature of a function of which only the type is known: its result may share all that it does not consume.
    fn declared(&mut self, ty: &Ty, function: Root, span: Span) -> Signature {
        let (mut ty, mut params) = (ty, Vec::new());
        while let Ty::Fun(a, r) = ty {
            params.push(self.unknown(a, &named("_", None, span, Kind::Param, false)));
            ty = r;
        }
        let mut shared = self.kept(&params);
        shared.insert(function);
        Signature { params, result: Alias::Array(shared).fit(ty).masked(ty), code: Code::Unknown }
    }

    /// Binds a pattern to a value. What shares nothing with others gets roots of its own.
    pub(super) fn bind(&mut self, pat: &Pat, value: &Alias) {
        match &pat.kind {
            PatKind::Wildcard | PatKind::Literal(_) | PatKind::String(_) => {}
            PatKind::Var(id) => {
                let name = &self.program.locals[id.0 as usize];
                let info = named(name, Some(*id), pat.span, Kind::Own, false);
                let alias = self.rooted(value.clone().fit(&pat.ty), &pat.ty, &info);
                self.locals.insert(*id, Bound { alias, span: pat.span });
            }
            PatKind::Tuple(ps) => ps.iter().enumerate().for_each(|(i, p)| self.bind(p, &value.part(i))),
            PatKind::Record(fs) => {
                fs.iter().enumerate().for_each(|(i, (_, p))| self.bind(p, &value.part(i)));
            }
            PatKind::Constr(_, ps) => {
                let inside = Alias::Array(value.flat());
                ps.iter().for_each(|p| self.bind(p, &inside));
            }
        }
    }

    fn rooted(&mut self, value: Alias, ty: &Ty, info: &RootInfo) -> Alias {
        match (value, ty) {
            (value, Ty::Unique(t)) => self.rooted(value, t, info),
            (Alias::Array(roots), _) if roots.is_empty() => {
                Alias::Array(Roots::from([self.new_root(info.clone())]))
            }
            (Alias::Parts(parts), Ty::Record(fs)) => {
                let parts = parts.into_iter().zip(fs);
                Alias::Parts(parts.map(|(p, (f, t))| self.rooted(p, t, &field(info, f))).collect())
            }
            (Alias::Parts(parts), Ty::Tuple(ts)) => {
                let parts = parts.into_iter().zip(ts).enumerate();
                Alias::Parts(parts.map(|(i, (p, t))| self.rooted(p, t, &component(info, &i))).collect())
            }
            (other, _) => other,
        }
    }
}

/// A component of a tuple or record.
fn component(info: &RootInfo, i: &dyn std::fmt::Display) -> RootInfo {
    RootInfo { name: format!("{}.{i}", info.name), ..info.clone() }
}

/// A field of a record; those of an accumulator have no names.
fn field(info: &RootInfo, f: &str) -> RootInfo {
    match f.starts_with('#') {
        true => RootInfo { accumulator: true, ..info.clone() },
        false => component(info, &f),
    }
}

fn named(name: &str, owner: Option<LocalId>, span: Span, kind: Kind, unique: bool) -> RootInfo {
    RootInfo { name: name.to_string(), owner, span, kind, unique, accumulator: false }
}
