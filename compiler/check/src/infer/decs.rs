//! Definitions: one strongly connected component at a time.
//!
//! A definition whose signature is complete has its type before any body is looked at, so it may be used at several types
//! inside its own group. The others have one type inside the group and are generalised together when all bodies
//! are done.

use super::collect::What;
use super::deps::Component;
use super::entries::{Function, has_function};
use super::lifted::no_writes;
use super::modules::{Demand, Head, View};
use super::types::{Class, Scheme, erase, function, has_writes};
use super::{Binding, Cx, Env};
use crate::thir::{Def, DefId, Expr, ExprKind, Hidden, LocalId, Pat, Ty, TyVar};
use par_syntax::{Diagnostic, Severity, ast};

/// Origin of a definition.
enum Source<'a> {
    Written(&'a ast::Def),
    View(Box<View<'a>>),
}

/// Parts of the head of a definition.
struct Signature<'a> {
    id: DefId,
    source: Source<'a>,
    type_params: Vec<TyVar>,
    size_params: Vec<LocalId>,
    params: Vec<Pat>,
    /// Declared, or an inference variable.
    ret: Ty,
    /// `params -> ret`, erased.
    ty: Ty,
    /// Nothing in it is left to inference.
    complete: bool,
    /// The parameters, in scope for the body.
    env: Env<Binding>,
}

/// The definitions of the component being finished whose types are generalised together, and by what.
pub(super) struct Group {
    pub(super) defs: Vec<DefId>,
    pub(super) vars: Vec<TyVar>,
}

impl<'a> Cx<'a> {
    /// Checks the definitions of a component.
    pub(super) fn component(&mut self, component: &Component, group: u32) {
        self.types.clear();
        self.component.literals.clear();
        self.types.level = 1;
        let before = self.diags.len();
        let mut signatures: Vec<Signature<'a>> =
            component.defs.iter().map(|id| self.signature(*id)).collect();
        let bodies: Vec<Expr> = signatures.iter_mut().map(|s| self.body(s)).collect();
        self.settle(&signatures);
        let generalised = self.close(&signatures);
        let wrong: Vec<bool> = signatures.iter().map(|s| self.is_wrong(&s.ty)).collect();
        self.types.default_rest();
        let number = component.recursive.then_some(group);
        for ((signature, body), wrong) in signatures.into_iter().zip(bodies).zip(wrong) {
            let id = signature.id;
            let faultless = self.diags[before..].iter().all(|d| d.severity < Severity::Unsupported);
            // A type inferred from a body with mistakes may be another one than was meant.
            let wrong = wrong || (!faultless && !signature.complete);
            self.finish_def(signature, body, &generalised, number);
            if faultless {
                self.check_entry(id);
                self.warn_of_defaults(id, component.recursive);
            }
            if wrong {
                self.checked.schemes[id.0 as usize] = None;
            }
            if faultless && component.recursive {
                self.check_value(id);
            }
        }
        component.direct.iter().for_each(|id| self.note_shadowing(*id));
        self.forget_repeated(component, before);
    }

    /// In an instance of a parametric module errors only follow from others: its body was checked where it is written.
    fn forget_repeated(&mut self, component: &Component, before: usize) {
        let instance = |id: &DefId| self.defs[id.0 as usize].demand == Demand::Mentioned;
        let is_error = |d: &Diagnostic| d.severity >= Severity::Unsupported;
        if component.defs.iter().all(instance) && self.diags[..before].iter().any(is_error) {
            self.diags.truncate(before);
        }
    }

    /// True if an error left a hole in the type, so that uses of the definition say nothing.
    fn is_wrong(&self, ty: &Ty) -> bool {
        let mut leaves = Vec::new();
        self.types.leaves(ty, &mut leaves);
        leaves.iter().any(|leaf| self.types.is_poison(leaf))
    }

