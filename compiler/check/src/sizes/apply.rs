//! Uses of functions.

use super::Check;
use super::declare::How;
use super::expr::{Typed, Value, decisive};
use super::report::{Callee, Site, What};
use super::term::{Atom, Term};
use super::types::{Dim, Type};
use crate::thir::{DefId, Expr, ExprKind, LocalId, Ty};
use par_runtime::Span;

impl<'p> Check<'p> {
    /// A use of a definition.
    pub(super) fn mention(&mut self, d: DefId, types: &'p [Ty], e: &'p Expr) -> Typed {
        let scheme = self.signature(d);
        let (ty, sizes) = self.instance(&scheme, types);
        self.note_use(e, sizes);
        let def = &self.program.defs[d.0 as usize];
        let value = match matches!(e.ty, Ty::Prim(_)) && def.params.is_empty() && !def.intrinsic {
            true => match self.constants.get(&d) {
                Some(n) => Value::Is(Term::constant(*n)),
                None => Value::Is(self.computed(format!("def {}", d.0), Vec::new(), Some(e))),
            },
            false => Value::Unknown,
        };
        let ty = if def.params.is_empty() { self.result(&ty, e.span) } else { ty };
        Typed { ty, value }
    }

    /// Keeps the sizes that the surroundings of a use have to say.
    pub(super) fn note_use(&mut self, e: &'p Expr, sizes: Vec<(LocalId, Term)>) {
        if !sizes.is_empty() {
            self.equations.uses.push((e, sizes));
        }
    }

    pub(super) fn apply(&mut self, e: &'p Expr, f: &'p Expr, args: &'p [Expr]) -> Typed {
        let mut ty = self.expr(f).ty;
        let callee = callee(f);
        let mut values = Vec::new();
        for (i, arg) in args.iter().enumerate() {
            let found = self.expr(arg);
            let (next, value) = match ty {
                Type::Fun(arrow) => {
                    let what = What::Argument(callee, i);
                    let asked = self.parameter_place(callee, i);
                    self.flow(
                        &found.ty,
                        &arrow.param,
                        &Site { asked, ..Site::new(decisive(arg).span, what) },
                    );
                    let value = self.arrow_value(arrow.name, &arrow.ret, &found.value, arg);
                    let ret = match arrow.name {
                        Some(l) => self.with_name(&arrow.ret, l, value.clone()),
                        None => arrow.ret.clone(),
                    };
                    (ret, value.or(found.value.clone().term()))
                }
                other => (other, found.value.clone().term()),
            };
            if let (Some(length), [_]) = (self.length, args)
                && let (ExprKind::Def(d, _), Dim::Is(n)) = (&f.kind, found.ty.dim())
                && *d == length
            {
                return Typed { ty: Type::Leaf, value: Value::Is(n) };
            }
            (ty, _) = (next, values.push(value));
        }
        let value = match (&f.kind, callee) {
            (ExprKind::Op(op), _) => self.operated(op, &values, e),
            (_, Callee::Def(_) | Callee::Local(_)) if matches!(e.ty, Ty::Prim(_)) => {
                let args = values.into_iter().collect::<Option<Vec<_>>>();
                args.map(|args| self.computed(format!("{callee:?}"), args, Some(e)))
            }
            _ => None,
        };
        let ty = match ty {
            Type::Leaf if !matches!(e.ty, Ty::Prim(_)) => self.convert(&e.ty, 0, How::Declared),
            known => self.result(&known, e.span),
        };
        Typed { ty, value: Value::of(value) }
    }

    /// Source place of a parameter's declaration, if that is in the user's code.
    fn parameter_place(&self, callee: Callee, i: usize) -> Span {
        let Callee::Def(d) = callee else { return Span::default() };
        let def = &self.program.defs[d.0 as usize];
        def.params.get(i).filter(|_| !def.library).map_or(Span::default(), |p| p.span)
    }

    /// The integer that a function's result may mention.
    fn arrow_value(
        &mut self,
        name: Option<LocalId>,
        ret: &Type,
        found: &Value,
        arg: &'p Expr,
    ) -> Option<Term> {
        let l = name?;
        if let Value::Is(term) = found {
            return Some(term.clone());
        }
        let mut mentioned = false;
        ret.terms(&mut |t| mentioned |= self.mentions(t, l));
        mentioned.then(|| {
            let term = self.unknown(arg.span);
            if let Some(Atom::Opaque(o)) = term.as_atom() {
                self.terms.opaques[o as usize].expr = Some(arg);
            }
            term
        })
    }

    fn mentions(&self, term: &Term, l: LocalId) -> bool {
        term.atoms().any(|atom| match atom {
            Atom::Local(m) => m == l,
            Atom::Opaque(o) => {
                let key = self.terms.opaques[o as usize].key.as_ref();
                key.is_some_and(|(_, args)| args.iter().any(|t| self.mentions(t, l)))
            }
            Atom::Meta(_) => false,
        })
    }
}

fn callee(f: &Expr) -> Callee {
    match &f.kind {
        ExprKind::Def(d, _) => Callee::Def(*d),
        ExprKind::Local(l) | ExprKind::Poly(l, _) => Callee::Local(*l),
        ExprKind::At(f, _) => callee(f),
        _ => Callee::Other,
    }
}
