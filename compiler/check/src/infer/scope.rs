//! Modules and what they define, and the lookup of names in them.
//!
//! Every file is a module whose parent is the file before it (all library files are one module; the parent of an imported
//! file is the library), and every `module m = { … }` is a module inside one. So are parametric modules, which have no
//! members, and modules seen through a module type (`modules/`). A name is looked for in the module it stands in, then in what that
//! module opens, then in the parent. A definition that stands later, or around the name, is meant only if no module around it has
//! an earlier one.

use super::env::Env;
use super::modules::{Functor, SigDef};
use super::types::Class;
use crate::thir::DefId;
use par_ir::hash::HashMap;
use par_runtime::{Prim, Span};
use par_syntax::ast;

/// A module: index into [`Scopes::modules`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct ModId(pub(super) u32);

/// A type abbreviation: index into [`Scopes::types`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct TypeId(pub(super) u32);

/// A module type: index into [`Scopes::sigs`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct SigId(pub(super) u32);

/// Something a module defines.
#[derive(Clone, Copy)]
pub(super) struct Entry<T> {
    pub(super) id: T,
    /// Of its name.
    pub(super) span: Span,
    /// End of its definition: a definition does not come before those inside it.
    pub(super) end: u32,
    /// Declared with `local`: not seen from outside.
    pub(super) local: bool,
}

impl<M> Entry<M> {
    /// The entry of another thing at the same place.
    fn with<T>(&self, id: T) -> Entry<T> {
        Entry { id, span: self.span, end: self.end, local: self.local }
    }
}

/// A module.
#[derive(Default)]
pub(super) struct Module {
    /// Prefix of its definitions' names: empty or `m.`.
    pub(super) prefix: String,
    pub(super) parent: Option<ModId>,
    pub(super) values: HashMap<String, Entry<DefId>>,
    pub(super) types: HashMap<String, Entry<TypeId>>,
    pub(super) modules: HashMap<String, Entry<ModId>>,
    pub(super) sigs: HashMap<String, Entry<SigId>>,
    /// A parametric module: index into [`Scopes::functors`].
    pub(super) functor: Option<usize>,
    /// Something in it is wrong and was reported: that a name is not found in it says nothing.
    pub(super) broken: bool,
    /// Opened modules, in order. What they define shadows what is defined before.
    pub(super) opens: Vec<Entry<ModId>>,
    /// The library's module of a scalar type: its operators are the built-in ones.
    pub(super) prim: Option<Prim>,
    pub(super) library: bool,
}

/// The declared facts about a type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lifted {
    /// `type t`, `'t`.
    No,
    /// `type~ t`, `'~t`: sizes in it may be unknown.
    Sizes,
    /// `type^ t`, `'^t`: there may be functions in it.
    Functions,
}

impl Lifted {
    /// By the mark that is written.
    pub(super) fn of(mark: Option<char>) -> Lifted {
        match mark {
            Some('^') => Lifted::Functions,
            Some(_) => Lifted::Sizes,
            None => Lifted::No,
        }
    }

    /// The types that a type parameter declared like this stands for.
    pub(super) fn class(self) -> Class {
        if self == Lifted::Functions { Class::Any } else { Class::Data }
    }
}

/// A named type.
pub(super) struct TypeDef<'a> {
    pub(super) name: String,
    pub(super) lifted: Lifted,
    pub(super) params: &'a [ast::TypeParam],
    pub(super) meaning: Meaning<'a>,
    /// Scope of the names in it.
    pub(super) module: ModId,
    pub(super) span: Span,
    /// In an instance of a parametric module: its right side was checked where it was written.
    pub(super) instance: bool,
}

/// Meaning of a named type.
#[derive(Clone, Copy)]
pub(super) enum Meaning<'a> {
    /// An abbreviation of a type.
    Alias(&'a ast::TypeExp),
    /// Hidden by a module type.
    Abstract {
        /// Its representation; nothing in the body of a parametric module whose parameter declares it.
        is: Option<TypeId>,
        /// Place of the ascription that hides it.
        by: Span,
    },
    /// The writes to an array that is its argument.
    Accumulator,
}

