//! Mistakes in modules and module types.

use super::super::collect::Collected;
use super::super::scope::ModId;
use super::functor::Places;
use super::signature::Through;
use par_runtime::Span;
use par_syntax::Diagnostic;
use par_syntax::ast::{Ident, Name, SigExp, TypeParam};

/// As many missing specifications are shown in the source.
const MAX_SHOWN: usize = 4;

impl Collected<'_> {
    /// E0701 for a module.
    pub(super) fn unknown_module(&mut self, from: ModId, name: &Name) {
        let known = self.scopes.names_like(from, name, |m| m.modules.keys().cloned().collect());
        let diag = super::super::errors::unknown_module(name, &known);
        let is_type = self.scopes.find_sig(from, name).is_some();
        self.diags.push(if is_type { diag.note("there is a module type of this name") } else { diag });
    }

    /// E0701 for a module type.
    pub(super) fn unknown_module_type(&mut self, from: ModId, name: &Name) {
        if self.scopes.is_broken(&super::super::env::Env::<()>::default(), from, name) {
            return;
        }
        let known = self.scopes.names_like(from, name, |m| m.sigs.keys().cloned().collect());
        self.diags.push(super::super::errors::unknown_module_type(name, &known));
    }

    /// E0702: an argument for a module that takes none.
    pub(super) fn not_parametric(&mut self, at: Places) {
        let diag = Diagnostic::error("E0702", "this module takes no arguments", at.function)
            .here("not a parametric module")
            .label(at.argument, "this argument is one too many");
        self.diags.push(diag);
    }

    /// E0702: a module that is not parametric where the module type says that it is.
    pub(super) fn must_be_parametric(&mut self, at: Span, spec: Span) {
        let diag = Diagnostic::error("E0702", "a parametric module is needed here", at)
            .here("this module takes no arguments")
            .label(spec, "the module type asks for a module with a parameter");
        self.diags.push(diag);
    }

    /// E0702: a parametric module where its result is needed.
    pub(super) fn arguments_missing(&mut self, at: Span, spec: Span) {
        let diag = Diagnostic::error("E0702", "this module needs an argument", at)
            .here("a parametric module, not applied to anything")
            .label(spec, "the module type asks for a module without parameters");
        self.diags.push(diag);
    }

    /// E0703: what a module does not have.
    pub(super) fn lacks(&mut self, t: &Through, sig: &SigExp) {
        let missing = t.missing();
        let what = match sig {
            SigExp::Name(name) => format!("the module type `{}`", super::super::errors::spelled(name)),
            _ => "the module type".to_string(),
        };
        let names: Vec<String> =
            missing
                .iter()
                .map(|m| {
                    if m.what == "value" {
                        format!("`{}`", m.name)
                    } else {
                        format!("{} `{}`", m.what, m.name)
                    }
                })
                .collect();
        let message = format!("the module does not have all that {what} asks for");
        let diag =
            Diagnostic::error("E0703", message, t.site.at).here(format!("missing: {}", names.join(", ")));
        let label = |d: Diagnostic, m: &super::signature::Missing| {
            d.label(m.span, format!("the {} `{}` is asked for here", m.what, m.name))
        };
        self.diags.push(missing.iter().take(MAX_SHOWN).fold(diag, label));
    }

    /// E0705: the parameters of a type and of what stands for it differ.
    pub(super) fn same_params(
        &mut self,
        spec: Span,
        wanted: &[TypeParam],
        at: Span,
        found: &[TypeParam],
    ) -> bool {
        let is_size = |p: &TypeParam| matches!(p, TypeParam::Size(_));
        if wanted.iter().map(is_size).eq(found.iter().map(is_size)) {
            return true;
        }
        let diag =
            Diagnostic::error("E0705", "the type does not have the parameters that it should have", at)
                .here(format!("its parameters: {}", spelled_params(found)))
                .label(spec, format!("the module type asks for: {}", spelled_params(wanted)));
        self.diags.push(diag);
        false
    }

    /// E0706: a name in `with` that is not that of an abstract type.
    pub(super) fn nothing_to_refine(&mut self, name: &Name, span: Span) {
        let spelled = super::super::errors::spelled(name);
        let message = format!("the module type has no abstract type `{spelled}`");
        let diag = Diagnostic::error("E0706", message, name.span)
            .here("nothing to say by `with`")
            .label(span, "this module type");
        self.diags
            .push(diag.note("`with` gives a meaning to a type that the module type declares without `=`"));
    }

    /// E0707.
    pub(super) fn specified_twice(&mut self, name: &str, first: Span, second: Span) {
        let diag = Diagnostic::error("E0707", format!("`{name}` is specified twice"), second)
            .here("specified again here")
            .label(first, "first specified here");
        self.diags.push(diag);
    }

    /// E0708.
    pub(super) fn recursive_module_type(&mut self, name: &Name) {
        let message = format!("the module type `{}` contains itself", super::super::errors::spelled(name));
        let diag =
            Diagnostic::error("E0708", message, name.span).here("mentioned here inside its own definition");
        self.diags.push(diag);
    }

    /// E0709.
    pub(super) fn too_many_instances(&mut self, span: Span, most: usize) {
        let message = format!("the program applies parametric modules more than {most} times");
        let diag = Diagnostic::error("E0709", message, span).here("the last straw: this application");
        self.diags.push(diag.note(
            "an application inside a parametric module is made once for each application of that module",
        ));
    }

    /// E0710.
    pub(in super::super) fn entry_in_module(&mut self, name: &Ident) {
        let message = format!("the entry point `{}` stands inside a module", name.name);
        let diag = Diagnostic::error("E0710", message, name.span).here("not at the top level of the file");
        self.diags.push(diag.note("use `def` here, and declare an entry point outside that calls it"));
    }
}

fn spelled_params(params: &[TypeParam]) -> String {
    if params.is_empty() {
        return "none".to_string();
    }
    let one = |p: &TypeParam| match p {
        TypeParam::Size(name) => format!("[{}]", name.name),
        TypeParam::Type(name, _) => format!("'{}", name.name),
    };
    format!("`{}`", params.iter().map(one).collect::<Vec<_>>().join(" "))
}
