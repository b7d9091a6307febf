//! Values of one type where another one is wanted, and types of several values that become one.

use super::Check;
use super::report::Site;
use super::term::{Atom, Term};
use super::types::{Dim, Names, Scheme, Type};
use super::unknowns::Kind;
use crate::thir::{LocalId, Ty};
use par_ir::hash::HashMap;
use std::rc::Rc;

impl<'p> Check<'p> {
    /// A value of the first type where the second is wanted.
    pub(super) fn flow(&mut self, from: &Type, into: &Type, site: &Site) {
        super::deep(|| match (from, into) {
            (Type::Array(a, t), Type::Array(b, u)) => {
                self.equate(a, b, site);
                self.flow(t, u, site);
            }
            (Type::Tuple(ts), Type::Tuple(us)) => {
                ts.iter().zip(us.iter()).for_each(|(t, u)| self.flow(t, u, site))
            }
            (Type::Record(ts), Type::Record(us)) => {
                ts.iter().zip(us.iter()).for_each(|((_, t), (_, u))| self.flow(t, u, site));
            }
            (Type::Sum(ts), Type::Sum(us)) => {
                let all = ts.iter().zip(us.iter()).flat_map(|((_, ts), (_, us))| ts.iter().zip(us));
                all.for_each(|(t, u)| self.flow(t, u, site));
            }
            (Type::Fun(a), Type::Fun(b)) => {
                self.flow(&b.param, &a.param, site);
                let ret = match a.name {
                    Some(l) => self.with_name(&a.ret, l, b.name.map(|l| Term::atom(Atom::Local(l)))),
                    None => a.ret.clone(),
                };
                self.flow(&ret, &b.ret, site);
            }
            _ => {}
        })
    }

    /// The type of what is one value or another.
    pub(super) fn joined(&mut self, types: &[(Type, Site)]) -> Type {
        let Some((first, _)) = types.first() else { return Type::Leaf };
        let mut dims: Vec<Vec<Dim>> = Vec::new();
        for (ty, _) in types {
            let mut own = Vec::new();
            ty.with_dims(&mut |d| {
                own.push(self.resolve_dim(d));
                Dim::Any
            });
            dims.push(own);
        }
        let same = |i: usize| dims.iter().all(|own| own.get(i) == dims[0].get(i));
        if (0..dims[0].len()).all(same) && !dims[0].contains(&Dim::Any) {
            return first.clone();
        }
        let joined = first.with_dims(&mut |_| Dim::Is(self.meta(Kind::Loose)));
        types.iter().for_each(|(ty, site)| self.flow(ty, &joined, site));
        joined
    }

    /// The type with a term in place of a name, or what mentions the name unknown.
    pub(super) fn with_name(&mut self, ty: &Type, name: LocalId, term: Option<Term>) -> Type {
        let names = Names { locals: HashMap::from_iter([(name, term)]), metas: HashMap::default() };
        self.renamed(ty, &names, &HashMap::default())
    }

    fn renamed(&mut self, ty: &Type, names: &Names, types: &HashMap<crate::thir::TyVar, Type>) -> Type {
        ty.rewritten(&mut |v| types.get(&v).cloned(), &mut |dim| match dim {
            Dim::Is(term) => self.renamed_term(term, names).map_or(Dim::Any, Dim::Is),
            other => other.clone(),
        })
    }

    fn renamed_term(&mut self, term: &Term, names: &Names) -> Option<Term> {
        term.replaced(&mut |atom| match (names.get(atom), atom) {
            (Some(found), _) => found,
            (None, Atom::Opaque(o)) => match self.terms.opaques[o as usize].key.clone() {
                Some((head, args)) => {
                    let new = args.iter().map(|t| self.renamed_term(t, names)).collect::<Option<Vec<_>>>()?;
                    let expr = self.terms.opaques[o as usize].expr.filter(|_| new == args);
                    Some(self.computed(head, new, expr))
                }
                None => Some(Term::atom(atom)),
            },
            (None, _) => Some(Term::atom(atom)),
        })
    }

    /// The type of one use, and the sizes that only the surroundings of the use can say.
    pub(super) fn instance(&mut self, scheme: &Scheme, args: &'p [Ty]) -> (Type, Vec<(LocalId, Term)>) {
        if scheme.sizes.is_empty() && scheme.metas.is_empty() && scheme.type_params.is_empty() {
            return (scheme.ty.clone(), Vec::new());
        }
        let mut names = Names::default();
        for size in &scheme.sizes {
            let meta = self.meta(Kind::Implicit);
            names.locals.insert(*size, Some(meta));
        }
        for m in &scheme.metas {
            let kind = self.terms.metas[*m as usize].kind;
            let meta = self.meta(kind);
            names.metas.insert(*m, meta);
        }
        let types = scheme.type_params.iter().zip(args).map(|(v, t)| (*v, self.guessed(t))).collect();
        let ty = self.renamed(&scheme.ty, &names, &types);
        let implicit = scheme.implicit.iter().filter_map(|l| Some((*l, names.locals.get(l)?.clone()?)));
        (ty, implicit.collect())
    }

    /// The result of an application: what it leaves open is unknown, but one size from here on.
    pub(super) fn result(&mut self, ty: &Type, span: par_runtime::Span) -> Type {
        if let Type::Fun(_) | Type::Leaf | Type::Var(_) = ty {
            return ty.clone();
        }
        let mut exists: HashMap<u32, Term> = HashMap::default();
        let known = ty.with_dims(&mut |d| match d {
            Dim::Exists(n) => Dim::Is(exists.entry(*n).or_insert_with(|| self.unknown(span)).clone()),
            other => other.clone(),
        });
        self.sized_outside(&known, span)
    }

    /// The value's own sizes are unknown but fixed, those of rows may be anything.
    pub(super) fn sized_outside(&mut self, ty: &Type, span: par_runtime::Span) -> Type {
        match ty {
            Type::Array(dim, t) if *dim == Dim::Any => Type::Array(Dim::Is(self.unknown(span)), t.clone()),
            Type::Tuple(ts) => Type::Tuple(Rc::new(ts.iter().map(|t| self.sized_outside(t, span)).collect())),
            Type::Record(fs) => {
                let fields = fs.iter().map(|(f, t)| (f.clone(), self.sized_outside(t, span)));
                Type::Record(Rc::new(fields.collect()))
            }
            other => other.clone(),
        }
    }
}
