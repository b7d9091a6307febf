//! Constraints that wait until a type is known: a value has a field, a type has a constructor.
//!
//! `\p -> p.x` alone does not say what `p` is. The field's type becomes a variable, and the constraint is looked at
//! again when a function is generalised and when the component is complete.

use super::Cx;
use crate::thir::Ty;
use par_runtime::Span;
use par_syntax::Diagnostic;
use par_syntax::ast::Ident;

/// The types of a constructor's values, and where these stand.
pub(super) type Payload = Vec<(Ty, Span)>;

/// A constraint on a type that was not known.
#[derive(Clone)]
pub(super) struct Pending {
    of: Ty,
    span: Span,
    needs: Needs,
}

#[derive(Clone)]
enum Needs {
    /// A field of the record or tuple, of this type.
    Field(String, Ty),
    /// A constructor of the sum, with this payload.
    Constr(String, Payload),
}

impl Cx<'_> {
    /// The type of a field.
    pub(super) fn field_type(&mut self, of: &Ty, field: &Ident) -> Ty {
        match self.types.shallow(of) {
            Ty::Record(fields) => match fields.iter().find(|(f, _)| *f == field.name) {
                Some((_, t)) => t.clone(),
                None => self.no_field(of, field, fields.iter().map(|(f, _)| f.clone()).collect()),
            },
            Ty::Tuple(parts) => match field.name.parse::<usize>().ok().and_then(|i| parts.get(i)) {
                Some(t) => t.clone(),
                None => self.no_field(of, field, (0..parts.len()).map(|i| i.to_string()).collect()),
            },
            Ty::Meta(m) if self.types.class(m).is_none() => self.types.poison(),
            known @ Ty::Meta(_) => {
                let out = self.types.any();
                let needs = Needs::Field(field.name.clone(), out.clone());
                self.component.pending.push(Pending { of: known, span: field.span, needs });
                out
            }
            _ => self.no_field(of, field, Vec::new()),
        }
    }

    fn no_field(&mut self, of: &Ty, field: &Ident, fields: Vec<String>) -> Ty {
        let message = format!("a value of type `{}` has no field `{}`", self.show(of), field.name);
        let diag = Diagnostic::error("E0303", message, field.span).here("no such field");
        let diag = match par_syntax::nearest(&field.name, fields.iter().map(String::as_str)) {
            Some(meant) => diag.note(format!("did you mean `{meant}`?")),
            None => diag,
        };
        let diag = self.explain_abstract(diag, [of, of]);
        self.diags.push(match fields.is_empty() {
            true => self.advise_field(diag, of, &field.name),
            false => diag.note(format!("it has `{}`", fields.join("`, `"))),
        });
        self.types.poison()
    }

    /// Demands that a type has a constructor.
    pub(super) fn has_constr(&mut self, of: Ty, name: &Ident, payload: Payload, span: Span) {
        let known = self.types.shallow(&of);
        match &known {
            Ty::Meta(m) if self.types.class(*m).is_none() => {}
            Ty::Meta(_) => {
                self.component.pending.push(Pending {
                    of,
                    span,
                    needs: Needs::Constr(name.name.clone(), payload),
                });
            }
            Ty::Sum(constrs) => match constrs.payload(&name.name) {
                Some(ts) => self.agree_payload(name, ts, &payload, span),
                None => self.no_constr(&known, name, span),
            },
            _ => self.no_constr(&known, name, span),
        }
    }

    fn agree_payload(&mut self, name: &Ident, expected: &[Ty], found: &[(Ty, Span)], span: Span) {
        if expected.len() != found.len() {
            let message =
                format!("`#{}` takes {}, but {} are given", name.name, values(expected.len()), found.len());
            self.diags.push(Diagnostic::error("E0302", message, span).here("the numbers differ"));
            return;
        }
        for (expected, (found, at)) in expected.iter().zip(found) {
            self.agree(expected, found, |clash, expected, found| {
                let message = format!("the value of `#{}` has the wrong type", name.name);
                let diag = Diagnostic::error("E0301", message, *at);
                super::errors::explain(diag.here(format!("expected {expected}, found {found}")), clash)
            });
        }
    }

    fn no_constr(&mut self, of: &Ty, name: &Ident, span: Span) {
        let message = format!("`#{}` is not a constructor of the type `{}`", name.name, self.show(of));
        let diag = Diagnostic::error("E0303", message, span).here("no such constructor");
        let constrs = match of {
            Ty::Sum(constrs) => constrs.iter().map(|(c, _)| c.as_str()).collect(),
            _ => Vec::new(),
        };
        self.diags.push(match par_syntax::nearest(&name.name, constrs) {
            Some(meant) => diag.note(format!("did you mean `#{meant}`?")),
            None => self.explain_abbreviations(diag, [of]),
        });
    }

    /// Looks at the constraints again until nothing more becomes known.
    pub(super) fn solve_pending(&mut self) {
        loop {
            let before = self.component.pending.len();
            for p in std::mem::take(&mut self.component.pending) {
                let name = |name: &str| Ident { name: name.to_string(), span: p.span };
                match (self.types.shallow(&p.of), &p.needs) {
                    (Ty::Meta(m), _) if self.types.class(m).is_some() => self.component.pending.push(p),
                    (of, Needs::Field(field, out)) => {
                        let ty = self.field_type(&of, &name(field));
                        self.agree(&ty, out, |clash, expected, found| {
                            super::errors::mismatch(clash, expected, found, p.span)
                        });
                    }
                    (of, Needs::Constr(c, payload)) => self.has_constr(of, &name(c), payload.clone(), p.span),
                }
            }
            if self.component.pending.is_empty() || self.component.pending.len() == before {
                return;
            }
        }
    }

    /// The variables that constraints wait for or will determine: they cannot be generalised.
    pub(super) fn blocked(&self) -> Vec<Ty> {
        let mut out = Vec::new();
        for p in &self.component.pending {
            self.types.leaves(&p.of, &mut out);
            match &p.needs {
                Needs::Field(_, t) => self.types.leaves(t, &mut out),
                Needs::Constr(_, ts) => ts.iter().for_each(|(t, _)| self.types.leaves(t, &mut out)),
            }
        }
        out
    }

    /// Reports the constraints whose type stayed unknown, one for every type.
    pub(super) fn report_pending(&mut self) {
        let mut seen = Vec::new();
        for p in std::mem::take(&mut self.component.pending) {
            let of = self.types.shallow(&p.of);
            if seen.contains(&of) {
                continue;
            }
            let what = match &p.needs {
                Needs::Field(field, _) => {
                    format!("the type of the value whose field `{field}` is taken is not known")
                }
                Needs::Constr(c, _) => format!("the sum type that `#{c}` belongs to is not known"),
            };
            let diag = Diagnostic::error("E0307", what, p.span).here("needs a type");
            self.diags.push(match &p.needs {
                Needs::Constr(c, _) if c == "trace" || c == "unsafe" || c == "sequential" => {
                    diag.note(format!("an attribute has brackets: `#[{c}] e`"))
                }
                _ => diag.note("give the parameter or expression a type: `(x: t)` or `e : t`"),
            });
            seen.push(of);
        }
    }
}

fn values(n: usize) -> String {
    if n == 1 { "1 value".to_string() } else { format!("{n} values") }
}
