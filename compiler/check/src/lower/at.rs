//! Functions at sizes that only the surroundings of their use say.
//!
//! ```text
//! (unflatten xs) : [n][m]i64        `unflatten` with n and m for its sizes
//! ```

use super::calls::def_env;
use super::env::Env;
use super::sizes::Declared;
use super::value::{Defined, Fun, Shape, Val};
use super::{Lower, R};
use crate::free;
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
        if def.intrinsic || none {
            return self.eval(f, env, want);
        }
        self.visited.reached.insert(*d);
        let types: Vec<Shape> = types.iter().map(|t| self.type_arg(t, env)).collect();
        let sizes = self.known_sizes(sizes, env)?;
        if def.params.is_empty() {
            let mut inside = def_env(def, &types);
            sizes.into_iter().for_each(|(l, size)| inside.bind(l, size));
            let text = format!("type of `{}`", def.name);
            let declared = Declared { what: &text, span: Some(def.ret_span), trusted: false };
            return self.eval_at(&def.body, &mut inside, &def.ret, want, declared);
        }
        Ok(Val::Fun(Rc::new(Fun::Def(Defined { id: *d, types: Rc::new(types), sizes }))))
    }

    /// A local function at sizes.
    fn local_at_sizes(&mut self, f: &'p Expr, sizes: &'p [(LocalId, Expr)], env: &Env<'p>) -> R<Val<'p>> {
        let val = self.eval(f, env, None)?;
        let Val::Fun(fun) = &val else { return Ok(val) };
        let Fun::Closure(c) = &**fun else { return Ok(val) };
        let mut inside = c.env.clone();
        self.known_sizes(sizes, env)?.into_iter().for_each(|(l, size)| inside.bind(l, size));
        Ok(Val::Fun(Rc::new(Fun::Closure(c.within(inside)))))
    }

    /// The sizes that are known here.
    fn known_sizes(&mut self, sizes: &'p [(LocalId, Expr)], env: &Env<'p>) -> R<Vec<(LocalId, Val<'p>)>> {
        let known = sizes.iter().filter(|(_, size)| is_known(size, env));
        known.map(|(name, size)| Ok((*name, Val::i64(self.integer(size, env)?)))).collect()
    }
}

/// True if all names in a size are bound.
fn is_known(size: &Expr, env: &Env) -> bool {
    let mut mentioned = Vec::new();
    free::expr(size, &mut mentioned);
    mentioned.iter().all(|l| env.get(*l).is_some())
}
