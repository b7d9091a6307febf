//! THE scalar-operator table: every scalar operator of both IRs and of plans, with its type rule, evaluation and spelling.
//!
//! Integer arithmetic wraps. `Div`/`Mod` round towards minus infinity, `Quot`/`Rem` towards zero (for floats:
//! `Div` is division, `Mod` the floored remainder). Division by zero never reaches an operator: lowering puts a
//! check in front. Shifts by the width or more give 0 (or the sign).
//!
//! This file has the operators and their type rule ([`PrimOp::operands`], [`PrimOp::result`],
//! [`PrimOp::is_valid`]); `eval` evaluates, `spelling` prints and reads, [`call`] has
//! the functions that machine code calls for some of them.

pub mod call;
mod eval;
mod pi;
mod spelling;

use crate::Prim;
use crate::math::Function;
use serde::{Deserialize, Serialize};

/// A scalar operator at its type. Printed as `name.type`, e.g. `add.i32`, `sqrt.f32`, `conv.i32.f64`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum PrimOp {
    /// One operand and result of the type.
    Un(UnOp, Prim),
    /// Two operands and result of the type (shift counts too).
    Bin(BinOp, Prim),
    /// Two operands of the type, result bool.
    Cmp(CmpOp, Prim),
    /// From the first type to the second. Float to integer truncates and saturates (NaN gives 0); integers
    /// wrap; bool from number is `x != 0`; number from bool is 0 or 1.
    Conv(Prim, Prim),
    /// `select c a b`: both sides already computed.
    Select(Prim),
    /// Special float functions whose type is not `t -> t`.
    Special(SpecialOp, Prim),
}

/// Operators of one operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum UnOp {
    Neg,
    /// Logical on bool, bitwise on integers.
    Not,
    Abs,
    /// -1, 0 or 1.
    Sgn,
    Sqrt,
    Cbrt,
    Exp,
    Exp2,
    Log,
    Log2,
    Log10,
    Log1p,
    Expm1,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Asinh,
    Acosh,
    Atanh,
    Floor,
    Ceil,
    Trunc,
    /// To the nearest, ties to even.
    Round,
    Gamma,
    Lgamma,
    Erf,
    Erfc,
    Recip,
    Rsqrt,
    Exp10,
    /// Of the argument times pi, like the next two.
    Sinpi,
    Cospi,
    Tanpi,
    /// Divided by pi, like the next two.
    Asinpi,
    Acospi,
    Atanpi,
}

/// Operators of two operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum BinOp {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    Quot,
    Rem,
    Pow,
    Min,
    Max,
    And,
    Or,
    Xor,
    Shl,
    /// Arithmetic on signed, logical on unsigned types.
    Shr,
    /// Logical shift (`>>>`).
    Lshr,
    Atan2,
    /// Divided by pi.
    Atan2pi,
    Hypot,
    Copysign,
    /// High half of the double-width product.
    MulHi,
}

/// Comparisons. Signedness follows the type; on floats all but `Ne` are false with NaN.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum CmpOp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// Operators with a type rule of their own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum SpecialOp {
    /// float -> bool
    IsNan,
    /// float -> bool
    IsInf,
    /// float -> unsigned integer of the same width
    ToBits,
    /// unsigned integer of the same width -> the float type
    FromBits,
    /// integer -> i32: number of one bits
    Popc,
    /// integer -> i32: leading zeros
    Clz,
    /// integer -> i32: trailing zeros
    Ctz,
    /// float, float, float -> float: `a*b+c` rounded once
    Fma,
    /// float, i32 -> float: `x * 2^n`
    Ldexp,
    /// float, float, float -> float: `a + (b-a)*t`
    Lerp,
    /// float, float, float -> float: `a*b + c`, two roundings
    Mad,
    /// integer, i32 -> i32
    GetBit,
    /// integer, i32 (position), i32 (bit) -> integer
    SetBit,
}

impl PrimOp {
    /// Types of the operands, in order.
    pub fn operands(&self) -> Vec<Prim> {
        use SpecialOp::*;
        match *self {
            PrimOp::Un(_, p) => vec![p],
            PrimOp::Bin(_, p) | PrimOp::Cmp(_, p) => vec![p, p],
            PrimOp::Conv(from, _) => vec![from],
            PrimOp::Select(p) => vec![Prim::Bool, p, p],
            PrimOp::Special(IsNan | IsInf | ToBits | Popc | Clz | Ctz, p) => vec![p],
            PrimOp::Special(FromBits, p) => vec![unsigned_of(p)],
            PrimOp::Special(Fma | Lerp | Mad, p) => vec![p, p, p],
            PrimOp::Special(Ldexp | GetBit, p) => vec![p, Prim::I32],
            PrimOp::Special(SetBit, p) => vec![p, Prim::I32, Prim::I32],
        }
    }

    /// Type of the result.
    pub fn result(&self) -> Prim {
        use SpecialOp::*;
        match *self {
            PrimOp::Un(_, p) | PrimOp::Bin(_, p) | PrimOp::Select(p) => p,
            PrimOp::Cmp(..) => Prim::Bool,
            PrimOp::Conv(_, to) => to,
            PrimOp::Special(IsNan | IsInf, _) => Prim::Bool,
            PrimOp::Special(ToBits, p) => unsigned_of(p),
            PrimOp::Special(FromBits | Fma | Ldexp | Lerp | Mad | SetBit, p) => p,
            PrimOp::Special(Popc | Clz | Ctz | GetBit, _) => Prim::I32,
        }
    }

