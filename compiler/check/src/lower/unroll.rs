//! `#[unroll] loop …`: the body is evaluated as often as the loop iterates, if that is known.
//!
//! ```text
//! #[unroll] loop x = 1 for i < 3 do x * a + i      ((1 * a + 0) * a + 1) * a + 2
//! ```
//!
//! Sizes and functions of the state need not stay what they are from iteration to iteration.

use super::env::Env;
use super::loops::Source;
use super::value::Val;
use super::{Lower, R};
use crate::thir::{Expr, ExprKind, LoopForm, Pat};
use par_ir::{Atom, Prim, Scalar};
use par_syntax::ast::Attr;
use par_syntax::diagnostic::{Diagnostic, Severity};

/// Largest number of iterations of a loop that is unrolled.
const MAX_ITERATIONS: i64 = 10_000;

/// The values that a loop's body is evaluated for.
enum Iterations<'p> {
    Numbers(Prim),
    Rows(Source<'p>),
}

impl<'p> Lower<'p> {
    /// A loop, unrolled if the number of its iterations is known; else there is a warning.
    pub fn unrolled(&mut self, attr: &Attr, e: &'p Expr, env: &Env<'p>) -> R<Val<'p>> {
        let ExprKind::Loop { pat, init, form, body } = &e.kind else {
            return Err(self.internal("only loops are unrolled"));
        };
        if matches!(form, LoopForm::While(_)) {
            self.not_unrolled(attr, "a `while` loop iterates as often as its condition says at run time");
            return self.loop_expr(pat, init, form, body, env);
        }
        let mut state = self.loop_start(pat, init, env)?;
        let (iterations, count) = match form {
            LoopForm::For(_, bound) => match self.eval(bound, env, None)? {
                Val::Scalar(n, p) => (Iterations::Numbers(p), n),
                _ => return Err(self.internal("a loop bound is a scalar")),
            },
            LoopForm::ForIn(_, array) => {
                let source = self.source(array, env)?;
                let count = source.len();
                (Iterations::Rows(source), count)
            }
            LoopForm::While(_) => unreachable!("treated before"),
        };
        let Some(count) = count.as_i64().filter(|n| *n <= MAX_ITERATIONS) else {
            let why = match count {
                Atom::Const(_) => format!("a loop of more than {MAX_ITERATIONS} iterations stays a loop"),
                Atom::Var(_) => "the number of iterations is known at run time only".to_string(),
            };
            self.not_unrolled(attr, &why);
            return self.loop_expr(pat, init, form, body, env);
        };
        for i in 0..count {
            self.limit()?;
            let mut inner = self.iteration_env(pat, &state, env)?;
            match (form, &iterations) {
                (LoopForm::For(index, _), Iterations::Numbers(p)) => {
                    inner.bind(*index, Val::Scalar(Atom::Const(Scalar::from_i64(*p, i)), *p));
                }
                (LoopForm::ForIn(x, _), Iterations::Rows(source)) => {
                    let elem = self.element_of(source, Atom::i64(i))?;
                    self.bind(x, elem, &mut inner)?;
                }
                _ => return Err(self.internal("a loop of another form")),
            }
            let next = self.eval(body, &inner, None)?;
            state = self.keep_sizes(next, pat, env)?;
        }
        Ok(state)
    }

    /// The environment of a loop's body.
    pub fn iteration_env(&mut self, pat: &'p Pat, state: &Val<'p>, env: &Env<'p>) -> R<Env<'p>> {
        let mut env = env.clone();
        self.bind(pat, state.clone(), &mut env)?;
        Ok(env)
    }

    fn not_unrolled(&mut self, attr: &Attr, why: &str) {
        let diag = Diagnostic::new(Severity::Warning, "W0203", "the loop is not unrolled", attr.span);
        let known = self.diagnostics.iter().any(|d| d.code == "W0203" && d.labels[0].span == attr.span);
        if !known && !self.is_library(attr.span) {
            self.diagnostics.push(diag.here("has no effect").note(why));
        }
    }
}
