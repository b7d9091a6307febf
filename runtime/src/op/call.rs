//! Scalar operators that machine code calls: those without an instruction of their own. They are the same functions that
//! `PrimOp::eval` uses, so that results agree to the bit.

use super::{BinOp, PrimOp, SpecialOp, UnOp};
use crate::math::{Function, Rare};
use crate::partition;
use crate::prefix::{self, Operator};
use crate::{Prim, Scalar};

/// The name by which machine code refers to an operator.
pub fn symbol(op: PrimOp) -> String {
    format!("par_{op:?}").replace(['(', ')', ','], "_").replace(' ', "")
}

/// All functions that machine code may call, by their names there.
pub fn symbols() -> Vec<(String, *const u8)> {
    let operators = operators().into_iter().map(|(op, address)| (symbol(op), address));
    operators.chain(strips()).chain(prefixes()).chain(partitions()).collect()
}

/// All operators that are functions, with their addresses.
fn operators() -> Vec<(PrimOp, *const u8)> {
    let mut all = unary();
    all.extend(binary_floats());
    all.extend(powers());
    all.extend(special());
    all
}

/// The address of an operator's function, if it is one.
pub fn address(op: PrimOp) -> Option<*const u8> {
    operators().into_iter().find(|(known, _)| *known == op).map(|(_, address)| address)
}

/// The name of a strip function in machine code.
pub fn strip_symbol(function: Function, prim: Prim) -> String {
    format!("par_strip_{function:?}_{prim}")
}

/// All strip functions, with their addresses.
fn strips() -> impl Iterator<Item = (String, *const u8)> {
    Function::ALL.into_iter().flat_map(|f| {
        [
            (strip_symbol(f, Prim::F32), f.strip_f32() as *const u8),
            (strip_symbol(f, Prim::F64), f.strip_f64() as *const u8),
        ]
    })
}

/// The name of [`prefix::any`] in machine code.
pub const ANY: &str = "par_prefix_any";

/// The name of a function that scans strips in machine code.
pub fn prefix_symbol(operator: Operator, prim: Prim, segmented: bool) -> String {
    format!("par_prefix_{operator:?}_{prim}{}", if segmented { "_segmented" } else { "" })
}

/// All functions that scan strips, with their addresses.
fn prefixes() -> Vec<(String, *const u8)> {
    let mut found = vec![(ANY.to_string(), prefix::any as *const u8)];
    for (operator, prim) in Operator::ALL.into_iter().flat_map(|o| Prim::ALL.map(|p| (o, p))) {
        for segmented in [false, true] {
            let function = operator.prefixes(prim, segmented);
            found.extend(function.map(|f| (prefix_symbol(operator, prim, segmented), f as *const u8)));
        }
    }
    found
}

/// The name in machine code of the function that moves elements of so many bytes to the places of their classes; the `first` of a strip
/// counts.
pub fn mover_symbol(size: usize, first: bool) -> String {
    format!("par_partition_{}_{size}", if first { "first" } else { "move" })
}

/// The name in machine code of the function that packs elements of so many bytes.
pub fn pack_symbol(size: usize) -> String {
    format!("par_pack_{size}")
}

/// The name in machine code of the function that scatters elements of so many bytes.
pub fn scatter_symbol(size: usize) -> String {
    format!("par_scatter_{size}")
}

/// The functions of partitions, filters and scatters, with their addresses.
fn partitions() -> Vec<(String, *const u8)> {
    let of_size = |size| {
        let packer = (pack_symbol(size), partition::packer(size) as *const u8);
        let scatterer = (scatter_symbol(size), partition::scatterer(size) as *const u8);
        let mover = |first| (mover_symbol(size, first), partition::mover(size, first) as *const u8);
        [mover(true), mover(false), packer, scatterer]
    };
    [1, 2, 4, 8].into_iter().flat_map(of_size).collect()
}

/// True if an operator is a call.
pub fn is_call(op: PrimOp) -> bool {
    use UnOp::*;
    match op {
        PrimOp::Un(op, p) => {
            let inline =
                matches!(op, Neg | Not | Abs | Sgn | Sqrt | Floor | Ceil | Trunc | Round | Recip | Rsqrt);
            p.is_float() && !inline
        }
        PrimOp::Bin(BinOp::Pow, _) => true,
        PrimOp::Bin(BinOp::Mod | BinOp::Atan2 | BinOp::Atan2pi | BinOp::Hypot, p) => p.is_float(),
        PrimOp::Special(SpecialOp::Ldexp, _) => true,
        _ => false,
    }
}

/// The operator whose function is called for an operator: those of `f16` are computed at `f32`, and rounded.
pub fn behind(op: PrimOp) -> PrimOp {
    if op.result() == Prim::F16 { op.with_prim(Prim::F32) } else { op }
}

macro_rules! unary_functions {
    ($($op:ident $method:ident),*) => {
        fn standard_unary() -> Vec<(PrimOp, *const u8)> {
            vec![$(
                (PrimOp::Un(UnOp::$op, Prim::F32), {
                    extern "C" fn f(x: f32) -> f32 { x.$method() }
                    f as *const u8
                }),
                (PrimOp::Un(UnOp::$op, Prim::F64), {
                    extern "C" fn f(x: f64) -> f64 { x.$method() }
                    f as *const u8
                }),
            )*]
        }
    };
}

