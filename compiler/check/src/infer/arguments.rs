//! Advice about arguments of a wrong type: what was probably meant.

use super::Cx;
use super::hints::{MORE_ARRAYS, PAIRS, TOO_MANY_PARAMETERS, arity, one_character, text_of_one};
use super::scope::OPERATORS;
use crate::thir::{Expr, ExprKind, Ty};
use par_syntax::Diagnostic;

impl Cx<'_> {
    /// Advice for an argument of a wrong type: `f (x, y)` instead of `f x y`.
    pub(super) fn advise_argument(
        &self,
        diag: Diagnostic,
        f: &Expr,
        param: &Ty,
        args: &[Expr],
        at: usize,
    ) -> Diagnostic {
        let (arg, next) = (&args[at], args.get(at + 1));
        let note = (self.default_of_parameter(f, arg, at))
            .or_else(|| self.of_one_type(f, param, arg))
            .or_else(|| self.character(arg, &args[..at]))
            .or_else(|| self.own_operator(f, arg))
            .or_else(|| self.one_tuple(f, param, args).filter(|_| at == 0))
            .or_else(|| self.parameters_of_function(param, arg, &args[at + 1..]))
            .or_else(|| self.order_of_fold(f, args, at))
            .or_else(|| self.sizes_in_type(f, args).filter(|_| at == 0 && !self.is_array(&arg.ty)))
            .or_else(|| self.index_apart(param, arg, next?))
            .or_else(|| self.call_as_argument(f, param, arg, &args[at + 1..]))
            .or_else(|| self.several_as_tuple(f, param, arg));
        note.into_iter().fold(diag, Diagnostic::note)
    }

    fn is_array(&self, ty: &Ty) -> bool {
        matches!(self.types.shallow(ty), Ty::Array(..))
    }

    /// A text of one character, `before` an argument that is a text.
    fn character(&self, arg: &Expr, before: &[Expr]) -> Option<String> {
        let text = before.iter().find_map(|a| text_of_one(self.sources.text(a.span)))?;
        (self.show(&arg.ty) == "[]u8").then(|| one_character(&text))
    }

    /// An operator that is defined here, for one of numbers.
    fn own_operator(&self, f: &Expr, arg: &Expr) -> Option<String> {
        let (ExprKind::Def(id, _), Ty::Prim(prim)) = (&f.kind, self.types.shallow(&arg.ty)) else {
            return None;
        };
        let name = self.defs[id.0 as usize].ident().name.as_str();
        OPERATORS
            .contains(&name)
            .then(|| format!("this `{name}` is the one defined here; that of {prim} is `{prim}.{name}`"))
    }

    /// Several arguments where the parameter is a tuple.
    fn one_tuple(&self, f: &Expr, param: &Ty, args: &[Expr]) -> Option<String> {
        let Ty::Tuple(parts) = self.types.shallow(param) else { return None };
        if parts.len() != args.len() || args.len() <= 1 {
            return None;
        }
        let parts: Vec<&str> = args.iter().map(|a| self.sources.text(a.span)).collect();
        let (f, parts) = (self.sources.text(f.span), parts.join(", "));
        Some(format!("its parameter is one tuple: {f} ({parts})"))
    }

    /// A function of too many parameters for the elements of the array that is the next argument.
    fn parameters_of_function(&self, param: &Ty, arg: &Expr, more: &[Expr]) -> Option<String> {
        let (param, arg) = (self.types.resolve(param), self.types.resolve(&arg.ty));
        if !(1..arity(&arg)).contains(&arity(&param)) {
            return None;
        }
        let note = match self.types.resolve(&more.first()?.ty) {
            Ty::Array(_, element) if matches!(*element, Ty::Tuple(_)) => PAIRS,
            _ if more.len() > 1 => MORE_ARRAYS,
            _ => TOO_MANY_PARAMETERS,
        };
        Some(note.to_string())
    }

    /// The arguments of a reduction or scan in another order.
    fn order_of_fold(&self, f: &Expr, args: &[Expr], at: usize) -> Option<String> {
        let called = self.sources.text(f.span);
        let is_function = matches!(self.types.shallow(&args[at].ty), Ty::Fun(..));
        let swapped = args.get(2).is_none_or(|last| !self.is_array(&last.ty));
        let is_other = at == 0 && !is_function || at == 1 && self.is_array(&args[at].ty) && swapped;
        let folds = matches!(called, "reduce" | "scan" | "reduce_comm" | "exscan");
        (folds && is_other).then(|| {
            format!("{called} takes the operator, its neutral element, and the array: {called} (+) 0 xs")
        })
    }

    /// Sizes that are given to `unflatten` as arguments.
    fn sizes_in_type(&self, f: &Expr, args: &[Expr]) -> Option<String> {
        let called = self.sources.text(f.span);
        let (array, sizes) = args.split_last().filter(|(_, sizes)| !sizes.is_empty())?;
        let Ty::Array(_, element) = self.types.shallow(&array.ty) else { return None };
        let sizes: String = sizes.iter().map(|e| format!("[{}]", self.sources.text(e.span))).collect();
        let (array, element) = (self.as_argument(array.span), self.show(&element));
        let note = format!("the sizes stand in the type of the result: {called} {array} :> {sizes}{element}");
        called.starts_with("unflatten").then_some(note)
    }

    /// `f xs [i]`, where an element is wanted.
    fn index_apart(&self, param: &Ty, arg: &Expr, next: &Expr) -> Option<String> {
        let ExprKind::Array(index) = &next.kind else { return None };
        let (array, index_text) = (self.sources.text(arg.span), self.sources.text(next.span));
        (self.is_array(&arg.ty) && !self.is_array(param) && index.len() == 1)
            .then(|| format!("an index follows without a space: {array}{index_text}"))
    }

    /// `f g x`, where what `g` gives is wanted.
    fn call_as_argument(&self, f: &Expr, param: &Ty, arg: &Expr, more: &[Expr]) -> Option<String> {
        let (takes, g) = (arity(&self.types.resolve(&arg.ty)), self.sources.text(arg.span));
        if takes == 0
            || takes > more.len()
            || g.starts_with(['(', '\\'])
            || matches!(self.types.shallow(param), Ty::Fun(..))
        {
            return None;
        }
        let more = more[..takes].iter().map(|a| self.as_argument(a.span));
        let call = std::iter::once(g.to_string()).chain(more).collect::<Vec<_>>().join(" ");
        let called = self.sources.text(f.span);
        Some(format!("a call as an argument stands in parentheses: {called} ({call})"))
    }

    /// One tuple where the function takes several arguments.
    fn several_as_tuple(&self, f: &Expr, param: &Ty, arg: &Expr) -> Option<String> {
        let ExprKind::Tuple(parts) = &arg.kind else { return None };
        let takes = arity(&self.types.resolve(&f.ty));
        if parts.len() < 2 || takes < parts.len() || matches!(self.types.shallow(param), Ty::Tuple(_)) {
            return None;
        }
        let parts: Vec<String> = parts.iter().map(|p| self.as_argument(p.span)).collect();
        let f = self.sources.text(f.span);
        Some(format!("the arguments of a function stand one after the other: {f} {}", parts.join(" ")))
    }
}
