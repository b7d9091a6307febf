//! Derivatives of scalar operators.

use super::super::{Lower, R};
use super::forward::Forward;
use par_ir::core::Exp;
use par_ir::prim::{BinOp, CmpOp, SpecialOp, UnOp};
use par_ir::visit::{Code, Site};
use par_ir::{Atom, Prim, PrimOp, Scalar, Var};
use par_syntax::diagnostic::{Diagnostic, Severity};
use std::f64::consts::{LN_2, LN_10, PI};

/// Derivative of a unary operator: the factor of its operand's tangent.
enum Slope {
    Negative,
    Times(Atom),
    MinusTimes(Atom),
    Over(Atom),
    ScaledOver(f64, Atom),
}

/// Floats of one type.
struct Floats<'a, 'p> {
    lo: &'a mut Lower<'p>,
    prim: Prim,
}

impl Floats<'_, '_> {
    fn number(&self, x: f64) -> Atom {
        Atom::Const(Scalar::from_f64(self.prim, x).unwrap_or(Scalar::zero(self.prim)))
    }

    fn bin(&mut self, op: BinOp, a: Atom, b: Atom) -> Atom {
        self.lo.bin(op, self.prim, a, b)
    }

    fn mul(&mut self, a: Atom, b: Atom) -> Atom {
        self.bin(BinOp::Mul, a, b)
    }

    fn add(&mut self, a: Atom, b: Atom) -> Atom {
        self.bin(BinOp::Add, a, b)
    }

    fn sub(&mut self, a: Atom, b: Atom) -> Atom {
        self.bin(BinOp::Sub, a, b)
    }

    fn div(&mut self, a: Atom, b: Atom) -> Atom {
        self.bin(BinOp::Div, a, b)
    }

    fn un(&mut self, op: UnOp, a: Atom) -> Atom {
        self.lo.prim(PrimOp::Un(op, self.prim), &[a])
    }

    fn scaled(&mut self, by: f64, a: Atom) -> Atom {
        let by = self.number(by);
        self.mul(by, a)
    }

    /// `1 - a * a`, `1 + a * a`, `a * a - 1`.
    fn with_square(&mut self, one: f64, square: f64, a: Atom) -> Atom {
        let (one, squared) = (self.number(one), self.mul(a, a));
        if square < 0.0 { self.sub(one, squared) } else { self.add(one, squared) }
    }

    fn select(&mut self, cond: Atom, a: Atom, b: Atom) -> Atom {
        self.lo.select(self.prim, cond, a, b)
    }

    fn cmp(&mut self, op: CmpOp, a: Atom, b: Atom) -> Atom {
        self.lo.prim(PrimOp::Cmp(op, self.prim), &[a, b])
    }

    /// Sum of the terms there are.
    fn sum(&mut self, a: Option<Atom>, b: Option<Atom>) -> Option<Atom> {
        match (a, b) {
            (Some(a), Some(b)) => Some(self.add(a, b)),
            (a, b) => a.or(b),
        }
    }

    /// `sqrt` of `1 - a * a`, `1 + a * a`, `a * a - 1`.
    fn root_with_square(&mut self, one: f64, square: f64, a: Atom) -> Atom {
        let square = self.with_square(one, square, a);
        self.un(UnOp::Sqrt, square)
    }

    /// `factor * exp (-(a * a))`.
    fn bell(&mut self, factor: f64, a: Atom) -> Atom {
        let square = self.mul(a, a);
        let less = self.un(UnOp::Neg, square);
        let bell = self.un(UnOp::Exp, less);
        self.scaled(factor, bell)
    }

    /// The tangent of `y = op x`; none where the operator is constant but at jumps.
    fn unary(&mut self, op: UnOp, x: Atom, y: Atom, dx: Atom) -> R<Option<Atom>> {
        Ok(self.slope(op, x, y)?.map(|slope| match slope {
            Slope::Negative => self.un(UnOp::Neg, dx),
            Slope::Times(a) => self.mul(a, dx),
            Slope::MinusTimes(a) => {
                let product = self.mul(a, dx);
                self.un(UnOp::Neg, product)
            }
            Slope::Over(a) => self.div(dx, a),
            Slope::ScaledOver(factor, a) => {
                let above = self.scaled(factor, dx);
                self.div(above, a)
            }
        }))
    }

