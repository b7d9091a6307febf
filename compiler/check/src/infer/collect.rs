//! From declarations to modules: every definition, abbreviation and module of the files gets its place, before anything
//! is looked up.

use super::errors;
use super::modules::{Demand, TypeMatch, View};
use super::scope::{BROKEN, Entry, Lifted, Meaning, ModId, Module, Scopes, SigId, TypeDef, TypeId};
use crate::thir::{DefId, Inlining};
use par_ir::hash::HashMap;
use par_runtime::{Prim, Span};
use par_syntax::ast::{self, DecKind};
use par_syntax::{Diagnostic, Severity, Sources};

/// A definition as found, not checked yet.
pub(super) struct Found<'a> {
    pub(super) what: What<'a>,
    /// Qualified.
    pub(super) name: String,
    pub(super) module: ModId,
    pub(super) intrinsic: bool,
    pub(super) inlining: Inlining,
    /// Its attributes that say how its body is evaluated.
    pub(super) of_body: Vec<&'a ast::Attr>,
    pub(super) library: bool,
    pub(super) demand: Demand,
    pub(super) span: Span,
}

/// Kind of a definition.
pub(super) enum What<'a> {
    Def(&'a ast::Definition),
    /// A value seen through a module type.
    View(Box<View<'a>>),
}

impl<'a> Found<'a> {
    /// The definition as written; none for a view.
    pub(super) fn written(&self) -> Option<&'a ast::Def> {
        match self.what {
            What::Def(def) => Some(def),
            What::View(_) => None,
        }
    }

    /// True if its name means another definition inside its body, if there is one.
    pub(super) fn means_another(&self) -> bool {
        self.written().is_some_and(super::itself::means_another)
    }

    /// The name where it is defined or specified.
    pub(super) fn ident(&self) -> &'a ast::Ident {
        match &self.what {
            What::Def(def) => def.name(),
            What::View(view) => view.name,
        }
    }
}

/// The result: all modules and all definitions, in order.
#[derive(Default)]
pub(super) struct Collected<'a> {
    pub(super) scopes: Scopes<'a>,
    pub(super) defs: Vec<Found<'a>>,
    pub(super) diags: Vec<Diagnostic>,
    /// Types that have to be what a module type says.
    pub(super) type_matches: Vec<TypeMatch>,
    /// The modules of the files so far, by number.
    files: Vec<ModId>,
    /// The files that the file being collected imports.
    imports: &'a [(String, u32)],
    /// Applications of parametric modules that gave no new types.
    pub(super) instances: HashMap<(ModId, ModId), ModId>,
    /// Number of applications of parametric modules.
    pub(super) applications: usize,
    /// Number of types hidden so far.
    pub(super) hidden: usize,
    /// Module types being looked into, to find recursive ones.
    pub(super) open_sigs: Vec<SigId>,
    /// Inside the body of a parametric module, collected for an application.
    pub(super) in_instance: bool,
    /// Inside the body of a parametric module, collected to check it.
    pub(super) in_template: bool,
}

/// The attributes that are known: the library's own, those with an effect, and those that are accepted without one
/// (`docs/attributes.md` says which).
pub(super) const ATTRIBUTES: [&str; 19] = [
    "intrinsic",
    "inline",
    "noinline",
    "unsafe",
    "sequential",
    "sequential_inner",
    "sequential_outer",
    "incremental_flattening",
    "unroll",
    "stripmine",
    "opaque",
    "fast_math",
    "scratch",
    "blank",
    "trace",
    "break",
    "warn",
    "bound",
    "true_dep",
];

