//! Types seen through a module type: whether they are what it says, and what hidden ones stand for.

use super::super::lifted::{hides_sizes, no_writes};
use super::super::scope::{Lifted, Meaning, TypeId};
use super::super::types::{Class, I64, any_part, erase, has_writes, map_args, rewrite, type_args};
use super::super::{Cx, deep};
use crate::thir::{Hidden, Holds, LocalId, Size, Ty, TyArg, accumulator};
use par_runtime::Span;
use par_syntax::ast::TypeParam;
use par_syntax::diagnostic::{Diagnostic, Severity};

/// A type that a module has, and what the module type says of it.
pub(in super::super) struct TypeMatch {
    /// The type that it must be.
    pub(super) spec: Option<TypeId>,
    /// True if it may hold functions.
    pub(super) lifted: Lifted,
    pub(super) actual: TypeId,
    pub(super) name: Span,
    pub(super) at: Span,
}

impl Cx<'_> {
    /// Compares the types of modules with what their module types say.
    pub(in super::super) fn match_types(&mut self) {
        for m in std::mem::take(&mut self.hidden_types.type_matches) {
            self.env = Default::default();
            self.types.clear();
            let args = self.any_args(m.actual);
            let actual = self.expand_with(m.actual, args.clone(), LocalId(0), m.name);
            if let Some(spec) = m.spec {
                let wanted = self.expand_with(spec, args, LocalId(0), m.name);
                let (wanted, actual) = (erase(&wanted), erase(&actual));
                if self.types.unify(&wanted, &actual).is_err() {
                    self.wrong_type(&m, &wanted, &actual);
                }
            } else if m.lifted != Lifted::Functions && self.types.is_lifted(&actual) {
                self.not_lifted(&m);
            } else if has_writes(&actual) {
                self.diags.push(no_writes("a hidden type cannot hold", &self.show(&actual), m.name));
            } else if m.lifted == Lifted::No && hides_sizes(&actual) {
                self.has_unknown_sizes(&m);
            }
        }
        self.types.clear();
    }

    /// Arguments for a type of which nothing is known.
    fn any_args(&mut self, id: TypeId) -> Vec<TyArg> {
        let params = self.scopes.types[id.0 as usize].params;
        let one = |p: &TypeParam| match p {
            TypeParam::Size(_) => TyArg::Size(Size::Anon),
            TypeParam::Type(name, mark) => {
                TyArg::Type(Ty::Var(self.new_type_var(&name.name, Lifted::of(*mark).class())))
            }
        };
        params.iter().map(one).collect()
    }

    /// E0705 for a type that is another one.
    fn wrong_type(&mut self, m: &TypeMatch, wanted: &Ty, actual: &Ty) {
        let def = &self.scopes.types[m.actual.0 as usize];
        let (span, name, library) = (def.span, def.name.clone(), self.scopes.get(def.module).library);
        let message = format!("the type `{name}` is not what the module type says");
        let here = format!("here it is `{}`", self.show_expanded(actual));
        let at = if library { m.at } else { span };
        let diag = Diagnostic::error("E0705", message, at).here(here);
        self.diags.push(diag.label(m.name, format!("the module type says `{}`", self.show_expanded(wanted))));
    }

    /// E0705 for a type with functions.
    fn not_lifted(&mut self, m: &TypeMatch) {
        let def = &self.scopes.types[m.actual.0 as usize];
        let message =
            format!("the type `{}` holds functions, which the module type does not allow", def.name);
        let diag = Diagnostic::error("E0705", message, def.span).here("holds functions");
        let diag = diag.label(m.name, "declared without `^`");
        self.diags.push(diag.note("declare it `type^` in the module type if it may hold functions"));
    }

    /// W0403 for a type that does not say that its values may differ in size.
    fn has_unknown_sizes(&mut self, m: &TypeMatch) {
        let def = &self.scopes.types[m.actual.0 as usize];
        if !def.params.is_empty() || self.scopes.get(def.module).library {
            return;
        }
        let message = format!("the type `{}` has sizes that the module type does not name", def.name);
        let diag = Diagnostic::new(Severity::Warning, "W0403", message, def.span);
        let diag = diag.here("values of this type may differ in size").label(m.name, "declared without `~`");
        self.diags.push(diag.note("declare it `type~` in the module type"));
    }

    /// A type without hidden types, for lowering.
    pub(in super::super) fn represent(&mut self, ty: &Ty) -> Ty {
        if !any_part(ty, &mut |t| matches!(t, Ty::Abstract(..))) {
            return ty.clone();
        }
        rewrite(ty, &mut |t| match t {
            Ty::Abstract(a, args) => Some(self.behind(TypeId(a.id), args)),
            // It is unique in any case.
            Ty::Unique(t) if matches!(**t, Ty::Abstract(a, _) if a.holds == Holds::Writes) => {
                Some(self.represent(t))
            }
            _ => None,
        })
    }

    /// Representation of a hidden type. Hidden types of hidden types make long chains, so the answers are kept.
    fn behind(&mut self, id: TypeId, args: &[TyArg]) -> Ty {
        if let Some(known) = self.hidden_types.represented.get(&id) {
            return known.clone();
        }
        let ty = deep(|| self.look_behind(id, args));
        let ty = self.of_moderate_size(ty, self.scopes.types[id.0 as usize].span);
        // An expression in a size belongs to the definition being checked, a size of its own to one mention.
        let computed = |t: &Ty| matches!(t, Ty::Array(Size::Exp(_) | Size::Own { .. }, _) | Ty::Meta(_));
        if args.is_empty() && !any_part(&ty, &mut |t| computed(t)) {
            self.hidden_types.represented.insert(id, ty.clone());
        }
        ty
    }

    fn look_behind(&mut self, id: TypeId, args: &[TyArg]) -> Ty {
        let args = map_args(args, &mut |t| self.represent(t));
        match self.scopes.types[id.0 as usize].meaning {
            Meaning::Abstract { is: Some(is), .. } => {
                let ty = self.expand_with(is, args, LocalId(0), Span::default());
                self.represent(&ty)
            }
            Meaning::Accumulator => accumulator(type_args(&args).next().unwrap_or(&I64)),
            // Of the parameter of a parametric module: its body is checked, but never compiled.
            _ => match self.hidden_types.unknown_types.get(&id) {
                Some(var) => Ty::Var(*var),
                None => {
                    let name = self.scopes.types[id.0 as usize].name.clone();
                    let var = self.new_type_var(&name, Class::Data);
                    self.hidden_types.unknown_types.insert(id, var);
                    Ty::Var(var)
                }
            },
        }
    }

    /// Hidden parts of the type of an entry point: a list of those of the parameters and the result.
    pub(in super::super) fn hidden_parts(&self, ty: &Ty) -> Hidden {
        let ty = self.types.resolve(ty);
        let (mut ty, mut parts) = (&ty, Vec::new());
        while let Ty::Fun(param, result) = ty {
            parts.push(self.hidden_in(param));
            ty = result;
        }
        parts.push(self.hidden_in(ty));
        if parts.iter().all(|p| *p == Hidden::Nothing) { Hidden::Nothing } else { Hidden::Parts(parts) }
    }

    fn hidden_in(&self, ty: &Ty) -> Hidden {
        let all = |ts: &mut dyn Iterator<Item = &Ty>| ts.map(|t| self.hidden_in(t)).collect::<Vec<_>>();
        let parts = match ty {
            Ty::Abstract(..) => return Hidden::Type(self.show(ty)),
            Ty::Unique(t) => return self.hidden_in(t),
            Ty::Array(_, t) => vec![self.hidden_in(t)],
            Ty::Tuple(ts) => all(&mut ts.iter()),
            Ty::Record(fs) => all(&mut fs.iter().map(|(_, t)| t)),
            Ty::Sum(cs) => all(&mut cs.payloads()),
            Ty::Prim(_) | Ty::Var(_) | Ty::Fun(..) | Ty::Meta(_) => Vec::new(),
        };
        match parts.iter().all(|p| *p == Hidden::Nothing) {
            true => Hidden::Nothing,
            false => Hidden::Parts(parts),
        }
    }

    /// Says of two types that do not agree which module hides what they are.
    pub(in super::super) fn explain_abstract(&self, mut diag: Diagnostic, types: [&Ty; 2]) -> Diagnostic {
        let mut hidden: Vec<u32> = Vec::new();
        for ty in types {
            any_part(&self.types.resolve(ty), &mut |t| {
                if let Ty::Abstract(a, _) = t
                    && !hidden.contains(&a.id)
                {
                    hidden.push(a.id);
                }
                false
            });
        }
        for id in hidden {
            let def = &self.scopes.types[id as usize];
            if let Meaning::Abstract { by, .. } = def.meaning {
                let name = &def.name;
                diag = diag.label(by, format!("the module type of this hides what `{name}` is"));
            }
        }
        diag
    }
}