    /// The derivative of `y = op x`.
    fn slope(&mut self, op: UnOp, x: Atom, y: Atom) -> R<Option<Slope>> {
        use Slope::*;
        use UnOp::*;
        let one = self.number(1.0);
        Ok(Some(match op {
            Sgn | Floor | Ceil | Trunc | Round => return Ok(None),
            Neg => Negative,
            Abs => Times(self.un(Sgn, x)),
            Sqrt => Over(self.add(y, y)),
            Cbrt => {
                let square = self.mul(y, y);
                Over(self.scaled(3.0, square))
            }
            Exp => Times(y),
            Exp2 => Times(self.scaled(LN_2, y)),
            Exp10 => Times(self.scaled(LN_10, y)),
            Expm1 => Times(self.add(y, one)),
            Log => Over(x),
            Log2 => Over(self.scaled(LN_2, x)),
            Log10 => Over(self.scaled(LN_10, x)),
            Log1p => Over(self.add(one, x)),
            Sin => Times(self.un(Cos, x)),
            Cos => MinusTimes(self.un(Sin, x)),
            Tan => Times(self.with_square(1.0, 1.0, y)),
            Sinpi => {
                let cosine = self.un(Cospi, x);
                Times(self.scaled(PI, cosine))
            }
            Cospi => {
                let sine = self.un(Sinpi, x);
                Times(self.scaled(-PI, sine))
            }
            Tanpi => {
                let slope = self.with_square(1.0, 1.0, y);
                Times(self.scaled(PI, slope))
            }
            Asin => ScaledOver(1.0, self.root_with_square(1.0, -1.0, x)),
            Acos => ScaledOver(-1.0, self.root_with_square(1.0, -1.0, x)),
            Asinpi => ScaledOver(1.0 / PI, self.root_with_square(1.0, -1.0, x)),
            Acospi => ScaledOver(-1.0 / PI, self.root_with_square(1.0, -1.0, x)),
            Atan => Over(self.with_square(1.0, 1.0, x)),
            Atanpi => ScaledOver(1.0 / PI, self.with_square(1.0, 1.0, x)),
            Sinh => Times(self.un(Cosh, x)),
            Cosh => Times(self.un(Sinh, x)),
            Tanh => Times(self.with_square(1.0, -1.0, y)),
            Asinh => Over(self.root_with_square(1.0, 1.0, x)),
            Acosh => Over(self.root_with_square(-1.0, 1.0, x)),
            Atanh => Over(self.with_square(1.0, -1.0, x)),
            Erf => Times(self.bell(2.0 / PI.sqrt(), x)),
            Erfc => Times(self.bell(-2.0 / PI.sqrt(), x)),
            Recip => MinusTimes(self.mul(y, y)),
            Rsqrt => {
                let half = self.scaled(-0.5, y);
                Times(self.div(half, x))
            }
            Gamma | Lgamma => return Err(no_derivative(self.lo, "of the gamma function")),
            Not => return Err(self.lo.internal("`!` of a float")),
        }))
    }

