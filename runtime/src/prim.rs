//! Scalar types and scalar values.

use crate::{f16, float16};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A scalar type of the language.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Prim {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    F32,
    F64,
    Bool,
}

impl Prim {
    /// The type of a constructor's number in a sum type of so many.
    pub const fn of_constructors(count: usize) -> Prim {
        match count {
            ..=0x100 => Prim::U8,
            0x101..=0x1_0000 => Prim::U16,
            _ => Prim::U32,
        }
    }

    /// All scalar types, signed integers first.
    pub const ALL: [Prim; 12] = [
        Prim::I8,
        Prim::I16,
        Prim::I32,
        Prim::I64,
        Prim::U8,
        Prim::U16,
        Prim::U32,
        Prim::U64,
        Prim::F16,
        Prim::F32,
        Prim::F64,
        Prim::Bool,
    ];

    /// Size of one element in bytes; a bool takes one byte, 0 or 1.
    pub const fn size(self) -> usize {
        match self {
            Prim::I8 | Prim::U8 | Prim::Bool => 1,
            Prim::I16 | Prim::U16 | Prim::F16 => 2,
            Prim::I32 | Prim::U32 | Prim::F32 => 4,
            Prim::I64 | Prim::U64 | Prim::F64 => 8,
        }
    }

    /// The name in source text.
    pub const fn name(self) -> &'static str {
        match self {
            Prim::I8 => "i8",
            Prim::I16 => "i16",
            Prim::I32 => "i32",
            Prim::I64 => "i64",
            Prim::U8 => "u8",
            Prim::U16 => "u16",
            Prim::U32 => "u32",
            Prim::U64 => "u64",
            Prim::F16 => "f16",
            Prim::F32 => "f32",
            Prim::F64 => "f64",
            Prim::Bool => "bool",
        }
    }

    /// The type of that name.
    pub fn from_name(name: &str) -> Option<Prim> {
        Prim::ALL.into_iter().find(|p| p.name() == name)
    }

    /// Signed or unsigned integer.
    pub const fn is_integer(self) -> bool {
        !self.is_float() && !matches!(self, Prim::Bool)
    }

    /// Signed integer.
    pub const fn is_signed(self) -> bool {
        matches!(self, Prim::I8 | Prim::I16 | Prim::I32 | Prim::I64)
    }

    /// Unsigned integer.
    pub const fn is_unsigned(self) -> bool {
        matches!(self, Prim::U8 | Prim::U16 | Prim::U32 | Prim::U64)
    }

    /// Floating point.
    pub const fn is_float(self) -> bool {
        matches!(self, Prim::F16 | Prim::F32 | Prim::F64)
    }

    /// Width in bits.
    pub const fn bits(self) -> u32 {
        self.size() as u32 * 8
    }
}

impl fmt::Display for Prim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A scalar value. Equality is bitwise on floats (so that IRs can be compared); use the operators of
/// the language for numeric equality.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Scalar {
    I8(i8),
    I16(i16),
    I32(i32),
    I64(i64),
    U8(u8),
    U16(u16),
    U32(u32),
    U64(u64),
    F16(f16),
    F32(f32),
    F64(f64),
    Bool(bool),
}

impl Scalar {
    /// The type of the value.
    pub const fn prim(self) -> Prim {
        match self {
            Scalar::I8(_) => Prim::I8,
            Scalar::I16(_) => Prim::I16,
            Scalar::I32(_) => Prim::I32,
            Scalar::I64(_) => Prim::I64,
            Scalar::U8(_) => Prim::U8,
            Scalar::U16(_) => Prim::U16,
            Scalar::U32(_) => Prim::U32,
            Scalar::U64(_) => Prim::U64,
            Scalar::F16(_) => Prim::F16,
            Scalar::F32(_) => Prim::F32,
            Scalar::F64(_) => Prim::F64,
            Scalar::Bool(_) => Prim::Bool,
        }
    }

    /// The value's bits, zero-extended to 64.
    pub const fn bits(self) -> u64 {
        match self {
            Scalar::I8(x) => x as u8 as u64,
            Scalar::I16(x) => x as u16 as u64,
            Scalar::I32(x) => x as u32 as u64,
            Scalar::I64(x) => x as u64,
            Scalar::U8(x) => x as u64,
            Scalar::U16(x) => x as u64,
            Scalar::U32(x) => x as u64,
            Scalar::U64(x) => x,
            Scalar::F16(x) => x.to_bits() as u64,
            Scalar::F32(x) => x.to_bits() as u64,
            Scalar::F64(x) => x.to_bits(),
            Scalar::Bool(x) => x as u64,
        }
    }

