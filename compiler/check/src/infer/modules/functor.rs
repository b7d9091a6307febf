//! Parametric modules: declaration, the check of the body, application.

use super::super::collect::Collected;
use super::super::scope::{BROKEN, Entry, ModId, Module};
use super::{How, Pair, Site};
use par_runtime::Span;
use par_syntax::ast::{Ident, ModExp, SigExp};

/// So many applications may be made in one program. Each is the functor's body once more.
const MAX_INSTANCES: usize = 5_000;

/// A parametric module.
#[derive(Clone, Copy)]
pub(in super::super) struct Functor<'a> {
    /// Scope of the names in it.
    pub(super) scope: ModId,
    /// The parameter; in a functor type it may have no name.
    pub(super) param: Option<&'a Ident>,
    pub(super) sig: &'a SigExp,
    pub(super) body: Body<'a>,
}

/// Rest of a parametric module after the first parameter.
#[derive(Clone, Copy)]
pub(in super::super) enum Body<'a> {
    /// More parameters, the module type of the result, the result.
    Written { params: &'a [(Ident, SigExp)], sig: Option<&'a SigExp>, body: &'a ModExp },
    /// A parameter that is itself parametric: only the module type of its result is known.
    Assumed(&'a SigExp),
    /// Another parametric module through a module type `(x: s) -> r`, and whether `r` hides the types.
    Seen { of: ModId, result: &'a SigExp, seal: bool },
}

/// The parts of an application in the source.
#[derive(Clone, Copy)]
pub(super) struct Places {
    pub(super) function: Span,
    pub(super) argument: Span,
    pub(super) whole: Span,
}

impl<'a> Collected<'a> {
    /// A parametric module. Its body is checked here, once.
    pub(super) fn functor(&mut self, functor: Functor<'a>, prefix: &str) -> ModId {
        if !self.in_instance && !matches!(functor.body, Body::Seen { .. } | Body::Assumed(_)) {
            let before = std::mem::replace(&mut self.in_template, true);
            self.template(functor, prefix);
            self.in_template = before;
        }
        self.functor_value(functor)
    }

    fn functor_value(&mut self, functor: Functor<'a>) -> ModId {
        let library = self.scopes.get(functor.scope).library;
        let id = self.scopes.add(String::new(), Some(functor.scope), library);
        self.scopes.get_mut(id).functor = Some(self.scopes.functors.len());
        self.scopes.functors.push(functor);
        id
    }

    /// Collects the body with a parameter of which nothing is known but its module type.
    fn template(&mut self, functor: Functor<'a>, prefix: &str) {
        let holder = self.holder(functor, prefix);
        let param = functor.param.map_or_else(String::new, |p| format!("{}.", p.name));
        let site = Site { at: functor.param.map_or(Span::default(), |p| p.span), prefix: &param };
        let assumed = self.see_through(functor.sig, Pair::same(holder), How::Assume, site);
        self.bind_param(holder, functor.param, assumed.map_or(BROKEN, |pair| pair.inner));
        let Body::Written { params, sig, body } = functor.body else { return };
        match params.split_first() {
            Some(next) => self.template(after(holder, next, sig, body), prefix),
            None => _ = self.body(holder, sig, body, prefix),
        }
    }

    /// `f x`.
    pub(super) fn apply(&mut self, f: ModId, arg: ModId, at: Places, prefix: &str) -> ModId {
        if f == BROKEN || arg == BROKEN {
            return BROKEN;
        }
        if let Some(known) = self.instances.get(&(f, arg)) {
            return *known;
        }
        let Some(index) = self.scopes.get(f).functor else {
            self.not_parametric(at);
            return BROKEN;
        };
        self.applications += 1;
        if self.applications > MAX_INSTANCES {
            if self.applications == MAX_INSTANCES + 1 {
                self.too_many_instances(at.whole, MAX_INSTANCES);
            }
            return BROKEN;
        }
        let hidden = self.hidden;
        let functor = self.scopes.functors[index];
        let result = super::super::deep(|| self.instance(functor, arg, at, prefix));
        // New abstract types are different ones in each application.
        if self.hidden == hidden && result != BROKEN {
            self.instances.insert((f, arg), result);
        }
        result
    }

    fn instance(&mut self, functor: Functor<'a>, arg: ModId, at: Places, prefix: &str) -> ModId {
        let holder = self.holder(functor, prefix);
        let param = functor.param.map_or_else(String::new, |p| format!("{}.", p.name));
        let site = Site { at: at.argument, prefix: &param };
        let Some(view) = self.see_through(functor.sig, Pair::same(holder), How::View(arg), site) else {
            return BROKEN;
        };
        self.bind_param(holder, functor.param, view.inner);
        let before = std::mem::replace(&mut self.in_instance, true);
        let result = self.instance_body(functor, holder, view.inner, at, prefix);
        self.in_instance = before;
        result
    }

    fn instance_body(
        &mut self,
        functor: Functor<'a>,
        holder: ModId,
        arg: ModId,
        at: Places,
        prefix: &str,
    ) -> ModId {
        let site = Site { at: at.whole, prefix };
        let through = |c: &mut Self, sig, how| c.see_through(sig, Pair::same(holder), how, site);
        match functor.body {
            Body::Written { params, sig, body } => match params.split_first() {
                Some(next) => self.functor_value(after(holder, next, sig, body)),
                None => self.body(holder, sig, body, prefix),
            },
            Body::Assumed(result) => through(self, result, How::Assume).map_or(BROKEN, |pair| pair.outer),
            Body::Seen { of, result, seal } => {
                let inner = self.apply(of, arg, at, prefix);
                if inner == BROKEN {
                    return BROKEN;
                }
                let how = if seal { How::Seal(inner) } else { How::View(inner) };
                through(self, result, how).map_or(BROKEN, |pair| pair.outer)
            }
        }
    }

    fn body(&mut self, holder: ModId, sig: Option<&'a SigExp>, body: &'a ModExp, prefix: &str) -> ModId {
        let id = self.mod_exp(holder, body, prefix);
        let site = Site { at: super::span_of(body), prefix };
        sig.map_or(id, |sig| self.ascribe(id, sig, holder, site))
    }

    /// The module in which the parameter stands.
    fn holder(&mut self, functor: Functor<'a>, prefix: &str) -> ModId {
        let library = self.scopes.get(functor.scope).library;
        self.scopes.add(prefix.to_string(), Some(functor.scope), library)
    }

    fn bind_param(&mut self, holder: ModId, param: Option<&'a Ident>, id: ModId) {
        if let Some(param) = param {
            let entry = Entry { id, span: param.span, end: param.span.end, local: false };
            let Module { modules, .. } = self.scopes.get_mut(holder);
            modules.insert(param.name.clone(), entry);
        }
    }
}

/// Rest of a parametric module of several parameters after the first.
fn after<'a>(
    holder: ModId,
    ((param, of), params): (&'a (Ident, SigExp), &'a [(Ident, SigExp)]),
    sig: Option<&'a SigExp>,
    body: &'a ModExp,
) -> Functor<'a> {
    let body = Body::Written { params, sig, body };
    Functor { scope: holder, param: Some(param), sig: of, body }
}