unary_functions!(
    Cbrt cube_root, Asin arc_sine, Acos arc_cosine, Atan arc_tangent
);

/// Functions that go through `eval`: rare, or only there.
macro_rules! evaluated {
    ($($op:expr, ($($x:ident: $t:ident as $from:ident),*) -> $r:ident as $to:ident;)*) => {
        vec![$(($op, {
            extern "C" fn f($($x: $t),*) -> $r {
                match $op.eval(&[$(Scalar::$from($x)),*]) {
                    Scalar::$to(y) => y,
                    _ => Default::default(),
                }
            }
            f as *const u8
        })),*]
    };
}

/// The runtime's own functions.
fn of_runtime() -> Vec<(PrimOp, *const u8)> {
    let both = |op: UnOp| {
        let f = op.function()?;
        Some([
            (PrimOp::Un(op, Prim::F32), f.call_f32() as *const u8),
            (PrimOp::Un(op, Prim::F64), f.call_f64() as *const u8),
        ])
    };
    UnOp::ALL.iter().copied().filter_map(both).flatten().collect()
}

/// The same, of both types of floats.
macro_rules! of_floats {
    (Un: $($op:ident)*) => {
        evaluated! { $(
            PrimOp::Un(UnOp::$op, Prim::F32), (x: f32 as F32) -> f32 as F32;
            PrimOp::Un(UnOp::$op, Prim::F64), (x: f64 as F64) -> f64 as F64;
        )* }
    };
    (Bin: $($op:ident)*) => {
        evaluated! { $(
            PrimOp::Bin(BinOp::$op, Prim::F32), (x: f32 as F32, y: f32 as F32) -> f32 as F32;
            PrimOp::Bin(BinOp::$op, Prim::F64), (x: f64 as F64, y: f64 as F64) -> f64 as F64;
        )* }
    };
}

fn unary() -> Vec<(PrimOp, *const u8)> {
    let mut all = standard_unary();
    all.extend(of_runtime());
    all.extend(of_floats! { Un:
        Asinh Acosh Atanh Gamma Lgamma Erf Erfc Exp10 Sinpi Cospi Tanpi Asinpi Acospi Atanpi
    });
    all
}

macro_rules! binary_functions {
    ($($op:ident $method:ident),*) => {
        vec![$(
            (PrimOp::Bin(BinOp::$op, Prim::F32), {
                extern "C" fn f(x: f32, y: f32) -> f32 { x.$method(y) }
                f as *const u8
            }),
            (PrimOp::Bin(BinOp::$op, Prim::F64), {
                extern "C" fn f(x: f64, y: f64) -> f64 { x.$method(y) }
                f as *const u8
            }),
        )*]
    };
}

fn binary_floats() -> Vec<(PrimOp, *const u8)> {
    let mut all = binary_functions!(Pow powf, Atan2 arc_tangent_of, Hypot hypotenuse);
    all.extend(of_floats! { Bin: Mod Atan2pi });
    all
}

/// A power with an exponent that is not negative; integers with fewer bits wrap as their lowest bits do.
fn power(base: u64, exponent: u64) -> u64 {
    let (mut result, mut square, mut left) = (1u64, base, exponent);
    while left > 0 {
        if left & 1 == 1 {
            result = result.wrapping_mul(square);
        }
        square = square.wrapping_mul(square);
        left >>= 1;
    }
    result
}

macro_rules! integer_powers {
    ($($prim:ident $t:ident),*) => {
        vec![$((PrimOp::Bin(BinOp::Pow, Prim::$prim), {
            extern "C" fn f(x: $t, y: $t) -> $t {
                if y >= <$t>::default() {
                    return power(x as u64, y as u64) as $t;
                }
                match PrimOp::Bin(BinOp::Pow, Prim::$prim).eval(&[Scalar::$prim(x), Scalar::$prim(y)]) {
                    Scalar::$prim(z) => z,
                    _ => Default::default(),
                }
            }
            f as *const u8
        })),*]
    };
}

fn powers() -> Vec<(PrimOp, *const u8)> {
    integer_powers!(I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64)
}

fn special() -> Vec<(PrimOp, *const u8)> {
    evaluated! {
        PrimOp::Special(SpecialOp::Ldexp, Prim::F32), (x: f32 as F32, n: i32 as I32) -> f32 as F32;
        PrimOp::Special(SpecialOp::Ldexp, Prim::F64), (x: f64 as F64, n: i32 as I32) -> f64 as F64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_has_its_function() {
        let have: Vec<PrimOp> = operators().into_iter().map(|f| f.0).collect();
        assert!(have.iter().all(|op| is_call(*op)));
        for p in Prim::ALL {
            let unary = UnOp::ALL.iter().map(|op| PrimOp::Un(*op, p));
            let binary = BinOp::ALL.iter().map(|op| PrimOp::Bin(*op, p));
            let special = SpecialOp::ALL.iter().map(|op| PrimOp::Special(*op, p));
            for op in unary.chain(binary).chain(special).filter(|op| op.is_valid() && is_call(*op)) {
                assert!(have.contains(&behind(op)), "{op:?}");
            }
        }
    }
}
