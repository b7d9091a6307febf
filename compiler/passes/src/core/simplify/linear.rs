//! Sums of products of integers: `(x + 65) - (x + 1)` is `64`, `(k + 1) * b - k * b` is `b`, `(i + c) + d` is
//! `i + (c + d)`. Wrapping arithmetic is a ring, so this holds for all values.

use super::env::Env;
use par_ir::core::Exp;
use par_ir::prim::{BinOp, PrimOp};
use par_ir::ty::{Atom, Var};
use par_runtime::{Prim, Scalar};

/// Depth of definitions to which operands are expanded.
const DEPTH: usize = 3;

/// A sum: `constant + Σ coefficient * x * y`, with `y` for products of two variables only.
#[derive(Default)]
struct Sum {
    constant: i64,
    terms: Vec<(Var, Option<Var>, i64)>,
}

/// `x + y` or `x - y` in one operator or none, if what they are defined as leaves so little of them.
pub(super) fn simplify(env: &Env, op: BinOp, p: Prim, x: Atom, y: Atom) -> Option<Exp> {
    let sign = match op {
        BinOp::Add => 1,
        BinOp::Sub => -1,
        _ => return None,
    };
    let is_constant = |a: &Atom| matches!(a, Atom::Const(_));
    let is_new = |e: &Exp| match e {
        Exp::Prim(_, xy) => xy[0] != x || is_constant(&xy[1]) != is_constant(&y),
        _ => true,
    };
    (0..2 * DEPTH).find_map(|step| {
        let (depth, products) = (1 + step % DEPTH, step >= DEPTH);
        let mut sum = Sum::default();
        sum.add(env, p, x, 1, depth, products)?;
        sum.add(env, p, y, sign, depth, products)?;
        sum.expression(p).filter(is_new)
    })
}

impl Sum {
    /// Adds `coefficient * a`, with the sums it is made of down to `depth`, and products of sums if asked for.
    /// `None`: a constant that is not an `i64`, or more than two factors.
    fn add(
        &mut self,
        env: &Env,
        p: Prim,
        a: Atom,
        coefficient: i64,
        depth: usize,
        products: bool,
    ) -> Option<()> {
        let var = match a {
            Atom::Var(var) => var,
            Atom::Const(c) => {
                self.constant = self.constant.wrapping_add(c.as_i64()?.wrapping_mul(coefficient));
                return Some(());
            }
        };
        match env.def_of(a) {
            Some(Exp::Prim(PrimOp::Bin(op @ (BinOp::Add | BinOp::Sub), q), xy)) if *q == p && depth > 0 => {
                let second = if *op == BinOp::Add { coefficient } else { coefficient.wrapping_neg() };
                self.add(env, p, xy[0], coefficient, depth - 1, products)?;
                self.add(env, p, xy[1], second, depth - 1, products)
            }
            Some(Exp::Prim(PrimOp::Bin(BinOp::Mul, q), xy)) if *q == p && depth > 0 && products => {
                let mut sums = [Sum::default(), Sum::default()];
                for (sum, a) in sums.iter_mut().zip(xy) {
                    sum.add(env, p, *a, 1, depth - 1, false)?;
                }
                let [x, y] = sums;
                self.add_product(&x, &y, coefficient).or_else(|| self.add_product(&y, &x, coefficient))
            }
            _ => self.add_term(var, None, coefficient),
        }
    }

    /// Adds `coefficient * x * y` if `y` is a constant or a variable.
    fn add_product(&mut self, x: &Sum, y: &Sum, coefficient: i64) -> Option<()> {
        let (factor, k) = match (&y.terms[..], y.constant) {
            ([], c) => (None, coefficient.wrapping_mul(c)),
            (&[(factor, None, 1)], 0) => (Some(factor), coefficient),
            _ => return None,
        };
        match factor {
            None => self.constant = self.constant.wrapping_add(x.constant.wrapping_mul(k)),
            Some(factor) => self.add_term(factor, None, x.constant.wrapping_mul(k))?,
        }
        x.terms.iter().try_for_each(|&(a, b, l)| match (b, factor) {
            (_, None) => self.add_term(a, b, l.wrapping_mul(k)),
            (None, Some(factor)) => self.add_term(a.min(factor), Some(a.max(factor)), l.wrapping_mul(k)),
            (Some(_), Some(_)) => None,
        })
    }

    fn add_term(&mut self, a: Var, b: Option<Var>, coefficient: i64) -> Option<()> {
        match self.terms.iter_mut().find(|t| (t.0, t.1) == (a, b)) {
            Some(term) => term.2 = term.2.wrapping_add(coefficient),
            None => self.terms.push((a, b, coefficient)),
        }
        self.terms.retain(|t| t.2 != 0);
        Some(())
    }

    /// The sum in one operator or none.
    fn expression(&self, p: Prim) -> Option<Exp> {
        let number = |n: i64| Atom::Const(Scalar::from_i64(p, n));
        let constant = number(self.constant).as_i64()?;
        let less = constant.checked_neg().filter(|n| *n > 0 && number(*n).as_i64() == Some(*n));
        let (op, x, y) = match (&self.terms[..], constant) {
            ([], n) => return Some(Exp::Atom(number(n))),
            (&[(a, None, 1)], 0) => return Some(Exp::Atom(Atom::Var(a))),
            (&[(a, None, 1)], n) => match less {
                Some(less) => (BinOp::Sub, a, number(less)),
                None => (BinOp::Add, a, number(n)),
            },
            (&[(a, Some(b), 1)], 0) => (BinOp::Mul, a, Atom::Var(b)),
            (&[(a, None, 1), (b, None, 1)], 0) => (BinOp::Add, a, Atom::Var(b)),
            (&[(a, None, 1), (b, None, -1)] | &[(b, None, -1), (a, None, 1)], 0) => {
                (BinOp::Sub, a, Atom::Var(b))
            }
            _ => return None,
        };
        Some(Exp::Prim(PrimOp::Bin(op, p), vec![Atom::Var(x), y]))
    }
}
