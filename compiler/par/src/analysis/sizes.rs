//! Sizes of local names, as far as signatures tell them.
//!
//! The typed tree has the sizes that were declared. For a reader more is known: the result of `map f xs` has the size of
//! `xs`, since both are `n` in the signature of `map`.
//!
//! ```text
//! def map [n] 'a 'b (f: a -> b) (xs: [n]a) : [n]b      xs : [k]i64      map f xs : [k]…
//! ```

use super::walk::{bound, parts};
use par_check::thir::{Def, Expr, ExprKind, LocalId, Pat, PatKind, Program, Size, Ty, TyVar};
use par_runtime::Scalar;
use std::collections::HashMap;

/// The types of a definition's local names.
pub(super) struct Sizes<'a> {
    typed: &'a Program,
    known: HashMap<LocalId, Ty>,
}

/// Meaning of the names of a signature in a call.
#[derive(Default)]
struct Call {
    sizes: HashMap<LocalId, Size>,
    types: HashMap<TyVar, Ty>,
}

impl<'a> Sizes<'a> {
    /// Looks through a definition.
    pub fn of(def: &'a Def, typed: &'a Program) -> Sizes<'a> {
        let mut sizes = Sizes { typed, known: HashMap::new() };
        def.params.iter().for_each(|p| sizes.bind(p, &p.ty));
        sizes.walk(&def.body);
        sizes
    }

    /// The type of a local name that a pattern binds.
    pub fn ty(&self, id: LocalId, pat: &Pat) -> Ty {
        self.known.get(&id).unwrap_or(&pat.ty).clone()
    }

    fn walk(&mut self, e: &'a Expr) {
        let mut rest = vec![e];
        while let Some(e) = rest.pop() {
            if let ExprKind::Let { pat, value, body } = &e.kind {
                self.walk(value);
                let ty = self.sized(value);
                self.bind(pat, &ty);
                rest.push(body);
                continue;
            }
            let parts = parts(e);
            parts.pats.into_iter().for_each(|p| self.bind(p, &p.ty));
            rest.extend(parts.exprs);
        }
    }

    /// Names take over what is known of their value, unless their pattern says more.
    fn bind(&mut self, pat: &Pat, ty: &Ty) {
        match (&pat.kind, ty) {
            (PatKind::Var(v), ty) => {
                self.known.insert(*v, joined(&pat.ty, ty));
            }
            (PatKind::Tuple(ps), Ty::Tuple(ts)) => ps.iter().zip(ts).for_each(|(p, t)| self.bind(p, t)),
            (PatKind::Record(ps), Ty::Record(ts)) => {
                ps.iter().zip(ts).for_each(|(p, t)| self.bind(&p.1, &t.1));
            }
            _ => {
                let mut names = Vec::new();
                bound(pat, &mut names);
                self.known.extend(names.into_iter().map(|(id, p)| (id, p.ty.clone())));
            }
        }
    }

    /// The type of an expression with the sizes that are known.
    fn sized(&self, e: &Expr) -> Ty {
        match &e.kind {
            ExprKind::Local(id) => self.known.get(id).unwrap_or(&e.ty).clone(),
            ExprKind::Ascribe(_, ty) | ExprKind::Coerce(_, ty) => joined(ty, &e.ty),
            ExprKind::Tuple(es) => Ty::Tuple(es.iter().map(|e| self.sized(e)).collect()),
            ExprKind::Attr(_, e) => self.sized(e),
            ExprKind::Apply(f, args) => {
                self.applied(f, args).map_or_else(|| e.ty.clone(), |t| joined(&t, &e.ty))
            }
            _ => e.ty.clone(),
        }
    }

    fn applied(&self, f: &Expr, args: &[Expr]) -> Option<Ty> {
        let ExprKind::Def(id, _) = &f.kind else { return None };
        let def = self.typed.defs.get(id.0 as usize).filter(|d| d.params.len() == args.len())?;
        let mut call = Call::default();
        for (p, arg) in def.params.iter().zip(args) {
            call.meet(&p.ty, &self.sized(arg));
            if let (PatKind::Var(v), Some(size)) = (&p.kind, size_of(arg)) {
                call.sizes.insert(*v, size);
            }
        }
        call.result(&def.ret)
    }
}

