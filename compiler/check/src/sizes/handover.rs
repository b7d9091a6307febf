//! Implicit sizes of uses of functions, inferred from the context, as expressions for lowering.
//!
//! ```text
//! def f [n] [m] (xs: [n * m]i64) : [n][m]i64 = unflatten xs        unflatten at its sizes n = n, m = m
//! ```

use super::Check;
use super::term::{Atom, Term};
use crate::thir::{DefId, Expr, ExprKind, LocalId, Program, Ty};
use crate::visit;
use par_ir::hash::HashMap;
use par_runtime::{Prim, Scalar, Span};

/// By place of the use in the tree: the sizes that are known.
pub(super) type Found = HashMap<*const Expr, Vec<(LocalId, Expr)>>;

const I64: Ty = Ty::Prim(Prim::I64);

impl Check<'_> {
    /// Keeps what is known by now of the uses from a number on.
    pub(super) fn solve_uses(&mut self, from: usize) {
        for (e, sizes) in self.equations.uses.split_off(from) {
            let mut known = Vec::new();
            for (name, term) in sizes {
                let term = self.resolve(&term);
                if let Some(size) = term.and_then(|t| self.as_expr(&t, e.span)) {
                    known.push((name, size));
                }
            }
            if !known.is_empty() {
                self.found.insert(e, known);
            }
        }
    }

    /// A size as an expression, if it can be computed from what has a name.
    fn as_expr(&self, term: &Term, span: Span) -> Option<Expr> {
        let literal = |n: i64| Expr { kind: ExprKind::Literal(Scalar::I64(n)), ty: I64, span };
        let mut sum: Option<Expr> = None;
        for (product, factor) in term.products().iter().rev() {
            let mut part = (product.is_empty() || *factor != 1).then(|| literal(*factor));
            for atom in product {
                let atom = self.atom_expr(*atom, span)?;
                part = Some(part.map_or(atom.clone(), |p| operation("*", p, atom, span)));
            }
            let part = part?;
            sum = Some(sum.map_or(part.clone(), |s| operation("+", s, part, span)));
        }
        Some(sum.unwrap_or_else(|| literal(0)))
    }

    fn atom_expr(&self, atom: Atom, span: Span) -> Option<Expr> {
        let local = |l: LocalId| Expr { kind: ExprKind::Local(l), ty: I64, span };
        match atom {
            Atom::Local(l) => Some(local(l)),
            Atom::Meta(_) => None,
            Atom::Opaque(o) => {
                let opaque = &self.terms.opaques[o as usize];
                match (opaque.value_of, opaque.length_of, &opaque.key) {
                    (Some(l), ..) => Some(local(l)),
                    (_, Some(l), _) => self.length_expr(l, span),
                    (_, _, Some((op, args))) if matches!(op.as_str(), "/" | "%" | "//" | "%%") => {
                        let [a, b] = args.as_slice() else { return None };
                        Some(operation(op, self.as_expr(a, span)?, self.as_expr(b, span)?, span))
                    }
                    _ => opaque.expr.filter(|e| e.ty == I64).cloned(),
                }
            }
        }
    }

    /// `length xs`.
    fn length_expr(&self, l: LocalId, span: Span) -> Option<Expr> {
        let length = self.length?;
        let unit = Ty::Tuple(Vec::new());
        let f = Expr { kind: ExprKind::Def(length, vec![unit.clone()]), ty: unit.clone(), span };
        let xs = Expr { kind: ExprKind::Local(l), ty: unit, span };
        Some(Expr { kind: ExprKind::Apply(Box::new(f), vec![xs]), ty: I64, span })
    }
}

fn operation(op: &str, a: Expr, b: Expr, span: Span) -> Expr {
    let binary = Ty::Fun(Box::new(I64), Box::new(Ty::Fun(Box::new(I64), Box::new(I64))));
    let op = Expr { kind: ExprKind::Op(op.to_string()), ty: binary, span };
    Expr { kind: ExprKind::Apply(Box::new(op), vec![a, b]), ty: I64, span }
}

/// The library's `length`.
pub(super) fn length(program: &Program) -> Option<DefId> {
    let found = program.defs.iter().position(|d| d.library && d.intrinsic && d.name == "length")?;
    Some(DefId(found as u32))
}

/// Puts what was found into the program.
pub(super) fn put(program: &mut Program, mut found: Found) {
    if found.is_empty() {
        return;
    }
    for def in program.defs.iter_mut().filter(|d| !d.library) {
        put_into(&mut def.body, &mut found);
    }
}

fn put_into(e: &mut Expr, found: &mut Found) {
    super::deep(|| {
        let here = found.remove(&std::ptr::from_ref(e));
        visit::children(e, &mut |part| put_into(part, found));
        if let Some(sizes) = here {
            let (ty, span) = (e.ty.clone(), e.span);
            let hole = Expr { kind: ExprKind::Tuple(Vec::new()), ty: ty.clone(), span };
            let inner = std::mem::replace(e, hole);
            *e = Expr { kind: ExprKind::At(Box::new(inner), sizes), ty, span };
        }
    });
}
