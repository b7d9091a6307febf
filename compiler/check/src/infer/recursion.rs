//! Local functions that call themselves, and what is said where they cannot.
//!
//! ```text
//! let f n = if n == 0 then 1 else n * f (n - 1)      `f` inside is the function itself
//! let f = \n -> … f (n - 1) …                        E0201: a value is not in scope in its own definition
//! let f n = … g n … let g n = … f n …                E0201: `g` is defined later
//! ```

use super::Cx;
use super::scope::Found;
use crate::thir::{Expr, ExprKind, LocalId, Ty, TyVar};
use crate::visit;
use par_runtime::Span;
use par_syntax::ast::{self, Exp, ExpKind, Ident, PatKind};
use par_syntax::{Diagnostic, Severity};

impl Cx<'_> {
    /// Description of what a name means where a local function of that name is defined, if it means anything.
    pub(super) fn meaning_around(&self, name: &Ident) -> Option<String> {
        let found = self.scopes.resolve(&self.env, self.module, &super::deps::field_name(name));
        let name = &name.name;
        match found?.0 {
            Found::Local(_) => Some(format!("the `{name}` around it")),
            Found::Def(id) if !self.defs[id.0 as usize].library => Some(format!("the definition `{name}`")),
            Found::Def(_) | Found::PerType(_) => Some(format!("the `{name}` of the standard library")),
            Found::Op(..) | Found::Broken => None,
        }
    }

    /// W0202: the name means the function itself inside it, and something else before it.
    pub(super) fn calls_itself(&mut self, name: &Ident, another: String) {
        if self.scopes.get(self.module).library {
            return;
        }
        let message = format!("`{}` calls itself, not {another}", name.name);
        self.diags.push(Diagnostic::new(Severity::Warning, "W0202", message, name.span).here("recursive"));
    }

    /// Adds to the errors since `before` that a function bound like a value cannot call itself.
    pub(super) fn advise_recursion(&mut self, before: usize, pat: &ast::Pat, value: &Exp) {
        let mut value = value;
        while let ExpKind::Parens(inner) | ExpKind::Attr(_, inner) = &value.kind {
            value = inner;
        }
        let (PatKind::Name(name), ExpKind::Lambda { .. }) = (&pat.kind, &value.kind) else { return };
        let note = format!(
            "only a function that is written with its parameters can call itself: `let {name} x = …`"
        );
        self.note_unknown(before, name, &note);
    }

    /// Adds to the errors since `before` in the body of a local function that a name is defined in the `let`s after it.
    pub(super) fn advise_mutual(&mut self, before: usize, def: &ast::Def, after: &Exp) {
        if self.diags.len() == before {
            return;
        }
        let mut next = after;
        while let ExpKind::LetFun { body, .. } | ExpKind::Let { body, .. } = &next.kind {
            if let ExpKind::LetFun { def: later, .. } = &next.kind {
                let (first, second) = (&def.name.name, &later.name.name);
                let note = format!(
                    "`{second}` is defined after `{first}`: a local function can call itself and those before it; \
                     functions that call each other are defined with `def` at the top level"
                );
                self.note_unknown(before, second, &note);
            }
            next = body;
        }
    }

    /// Replaces the notes of errors since `before` that say that nobody knows `name`.
    fn note_unknown(&mut self, before: usize, name: &str, note: &str) {
        let sources = self.sources;
        let text = |span: Span| sources.text(span);
        for diag in &mut self.diags[before..] {
            if diag.code == "E0201" && text(diag.labels[0].span) == name {
                diag.notes = vec![note.to_string()];
            }
        }
    }
}

/// Gives the mentions of a function in its own body the type parameters that were inferred for it. True if there are any mentions.
pub(super) fn at_own_types(e: &mut Expr, own: LocalId, inferred: &[TyVar]) -> bool {
    super::deep(|| {
        let here = match &mut e.kind {
            ExprKind::Local(l) if *l == own => {
                if !inferred.is_empty() {
                    e.kind = ExprKind::Poly(own, Vec::new());
                }
                true
            }
            ExprKind::Poly(l, _) => *l == own,
            _ => false,
        };
        if let (true, ExprKind::Poly(_, types)) = (here, &mut e.kind) {
            types.extend(inferred.iter().map(|v| Ty::Var(*v)));
        }
        let mut inside = false;
        visit::children(e, &mut |part| inside |= at_own_types(part, own, inferred));
        here | inside
    })
}
