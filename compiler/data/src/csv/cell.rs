//! Columns of cells: text to numbers and back.

use par_runtime::array::Element;
use par_runtime::{Array, Prim, Scalar, f16};
use std::io::Write;

/// A column of numbers while it grows.
pub trait Numbers {
    /// Adds the number that is written so; the error says what is wrong with the text.
    fn push(&mut self, text: &[u8]) -> Result<(), String>;
    /// Adds the number of that index once more, with the other sign if `negated`.
    fn repeat(&mut self, index: usize, negated: bool) -> Result<(), String>;
    /// Number of numbers.
    fn len(&self) -> usize;
    /// All of them.
    fn finish(self: Box<Self>) -> Array;
    /// All of them, in another order.
    fn ordered(self: Box<Self>, order: &[usize]) -> Array;
}

/// An empty column of type `prim`.
pub fn numbers(prim: Prim) -> Box<dyn Numbers> {
    fn column<T: Cell>() -> Box<dyn Numbers> {
        Box::new(Vec::<T>::new())
    }
    match prim {
        Prim::I8 => column::<i8>(),
        Prim::I16 => column::<i16>(),
        Prim::I32 => column::<i32>(),
        Prim::I64 => column::<i64>(),
        Prim::U8 => column::<u8>(),
        Prim::U16 => column::<u16>(),
        Prim::U32 => column::<u32>(),
        Prim::U64 => column::<u64>(),
        Prim::F16 => column::<f16>(),
        Prim::F32 => column::<f32>(),
        Prim::F64 => column::<f64>(),
        Prim::Bool => column::<bool>(),
    }
}

/// True if a text is a number (or a truth value) of that type.
pub fn is_number(text: &[u8], prim: Prim) -> bool {
    numbers(prim).push(text).is_ok()
}

/// A type of numbers in cells.
trait Cell: Element {
    /// The number of a trimmed text.
    fn parse(text: &str) -> Option<Self>;
    /// The number with the other sign, if there is one.
    fn negated(self) -> Option<Self>;
}

macro_rules! integers {
    ($($t:ty),*) => { $(
        impl Cell for $t {
            fn parse(text: &str) -> Option<$t> {
                text.parse().ok()
            }

            fn negated(self) -> Option<$t> {
                self.checked_neg()
            }
        }
    )* };
}
integers!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! floats {
    ($($t:ty),*) => { $(
        impl Cell for $t {
            fn parse(text: &str) -> Option<$t> {
                // A number that is too large would become infinite.
                text.parse().ok().filter(|x: &$t| x.is_finite() || is_special(text))
            }

            fn negated(self) -> Option<$t> {
                Some(-self)
            }
        }
    )* };
}
floats!(f32, f64);

impl Cell for f16 {
    fn parse(text: &str) -> Option<f16> {
        let read = match f64::parse(text)? {
            x if x.is_finite() => par_runtime::float16::from_decimal(text)?,
            x => f16::from_f64(x),
        };
        (read.is_finite() || is_special(text)).then_some(read)
    }

    fn negated(self) -> Option<f16> {
        Some(-self)
    }
}

impl Cell for bool {
    fn parse(text: &str) -> Option<bool> {
        match text {
            "true" | "True" | "TRUE" | "1" => Some(true),
            "false" | "False" | "FALSE" | "0" => Some(false),
            _ => None,
        }
    }

    fn negated(self) -> Option<bool> {
        None
    }
}

fn is_special(text: &str) -> bool {
    let text = text.trim_start_matches(['+', '-']);
    ["inf", "infinity", "nan"].iter().any(|name| text.eq_ignore_ascii_case(name))
}

impl<T: Cell> Numbers for Vec<T> {
    fn push(&mut self, text: &[u8]) -> Result<(), String> {
        let text = text.trim_ascii();
        let number = std::str::from_utf8(text).ok().and_then(T::parse);
        let number = number.ok_or_else(|| match text.is_empty() {
            true => format!("nothing stands where a value of type {} is expected", T::PRIM),
            false => format!("`{}` is no value of type {}", shown(text), T::PRIM),
        });
        self.push(number?);
        Ok(())
    }

    fn repeat(&mut self, index: usize, negated: bool) -> Result<(), String> {
        let x = self[index];
        let x = if negated { x.negated() } else { Some(x) };
        self.push(x.ok_or_else(|| format!("a number with the other sign does not fit {}", T::PRIM))?);
        Ok(())
    }

    fn len(&self) -> usize {
        Vec::len(self)
    }

    fn finish(self: Box<Self>) -> Array {
        Array::from_slice(&self)
    }

    fn ordered(self: Box<Self>, order: &[usize]) -> Array {
        let mut array = Array::uninit(T::PRIM, order.len());
        array.slice_mut::<T>().iter_mut().zip(order).for_each(|(x, i)| *x = self[*i]);
        array
    }
}

/// The beginning of a text, for messages.
pub fn shown(text: &[u8]) -> String {
    const LENGTH: usize = 40;
    let text = String::from_utf8_lossy(text);
    let mut short: String = text.chars().take(LENGTH).flat_map(char::escape_debug).collect();
    if text.chars().count() > LENGTH {
        short.push('…');
    }
    short
}

/// Writes a number so that reading it gives the same one.
pub fn write(array: &Array, i: usize, out: &mut dyn Write) -> std::io::Result<()> {
    match array.get(i) {
        Scalar::F16(x) => write!(out, "{x}"),
        Scalar::F32(x) => float(f64::from(x), &format!("{x:?}"), out),
        Scalar::F64(x) => float(x, &format!("{x:?}"), out),
        Scalar::Bool(x) => write!(out, "{x}"),
        Scalar::U64(x) => write!(out, "{x}"),
        x => match x.as_i64() {
            Some(x) => write!(out, "{x}"),
            None => write!(out, "{}", x.bits()),
        },
    }
}

fn float(x: f64, text: &str, out: &mut dyn Write) -> std::io::Result<()> {
    match x.is_finite() {
        true => out.write_all(text.as_bytes()),
        false if x.is_nan() => out.write_all(b"nan"),
        false => out.write_all(if x > 0.0 { b"inf" } else { b"-inf" }),
    }
}