/// All modules.
#[derive(Default)]
pub(super) struct Scopes<'a> {
    pub(super) modules: Vec<Module>,
    pub(super) types: Vec<TypeDef<'a>>,
    pub(super) sigs: Vec<SigDef<'a>>,
    pub(super) functors: Vec<Functor<'a>>,
}

/// Meaning of a name.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Found<B> {
    /// A local.
    Local(B),
    /// A definition.
    Def(DefId),
    /// A built-in operator, at a type if it was qualified (`f32./`).
    Op(String, Option<Prim>),
    /// `sum`, `product` and the like ([`PER_TYPE`]) of the module of the element type.
    PerType(String),
    /// Perhaps something of a module in which something is wrong.
    Broken,
}

/// Stands for a module in which something is wrong.
pub(super) const BROKEN: ModId = ModId(0);

/// The names that mean the function of the element type's module.
pub(super) const PER_TYPE: [&str; 10] = [
    "sum",
    "product",
    "minimum",
    "maximum",
    "flood_nonzero",
    "cumsum",
    "mean",
    "variance",
    "norm",
    "softmax",
];

/// Functions among them that give an array like their argument.
pub(super) const PER_TYPE_ARRAYS: [&str; 3] = ["flood_nonzero", "cumsum", "softmax"];

/// Functions among them that only floats have.
pub(super) const PER_TYPE_FLOATS: [&str; 4] = ["mean", "variance", "norm", "softmax"];

/// The built-in operators of two operands.
pub(super) const OPERATORS: [&str; 20] = [
    "+", "-", "*", "/", "%", "//", "%%", "**", "&", "|", "^", "<<", ">>", ">>>", "==", "!=", "<", "<=", ">",
    ">=",
];

/// True if a name is a built-in operator (the short-circuit ones included).
pub(super) fn is_operator(name: &str) -> bool {
    OPERATORS.contains(&name) || name == "&&" || name == "||"
}

/// True if a definition stands after a place in its file, or around it.
fn follows<T>(entry: &Entry<T>, at: Span) -> bool {
    entry.span.file == at.file && entry.end > at.start
}

/// A definition of a module, or what the module opens after it.
fn newest<T>(own: Entry<T>, opened: Option<Entry<T>>) -> T {
    match opened.filter(|open| open.span.file == own.span.file && own.span.start < open.span.start) {
        Some(open) => open.id,
        None => own.id,
    }
}

/// True if a definition stands around a place.
fn surrounds<T>(entry: &Entry<T>, at: Span) -> bool {
    follows(entry, at) && entry.span.start <= at.start
}

/// Meaning of an unqualified name.
#[derive(Clone, Copy)]
struct Meant<T> {
    id: T,
    /// True if it stands later in the file, or around the name where that means nothing: what is known everywhere goes before.
    later: bool,
}

impl<'a> Scopes<'a> {
    /// Adds an empty module.
    pub(super) fn add(&mut self, prefix: String, parent: Option<ModId>, library: bool) -> ModId {
        self.modules.push(Module { prefix, parent, library, ..Module::default() });
        ModId(self.modules.len() as u32 - 1)
    }

    /// Adds [`BROKEN`], before all others.
    pub(super) fn add_broken(&mut self) {
        self.modules.push(Module { broken: true, ..Module::default() });
    }

    /// A module.
    pub(super) fn get(&self, id: ModId) -> &Module {
        &self.modules[id.0 as usize]
    }

    /// A module, to add to it.
    pub(super) fn get_mut(&mut self, id: ModId) -> &mut Module {
        &mut self.modules[id.0 as usize]
    }

    /// An unqualified name that stands at a place inside a module. What is `recursive` may mean what it stands in.
    fn inside<T: Copy>(
        &self,
        from: ModId,
        at: Span,
        recursive: bool,
        pick: &dyn Fn(&Module) -> Option<Entry<T>>,
    ) -> Option<Meant<T>> {
        let before = |id| Some(Meant { id, later: false });
        let mut later = None;
        let mut next = Some(from);
        while let Some(id) = next {
            let module = self.get(id);
            let own = pick(module);
            let mut opened = module.opens.iter().filter_map(|open| {
                let id = self.member(open.id, pick)?;
                Some(open.with(id))
            });
            let earlier = |e: &Entry<T>| !follows(e, at);
            let found = opened.clone().filter(earlier).last();
            match own {
                Some(entry) if earlier(&entry) => return before(newest(entry, found)),
                _ if found.is_some() => return before(found?.id),
                Some(entry) if recursive && surrounds(&entry, at) => {
                    return before(self.earlier(module.parent, at, pick).unwrap_or(entry.id));
                }
                _ => {}
            }
            let other = own.or_else(|| opened.next());
            later = later.or(other.map(|entry| Meant { id: entry.id, later: true }));
            next = module.parent;
        }
        later
    }

