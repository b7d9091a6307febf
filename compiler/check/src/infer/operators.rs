//! Built-in operators, sections, and the functions named alike in every scalar type's module.

use super::scope::{Found, PER_TYPE_ARRAYS, PER_TYPE_FLOATS};
use super::types::{BOOL, Class, PrimSet, array, function};
use super::{Cx, errors};
use crate::thir::{Expr, ExprKind, Pat, PatKind, Ty};
use par_runtime::{Prim, Span};
use par_syntax::Diagnostic;
use par_syntax::ast::{Exp, ExpKind, Ident, IndexArg, Literal, Name};

/// Class of the operands of a built-in operator.
fn operand_class(op: &str) -> Class {
    match op {
        "==" | "!=" => Class::Eq,
        "<" | "<=" | ">" | ">=" => Class::Prims(PrimSet::all()),
        "<<" | ">>" | ">>>" => Class::Prims(PrimSet::integers()),
        "&" | "|" | "^" | "!" => Class::Prims(PrimSet::integers_and_bool()),
        _ => Class::Prims(PrimSet::numbers()),
    }
}

/// The result of a built-in operator on operands of a type.
fn result_type(op: &str, operand: &Ty) -> Ty {
    match op {
        "==" | "!=" | "<" | "<=" | ">" | ">=" => BOOL,
        _ => operand.clone(),
    }
}

fn op_expr(op: &str, operands: usize, operand: &Ty, span: Span) -> Expr {
    let params = vec![operand; operands];
    let ty = function(params.into_iter(), result_type(op, operand));
    Expr { kind: ExprKind::Op(op.to_string()), ty, span }
}

