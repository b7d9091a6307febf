//! Definitions: one strongly connected component at a time.
//!
//! A definition whose signature is complete has its type before any body is looked at, so it may be used at several types
//! inside its own group. The others have one type inside the group and are generalised together when all bodies
//! are done.

use super::deps::Component;
use super::types::{Scheme, erase, function};
use super::{Binding, Cx, Env};
use crate::thir::{Def, DefId, Expr, ExprKind, LocalId, Pat, Ty, TyVar};
use par_syntax::{Diagnostic, Severity};

/// What the head of a definition says.
struct Signature {
    id: DefId,
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

impl Cx<'_> {
    /// Checks the definitions of a component.
    pub(super) fn component(&mut self, component: &Component, group: u32) {
        self.types.clear();
        self.literals.clear();
        self.types.level = 1;
        let before = self.diags.len();
        let mut signatures: Vec<Signature> = component.defs.iter().map(|id| self.signature(*id)).collect();
        let bodies: Vec<Expr> = signatures.iter_mut().map(|s| self.body(s)).collect();
        self.settle();
        let generalised = self.close(&signatures);
        let wrong: Vec<bool> = signatures.iter().map(|s| self.is_wrong(&s.ty)).collect();
        self.types.default_rest();
        let number = component.recursive.then_some(group);
        for ((signature, body), wrong) in signatures.into_iter().zip(bodies).zip(wrong) {
            let id = signature.id;
            let faultless = self.diags[before..].iter().all(|d| d.severity < Severity::Unsupported);
            self.finish_def(signature, body, &generalised, number);
            if faultless {
                self.check_entry(id);
            }
            if wrong {
                self.schemes[id.0 as usize] = None;
            }
        }
        component.direct.iter().for_each(|id| self.note_shadowing(*id));
    }

    /// Whether an error left a hole in the type, so that uses of the definition say nothing.
    fn is_wrong(&self, ty: &Ty) -> bool {
        let mut leaves = Vec::new();
        self.types.leaves(ty, &mut leaves);
        leaves.iter().any(|leaf| self.types.is_poison(leaf))
    }

    fn signature(&mut self, id: DefId) -> Signature {
        let (ast, module) = (self.defs[id.0 as usize].ast, self.defs[id.0 as usize].module);
        self.module = module;
        self.env = Env::default();
        let (type_params, size_params) = self.type_params(&ast.type_params);
        let params = self.pats(&ast.params);
        let ret = match &ast.ret {
            Some(t) => self.ty(t),
            None => self.types.any(),
        };
        let ty = function(params.iter().map(|p| &p.ty), erase(&ret));
        let mut leaves = Vec::new();
        self.types.leaves(&ty, &mut leaves);
        let complete = ast.ret.is_some() && !leaves.iter().any(|t| matches!(t, Ty::Meta(_)));
        self.schemes[id.0 as usize] = Some(Scheme { vars: type_params.clone(), ty: ty.clone() });
        let env = std::mem::take(&mut self.env);
        Signature { id, type_params, size_params, params, ret, ty, complete, env }
    }

    fn body(&mut self, signature: &mut Signature) -> Expr {
        let def = &self.defs[signature.id.0 as usize];
        let (ast, intrinsic) = (def.ast, def.intrinsic);
        if intrinsic {
            if !signature.complete {
                let message = "an intrinsic needs a complete signature";
                self.diags.push(Diagnostic::error("E0307", message, ast.name.span));
            }
            return Expr {
                kind: ExprKind::Tuple(Vec::new()),
                ty: Ty::Tuple(Vec::new()),
                span: ast.body.span,
            };
        }
        self.module = def.module;
        self.env = std::mem::take(&mut signature.env);
        let body = self.exp(&ast.body);
        let at = ast.ret.as_ref().map_or(ast.name.span, |t| t.span);
        self.agree_result(&signature.ret, at, &body, &ast.body);
        self.of_moderate_size(signature.ty.clone(), ast.name.span);
        body
    }

    /// Solves everything that the bodies leave open except what can be generalised.
    fn settle(&mut self) {
        self.solve_pending();
        self.types.default_scalars();
        self.solve_pending();
        self.types.default_scalars();
        self.report_pending();
        for (ty, span) in std::mem::take(&mut self.holes) {
            let message = format!("a hole of type `{}`", self.show(&ty));
            self.diags.push(Diagnostic::error("E0309", message, span).here("write an expression here"));
        }
    }