    /// Definitions of a module or one around it before a place in the same file.
    fn earlier<T: Copy>(
        &self,
        from: Option<ModId>,
        at: Span,
        pick: &dyn Fn(&Module) -> Option<Entry<T>>,
    ) -> Option<T> {
        let modules = std::iter::successors(from, |id| self.get(*id).parent);
        let entries = modules.filter_map(|id| pick(self.get(id)));
        entries.filter(|e| e.span.file == at.file && !follows(e, at)).map(|e| e.id).next()
    }

    /// A name seen from outside a module: `m.x`.
    fn member<T: Copy>(&self, of: ModId, pick: &dyn Fn(&Module) -> Option<Entry<T>>) -> Option<T> {
        let module = self.get(of);
        let mut opened = module.opens.iter().rev().filter(|open| !open.local).filter_map(|open| {
            let id = self.member(open.id, pick)?;
            Some(open.with(id))
        });
        let found = opened.next();
        match pick(module).filter(|e| !e.local) {
            Some(entry) => Some(newest(entry, found)),
            None => found.map(|entry| entry.id),
        }
    }

    /// True if a name that is not found here may be that of something wrong that was reported.
    fn broken(&self, from: ModId) -> bool {
        let mut next = Some(from);
        while let Some(id) = next {
            if self.broken_member(id) {
                return true;
            }
            next = self.get(id).parent;
        }
        false
    }

    /// The same for a name of a module, seen from outside.
    fn broken_member(&self, of: ModId) -> bool {
        let module = self.get(of);
        module.broken || module.opens.iter().any(|open| self.broken_member(open.id))
    }

    /// True if a name with a path is that of something `local` to its module.
    pub(super) fn is_hidden<B>(&self, env: &Env<B>, from: ModId, name: &ast::Name) -> bool {
        let Some((first, rest)) = name.path.split_first() else { return false };
        let start = self.module(env, from, name.span, first);
        let module =
            start.and_then(|start| rest.iter().try_fold(start, |m, part| self.member_module(m, part)));
        module.is_some_and(|m| self.get(m).values.get(&name.base).is_some_and(|entry| entry.local))
    }

    /// A value of a module, seen from outside.
    pub(super) fn member_value(&self, of: ModId, name: &str) -> Option<DefId> {
        self.member(of, &|m| m.values.get(name).copied())
    }

    /// A type of a module, seen from outside.
    pub(super) fn member_type(&self, of: ModId, name: &str) -> Option<TypeId> {
        self.member(of, &|m| m.types.get(name).copied())
    }

    /// A module of a module, seen from outside.
    pub(super) fn member_module(&self, of: ModId, name: &str) -> Option<ModId> {
        let found = self.member(of, &|m| m.modules.get(name).copied());
        found.or_else(|| self.broken_member(of).then_some(BROKEN))
    }

    /// A value by its unqualified name, at a place.
    pub(super) fn value(&self, from: ModId, at: Span, name: &str) -> Option<DefId> {
        self.inside(from, at, true, &|m| m.values.get(name).copied()).map(|meant| meant.id)
    }

    /// Source place of the file's definition of a value of this name, if that is after a place.
    pub(super) fn defined_later(&self, from: ModId, at: Span, name: &str) -> Option<Span> {
        let modules = std::iter::successors(Some(from), |id| self.get(*id).parent);
        let file = modules.map(|id| self.get(id)).find(|m| m.prefix.is_empty())?;
        file.values.get(name).filter(|e| follows(e, at) && !surrounds(e, at)).map(|e| e.span)
    }

