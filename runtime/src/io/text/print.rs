//! Printing. The recursion follows the type.

use crate::array::Element;
use crate::io::view::{Lengths, View};
use crate::{Array, Column, Prim, Scalar, Value, ValueType, f16};
use std::fmt::{self, Write};

/// A value on one line, every scalar with its suffix. A ragged value that lacks a scalar somewhere is followed by its type.
pub fn print_value(value: &Value) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = print_to(value, &mut out);
    out
}

/// As [`print_value`], into a writer.
pub fn print_to(value: &Value, out: &mut dyn Write) -> fmt::Result {
    print_view(value, View::new(value), out)
}

/// As [`print_to`], with rows of bytes as texts in quotation marks, where they are texts; a value that is one alone is
/// written as it is.
pub fn print_texts_to(value: &Value, out: &mut dyn Write) -> fmt::Result {
    match alone(value) {
        Some(text) => out.write_str(text),
        None => print_view(value, View::new(value).map(View::with_texts), out),
    }
}

/// The text that a value is, if it is one.
fn alone(value: &Value) -> Option<&str> {
    match (&value.ty, value.columns.as_slice()) {
        (ValueType::Array { elem, .. }, [_, Column::Data(data)]) if **elem == ValueType::Prim(Prim::U8) => {
            text_of(data.slice::<u8>())
        }
        _ => None,
    }
}

/// Bytes as a text, if they are one: no control characters but line breaks and tabs.
fn text_of(bytes: &[u8]) -> Option<&str> {
    let is_plain = |c: char| !c.is_control() || matches!(c, '\n' | '\t' | '\r');
    std::str::from_utf8(bytes).ok().filter(|text| text.chars().all(is_plain))
}

fn print_view(value: &Value, view: Result<View, String>, out: &mut dyn Write) -> fmt::Result {
    let view = match view {
        Ok(view) => view,
        Err(message) => return write!(out, "<malformed value: {message}>"),
    };
    print(&view, 0, out)?;
    if lacks_scalars(value) {
        out.write_str(" : ")?;
        print_type(&view, 0, out)?;
    }
    Ok(())
}

/// True if a ragged value has somewhere no scalar that would say the type.
pub(super) fn lacks_scalars(value: &Value) -> bool {
    let lacks = |c: &Column| matches!(c, Column::Data(data) if data.is_empty());
    value.ty.is_ragged() && value.columns.iter().any(lacks)
}

pub(super) fn print(view: &View, row: usize, out: &mut dyn Write) -> fmt::Result {
    match view {
        View::Scalar(x) => write!(out, "{x}"),
        View::Data(data) => write!(out, "{}", data.get(row)),
        View::Tuple(views) => {
            out.write_char('(')?;
            for (i, view) in views.iter().enumerate() {
                separate(i, out)?;
                print(view, row, out)?;
            }
            out.write_char(')')
        }
        View::Record(fields, order) => {
            out.write_char('{')?;
            for (i, (name, view)) in order.places().map(|place| &fields[place]).enumerate() {
                separate(i, out)?;
                write!(out, "{name} = ")?;
                print(view, row, out)?;
            }
            out.write_char('}')
        }
        View::Sum(tag, cases) => print_sum(tag.tag(row), cases, row, out),
        View::Opaque(name, _) => write!(out, "#<opaque {name}>"),
        View::Texts(lengths, bytes) => {
            let (start, len) = lengths.row(row);
            print_text(&bytes[start..start + len], out)
        }
        View::Array { ty, .. } if !ty.is_ragged() && is_empty(view) => {
            out.write_str("empty(")?;
            print_type(view, 0, out)?;
            out.write_char(')')
        }
        View::Array { lengths, elem, .. } => {
            let (start, len) = lengths.row(row);
            print_rows(elem, start, len, out)
        }
    }
}

fn print_sum(tag: usize, cases: &[(&str, Vec<View>)], row: usize, out: &mut dyn Write) -> fmt::Result {
    let Some((name, payload)) = cases.get(tag) else { return write!(out, "<constructor {tag}>") };
    write!(out, "#{name}")?;
    for view in payload {
        out.write_char(' ')?;
        let inner =
            matches!(view, View::Sum(tag, cases) if cases.get(tag.tag(row)).is_some_and(|c| !c.1.is_empty()));
        if inner {
            out.write_char('(')?;
        }
        print(view, row, out)?;
        if inner {
            out.write_char(')')?;
        }
    }
    Ok(())
}

fn print_text(bytes: &[u8], out: &mut dyn Write) -> fmt::Result {
    let Some(text) = text_of(bytes) else { return print_scalars_of(bytes, out) };
    out.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' => out.write_str("\\\"")?,
            '\\' => out.write_str("\\\\")?,
            '\n' => out.write_str("\\n")?,
            '\t' => out.write_str("\\t")?,
            '\r' => out.write_str("\\r")?,
            c => out.write_char(c)?,
        }
    }
    out.write_char('"')
}

