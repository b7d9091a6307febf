//! Module types seen through: a new module with what the specifications name.

use super::super::collect::Collected;
use super::super::mentions::{Place, sizes, unused_sizes};
use super::super::scope::{BROKEN, Entry, Found, Lifted, Meaning, ModId, Module, SigId, TypeDef, TypeId};
use super::functor::{Body, Functor};
use super::{How, Pair, Site, Target, TypeMatch, View};
use crate::thir::DefId;
use par_ir::hash::HashMap;
use par_runtime::Span;
use par_syntax::ast::{Ident, Name, SigExp, Spec, TypeExp, TypeParam};
use std::cell::Cell;
use std::rc::Rc;

/// `with m.t 'a = …`.
#[derive(Clone)]
struct Refinement<'a> {
    /// The name from here on: `m`, `t`.
    path: Vec<String>,
    params: &'a [TypeParam],
    ty: &'a TypeExp,
    /// Scopes of the names in the type.
    scope: Pair,
    used: Rc<Cell<bool>>,
}

/// Member that a module lacks.
pub(super) struct Missing {
    /// `value`, `type`, `module`.
    pub(super) what: &'static str,
    pub(super) name: String,
    pub(super) span: Span,
}

/// The walk over one module type.
pub(super) struct Through<'a, 's> {
    pub(super) how: How,
    pub(super) site: Site<'s>,
    with: Vec<Refinement<'a>>,
    missing: Vec<Missing>,
    /// Before the names in `missing`: `m.`.
    path: String,
}

impl<'a> Collected<'a> {
    /// A module type in which names are looked up in `scope`, and what stands behind it. None if that was reported wrong.
    pub(super) fn see_through(&mut self, sig: &'a SigExp, scope: Pair, how: How, site: Site) -> Option<Pair> {
        let mut t = Through { how, site, with: Vec::new(), missing: Vec::new(), path: String::new() };
        let pair = self.signature(sig, scope, &mut t);
        if !t.missing.is_empty() {
            self.lacks(&t, sig);
            return None;
        }
        pair
    }

    fn signature(&mut self, sig: &'a SigExp, scope: Pair, t: &mut Through<'a, '_>) -> Option<Pair> {
        super::super::deep(|| match sig {
            SigExp::Name(name) => {
                let Some(id) = self.scopes.find_sig(scope.inner, name) else {
                    self.unknown_module_type(scope.inner, name);
                    return None;
                };
                self.named(id, name, t)
            }
            SigExp::Specs(specs, span) => self.specs(specs, *span, scope, t),
            SigExp::With(inner, name, params, ty, span) => {
                let path = name.path.iter().chain([&name.base]).cloned().collect();
                let used = Rc::new(Cell::new(false));
                t.with.push(Refinement { path, params, ty, scope, used: used.clone() });
                let pair = self.signature(inner, scope, t);
                t.with.pop();
                if pair.is_some() && !used.get() {
                    self.nothing_to_refine(name, *span);
                    return None;
                }
                pair
            }
            SigExp::Arrow(param, of, result, span) => self.arrow(param.as_ref(), of, result, *span, scope, t),
        })
    }

    fn named(&mut self, id: SigId, name: &Name, t: &mut Through<'a, '_>) -> Option<Pair> {
        if self.open_sigs.contains(&id) {
            self.recursive_module_type(name);
            return None;
        }
        let (exp, scope) = (self.scopes.sigs[id.0 as usize].exp, self.scopes.sigs[id.0 as usize].scope);
        self.open_sigs.push(id);
        let pair = self.signature(exp, Pair::same(scope), t);
        self.open_sigs.pop();
        pair
    }

    /// `(x: s) -> r`.
    fn arrow(
        &mut self,
        param: Option<&'a Ident>,
        sig: &'a SigExp,
        result: &'a SigExp,
        span: Span,
        scope: Pair,
        t: &mut Through<'a, '_>,
    ) -> Option<Pair> {
        let body = match t.how {
            How::Assume => Body::Assumed(result),
            How::View(of) | How::Seal(of) => {
                if self.scopes.get(of).functor.is_none() {
                    self.must_be_parametric(t.site.at, span);
                    return None;
                }
                Body::Seen { of, result, seal: matches!(t.how, How::Seal(_)) }
            }
        };
        let functor = Functor { scope: scope.outer, param, sig, body };
        Some(Pair::same(self.functor(functor, t.site.prefix)))
    }

