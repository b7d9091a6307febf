//! Parameters of whose type nothing is said, so that it is that of a number: `i32`, or `f64`.

use super::Cx;
use super::types::Class;
use crate::thir::{DefId, Expr, ExprKind, Pat, PatKind, Ty};
use par_syntax::{Diagnostic, Severity};

impl Cx<'_> {
    /// Notes which parameters of a definition have types that are about to be chosen.
    pub(super) fn note_defaults(&mut self, id: DefId, params: &[Pat]) {
        for (i, param) in params.iter().enumerate() {
            if self.has_open_scalars(&param.ty) {
                self.checked.defaulted.insert((id, i));
            }
        }
    }

    /// True if a type has scalars of which it is not known yet which of some types they have.
    pub(super) fn has_open_scalars(&self, ty: &Ty) -> bool {
        let mut leaves = Vec::new();
        self.types.leaves(ty, &mut leaves);
        let is_open =
            |t: &Ty| matches!(t, Ty::Meta(m) if matches!(self.types.class(*m), Some(Class::Prims(_))));
        leaves.iter().any(is_open)
    }

    /// W0207, where a parameter's type matters to callers most: an entry point has input of it, a recursive function is no
    /// definition to copy.
    pub(super) fn warn_of_defaults(&mut self, id: DefId, recursive: bool) {
        let Some(def) =
            self.checked.done[id.0 as usize].as_ref().filter(|d| (d.entry || recursive) && !d.library)
        else {
            return;
        };
        let mut named = Vec::new();
        for (i, param) in def.params.iter().enumerate() {
            if let (true, PatKind::Var(name)) = (self.checked.defaulted.contains(&(id, i)), &param.kind) {
                named.push((self.locals[name.0 as usize].clone(), self.show(&param.ty), param.span));
            }
        }
        let message = match &named[..] {
            [] => return,
            [(name, ty, _)] => format!("nothing says the type of `{name}`, so it is `{ty}`"),
            several => {
                let all =
                    several.iter().map(|(name, ty, _)| format!("`{name}` is `{ty}`")).collect::<Vec<_>>();
                format!("nothing says the types of parameters, so {}", all.join(" and "))
            }
        };
        let written = named.iter().map(|(name, ty, _)| format!("({name}: {ty})")).collect::<Vec<_>>();
        let mut diag =
            Diagnostic::new(Severity::Warning, "W0207", message, named[0].2).here("without a type");
        for (.., span) in &named[1..] {
            diag = diag.label(*span, "without a type");
        }
        self.diags.push(diag.note(format!("write what is meant: {}", written.join(" "))));
    }

    /// For an argument of a local function that fits its parameter but for the type of numbers.
    pub(super) fn of_one_type(&self, f: &Expr, param: &Ty, arg: &Expr) -> Option<String> {
        let ExprKind::Local(id) = f.kind else { return None };
        if !self.component.of_one_type.contains(&id) || !self.differ_in_scalars(param, &arg.ty) {
            return None;
        }
        let name = &self.locals[id.0 as usize];
        Some(format!(
            "numbers in the local function `{name}` are of one type, the same in all its uses: write a function for each type"
        ))
    }

    /// True for scalars, and for arrays of them of the same rank.
    fn differ_in_scalars(&self, a: &Ty, b: &Ty) -> bool {
        match (self.types.shallow(a), self.types.shallow(b)) {
            (Ty::Array(_, a), Ty::Array(_, b)) => self.differ_in_scalars(&a, &b),
            (a, b) => [a, b].iter().all(|t| matches!(t, Ty::Prim(_) | Ty::Meta(_))),
        }
    }

    /// For an argument that does not fit a parameter of which nothing says the type.
    pub(super) fn default_of_parameter(&self, f: &Expr, arg: &Expr, at: usize) -> Option<String> {
        let ExprKind::Def(id, _) = f.kind else { return None };
        let def =
            self.defs[id.0 as usize].written().filter(|_| self.checked.defaulted.contains(&(id, at)))?;
        let name = self.sources.text(def.params.get(at)?.span);
        let wanted = self.show(&arg.ty);
        Some(format!(
            "nothing says the type of `{name}` in the definition of `{}`: write ({name}: {wanted})",
            def.name.name
        ))
    }
}
