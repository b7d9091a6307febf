//! Values and types seen through a module type: whether they are what it says, and the functions that stand for them.
//!
//! ```text
//! val f [n] : (k: i64) -> *[n]t -> t      def f [n] (k: i64) (x: *[n]t) : t = behind k x
//! ```
//!
//! The definition of a view is made in the scope where hidden types are what they stand for; its type for others (the
//! scheme) is made in the scope where they are hidden.

use super::super::collect::{self, Collected};
use super::super::scope::ModId;
use super::super::types::{Scheme, erase, function};
use super::super::{Binding, Cx, errors};
use super::sizes::Sizes;
use crate::thir::{DefId, Expr, ExprKind, LocalId, Pat, PatKind, Ty, TyVar};
use par_runtime::{Prim, Span};
use par_syntax::ast::{Ident, TypeExp, TypeKind, TypeParam};
use par_syntax::{Diagnostic, Severity};

/// Definition behind a specified value.
#[derive(Clone)]
pub(in super::super) enum Target {
    Def(DefId),
    /// A built-in operator at a type.
    Op(String, Prim),
    /// Something wrong that was reported.
    Broken,
}

/// A value that a module type specifies.
#[derive(Clone)]
pub(in super::super) struct View<'a> {
    pub(in super::super) name: &'a Ident,
    pub(in super::super) params: &'a [TypeParam],
    pub(in super::super) ty: &'a TypeExp,
    /// Nothing behind a parameter of a parametric module whose body is checked.
    pub(in super::super) target: Option<Target>,
    /// Scope of the types for others.
    pub(in super::super) outer: ModId,
    /// The module that is given the module type.
    pub(in super::super) at: Span,
}

/// When a definition is checked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in super::super) enum Demand {
    /// Before all others: the body of a parametric module.
    First,
    Always,
    /// Of an instance: if something that is checked mentions it.
    Mentioned,
}

impl<'a> View<'a> {
    /// A specification with nothing behind it.
    pub(super) fn new(name: &'a Ident, params: &'a [TypeParam], ty: &'a TypeExp) -> View<'a> {
        View { name, params, ty, target: None, outer: ModId(0), at: Span::default() }
    }
}

impl<'a> Collected<'a> {
    /// A view as a definition of a module.
    pub(super) fn seen(&self, view: View<'a>, module: ModId) -> collect::Found<'a> {
        let name = format!("{}{}", self.scopes.get(module).prefix, view.name.name);
        collect::Found {
            name,
            module,
            // Nothing about a call of it is to be seen in the module type.
            span: Span::default(),
            what: collect::What::View(Box::new(view)),
            intrinsic: false,
            inlining: Default::default(),
            of_body: Vec::new(),
            library: self.scopes.get(module).library,
            demand: self.demand(),
        }
    }

    /// When what is collected now is checked.
    pub(in super::super) fn demand(&self) -> Demand {
        match (self.in_instance, self.in_template) {
            (true, _) => Demand::Mentioned,
            (_, true) => Demand::First,
            _ => Demand::Always,
        }
    }
}

/// The head of a view.
pub(in super::super) struct Head {
    pub(in super::super) type_params: Vec<TyVar>,
    pub(in super::super) size_params: Vec<LocalId>,
    pub(in super::super) params: Vec<Pat>,
    pub(in super::super) ret: Ty,
    /// For others, erased.
    pub(in super::super) ty: Ty,
}

impl<'a> Cx<'a> {
    /// The head of the function that stands for a specified value.
    pub(in super::super) fn view_head(&mut self, view: &View<'a>) -> Head {
        let (type_params, size_params) = self.type_params(view.params);
        let (params, ret) = self.spec_params(view.ty);
        let mut ty = function(params.iter().map(|p| &p.ty), erase(&ret));
        if view.outer != self.module {
            self.module = view.outer;
            ty = erase(&self.ty(view.ty));
        }
        Head { type_params, size_params, params, ret, ty }
    }

    /// A function type as parameters and a result.
    fn spec_params(&mut self, ty: &'a TypeExp) -> (Vec<Pat>, Ty) {
        let (mut ty, mut params) = (ty, Vec::new());
        while let TypeKind::Arrow(name, param, result) = &ty.kind {
            let declared = self.ty(param);
            let name = name.as_ref().map_or("", |n| n.name.as_str());
            let local = self.new_local(if name.is_empty() { "_" } else { name });
            if !name.is_empty() {
                let scheme = Scheme::mono(erase(&declared));
                self.env.bind(name, Binding::Value { id: local, scheme });
            }
            params.push(Pat { kind: PatKind::Var(local), ty: declared, declared: true, span: param.span });
            ty = result;
        }
        (params, self.ty(ty))
    }

