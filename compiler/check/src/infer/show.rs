//! Types in source syntax, for messages and dumps.

use super::types::{Class, Types};
use crate::thir::{AbstractType, Expr, ExprKind, Program, Size, Ty, TyArg, accumulated};

/// A type in source syntax: `[n]i32 -> (f32, bool)`.
pub fn show_type(ty: &Ty, program: &Program) -> String {
    let names = Names {
        locals: &program.locals,
        type_vars: &program.type_vars,
        def: &|id| def_name(program, id),
        number: &|n| n.to_string(),
        hidden: &|_| "_".to_string(),
        short: &|_| None,
    };
    let mut out = String::new();
    Printer { names, types: None }.ty(ty, Prec::Arrow, &mut out);
    out
}

fn def_name(program: &Program, id: u32) -> String {
    program.defs.get(id as usize).map_or_else(|| "_".to_string(), |d| d.name.clone())
}

/// Names for the printer.
pub(super) struct Names<'a> {
    pub(super) locals: &'a [String],
    pub(super) type_vars: &'a [String],
    pub(super) def: &'a dyn Fn(u32) -> String,
    /// Text of a number in the tree: itself, or an index while inferring.
    pub(super) number: &'a dyn Fn(i64) -> String,
    /// The name of a hidden type.
    pub(super) hidden: &'a dyn Fn(u32) -> String,
    /// The user's abbreviation of a type.
    pub(super) short: &'a dyn Fn(&Ty) -> Option<String>,
}

/// Writes types; with `types`, inference variables are looked up and their classes shown.
pub(super) struct Printer<'a> {
    pub(super) names: Names<'a>,
    pub(super) types: Option<&'a Types>,
}

/// Precedence of the surrounding text, from the weakest.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
pub(super) enum Prec {
    /// Anything may stand here.
    Arrow,
    /// The left side of an arrow, or a constructor of a sum.
    Sum,
    /// An array element or payload.
    Atom,
}

impl Printer<'_> {
    /// Appends a type.
    pub(super) fn ty(&self, ty: &Ty, prec: Prec, out: &mut String) {
        if let Ty::Record(_) | Ty::Sum(_) | Ty::Tuple(_) = ty
            && let Some(name) = (self.names.short)(ty)
        {
            return out.push_str(&name);
        }
        super::deep(|| match ty {
            Ty::Prim(p) => out.push_str(p.name()),
            Ty::Var(v) => out.push_str(self.names.type_vars.get(v.0 as usize).map_or("_", |s| s)),
            Ty::Abstract(hidden, args) => self.hidden(*hidden, args, out),
            Ty::Meta(m) => self.meta(*m, prec, out),
            Ty::Unique(t) => {
                out.push('*');
                self.ty(t, Prec::Atom, out);
            }
            Ty::Array(size, t) => {
                out.push('[');
                self.size(size, out);
                out.push(']');
                self.ty(t, Prec::Atom, out);
            }
            Ty::Tuple(ts) => {
                out.push('(');
                separated(ts, ", ", out, |t, out| self.ty(t, Prec::Arrow, out));
                out.push(')');
            }
            Ty::Record(fs) => {
                if let Some(dest) = accumulated(fs) {
                    out.push_str("acc (");
                    self.ty(dest, Prec::Arrow, out);
                    return out.push(')');
                }
                out.push('{');
                separated(fs.in_order(), ", ", out, |(f, t), out| {
                    out.push_str(f);
                    out.push_str(": ");
                    self.ty(t, Prec::Arrow, out);
                });
                out.push('}');
            }
            Ty::Fun(a, r) => parens(prec > Prec::Arrow, out, |out| {
                self.ty(a, Prec::Sum, out);
                out.push_str(" -> ");
                self.ty(r, Prec::Arrow, out);
            }),
            Ty::Sum(cs) => parens(prec > Prec::Arrow, out, |out| {
                separated(cs.iter(), " | ", out, |(c, ts), out| {
                    out.push('#');
                    out.push_str(c);
                    for t in ts {
                        out.push(' ');
                        self.ty(t, Prec::Atom, out);
                    }
                });
            }),
        })
    }

    fn hidden(&self, hidden: AbstractType, args: &[TyArg], out: &mut String) {
        out.push_str(&(self.names.hidden)(hidden.id));
        for arg in args {
            out.push(' ');
            match arg {
                TyArg::Type(t) => {
                    let mut text = String::new();
                    self.ty(t, Prec::Atom, &mut text);
                    let many = text.starts_with('[') || text.contains(' ') && !text.starts_with(['(', '{']);
                    parens(many, out, |out| out.push_str(&text));
                }
                TyArg::Size(size) => {
                    out.push('[');
                    self.size(size, out);
                    out.push(']');
                }
            }
        }
    }

    fn meta(&self, meta: u32, prec: Prec, out: &mut String) {
        let Some(types) = self.types else { return out.push('_') };
        match types.shallow(&Ty::Meta(meta)) {
            Ty::Meta(m) => match types.class(m) {
                Some(Class::Prims(set)) => out.push_str(set.describe()),
                _ => out.push('_'),
            },
            solved => self.ty(&solved, prec, out),
        }
    }

    fn size(&self, size: &Size, out: &mut String) {
        match size {
            Size::Anon => {}
            Size::Const(n) => out.push_str(&n.to_string()),
            Size::Local(id) => out.push_str(self.names.locals.get(id.0 as usize).map_or("_", |s| s)),
            Size::Exp(e) => self.size_exp(e, out),
            Size::Own { name, .. } => out.push_str(self.names.locals.get(name.0 as usize).map_or("", |s| s)),
        }
    }

    /// The arithmetic that usually stands in a size; anything else is `…`.
    fn size_exp(&self, e: &Expr, out: &mut String) {
        match &e.kind {
            ExprKind::Local(id) => out.push_str(self.names.locals.get(id.0 as usize).map_or("_", |s| s)),
            ExprKind::Def(id, _) => out.push_str(&(self.names.def)(id.0)),
            ExprKind::Literal(s) => out.push_str(&(self.names.number)(s.as_i64().unwrap_or(0))),
            ExprKind::Apply(f, args) => match (&f.kind, &args[..]) {
                (ExprKind::Op(op), [a, b]) => {
                    self.size_exp(a, out);
                    out.push_str(op);
                    self.size_exp(b, out);
                }
                _ => out.push('…'),
            },
            _ => out.push('…'),
        }
    }
}

fn parens(needed: bool, out: &mut String, inner: impl FnOnce(&mut String)) {
    if needed {
        out.push('(');
    }
    inner(out);
    if needed {
        out.push(')');
    }
}

fn separated<'a, T: 'a>(
    items: impl IntoIterator<Item = &'a T>,
    separator: &str,
    out: &mut String,
    mut each: impl FnMut(&T, &mut String),
) {
    for (i, item) in items.into_iter().enumerate() {
        if i > 0 {
            out.push_str(separator);
        }
        each(item, out);
    }
}
