//! Patterns: bind their names and carry the sizes of their ascriptions.

use super::types::{BOOL, Scheme, array, erase};
use super::{Binding, Cx, typeexps};
use crate::thir::{LocalId, Pat, PatKind, Ty};
use par_runtime::{Fields, Prim, Scalar, Span};
use par_syntax::Diagnostic;
use par_syntax::ast::{self, Ident, Literal};

impl Cx<'_> {
    /// Several patterns that bind their names together, like the parameters of a function. `before` are the type and size
    /// parameters, which are bound already.
    pub(super) fn pats(&mut self, before: &[ast::TypeParam], pats: &[ast::Pat]) -> Vec<Pat> {
        let size = |param: &ast::TypeParam| match param {
            ast::TypeParam::Size(name) => Some(name.clone()),
            ast::TypeParam::Type(..) => None,
        };
        let mut names: Vec<Ident> = before.iter().filter_map(size).collect();
        pats.iter().for_each(|p| bound_names(p, &mut names));
        self.distinct(names.iter(), "name");
        pats.iter().map(|p| self.pat(p, None)).collect()
    }

    /// One pattern on its own.
    pub(super) fn single_pat(&mut self, pat: &ast::Pat) -> Pat {
        let mut names = Vec::new();
        bound_names(pat, &mut names);
        self.distinct(names.iter(), "name");
        self.pat(pat, None)
    }

    /// A pattern; `declared` is the type that an ascription around it gives it.
    fn pat(&mut self, pat: &ast::Pat, declared: Option<Ty>) -> Pat {
        super::deep(|| match &pat.kind {
            ast::PatKind::Name(name) => self.name_pat(name, declared, pat.span),
            ast::PatKind::Wildcard => {
                let is_declared = declared.is_some();
                let ty = declared.unwrap_or_else(|| self.types.any());
                Pat { kind: PatKind::Wildcard, ty, declared: is_declared, span: pat.span }
            }
            ast::PatKind::Tuple(ps) => self.tuple_pat(ps, declared, pat.span),
            ast::PatKind::Record(fields) => self.record_pat(fields, declared, pat.span),
            ast::PatKind::Ascribe(inner, t) => {
                let ty = self.ty(t);
                if let Some(outer) = declared {
                    self.agree_pat(&outer, &ty, t.span);
                }
                let mut inner = self.pat(inner, Some(ty));
                inner.span = pat.span;
                inner
            }
            ast::PatKind::Literal(literal) => self.literal_pat(literal, declared, pat.span),
            ast::PatKind::Constr(name, ps) => self.constr_pat(name, ps, declared, pat.span),
            ast::PatKind::Attr(attr, inner) => {
                self.diags.extend(super::collect::unknown_attribute(attr));
                self.pat(inner, declared)
            }
        })
    }

    /// Binds a name of one type.
    pub(super) fn name_pat(&mut self, name: &str, declared: Option<Ty>, span: Span) -> Pat {
        let is_declared = declared.is_some();
        let ty = declared.unwrap_or_else(|| self.types.any());
        let id = self.bind_local(name, erase(&ty));
        Pat { kind: PatKind::Var(id), ty, declared: is_declared, span }
    }

    /// Brings a new local of one type into scope.
    pub(super) fn bind_local(&mut self, name: &str, ty: Ty) -> LocalId {
        let id = self.new_local(name);
        self.env.bind(name, Binding::Value { id, scheme: Scheme::mono(ty) });
        id
    }

    fn agree_pat(&mut self, declared: &Ty, found: &Ty, span: Span) {
        self.agree(declared, found, |clash, expected, found| {
            let diag = Diagnostic::error("E0301", "the pattern does not match its type", span);
            super::errors::explain(diag.here(format!("expected {expected}, found {found}")), clash)
        });
    }

    fn tuple_pat(&mut self, ps: &[ast::Pat], declared: Option<Ty>, span: Span) -> Pat {
        let parts = match declared.as_ref().map(without_unique) {
            Some(Ty::Tuple(ts)) if ts.len() == ps.len() => ts.iter().cloned().map(Some).collect(),
            _ => vec![None; ps.len()],
        };
        let pats: Vec<Pat> = ps.iter().zip(parts).map(|(p, t)| self.pat(p, t)).collect();
        let own = Ty::Tuple(pats.iter().map(|p| p.ty.clone()).collect());
        self.compound(PatKind::Tuple(pats), own, declared, span)
    }

    fn record_pat(&mut self, fields: &[(Ident, Option<ast::Pat>)], declared: Option<Ty>, span: Span) -> Pat {
        self.distinct(fields.iter().map(|(f, _)| f), "field");
        let tuple = typeexps::is_tuple(fields.iter().map(|(f, _)| f.name.as_str()));
        let of_field = |name: &str| match declared.as_ref().map(without_unique) {
            Some(Ty::Tuple(ts)) if tuple => name.parse().ok().and_then(|i: usize| ts.get(i).cloned()),
            Some(Ty::Record(fs)) => fs.iter().find(|(f, _)| f == name).map(|(_, t)| t.clone()),
            _ => None,
        };
        let types: Vec<Option<Ty>> = fields.iter().map(|(f, _)| of_field(&f.name)).collect();
        let one = |((field, p), ty): (&(Ident, Option<ast::Pat>), Option<Ty>)| {
            let pat = match p {
                Some(p) => self.pat(p, ty),
                None => self.name_pat(&field.name, ty, field.span),
            };
            (field.name.clone(), pat)
        };
        let mut pats: Vec<(String, Pat)> = fields.iter().zip(types).map(one).collect();
        if tuple {
            let pats = typeexps::in_order(pats);
            let own = Ty::Tuple(pats.iter().map(|p| p.ty.clone()).collect());
            return self.compound(PatKind::Tuple(pats), own, declared, span);
        }
        let own = Ty::Record(Fields::written(pats.iter().map(|(f, p)| (f.clone(), p.ty.clone())).collect()));
        pats.sort_by(|a, b| a.0.cmp(&b.0));
        self.compound(PatKind::Record(pats), own, declared, span)
    }

    /// A pattern made of parts: its parts' type, against the one declared for the whole.
    fn compound(&mut self, kind: PatKind, own: Ty, declared: Option<Ty>, span: Span) -> Pat {
        let Some(declared) = declared else { return Pat { kind, ty: own, declared: false, span } };
        self.agree_pat(&declared, &own, span);
        Pat { kind, ty: declared, declared: true, span }
    }

    fn literal_pat(&mut self, literal: &Literal, declared: Option<Ty>, span: Span) -> Pat {
        let (value, ty) = match literal {
            Literal::Bool(b) => (Scalar::Bool(*b), BOOL),
            Literal::String(bytes) => {
                let kind = PatKind::String(bytes.clone());
                return self.compound(kind, array(Ty::Prim(Prim::U8)), declared, span);
            }
            number => self.number(number, false, span).unwrap_or((Scalar::Bool(false), BOOL)),
        };
        self.compound(PatKind::Literal(value), ty, declared, span)
    }

    fn constr_pat(&mut self, name: &Ident, ps: &[ast::Pat], declared: Option<Ty>, span: Span) -> Pat {
        let parts = match declared.as_ref().map(without_unique) {
            Some(Ty::Sum(cs)) => cs.payload(&name.name).filter(|ts| ts.len() == ps.len()).map(<[Ty]>::to_vec),
            _ => None,
        };
        let known = parts.is_some();
        let parts = parts.map_or(vec![None; ps.len()], |ts| ts.into_iter().map(Some).collect());
        let pats: Vec<Pat> = ps.iter().zip(parts).map(|(p, t)| self.pat(p, t)).collect();
        let is_declared = declared.is_some();
        let ty = declared.unwrap_or_else(|| self.types.any());
        if !known {
            let payload = pats.iter().map(|p| (erase(&p.ty), p.span)).collect();
            self.has_constr(erase(&ty), name, payload, span);
        }
        Pat { kind: PatKind::Constr(name.name.clone(), pats), ty, declared: is_declared, span }
    }
}

fn without_unique(ty: &Ty) -> &Ty {
    match ty {
        Ty::Unique(t) => without_unique(t),
        other => other,
    }
}

/// The names that a pattern binds.
fn bound_names(pat: &ast::Pat, out: &mut Vec<Ident>) {
    super::deep(|| match &pat.kind {
        ast::PatKind::Name(name) => out.push(Ident { name: name.clone(), span: pat.span }),
        ast::PatKind::Wildcard | ast::PatKind::Literal(_) => {}
        ast::PatKind::Tuple(ps) | ast::PatKind::Constr(_, ps) => ps.iter().for_each(|p| bound_names(p, out)),
        ast::PatKind::Record(fields) => fields.iter().for_each(|(field, p)| match p {
            Some(p) => bound_names(p, out),
            None => out.push(field.clone()),
        }),
        ast::PatKind::Ascribe(p, _) | ast::PatKind::Attr(_, p) => bound_names(p, out),
    })
}
