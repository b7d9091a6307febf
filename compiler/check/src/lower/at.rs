//! Functions at sizes that only the surroundings of their use say.
//!
//! ```text
//! (unflatten xs) : [n][m]i64        a closure of the body of `unflatten` in which its sizes are n and m
//! ```

use super::calls::def_env;
use super::env::Env;
use super::free;
use super::sizes::Declared;
use super::value::{Closure, Fun, Shape, Val};
use super::{Lower, R};
use crate::thir::{Def, Expr, ExprKind, LocalId};
use std::rc::Rc;

impl<'p> Lower<'p> {
    /// The value of a name at sizes.
    pub fn at_sizes(
        &mut self,
        f: &'p Expr,
        sizes: &'p [(LocalId, Expr)],
        env: &Env<'p>,
        want: Option<&Shape>,
    ) -> R<Val<'p>> {
        let ExprKind::Def(d, types) = &f.kind else { return self.local_at_sizes(f, sizes, env) };
        let program = self.program;
        let def: &'p Def = &program.defs[d.0 as usize];
        // Where none is known after all, what is wanted of the result says them.
        let none = !sizes.iter().any(|(_, size)| is_known(size, env));
        if def.intrinsic || def.group.is_some() || none {
            return self.eval(f, env, want);
        }
        self.reached.insert(*d);
        let types: Vec<Shape> = types.iter().map(|t| self.type_arg(t, env)).collect();
        let mut inside = def_env(def, &types);
        self.bind_sizes_of(sizes, env, &mut inside)?;
        if def.params.is_empty() {
            let text = format!("type of `{}`", def.name);
            let declared = Declared { what: &text, span: Some(def.ret_span), trusted: false };
            return self.eval_at(&def.body, &mut inside, &def.ret, want, declared);
        }
        let (params, ret, body) = (&def.params, Some(&def.ret), &def.body);
        Ok(Val::Fun(Rc::new(Fun::Closure(Closure { type_params: &[], params, ret, body, env: inside }))))
    }

    /// A local function at sizes.
    fn local_at_sizes(&mut self, f: &'p Expr, sizes: &'p [(LocalId, Expr)], env: &Env<'p>) -> R<Val<'p>> {
        let val = self.eval(f, env, None)?;
        let Val::Fun(fun) = &val else { return Ok(val) };
        let Fun::Closure(c) = &**fun else { return Ok(val) };
        let mut inside = c.env.clone();
        self.bind_sizes_of(sizes, env, &mut inside)?;
        let Closure { type_params, params, ret, body, .. } = *c;
        Ok(Val::Fun(Rc::new(Fun::Closure(Closure { type_params, params, ret, body, env: inside }))))
    }

    /// Binds the sizes that are known here.
    fn bind_sizes_of(&mut self, sizes: &'p [(LocalId, Expr)], env: &Env<'p>, inside: &mut Env<'p>) -> R<()> {
        for (name, size) in sizes {
            if is_known(size, env) {
                let n = self.integer(size, env)?;
                inside.bind(*name, Val::i64(n));
            }
        }
        Ok(())
    }
}

/// True if all names in a size are bound.
fn is_known(size: &Expr, env: &Env) -> bool {
    let mut mentioned = Vec::new();
    free::expr(size, &mut mentioned);
    mentioned.iter().all(|l| env.get(*l).is_some())
}
