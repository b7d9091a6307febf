//! Values of the interpreters.
//!
//! An array of rank 1 is a leaf; one of higher rank is a node with its rows. So rows of any lengths need nothing
//! special, taking a row shares it, and a descriptor of CORE is an `i64` array of the same rank: its lengths. In
//! FLAT all arrays are leaves, and a descriptor holds its offsets.

use super::{Outcome, internal};
use par_runtime::array::Element;
use par_runtime::{Array, Column, Prim, Rope, Scalar};
use std::cell::OnceCell;
use std::rc::Rc;

/// A value.
#[derive(Clone, Debug)]
pub(super) enum Val {
    /// Not bound, or moved away at its last use.
    Unset,
    Scalar(Scalar),
    Leaf(Array),
    Node(Rc<Vec<Val>>),
    Desc(Rc<Desc>),
    Rope(Rc<Rope>),
}

/// A descriptor of FLAT, with what is made of it at most once.
#[derive(Debug)]
pub(super) struct Desc {
    pub(super) offsets: Array,
    pub(super) lengths: OnceCell<Array>,
    pub(super) segids: OnceCell<Array>,
}

impl Desc {
    pub(super) fn new(offsets: Array) -> Desc {
        Desc { offsets, lengths: OnceCell::new(), segids: OnceCell::new() }
    }

    pub(super) fn rows(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    pub(super) fn total(&self) -> i64 {
        self.offsets.slice::<i64>().last().copied().unwrap_or(0)
    }
}

/// Offsets from lengths, unless their total overflows.
pub(super) fn offsets_of(lengths: &[i64]) -> Option<Array> {
    let mut offsets = Vec::with_capacity(lengths.len() + 1);
    let mut total = 0i64;
    offsets.push(0);
    for len in lengths {
        total = total.checked_add((*len).max(0))?;
        offsets.push(total);
    }
    Some(Array::from_slice(&offsets))
}

/// Lengths from offsets.
pub(super) fn lengths_of(offsets: &Array) -> Array {
    let lengths: Vec<i64> = offsets.slice::<i64>().windows(2).map(|w| w[1] - w[0]).collect();
    Array::from_slice(&lengths)
}

impl Val {
    pub(super) fn i64(x: i64) -> Val {
        Val::Scalar(Scalar::I64(x))
    }

    pub(super) fn leaf<T: Element>(xs: &[T]) -> Val {
        Val::Leaf(Array::from_slice(xs))
    }

    pub(super) fn scalar(&self) -> Outcome<Scalar> {
        match self {
            Val::Scalar(x) => Ok(*x),
            _ => internal("a scalar is needed"),
        }
    }

    pub(super) fn array(self) -> Outcome<Array> {
        match self {
            Val::Leaf(a) => Ok(a),
            _ => internal("a flat array is needed"),
        }
    }

    pub(super) fn desc(&self) -> Outcome<Rc<Desc>> {
        match self {
            Val::Desc(d) => Ok(d.clone()),
            _ => internal("a descriptor is needed"),
        }
    }

    pub(super) fn rope(self) -> Outcome<Rc<Rope>> {
        match self {
            Val::Rope(b) => Ok(b),
            _ => internal("a rope is needed"),
        }
    }

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        match self {
            Val::Leaf(a) => a.len(),
            Val::Node(rows) => rows.len(),
            Val::Desc(d) => d.rows(),
            Val::Unset | Val::Scalar(_) | Val::Rope(_) => 0,
        }
    }

    /// Number of rows of all rows.
    pub(super) fn inner_rows(&self) -> usize {
        match self {
            Val::Node(rows) => rows.iter().fold(0, |sum, r| sum.saturating_add(r.len())),
            _ => 0,
        }
    }

    /// Number of scalars.
    pub(super) fn count(&self) -> usize {
        match self {
            Val::Leaf(a) => a.len(),
            Val::Node(rows) => rows.iter().fold(0, |sum, r| sum.saturating_add(r.count())),
            Val::Scalar(_) => 1,
            Val::Unset | Val::Desc(_) | Val::Rope(_) => 0,
        }
    }

    /// Row or element `i`.
    pub(super) fn row(&self, i: i64) -> Outcome<Val> {
        let inside = i >= 0 && i < self.len() as i64;
        match self {
            Val::Leaf(a) if inside => Ok(Val::Scalar(a.get(i as usize))),
            Val::Node(rows) if inside => Ok(rows[i as usize].clone()),
            Val::Rope(b) => match b.get(i) {
                Some(x) => Ok(Val::Scalar(x)),
                None => internal(format_args!("index {i} is in no array of the rope")),
            },
            _ => internal(format_args!("no check guards index {i} into {} rows", self.len())),
        }
    }