    /// Generalises the definitions without complete signature, all over the same new type parameters.
    fn close(&mut self, signatures: &[Signature]) -> Group {
        let open: Vec<&Signature> = signatures.iter().filter(|s| !s.complete).collect();
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
            let var = self.new_type_var(&names.next().unwrap_or_default());
            self.types.solve(meta, Ty::Var(var));
            vars.push(var);
        }
        vars
    }

    fn finish_def(&mut self, s: Signature, mut body: Expr, group: &Group, number: Option<u32>) {
        let mut type_params = s.type_params;
        if !s.complete {
            type_params.extend(&group.vars);
        }
        let mut params = s.params;
        params.iter_mut().for_each(|p| self.finish_binding(p, group));
        let mut ret = s.ret;
        self.finish_ty(&mut ret, group);
        let ty = self.types.resolve(&s.ty);
        self.finish_expr(&mut body, group);
        let found = &self.defs[s.id.0 as usize];
        let def = Def {
            name: found.name.clone(),
            entry: found.ast.entry,
            group: number,
            intrinsic: found.intrinsic,
            library: found.library,
            type_params,
            size_params: s.size_params,
            params,
            ret,
            body,
            span: found.span,
            name_span: found.ast.name.span,
        };
        self.schemes[s.id.0 as usize] = Some(Scheme { vars: def.type_params.clone(), ty });
        self.done[s.id.0 as usize] = Some(def);
    }

    /// Entry points take and give plain data of known type.
    fn check_entry(&mut self, id: DefId) {
        let Some(def) = self.done[id.0 as usize].as_ref().filter(|d| d.entry) else { return };
        let head = "an entry point takes and gives values without functions";
        let functions = def.params.iter().any(|p| has_function(&p.ty)) || has_function(&def.ret);
        if !functions && let Some(var) = def.type_params.first() {
            let name = &self.type_vars[var.0 as usize];
            let diag = Diagnostic::error("E0501", "an entry point cannot be polymorphic", def.name_span);
            let diag = diag.here(format!("works for every type `{name}`"));
            self.diags.push(diag.note("give its parameters and result types without type parameters"));
        }
        for param in &def.params {
            if has_function(&param.ty) {
                self.diags
                    .push(Diagnostic::error("E0502", head, param.span).here("this parameter is a function"));
            }
        }
        if has_function(&def.ret) {
            let here = format!("its result has the type `{}`", self.show(&def.ret));
            self.diags.push(Diagnostic::error("E0502", head, def.name_span).here(here));
        }
    }

    /// Notes that a definition that mentions itself does not mean the library's function of the same name.
    fn note_shadowing(&mut self, id: DefId) {
        let def = &self.defs[id.0 as usize];
        let (name, span) = (&def.ast.name.name, def.ast.name.span);
        let outer = self.scopes.get(def.module).parent;
        let shadowed = outer.is_some_and(|outer| {
            let name = par_syntax::ast::Name { path: Vec::new(), base: name.clone(), span };
            self.scopes.resolve(&Env::<()>::default(), outer, &name).is_some()
        });
        if shadowed && !def.library {
            let message = format!("`{name}` calls itself, not the `{name}` of the standard library");
            self.diags.push(Diagnostic::new(Severity::Note, "", message, span).here("recursive"));
        }
    }
}

/// `a`, `b`, …, `z`, `a1`, …
fn type_var_name(n: usize) -> String {
    let letter = (b'a' + (n % 26) as u8) as char;
    if n < 26 { letter.to_string() } else { format!("{letter}{}", n / 26) }
}

fn has_function(ty: &Ty) -> bool {
    match ty {
        Ty::Fun(..) => true,
        Ty::Prim(_) | Ty::Var(_) | Ty::Meta(_) => false,
        Ty::Array(_, t) | Ty::Unique(t) => has_function(t),
        Ty::Tuple(ts) => ts.iter().any(has_function),
        Ty::Record(fs) => fs.iter().any(|(_, t)| has_function(t)),
        Ty::Sum(cs) => cs.iter().flat_map(|(_, ts)| ts).any(has_function),
    }
}
