//! Equality of values, whatever their representation: a ragged array whose rows happen to be of one length
//! equals the rectangle with the same rows.

use super::view::{Lengths, View};
use crate::{Array, Prim, Scalar, Value};
use std::fmt;

/// Tolerance of comparisons of floats: `|a - b| <= absolute + relative * max(|a|, |b|)`. Not-a-number equals itself.
#[derive(Clone, Copy, PartialEq, Debug)]
#[allow(missing_docs)]
pub struct Tolerance {
    pub relative: f64,
    pub absolute: f64,
}

impl Tolerance {
    /// Bitwise equal up to the sign of zero.
    pub const EXACT: Tolerance = Tolerance { relative: 0.0, absolute: 0.0 };
    /// Tolerance of tests for `f64`.
    pub const F64: Tolerance = Tolerance { relative: 1e-9, absolute: 1e-12 };
    /// Tolerance of tests for `f32`.
    pub const F32: Tolerance = Tolerance { relative: 2e-6, absolute: 1e-6 };
    /// Tolerance of tests for `f16`.
    pub const F16: Tolerance = Tolerance { relative: 4e-3, absolute: 1e-6 };

    /// Tolerance of tests for a type.
    pub fn of(prim: Prim) -> Tolerance {
        match prim {
            Prim::F16 => Tolerance::F16,
            Prim::F32 => Tolerance::F32,
            Prim::F64 => Tolerance::F64,
            _ => Tolerance::EXACT,
        }
    }
}

/// One place where two values differ.
#[derive(Clone, PartialEq, Debug)]
pub struct Difference {
    /// Path to the place: `[3][1]`, `.0[2]`, `[1].name`; empty for the value itself.
    pub path: String,
    /// Text of the first value there: `5i32`, `length 3`, `#some`.
    pub left: String,
    /// In the second.
    pub right: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "at {}: ", self.path)?;
        }
        write!(f, "{} and {}", self.left, self.right)
    }
}

/// Compares two values with the tolerance of each float type. The error is the first difference.
pub fn compare(a: &Value, b: &Value, tolerance: fn(Prim) -> Tolerance) -> Result<(), String> {
    match differences(a, b, tolerance, 1)?.first() {
        None => Ok(()),
        Some(difference) => Err(difference.to_string()),
    }
}

/// The first `limit` places where two values differ, rows of different lengths compared as far as both go. The error
/// is about values that are not well formed.
pub fn differences(
    a: &Value,
    b: &Value,
    tolerance: fn(Prim) -> Tolerance,
    limit: usize,
) -> Result<Vec<Difference>, String> {
    let mut comparer = Comparer { tolerance: &tolerance, limit, path: Vec::new(), found: Vec::new() };
    comparer.views((&View::new(a)?, 0), (&View::new(b)?, 0));
    Ok(comparer.found)
}

/// True if two values are equal, floats up to `tolerance`.
pub fn values_equal(a: &Value, b: &Value, tolerance: Tolerance) -> bool {
    let (Ok(a), Ok(b)) = (View::new(a), View::new(b)) else { return false };
    let mut comparer = Comparer { tolerance: &|_| tolerance, limit: 1, path: Vec::new(), found: Vec::new() };
    comparer.views((&a, 0), (&b, 0));
    comparer.found.is_empty()
}

struct Comparer<'v> {
    tolerance: &'v dyn Fn(Prim) -> Tolerance,
    limit: usize,
    path: Vec<Step<'v>>,
    found: Vec<Difference>,
}

/// From a value into a part of it.
enum Step<'v> {
    Index(usize),
    Component(usize),
    Field(&'v str),
    Payload(&'v str, usize),
}

impl fmt::Display for Step<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Index(i) => write!(f, "[{i}]"),
            Step::Component(i) => write!(f, ".{i}"),
            Step::Field(name) => write!(f, ".{name}"),
            Step::Payload(name, i) => write!(f, ".#{name}.{i}"),
        }
    }
}

/// A row of a part of a value.
type Row<'a, 'v> = (&'a View<'v>, usize);