    /// All rows.
    pub(super) fn rows(&self) -> Vec<Val> {
        match self {
            Val::Leaf(a) => (0..a.len()).map(|i| Val::Scalar(a.get(i))).collect(),
            Val::Node(rows) => rows.to_vec(),
            _ => Vec::new(),
        }
    }

    /// An array of rank `rank` (at least 1) of these rows.
    pub(super) fn collect(rows: Vec<Val>, rank: usize, prim: Prim) -> Outcome<Val> {
        if rank > 1 {
            return Ok(Val::Node(Rc::new(rows)));
        }
        let mut a = Array::zeros(prim, rows.len());
        for (i, x) in rows.iter().enumerate() {
            a.set(i, x.scalar()?);
        }
        Ok(Val::Leaf(a))
    }

    /// Replaces the element or row at `indices`, in place where nothing is shared.
    pub(super) fn update(&mut self, places: &[Vec<i64>], value: Val) -> Outcome<()> {
        let Some((place, rest)) = places.split_first() else {
            *self = value;
            return Ok(());
        };
        if let [start, stride] = place[..] {
            return (0..value.len() as i64)
                .try_for_each(|j| self.update_row(start + j * stride, rest, value.row(j)?));
        }
        self.update_row(place[0], rest, value)
    }

    fn update_row(&mut self, i: i64, rest: &[Vec<i64>], value: Val) -> Outcome<()> {
        let inside = i >= 0 && i < self.len() as i64;
        match self {
            Val::Leaf(a) if inside => a.set(i as usize, value.scalar()?),
            Val::Node(rows) if inside => return Rc::make_mut(rows)[i as usize].update(rest, value),
            _ => return internal(format_args!("no check guards index {i} into {} rows", self.len())),
        }
        Ok(())
    }

    /// All scalars as one flat array.
    pub(super) fn flat(&self, prim: Prim) -> Array {
        if let Val::Leaf(a) = self {
            return a.clone();
        }
        let mut a = Array::zeros(prim, self.count());
        let mut rest = a.bytes_mut();
        self.for_each_leaf(&mut |leaf| {
            let (bytes, after) = std::mem::take(&mut rest).split_at_mut(leaf.bytes().len());
            bytes.copy_from_slice(leaf.bytes());
            rest = after;
        });
        a
    }

    fn for_each_leaf(&self, f: &mut impl FnMut(&Array)) {
        match self {
            Val::Leaf(a) => f(a),
            Val::Node(rows) => rows.iter().for_each(|r| r.for_each_leaf(f)),
            Val::Unset | Val::Scalar(_) | Val::Desc(_) | Val::Rope(_) => {}
        }
    }

    /// All integers, in order.
    pub(super) fn integers(&self) -> Vec<i64> {
        let mut integers = Vec::new();
        self.for_each_leaf(&mut |a| integers.extend((0..a.len()).map(|i| a.get(i).as_i64().unwrap_or(0))));
        integers
    }

    /// Cuts an array into rows of these lengths; `rank` is the result's.
    pub(super) fn cut(&self, lengths: &[i64], rank: usize, prim: Prim) -> Outcome<Val> {
        let total = lengths.iter().try_fold(0usize, |sum, n| sum.checked_add(usize::try_from(*n).ok()?));
        if total != Some(self.len()) {
            return internal(format_args!("{} rows cut into rows of other lengths", self.len()));
        }
        let rows = self.rows();
        let mut rest = rows.as_slice();
        let mut out = Vec::with_capacity(lengths.len());
        for n in lengths {
            let (row, after) = rest.split_at(*n as usize);
            out.push(Val::collect(row.to_vec(), rank - 1, prim)?);
            rest = after;
        }
        Ok(Val::Node(Rc::new(out)))
    }

    /// Value of a boundary column, with descriptors as their flat lengths.
    pub(super) fn from_column(column: Column) -> Val {
        match column {
            Column::Scalar(x) => Val::Scalar(x),
            Column::Size(n) => Val::i64(n),
            Column::Offsets(a) => Val::Leaf(lengths_of(&a)),
            Column::Data(a) => Val::Leaf(a),
        }
    }
}
