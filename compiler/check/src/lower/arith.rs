//! Built-in operators on scalars, with the checks that integer division needs.

use super::value::Val;
use super::{Lower, R};
use par_ir::prim::{BinOp, CmpOp, UnOp};
use par_ir::{Atom, CheckKind, Prim, PrimOp, Scalar};

/// The largest exponent for which a power is made a product.
const MOST_FACTORS: i64 = 64;

impl<'p> Lower<'p> {
    /// A built-in operator applied to its operands.
    pub fn operator(&mut self, name: &str, args: &[Val<'p>]) -> R<Val<'p>> {
        match (name, args) {
            ("==", [a, b]) => Ok(Val::bool(self.equal(a, b)?)),
            ("!=", [a, b]) => {
                let eq = self.equal(a, b)?;
                Ok(Val::bool(self.not(eq)))
            }
            ("neg", &[Val::Scalar(a, p)]) => Ok(Val::Scalar(self.prim(PrimOp::Un(UnOp::Neg, p), &[a]), p)),
            ("!", &[Val::Scalar(a, p)]) => Ok(Val::Scalar(self.prim(PrimOp::Un(UnOp::Not, p), &[a]), p)),
            (name, &[Val::Scalar(a, p), Val::Scalar(b, _)]) => self.binary(name, p, a, b),
            _ => Err(self.internal(&format!("the operator `{name}` has operands that are no scalars"))),
        }
    }

    fn binary(&mut self, name: &str, p: Prim, a: Atom, b: Atom) -> R<Val<'p>> {
        if let Some(op) = comparison(name) {
            return Ok(Val::bool(self.prim(PrimOp::Cmp(op, p), &[a, b])));
        }
        let Some(op) = arithmetic(name, p) else {
            return Err(self.internal(&format!("the operator `{name}` does not exist")));
        };
        if PrimOp::Bin(op, p).divides() {
            self.check_divisor(p, b);
        }
        if op == BinOp::Pow && p.is_integer() && p.is_signed() {
            self.check_exponent(p, b);
        }
        let exact = !p.is_float() || !(self.context.permits.inexact || self.options.fast_math);
        Ok(Val::Scalar(if exact { self.bin(op, p, a, b) } else { self.inexact(op, p, a, b) }, p))
    }

    /// A power as a product, if its exponent is a small constant or its base an even one. Integers wrap in any order; of floats up to the
    /// fourth power, products are as near to the true value as the function is.
    pub(super) fn power(&mut self, op: PrimOp, args: &[Atom]) -> Option<Atom> {
        let (a, exponent, p) = match (op, args) {
            (PrimOp::Bin(BinOp::Pow, p), &[Atom::Const(base), y]) => {
                return self.power_of_constant(p, base, y);
            }
            (PrimOp::Bin(BinOp::Pow, p), &[a, Atom::Const(exponent)]) => (a, exponent, p),
            _ => return None,
        };
        let n = (1..=MOST_FACTORS).find(|n| exponent == Scalar::from_i64(p, *n))?;
        let is_exact = p.is_integer() || n <= 2 || n <= 4 && matches!(p, Prim::F32 | Prim::F64);
        (is_exact && a.var().is_some()).then(|| self.product_of(p, a, n))
    }

    /// A power of an even integer: what its squares multiply to that the lowest bits of the exponent choose. An exponent with other bits
    /// makes it 0: as many factors 2 as the type has bits, or a negative power.
    ///
    /// ```text
    /// 10i16 ** y = if y & -16 == 0 then (if y & 1 == 0 then 1 else 10) * (if y & 2 == 0 then 1 else 100) * … else 0
    /// ```
    fn power_of_constant(&mut self, p: Prim, base: Scalar, y: Atom) -> Option<Atom> {
        y.var().filter(|_| p.is_integer() && base.as_i64().is_some_and(|b| b % 2 == 0))?;
        let integer = |x| Atom::Const(Scalar::from_i64(p, x));
        let zero = Scalar::zero(p);
        let bits = i64::from(p.bits());
        let mut square = base;
        let mut factors = Vec::new();
        for k in 0..bits.ilog2() {
            let bit = self.bin(BinOp::And, p, y, integer(1 << k));
            let absent = self.prim(PrimOp::Cmp(CmpOp::Eq, p), &[bit, Atom::Const(zero)]);
            factors.push(self.select(p, absent, integer(1), Atom::Const(square)));
            square = PrimOp::Bin(BinOp::Mul, p).eval(&[square, square]);
        }
        while factors.len() > 1 {
            let pairs = factors.chunks(2);
            let products = pairs.map(|f| f.iter().copied().reduce(|a, b| self.bin(BinOp::Mul, p, a, b)));
            factors = products.flatten().collect();
        }
        let others = self.bin(BinOp::And, p, y, integer(-bits));
        let none = self.prim(PrimOp::Cmp(CmpOp::Eq, p), &[others, Atom::Const(zero)]);
        Some(self.select(p, none, *factors.first()?, Atom::Const(zero)))
    }

    /// `a` to the `n`, by squares.
    fn product_of(&mut self, p: Prim, a: Atom, n: i64) -> Atom {
        if n == 1 {
            return a;
        }
        let half = self.product_of(p, a, n / 2);
        let square = self.bin(BinOp::Mul, p, half, half);
        if n % 2 == 0 { square } else { self.bin(BinOp::Mul, p, square, a) }
    }

    fn check_divisor(&mut self, p: Prim, b: Atom) {
        let zero = Atom::Const(Scalar::from_i64(p, 0));
        let ok = self.prim(PrimOp::Cmp(CmpOp::Ne, p), &[b, zero]);
        self.check(ok, CheckKind::DivisionByZero, Vec::new());
    }

    fn check_exponent(&mut self, p: Prim, b: Atom) {
        let zero = Atom::Const(Scalar::from_i64(p, 0));
        let ok = self.prim(PrimOp::Cmp(CmpOp::Ge, p), &[b, zero]);
        let exponent = self.conv(p, Prim::I64, b);
        self.check(ok, CheckKind::NegativeExponent, vec![exponent]);
    }
}

/// The comparison of that name.
fn comparison(name: &str) -> Option<CmpOp> {
    Some(match name {
        "<" => CmpOp::Lt,
        "<=" => CmpOp::Le,
        ">" => CmpOp::Gt,
        ">=" => CmpOp::Ge,
        _ => return None,
    })
}

/// The operator of that name at a type; on floats `/` is division and `%` the floored remainder.
fn arithmetic(name: &str, p: Prim) -> Option<BinOp> {
    Some(match name {
        "+" => BinOp::Add,
        "-" => BinOp::Sub,
        "*" => BinOp::Mul,
        "/" => BinOp::Div,
        "%" => BinOp::Mod,
        "//" if p.is_float() => BinOp::Div,
        "//" => BinOp::Quot,
        "%%" if p.is_float() => BinOp::Mod,
        "%%" => BinOp::Rem,
        "**" => BinOp::Pow,
        "&" => BinOp::And,
        "|" => BinOp::Or,
        "^" => BinOp::Xor,
        "<<" => BinOp::Shl,
        ">>" => BinOp::Shr,
        ">>>" => BinOp::Lshr,
        _ => return None,
    })
}