    fn specs(&mut self, specs: &'a [Spec], span: Span, scope: Pair, t: &mut Through<'a, '_>) -> Option<Pair> {
        if let How::View(of) | How::Seal(of) = t.how
            && self.scopes.get(of).functor.is_some()
        {
            self.arguments_missing(t.site.at, span);
            return None;
        }
        let library = self.scopes.get(scope.inner).library;
        let prefix = || format!("{}{}", t.site.prefix, t.path);
        let inner = self.scopes.add(prefix(), Some(scope.inner), library);
        let outer = match t.how {
            How::Seal(_) => self.scopes.add(prefix(), Some(scope.outer), library),
            _ => inner,
        };
        let pair = Pair { inner, outer };
        let mut whole = true;
        for spec in specs {
            match plain(spec) {
                // Looked at where the module type stands.
                Spec::Attr(..) => {}
                Spec::Val { name, params, ty } => {
                    self.diags.extend(unused_sizes(sizes(params), &[Place::Type(ty)], "the type"));
                    self.val_spec(View::new(name, params, ty), pair, t)
                }
                Spec::Type { name, params, ty, lifted } => {
                    self.type_spec((name, params), ty.as_ref(), Lifted::of(*lifted), pair, t);
                }
                Spec::Module { name, sig } => whole &= self.module_spec(name, sig, pair, t),
                Spec::Include(sig) => whole &= self.include(sig, pair, t),
            }
        }
        whole.then_some(pair)
    }

    fn val_spec(&mut self, mut view: View<'a>, pair: Pair, t: &mut Through<'a, '_>) {
        let name = view.name;
        if let How::View(of) | How::Seal(of) = t.how {
            view.target = match self.scopes.operator_or_value::<()>(of, &name.name) {
                Some(Found::Def(id)) => Some(Target::Def(id)),
                Some(Found::Op(op, Some(prim))) => Some(Target::Op(op, prim)),
                _ if self.scopes.get(of).broken => Some(Target::Broken),
                _ => return t.lacks("value", name),
            };
        }
        view.outer = pair.outer;
        view.at = t.site.at;
        let id = DefId(self.defs.len() as u32);
        self.defs.push(self.seen(view, pair.inner));
        let entry = Entry { id, span: name.span, end: name.span.end, local: false };
        for module in modules_of(pair) {
            self.specify(name, entry, |m| &mut m.values, module, module == pair.inner);
        }
    }

    fn type_spec(
        &mut self,
        (name, params): (&'a Ident, &'a [TypeParam]),
        is: Option<&'a TypeExp>,
        lifted: Lifted,
        pair: Pair,
        t: &mut Through<'a, '_>,
    ) {
        let (params, is) = match is {
            Some(ty) => (params, Some((ty, pair))),
            None => {
                match t.with.iter().rev().find(|r| r.path == [name.name.as_str()] && !r.used.get()).cloned() {
                    Some(refined) => {
                        refined.used.set(true);
                        if !self.same_params(name.span, params, refined.ty.span, refined.params) {
                            return self.break_pair(pair);
                        }
                        (refined.params, Some((refined.ty, refined.scope)))
                    }
                    None => (params, None),
                }
            }
        };
        let (inner, outer) = match t.how {
            How::Assume => {
                let id = match is {
                    Some((ty, scope)) => self.new_type(name, params, lifted, Meaning::Alias(ty), scope.inner),
                    None => self.hide((name, params), None, lifted, pair, t),
                };
                (id, id)
            }
            How::View(of) | How::Seal(of) => {
                let Some(actual) = self.scopes.member_type(of, &name.name) else {
                    self.break_pair(pair);
                    return t.lacks("type", name);
                };
                let def = &self.scopes.types[actual.0 as usize];
                let (at, theirs) = (def.span, def.params);
                if !self.same_params(name.span, params, at, theirs) {
                    return self.break_pair(pair);
                }
                self.matched_type((name, params), is, lifted, actual, pair, t)
            }
        };
        for (module, id) in modules_of(pair).into_iter().zip([inner, outer]) {
            let entry = Entry { id, span: name.span, end: name.span.end, local: false };
            self.specify(name, entry, |m| &mut m.types, module, module == pair.inner);
        }
    }

