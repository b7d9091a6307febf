//! Functions declared at a type with sizes: every application binds and equates them, as for a definition's own
//! parameters.
//!
//! ```text
//! def twice [n] (f: [n]i64 -> [n]i64) (xs: [n]i64) = f (f xs)      each application checks that f kept the size
//! ```
//!
//! The sizes are looked up where all parameters of the function that declares it are bound. A size that is not known
//! there is what the argument of the application says.

use super::env::Env;
use super::sizes::{Declared, has_sizes};
use super::value::{Fun, Shape, Sized, Val};
use super::{Lower, R};
use crate::free;
use crate::thir::{LocalId, Pat, PatKind, Size, Ty};
use par_ir::Span;
use std::rc::Rc;

impl<'p> Lower<'p> {
    /// Makes the functions that a pattern has bound keep to the sizes of their types.
    pub fn size_functions(&mut self, pat: &'p Pat, env: &mut Env<'p>) {
        match &pat.kind {
            PatKind::Var(l) => {
                if let Some(val) = env.get(*l).filter(|_| declares(&pat.ty)) {
                    let name = format!("`{}`", self.program.locals[l.0 as usize]);
                    let val = self.sized(val.clone(), &pat.ty, env, &name, pat.span);
                    env.bind(*l, val);
                }
            }
            PatKind::Tuple(ps) | PatKind::Constr(_, ps) => {
                ps.iter().for_each(|p| self.size_functions(p, env));
            }
            PatKind::Record(fs) => fs.iter().for_each(|(_, p)| self.size_functions(p, env)),
            PatKind::Wildcard | PatKind::Literal(_) | PatKind::String(_) => {}
        }
    }

    /// The value with its functions at the sizes of their types.
    pub fn sized(&self, val: Val<'p>, ty: &'p Ty, env: &Env<'p>, name: &str, span: Span) -> Val<'p> {
        match (val, ty) {
            (val, _) if !declares(ty) => val,
            (val, Ty::Unique(t)) => self.sized(val, t, env, name, span),
            (Val::Tuple(vs), Ty::Tuple(ts)) => {
                let part = |(v, t)| self.sized(v, t, env, name, span);
                Val::Tuple(vs.into_iter().zip(ts).map(part).collect())
            }
            (Val::Record(vs), Ty::Record(ts)) => {
                let part = |((n, v), (_, t)): ((String, Val<'p>), &'p (String, Ty))| {
                    (n, self.sized(v, t, env, name, span))
                };
                Val::Record(vs.into_iter().zip(ts).map(part).collect())
            }
            (Val::Fun(fun), Ty::Fun(..)) => {
                let (fun, env, name) = (without(&fun, ty), env.clone(), name.to_string());
                Val::Fun(Rc::new(Fun::Sized(Sized { fun, ty, env, name, span })))
            }
            (val, _) => val,
        }
    }

    /// The value without what [`Lower::size_functions`] would add again for this pattern.
    pub fn without_sizes(&self, val: Val<'p>, pat: &Pat) -> Val<'p> {
        match val {
            Val::Fun(fun) => Val::Fun(without(&fun, &pat.ty)),
            other => other,
        }
    }

    /// An application of a function with sizes.
    pub fn apply_sized(&mut self, s: &Sized<'p>, args: Vec<Val<'p>>, want: Option<&Shape>) -> R<Val<'p>> {
        let (mut env, mut ty) = (s.env.clone(), s.ty);
        let mut given = Vec::with_capacity(args.len());
        for arg in args {
            given.push(match ty {
                Ty::Fun(param, result) => {
                    let text = format!("the argument of {}", s.name);
                    let declared = Declared { what: &text, span: Some(s.span), trusted: false };
                    ty = result;
                    let arg = self.enforce(arg, param, &mut env, declared)?;
                    self.sized(arg, param, &env, &s.name, s.span)
                }
                _ => arg,
            });
        }
        let result = self.apply(&Val::Fun(s.fun.clone()), given, want)?;
        if let Ty::Fun(..) = ty {
            return Ok(self.sized(result, ty, &env, &s.name, s.span));
        }
        if !has_sizes(ty) {
            return Ok(result);
        }
        let text = format!("the result of {}", s.name);
        self.enforce(result, ty, &mut env, Declared { what: &text, span: Some(s.span), trusted: false })
    }
}

impl Sized<'_> {
    /// The size names that its type mentions, each once.
    pub fn mentioned(&self) -> Vec<LocalId> {
        let mut out = Vec::new();
        free::ty(self.ty, &mut out);
        out.sort();
        out.dedup();
        out
    }
}

/// The function without the sizes that this very type gave it, so that a recursive call passes on what it was given.
fn without<'p>(fun: &Rc<Fun<'p>>, ty: &Ty) -> Rc<Fun<'p>> {
    let Fun::Sized(s) = &**fun else { return fun.clone() };
    let inner = without(&s.fun, ty);
    if std::ptr::eq(s.ty, ty) {
        return inner;
    }
    let (env, name) = (s.env.clone(), s.name.clone());
    Rc::new(Fun::Sized(Sized { fun: inner, ty: s.ty, env, name, span: s.span }))
}

/// True if a function type in it has sizes.
fn declares(ty: &Ty) -> bool {
    match ty {
        Ty::Fun(a, b) => mentions_size(a) || mentions_size(b),
        Ty::Unique(t) => declares(t),
        Ty::Tuple(ts) => ts.iter().any(declares),
        Ty::Record(fs) => fs.iter().any(|(_, t)| declares(t)),
        Ty::Prim(_) | Ty::Array(..) | Ty::Sum(_) | Ty::Var(_) | Ty::Meta(_) | Ty::Abstract(..) => false,
    }
}

fn mentions_size(ty: &Ty) -> bool {
    match ty {
        Ty::Array(size, t) => *size != Size::Anon || mentions_size(t),
        Ty::Fun(a, b) => mentions_size(a) || mentions_size(b),
        Ty::Unique(t) => mentions_size(t),
        Ty::Tuple(ts) => ts.iter().any(mentions_size),
        Ty::Record(fs) => fs.iter().any(|(_, t)| mentions_size(t)),
        Ty::Prim(_) | Ty::Sum(_) | Ty::Var(_) | Ty::Meta(_) | Ty::Abstract(..) => false,
    }
}