    fn signature(&mut self, id: DefId) -> Signature<'a> {
        let found = &self.defs[id.0 as usize];
        let module = found.module;
        let what = match &found.what {
            What::Def(ast) => Source::Written(ast),
            What::View(view) => Source::View(view.clone()),
        };
        self.module = module;
        self.env = Env::default();
        self.env.own = self.defs[id.0 as usize].means_another().then_some(id);
        let mut signature = match what {
            Source::Written(ast) => self.written_signature(id, ast),
            Source::View(view) => self.view_signature(id, view),
        };
        signature.env = std::mem::take(&mut self.env);
        signature
    }

    fn written_signature(&mut self, id: DefId, ast: &'a ast::Def) -> Signature<'a> {
        let (type_params, size_params) = self.type_params(&ast.type_params);
        let params = self.pats(&ast.type_params, &ast.params);
        self.must_use_sizes(ast);
        let ret = match &ast.ret {
            Some(t) => self.ty(t),
            None => self.types.any(),
        };
        let ty = function(params.iter().map(|p| &p.ty), erase(&ret));
        let mut leaves = Vec::new();
        self.types.leaves(&ty, &mut leaves);
        let complete = ast.ret.is_some() && !leaves.iter().any(|t| matches!(t, Ty::Meta(_)));
        self.checked.schemes[id.0 as usize] = Some(Scheme { vars: type_params.clone(), ty: ty.clone() });
        let source = Source::Written(ast);
        Signature { id, source, type_params, size_params, params, ret, ty, complete, env: Env::default() }
    }

    fn view_signature(&mut self, id: DefId, view: Box<View<'a>>) -> Signature<'a> {
        let Head { type_params, size_params, params, ret, ty } = self.view_head(&view);
        self.checked.schemes[id.0 as usize] = Some(Scheme { vars: type_params.clone(), ty: ty.clone() });
        let source = Source::View(view);
        Signature {
            id,
            source,
            type_params,
            size_params,
            params,
            ret,
            ty,
            complete: true,
            env: Env::default(),
        }
    }

    fn body(&mut self, signature: &mut Signature<'a>) -> Expr {
        let def = &self.defs[signature.id.0 as usize];
        let (module, intrinsic, attrs) = (def.module, def.intrinsic, def.of_body.clone());
        let nothing = |span| Expr { kind: ExprKind::Tuple(Vec::new()), ty: Ty::Tuple(Vec::new()), span };
        self.module = module;
        self.env = std::mem::take(&mut signature.env);
        match &signature.source {
            Source::View(view) if view.target.is_none() => nothing(view.name.span),
            Source::View(view) => self.view_body(view, &signature.params, &signature.ret),
            Source::Written(ast) if intrinsic => {
                if !signature.complete {
                    let message = "an intrinsic needs a complete signature";
                    self.diags.push(Diagnostic::error("E0307", message, ast.name.span));
                }
                nothing(ast.body.span)
            }
            Source::Written(ast) => {
                let body = self.exp(&ast.body);
                let at = ast.ret.as_ref().map_or(ast.name.span, |t| t.span);
                self.agree_result(&signature.ret, at, &body);
                self.of_moderate_size(signature.ty.clone(), ast.name.span);
                attrs.into_iter().rev().fold(body, with_attribute)
            }
        }
    }

    /// Solves everything that the bodies leave open except what can be generalised.
    fn settle(&mut self, signatures: &[Signature<'a>]) {
        self.solve_pending();
        signatures.iter().for_each(|s| self.note_defaults(s.id, &s.params));
        self.types.default_scalars();
        self.solve_pending();
        self.types.default_scalars();
        self.report_pending();
        self.report_holes();
    }

    /// Generalises the definitions without complete signature, all over the same new type parameters.
    fn close(&mut self, signatures: &[Signature<'a>]) -> Group {
        let open: Vec<&Signature<'a>> = signatures.iter().filter(|s| !s.complete).collect();
        let tys: Vec<&Ty> = open.iter().map(|s| &s.ty).collect();
        let taken: Vec<TyVar> = open.iter().flat_map(|s| s.type_params.clone()).collect();
        let vars = self.generalise(&tys, &taken);
        Group { defs: open.iter().map(|s| s.id).collect(), vars }
    }

    /// Makes type parameters of the variables in the types that belong to the present level alone. `taken` are the
    /// parameters whose names are used.
    pub(super) fn generalise(&mut self, tys: &[&Ty], taken: &[TyVar]) -> Vec<TyVar> {
        let blocked = self.blocked();
        let mut metas = Vec::new();
        tys.iter().for_each(|ty| self.types.generalisable(ty, &blocked, &mut metas));
        let taken: Vec<String> = taken.iter().map(|v| self.type_vars[v.0 as usize].clone()).collect();
        let mut names = (0..).map(type_var_name).filter(|n| !taken.contains(n));
        let mut vars = Vec::new();
        for meta in metas {
            let class = self.types.class(meta).unwrap_or(Class::Any);
            let var = self.new_type_var(&names.next().unwrap_or_default(), class);
            self.types.solve(meta, Ty::Var(var));
            vars.push(var);
        }
        vars
    }

    fn finish_def(&mut self, s: Signature<'a>, mut body: Expr, group: &Group, number: Option<u32>) {
        let mut type_params = s.type_params;
        if !s.complete {
            type_params.extend(&group.vars);
        }
        let entry = matches!(s.source, Source::Written(ast) if ast.entry);
        // Of any definition: a session makes entry points later.
        let written = matches!(s.source, Source::Written(_)) && !self.defs[s.id.0 as usize].library;
        let hidden = if written { self.hidden_parts(&s.ty) } else { Hidden::Nothing };
        let whole = self.types.resolve(&s.ty);
        if entry && has_writes(&whole) {
            let span = self.defs[s.id.0 as usize].ident().span;
            self.diags.push(no_writes("an entry point cannot take or give", &self.show(&whole), span));
        }
        let mut params = s.params;
        params.iter_mut().for_each(|p| self.finish_binding(p, group));
        let mut ret = s.ret;
        self.finish_ty(&mut ret, group);
        let ty = self.types.resolve(&s.ty);
        self.finish_expr(&mut body, group);
        let found = &self.defs[s.id.0 as usize];
        let name_span = found.ident().span;
        let ret_span = match &s.source {
            Source::Written(ast) => ast.ret.as_ref().map_or(name_span, |t| t.span),
            Source::View(_) => name_span,
        };
        let intrinsic = match &s.source {
            Source::Written(_) => found.intrinsic,
            // What only a parameter of a parametric module promises has no body.
            Source::View(view) => view.target.is_none(),
        };
        let mut def = Def {
            name: found.name.clone(),
            entry,
            group: number,
            intrinsic,
            inlining: found.inlining,
            open: found.demand == super::modules::Demand::First || matches!(found.what, What::View(_)),
            library: found.library,
            type_params,
            size_params: s.size_params,
            params,
            ret,
            body,
            hidden,
            span: found.span,
            name_span,
            ret_span,
        };
        if entry || number.is_some() {
            let Def { params, ret, body, .. } = &mut def;
            self.give_parameters(Function { params, ret, declared: ret_span != name_span, ret_span, body });
        }
        self.checked.schemes[s.id.0 as usize] = Some(Scheme { vars: def.type_params.clone(), ty });
        self.checked.done[s.id.0 as usize] = Some(def);
    }

    /// E0514 for a value of a recursive group.
    fn check_value(&mut self, id: DefId) {
        let found = self.checked.done[id.0 as usize].as_ref();
        let Some(def) = found.filter(|d| d.params.is_empty() && !has_function(&d.ret) && !d.library) else {
            return;
        };
        let message = format!("the value `{}` is defined by itself", def.name);
        let diag = Diagnostic::error("E0514", message, def.name_span).here("its computation needs it");
        self.diags.push(diag);
        self.checked.schemes[id.0 as usize] = None;
    }

    /// Notes that a definition that mentions itself does not mean the library's function of the same name.
    fn note_shadowing(&mut self, id: DefId) {
        let def = &self.defs[id.0 as usize];
        let Some(ast) = def.written() else { return };
        let (name, span) = (&ast.name.name, ast.name.span);
        let outer = self.scopes.get(def.module).parent;
        let shadowed = outer.is_some_and(|outer| {
            let name = par_syntax::ast::Name { path: Vec::new(), base: name.clone(), span };
            self.scopes.resolve(&Env::<()>::default(), outer, &name).is_some()
        });
        if shadowed && !def.library {
            let message = format!("`{name}` calls itself, not the `{name}` of the standard library");
            let diag = Diagnostic::new(Severity::Warning, "W0202", message, span).here("recursive");
            self.diags.push(diag);
        }
    }
}

/// `a`, `b`, …, `z`, `a1`, …
fn type_var_name(n: usize) -> String {
    let letter = (b'a' + (n % 26) as u8) as char;
    if n < 26 { letter.to_string() } else { format!("{letter}{}", n / 26) }
}

/// A definition's attribute before its body.
fn with_attribute(body: Expr, attr: &ast::Attr) -> Expr {
    let (ty, span) = (body.ty.clone(), body.span);
    Expr { kind: ExprKind::Attr(attr.clone(), Box::new(body)), ty, span }
}