    /// A type is missing: that others mention it says nothing.
    fn break_pair(&mut self, pair: Pair) {
        modules_of(pair).into_iter().for_each(|m| self.scopes.get_mut(m).broken = true);
    }

    /// The type inside and outside of a view of a module that has it.
    fn matched_type(
        &mut self,
        (name, params): (&'a Ident, &'a [TypeParam]),
        is: Option<(&'a TypeExp, Pair)>,
        lifted: Lifted,
        actual: TypeId,
        pair: Pair,
        t: &Through<'a, '_>,
    ) -> (TypeId, TypeId) {
        let spec = is.map(|(ty, scope)| self.new_type(name, params, lifted, Meaning::Alias(ty), scope.inner));
        if !self.in_instance {
            self.type_matches.push(TypeMatch { spec, lifted, actual, name: name.span, at: t.site.at });
        }
        match (is, spec, t.how) {
            (Some((ty, scope)), Some(inner), How::Seal(_)) if scope.inner != scope.outer => {
                (inner, self.new_type(name, params, lifted, Meaning::Alias(ty), scope.outer))
            }
            (_, Some(inner), _) => (inner, inner),
            (_, None, How::Seal(_)) => (actual, self.hide((name, params), Some(actual), lifted, pair, t)),
            (_, None, _) => (actual, actual),
        }
    }

    /// A new abstract type.
    fn hide(
        &mut self,
        (name, params): (&'a Ident, &'a [TypeParam]),
        is: Option<TypeId>,
        lifted: Lifted,
        pair: Pair,
        t: &Through<'a, '_>,
    ) -> TypeId {
        self.hidden += 1;
        let id = self.new_type(name, params, lifted, Meaning::Abstract { is, by: t.site.at }, pair.outer);
        let def = &mut self.scopes.types[id.0 as usize];
        def.name = format!("{}{}{}", t.site.prefix, t.path, name.name);
        id
    }

    fn new_type(
        &mut self,
        name: &'a Ident,
        params: &'a [TypeParam],
        lifted: Lifted,
        meaning: Meaning<'a>,
        module: ModId,
    ) -> TypeId {
        let id = TypeId(self.scopes.types.len() as u32);
        let (name, span, instance) = (name.name.clone(), name.span, self.in_instance);
        self.scopes.types.push(TypeDef { name, lifted, params, meaning, module, span, instance });
        id
    }

    fn module_spec(&mut self, name: &'a Ident, sig: &'a SigExp, pair: Pair, t: &mut Through<'a, '_>) -> bool {
        let inside = |of: ModId, c: &Self| c.scopes.member_module(of, &name.name);
        let how = match t.how {
            How::Assume => Some(How::Assume),
            How::View(of) => inside(of, self).map(How::View),
            How::Seal(of) => inside(of, self).map(How::Seal),
        };
        let Some(how) = how else {
            t.lacks("module", name);
            return true;
        };
        if matches!(how, How::View(BROKEN) | How::Seal(BROKEN)) {
            return false;
        }
        let within = |r: &Refinement<'a>| {
            let (first, rest) = r.path.split_first()?;
            (*first == name.name && !rest.is_empty()).then(|| Refinement { path: rest.to_vec(), ..r.clone() })
        };
        let mut sub = Through {
            how,
            site: t.site,
            with: t.with.iter().filter_map(within).collect(),
            missing: std::mem::take(&mut t.missing),
            path: format!("{}{}.", t.path, name.name),
        };
        let found = self.signature(sig, pair, &mut sub);
        t.missing = sub.missing;
        let made = found.unwrap_or(Pair::same(BROKEN));
        for (module, id) in modules_of(pair).into_iter().zip([made.inner, made.outer]) {
            let entry = Entry { id, span: name.span, end: name.span.end, local: false };
            self.specify(name, entry, |m| &mut m.modules, module, module == pair.inner);
        }
        found.is_some()
    }