    /// The tangent of `y = op a b`.
    fn binary(
        &mut self,
        op: BinOp,
        [a, b]: [Atom; 2],
        y: Atom,
        [da, db]: [Option<Atom>; 2],
    ) -> R<Option<Atom>> {
        let zero = self.number(0.0);
        Ok(match op {
            BinOp::Add => self.sum(da, db),
            BinOp::Sub => match (da, db) {
                (Some(da), Some(db)) => Some(self.sub(da, db)),
                (None, Some(db)) => Some(self.un(UnOp::Neg, db)),
                (da, None) => da,
            },
            BinOp::Mul => {
                let (left, right) = (da.map(|d| self.mul(d, b)), db.map(|d| self.mul(a, d)));
                self.sum(left, right)
            }
            BinOp::Div | BinOp::Quot => {
                let right = db.map(|d| {
                    let product = self.mul(y, d);
                    self.un(UnOp::Neg, product)
                });
                let above = self.sum(da, right);
                above.map(|above| self.div(above, b))
            }
            // a - b * q, where q is constant but at jumps.
            BinOp::Mod | BinOp::Rem => {
                let right = db.map(|d| {
                    let whole = self.sub(y, a);
                    let less = self.div(whole, b);
                    let less = self.un(UnOp::Round, less);
                    self.mul(less, d)
                });
                self.sum(da, right)
            }
            BinOp::Pow => self.power([a, b], y, [da, db]),
            BinOp::Min | BinOp::Max => {
                let first = self.cmp(if op == BinOp::Min { CmpOp::Le } else { CmpOp::Ge }, a, b);
                Some(self.select(first, da.unwrap_or(zero), db.unwrap_or(zero)))
            }
            BinOp::Atan2 => self.angle([a, b], [da, db], None),
            BinOp::Atan2pi => self.angle([a, b], [da, db], Some(1.0 / PI)),
            BinOp::Hypot => {
                let (left, right) = (da.map(|d| self.mul(a, d)), db.map(|d| self.mul(b, d)));
                let above = self.sum(left, right);
                above.map(|above| self.div(above, y))
            }
            BinOp::Copysign => da.map(|d| {
                let same = self.cmp(CmpOp::Eq, a, y);
                let less = self.un(UnOp::Neg, d);
                self.select(same, d, less)
            }),
            BinOp::And | BinOp::Or | BinOp::Xor | BinOp::Shl | BinOp::Shr | BinOp::Lshr | BinOp::MulHi => {
                return Err(self.lo.internal("an operator of integers on floats"));
            }
        })
    }

    /// `y = a ** b`.
    fn power(&mut self, [a, b]: [Atom; 2], y: Atom, [da, db]: [Option<Atom>; 2]) -> Option<Atom> {
        let left = da.map(|d| {
            let one = self.number(1.0);
            let less = self.sub(b, one);
            let power = self.bin(BinOp::Pow, a, less);
            let slope = self.mul(b, power);
            self.mul(slope, d)
        });
        let right = db.map(|d| {
            let log = self.un(UnOp::Log, a);
            let slope = self.mul(y, log);
            let zero = self.number(0.0);
            let flat = self.cmp(CmpOp::Eq, a, zero);
            let slope = self.select(flat, zero, slope);
            self.mul(slope, d)
        });
        self.sum(left, right)
    }

    /// `atan2 a b`, or a multiple of it.
    fn angle(&mut self, [a, b]: [Atom; 2], [da, db]: [Option<Atom>; 2], factor: Option<f64>) -> Option<Atom> {
        let (left, right) = (da.map(|d| self.mul(b, d)), db.map(|d| self.mul(a, d)));
        let right = right.map(|r| self.un(UnOp::Neg, r));
        let (aa, bb) = (self.mul(a, a), self.mul(b, b));
        let below = self.add(aa, bb);
        let above = self.sum(left, right)?;
        let above = factor.map_or(above, |factor| self.scaled(factor, above));
        Some(self.div(above, below))
    }

    /// `a * b + c`.
    fn product_and(&mut self, [a, b]: [Atom; 2], [da, db, dc]: [Option<Atom>; 3]) -> Option<Atom> {
        let (left, right) = (da.map(|d| self.mul(d, b)), db.map(|d| self.mul(a, d)));
        let product = self.sum(left, right);
        self.sum(product, dc)
    }
}

impl Forward {
    /// True if code uses integers made of the bits of floats that have a tangent.
    pub(super) fn has_bits(&self, exp: &Exp) -> bool {
        let mut found = false;
        if !self.bits.is_empty() {
            exp.walk(&mut |site| found |= matches!(site, Site::Use(Atom::Var(v)) if self.bits.contains(&v)));
        }
        found
    }