    /// A module by its unqualified name; opened ones (`m.(…)`) first.
    fn module<B>(&self, env: &Env<B>, from: ModId, at: Span, name: &str) -> Option<ModId> {
        let opened = env.opens.iter().rev().find_map(|(_, m)| self.member_module(*m, name));
        opened
            .or_else(|| self.inside(from, at, false, &|m| m.modules.get(name).copied()).map(|meant| meant.id))
    }

    /// The module that a path leads to.
    fn path<B>(&self, env: &Env<B>, from: ModId, at: Span, path: &[String]) -> Option<ModId> {
        let (first, rest) = path.split_first()?;
        let start = self.module(env, from, at, first).or_else(|| self.broken(from).then_some(BROKEN))?;
        rest.iter().try_fold(start, |m, part| self.member_module(m, part))
    }

    /// A module by its name, qualified or not.
    pub(super) fn find_module<B>(&self, env: &Env<B>, from: ModId, name: &ast::Name) -> Option<ModId> {
        let path: Vec<String> = name.path.iter().chain([&name.base]).cloned().collect();
        self.path(env, from, name.span, &path)
    }

    /// True if a path leads to a parametric module.
    pub(super) fn is_parametric<B>(&self, env: &Env<B>, from: ModId, name: &ast::Name) -> bool {
        self.path(env, from, name.span, &name.path).is_some_and(|m| self.get(m).functor.is_some())
    }

    /// A module type by its name, qualified or not.
    pub(super) fn find_sig(&self, from: ModId, name: &ast::Name) -> Option<SigId> {
        if name.path.is_empty() {
            let pick = |m: &Module| m.sigs.get(&name.base).copied();
            return self.inside(from, name.span, false, &pick).map(|meant| meant.id);
        }
        let module = self.path(&Env::<()>::default(), from, name.span, &name.path)?;
        self.member(module, &|m| m.sigs.get(&name.base).copied())
    }

    /// A named type. Scalar types and type parameters are not among them.
    pub(super) fn find_type<B>(&self, env: &Env<B>, from: ModId, name: &ast::Name) -> Option<TypeId> {
        if name.path.is_empty() {
            let opened = env.opens.iter().rev().find_map(|(_, m)| self.member_type(*m, &name.base));
            let pick = |m: &Module| m.types.get(&name.base).copied();
            return opened.or_else(|| self.inside(from, name.span, false, &pick).map(|meant| meant.id));
        }
        self.member_type(self.path(env, from, name.span, &name.path)?, &name.base)
    }

    /// True if a name that is not found belongs to something wrong that was reported.
    pub(super) fn is_broken<B>(&self, env: &Env<B>, from: ModId, name: &ast::Name) -> bool {
        if name.path.is_empty() {
            return self.broken(from) || env.opens.iter().any(|(_, m)| self.broken_member(*m));
        }
        match self.path(env, from, name.span, &name.path) {
            Some(module) => self.broken_member(module),
            None => self.broken(from),
        }
    }

    /// A value by its name as written, and the parts of the name that select fields of it (`r.a` of a record `r`).
    pub(super) fn resolve<B: Clone>(
        &self,
        env: &Env<B>,
        from: ModId,
        name: &ast::Name,
    ) -> Option<(Found<B>, Vec<String>)> {
        let found = self.resolve_known(env, from, name);
        found.or_else(|| self.is_broken(env, from, name).then(|| (Found::Broken, Vec::new())))
    }

    fn resolve_known<B: Clone>(
        &self,
        env: &Env<B>,
        from: ModId,
        name: &ast::Name,
    ) -> Option<(Found<B>, Vec<String>)> {
        let Some((first, rest)) = name.path.split_first() else {
            return self.unqualified(env, from, name.span, &name.base).map(|found| (found, Vec::new()));
        };
        let parts = || rest.iter().chain([&name.base]).cloned().collect();
        if let Some(local) = env.value(first) {
            return Some((Found::Local(local.clone()), parts()));
        }
        if let Some(module) = self.module(env, from, name.span, first) {
            return self.qualified(module, rest, &name.base);
        }
        self.unqualified(env, from, name.span, first).map(|found| (found, parts()))
    }

