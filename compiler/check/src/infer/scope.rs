//! Modules and what they define, and the lookup of names in them.
//!
//! Every file is a module whose parent is the file before it (all library files are one module), and every
//! `module m = { … }` is a module inside one. A name is looked for in the module it stands in, then in what that
//! module opens, then in the parent. Whether a definition stands earlier or later in its module makes no difference,
//! because a module defines each name once.

use crate::thir::DefId;
use par_runtime::{Prim, Span};
use par_syntax::ast;
use std::collections::HashMap;

/// A module: index into [`Scopes::modules`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct ModId(pub(super) u32);

/// A type abbreviation: index into [`Scopes::types`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct TypeId(pub(super) u32);

/// Something a module defines.
#[derive(Clone, Copy)]
pub(super) struct Entry<T> {
    pub(super) id: T,
    pub(super) span: Span,
    /// Declared with `local`: not seen from outside.
    pub(super) local: bool,
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
    /// Opened modules, and whether only locally.
    pub(super) opens: Vec<(ModId, bool)>,
    /// The library's module of a scalar type: its operators are the built-in ones.
    pub(super) prim: Option<Prim>,
    pub(super) library: bool,
}

/// A type abbreviation.
pub(super) struct TypeDef<'a> {
    pub(super) name: String,
    pub(super) params: &'a [ast::TypeParam],
    pub(super) exp: &'a ast::TypeExp,
    pub(super) module: ModId,
}

/// All modules.
#[derive(Default)]
pub(super) struct Scopes<'a> {
    pub(super) modules: Vec<Module>,
    pub(super) types: Vec<TypeDef<'a>>,
}

/// What a name stands for.
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
}

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

/// Those of them that give an array like their argument.
pub(super) const PER_TYPE_ARRAYS: [&str; 3] = ["flood_nonzero", "cumsum", "softmax"];

/// Those of them that only floats have.
pub(super) const PER_TYPE_FLOATS: [&str; 4] = ["mean", "variance", "norm", "softmax"];

/// The built-in operators of two operands.
pub(super) const OPERATORS: [&str; 20] = [
    "+", "-", "*", "/", "%", "//", "%%", "**", "&", "|", "^", "<<", ">>", ">>>", "==", "!=", "<", "<=", ">",
    ">=",
];

/// Whether a name is a built-in operator (the short-circuit ones included).
fn is_operator(name: &str) -> bool {
    OPERATORS.contains(&name) || name == "&&" || name == "||"
}

impl<'a> Scopes<'a> {
    /// Adds an empty module.
    pub(super) fn add(&mut self, prefix: String, parent: Option<ModId>, library: bool) -> ModId {
        self.modules.push(Module { prefix, parent, library, ..Module::default() });
        ModId(self.modules.len() as u32 - 1)
    }

    /// A module.
    pub(super) fn get(&self, id: ModId) -> &Module {
        &self.modules[id.0 as usize]
    }

    /// A module, to add to it.
    pub(super) fn get_mut(&mut self, id: ModId) -> &mut Module {
        &mut self.modules[id.0 as usize]
    }

    /// An unqualified name seen from inside a module.
    fn inside<T: Copy>(&self, from: ModId, pick: &dyn Fn(&Module) -> Option<Entry<T>>) -> Option<T> {
        let mut next = Some(from);
        while let Some(id) = next {
            let module = self.get(id);
            if let Some(entry) = pick(module) {
                return Some(entry.id);
            }
            if let Some(found) = module.opens.iter().rev().find_map(|(m, _)| self.member(*m, pick)) {
                return Some(found);
            }
            next = module.parent;
        }
        None
    }

    /// A name seen from outside a module: `m.x`.
    fn member<T: Copy>(&self, of: ModId, pick: &dyn Fn(&Module) -> Option<Entry<T>>) -> Option<T> {
        let module = self.get(of);
        if let Some(entry) = pick(module).filter(|e| !e.local) {
            return Some(entry.id);
        }
        module.opens.iter().rev().filter(|(_, local)| !local).find_map(|(m, _)| self.member(*m, pick))
    }

    /// A value of a module, seen from outside.
    pub(super) fn member_value(&self, of: ModId, name: &str) -> Option<DefId> {
        self.member(of, &|m| m.values.get(name).copied())
    }

    /// A module of a module, seen from outside.
    fn member_module(&self, of: ModId, name: &str) -> Option<ModId> {
        self.member(of, &|m| m.modules.get(name).copied())
    }

    /// A value by its unqualified name.
    pub(super) fn value(&self, from: ModId, name: &str) -> Option<DefId> {
        self.inside(from, &|m| m.values.get(name).copied())
    }

    /// A module by its unqualified name; opened ones (`m.(…)`) first.
    fn module<B>(&self, env: &Env<B>, from: ModId, name: &str) -> Option<ModId> {
        let opened = env.opens.iter().rev().find_map(|(_, m)| self.member_module(*m, name));
        opened.or_else(|| self.inside(from, &|m| m.modules.get(name).copied()))
    }

    /// A module by its name, qualified or not.
    pub(super) fn find_module<B>(&self, env: &Env<B>, from: ModId, name: &ast::Name) -> Option<ModId> {
        let Some((first, rest)) = name.path.split_first() else { return self.module(env, from, &name.base) };
        let start = self.module(env, from, first)?;
        rest.iter().chain([&name.base]).try_fold(start, |m, part| self.member_module(m, part))
    }