    /// The body: what stands behind it, applied to the parameters.
    pub(in super::super) fn view_body(&mut self, view: &View<'a>, params: &[Pat], ret: &Ty) -> Expr {
        let span = Span::default();
        let behind = match &view.target {
            Some(Target::Def(id)) => self.def_use(*id, span),
            Some(Target::Op(op, prim)) => self.operator_value(op, Some(*prim), span),
            Some(Target::Broken) | None => self.poison(span),
        };
        let wanted = function(params.iter().map(|p| &p.ty), erase(ret));
        if let Err(clash) = self.types.unify(&wanted, &behind.ty) {
            self.wrong_value(view, &clash, &wanted, &behind.ty);
            return self.poison(span);
        }
        if let Some(Target::Def(id)) = &view.target {
            self.check_uniqueness(view, *id, params, ret);
            self.check_sizes(view, *id, params, ret);
        }
        let argument = |p: &Pat| {
            let PatKind::Var(local) = p.kind else { return None };
            Some(Expr { kind: ExprKind::Local(local), ty: erase(&p.ty), span })
        };
        let args: Vec<Expr> = params.iter().filter_map(argument).collect();
        if args.is_empty() {
            return behind;
        }
        Expr { kind: ExprKind::Apply(Box::new(behind), args), ty: erase(ret), span }
    }

    /// E0704.
    fn wrong_value(&mut self, view: &View<'a>, clash: &super::super::types::Clash, wanted: &Ty, found: &Ty) {
        let name = &view.name.name;
        let message = format!("`{name}` does not have the type that the module type asks for");
        let (wanted, found) = (self.show(wanted), self.show(found));
        let diag = self.at_definition(view, "E0704", message, format!("its type is `{found}`"));
        let diag = diag.label(view.name.span, format!("the module type asks for `{wanted}`"));
        let general = !view.params.is_empty() && *clash == super::super::types::Clash::Mismatch;
        self.diags.push(match general {
            true => diag.note(
                "a type parameter in a module type stands for every type: the value must be as general",
            ),
            false => errors::explain(diag, clash),
        });
    }

    /// A diagnostic at the user's definition behind a view, or where the module is given its type.
    fn at_definition(
        &self,
        view: &View<'a>,
        code: &'static str,
        message: String,
        here: String,
    ) -> Diagnostic {
        let own = match &view.target {
            Some(Target::Def(id)) => Some(&self.defs[id.0 as usize]).filter(|d| !d.library),
            _ => None,
        };
        match own {
            Some(def) => Diagnostic::error(code, message, def.ident().span)
                .here(here)
                .label(view.at, "this module is given the module type"),
            None => Diagnostic::error(code, message, view.at).here(here),
        }
    }

    /// E0704: a function that consumes what the module type does not give up. W0701: one that gives back what may be shared,
    /// where the module type says `*`.
    fn check_uniqueness(&mut self, view: &View<'a>, behind: DefId, params: &[Pat], ret: &Ty) {
        let Some(def) = self.checked.done[behind.0 as usize].as_ref() else { return };
        let taken = def.params.iter().zip(params).position(|(theirs, ours)| exceeds(&theirs.ty, &ours.ty));
        let gives = def.params.len() == params.len() && exceeds(ret, &def.ret);
        let name = &view.name.name;
        if let Some(i) = taken {
            let message = format!("`{name}` consumes an argument that the module type does not give up");
            let here = format!("parameter {} is declared with `*`", i + 1);
            let diag = self.at_definition(view, "E0704", message, here);
            self.diags.push(diag.label(view.name.span, "the module type has no `*` there"));
        } else if gives && !def.library {
            let message = format!("the result of `{name}` may share memory, but the module type says `*`");
            let diag =
                self.at_definition(view, "W0701", message, "its result is declared without `*`".to_string());
            let diag = diag.label(view.name.span, "the module type promises a new array");
            let note = "an update of the result copies what is shared";
            self.diags.push(Diagnostic { severity: Severity::Warning, ..diag }.note(note));
        }
    }

    /// E0704: a function that takes only some of the sizes that the module type lets others choose, or gives back another
    /// size than it says.
    fn check_sizes(&mut self, view: &View<'a>, behind: DefId, params: &[Pat], ret: &Ty) {
        let Some(def) = self.checked.done[behind.0 as usize].as_ref() else { return };
        if def.params.len() != params.len() {
            return;
        }
        let Some(wrong) = Sizes::of(def, &self.locals).compare(params, ret) else { return };
        let name = &view.name.name;
        let diag = self.at_definition(view, "E0704", wrong.message(name), wrong.here());
        self.diags.push(diag.label(view.name.span, wrong.asked()));
    }
}

/// True if a type is marked `*` somewhere where the other is not.
fn exceeds(more: &Ty, less: &Ty) -> bool {
    match (more, less) {
        (Ty::Unique(a), Ty::Unique(b)) => exceeds(a, b),
        (Ty::Unique(t), _) => !matches!(**t, Ty::Prim(_)),
        (a, Ty::Unique(b)) => exceeds(a, b),
        (Ty::Tuple(a), Ty::Tuple(b)) => a.iter().zip(b).any(|(a, b)| exceeds(a, b)),
        (Ty::Record(a), Ty::Record(b)) => a.iter().zip(b).any(|((_, a), (_, b))| exceeds(a, b)),
        _ => false,
    }
}
