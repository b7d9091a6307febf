//! Binding patterns, and testing them in `match`.

use super::env::Env;
use super::sizes::Declared;
use super::sums::Tested;
use super::value::Val;
use super::{Lower, R};
use crate::thir::{Pat, PatKind};
use par_ir::prim::CmpOp;
use par_ir::{Atom, Dim, PrimOp, Var};

impl<'p> Lower<'p> {
    /// Binds the names and sizes of a pattern.
    pub fn bind(&mut self, pat: &'p Pat, val: Val<'p>, env: &mut Env<'p>) -> R<()> {
        self.bind_as(pat, val, env, &|name| format!("size of `{name}`"))
    }

    /// As `bind`; `what` makes the text of size errors from a name.
    pub fn bind_as(
        &mut self,
        pat: &'p Pat,
        val: Val<'p>,
        env: &mut Env<'p>,
        what: &dyn Fn(&str) -> String,
    ) -> R<()> {
        let name = self.pat_name(pat);
        let text = what(&name);
        let declared = Declared { what: &text, span: Some(pat.span), trusted: false };
        let val = self.enforce(val, &pat.ty, env, declared)?;
        match (&pat.kind, val) {
            (PatKind::Var(l), val) => {
                self.name_after(&val, &self.program.locals[l.0 as usize]);
                env.bind(*l, val);
            }
            (PatKind::Wildcard | PatKind::Literal(_) | PatKind::String(_), _) => {}
            (PatKind::Tuple(ps), Val::Tuple(vs)) => {
                for (p, v) in ps.iter().zip(vs) {
                    self.bind_as(p, v, env, what)?;
                }
            }
            (PatKind::Record(ps), Val::Record(vs)) => {
                for ((_, p), (_, v)) in ps.iter().zip(vs) {
                    self.bind_as(p, v, env, what)?;
                }
            }
            (PatKind::Constr(name, ps), val) => {
                let payload = self.tested(&pat.ty, name, &val, env)?.payload;
                for (p, v) in ps.iter().zip(payload) {
                    self.bind_as(p, v, env, what)?;
                }
            }
            _ => return Err(self.internal("a pattern does not fit its value")),
        }
        Ok(())
    }

    /// The test that a value matches, as a bool.
    pub fn test(&mut self, pat: &'p Pat, val: &Val<'p>, env: &Env<'p>) -> R<Atom> {
        match (&pat.kind, val) {
            (PatKind::Var(_) | PatKind::Wildcard, _) => Ok(Atom::bool(true)),
            (PatKind::Literal(s), Val::Scalar(a, p)) => {
                Ok(self.prim(PrimOp::Cmp(CmpOp::Eq, *p), &[*a, Atom::Const(*s)]))
            }
            (PatKind::String(bytes), Val::Array(..)) => {
                let bytes = self.string(bytes);
                self.equal(val, &bytes)
            }
            (PatKind::Tuple(ps), Val::Tuple(vs)) => self.test_all(ps.iter().zip(vs), env),
            (PatKind::Record(ps), Val::Record(vs)) => {
                self.test_all(ps.iter().map(|(_, p)| p).zip(vs.iter().map(|(_, v)| v)), env)
            }
            (PatKind::Constr(name, ps), Val::Tuple(parts)) => {
                let Tested { layout, number, payload } = self.tested(&pat.ty, name, val, env)?;
                let this = self.has_number(&layout, number, &parts[0])?;
                // There is something in the slots whatever the constructor is, and looking at it never fails.
                let rest = self.test_all(ps.iter().zip(&payload), env)?;
                Ok(self.and(this, rest))
            }
            _ => Err(self.internal("a pattern does not fit its value")),
        }
    }

    fn test_all<'v>(&mut self, parts: impl Iterator<Item = (&'p Pat, &'v Val<'p>)>, env: &Env<'p>) -> R<Atom>
    where
        'p: 'v,
    {
        let mut all = Atom::bool(true);
        for (p, v) in parts {
            let one = self.test(p, v, env)?;
            all = self.and(all, one);
        }
        Ok(all)
    }

    /// A name for a pattern in messages.
    pub fn pat_name(&self, pat: &Pat) -> String {
        match &pat.kind {
            PatKind::Var(l) => self.program.locals[l.0 as usize].clone(),
            PatKind::Tuple(ps) => {
                let parts: Vec<String> = ps.iter().map(|p| self.pat_name(p)).collect();
                format!("({})", parts.join(", "))
            }
            _ => "_".into(),
        }
    }

    /// Gives a variable without a telling name that of the source.
    fn name_after(&mut self, val: &Val<'p>, name: &str) {
        let var: Option<Var> = match val {
            Val::Scalar(a, _) => a.var(),
            Val::Array(Dim::Size(_), e) => match **e {
                Val::Leaf(v, _) => Some(v),
                _ => None,
            },
            _ => None,
        };
        if let Some(v) = var.filter(|v| matches!(self.out.vars.name(*v), "t" | "r")) {
            self.out.vars.define(v, name);
        }
    }
}
