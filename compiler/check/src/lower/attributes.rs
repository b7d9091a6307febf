//! Meaning of attributes on expressions.
//!
//! ```text
//! #[sequential] e          the parallel operators of `e` are marked: a later pass makes loops of them
//! #[sequential_outer] e    only those that are in no other of `e`
//! #[sequential_inner] e    only those that are in another of `e`
//! #[opaque] e              e, passed through operators that are fusion barriers
//! #[unsafe] e              if that is permitted: bounds and assertions of `e` are not checked
//! #[fast_math] e           a * b + c in `e` is rounded once, and x / 8 is x * 0.125: see `inexact`
//! #[unroll] loop …         the body as often as the loop iterates
//! #[stripmine(k)] loop …   k loops around the loop, each of a root of its iterations: see `stripmine`
//! ```

use super::env::Env;
use super::soac::Inputs;
use super::stripmine::strips;
use super::value::{Shape, Val};
use super::{Lower, R};
use crate::thir::{Expr, ExprKind};
use par_ir::core::{Body, Exp, Lambda, Param, Schedule, Stm};
use par_ir::{Atom, CheckKind, Dim, Prim, Type};
use par_syntax::ast::Attr;

/// Permissions that attributes give to the code inside them.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Permits {
    /// Bounds and assertions are not checked.
    pub unchecked: bool,
    /// Floats may be rounded otherwise.
    pub inexact: bool,
}

impl<'p> Lower<'p> {
    /// The value of an expression with an attribute; `want` is what is known of its shape.
    pub fn attributed(
        &mut self,
        attr: &Attr,
        e: &'p Expr,
        env: &Env<'p>,
        want: Option<&Shape>,
    ) -> R<Val<'p>> {
        match attr.name.as_str() {
            "sequential" => self.scheduled(e, env, want, (true, true)),
            "sequential_outer" => self.scheduled(e, env, want, (true, false)),
            "sequential_inner" => self.scheduled(e, env, want, (false, true)),
            "unsafe" if self.options.allow_unsafe => self
                .permitted(Permits { unchecked: true, ..self.context.permits }, |lo| lo.eval(e, env, want)),
            "fast_math" => {
                self.permitted(Permits { inexact: true, ..self.context.permits }, |lo| lo.eval(e, env, want))
            }
            "unroll" => match &e.kind {
                ExprKind::Loop { .. } => self.unrolled(attr, e, env),
                _ => self.eval(e, env, want),
            },
            "stripmine" => match &e.kind {
                ExprKind::Loop { pat, init, form, body } => {
                    self.context.strips = strips(attr);
                    self.loop_expr(pat, init, form, body, env)
                }
                _ => self.eval(e, env, want),
            },
            "opaque" => {
                let val = self.eval(e, env, want)?;
                self.opaque(val)
            }
            "trace" => {
                let val = self.eval(e, env, want)?;
                self.trace(attr, val, &e.ty, env)
            }
            _ => self.eval(e, env, want),
        }
    }

    fn permitted<T>(&mut self, permits: Permits, inside: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.context.permits, permits);
        let result = inside(self);
        self.context.permits = before;
        result
    }

    /// Makes a function: what is permitted where it is called first says nothing of its other calls.
    pub fn in_function<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> T {
        self.context.inside += 1;
        let result = self.permitted(Permits::default(), make);
        self.context.inside -= 1;
        result
    }

    /// Marks the operators that an expression becomes: those at its own level, those inside others.
    fn scheduled(
        &mut self,
        e: &'p Expr,
        env: &Env<'p>,
        want: Option<&Shape>,
        which: (bool, bool),
    ) -> R<Val<'p>> {
        let first = self.scope.blocks.last().map_or(0, |b| b.stms.len());
        let val = self.eval(e, env, want)?;
        if let Some(block) = self.scope.blocks.last_mut() {
            block.stms[first..].iter_mut().for_each(|s| mark(s, which));
        }
        Ok(val)
    }

    /// True if a check is left out. What memory depends on besides, sizes and divisors, is always checked.
    pub fn is_unchecked(&self, kind: &CheckKind) -> bool {
        self.context.permits.unchecked
            && matches!(
                kind,
                CheckKind::Bounds | CheckKind::Slice | CheckKind::Empty(_) | CheckKind::Assert(_)
            )
    }

    /// The same value, of which nothing but its shape is known. Functions are what they are.
    fn opaque(&mut self, val: Val<'p>) -> R<Val<'p>> {
        Ok(match val {
            Val::Scalar(a, p) => Val::Scalar(self.opaque_scalar(a, p)?, p),
            Val::Tuple(vs) => Val::Tuple(vs.into_iter().map(|v| self.opaque(v)).collect::<R<_>>()?),
            Val::Record(fs) => {
                Val::Record(fs.into_iter().map(|(n, v)| Ok((n, self.opaque(v)?))).collect::<R<_>>()?)
            }
            Val::Array(..) => self.opaque_array(&val)?,
            Val::Leaf(..) | Val::Fun(_) => val,
        })
    }

    fn opaque_scalar(&mut self, a: Atom, p: Prim) -> R<Atom> {
        let one = Atom::i64(1);
        let body = Body { stms: Vec::new(), results: vec![a] };
        let lam = Lambda { params: Vec::new(), body, ret: vec![Type::scalar(p)], schedule: Schedule::Opaque };
        let ty = Type::array(vec![Dim::Size(one)], p);
        let boxed = self.emit("opaque", ty, Exp::Map { width: one, inputs: Vec::new(), lam });
        Ok(Atom::Var(self.emit("opaque", Type::scalar(p), Exp::Index(boxed, vec![Atom::i64(0)]))))
    }

    fn opaque_array(&mut self, val: &Val<'p>) -> R<Val<'p>> {
        let width = self.size_of(val)?;
        let (_, (inputs, row)) = self.in_block(|lo| {
            let mut inputs = Inputs::default();
            let row = lo.row_params(val, &mut inputs)?;
            Ok((inputs, row))
        })?;
        let mut pat: Vec<Param> = Vec::new();
        for (a, _) in val.leaves() {
            let ty = self.type_of(self.leaf_var(a)?).clone();
            pat.push(self.param("opaque", ty));
        }
        let results: Vec<Atom> = row.leaves().into_iter().map(|l| l.0).collect();
        let ret = results.iter().map(|a| Ok(self.type_of(self.leaf_var(*a)?).clone())).collect::<R<_>>()?;
        let leaves = pat.iter().map(|p| Atom::Var(p.var)).collect();
        if !pat.is_empty() {
            let body = Body { stms: Vec::new(), results };
            let lam = Lambda { params: inputs.params, body, ret, schedule: Schedule::Opaque };
            self.push(pat, Exp::Map { width, inputs: inputs.arrays, lam });
        }
        self.with_leaves(val, leaves)
    }
}

/// Marks a statement's operators: it, if it is one and those `here` are meant, and those inside operators, if they are.
fn mark(stm: &mut Stm, (here, inside): (bool, bool)) {
    let soac = stm.exp.is_soac();
    if let Some(lam) = stm.exp.lambdas_mut().into_iter().next()
        && here
        && lam.schedule == Schedule::Free
    {
        lam.schedule = Schedule::Sequential;
    }
    let below = if soac { (inside, inside) } else { (here, inside) };
    stm.exp.bodies_mut().into_iter().flat_map(|b| &mut b.stms).for_each(|s| mark(s, below));
}