    /// The same operator at another type (for a conversion, the type converted to).
    pub fn with_prim(self, p: Prim) -> PrimOp {
        match self {
            PrimOp::Un(op, _) => PrimOp::Un(op, p),
            PrimOp::Bin(op, _) => PrimOp::Bin(op, p),
            PrimOp::Cmp(op, _) => PrimOp::Cmp(op, p),
            PrimOp::Conv(from, _) => PrimOp::Conv(from, p),
            PrimOp::Select(_) => PrimOp::Select(p),
            PrimOp::Special(op, _) => PrimOp::Special(op, p),
        }
    }

    /// True if it is an operator of integers that must not see a zero divisor.
    pub fn divides(&self) -> bool {
        use BinOp::*;
        matches!(self, PrimOp::Bin(Div | Mod | Quot | Rem, p) if p.is_integer())
    }

    /// Every operator at every type, also those that do not exist there.
    pub fn all() -> Vec<PrimOp> {
        let mut all = Vec::new();
        for p in Prim::ALL {
            all.extend(UnOp::ALL.iter().map(|op| PrimOp::Un(*op, p)));
            all.extend(BinOp::ALL.iter().map(|op| PrimOp::Bin(*op, p)));
            all.extend(CmpOp::ALL.iter().map(|op| PrimOp::Cmp(*op, p)));
            all.extend(SpecialOp::ALL.iter().map(|op| PrimOp::Special(*op, p)));
            all.extend(Prim::ALL.map(|to| PrimOp::Conv(p, to)));
            all.push(PrimOp::Select(p));
        }
        all
    }

    /// True if the operator exists at its type (`sqrt` on floats only, …).
    pub fn is_valid(&self) -> bool {
        match *self {
            PrimOp::Un(op, p) => op.exists_at(p),
            PrimOp::Bin(op, p) => op.exists_at(p),
            PrimOp::Cmp(..) | PrimOp::Conv(..) | PrimOp::Select(_) => true,
            PrimOp::Special(op, p) if op.on_integers() => p.is_integer(),
            PrimOp::Special(_, p) => p.is_float(),
        }
    }
}

impl UnOp {
    fn exists_at(self, p: Prim) -> bool {
        match self {
            UnOp::Neg | UnOp::Abs | UnOp::Sgn => p != Prim::Bool,
            UnOp::Not => !p.is_float(),
            _ => p.is_float(),
        }
    }

    /// The runtime's function that computes it, if it has one of its own.
    pub fn function(self) -> Option<Function> {
        Some(match self {
            UnOp::Exp => Function::Exp,
            UnOp::Exp2 => Function::Exp2,
            UnOp::Expm1 => Function::Expm1,
            UnOp::Log => Function::Log,
            UnOp::Log2 => Function::Log2,
            UnOp::Log10 => Function::Log10,
            UnOp::Log1p => Function::Log1p,
            UnOp::Sin => Function::Sin,
            UnOp::Cos => Function::Cos,
            UnOp::Tan => Function::Tan,
            UnOp::Sinh => Function::Sinh,
            UnOp::Cosh => Function::Cosh,
            UnOp::Tanh => Function::Tanh,
            _ => return None,
        })
    }
}

impl BinOp {
    fn exists_at(self, p: Prim) -> bool {
        use BinOp::*;
        match self {
            Add | Sub | Mul | Div | Mod | Pow | Min | Max => p != Prim::Bool,
            And | Or | Xor => !p.is_float(),
            Quot | Rem | Shl | Shr | Lshr | MulHi => p.is_integer(),
            Atan2 | Atan2pi | Hypot | Copysign => p.is_float(),
        }
    }
}

impl CmpOp {
    /// The comparison that says the same of exchanged operands.
    pub fn exchanged(self) -> CmpOp {
        match self {
            CmpOp::Lt => CmpOp::Gt,
            CmpOp::Le => CmpOp::Ge,
            CmpOp::Gt => CmpOp::Lt,
            CmpOp::Ge => CmpOp::Le,
            CmpOp::Eq | CmpOp::Ne => self,
        }
    }

    /// The comparison that holds where this one does not, of integers.
    pub fn negated(self) -> CmpOp {
        match self {
            CmpOp::Eq => CmpOp::Ne,
            CmpOp::Ne => CmpOp::Eq,
            CmpOp::Lt => CmpOp::Ge,
            CmpOp::Le => CmpOp::Gt,
            CmpOp::Gt => CmpOp::Le,
            CmpOp::Ge => CmpOp::Lt,
        }
    }
}

impl SpecialOp {
    fn on_integers(self) -> bool {
        use SpecialOp::*;
        matches!(self, Popc | Clz | Ctz | GetBit | SetBit)
    }
}

/// The unsigned integer type as wide as `p`.
fn unsigned_of(p: Prim) -> Prim {
    match p.size() {
        1 => Prim::U8,
        2 => Prim::U16,
        4 => Prim::U32,
        _ => Prim::U64,
    }
}
