//! Values at the boundary of a program: what entry points take and return, in columns.
//!
//! A value of any type is stored as a structure of arrays. [`ValueType::columns`] says which columns a type
//! has and in what order; the compiler uses the same order for the parameters and results of entry points,
//! so a value passes to and from a compiled program without conversion:
//!
//! ```text
//! i32                      scalar
//! (i32, [n]f32)            scalar, size n, data
//! [n][m]f32                size n, size m, data (n*m)
//! [n][]f32                 size n, descriptor (n rows), data
//! [n](i32, []f32)          size n, data (n), descriptor (n rows), data
//! [n][m][]f32              size n, size m, descriptor (n*m rows), data
//! #a i32 | #b              u8 (0 for #a, 1 for #b), scalar
//! [n][][]f32               size n, descriptor (n rows), descriptor (total rows), data
//! ```

use crate::array::Array;
use crate::fields::Fields;
use crate::prim::{Prim, Scalar};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The type of a value at the boundary.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum ValueType {
    /// A scalar.
    Prim(Prim),
    /// A tuple; `()` is the empty one.
    Tuple(Vec<ValueType>),
    /// A record: columns are in the order of the fields' names, and shown in the order in which the fields are written.
    Record(Fields<ValueType>),
    /// A sum type: constructors in the order of their names, each with its payload. Stored as the constructor's number
    /// ([`Prim::of_constructors`]), then the payloads of all constructors; where the constructor is another one a payload
    /// is zero, `false` or an array without rows.
    Sum(Vec<(String, Vec<ValueType>)>),
    /// An array. `ragged`: the size may differ between the rows of the enclosing array; never set on an
    /// outermost array. `size`: the size's source name or number, for messages and for printing.
    Array {
        /// Rows may differ in length.
        ragged: bool,
        /// Name or constant in the source, if it has one.
        size: Option<String>,
        /// Type of the elements.
        elem: Box<ValueType>,
    },
    /// A type that a module of the program hides: values are passed on as they are, but neither shown nor read.
    Opaque {
        /// Name in the program: `m.t`.
        name: String,
        /// The type itself.
        of: Box<ValueType>,
    },
}

/// One column of a value's representation.
#[derive(Clone, PartialEq, Debug)]
pub enum Column {
    /// A scalar outside any array.
    Scalar(Scalar),
    /// The size of an array's uniform dimension.
    Size(i64),
    /// The descriptor of a ragged dimension: `rows + 1` offsets, the first is 0, never decreasing.
    Offsets(Array),
    /// All elements of one scalar component, in order.
    Data(Array),
}

/// Kind of column, see [`ValueType::columns`]. `depth` counts the enclosing array dimensions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum ColumnType {
    Scalar(Prim),
    Size,
    /// `depth` dimensions above this one give the descriptor's rows.
    Offsets {
        depth: usize,
    },
    Data(Prim),
}

/// A value: its type and its columns.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs)]
pub struct Value {
    pub ty: ValueType,
    pub columns: Vec<Column>,
}

impl ValueType {
    /// True for `()`.
    pub fn is_unit(&self) -> bool {
        matches!(self, ValueType::Tuple(parts) if parts.is_empty())
    }

    /// An array of uniform rows or an outermost array.
    pub fn array(elem: ValueType) -> ValueType {
        ValueType::Array { ragged: false, size: None, elem: Box::new(elem) }
    }

    /// An array with rows of any length.
    pub fn ragged(elem: ValueType) -> ValueType {
        ValueType::Array { ragged: true, size: None, elem: Box::new(elem) }
    }

    /// The columns of a value of this type, in order: depth first; each array dimension's size or descriptor
    /// just before its elements.
    pub fn columns(&self) -> Vec<ColumnType> {
        let mut out = Vec::new();
        self.add_columns(0, &mut out);
        out
    }

