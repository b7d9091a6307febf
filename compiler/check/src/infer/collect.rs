//! From declarations to modules: every definition, abbreviation and module of the files gets its place, before anything
//! is looked up.

use super::errors;
use super::scope::{Entry, ModId, Scopes, TypeDef, TypeId};
use crate::thir::DefId;
use par_runtime::{Prim, Span};
use par_syntax::ast::{self, DecKind, ModExp};
use par_syntax::{Diagnostic, Severity, Sources};
use std::collections::HashMap;

/// A definition as found, not checked yet.
pub(super) struct Found<'a> {
    pub(super) ast: &'a ast::Def,
    /// Qualified.
    pub(super) name: String,
    pub(super) module: ModId,
    pub(super) intrinsic: bool,
    pub(super) library: bool,
    pub(super) span: Span,
}

/// The result: all modules and all definitions, in order.
#[derive(Default)]
pub(super) struct Collected<'a> {
    pub(super) scopes: Scopes<'a>,
    pub(super) defs: Vec<Found<'a>>,
    pub(super) diags: Vec<Diagnostic>,
    /// The modules of the user's files so far, by file name.
    files: Vec<(String, ModId)>,
}

/// Attributes with a meaning somewhere in the compiler.
const ATTRIBUTES: [&str; 11] = [
    "intrinsic",
    "inline",
    "noinline",
    "opaque",
    "fast_math",
    "sequential",
    "sequential_inner",
    "sequential_outer",
    "unroll",
    "scratch",
    "trace",
];

/// Collects the declarations of all files, the library's first.
pub(super) fn collect<'a>(files: &[&'a ast::File], sources: &Sources) -> Collected<'a> {
    let mut c = Collected::default();
    let library = c.scopes.add(String::new(), None, true);
    for prim in Prim::ALL {
        let id = c.scopes.add(format!("{prim}."), Some(library), true);
        c.scopes.get_mut(id).prim = Some(prim);
        let entry = Entry { id, span: Span::default(), local: false };
        c.scopes.get_mut(library).modules.insert(prim.name().to_string(), entry);
    }
    let mut last = library;
    for (index, file) in files.iter().enumerate() {
        let source = sources.files.get(index);
        if !source.is_some_and(|s| s.is_library) {
            last = c.scopes.add(String::new(), Some(last), false);
        }
        c.decs(last, &file.decs);
        if last != library {
            c.files.push((source.map_or_else(String::new, |s| s.name.clone()), last));
        }
    }
    c
}

/// A warning for an attribute that nobody knows.
pub(super) fn unknown_attribute(attr: &ast::Attr) -> Option<Diagnostic> {
    if ATTRIBUTES.contains(&attr.name.as_str()) {
        return None;
    }
    let message = format!("the attribute `{}` is not known", attr.name);
    let diag = Diagnostic::new(Severity::Warning, "W0201", message, attr.span).here("has no effect");
    // The library's own attributes are no advice.
    let known = ATTRIBUTES.iter().copied().filter(|a| *a != "intrinsic");
    Some(match par_syntax::nearest(&attr.name, known) {
        Some(meant) => diag.note(format!("did you mean `{meant}`?")),
        None => diag,
    })
}

impl<'a> Collected<'a> {
    fn decs(&mut self, module: ModId, decs: &'a [ast::Dec]) {
        for dec in decs {
            super::deep(|| self.dec(module, dec, false, &[]));
        }
    }

    fn dec(&mut self, module: ModId, dec: &'a ast::Dec, local: bool, outer: &'a [ast::Attr]) {
        self.diags.extend(dec.attrs.iter().filter_map(unknown_attribute));
        match &dec.kind {
            DecKind::Def(def) => {
                let intrinsic = dec.attrs.iter().chain(outer).any(|a| a.name == "intrinsic");
                self.def(module, def, local, intrinsic, dec.span);
            }
            DecKind::Type { name, params, ty, .. } => self.type_def(module, name, params, ty, local),
            DecKind::Module { name, params, sig, body } => {
                if !params.is_empty() {
                    self.diags.push(Diagnostic::unsupported("parametric modules", name.span));
                } else if sig.is_some() {
                    self.diags.push(Diagnostic::unsupported("module types", name.span));
                } else {
                    self.module_def(module, name, body, local);
                }
            }
            DecKind::ModuleType { name, .. } => {
                self.diags.push(Diagnostic::unsupported("module types", name.span));
            }
            DecKind::Open(body) => {
                let prefix = self.scopes.get(module).prefix.clone();
                if let Some(opened) = self.mod_exp(module, body, prefix) {
                    self.scopes.get_mut(module).opens.push((opened, local));
                }
            }
            DecKind::Local(inner) => self.dec(module, inner, true, &dec.attrs),
            DecKind::Import { path, span } => {
                if let Some(file) = self.import(path, *span) {
                    self.scopes.get_mut(module).opens.push((file, local));
                }
            }
        }
    }