    fn unqualified<B: Clone>(&self, env: &Env<B>, from: ModId, at: Span, name: &str) -> Option<Found<B>> {
        let local = env.values.get(name).and_then(|b| b.last());
        for (depth, module) in env.opens.iter().rev() {
            if local.is_some_and(|(d, _)| d > depth) {
                break;
            }
            if let Some(found) = self.operator_or_value(*module, name) {
                return Some(found);
            }
        }
        if let Some((_, binding)) = local {
            return Some(Found::Local(binding.clone()));
        }
        let other = |e: &Entry<DefId>| env.own != Some(e.id);
        let meant = self.inside(from, at, true, &|m| m.values.get(name).copied().filter(other));
        if let Some(Meant { id, later: false }) = meant {
            return Some(Found::Def(id));
        }
        if is_operator(name) {
            return Some(Found::Op(name.to_string(), None));
        }
        if PER_TYPE.contains(&name) && self.of_prim(Prim::F64, name).is_some() {
            return Some(Found::PerType(name.to_string()));
        }
        meant.map(|meant| meant.id).or_else(|| self.value(from, at, name)).map(Found::Def)
    }

    fn qualified<B>(&self, module: ModId, path: &[String], base: &str) -> Option<(Found<B>, Vec<String>)> {
        let mut module = module;
        for (i, part) in path.iter().enumerate() {
            if let Some(inner) = self.member(module, &|m| m.modules.get(part).copied()) {
                module = inner;
                continue;
            }
            let value = self.member_value(module, part)?;
            let fields = path[i + 1..].iter().map(String::as_str).chain([base]).map(str::to_string);
            return Some((Found::Def(value), fields.collect()));
        }
        self.operator_or_value(module, base).map(|found| (found, Vec::new()))
    }

    /// A value or built-in operator of a module, seen from outside.
    pub(super) fn operator_or_value<B>(&self, module: ModId, name: &str) -> Option<Found<B>> {
        if let Some(id) = self.member_value(module, name) {
            return Some(Found::Def(id));
        }
        let prim = self.operators(module)?;
        is_operator(name).then(|| Found::Op(name.to_string(), Some(prim)))
    }

    /// The scalar type whose operators a module has: one of the library, or one that opens it.
    fn operators(&self, module: ModId) -> Option<Prim> {
        let module = self.get(module);
        let open = || module.opens.iter().rev().filter(|open| !open.local);
        module.prim.or_else(|| open().find_map(|open| self.operators(open.id)))
    }

    /// The library's function of a scalar type's module.
    pub(super) fn of_prim(&self, prim: Prim, name: &str) -> Option<DefId> {
        let module = self.modules.iter().position(|m| m.prim == Some(prim))?;
        self.member_value(ModId(module as u32), name)
    }

    /// The modules or module types that could have been meant where `name` was written.
    pub(super) fn names_like(
        &self,
        from: ModId,
        name: &ast::Name,
        pick: fn(&Module) -> Vec<String>,
    ) -> Vec<String> {
        if !name.path.is_empty() {
            let module = self.path(&Env::<()>::default(), from, name.span, &name.path);
            return module.map_or_else(Vec::new, |m| pick(self.get(m)));
        }
        let (mut all, mut next) = (Vec::new(), Some(from));
        while let Some(id) = next {
            all.extend(pick(self.get(id)));
            next = self.get(id).parent;
        }
        all
    }

    /// Every name that could have been meant where `name` was written: same qualification.
    pub(super) fn candidates<B>(&self, env: &Env<B>, from: ModId, name: &ast::Name) -> Vec<String> {
        let Some((first, rest)) = name.path.split_first() else {
            let mut all: Vec<String> =
                env.values.iter().filter(|(_, b)| !b.is_empty()).map(|(n, _)| n.clone()).collect();
            all.extend(PER_TYPE.map(str::to_string));
            let mut next = Some(from);
            while let Some(id) = next {
                all.extend(self.get(id).values.keys().cloned());
                next = self.get(id).parent;
            }
            return all;
        };
        let module = self
            .module(env, from, name.span, first)
            .and_then(|start| rest.iter().try_fold(start, |m, part| self.member_module(m, part)));
        module.map_or_else(Vec::new, |m| self.get(m).values.keys().cloned().collect())
    }
}