impl<'v> Comparer<'v> {
    fn views(&mut self, (a, i): Row<'_, 'v>, (b, j): Row<'_, 'v>) {
        match (a, b) {
            (View::Scalar(x), View::Scalar(y)) if x.prim() == y.prim() => self.scalars(*x, *y),
            (View::Data(x), View::Data(y)) if x.prim() == y.prim() => self.scalars(x.get(i), y.get(j)),
            (View::Tuple(xs), View::Tuple(ys)) if xs.len() == ys.len() => {
                for (n, (x, y)) in xs.iter().zip(ys).enumerate() {
                    self.inside(Step::Component(n), (x, i), (y, j));
                }
            }
            (View::Record(xs, _), View::Record(ys, _))
                if xs.iter().map(|x| x.0).eq(ys.iter().map(|y| y.0)) =>
            {
                for (x, y) in xs.iter().zip(ys) {
                    self.inside(Step::Field(x.0), (&x.1, i), (&y.1, j));
                }
            }
            (View::Sum(x, xs), View::Sum(y, ys)) if xs.iter().map(|c| c.0).eq(ys.iter().map(|c| c.0)) => {
                let name = |tag: usize| xs.get(tag).map_or("?", |c| c.0);
                let (tag, other) = (x.tag(i), y.tag(j));
                if tag != other {
                    return self.report(format!("#{}", name(tag)), format!("#{}", name(other)));
                }
                let payload = |cs: &'_ [(&'v str, Vec<View<'v>>)]| cs.get(tag).map_or(0, |c| c.1.len());
                for n in 0..payload(xs).min(payload(ys)) {
                    let (x, y) = (&xs[tag].1[n], &ys[tag].1[n]);
                    self.inside(Step::Payload(name(tag), n), (x, i), (y, j));
                }
            }
            (View::Array { lengths: l, elem: x, .. }, View::Array { lengths: m, elem: y, .. }) => {
                self.rows((x, l.row(i)), (y, m.row(j)));
            }
            (View::Opaque(a, x), View::Opaque(b, y)) if a == b => self.views((x, i), (y, j)),
            _ => self.report("a value of one type".into(), "a value of another".into()),
        }
    }

    fn inside(&mut self, step: Step<'v>, a: Row<'_, 'v>, b: Row<'_, 'v>) {
        if self.found.len() < self.limit {
            self.path.push(step);
            self.views(a, b);
            self.path.pop();
        }
    }

    /// The elements of one row of each, given by first element and length.
    fn rows(&mut self, (x, (i, n)): (&View<'v>, (usize, usize)), (y, (j, m)): (&View<'v>, (usize, usize))) {
        if n != m {
            self.report(format!("length {n}"), format!("length {m}"));
        } else if n == 0 {
            return self.widths(x, y);
        }
        if let (View::Data(x), View::Data(y)) = (x, y)
            && x.prim() == y.prim()
            && n == m
            && bytes(x, i, n) == bytes(y, j, n)
        {
            return;
        }
        for k in 0..n.min(m) {
            self.inside(Step::Index(k), (x, i + k), (y, j + k));
        }
    }

    /// Without rows, rectangles may still differ in how long their rows would be.
    fn widths(&mut self, x: &View<'v>, y: &View<'v>) {
        if let (View::Array { lengths: l, elem: x, .. }, View::Array { lengths: m, elem: y, .. }) = (x, y)
            && let (Lengths::Uniform(n), Lengths::Uniform(m)) = (l, m)
        {
            if n != m {
                return self.report(format!("rows of length {n}"), format!("rows of length {m}"));
            }
            self.widths(x, y);
        }
    }

    fn scalars(&mut self, a: Scalar, b: Scalar) {
        let equal = match (a.as_f64(), b.as_f64()) {
            (Some(x), Some(y)) if a.prim() == b.prim() => close(x, y, (self.tolerance)(a.prim())),
            _ => a == b,
        };
        if !equal {
            self.report(a.to_string(), b.to_string());
        }
    }

    fn report(&mut self, left: String, right: String) {
        if self.found.len() < self.limit {
            let path = self.path.iter().map(Step::to_string).collect();
            self.found.push(Difference { path, left, right });
        }
    }
}

fn bytes(array: &Array, first: usize, len: usize) -> &[u8] {
    let size = array.prim().size();
    &array.bytes()[first * size..(first + len) * size]
}

fn close(a: f64, b: f64, tolerance: Tolerance) -> bool {
    let allowed = tolerance.absolute + tolerance.relative * a.abs().max(b.abs());
    a == b || (a.is_nan() && b.is_nan()) || (a.is_finite() && b.is_finite() && (a - b).abs() <= allowed)
}