impl Cx<'_> {
    /// Infix use of an operator or function.
    pub(super) fn binary(&mut self, op: &Name, left: Expr, right: Expr, span: Span) -> Expr {
        match self.scopes.resolve(&self.env, self.module, op) {
            Some((Found::Op(name, prim), _)) => {
                self.note_later(op);
                self.built_in(&name, prim, op.span, left, right, span)
            }
            _ => {
                let f = self.name(op);
                self.apply(f, vec![left, right], span)
            }
        }
    }

    fn built_in(
        &mut self,
        op: &str,
        prim: Option<Prim>,
        op_span: Span,
        left: Expr,
        right: Expr,
        span: Span,
    ) -> Expr {
        if op == "&&" || op == "||" {
            for side in [&left, &right] {
                self.must_be_bool(side, &format!("the operands of `{op}`"));
            }
            return short_circuit(op, left, right, span);
        }
        let operand = prim.map_or_else(|| self.types.any(), Ty::Prim);
        self.restrict_operand(op, &operand, op_span);
        let fits = self.operand(op, &operand, &left);
        if !fits && matches!(self.types.shallow(&left.ty), Ty::Fun(..)) {
            // What was meant as further arguments is no operand.
            self.diags.retain(|d| d.code != "E0302" || !within(d.labels[0].span, right.span));
        }
        // What is wrong on the left may be why they differ.
        if fits && !self.has_error_in(left.span) {
            let compares = result_type(op, &operand) == BOOL;
            let mut advice = self.advise_operand(Diagnostic::error("E0301", "", span), op, &left).notes;
            advice.extend(self.advise_operand(Diagnostic::error("E0301", "", span), op, &right).notes);
            advice.truncate(1);
            let alike = self.agree(&operand, &right.ty, |clash, expected, found| {
                let message = format!("the operands of `{op}` have different types");
                let diag = Diagnostic::error("E0301", message, right.span).here(format!("this is {found}"));
                let diag = errors::explain(diag.label(left.span, format!("this is {expected}")), clash);
                advice.into_iter().filter(|_| compares).fold(diag, Diagnostic::note)
            });
            if !alike {
                self.types.give_up(&operand);
            }
        }
        let f = op_expr(op, 2, &operand, op_span);
        let ty = result_type(op, &operand);
        Expr { kind: ExprKind::Apply(Box::new(f), vec![left, right]), ty, span }
    }

    fn restrict_operand(&mut self, op: &str, operand: &Ty, span: Span) {
        if self.types.restrict(operand, operand_class(op)).is_err() {
            let message = format!("`{op}` is not defined for `{}`", self.show(operand));
            self.diags.push(Diagnostic::error("E0304", message, span));
        }
    }

    /// Checks the first operand, which decides the type. A type outside the operator's class is E0304.
    fn operand(&mut self, op: &str, operand: &Ty, e: &Expr) -> bool {
        if self.types.unify(operand, &e.ty).is_ok() {
            return true;
        }
        let advice = self.advise_operand(Diagnostic::error("E0304", "", e.span), op, e).notes;
        self.agree(operand, &e.ty, |clash, expected, found| match clash {
            super::types::Clash::Class(Class::Eq) => {
                let diag = Diagnostic::error("E0304", "these values cannot be compared", e.span);
                errors::explain(diag.here(format!("found {found}")), clash)
            }
            _ => {
                let kind = found.strip_prefix("a ").or_else(|| found.strip_prefix("an "));
                let message = match kind {
                    Some(kind) => format!("`{op}` is not defined for {kind}s"),
                    None => format!("`{op}` is not defined for {found}"),
                };
                let diag = Diagnostic::error("E0304", message, e.span);
                let diag = diag.here(format!("expected {expected}, found {found}"));
                advice.into_iter().fold(diag, Diagnostic::note)
            }
        })
    }

    /// `-x`; a literal takes the sign.
    pub(super) fn negate(&mut self, inner: &Exp, span: Span) -> Expr {
        if let ExpKind::Literal(literal @ (Literal::Int { .. } | Literal::Float { .. } | Literal::Char(_))) =
            &inner.kind
        {
            return self.literal(literal, true, span);
        }
        let inner = self.exp(inner);
        self.unary("-", "neg", inner, span)
    }

    /// `!x`.
    pub(super) fn not(&mut self, inner: &Exp, span: Span) -> Expr {
        let inner = self.exp(inner);
        self.unary("!", "!", inner, span)
    }

    fn unary(&mut self, spelled: &str, op: &str, inner: Expr, span: Span) -> Expr {
        let operand = self.types.fresh(operand_class(op));
        self.operand(spelled, &operand, &inner);
        let f = op_expr(op, 1, &operand, span);
        Expr { kind: ExprKind::Apply(Box::new(f), vec![inner]), ty: operand, span }
    }

    /// `(+)`: a built-in operator as a function.
    pub(super) fn operator_value(&mut self, op: &str, prim: Option<Prim>, span: Span) -> Expr {
        if op == "&&" || op == "||" {
            let (a, left) = self.parameter("a", BOOL, span);
            let (b, right) = self.parameter("b", BOOL, span);
            return abstraction(vec![a, b], short_circuit(op, left, right, span), span);
        }
        let operand = prim.map_or_else(|| self.types.any(), Ty::Prim);
        self.restrict_operand(op, &operand, span);
        op_expr(op, 2, &operand, span)
    }

    /// `sum` and the like: the function of the element type's module, chosen when the type is known.
    pub(super) fn per_type(&mut self, name: String, span: Span) -> Expr {
        let class = if PER_TYPE_FLOATS.contains(&name.as_str()) {
            Class::Prims(PrimSet::floats())
        } else {
            operand_class("+")
        };
        let element = self.types.fresh(class);
        let xs = array(element.clone());
        let result = if PER_TYPE_ARRAYS.contains(&name.as_str()) { xs.clone() } else { element };
        let ty = function([&xs].into_iter(), result);
        Expr { kind: ExprKind::Op(name), ty, span }
    }

    /// A new local that is the parameter of a function made here, and its use.
    pub(super) fn parameter(&mut self, name: &str, ty: Ty, span: Span) -> (Pat, Expr) {
        let id = self.new_local(name);
        let pat = Pat { kind: PatKind::Var(id), ty: ty.clone(), declared: false, span };
        (pat, Expr { kind: ExprKind::Local(id), ty, span })
    }

    /// `(x +)` or `(+ x)`: the operand is computed once, outside the function.
    pub(super) fn section(&mut self, op: &Name, operand: &Exp, left: bool, span: Span) -> Expr {
        let operand = self.exp(operand);
        let ty = self.types.any();
        let (param, hole) = self.parameter("x", ty, span);
        if matches!(operand.kind, ExprKind::Local(_) | ExprKind::Literal(_)) {
            let (a, b) = if left { (operand, hole) } else { (hole, operand) };
            let body = self.binary(op, a, b, span);
            return abstraction(vec![param], body, span);
        }
        let (fixed, fixed_use) = self.parameter("t", operand.ty.clone(), operand.span);
        let (a, b) = if left { (fixed_use, hole) } else { (hole, fixed_use) };
        let body = self.binary(op, a, b, span);
        bind(fixed, operand, abstraction(vec![param], body, span))
    }

    /// `(.a.b)`.
    pub(super) fn field_section(&mut self, fields: &[Ident], span: Span) -> Expr {
        let ty = self.types.any();
        let (param, value) = self.parameter("r", ty, span);
        let body = fields.iter().fold(value, |value, field| self.field(value, field, span));
        abstraction(vec![param], body, span)
    }

    /// `(.[i, j])`.
    pub(super) fn index_section(&mut self, index: &[IndexArg], span: Span) -> Expr {
        let ty = self.types.any();
        let (param, value) = self.parameter("a", ty, span);
        let body = self.index(value, index, span);
        abstraction(vec![param], body, span)
    }
}

fn within(inner: Span, outer: Span) -> bool {
    inner.file == outer.file && outer.start <= inner.start && inner.end <= outer.end
}

fn short_circuit(op: &str, left: Expr, right: Expr, span: Span) -> Expr {
    let (left, right) = (Box::new(left), Box::new(right));
    let kind = if op == "&&" { ExprKind::And(left, right) } else { ExprKind::Or(left, right) };
    Expr { kind, ty: BOOL, span }
}

/// `\params -> body`.
pub(super) fn abstraction(params: Vec<Pat>, body: Expr, span: Span) -> Expr {
    let ty = function(params.iter().map(|p| &p.ty), body.ty.clone());
    Expr { kind: ExprKind::Lambda { params, ret: None, body: Box::new(body) }, ty, span }
}

/// `let pat = value in body`.
pub(super) fn bind(pat: Pat, value: Expr, body: Expr) -> Expr {
    let (ty, span) = (body.ty.clone(), body.span);
    Expr { kind: ExprKind::Let { pat, value: Box::new(value), body: Box::new(body) }, ty, span }
}
