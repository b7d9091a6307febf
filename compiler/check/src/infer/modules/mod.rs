//! Module types and parametric modules.
//!
//! A module type has no meaning of its own: it is *seen through*, each time giving a new module with one definition per
//! specification. What stands behind the specifications depends on why ([`How`]):
//!
//! ```text
//! module type s = { type t  val f : t -> t }
//!
//! module m : s = { type t = i32  def f x = x }      sealed: m.t is a new type, m.f the inner f at type m.t -> m.t
//! module g (p: s) = { def h (x: p.t) = p.f x }      assumed, to check the body once: p.t is unknown, p.f has no body
//! module n = g m                                    viewed: in this instance p.t is m.t and p.f is m.f
//! ```
//!
//! A definition of a view is a function of its own with the type of the specification, whose body calls the function behind
//! it (`views`); lowering inlines it like any other. A parametric module is a closure ([`Functor`]); an application
//! collects its body once more, as an *instance*. Definitions of instances are checked only if something that is always
//! checked mentions them, and are not checked for errors that their template has: an instance that nobody uses costs little.
//! An application without new abstract types gives the same instance every time.

mod errors;
mod functor;
mod signature;
mod sizes;
mod types;
mod views;

pub(super) use functor::Functor;
pub(super) use types::TypeMatch;
pub(super) use views::{Demand, Head, Target, View};

use super::collect::Collected;
use super::scope::{BROKEN, Entry, ModId, SigId};
use par_runtime::Span;
use par_syntax::ast::{Ident, ModExp, SigExp};

/// A module type under a name.
pub(super) struct SigDef<'a> {
    pub(super) exp: &'a SigExp,
    /// Scope of the names in it.
    pub(super) scope: ModId,
}

/// Scopes of the types of a module type: `inner` has the representations of hidden types, `outer` the hidden types. The
/// two differ only where something is sealed.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Pair {
    inner: ModId,
    outer: ModId,
}

impl Pair {
    fn same(module: ModId) -> Pair {
        Pair { inner: module, outer: module }
    }
}

/// Definition behind a module type.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum How {
    /// Nothing: the parameter of a parametric module whose body is checked.
    Assume,
    /// A module, whose types stay what they are.
    View(ModId),
    /// A module, whose types are hidden unless the module type says what they are.
    Seal(ModId),
}

/// Source place and purpose of a use of a module type.
#[derive(Clone, Copy)]
pub(super) struct Site<'s> {
    /// The module that is given the module type.
    pub(super) at: Span,
    /// Before the names of what is made.
    pub(super) prefix: &'s str,
}

impl<'a> Collected<'a> {
    /// `module name = body`, possibly with parameters and a module type.
    pub(super) fn module_dec(
        &mut self,
        module: ModId,
        (name, params): (&'a Ident, &'a [(Ident, SigExp)]),
        sig: Option<&'a SigExp>,
        body: &'a ModExp,
        local: bool,
    ) {
        let scope = self.scopes.get(module);
        // The library may declare a module in several places.
        if let (true, Some(existing), ModExp::Struct(decs, _)) =
            (scope.library, scope.modules.get(&name.name), body)
        {
            let id = existing.id;
            return self.decs(id, decs);
        }
        let prefix = format!("{}{}.", scope.prefix, name.name);
        let id = match params.split_first() {
            None => {
                let id = self.mod_exp(module, body, &prefix);
                sig.map_or(id, |sig| self.ascribe(id, sig, module, Site { at: name.span, prefix: &prefix }))
            }
            Some(((param, of), rest)) => {
                let body = functor::Body::Written { params: rest, sig, body };
                let functor = Functor { scope: module, param: Some(param), sig: of, body };
                self.functor(functor, &prefix)
            }
        };
        let entry = Entry { id, span: name.span, end: span_of(body).end, local };
        self.apart(name, self.scopes.get(module).values.get(&name.name).map(|e| e.span));
        self.enter(name, entry, |m| &mut m.modules, module);
    }

    /// `module type name = sig`. It is looked into once, so that what is wrong with it is known even if nobody uses it.
    pub(super) fn module_type(&mut self, module: ModId, name: &'a Ident, exp: &'a SigExp, local: bool) {
        let id = SigId(self.scopes.sigs.len() as u32);
        self.scopes.sigs.push(SigDef { exp, scope: module });
        let entry = Entry { id, span: name.span, end: signature::sig_span(exp).end, local };
        self.enter(name, entry, |m| &mut m.sigs, module);
        if self.in_instance || self.scopes.get(module).library {
            return;
        }
        self.open_sigs.push(id);
        let before = std::mem::replace(&mut self.in_template, true);
        let site = Site { at: name.span, prefix: &format!("{}.", name.name) };
        self.see_through(exp, Pair::same(module), How::Assume, site);
        self.in_template = before;
        self.open_sigs.pop();
    }

    /// The module that a module expression stands for. Names of what it defines begin with `prefix`.
    pub(super) fn mod_exp(&mut self, module: ModId, exp: &'a ModExp, prefix: &str) -> ModId {
        super::deep(|| match exp {
            ModExp::Name(name) => {
                let found = self.scopes.find_module(&super::env::Env::<()>::default(), module, name);
                found.unwrap_or_else(|| {
                    self.unknown_module(module, name);
                    BROKEN
                })
            }
            ModExp::Struct(decs, _) => {
                let library = self.scopes.get(module).library;
                let id = self.scopes.add(prefix.to_string(), Some(module), library);
                self.decs(id, decs);
                id
            }
            ModExp::Apply(f, arg, span) => {
                let (function, given) = (self.mod_exp(module, f, prefix), self.mod_exp(module, arg, prefix));
                let at = functor::Places { function: span_of(f), argument: span_of(arg), whole: *span };
                self.apply(function, given, at, prefix)
            }
            ModExp::Lambda(param, sig, body, _) => {
                let body = functor::Body::Written { params: &[], sig: None, body };
                let functor = Functor { scope: module, param: Some(param), sig, body };
                self.functor(functor, prefix)
            }
            ModExp::Import(path, span) => self.import(path, *span).unwrap_or(BROKEN),
            ModExp::Ascribe(inner, sig, _) => {
                let id = self.mod_exp(module, inner, prefix);
                self.ascribe(id, sig, module, Site { at: span_of(inner), prefix })
            }
        })
    }

    /// `m : s`.
    fn ascribe(&mut self, of: ModId, sig: &'a SigExp, scope: ModId, site: Site) -> ModId {
        if of == BROKEN {
            return BROKEN;
        }
        self.see_through(sig, Pair::same(scope), How::Seal(of), site).map_or(BROKEN, |pair| pair.outer)
    }
}

/// The place of a module expression.
pub(super) fn span_of(exp: &ModExp) -> Span {
    match exp {
        ModExp::Name(name) => name.span,
        ModExp::Struct(_, span)
        | ModExp::Apply(_, _, span)
        | ModExp::Import(_, span)
        | ModExp::Ascribe(_, _, span)
        | ModExp::Lambda(_, _, _, span) => *span,
    }
}