fn print_scalars_of(bytes: &[u8], out: &mut dyn Write) -> fmt::Result {
    out.write_char('[')?;
    for (i, x) in bytes.iter().enumerate() {
        separate(i, out)?;
        write!(out, "{x}u8")?;
    }
    out.write_char(']')
}

fn separate(i: usize, out: &mut dyn Write) -> fmt::Result {
    if i > 0 { out.write_str(", ") } else { Ok(()) }
}

/// True if one of the sizes of a regular array is 0.
pub(super) fn is_empty(view: &View) -> bool {
    match view {
        View::Array { lengths: Lengths::Uniform(n), elem, .. } => *n == 0 || is_empty(elem),
        _ => false,
    }
}

fn print_rows(elem: &View, start: usize, len: usize, out: &mut dyn Write) -> fmt::Result {
    out.write_char('[')?;
    match elem {
        View::Data(data) => print_scalars(data, start, len, out)?,
        other => {
            for i in 0..len {
                separate(i, out)?;
                print(other, start + i, out)?;
            }
        }
    }
    out.write_char(']')
}

fn print_scalars(data: &Array, start: usize, len: usize, out: &mut dyn Write) -> fmt::Result {
    let prim = data.prim();
    match prim {
        Prim::I8 => print_integers::<i8>(data, start, len, out),
        Prim::I16 => print_integers::<i16>(data, start, len, out),
        Prim::I32 => print_integers::<i32>(data, start, len, out),
        Prim::I64 => print_integers::<i64>(data, start, len, out),
        Prim::U8 => print_integers::<u8>(data, start, len, out),
        Prim::U16 => print_integers::<u16>(data, start, len, out),
        Prim::U32 => print_integers::<u32>(data, start, len, out),
        Prim::U64 => print_integers::<u64>(data, start, len, out),
        Prim::F16 => print_floats(&data.slice::<f16>()[start..start + len], Scalar::F16, out),
        Prim::F32 => print_floats(&data.slice::<f32>()[start..start + len], Scalar::F32, out),
        Prim::F64 => print_floats(&data.slice::<f64>()[start..start + len], Scalar::F64, out),
        Prim::Bool => {
            for (i, x) in data.slice::<bool>()[start..start + len].iter().enumerate() {
                separate(i, out)?;
                out.write_str(if *x { "true" } else { "false" })?;
            }
            Ok(())
        }
    }
}

fn print_integers<T: Element + fmt::Display>(
    data: &Array,
    start: usize,
    len: usize,
    out: &mut dyn Write,
) -> fmt::Result {
    let name = T::PRIM.name();
    for (i, x) in data.slice::<T>()[start..start + len].iter().enumerate() {
        separate(i, out)?;
        write!(out, "{x}{name}")?;
    }
    Ok(())
}

fn print_floats<T: Copy>(xs: &[T], scalar: fn(T) -> Scalar, out: &mut dyn Write) -> fmt::Result {
    for (i, x) in xs.iter().enumerate() {
        separate(i, out)?;
        write!(out, "{}", scalar(*x))?;
    }
    Ok(())
}

/// The type with the sizes a reader needs: those of regular arrays, and of uniform dimensions inside others.
pub(super) fn print_type(view: &View, depth: usize, out: &mut dyn Write) -> fmt::Result {
    match view {
        View::Scalar(x) => write!(out, "{}", x.prim()),
        View::Data(data) => write!(out, "{}", data.prim()),
        View::Texts(Lengths::Uniform(n), _) if depth > 0 => write!(out, "[{n}]u8"),
        View::Texts(..) => out.write_str("[]u8"),
        View::Opaque(name, _) => out.write_str(name),
        View::Tuple(views) => {
            out.write_char('(')?;
            for (i, view) in views.iter().enumerate() {
                separate(i, out)?;
                print_type(view, depth, out)?;
            }
            out.write_char(')')
        }
        View::Record(fields, order) => {
            out.write_char('{')?;
            for (i, (name, view)) in order.places().map(|place| &fields[place]).enumerate() {
                separate(i, out)?;
                write!(out, "{name}: ")?;
                print_type(view, depth, out)?;
            }
            out.write_char('}')
        }
        View::Sum(_, cases) => {
            for (i, (name, payload)) in cases.iter().enumerate() {
                write!(out, "{}#{name}", if i > 0 { " | " } else { "" })?;
                for view in payload {
                    out.write_char(' ')?;
                    print_inner(view, depth, out)?;
                }
            }
            Ok(())
        }
        View::Array { lengths, elem, ty } => {
            match lengths {
                Lengths::Uniform(n) if depth > 0 || !ty.is_ragged() => write!(out, "[{n}]")?,
                _ => out.write_str("[]")?,
            }
            print_inner(elem, depth + 1, out)
        }
    }
}

/// The type of a part: a sum stands in parentheses.
fn print_inner(view: &View, depth: usize, out: &mut dyn Write) -> fmt::Result {
    if !matches!(view, View::Sum(..)) {
        return print_type(view, depth, out);
    }
    out.write_char('(')?;
    print_type(view, depth, out)?;
    out.write_char(')')
}
