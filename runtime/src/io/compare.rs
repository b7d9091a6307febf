//! Equality of values, whatever their representation: a ragged array whose rows happen to be of one length
//! equals the rectangle with the same rows.

use super::view::{Lengths, View};
use crate::{Array, Scalar, Value};

/// How far apart floats may be: `|a - b| <= absolute + relative * max(|a|, |b|)`. Not-a-number equals itself.
#[derive(Clone, Copy, PartialEq, Debug)]
#[allow(missing_docs)]
pub struct Tolerance {
    pub relative: f64,
    pub absolute: f64,
}

impl Tolerance {
    /// Bitwise equal up to the sign of zero.
    pub const EXACT: Tolerance = Tolerance { relative: 0.0, absolute: 0.0 };
    /// What tests allow for `f64`.
    pub const F64: Tolerance = Tolerance { relative: 1e-9, absolute: 1e-12 };
    /// What tests allow for `f32`.
    pub const F32: Tolerance = Tolerance { relative: 2e-6, absolute: 1e-6 };
}

/// Whether two values are equal with these tolerances for `f32` and `f64`. The error is the first difference.
pub fn compare(a: &Value, b: &Value, f32s: Tolerance, f64s: Tolerance) -> Result<(), String> {
    let comparer = Comparer { f32s, f64s };
    comparer.views(&View::new(a)?, &View::new(b)?, 1, &mut Vec::new())
}

/// Whether two values are equal, floats up to `tolerance`.
pub fn values_equal(a: &Value, b: &Value, tolerance: Tolerance) -> bool {
    compare(a, b, tolerance, tolerance).is_ok()
}

struct Comparer {
    f32s: Tolerance,
    f64s: Tolerance,
}

/// Dimensions around a part of the value, outermost first, to name an element by its indices.
type Path<'a> = Vec<Lengths<'a>>;

impl Comparer {
    fn views<'a>(&self, a: &View<'a>, b: &View<'a>, rows: usize, path: &mut Path<'a>) -> Result<(), String> {
        match (a, b) {
            (View::Scalar(a), View::Scalar(b)) if a.prim() == b.prim() => {
                if self.equal(*a, *b) {
                    Ok(())
                } else {
                    Err(format!("{a} and {b}"))
                }
            }
            (View::Data(a), View::Data(b)) if a.prim() == b.prim() => self.data(a, b, path),
            (View::Tuple(xs), View::Tuple(ys)) if xs.len() == ys.len() => {
                xs.iter().zip(ys).enumerate().try_for_each(|(i, (x, y))| {
                    self.views(x, y, rows, path).map_err(|e| format!("component {i}: {e}"))
                })
            }
            (View::Record(xs), View::Record(ys)) if xs.iter().map(|x| x.0).eq(ys.iter().map(|y| y.0)) => {
                xs.iter().zip(ys).try_for_each(|(x, y)| {
                    self.views(&x.1, &y.1, rows, path).map_err(|e| format!("field {}: {e}", x.0))
                })
            }
            (View::Sum(x, xs), View::Sum(y, ys)) if xs.iter().map(|c| c.0).eq(ys.iter().map(|c| c.0)) => {
                if let Some(i) = (0..rows).find(|i| x.tag(*i) != y.tag(*i)) {
                    let name = |tag: usize| xs.get(tag).map_or("?", |c| c.0);
                    let place =
                        if path.is_empty() { "".into() } else { format!("at {}: ", indices(i, path)) };
                    return Err(format!("{place}#{} and #{}", name(x.tag(i)), name(y.tag(i))));
                }
                // Where a constructor is another one, both have the same neutral payload.
                xs.iter().zip(ys).try_for_each(|(x, y)| {
                    x.1.iter().zip(&y.1).try_for_each(|(a, b)| {
                        self.views(a, b, rows, path).map_err(|e| format!("payload of #{}: {e}", x.0))
                    })
                })
            }
            (View::Array { lengths: l, elem: x, .. }, View::Array { lengths: m, elem: y, .. }) => {
                lengths(l, m, rows, path)?;
                path.push(*l);
                let result = self.views(x, y, l.total(rows), path);
                path.pop();
                result
            }
            _ => Err("the types differ".into()),
        }
    }

    fn data(&self, a: &Array, b: &Array, path: &Path) -> Result<(), String> {
        if a.len() == b.len() && a.bytes() == b.bytes() {
            return Ok(());
        }
        let differs = |i: &usize| !self.equal(a.get(*i), b.get(*i));
        match (0..a.len().min(b.len())).find(differs) {
            None => Ok(()),
            Some(i) => Err(format!("at {}: {} and {}", indices(i, path), a.get(i), b.get(i))),
        }
    }

    fn equal(&self, a: Scalar, b: Scalar) -> bool {
        match (a, b) {
            (Scalar::F32(a), Scalar::F32(b)) => close(a as f64, b as f64, self.f32s),
            (Scalar::F64(a), Scalar::F64(b)) => close(a, b, self.f64s),
            _ => a == b,
        }
    }
}

fn close(a: f64, b: f64, tolerance: Tolerance) -> bool {
    let allowed = tolerance.absolute + tolerance.relative * a.abs().max(b.abs());
    a == b || (a.is_nan() && b.is_nan()) || (a.is_finite() && b.is_finite() && (a - b).abs() <= allowed)
}

fn lengths(a: &Lengths, b: &Lengths, rows: usize, path: &Path) -> Result<(), String> {
    let differ = |i: usize, a, b| {
        let row = if path.is_empty() { "".into() } else { format!("at {}: ", indices(i, path)) };
        Err(format!("{row}lengths {a} and {b}"))
    };
    match (a, b) {
        (Lengths::Uniform(m), Lengths::Uniform(n)) if m == n => Ok(()),
        (Lengths::Uniform(m), Lengths::Uniform(n)) => differ(0, *m as usize, *n as usize),
        _ => match (0..rows).find(|i| a.row(*i).1 != b.row(*i).1) {
            None => Ok(()),
            Some(i) => differ(i, a.row(i).1, b.row(i).1),
        },
    }
}

/// The indices of element `i` of the innermost dimension.
fn indices(mut i: usize, path: &Path) -> String {
    let mut out = Vec::new();
    for lengths in path.iter().rev() {
        let row = match lengths {
            Lengths::Uniform(n) => i / (*n as usize).max(1),
            Lengths::Offsets(offsets) => offsets.partition_point(|o| *o <= i as i64).saturating_sub(1),
        };
        out.push(format!("[{}]", i - lengths.row(row).0));
        i = row;
    }
    out.reverse();
    out.concat()
}