    /// The value of type `prim` with these bits (upper bits are ignored).
    pub const fn from_bits(prim: Prim, bits: u64) -> Scalar {
        match prim {
            Prim::I8 => Scalar::I8(bits as i8),
            Prim::I16 => Scalar::I16(bits as i16),
            Prim::I32 => Scalar::I32(bits as i32),
            Prim::I64 => Scalar::I64(bits as i64),
            Prim::U8 => Scalar::U8(bits as u8),
            Prim::U16 => Scalar::U16(bits as u16),
            Prim::U32 => Scalar::U32(bits as u32),
            Prim::U64 => Scalar::U64(bits),
            Prim::F16 => Scalar::F16(f16::from_bits(bits as u16)),
            Prim::F32 => Scalar::F32(f32::from_bits(bits as u32)),
            Prim::F64 => Scalar::F64(f64::from_bits(bits)),
            Prim::Bool => Scalar::Bool(bits & 1 != 0),
        }
    }

    /// The zero of a type (`false` for bool).
    pub const fn zero(prim: Prim) -> Scalar {
        Scalar::from_bits(prim, 0)
    }

    /// Any integer as `i64` (an `u64` above `i64::MAX` wraps); `None` for floats and bools.
    pub const fn as_i64(self) -> Option<i64> {
        Some(match self {
            Scalar::I8(x) => x as i64,
            Scalar::I16(x) => x as i64,
            Scalar::I32(x) => x as i64,
            Scalar::I64(x) => x,
            Scalar::U8(x) => x as i64,
            Scalar::U16(x) => x as i64,
            Scalar::U32(x) => x as i64,
            Scalar::U64(x) => x as i64,
            _ => return None,
        })
    }

    /// A float as `f64`, exactly; `None` for integers and bools.
    pub fn as_f64(self) -> Option<f64> {
        match self {
            Scalar::F16(x) => Some(x.to_f64()),
            Scalar::F32(x) => Some(x as f64),
            Scalar::F64(x) => Some(x),
            _ => None,
        }
    }

    /// One of the two infinities.
    pub fn is_infinite(self) -> bool {
        self.as_f64().is_some_and(f64::is_infinite)
    }

    /// Not a number.
    pub fn is_nan(self) -> bool {
        self.as_f64().is_some_and(f64::is_nan)
    }

    /// The number `x` as a float of type `prim`, rounded once; `None` at other types.
    pub fn from_f64(prim: Prim, x: f64) -> Option<Scalar> {
        match prim {
            Prim::F16 => Some(Scalar::F16(float16::from_f64(x))),
            Prim::F32 => Some(Scalar::F32(x as f32)),
            Prim::F64 => Some(Scalar::F64(x)),
            _ => None,
        }
    }

    /// The integer `x` (wrapped), float or bool (`x != 0`) of type `prim`.
    pub fn from_i64(prim: Prim, x: i64) -> Scalar {
        match prim {
            Prim::F16 => Scalar::F16(float16::from_f64(x as f64)),
            Prim::F32 => Scalar::F32(x as f32),
            Prim::F64 => Scalar::F64(x as f64),
            Prim::Bool => Scalar::Bool(x != 0),
            _ => Scalar::from_bits(prim, x as u64),
        }
    }
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Scalar) -> bool {
        self.prim() == other.prim() && self.bits() == other.bits()
    }
}
impl Eq for Scalar {}
impl std::hash::Hash for Scalar {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (self.prim(), self.bits()).hash(state);
    }
}

/// Source syntax with the type's suffix (`3i32`, `0.1f32`, `f32.nan`, `-f64.inf`, `true`). Floats print the
/// shortest decimal that reads back exactly.
impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Scalar::Bool(x) => write!(f, "{x}"),
            Scalar::F16(x) => self.float(f, &float16::shortest(x)),
            Scalar::F32(x) => self.float(f, &format!("{x:?}")),
            Scalar::F64(x) => self.float(f, &format!("{x:?}")),
            Scalar::U64(x) => write!(f, "{x}u64"),
            x => write!(f, "{}{}", x.as_i64().unwrap_or(0), x.prim()),
        }
    }
}

impl Scalar {
    fn float(self, f: &mut fmt::Formatter<'_>, digits: &str) -> fmt::Result {
        let name = self.prim();
        match digits {
            "inf" => write!(f, "{name}.inf"),
            "-inf" => write!(f, "-{name}.inf"),
            _ if self.is_nan() => write!(f, "{name}.nan"),
            _ => write!(f, "{digits}{name}"),
        }
    }
}