    /// All that another module type specifies.
    fn include(&mut self, sig: &'a SigExp, pair: Pair, t: &mut Through<'a, '_>) -> bool {
        let Some(made) = self.signature(sig, pair, t) else {
            // What it would have specified is not unknown besides.
            modules_of(pair).into_iter().for_each(|module| self.scopes.get_mut(module).broken = true);
            return false;
        };
        let at = sig_span(sig);
        self.include_types(made.inner, pair.inner, at);
        self.copy_members(made.inner, pair.inner, at, true);
        if pair.outer != pair.inner {
            self.copy_members(made.outer, pair.outer, at, false);
        }
        true
    }

    /// The types that are specified before: they have to be what the `include` says of them.
    fn include_types(&mut self, from: ModId, to: ModId, include: Span) {
        let both = |(name, entry): (&String, &Entry<TypeId>)| {
            let first = self.scopes.get(to).types.get(name)?;
            Some((name.clone(), *entry, *first))
        };
        let mut twice: Vec<_> = self.scopes.get(from).types.iter().filter_map(both).collect();
        twice.sort_by_key(|(_, entry, _)| entry.span);
        for (name, entry, first) in twice {
            if matches!(self.scopes.types[entry.id.0 as usize].meaning, Meaning::Abstract { .. }) {
                self.specified_twice(&name, first.span, include);
            } else if !self.in_instance {
                let (spec, actual) = (Some(entry.id), first.id);
                self.type_matches.push(TypeMatch {
                    spec,
                    lifted: Lifted::Functions,
                    actual,
                    name: entry.span,
                    at: include,
                });
            }
        }
    }
}

impl<'a> Collected<'a> {
    /// Adds a specified name to one of the modules of a pair.
    fn specify<T: Copy>(
        &mut self,
        name: &Ident,
        entry: Entry<T>,
        pick: fn(&mut Module) -> &mut HashMap<String, Entry<T>>,
        module: ModId,
        report: bool,
    ) {
        let names = pick(self.scopes.get_mut(module));
        match names.get(&name.name).map(|first| first.span) {
            None => _ = names.insert(name.name.clone(), entry),
            Some(first) if report => self.specified_twice(&name.name, first, entry.span),
            Some(_) => {}
        }
    }

    /// Adds what an `include` specifies, as if it stood there: names in the `include` itself do not mean it. Values and
    /// modules that are there already are reported.
    fn copy_members(&mut self, from: ModId, to: ModId, include: Span, report: bool) {
        self.copy_names(|m| &mut m.types, from, to, include, false);
        self.copy_names(|m| &mut m.values, from, to, include, report);
        self.copy_names(|m| &mut m.modules, from, to, include, report);
    }

    fn copy_names<T: Copy>(
        &mut self,
        pick: fn(&mut Module) -> &mut HashMap<String, Entry<T>>,
        from: ModId,
        to: ModId,
        include: Span,
        report: bool,
    ) {
        let mut names: Vec<(String, Entry<T>)> =
            pick(self.scopes.get_mut(from)).iter().map(|(n, e)| (n.clone(), *e)).collect();
        names.sort_by_key(|(_, entry)| entry.span);
        for (name, entry) in names {
            let entry = Entry { span: include, end: include.end, ..entry };
            self.specify(&Ident { name, span: include }, entry, pick, to, report);
        }
    }
}

impl Through<'_, '_> {
    fn lacks(&mut self, what: &'static str, name: &Ident) {
        let path = format!("{}{}", self.path, name.name);
        self.missing.push(Missing { what, name: path, span: name.span });
    }

    /// Members that the module lacks.
    pub(super) fn missing(&self) -> &[Missing] {
        &self.missing
    }
}

/// The place of a module type expression.
pub(super) fn sig_span(sig: &SigExp) -> Span {
    match sig {
        SigExp::Name(name) => name.span,
        SigExp::Specs(_, span) | SigExp::With(.., span) | SigExp::Arrow(.., span) => *span,
    }
}

/// An item without its attributes.
fn plain(mut spec: &Spec) -> &Spec {
    while let Spec::Attr(_, inner) = spec {
        spec = inner;
    }
    spec
}

/// The one or two modules of a pair.
fn modules_of(pair: Pair) -> Vec<ModId> {
    if pair.inner == pair.outer { vec![pair.inner] } else { vec![pair.inner, pair.outer] }
}
