//! Lines and matrices in a value.

use super::Kind;
use crate::tree::Tree;
use par_runtime::array::Element;
use par_runtime::{Array, Prim, f16};

/// Data to be drawn.
pub enum Data {
    Series(Vec<Series>),
    Matrix(Matrix),
}

/// Points of a line, in order.
pub struct Series {
    /// Empty for the only one.
    pub name: String,
    pub points: Vec<(f64, f64)>,
    /// True if all numbers are integers.
    pub integers: bool,
}

/// Rows of equal length, one after the other.
pub struct Matrix {
    pub rows: usize,
    pub columns: usize,
    pub values: Vec<f64>,
}

/// Data of a tree, to be drawn.
pub fn of(tree: &Tree, kind: Kind) -> Result<Data, String> {
    if let Tree::Fixed(rows, elem) = tree
        && let Tree::Fixed(columns, elem) = &**elem
        && let Tree::Scalars(values) = &**elem
        && matches!(kind, Kind::Auto | Kind::Heat)
    {
        return Ok(Data::Matrix(Matrix { rows: *rows, columns: *columns, values: floats(values) }));
    }
    if kind == Kind::Heat {
        return Err(format!("a heat map is of type [h][w]t, not {}", tree.type_name()));
    }
    let mut all = Vec::new();
    let found = match tree {
        Tree::Fields(fields) => named(fields, &mut all),
        tree => add("", tree, None, &mut all),
    };
    match found {
        Some(()) => Ok(Data::Series(all)),
        None => Err(format!("there is no plot of {}: it is for arrays of numbers", tree.type_name())),
    }
}

/// The series of the parts of a tuple or record.
fn named(fields: &[(String, Tree)], all: &mut Vec<Series>) -> Option<()> {
    let axis = fields.iter().find(|(name, _)| name == "x").and_then(|(_, tree)| match tree {
        Tree::Fixed(_, elem) => scalars(elem),
        _ => None,
    });
    let shown = fields.iter().filter(|(name, _)| axis.is_none() || name != "x");
    // A tuple's components are called by their numbers.
    shown.clone().try_for_each(|(name, tree)| add(name, tree, axis.as_deref(), all))?;
    if axis.is_some() && shown.count() == 1 {
        all.iter_mut().for_each(|s| s.name.clear());
    }
    Some(())
}

/// The series in an array.
fn add(name: &str, tree: &Tree, axis: Option<&[f64]>, all: &mut Vec<Series>) -> Option<()> {
    let Tree::Fixed(len, elem) = tree else { return None };
    let row_name = |i: usize| if name.is_empty() { i.to_string() } else { format!("{name} {i}") };
    match &**elem {
        Tree::Fixed(width, inner) => {
            let points = Points::of(inner)?;
            all.extend((0..*len).map(|i| points.series(row_name(i), i * width, (i + 1) * width, axis)));
        }
        Tree::Lists(offsets, inner) => {
            let points = Points::of(inner)?;
            let rows = offsets.slice::<i64>().windows(2).enumerate();
            all.extend(rows.map(|(i, w)| points.series(row_name(i), w[0] as usize, w[1] as usize, axis)));
        }
        elem => all.push(Points::of(elem)?.series(name.to_string(), 0, *len, axis)),
    }
    Some(())
}

/// Elements that are numbers, or pairs of them.
struct Points {
    x: Option<Vec<f64>>,
    y: Vec<f64>,
    integers: bool,
}

impl Points {
    fn of(elem: &Tree) -> Option<Points> {
        match elem {
            Tree::Scalars(a) => Some(Points { x: None, y: floats(a), integers: !a.prim().is_float() }),
            Tree::Fields(parts) => match &parts[..] {
                [(_, x), (_, y)] => Some(Points { x: scalars(x), y: scalars(y)?, integers: false }),
                _ => None,
            },
            _ => None,
        }
    }

    fn series(&self, name: String, start: usize, end: usize, axis: Option<&[f64]>) -> Series {
        let x = |i: usize| match (&self.x, axis) {
            (Some(x), _) => x[i],
            (None, Some(axis)) => axis.get(i - start).copied().unwrap_or(f64::NAN),
            (None, None) => (i - start) as f64,
        };
        Series { name, points: (start..end).map(|i| (x(i), self.y[i])).collect(), integers: self.integers }
    }
}

fn scalars(tree: &Tree) -> Option<Vec<f64>> {
    match tree {
        Tree::Scalars(array) => Some(floats(array)),
        _ => None,
    }
}

/// Any scalars as floats.
pub fn floats(array: &Array) -> Vec<f64> {
    fn all<T: Element>(array: &Array, f: impl Fn(T) -> f64) -> Vec<f64> {
        array.slice::<T>().iter().map(|x| f(*x)).collect()
    }
    match array.prim() {
        Prim::I8 => all(array, |x: i8| x.into()),
        Prim::I16 => all(array, |x: i16| x.into()),
        Prim::I32 => all(array, |x: i32| x.into()),
        Prim::I64 => all(array, |x: i64| x as f64),
        Prim::U8 => all(array, |x: u8| x.into()),
        Prim::U16 => all(array, |x: u16| x.into()),
        Prim::U32 => all(array, |x: u32| x.into()),
        Prim::U64 => all(array, |x: u64| x as f64),
        Prim::F16 => all(array, f16::to_f64),
        Prim::F32 => all(array, |x: f32| x.into()),
        Prim::F64 => all(array, |x: f64| x),
        Prim::Bool => all(array, |x: bool| f64::from(u8::from(x))),
    }
}
