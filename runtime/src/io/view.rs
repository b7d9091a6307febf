//! A value's columns as a tree in the form of its type.

use crate::{Array, Column, Fields, Prim, Scalar, Value, ValueType};

/// Part of a value. Everything below arrays is indexed by row: row `i` of a dimension covers the rows
/// [`Lengths::row`] of its elements.
pub enum View<'a> {
    /// A scalar outside any array.
    Scalar(Scalar),
    /// Scalars inside arrays.
    Data(&'a Array),
    /// Components.
    Tuple(Vec<View<'a>>),
    /// Fields in the order of their names, and the record's type, which knows in which order they are shown.
    Record(Vec<(&'a str, View<'a>)>, &'a Fields<ValueType>),
    /// The constructors' numbers, and for each constructor its name and payload.
    Sum(Box<View<'a>>, Vec<(&'a str, Vec<View<'a>>)>),
    /// An array dimension.
    Array {
        /// Lengths of the rows.
        lengths: Lengths<'a>,
        /// The elements of all rows.
        elem: Box<View<'a>>,
        /// The array's type.
        ty: &'a ValueType,
    },
    /// Rows of bytes, each of which is shown as a text if it is one.
    Texts(Lengths<'a>, &'a [u8]),
    /// A value of a hidden type, by the type's name, and what it is.
    Opaque(&'a str, Box<View<'a>>),
}

/// Row lengths of a dimension.
#[derive(Clone, Copy)]
pub enum Lengths<'a> {
    /// The same for all.
    Uniform(i64),
    /// Start of each row, then the end of the last one.
    Offsets(&'a [i64]),
}

impl Lengths<'_> {
    /// First element and length of row `i`.
    pub fn row(&self, i: usize) -> (usize, usize) {
        match self {
            Lengths::Uniform(n) => (i * *n as usize, *n as usize),
            Lengths::Offsets(offsets) => (offsets[i] as usize, (offsets[i + 1] - offsets[i]) as usize),
        }
    }

    /// Number of elements in the first `rows` rows.
    pub fn total(&self, rows: usize) -> usize {
        match self {
            Lengths::Uniform(n) => rows * *n as usize,
            Lengths::Offsets(offsets) => offsets[rows] as usize,
        }
    }
}

impl<'a> View<'a> {
    /// The tree of a value; an error says in which way the columns do not fit the type (a bug in whoever made them).
    pub fn new(value: &'a Value) -> Result<View<'a>, String> {
        let mut columns = value.columns.iter();
        let view = View::build(&value.ty, &mut columns, None)?;
        match columns.next() {
            None => Ok(view),
            Some(_) => Err("a value has more columns than its type".into()),
        }
    }

    /// The same with all rows of bytes as [`View::Texts`].
    pub fn with_texts(self) -> View<'a> {
        let all = |views: Vec<View<'a>>| views.into_iter().map(View::with_texts).collect();
        match self {
            View::Array { lengths, elem, ty } => match *elem {
                View::Data(data) if data.prim() == Prim::U8 => View::Texts(lengths, data.slice::<u8>()),
                elem => View::Array { lengths, elem: Box::new(elem.with_texts()), ty },
            },
            View::Tuple(views) => View::Tuple(all(views)),
            View::Record(fields, order) => {
                View::Record(fields.into_iter().map(|(name, v)| (name, v.with_texts())).collect(), order)
            }
            View::Sum(tag, cases) => {
                View::Sum(tag, cases.into_iter().map(|(name, views)| (name, all(views))).collect())
            }
            other => other,
        }
    }

    /// `rows`: how many rows the enclosing dimensions have; `None` outside arrays.
    fn build(
        ty: &'a ValueType,
        columns: &mut std::slice::Iter<'a, Column>,
        rows: Option<usize>,
    ) -> Result<View<'a>, String> {
        match ty {
            ValueType::Tuple(ts) => {
                let views = ts.iter().map(|t| View::build(t, columns, rows));
                Ok(View::Tuple(views.collect::<Result<_, _>>()?))
            }
            ValueType::Record(fs) => {
                let views = fs.iter().map(|(n, t)| Ok((n.as_str(), View::build(t, columns, rows)?)));
                Ok(View::Record(views.collect::<Result<_, String>>()?, fs))
            }
            ValueType::Sum(cs) => {
                let tag = View::scalars(Prim::of_constructors(cs.len()), columns.next(), rows)?;
                let mut cases = Vec::with_capacity(cs.len());
                for (name, ts) in cs {
                    let payload: Result<_, String> =
                        ts.iter().map(|t| View::build(t, columns, rows)).collect();
                    cases.push((name.as_str(), payload?));
                }
                Ok(View::Sum(Box::new(tag), cases))
            }
            ValueType::Opaque { name, of } => {
                Ok(View::Opaque(name, Box::new(View::build(of, columns, rows)?)))
            }
            ValueType::Prim(prim) => View::scalars(*prim, columns.next(), rows),
            ValueType::Array { ragged, elem, .. } => {
                let outer = rows.unwrap_or(1);
                let lengths = match columns.next() {
                    Some(Column::Size(n)) if !ragged && *n >= 0 => Lengths::Uniform(*n),
                    Some(Column::Offsets(offsets)) if *ragged => checked_offsets(offsets, outer)?,
                    Some(Column::Size(n)) if !ragged => return Err(format!("a value has size {n}")),
                    _ => return Err("a size or a descriptor is something else".into()),
                };
                if let Lengths::Uniform(n) = lengths {
                    outer.checked_mul(n as usize).ok_or("a value's size is out of range")?;
                }
                let elem = View::build(elem, columns, Some(lengths.total(outer)))?;
                Ok(View::Array { lengths, elem: Box::new(elem), ty })
            }
        }
    }

    /// A scalar, or one for each of the rows.
    fn scalars(prim: Prim, column: Option<&'a Column>, rows: Option<usize>) -> Result<View<'a>, String> {
        match (column, rows) {
            (Some(Column::Scalar(x)), None) if x.prim() == prim => Ok(View::Scalar(*x)),
            (Some(Column::Data(data)), Some(n)) if data.prim() == prim && data.len() == n => {
                Ok(View::Data(data))
            }
            (Some(Column::Data(data)), Some(n)) if data.prim() == prim => {
                Err(format!("a value of {n} elements has a column of {}", data.len()))
            }
            _ => Err(format!("a column of type {prim} is something else")),
        }
    }
}

impl View<'_> {
    /// The number of the constructor in row `i` of a sum's numbers.
    pub fn tag(&self, row: usize) -> usize {
        let scalar = match self {
            View::Scalar(x) => *x,
            View::Data(data) => data.get(row),
            _ => Scalar::U8(0),
        };
        scalar.as_i64().unwrap_or(0) as usize
    }
}

fn checked_offsets(offsets: &Array, rows: usize) -> Result<Lengths<'_>, String> {
    if offsets.prim() != Prim::I64 {
        return Err("a descriptor's offsets are not i64".into());
    }
    let offsets = offsets.slice::<i64>();
    let valid = offsets.len() == rows + 1 && offsets[0] == 0 && offsets.windows(2).all(|w| w[0] <= w[1]);
    if valid {
        Ok(Lengths::Offsets(offsets))
    } else {
        Err(format!("a descriptor of {rows} rows is malformed"))
    }
}
