//! `???`: a check that fails, and a value of the right type for the code after it, which never runs.

use super::env::Env;
use super::value::{Fun, Unknown, Val};
use super::{Lower, R};
use crate::thir::Ty;
use par_ir::core::Exp;
use par_ir::prim::BinOp;
use par_ir::{Atom, CheckKind, Prim, PrimOp, Scalar, Type};
use std::rc::Rc;

impl<'p> Lower<'p> {
    /// A hole of a type.
    pub fn hole(&mut self, text: &str, ty: &'p Ty, env: &Env<'p>) -> R<Val<'p>> {
        self.check(
            Atom::bool(false),
            CheckKind::Other(format!("a hole of type `{text}` was reached")),
            Vec::new(),
        );
        self.never(ty, env)
    }

    /// A value that nothing looks at. Its sizes are variables, so that they contradict no other sizes before the program runs.
    pub fn never(&mut self, ty: &'p Ty, env: &Env<'p>) -> R<Val<'p>> {
        Ok(match ty {
            Ty::Unique(t) => self.never(t, env)?,
            Ty::Tuple(ts) => Val::Tuple(ts.iter().map(|t| self.never(t, env)).collect::<R<_>>()?),
            Ty::Record(fs) => {
                let field = |(n, t): &'p (String, Ty)| Ok((n.clone(), self.never(t, env)?));
                Val::Record(fs.iter().map(field).collect::<R<_>>()?)
            }
            Ty::Array(_, t) => {
                let add = PrimOp::Bin(BinOp::Add, Prim::I64);
                let none = Exp::Prim(add, vec![Atom::i64(0), Atom::i64(0)]);
                let size = self.emit("k", Type::I64, none);
                self.facts.sizes.insert(size);
                let element = self.never(t, env)?;
                self.replicate(Atom::Var(size), &element)?
            }
            Ty::Fun(..) => Val::Fun(Rc::new(Fun::Unknown(Unknown { ty, env: env.clone(), runs: true }))),
            Ty::Prim(p) => Val::Scalar(Atom::Const(Scalar::zero(*p)), *p),
            Ty::Var(_) | Ty::Sum(_) | Ty::Meta(_) | Ty::Abstract(..) => {
                let shape = self.type_arg(ty, env);
                self.neutral(&shape)?
            }
        })
    }
}
