//! Numbers at another type than the file has. Integers become whatever represents each of them, floats become wider floats.

use par_runtime::array::Element;
use par_runtime::{Array, Prim, f16};
use std::fmt::Display;

/// The same numbers at type `to`; the error says which one, or why not.
pub fn convert(array: Array, to: Prim) -> Result<Array, String> {
    let from = array.prim();
    match (from, to) {
        _ if from == to => Ok(array),
        (Prim::F16, Prim::F32 | Prim::F64) | (Prim::F32, Prim::F64) => Ok(widen(&array, to)),
        _ if from.is_integer() && to.is_integer() => integers(&array, to),
        _ if from.is_integer() && to.is_float() => floats(&array, to),
        _ => Err(format!("elements have type {from}, but {to} is expected")),
    }
}

macro_rules! with_element {
    ($prim:expr, $t:ident => $body:expr) => {
        match $prim {
            Prim::I8 => {
                type $t = i8;
                $body
            }
            Prim::I16 => {
                type $t = i16;
                $body
            }
            Prim::I32 => {
                type $t = i32;
                $body
            }
            Prim::I64 => {
                type $t = i64;
                $body
            }
            Prim::U8 => {
                type $t = u8;
                $body
            }
            Prim::U16 => {
                type $t = u16;
                $body
            }
            Prim::U32 => {
                type $t = u32;
                $body
            }
            Prim::U64 => {
                type $t = u64;
                $body
            }
            _ => unreachable!("an integer type"),
        }
    };
}

fn integers(array: &Array, to: Prim) -> Result<Array, String> {
    with_element!(array.prim(), S => with_element!(to, T => checked::<S, T>(array)))
}

fn checked<S: Element + Display, T: Element + TryFrom<S>>(array: &Array) -> Result<Array, String> {
    let fitting = |x: &S| T::try_from(*x).map_err(|_| format!("{x} does not fit {}", T::PRIM));
    collect(array.len(), array.slice::<S>().iter().map(fitting))
}

fn floats(array: &Array, to: Prim) -> Result<Array, String> {
    let largest: i128 = match to {
        Prim::F16 => 1 << 11,
        Prim::F32 => 1 << 24,
        _ => 1 << 53,
    };
    let inexact = |x: i128| format!("{x} cannot be represented exactly as {to}");
    with_element!(array.prim(), S => {
        let wide = array.slice::<S>().iter().map(|x| *x as i128);
        let exact = wide.map(|x| if x.abs() <= largest { Ok(x as f64) } else { Err(inexact(x)) });
        match to {
            Prim::F16 => collect(array.len(), exact.map(|x| x.map(f16::from_f64))),
            Prim::F32 => collect(array.len(), exact.map(|x| x.map(|x| x as f32))),
            _ => collect(array.len(), exact),
        }
    })
}

fn widen(array: &Array, to: Prim) -> Array {
    let mut wide = Array::uninit(to, array.len());
    match (array.prim(), to) {
        (Prim::F16, Prim::F32) => fill::<f16, f32>(array, &mut wide, f16::to_f32),
        (Prim::F16, _) => fill::<f16, f64>(array, &mut wide, f16::to_f64),
        _ => fill::<f32, f64>(array, &mut wide, f64::from),
    }
    wide
}

fn fill<S: Element, T: Element>(from: &Array, to: &mut Array, f: impl Fn(S) -> T) {
    let pairs = to.slice_mut::<T>().iter_mut().zip(from.slice::<S>());
    pairs.for_each(|(y, x)| *y = f(*x));
}

fn collect<T: Element>(len: usize, items: impl Iterator<Item = Result<T, String>>) -> Result<Array, String> {
    let mut array = Array::uninit(T::PRIM, len);
    for (target, item) in array.slice_mut::<T>().iter_mut().zip(items) {
        *target = item?;
    }
    Ok(array)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_value_or_are_refused() {
        let ints = Array::from_slice(&[-1i64, 127]);
        assert_eq!(convert(ints.clone(), Prim::I8).unwrap(), Array::from_slice(&[-1i8, 127]));
        assert_eq!(convert(ints.clone(), Prim::U32).unwrap_err(), "-1 does not fit u32");
        assert_eq!(convert(ints.clone(), Prim::F32).unwrap(), Array::from_slice(&[-1f32, 127.0]));
        assert_eq!(
            convert(Array::from_slice(&[u64::MAX]), Prim::F64).unwrap_err(),
            "18446744073709551615 cannot be represented exactly as f64"
        );
        let half = Array::from_slice(&[f16::from_f32(1.5)]);
        assert_eq!(convert(half, Prim::F64).unwrap(), Array::from_slice(&[1.5f64]));
        let message = "elements have type f64, but f32 is expected";
        assert_eq!(convert(Array::from_slice(&[0.1f64]), Prim::F32).unwrap_err(), message);
        assert!(convert(ints, Prim::Bool).is_err());
    }
}