    /// The module of a file that was given before this one.
    fn import(&mut self, path: &str, span: Span) -> Option<ModId> {
        let wanted = path.trim_start_matches("./");
        let is_it = |name: &str| {
            let stem = name.strip_suffix(".par").or_else(|| name.strip_suffix(".fut")).unwrap_or(name);
            [name, stem]
                .iter()
                .any(|n| n.strip_suffix(wanted).is_some_and(|rest| rest.is_empty() || rest.ends_with('/')))
        };
        let found = self.files.iter().rev().find(|(name, _)| is_it(name)).map(|(_, id)| *id);
        if found.is_none() {
            let message = format!("the file `{path}` was not read");
            self.diags.push(Diagnostic::error("E0204", message, span).here("imported here"));
        }
        found
    }

    fn def(&mut self, module: ModId, ast: &'a ast::Def, local: bool, intrinsic: bool, span: Span) {
        let scope = self.scopes.get(module);
        let name = format!("{}{}", scope.prefix, ast.name.name);
        let library = scope.library;
        let id = DefId(self.defs.len() as u32);
        self.defs.push(Found { ast, name, module, intrinsic: intrinsic && library, library, span });
        let entry = Entry { id, span: ast.name.span, local };
        insert(&mut self.scopes.get_mut(module).values, &ast.name, entry, &mut self.diags);
    }

    fn type_def(
        &mut self,
        module: ModId,
        name: &'a ast::Ident,
        params: &'a [ast::TypeParam],
        exp: &'a ast::TypeExp,
        local: bool,
    ) {
        let id = TypeId(self.scopes.types.len() as u32);
        self.scopes.types.push(TypeDef { name: name.name.clone(), params, exp, module });
        let entry = Entry { id, span: name.span, local };
        insert(&mut self.scopes.get_mut(module).types, name, entry, &mut self.diags);
    }

    fn module_def(&mut self, module: ModId, name: &'a ast::Ident, body: &'a ModExp, local: bool) {
        let scope = self.scopes.get(module);
        // The library may declare a module in several places.
        if let (true, Some(existing), ModExp::Struct(decs, _)) =
            (scope.library, scope.modules.get(&name.name), body)
        {
            let id = existing.id;
            return self.decs(id, decs);
        }
        let prefix = format!("{}{}.", scope.prefix, name.name);
        if let Some(id) = self.mod_exp(module, body, prefix) {
            let entry = Entry { id, span: name.span, local };
            insert(&mut self.scopes.get_mut(module).modules, name, entry, &mut self.diags);
        }
    }

    fn mod_exp(&mut self, module: ModId, exp: &'a ModExp, prefix: String) -> Option<ModId> {
        let (feature, span) = match exp {
            ModExp::Name(name) => {
                let found = self.scopes.find_module(&super::scope::Env::<()>::default(), module, name);
                if found.is_none() {
                    let known = self.scopes.module_names(module);
                    self.diags.push(errors::unknown_module(name, &known));
                }
                return found;
            }
            ModExp::Struct(decs, _) => {
                let library = self.scopes.get(module).library;
                let id = self.scopes.add(prefix, Some(module), library);
                self.decs(id, decs);
                return Some(id);
            }
            ModExp::Apply(_, _, span) => ("parametric modules", span),
            ModExp::Lambda(_, _, _, span) => ("parametric modules", span),
            ModExp::Import(path, span) => return self.import(path, *span),
            ModExp::Ascribe(_, _, span) => ("module types", span),
        };
        self.diags.push(Diagnostic::unsupported(feature, *span));
        None
    }
}

/// Adds to a name space; a second definition of the same name is an error, and the first one counts.
fn insert<T: Copy>(
    map: &mut HashMap<String, Entry<T>>,
    name: &ast::Ident,
    entry: Entry<T>,
    diags: &mut Vec<Diagnostic>,
) {
    if let Some(first) = map.get(&name.name) {
        diags.push(errors::duplicate(&name.name, first.span, name.span));
    } else {
        map.insert(name.name.clone(), entry);
    }
}
