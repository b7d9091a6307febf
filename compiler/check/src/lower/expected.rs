//! Arguments whose sizes come from the expected type: those of `unflatten`, `rep` and others that declare a size which no parameter
//! says. Where names say the sizes, the typed tree has them; here are those that only values say.
//!
//! ```text
//! map2 (+) (filter p xs) (rep 1)        the other arguments are looked at first
//! ```

use super::calls::{called_env, unpack};
use super::env::Env;
use super::sizes::is_informative;
use super::value::{Fun, Shape, Val};
use super::widths::mentions;
use super::{Lower, R};
use crate::sizes::says;
use crate::thir::{Def, Expr, ExprKind, LocalId, Pat};
use par_ir::prim::{BinOp, CmpOp};
use par_ir::{Atom, Dim, Prim};

impl<'p> Lower<'p> {
    /// `unflatten_to n m xs`.
    pub fn unflatten(&mut self, n: Atom, m: Atom, xs: &Val<'p>) -> R<Val<'p>> {
        let k = self.size_of(xs)?;
        [n, m].into_iter().for_each(|n| self.check_size(n));
        let product = self.mul(n, m);
        self.equate(product, k, "the product of the sizes and the length of the array in unflatten", None)?;
        self.split_outer(xs, Dim::Size(n), Dim::Size(m))
    }

    /// `k / n`, and 0 for a zero `n`.
    pub fn quotient(&mut self, k: Atom, n: Atom) -> Atom {
        let (zero, one) = (Atom::i64(0), Atom::i64(1));
        let none = self.cmp(CmpOp::Eq, n, zero);
        let by = self.select(Prim::I64, none, one, n);
        let q = self.bin(BinOp::Quot, Prim::I64, k, by);
        self.select(Prim::I64, none, zero, q)
    }

    /// The arguments of a call. Those whose sizes are what is wanted are looked at last: their parameters' types say what
    /// the other arguments want.
    pub fn arguments(&mut self, fun: &Val<'p>, args: &'p [Expr], env: &Env<'p>) -> R<Vec<Val<'p>>> {
        let open: Vec<bool> = args.iter().map(|a| self.is_open(a)).collect();
        let mut vals = vec![None; args.len()];
        for (i, arg) in args.iter().enumerate().filter(|(i, _)| !open[*i]) {
            vals[i] = Some(self.eval(arg, env, None)?);
        }
        for (i, arg) in args.iter().enumerate().filter(|(i, _)| open[*i]) {
            let want = self.wanted_of_argument(fun, &vals, i)?;
            vals[i] = Some(self.eval(arg, env, want.as_ref())?);
        }
        Ok(vals.into_iter().flatten().collect())
    }

    /// True if an expression calls a function with sizes in its result that its arguments do not say.
    fn is_open(&self, e: &Expr) -> bool {
        let ExprKind::Apply(f, args) = &e.kind else { return false };
        let ExprKind::Def(d, _) = &f.kind else { return false };
        let def = &self.program.defs[d.0 as usize];
        let said = |l: &LocalId| def.params.iter().any(|p| says(&p.ty, *l));
        def.params.len() == args.len() && def.size_params.iter().any(|l| says(&def.ret, *l) && !said(l))
    }

    /// Expected shape of an argument, as far as the known arguments determine it.
    fn wanted_of_argument(&mut self, fun: &Val<'p>, vals: &[Option<Val<'p>>], i: usize) -> R<Option<Shape>> {
        let Val::Fun(fun) = fun else { return Ok(None) };
        let (mut fun, first) = unpack(fun.clone(), Vec::new());
        while let Fun::Sized(s) = &*fun {
            fun = s.fun.clone();
        }
        let (params, mut env): (&'p [Pat], _) = match &*fun {
            Fun::Def(d) => {
                let program = self.program;
                let def: &'p Def = &program.defs[d.id.0 as usize];
                (&def.params, called_env(def, d, None))
            }
            Fun::Closure(c) => (c.params, c.env.clone()),
            _ => return Ok(None),
        };
        let mut found = Vec::new();
        for (pat, val) in params.iter().zip(first.iter().map(Some).chain(vals.iter().map(Option::as_ref))) {
            val.iter().for_each(|val| mentions(val, &pat.ty, &env, &mut found));
        }
        for (name, dim) in found {
            if let (Dim::Size(n), None) = (dim, env.get(name)) {
                env.bind(name, Val::i64(n));
            }
        }
        let Some(pat) = params.get(first.len() + i) else { return Ok(None) };
        Ok(Some(self.shape(&pat.ty, &env)?).filter(is_informative))
    }
}