/// The number that an expression is, if it can stand in a type.
fn size_of(e: &Expr) -> Option<Size> {
    match &e.kind {
        ExprKind::Local(id) => Some(Size::Local(*id)),
        ExprKind::Literal(Scalar::I64(n)) => Some(Size::Const(*n)),
        _ => None,
    }
}

impl Call {
    /// Learns what names of a parameter's type stand for from an argument's type.
    fn meet(&mut self, param: &Ty, arg: &Ty) {
        match (param, arg) {
            (Ty::Array(Size::Local(n), p), Ty::Array(size, a)) => {
                if !matches!(size, Size::Anon | Size::Own { .. }) {
                    self.sizes.entry(*n).or_insert_with(|| size.clone());
                }
                self.meet(p, a);
            }
            (Ty::Array(_, p), Ty::Array(_, a)) => self.meet(p, a),
            (Ty::Unique(p), a) => self.meet(p, a),
            (p, Ty::Unique(a)) => self.meet(p, a),
            (Ty::Tuple(ps), Ty::Tuple(args)) => ps.iter().zip(args).for_each(|(p, a)| self.meet(p, a)),
            (Ty::Record(ps), Ty::Record(args)) => {
                ps.iter().zip(args).for_each(|(p, a)| self.meet(&p.1, &a.1));
            }
            (Ty::Fun(p, q), Ty::Fun(a, b)) => {
                self.meet(p, a);
                self.meet(q, b);
            }
            (Ty::Var(v), a) => {
                self.types.entry(*v).or_insert_with(|| a.clone());
            }
            _ => {}
        }
    }

    /// A result's type in this call; none if part of it is not known.
    fn result(&self, ty: &Ty) -> Option<Ty> {
        Some(match ty {
            Ty::Array(size, t) => {
                let size = match size {
                    Size::Local(n) => self.sizes.get(n).cloned().unwrap_or(Size::Anon),
                    Size::Const(n) => Size::Const(*n),
                    Size::Anon | Size::Exp(_) | Size::Own { .. } => Size::Anon,
                };
                Ty::Array(size, Box::new(self.result(t)?))
            }
            Ty::Unique(t) => self.result(t)?,
            Ty::Var(v) => self.types.get(v)?.clone(),
            Ty::Tuple(ts) => Ty::Tuple(ts.iter().map(|t| self.result(t)).collect::<Option<_>>()?),
            Ty::Record(fs) => Ty::Record(fs.try_map(|t| self.result(t).ok_or(())).ok()?),
            Ty::Prim(_) => ty.clone(),
            Ty::Sum(_) | Ty::Fun(..) | Ty::Abstract(..) | Ty::Meta(_) => return None,
        })
    }
}

/// The first type, with the second one's sizes where it has none.
fn joined(first: &Ty, second: &Ty) -> Ty {
    match (first, second) {
        (Ty::Array(Size::Anon, a), Ty::Array(size, b)) => Ty::Array(size.clone(), Box::new(joined(a, b))),
        (Ty::Array(size, a), Ty::Array(_, b)) => Ty::Array(size.clone(), Box::new(joined(a, b))),
        (Ty::Tuple(xs), Ty::Tuple(ys)) => Ty::Tuple(xs.iter().zip(ys).map(|(x, y)| joined(x, y)).collect()),
        (Ty::Record(xs), Ty::Record(ys)) => {
            Ty::Record(xs.iter().zip(ys).map(|(x, y)| (x.0.clone(), joined(&x.1, &y.1))).collect())
        }
        _ => first.clone(),
    }
}
