//! Patterns.

use super::declare::How;
use super::expr::{Typed, Value};
use super::report::{Site, What};
use super::term::Atom;
use super::types::{Dim, Type};
use super::{Bound, Check};
use crate::thir::{LocalId, Pat, PatKind, Ty};
use par_runtime::Span;

impl<'p> Check<'p> {
    /// Binds a pattern to a value of which the type is known.
    pub(super) fn bind(&mut self, pat: &'p Pat, ty: &Type, value: &Value, at: Span) {
        super::deep(|| match &pat.kind {
            PatKind::Var(l) => {
                let ty = self.at_declared(pat, ty, at);
                self.bind_name(*l, &pat.ty, ty, value.clone());
            }
            PatKind::Wildcard | PatKind::Literal(_) | PatKind::String(_) => {
                self.at_declared(pat, ty, at);
            }
            PatKind::Tuple(ps) => {
                for (i, p) in ps.iter().enumerate() {
                    let value = match value {
                        Value::Parts(values) => values.get(i).cloned().unwrap_or(Value::Unknown),
                        _ => Value::Unknown,
                    };
                    self.bind(p, &ty.field(&i.to_string()), &value, at);
                }
            }
            PatKind::Record(ps) => {
                ps.iter().for_each(|(f, p)| self.bind(p, &ty.field(f), &Value::Unknown, at));
            }
            PatKind::Constr(name, ps) => {
                let payload = ty.payload(name);
                for (i, p) in ps.iter().enumerate() {
                    let ty = payload.get(i).cloned().unwrap_or(Type::Leaf);
                    let ty = self.sized_outside(&ty, p.span);
                    self.bind(p, &ty, &Value::Unknown, at);
                }
            }
        })
    }

    /// The type of a value at what a pattern declares.
    fn at_declared(&mut self, pat: &'p Pat, ty: &Type, at: Span) -> Type {
        if !pat.declared {
            return ty.clone();
        }
        let declared = self.declare(&pat.ty, ty);
        self.flow(ty, &declared, &Site { asked: pat.span, ..Site::new(at, What::Pattern) });
        declared
    }

    /// Binds a parameter, of which only the pattern is known; gives its type inside.
    pub(super) fn open_pattern(&mut self, pat: &'p Pat) -> Type {
        super::deep(|| {
            let parts = match &pat.kind {
                PatKind::Tuple(ps) => {
                    Type::Tuple(std::rc::Rc::new(ps.iter().map(|p| self.open_pattern(p)).collect()))
                }
                PatKind::Record(ps) => {
                    let fields = ps.iter().map(|(f, p)| (f.clone(), self.open_pattern(p)));
                    Type::Record(std::rc::Rc::new(fields.collect()))
                }
                _ => self.convert(&pat.ty, 0, if pat.declared { How::Declared } else { How::Parameter }),
            };
            match &pat.kind {
                PatKind::Var(l) => self.bind_name(*l, &pat.ty, parts.clone(), Value::Unknown),
                PatKind::Constr(..) => self.bind(pat, &parts, &Value::Unknown, pat.span),
                _ => {}
            }
            self.note_place(&parts, pat.span);
            parts
        })
    }

    fn note_place(&mut self, ty: &Type, span: Span) {
        ty.terms(&mut |term| {
            if let Some(Atom::Local(l)) = term.as_atom() {
                self.bindings.places.entry(l).or_insert(span);
            }
        });
    }

    pub(super) fn bind_name(&mut self, l: LocalId, ty: &Ty, sized: Type, value: Value) {
        if let Dim::Is(term) = sized.dim()
            && let Some(Atom::Opaque(o)) = term.as_atom()
        {
            self.terms.opaques[o as usize].length_of.get_or_insert(l);
        }
        let value = self.named(l, ty, value);
        self.bindings.locals.insert(l, Bound::Value(Typed { ty: sized, value }));
    }
}
