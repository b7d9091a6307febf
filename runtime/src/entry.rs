//! Entry points as their callers see them.

use crate::check::RuntimeError;
use crate::io::view::View;
use crate::value::{Column, Value, ValueType};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The source-level signature of an entry point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Entry {
    pub name: String,
    /// Name and type of each source parameter.
    pub params: Vec<(String, ValueType)>,
    /// Type of the result; a top-level tuple prints as one value per line.
    pub ret: ValueType,
}

impl Entry {
    /// Checks that the arguments have the types of the parameters, names of sizes and raggedness aside.
    pub fn check_arguments(&self, args: &[Value]) -> Result<(), RuntimeError> {
        if args.len() != self.params.len() {
            let (name, wanted) = (&self.name, self.params.len());
            let plural = if wanted == 1 { "" } else { "s" };
            return Err(RuntimeError::plain(format!(
                "`{name}` takes {wanted} argument{plural}, not {}",
                args.len()
            )));
        }
        for ((name, ty), arg) in self.params.iter().zip(args) {
            if !same_representation(ty, &arg.ty) {
                let message = format!("the argument `{name}` has type {}, but {ty} is expected", arg.ty);
                return Err(RuntimeError::plain(message));
            }
        }
        Ok(())
    }

    /// The result of a call. An error is a mistake of the compiler.
    pub fn result(&self, columns: Vec<Column>) -> Result<Value, String> {
        // The length of rows is checked where there are rows.
        let column = |c| if let Column::Size(n) = c { Column::Size(n.max(0)) } else { c };
        let columns = columns.into_iter().map(column).collect();
        let value = Value { ty: self.ret.clone(), columns };
        View::new(&value)?;
        Ok(value)
    }
}

/// As in a program: `entry norm (xs: []f32): f32`.
impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "entry {}", self.name)?;
        self.params.iter().try_for_each(|(name, ty)| write!(f, " ({name}: {ty})"))?;
        write!(f, ": {}", self.ret)
    }
}

/// True if two types have the same columns and names, whatever their sizes are called.
pub fn same_representation(a: &ValueType, b: &ValueType) -> bool {
    match (a, b) {
        (ValueType::Prim(a), ValueType::Prim(b)) => a == b,
        (ValueType::Tuple(a), ValueType::Tuple(b)) => all_same(a, b),
        (ValueType::Record(a), ValueType::Record(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0 && same_representation(&a.1, &b.1))
        }
        (ValueType::Sum(a), ValueType::Sum(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0 && all_same(&a.1, &b.1))
        }
        (ValueType::Array { ragged: r, elem: a, .. }, ValueType::Array { ragged: s, elem: b, .. }) => {
            r == s && same_representation(a, b)
        }
        (ValueType::Opaque { name: a, of: x }, ValueType::Opaque { name: b, of: y }) => {
            a == b && same_representation(x, y)
        }
        _ => false,
    }
}

fn all_same(a: &[ValueType], b: &[ValueType]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_representation(a, b))
}