    /// The tangent of a scalar operator's result.
    pub(super) fn scalar(&mut self, lo: &mut Lower, op: PrimOp, args: &[Atom], y: Var) -> R<Option<Atom>> {
        let tangents: Vec<Option<Atom>> = args.iter().map(|a| self.of(*a)).collect();
        let has_bits = args.iter().any(|a| a.var().is_some_and(|v| self.bits.contains(&v)));
        if let PrimOp::Special(SpecialOp::ToBits, _) = op {
            self.bits.insert(y);
            return Ok(None);
        }
        if let (PrimOp::Special(SpecialOp::FromBits, _), true) = (op, has_bits) {
            return Err(no_derivative(lo, "of a number made of bits"));
        }
        if !op.result().is_float() {
            if has_bits && op.result() != Prim::Bool {
                self.bits.insert(y);
            }
            return Ok(None);
        }
        if tangents.iter().all(Option::is_none) {
            return Ok(None);
        }
        tangent(lo, op, args, y.into(), &tangents)
    }
}

/// The tangent of a scalar operator's result `y`.
fn tangent(lo: &mut Lower, op: PrimOp, args: &[Atom], y: Atom, tangents: &[Option<Atom>]) -> R<Option<Atom>> {
    let mut floats = Floats { lo, prim: op.result() };
    match (op, args, tangents) {
        (PrimOp::Un(op, _), [x], [Some(dx)]) => floats.unary(op, *x, y, *dx),
        (PrimOp::Bin(op, _), [a, b], [da, db]) => floats.binary(op, [*a, *b], y, [*da, *db]),
        (PrimOp::Conv(from, to), _, [Some(dx)]) if from.is_float() => Ok(Some(floats.lo.conv(from, to, *dx))),
        (PrimOp::Select(_), [cond, ..], [_, da, db]) => {
            let zero = floats.number(0.0);
            Ok(Some(floats.select(*cond, da.unwrap_or(zero), db.unwrap_or(zero))))
        }
        (PrimOp::Special(SpecialOp::Fma | SpecialOp::Mad, _), [a, b, _], [da, db, dc]) => {
            Ok(floats.product_and([*a, *b], [*da, *db, *dc]))
        }
        (PrimOp::Special(SpecialOp::Lerp, _), [a, b, t], [da, db, dt]) => {
            // a + (b - a) * t
            let zero = floats.number(0.0);
            let whole = floats.sub(*b, *a);
            let change = match (da, db) {
                (None, None) => None,
                _ => Some(floats.sub(db.unwrap_or(zero), da.unwrap_or(zero))),
            };
            Ok(floats.product_and([whole, *t], [change, *dt, *da]))
        }
        (PrimOp::Special(SpecialOp::Ldexp, p), [_, n], [Some(dx), _]) => {
            Ok(Some(floats.lo.prim(PrimOp::Special(SpecialOp::Ldexp, p), &[*dx, *n])))
        }
        _ => Err(floats.lo.internal("a scalar operator has no rule for its derivative")),
    }
}

/// The derivative of a scalar operator's result `y` in operand `i`, times `d`: the tangent in that direction, since it is linear in it.
pub(super) fn transposed(
    lo: &mut Lower,
    op: PrimOp,
    args: &[Atom],
    y: Atom,
    i: usize,
    d: Atom,
) -> R<Option<Atom>> {
    if let PrimOp::Conv(from, to) = op {
        return Ok(from.is_float().then(|| lo.conv(to, from, d)));
    }
    let mut tangents = vec![None; args.len()];
    tangents[i] = Some(d);
    tangent(lo, op, args, y, &tangents)
}

/// E0515.
pub(super) fn no_derivative(lo: &Lower, what: &str) -> Box<Diagnostic> {
    let message = format!("the derivative {what} is not implemented");
    Box::new(Diagnostic::new(Severity::Unsupported, "E0515", message, lo.place.span).here("needed here"))
}
