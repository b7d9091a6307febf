//! Size names that stand in an expression only, found from the size of the argument.
//!
//! ```text
//! def steps [n] (xs: [n + 1]f32) : [n]f32       xs has size k:  n is k - 1, and not negative
//! def pairs [n] (xs: [2 * n]f32) : [n]f32       xs has size k:  n is k / 2, and 2 * n == k is checked
//! def rows [n] [m] (xs: [n * m]f32)             xs has a size that was computed as a product:  of n and m
//! ```

use super::env::Env;
use super::value::Val;
use super::{Lower, R};
use crate::thir::{Expr, ExprKind, LocalId};
use par_ir::{Atom, Prim};

impl<'p> Lower<'p> {
    /// Binds the names in a size that are not known yet, if they stand in sums, differences and products only: one, or both of
    /// a product or sum that was computed as one.
    pub fn solve(&mut self, size: &'p Expr, is: Atom, env: &mut Env<'p>) -> R<()> {
        let (mut size, mut is) = (size, is);
        while is_open(size, env) {
            match &size.kind {
                ExprKind::Local(name) => {
                    self.check_size(is);
                    env.bind(*name, Val::i64(is));
                    return Ok(());
                }
                ExprKind::Apply(op, operands) => {
                    let (ExprKind::Op(op), [x, y]) = (&op.kind, operands.as_slice()) else { return Ok(()) };
                    let (open, known, first) = match (open(x, env), open(y, env)) {
                        (Some(true), Some(false)) => (x, y, true),
                        (Some(false), Some(true)) => (y, x, false),
                        _ => return self.solve_both(op, [x, y], is, env),
                    };
                    let Val::Scalar(known, p) = self.eval(known, env, None)? else { return Ok(()) };
                    let known = self.conv(p, Prim::I64, known);
                    is = match (op.as_str(), first) {
                        ("+", _) => self.sub(is, known),
                        ("-", true) => self.add(is, known),
                        ("-", false) => self.sub(known, is),
                        ("*", _) => self.quotient(is, known),
                        _ => return Ok(()),
                    };
                    size = open;
                }
                _ => return Ok(()),
            }
        }
        Ok(())
    }

    /// Binds the names of both operands, if the size was computed as a product or sum itself.
    fn solve_both(&mut self, op: &str, operands: [&'p Expr; 2], is: Atom, env: &mut Env<'p>) -> R<()> {
        let computed = match op {
            "*" => &self.facts.products,
            "+" => &self.facts.sums,
            _ => return Ok(()),
        };
        let Some((a, b)) = is.var().and_then(|v| computed.get(&v)).copied() else { return Ok(()) };
        self.solve(operands[0], a, env)?;
        self.solve(operands[1], b, env)
    }
}

/// True if a size has names to be found.
pub(super) fn is_open(size: &Expr, env: &Env) -> bool {
    open(size, env) != Some(false)
}

/// True if a name in an expression is not bound: one, or none; nothing if that cannot be said.
fn open(e: &Expr, env: &Env) -> Option<bool> {
    let mut names: Vec<LocalId> = Vec::new();
    crate::free::expr(e, &mut names);
    match names.iter().filter(|name| env.get(**name).is_none()).count() {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}
