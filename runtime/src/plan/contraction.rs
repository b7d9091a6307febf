//! Kernels with the shape of a product of matrices, and the arrays that they read.

use crate::prim::Prim;
use serde::{Deserialize, Serialize};

/// A kernel whose result at `[batch, row, column]` combines a function of `left[batch, row, k]` and `right[batch, column, k]` over all
/// `k`; a batch has any number of indices, or none.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Contraction {
    /// The results are those of a reduction, one per row of its space; else of a map, one per position.
    pub by_row: bool,
    /// Sizes of the dimensions of the results, but for the outermost one.
    pub inner: Vec<Sum>,
    /// Number of `k`.
    pub depth: Sum,
    /// Element type.
    pub prim: Prim,
    /// Combines.
    pub combine: Combine,
    /// The function of two elements.
    pub pair: Pair,
    /// Does not depend on the column.
    pub left: Factor,
    /// Does not depend on the row.
    pub right: Factor,
    /// The captured array of what results start from; else that is the initial value.
    pub initial: Option<usize>,
}

/// An operator of a contraction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Combine {
    Add,
    Mul,
    Min,
    Max,
}

/// The function of two elements that a contraction combines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Pair {
    Sum,
    Product,
    /// Of floats, how far they are from each other.
    Distance,
    /// Of floats, the square of that.
    Square,
}

/// An array of a contraction or transposition, and the index of an element.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Factor {
    /// Number of the captured array.
    pub array: usize,
    /// Index for batch, row, column and `k` of 0.
    pub first: Sum,
    /// Added per index of the batch, the outermost first.
    pub batch: Vec<Sum>,
    /// Added per row.
    pub row: Sum,
    /// Added per column.
    pub column: Sum,
    /// Added per `k`.
    pub depth: Sum,
}

/// A sum of products of a number and captured `i64`s, wrapped.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sum(pub Vec<(i64, Vec<usize>)>);

impl Sum {
    /// Its value, where these are the captures, of which scalars are words.
    pub fn value(&self, captures: &[u64]) -> i64 {
        let product = |(x, factors): &(i64, Vec<usize>)| {
            factors.iter().map(|i| captures[*i] as i64).fold(*x, i64::wrapping_mul)
        };
        self.0.iter().map(product).fold(0, i64::wrapping_add)
    }
}

/// Sizes of the products of a contraction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Products {
    /// Of the batch, the outermost first; none if there is one product.
    pub batch: Vec<usize>,
    /// Rows of each.
    pub rows: usize,
    /// Columns of each.
    pub columns: usize,
    /// Number of `k`.
    pub depth: usize,
}

impl Contraction {
    /// Its sizes, where these are the captures, over a space of so many rows and positions; none if there are no results, or no whole
    /// number of them.
    pub fn sizes(&self, captures: &[u64], rows: usize, positions: usize) -> Option<Products> {
        let size = |x: &Sum| usize::try_from(x.value(captures)).ok();
        let inner: Vec<usize> = self.inner.iter().map(size).collect::<Option<_>>()?;
        let product = inner.iter().try_fold(1, |all: usize, n| all.checked_mul(*n))?;
        let results = if self.by_row { rows } else { positions };
        let outermost = results.checked_div(product)?;
        let mut batch = [&[outermost], &inner[..]].concat();
        let (columns, rows) = (batch.pop()?, batch.pop()?);
        let sizes = Products { batch, rows, columns, depth: size(&self.depth)? };
        (outermost * product == results).then_some(sizes)
    }
}
