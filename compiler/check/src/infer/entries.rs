//! Entry points: plain functions over plain data. They, and recursive functions, have as many parameters as their types say.
//!
//! ```text
//! entry main = map f                     entry main (_: []i32) : []i32 = map f _
//! entry main : []i32 -> i32 = i32.sum    entry main (_: []i32) : i32 = i32.sum _
//! ```

use super::types::erase;
use super::{Cx, hints};
use crate::thir::{DefId, Expr, ExprKind, LocalId, Pat, PatKind, Ty};
use par_runtime::Span;
use par_syntax::Diagnostic;

impl Cx<'_> {
    /// Gives a definition whose value is a function the parameters that its type says.
    pub(super) fn give_parameters(&mut self, f: Function) {
        let mut names = lambda_params(f.body).into_iter();
        let mut args = Vec::new();
        while let Ty::Fun(param, ret) = &*f.ret {
            let (ty, ret) = ((**param).clone(), (**ret).clone());
            let name =
                names.next().flatten().map_or("_".to_string(), |id| self.locals[id.0 as usize].clone());
            let local = self.new_local(&name);
            let span = f.body.span;
            args.push(Expr { kind: ExprKind::Local(local), ty: erase(&ty), span });
            f.params.push(Pat { kind: PatKind::Var(local), ty, declared: f.declared, span: f.ret_span });
            *f.ret = ret;
        }
        if !args.is_empty() {
            applied(f.body, args, erase(f.ret));
        }
    }

    /// Entry points take and give plain data of known type.
    pub(super) fn check_entry(&mut self, id: DefId) {
        let Some(def) = self.checked.done[id.0 as usize].as_ref().filter(|d| d.entry) else { return };
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
            let diag = Diagnostic::error("E0502", head, def.name_span).here(here);
            self.diags.push(match &def.ret {
                Ty::Array(_, element) if matches!(**element, Ty::Fun(..)) => {
                    diag.note(hints::TOO_MANY_PARAMETERS)
                }
                _ => diag,
            });
        }
    }
}

/// A definition or local function whose result may be a function.
pub(super) struct Function<'a> {
    pub(super) params: &'a mut Vec<Pat>,
    pub(super) ret: &'a mut Ty,
    /// The type of the result is written.
    pub(super) declared: bool,
    pub(super) ret_span: Span,
    pub(super) body: &'a mut Expr,
}

/// The names that the parameters of a lambda have.
fn lambda_params(body: &Expr) -> Vec<Option<LocalId>> {
    match &body.kind {
        ExprKind::Attr(_, inner) => lambda_params(inner),
        ExprKind::Lambda { params, .. } => {
            let name = |p: &Pat| if let PatKind::Var(id) = p.kind { Some(id) } else { None };
            params.iter().map(name).collect()
        }
        _ => Vec::new(),
    }
}

/// Applies a function. Attributes of the function are about what it computes.
fn applied(body: &mut Expr, args: Vec<Expr>, ty: Ty) {
    if let ExprKind::Attr(_, inner) = &mut body.kind {
        body.ty = ty.clone();
        return applied(inner, args, ty);
    }
    let unit = Expr { kind: ExprKind::Tuple(Vec::new()), ty: Ty::Tuple(Vec::new()), span: body.span };
    let function = std::mem::replace(body, unit);
    *body = Expr { kind: ExprKind::Apply(Box::new(function), args), ty, span: body.span };
}

/// True if a function is part of a type.
pub fn has_function(ty: &Ty) -> bool {
    match ty {
        Ty::Fun(..) => true,
        Ty::Prim(_) | Ty::Var(_) | Ty::Meta(_) | Ty::Abstract(..) => false,
        Ty::Array(_, t) | Ty::Unique(t) => has_function(t),
        Ty::Tuple(ts) => ts.iter().any(has_function),
        Ty::Record(fs) => fs.iter().any(|(_, t)| has_function(t)),
        Ty::Sum(cs) => cs.payloads().any(has_function),
    }
}