/// Collects the declarations of all files, the library's first.
pub(super) fn collect<'a>(files: &[&'a ast::File], sources: &Sources) -> Collected<'a> {
    let mut c = Collected::default();
    c.scopes.add_broken();
    let library = c.scopes.add(String::new(), None, true);
    for prim in Prim::ALL {
        let id = c.scopes.add(format!("{prim}."), Some(library), true);
        c.scopes.get_mut(id).prim = Some(prim);
        let entry = Entry { id, span: Span::default(), end: 0, local: false };
        c.scopes.get_mut(library).modules.insert(prim.name().to_string(), entry);
    }
    let mut last = library;
    for (index, file) in files.iter().copied().enumerate() {
        let is_library = sources.files.get(index).is_some_and(|s| s.is_library);
        let module = if file.imported {
            c.scopes.add(String::new(), Some(library), is_library)
        } else {
            if !is_library {
                last = c.scopes.add(String::new(), Some(last), false);
            }
            last
        };
        c.imports = &file.imports;
        c.decs(module, &file.decs);
        c.files.push(module);
    }
    c
}

/// Attributes that mean the same before a definition as before its body.
const OF_BODIES: [&str; 6] =
    ["sequential", "sequential_outer", "sequential_inner", "unsafe", "opaque", "fast_math"];

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

/// Warnings for attributes in a module type.
fn spec_attributes(sig: &ast::SigExp, out: &mut Vec<Diagnostic>) {
    match sig {
        ast::SigExp::Name(_) => {}
        ast::SigExp::Specs(specs, _) => specs.iter().for_each(|spec| {
            let mut spec = spec;
            while let ast::Spec::Attr(attr, inner) = spec {
                out.extend(unknown_attribute(attr));
                spec = inner;
            }
            if let ast::Spec::Module { sig, .. } | ast::Spec::Include(sig) = spec {
                spec_attributes(sig, out);
            }
        }),
        ast::SigExp::With(sig, ..) => spec_attributes(sig, out),
        ast::SigExp::Arrow(_, from, to, _) => {
            spec_attributes(from, out);
            spec_attributes(to, out);
        }
    }
}

impl<'a> Collected<'a> {
    pub(super) fn decs(&mut self, module: ModId, decs: &'a [ast::Dec]) {
        for dec in decs {
            super::deep(|| self.dec(module, dec, false, &[]));
        }
    }

    fn dec(&mut self, module: ModId, dec: &'a ast::Dec, local: bool, outer: &'a [ast::Attr]) {
        self.diags.extend(dec.attrs.iter().filter_map(unknown_attribute));
        match &dec.kind {
            DecKind::Def(def) => {
                let attrs: Vec<&ast::Attr> = dec.attrs.iter().chain(outer).collect();
                self.def(module, def, local, &attrs, dec.span);
            }
            DecKind::Type { name, params, ty, lifted } => {
                let library = self.scopes.get(module).library;
                let meaning = match library && dec.attrs.iter().any(|a| a.name == "intrinsic") {
                    true => Meaning::Accumulator,
                    false => Meaning::Alias(ty),
                };
                self.type_def(module, (name, params), Lifted::of(*lifted), (meaning, ty.span.end), local);
            }
            DecKind::Module { name, params, sig, body } => {
                let sigs = params.iter().map(|p| &p.1).chain(sig);
                sigs.for_each(|sig| spec_attributes(sig, &mut self.diags));
                self.module_dec(module, (name, params), sig.as_ref(), body, local);
            }
            DecKind::ModuleType { name, sig } => {
                spec_attributes(sig, &mut self.diags);
                self.module_type(module, name, sig, local);
            }
            DecKind::Open(body) => {
                let prefix = self.scopes.get(module).prefix.clone();
                let mut opened = self.mod_exp(module, body, &prefix);
                if self.scopes.get(opened).functor.is_some() {
                    self.diags.push(errors::unapplied(super::modules::span_of(body)));
                    opened = BROKEN;
                }
                self.open(module, opened, dec.span, local);
            }
            DecKind::Local(inner) => self.dec(module, inner, true, &dec.attrs),
            DecKind::Import { path, span } => {
                let file = self.import(path, *span).unwrap_or(BROKEN);
                self.open(module, file, dec.span, local);
            }
        }
    }