    /// A type abbreviation by its name. Scalar types and type parameters are not abbreviations.
    pub(super) fn find_type<B>(&self, env: &Env<B>, from: ModId, name: &ast::Name) -> Option<TypeId> {
        let of = |m: ModId, name: &str| self.member(m, &|m| m.types.get(name).copied());
        let Some((first, rest)) = name.path.split_first() else {
            let opened = env.opens.iter().rev().find_map(|(_, m)| of(*m, &name.base));
            return opened.or_else(|| self.inside(from, &|m| m.types.get(&name.base).copied()));
        };
        let start = self.module(env, from, first)?;
        let module = rest.iter().try_fold(start, |m, part| self.member_module(m, part))?;
        of(module, &name.base)
    }

    /// A value by its name as written, and the parts of the name that select fields of it (`r.a` of a record `r`).
    pub(super) fn resolve<B: Clone>(
        &self,
        env: &Env<B>,
        from: ModId,
        name: &ast::Name,
    ) -> Option<(Found<B>, Vec<String>)> {
        let Some((first, rest)) = name.path.split_first() else {
            return self.unqualified(env, from, &name.base).map(|found| (found, Vec::new()));
        };
        let parts = || rest.iter().chain([&name.base]).cloned().collect();
        if let Some(local) = env.value(first) {
            return Some((Found::Local(local.clone()), parts()));
        }
        if let Some(module) = self.module(env, from, first) {
            return self.qualified(module, rest, &name.base);
        }
        self.unqualified(env, from, first).map(|found| (found, parts()))
    }

    fn unqualified<B: Clone>(&self, env: &Env<B>, from: ModId, name: &str) -> Option<Found<B>> {
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
        if let Some(id) = self.value(from, name) {
            return Some(Found::Def(id));
        }
        if is_operator(name) {
            return Some(Found::Op(name.to_string(), None));
        }
        let per_type = PER_TYPE.contains(&name) && self.of_prim(Prim::F64, name).is_some();
        per_type.then(|| Found::PerType(name.to_string()))
    }

    fn qualified<B>(&self, module: ModId, path: &[String], base: &str) -> Option<(Found<B>, Vec<String>)> {
        let mut module = module;
        for (i, part) in path.iter().enumerate() {
            if let Some(inner) = self.member_module(module, part) {
                module = inner;
                continue;
            }
            let value = self.member_value(module, part)?;
            let fields = path[i + 1..].iter().map(String::as_str).chain([base]).map(str::to_string);
            return Some((Found::Def(value), fields.collect()));
        }
        self.operator_or_value(module, base).map(|found| (found, Vec::new()))
    }

    fn operator_or_value<B>(&self, module: ModId, name: &str) -> Option<Found<B>> {
        if let Some(id) = self.member_value(module, name) {
            return Some(Found::Def(id));
        }
        let prim = self.get(module).prim?;
        is_operator(name).then(|| Found::Op(name.to_string(), Some(prim)))
    }

    /// The library's function of a scalar type's module.
    pub(super) fn of_prim(&self, prim: Prim, name: &str) -> Option<DefId> {
        let module = self.modules.iter().position(|m| m.prim == Some(prim))?;
        self.member_value(ModId(module as u32), name)
    }

    /// The modules that can be named from inside a module.
    pub(super) fn module_names(&self, from: ModId) -> Vec<String> {
        let mut all = Vec::new();
        let mut next = Some(from);
        while let Some(id) = next {
            all.extend(self.get(id).modules.keys().cloned());
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
            .module(env, from, first)
            .and_then(|start| rest.iter().try_fold(start, |m, part| self.member_module(m, part)));
        module.map_or_else(Vec::new, |m| self.get(m).values.keys().cloned().collect())
    }
}

/// Local names in scope, with a mark for every scope.
pub(super) struct Env<B> {
    values: HashMap<String, Vec<(usize, B)>>,
    types: HashMap<String, Vec<crate::thir::Ty>>,
    opens: Vec<(usize, ModId)>,
    trail: Vec<Bound>,
}

/// What the newest entry of the scope is.
enum Bound {
    Value(String),
    Type(String),
    Open,
}

impl<B> Default for Env<B> {
    fn default() -> Env<B> {
        Env { values: HashMap::new(), types: HashMap::new(), opens: Vec::new(), trail: Vec::new() }
    }
}

impl<B> Env<B> {
    /// The present scope, for [`Env::reset`].
    pub(super) fn mark(&self) -> usize {
        self.trail.len()
    }

    /// Forgets everything bound since the mark.
    pub(super) fn reset(&mut self, mark: usize) {
        while self.trail.len() > mark {
            match self.trail.pop() {
                Some(Bound::Value(name)) => _ = self.values.get_mut(&name).and_then(Vec::pop),
                Some(Bound::Type(name)) => _ = self.types.get_mut(&name).and_then(Vec::pop),
                Some(Bound::Open) => _ = self.opens.pop(),
                None => {}
            }
        }
    }

    /// Binds a value name.
    pub(super) fn bind(&mut self, name: &str, binding: B) {
        let depth = self.trail.len();
        self.trail.push(Bound::Value(name.to_string()));
        self.values.entry(name.to_string()).or_default().push((depth, binding));
    }

    /// Binds a type parameter.
    pub(super) fn bind_type(&mut self, name: &str, ty: crate::thir::Ty) {
        self.trail.push(Bound::Type(name.to_string()));
        self.types.entry(name.to_string()).or_default().push(ty);
    }

    /// Brings a module's names into scope.
    pub(super) fn open(&mut self, module: ModId) {
        let depth = self.trail.len();
        self.trail.push(Bound::Open);
        self.opens.push((depth, module));
    }

    /// The local of a name.
    pub(super) fn value(&self, name: &str) -> Option<&B> {
        self.values.get(name).and_then(|b| b.last()).map(|(_, b)| b)
    }

    /// The type parameter of a name.
    pub(super) fn ty(&self, name: &str) -> Option<&crate::thir::Ty> {
        self.types.get(name).and_then(|b| b.last())
    }
}