    fn add_columns(&self, depth: usize, out: &mut Vec<ColumnType>) {
        match self {
            ValueType::Prim(p) if depth == 0 => out.push(ColumnType::Scalar(*p)),
            ValueType::Prim(p) => out.push(ColumnType::Data(*p)),
            ValueType::Tuple(ts) => ts.iter().for_each(|t| t.add_columns(depth, out)),
            ValueType::Record(fs) => fs.iter().for_each(|(_, t)| t.add_columns(depth, out)),
            ValueType::Sum(cs) => {
                ValueType::Prim(Prim::of_constructors(cs.len())).add_columns(depth, out);
                cs.iter().flat_map(|(_, ts)| ts).for_each(|t| t.add_columns(depth, out));
            }
            ValueType::Array { ragged, elem, .. } => {
                out.push(if *ragged { ColumnType::Offsets { depth } } else { ColumnType::Size });
                elem.add_columns(depth + 1, out);
            }
            ValueType::Opaque { of, .. } => of.add_columns(depth, out),
        }
    }

    /// Calls `f` for each dimension of an array, not of those in payloads of sums, with the number of its column and with what says if its rows
    /// may differ. `next`: the number of this type's first column, then of the one after it.
    pub fn each_dimension(&mut self, next: &mut usize, f: &mut dyn FnMut(usize, &mut bool)) {
        match self {
            ValueType::Prim(_) => *next += 1,
            ValueType::Tuple(ts) => ts.iter_mut().for_each(|t| t.each_dimension(next, f)),
            ValueType::Record(fs) => fs.iter_mut().for_each(|(_, t)| t.each_dimension(next, f)),
            ValueType::Sum(_) => *next += self.columns().len(),
            ValueType::Array { ragged, elem, .. } => {
                f(*next, ragged);
                *next += 1;
                elem.each_dimension(next, f);
            }
            ValueType::Opaque { of, .. } => of.each_dimension(next, f),
        }
    }

    /// True if a ragged dimension occurs, hidden ones aside.
    pub fn is_ragged(&self) -> bool {
        match self {
            ValueType::Prim(_) | ValueType::Opaque { .. } => false,
            ValueType::Tuple(ts) => ts.iter().any(ValueType::is_ragged),
            ValueType::Record(fs) => fs.iter().any(|(_, t)| t.is_ragged()),
            ValueType::Sum(cs) => cs.iter().flat_map(|(_, ts)| ts).any(ValueType::is_ragged),
            ValueType::Array { ragged, elem, .. } => *ragged || elem.is_ragged(),
        }
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueType::Prim(p) => write!(f, "{p}"),
            ValueType::Tuple(ts) => {
                f.write_str("(")?;
                for (i, t) in ts.iter().enumerate() {
                    write!(f, "{}{t}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str(")")
            }
            ValueType::Record(fs) => {
                f.write_str("{")?;
                for (i, (n, t)) in fs.in_order().enumerate() {
                    write!(f, "{}{n}: {t}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str("}")
            }
            ValueType::Sum(cs) => {
                for (i, (name, ts)) in cs.iter().enumerate() {
                    write!(f, "{}#{name}", if i > 0 { " | " } else { "" })?;
                    ts.iter().try_for_each(|t| write!(f, " {}", Inner(t)))?;
                }
                Ok(())
            }
            ValueType::Array { size, elem, .. } => {
                write!(f, "[{}]{}", size.as_deref().unwrap_or(""), Inner(elem))
            }
            ValueType::Opaque { name, .. } => f.write_str(name),
        }
    }
}

/// A type inside another one: a sum and a hidden type with arguments stand in parentheses.
struct Inner<'a>(&'a ValueType);

impl fmt::Display for Inner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ValueType::Sum(_) => write!(f, "({})", self.0),
            ValueType::Opaque { name, .. } if name.contains(' ') => write!(f, "({name})"),
            other => write!(f, "{other}"),
        }
    }
}

impl Value {
    /// A scalar value.
    pub fn scalar(x: Scalar) -> Value {
        Value { ty: ValueType::Prim(x.prim()), columns: vec![Column::Scalar(x)] }
    }

    /// True if some of its elements are on other ranks only.
    pub fn is_in_parts(&self) -> bool {
        self.columns.iter().any(|c| matches!(c, Column::Data(data) if data.is_in_parts()))
    }

    /// True if some of its elements are in the memory of a device and nowhere else: they are copied when somebody looks at them.
    pub fn is_on_device(&self) -> bool {
        self.columns.iter().any(|c| matches!(c, Column::Data(data) if data.is_on_device()))
    }

    /// A one-dimensional array.
    pub fn vector(a: Array) -> Value {
        Value {
            ty: ValueType::array(ValueType::Prim(a.prim())),
            columns: vec![Column::Size(a.len() as i64), Column::Data(a)],
        }
    }
}
