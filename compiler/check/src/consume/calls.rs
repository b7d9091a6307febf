//! Calls: arguments meet parameters, and what a parameter written `*t` takes is consumed.

use super::Check;
use super::alias::{Alias, Root, Roots, Signature, leaves};
use super::bind::Kind;
use super::walk::Place;
use crate::thir::{Expr, ExprKind};
use par_runtime::Span;
use std::collections::HashMap;
use std::rc::Rc;

/// An argument or component that was computed.
pub struct Operand {
    pub alias: Alias,
    pub span: Span,
    /// If it is a local or a component of one.
    pub place: Option<Place>,
}

/// Where something was consumed.
#[derive(Debug)]
pub struct Site {
    /// The argument.
    pub span: Span,
    /// The argument, if it is a local or a component of one.
    pub place: Option<Place>,
    /// The function that takes it.
    pub by: String,
    /// The initial value of the loop that consumes it as its state.
    pub init: Option<Span>,
}

/// One array that a call is given.
pub struct Given {
    pub roots: Roots,
    pub span: Span,
    pub place: Option<Place>,
    pub consumed: bool,
}

impl Check<'_> {
    /// `f a b …`.
    pub(super) fn call(&mut self, f: &Expr, args: &[Expr]) -> Alias {
        let operator = self.library_function(f);
        let function = self.operand(f);
        let mut operands: Vec<Operand> = args.iter().map(|a| self.operand(a)).collect();
        self.still_there(&function);
        operands.iter().for_each(|o| self.still_there(o));
        // `x |> f` and `f <| x` are calls of `f`.
        let piped = match (operator.as_deref(), args) {
            (Some("|>"), [_, f]) => Some((1, f)),
            (Some("<|"), [f, _]) => Some((0, f)),
            _ => None,
        };
        match piped {
            Some((i, f)) => {
                let function = operands.remove(i);
                self.apply(function, &self.called(f), operands)
            }
            None => self.apply(function, &self.called(f), operands),
        }
    }

    /// The library's function that is called.
    fn library_function(&self, f: &Expr) -> Option<String> {
        let ExprKind::Def(id, _) = f.kind else { return None };
        let def = &self.program.defs[id.0 as usize];
        def.library.then(|| def.name.clone())
    }

    /// What is called, for messages.
    fn called(&self, f: &Expr) -> String {
        match &f.kind {
            ExprKind::Def(id, _) => format!("`{}`", self.program.defs[id.0 as usize].name),
            ExprKind::Apply(f, _) => self.called(f),
            _ => self
                .place(f)
                .map_or_else(|| "this function".to_string(), |((_, name), _)| format!("`{name}`")),
        }
    }

    fn apply(&mut self, function: Operand, name: &str, mut args: Vec<Operand>) -> Alias {
        let (captured, signature) = match function.alias {
            Alias::Function(captured, signature) if !signature.params.is_empty() => (captured, signature),
            // Nothing is known about it, so it may give back anything.
            other => {
                let known = [other].into_iter().chain(args.into_iter().map(|a| a.alias));
                return Alias::Array(known.flat_map(|a| a.flat()).collect());
            }
        };
        let taken = signature.params.len().min(args.len());
        let rest = args.split_off(taken);
        let (values, given) = self.meet(&signature.params, args);
        self.overlaps(&given, &captured, name);
        given.iter().filter(|g| g.consumed).for_each(|g| self.consume_argument(g, name));
        let result = signature.result.substituted(&values);
        if taken < signature.params.len() {
            let held = given.iter().filter(|g| !g.consumed).flat_map(|g| g.roots.iter().copied());
            let captured = captured.into_iter().chain(held).collect();
            let params = signature.params[taken..].to_vec();
            return Alias::Function(captured, Rc::new(Signature { params, result }));
        }
        if rest.is_empty() {
            return result;
        }
        self.apply(Operand { alias: result, span: function.span, place: None }, name, rest)
    }

    /// The values of the roots of parameters, and every array that is given. The result does not share what is consumed.
    fn meet(&self, params: &[Alias], args: Vec<Operand>) -> (HashMap<Root, Alias>, Vec<Given>) {
        let (mut values, mut given) = (HashMap::new(), Vec::new());
        for (param, arg) in params.iter().zip(args) {
            for (root, value) in leaves(param, &arg.alias) {
                let consumed = self.info(root).unique;
                let roots = value.flat();
                given.push(Given { roots, span: arg.span, place: arg.place.clone(), consumed });
                values.insert(root, if consumed { value.cleared() } else { value });
            }
        }
        (values, given)
    }

    /// Reports an array that is consumed and given a second time, also as part of what the function captured.
    pub(super) fn overlaps(&mut self, given: &[Given], captured: &Roots, name: &str) {
        for (i, taken) in given.iter().enumerate().filter(|(_, g)| g.consumed) {
            let other = given.iter().enumerate().find(|(j, g)| *j != i && !g.roots.is_disjoint(&taken.roots));
            if let Some((_, other)) = other {
                return self.given_twice(taken, other, name);
            }
            if !captured.is_disjoint(&taken.roots) {
                return self.captured_too(taken, captured, name);
            }
        }
    }

    fn consume_argument(&mut self, given: &Given, name: &str) {
        let site = Site { span: given.span, place: given.place.clone(), by: name.to_string(), init: None };
        self.consume(&given.roots, &Rc::new(site));
    }

    /// Consumes, or reports why that may not be.
    pub(super) fn consume(&mut self, roots: &Roots, site: &Rc<Site>) {
        for root in roots {
            if let Some(frame) = self.frames.iter().rev().find(|f| self.outlives(*root, f.mark)) {
                let is_loop = frame.is_loop;
                return self.consumed_inside(*root, site, is_loop);
            }
            let info = self.info(*root);
            if info.kind != Kind::Own && !info.unique {
                return self.not_consumable(*root, site);
            }
        }
        for root in roots {
            self.consumed.entry(*root).or_insert_with(|| site.clone());
        }
    }
}
