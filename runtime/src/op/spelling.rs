//! Spelling of scalar operators: `add.i32`, `conv.i32.f64`, `lt.f32`, `select.i64`, `fma.f32`.

use super::{BinOp, CmpOp, PrimOp, SpecialOp, UnOp};
use crate::Prim;
use std::fmt;
use std::str::FromStr;

/// Implements `ALL` and `name` for an enumeration of operators.
macro_rules! names {
    ($ty:ident { $($variant:ident = $name:literal),* $(,)? }) => {
        impl $ty {
            /// All operators of this kind, in the order of their declaration.
            pub const ALL: &'static [$ty] = &[$($ty::$variant),*];

            /// The name without the type.
            pub const fn name(self) -> &'static str {
                match self { $($ty::$variant => $name),* }
            }

            /// The operator of that name.
            pub fn from_name(name: &str) -> Option<$ty> {
                $ty::ALL.iter().copied().find(|op| op.name() == name)
            }
        }
    };
}

names!(UnOp {
    Neg = "neg", Not = "not", Abs = "abs", Sgn = "sgn", Sqrt = "sqrt", Cbrt = "cbrt", Exp = "exp",
    Exp2 = "exp2", Log = "log", Log2 = "log2", Log10 = "log10", Log1p = "log1p", Expm1 = "expm1",
    Sin = "sin", Cos = "cos", Tan = "tan", Asin = "asin", Acos = "acos", Atan = "atan", Sinh = "sinh",
    Cosh = "cosh", Tanh = "tanh", Asinh = "asinh", Acosh = "acosh", Atanh = "atanh", Floor = "floor",
    Ceil = "ceil", Trunc = "trunc", Round = "round", Gamma = "gamma", Lgamma = "lgamma", Erf = "erf",
    Erfc = "erfc", Recip = "recip", Rsqrt = "rsqrt", Exp10 = "exp10", Sinpi = "sinpi", Cospi = "cospi",
    Tanpi = "tanpi", Asinpi = "asinpi", Acospi = "acospi", Atanpi = "atanpi",
});
names!(BinOp {
    Add = "add", Sub = "sub", Mul = "mul", Div = "div", Mod = "mod", Quot = "quot", Rem = "rem",
    Pow = "pow", Min = "min", Max = "max", And = "and", Or = "or", Xor = "xor", Shl = "shl",
    Shr = "shr", Lshr = "lshr", Atan2 = "atan2", Atan2pi = "atan2pi", Hypot = "hypot", Copysign = "copysign",
    MulHi = "mulhi",
});
names!(CmpOp { Eq = "eq", Ne = "ne", Lt = "lt", Le = "le", Gt = "gt", Ge = "ge" });
names!(SpecialOp {
    IsNan = "isnan", IsInf = "isinf", ToBits = "tobits", FromBits = "frombits", Popc = "popc",
    Clz = "clz", Ctz = "ctz", Fma = "fma", Ldexp = "ldexp", Lerp = "lerp", Mad = "mad",
    GetBit = "getbit", SetBit = "setbit",
});

impl fmt::Display for PrimOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PrimOp::Un(op, p) => write!(f, "{}.{p}", op.name()),
            PrimOp::Bin(op, p) => write!(f, "{}.{p}", op.name()),
            PrimOp::Cmp(op, p) => write!(f, "{}.{p}", op.name()),
            PrimOp::Conv(from, to) => write!(f, "conv.{from}.{to}"),
            PrimOp::Select(p) => write!(f, "select.{p}"),
            PrimOp::Special(op, p) => write!(f, "{}.{p}", op.name()),
        }
    }
}

impl FromStr for PrimOp {
    type Err = String;

    fn from_str(text: &str) -> Result<PrimOp, String> {
        parse(text).ok_or_else(|| format!("`{text}` is no scalar operator"))
    }
}

fn parse(text: &str) -> Option<PrimOp> {
    let (rest, last) = text.rsplit_once('.')?;
    let p = Prim::from_name(last)?;
    if let Some(from) = rest.strip_prefix("conv.") {
        return Some(PrimOp::Conv(Prim::from_name(from)?, p));
    }
    if rest == "select" {
        return Some(PrimOp::Select(p));
    }
    UnOp::from_name(rest)
        .map(|op| PrimOp::Un(op, p))
        .or_else(|| BinOp::from_name(rest).map(|op| PrimOp::Bin(op, p)))
        .or_else(|| CmpOp::from_name(rest).map(|op| PrimOp::Cmp(op, p)))
        .or_else(|| SpecialOp::from_name(rest).map(|op| PrimOp::Special(op, p)))
}
