//! Sizes that are to be found, and sizes that are computed or unknown.

use super::Check;
use super::report::Site;
use super::term::{Atom, Term};
use super::types::Dim;
use crate::thir::{Expr, LocalId};
use par_runtime::Span;

/// Origin of a size to be found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// A parameter without a declared type has it.
    Parameter,
    /// A size parameter of a function that is used here.
    Implicit,
    /// Of values that are joined.
    Loose,
}

/// A size to be found.
pub(super) struct Meta {
    pub(super) kind: Kind,
    /// Nesting depth of functions at which it belongs: what is local to inner ones cannot be it.
    pub(super) level: u32,
    pub(super) is: Option<Term>,
    /// Source place at which it was found.
    pub(super) at: Span,
    /// Not one size, or none that can be named.
    pub(super) any: bool,
    /// The sizes that are joined.
    pub(super) flows: Vec<(Dim, Site)>,
}

/// A size that is computed.
pub(super) struct Opaque<'p> {
    pub(super) level: u32,
    /// How: the same computation gives the same size.
    pub(super) key: Option<(String, Vec<Term>)>,
    /// Sizes to be found are in it.
    pub(super) open: bool,
    /// Number of computations in it.
    weight: usize,
    pub(super) expr: Option<&'p Expr>,
    /// A number that is it, an array whose outermost size it is.
    pub(super) value_of: Option<LocalId>,
    pub(super) length_of: Option<LocalId>,
    pub(super) span: Span,
}

/// Computations of more parts than this are not compared.
const MAX_WEIGHT: usize = 40;

impl<'p> Check<'p> {
    pub(super) fn meta(&mut self, kind: Kind) -> Term {
        let (level, at) = (self.level, Span::default());
        self.terms.metas.push(Meta { kind, level, is: None, at, any: false, flows: Vec::new() });
        Term::atom(Atom::Meta(self.terms.metas.len() as u32 - 1))
    }

    /// A new unknown size.
    pub(super) fn unknown(&mut self, span: Span) -> Term {
        self.opaque(self.level, None, None, span)
    }

    fn opaque(
        &mut self,
        level: u32,
        key: Option<(String, Vec<Term>)>,
        expr: Option<&'p Expr>,
        span: Span,
    ) -> Term {
        let inner = |atom| match atom {
            Atom::Opaque(o) => (self.terms.opaques[o as usize].open, self.terms.opaques[o as usize].weight),
            Atom::Meta(_) => (true, 0),
            Atom::Local(_) => (false, 0),
        };
        let parts = key.iter().flat_map(|(_, args)| args).flat_map(Term::atoms).map(inner);
        let (open, weight) = parts.fold((false, 1), |(any, sum), (open, weight)| (any || open, sum + weight));
        let key = key.filter(|_| weight <= MAX_WEIGHT);
        self.terms.opaques.push(Opaque {
            level,
            key,
            open,
            weight,
            expr,
            value_of: None,
            length_of: None,
            span,
        });
        Term::atom(Atom::Opaque(self.terms.opaques.len() as u32 - 1))
    }

    /// The result of a computation.
    pub(super) fn computed(&mut self, head: String, args: Vec<Term>, expr: Option<&'p Expr>) -> Term {
        let key = (head, args);
        if let Some(known) = self.terms.computations.get(&key) {
            return Term::atom(Atom::Opaque(*known));
        }
        let level = key.1.iter().map(|t| self.level_of(t)).max().unwrap_or(0);
        let span = expr.map_or(Span::default(), |e| e.span);
        self.terms.computations.insert(key.clone(), self.terms.opaques.len() as u32);
        self.opaque(level, Some(key), expr, span)
    }

    pub(super) fn level_of(&self, term: &Term) -> u32 {
        let level = |atom| match atom {
            Atom::Local(l) => self.bindings.levels.get(&l).copied().unwrap_or(0),
            Atom::Opaque(o) => self.terms.opaques[o as usize].level,
            Atom::Meta(_) => 0,
        };
        term.atoms().map(level).max().unwrap_or(0)
    }

    /// The term with what was found put in; nothing if a part of it is unknown.
    pub(super) fn resolve(&mut self, term: &Term) -> Option<Term> {
        let plain = |atom| match atom {
            Atom::Local(_) => true,
            Atom::Meta(m) => self.terms.metas[m as usize].is.is_none() && !self.terms.metas[m as usize].any,
            Atom::Opaque(o) => !self.terms.opaques[o as usize].open,
        };
        if term.atoms().all(plain) {
            return Some(term.clone());
        }
        super::deep(|| {
            term.replaced(&mut |atom| match atom {
                Atom::Local(_) => Some(Term::atom(atom)),
                Atom::Meta(m) => match &self.terms.metas[m as usize] {
                    Meta { any: true, .. } => None,
                    Meta { is: Some(t), .. } => {
                        let t = t.clone();
                        self.resolve(&t)
                    }
                    _ => Some(Term::atom(atom)),
                },
                Atom::Opaque(o) => self.resolve_computation(o),
            })
        })
    }

    fn resolve_computation(&mut self, o: u32) -> Option<Term> {
        let opaque = &self.terms.opaques[o as usize];
        let expr = opaque.expr;
        match opaque.key.clone().filter(|_| opaque.open) {
            Some((head, args)) => {
                let args = args.iter().map(|t| self.resolve(t)).collect::<Option<_>>()?;
                Some(self.computed(head, args, expr))
            }
            None => Some(Term::atom(Atom::Opaque(o))),
        }
    }

    pub(super) fn resolve_dim(&mut self, dim: &Dim) -> Dim {
        match dim {
            Dim::Is(term) => self.resolve(term).map_or(Dim::Any, Dim::Is),
            other => other.clone(),
        }
    }

    pub(super) fn kind(&self, m: u32) -> Kind {
        self.terms.metas[m as usize].kind
    }
}