    fn open(&mut self, module: ModId, opened: ModId, span: Span, local: bool) {
        let entry = Entry { id: opened, span, end: span.end, local };
        self.scopes.get_mut(module).opens.push(entry);
    }

    /// The module of an imported file.
    pub(super) fn import(&mut self, path: &str, span: Span) -> Option<ModId> {
        let file = self.imports.iter().find(|(p, _)| p == path).map(|(_, file)| *file as usize);
        let found = file.and_then(|file| self.files.get(file).copied());
        if found.is_none() {
            let message = format!("the file `{path}` was not read");
            self.diags.push(Diagnostic::error("E0204", message, span).here("imported here"));
        }
        found
    }

    fn def(
        &mut self,
        module: ModId,
        ast: &'a ast::Definition,
        local: bool,
        attrs: &[&'a ast::Attr],
        span: Span,
    ) {
        let scope = self.scopes.get(module);
        let (library, ident) = (scope.library, ast.name());
        let name = format!("{}{}", scope.prefix, ident.name);
        // The library has no entry points; to look for them would parse all of it.
        if !library && ast.entry && (!scope.prefix.is_empty() || self.in_template || self.in_instance) {
            self.entry_in_module(ident);
        }
        let id = DefId(self.defs.len() as u32);
        let has = |name: &str| attrs.iter().any(|a| a.name == name);
        let (intrinsic, demand) = (library && has("intrinsic"), self.demand());
        let inlining = match () {
            () if has("noinline") => Inlining::Never,
            () if has("inline") => Inlining::Always,
            () => Inlining::Auto,
        };
        let of_body = attrs.iter().copied().filter(|a| OF_BODIES.contains(&a.name.as_str())).collect();
        let what = What::Def(ast);
        self.defs.push(Found { what, name, module, intrinsic, inlining, of_body, library, demand, span });
        let entry = Entry { id, span: ident.span, end: span.end, local };
        self.apart(ident, self.scopes.get(module).modules.get(&ident.name).map(|e| e.span));
        self.enter(ident, entry, |m| &mut m.values, module);
    }

    fn type_def(
        &mut self,
        module: ModId,
        (name, params): (&'a ast::Ident, &'a [ast::TypeParam]),
        lifted: Lifted,
        (meaning, end): (Meaning<'a>, u32),
        local: bool,
    ) {
        let id = TypeId(self.scopes.types.len() as u32);
        let (span, instance) = (name.span, self.in_instance);
        let short = name.name.clone();
        self.scopes.types.push(TypeDef { name: short, lifted, params, meaning, module, span, instance });
        let entry = Entry { id, span: name.span, end, local };
        self.enter(name, entry, |m| &mut m.types, module);
    }

    /// E0202 for a value and a module of one name: `m.x` means a field or a member.
    pub(super) fn apart(&mut self, name: &ast::Ident, other: Option<Span>) {
        self.diags.extend(other.map(|first| errors::duplicate(&name.name, first, name.span)));
    }

    /// Adds to a name space; a second definition of the same name is an error, and the first one counts.
    pub(super) fn enter<T: Copy>(
        &mut self,
        name: &ast::Ident,
        entry: Entry<T>,
        pick: fn(&mut Module) -> &mut HashMap<String, Entry<T>>,
        module: ModId,
    ) {
        let names = pick(self.scopes.get_mut(module));
        match names.get(&name.name).map(|first| first.span) {
            Some(first) => self.diags.push(errors::duplicate(&name.name, first, name.span)),
            None => _ = names.insert(name.name.clone(), entry),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_attribute_is_documented() {
        let text = include_str!("../../../../docs/attributes.md");
        for name in ATTRIBUTES.iter().filter(|name| **name != "intrinsic") {
            assert!(text.contains(&format!("`{name}`")) || text.contains(&format!("`{name}(")), "{name}");
        }
    }
}
