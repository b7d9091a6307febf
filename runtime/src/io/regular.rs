//! Regular arrays of scalars, which is what binary formats hold, and values.

use super::view::{Lengths, View};
use crate::{Array, Column, Prim, Scalar, Value, ValueType};

/// Rows of a descriptor that a header alone may ask for.
const MAX_EMPTY_ROWS: usize = 1 << 26;

/// A rectangle of scalars; no dimensions: one scalar.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Regular {
    pub dims: Vec<i64>,
    pub data: Array,
}

/// Number of elements of a rectangle; `None` if a size is negative or they are too many.
pub fn element_count(dims: &[i64]) -> Option<usize> {
    if dims.iter().any(|d| *d < 0) {
        return None;
    }
    if dims.contains(&0) {
        return Some(0);
    }
    let product = dims.iter().try_fold(1i64, |n, d| n.checked_mul(*d))?;
    usize::try_from(product).ok()
}

impl Regular {
    /// The array with its dimensions in the opposite order.
    pub fn transposed(&self) -> Regular {
        let size = self.data.prim().size();
        let dims: Vec<i64> = self.dims.iter().rev().copied().collect();
        let mut data = Array::zeros(self.data.prim(), self.data.len());
        let mut steps = vec![1; dims.len()];
        for (d, len) in self.dims.iter().enumerate().rev().take(dims.len().saturating_sub(1)) {
            steps[d - 1] = steps[d] * *len as usize;
        }
        steps.reverse();
        let mut index = vec![0; dims.len()];
        let mut from = 0;
        let source = self.data.bytes();
        for target in data.bytes_mut().chunks_exact_mut(size) {
            target.copy_from_slice(&source[from * size..(from + 1) * size]);
            for d in (0..dims.len()).rev() {
                index[d] += 1;
                from += steps[d];
                if index[d] < dims[d] as usize {
                    break;
                }
                from -= index[d] * steps[d];
                index[d] = 0;
            }
        }
        Regular { dims, data }
    }

    /// The type, as in messages: `[2][3]i32`.
    pub fn type_name(&self) -> String {
        let dims: String = self.dims.iter().map(|d| format!("[{d}]")).collect();
        format!("{dims}{}", self.data.prim())
    }

    /// The value of type `ty`: ragged dimensions get descriptors with rows of one length.
    pub fn into_value(self, ty: &ValueType) -> Result<Value, String> {
        let mismatch = || format!("the value has type {}, but {ty} is expected", self.type_name());
        let mut columns = Vec::new();
        let (mut inner, mut rows) = (ty, 1usize);
        for (depth, dim) in self.dims.iter().enumerate() {
            let ValueType::Array { ragged, size, elem } = inner else { return Err(mismatch()) };
            let constant = size.as_ref().and_then(|s| s.parse::<i64>().ok());
            if constant.is_some_and(|n| n != *dim) {
                return Err(mismatch());
            }
            columns.push(if *ragged { uniform_offsets(rows, *dim)? } else { Column::Size(*dim) });
            rows = element_count(&self.dims[..=depth]).ok_or("the value is too large")?;
            inner = elem;
        }
        match inner {
            ValueType::Prim(p) if *p == self.data.prim() => {}
            _ => return Err(mismatch()),
        }
        columns.push(if self.dims.is_empty() {
            Column::Scalar(self.data.get(0))
        } else {
            Column::Data(self.data)
        });
        Ok(Value { ty: ty.clone(), columns })
    }

    /// The rectangles of a value, one for each component of (nested) tuples and records; the error names what
    /// has no such form.
    pub fn from_value(value: &Value) -> Result<Vec<Regular>, String> {
        let mut out = Vec::new();
        collect(&View::new(value)?, &mut out)?;
        Ok(out)
    }
}

/// `rows` rows of `len` elements.
fn uniform_offsets(rows: usize, len: i64) -> Result<Column, String> {
    if rows > MAX_EMPTY_ROWS && len == 0 {
        return Err(format!("the value has {rows} empty rows, which is too many"));
    }
    let mut offsets = Array::uninit(Prim::I64, rows + 1);
    for (i, o) in offsets.slice_mut::<i64>().iter_mut().enumerate() {
        *o = (i as i64).checked_mul(len).ok_or("the value is too large")?;
    }
    Ok(Column::Offsets(offsets))
}

fn collect(view: &View, out: &mut Vec<Regular>) -> Result<(), String> {
    match view {
        View::Scalar(x) => out.push(scalar(*x)),
        View::Tuple(views) => views.iter().try_for_each(|v| collect(v, out))?,
        View::Record(fields, _) => fields.iter().try_for_each(|f| collect(&f.1, out))?,
        View::Array { ty, .. } => out.push(rectangle(view).ok_or_else(|| {
            format!("a value of type {ty} has no binary form: only regular arrays of scalars have one")
        })?),
        View::Opaque(name, _) => {
            return Err(format!("a value of the abstract type {name} has no binary form"));
        }
        View::Sum(..) => return Err("a value of a sum type has no binary form".into()),
        View::Data(_) | View::Texts(..) => {}
    }
    Ok(())
}

fn scalar(x: Scalar) -> Regular {
    Regular { dims: Vec::new(), data: Array::from_scalars(x.prim(), &[x]) }
}

fn rectangle(view: &View) -> Option<Regular> {
    let mut dims = Vec::new();
    let mut inner = view;
    while let View::Array { lengths, elem, .. } = inner {
        let Lengths::Uniform(n) = lengths else { return None };
        dims.push(*n);
        inner = elem;
    }
    match inner {
        View::Data(data) => Some(Regular { dims, data: (*data).clone() }),
        _ => None,
    }
}
