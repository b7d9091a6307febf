//! Arrays whose rows have lengths of their own, as offsets and elements.

use super::{Builder, FromPar, IntoPar, Mismatch};
use par_runtime::io::view::View;
use std::ops::Range;

/// `[n][]t`: row `i` is `values[offsets[i]..offsets[i + 1]]`. The values are a `Vec`, or `Ragged` themselves for more
/// dimensions; the elements are copied as one piece.
///
/// ```
/// use par::Ragged;
///
/// let rows = Ragged::from_rows([vec![1, 2], vec![], vec![3]]);
/// assert_eq!((rows.len(), rows.row(0), rows.row(1)), (3, &[1, 2][..], &[][..]));
/// assert_eq!((rows.offsets(), rows.values()), (&[0, 2, 2, 3][..], &vec![1, 2, 3]));
/// assert!(Ragged::new(vec![0, 5], vec![1, 2, 3]).is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ragged<V> {
    offsets: Vec<usize>,
    values: V,
}

/// Element type of the rows of a [`Ragged`].
pub trait Rows {
    /// Number of elements.
    fn count(&self) -> usize;

    /// Adds elements to a builder of elements.
    fn push_rows(&self, rows: Range<usize>, to: &mut Builder) -> Result<(), Mismatch>;
}

impl<T: IntoPar> Rows for Vec<T> {
    fn count(&self) -> usize {
        self.len()
    }

    fn push_rows(&self, rows: Range<usize>, to: &mut Builder) -> Result<(), Mismatch> {
        T::write_all_to(&self[rows], to)
    }
}

impl<V: Rows> Rows for Ragged<V> {
    fn count(&self) -> usize {
        self.len()
    }

    fn push_rows(&self, rows: Range<usize>, to: &mut Builder) -> Result<(), Mismatch> {
        let offsets = &self.offsets[rows.start..=rows.end];
        let elements = to.arrays(offsets.windows(2).map(|w| w[1] - w[0]))?;
        self.values.push_rows(offsets[0]..offsets[offsets.len() - 1], elements)
    }
}

impl<V: Rows> Ragged<V> {
    /// From offsets, one more than there are rows: they begin with 0, never decrease and end with the number of values.
    pub fn new(offsets: Vec<usize>, values: V) -> Result<Ragged<V>, Mismatch> {
        let fits = offsets.first() == Some(&0) && offsets.last() == Some(&values.count());
        match fits && offsets.is_sorted() {
            true => Ok(Ragged { offsets, values }),
            false => Err(Mismatch::new(format!(
                "offsets begin with 0, never decrease, and end with the number of values, here {}",
                values.count()
            ))),
        }
    }

    /// From the lengths of the rows, whose sum is the number of values.
    pub fn from_lengths(lengths: &[usize], values: V) -> Result<Ragged<V>, Mismatch> {
        let mut end = 0usize;
        let ends = lengths.iter().map(|n| {
            end = end.saturating_add(*n);
            end
        });
        let offsets = std::iter::once(0).chain(ends).collect();
        Ragged::new(offsets, values)
    }
}

impl<V> Ragged<V> {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// There are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Offsets: the start of each row, then the end of the last one.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// The elements of all rows, in order.
    pub fn values(&self) -> &V {
        &self.values
    }

    /// Offsets and elements.
    pub fn into_parts(self) -> (Vec<usize>, V) {
        (self.offsets, self.values)
    }

    /// Range of the elements of a row. Panics if there is no such row.
    pub fn range(&self, row: usize) -> Range<usize> {
        self.offsets[row]..self.offsets[row + 1]
    }
}

impl<T> Ragged<Vec<T>> {
    /// From rows.
    pub fn from_rows(rows: impl IntoIterator<Item = impl IntoIterator<Item = T>>) -> Ragged<Vec<T>> {
        let (mut offsets, mut values) = (vec![0], Vec::new());
        for row in rows {
            values.extend(row);
            offsets.push(values.len());
        }
        Ragged { offsets, values }
    }

    /// A row. Panics if there is no such row.
    pub fn row(&self, row: usize) -> &[T] {
        &self.values[self.range(row)]
    }

    /// The rows, in order.
    pub fn rows(&self) -> impl Iterator<Item = &[T]> {
        (0..self.len()).map(|i| self.row(i))
    }
}

impl<V: Rows> IntoPar for Ragged<V> {
    fn write_to(&self, to: &mut Builder) -> Result<(), Mismatch> {
        self.push_rows(0..self.len(), to.arrays([self.len()])?)
    }
}

impl<V: FromRows> FromPar for Ragged<V> {
    fn fits(view: &View<'_>) -> Result<(), Mismatch> {
        let View::Array { elem, .. } = view else {
            return Err(Mismatch::new("only an array can be read as `Ragged`"));
        };
        Ragged::<V>::read_rows(elem, 0..0).map(|_| ())
    }

    fn from_view(view: &View<'_>, row: usize) -> Result<Ragged<V>, Mismatch> {
        let View::Array { lengths, elem, ty } = view else {
            return Err(Mismatch::new("only an array can be read as `Ragged`"));
        };
        let View::Array { .. } = &**elem else {
            return Err(Mismatch::new(format!("`{ty}` cannot be read as `Ragged`: it has one dimension")));
        };
        let (start, len) = lengths.row(row);
        Ragged::read_rows(elem, start..start + len)
    }
}

/// Types that a part of a column can be read as: the values of a [`Ragged`].
pub trait FromRows: Sized {
    /// The rows of a column.
    fn read_rows(view: &View<'_>, rows: Range<usize>) -> Result<Self, Mismatch>;
}

impl<T: FromPar> FromRows for Vec<T> {
    fn read_rows(view: &View<'_>, rows: Range<usize>) -> Result<Vec<T>, Mismatch> {
        T::from_rows(view, rows)
    }
}

impl<V: FromRows> FromRows for Ragged<V> {
    fn read_rows(view: &View<'_>, rows: Range<usize>) -> Result<Ragged<V>, Mismatch> {
        let View::Array { lengths, elem, .. } = view else {
            return Err(Mismatch::new("the value has fewer dimensions than the `Ragged` it is read as"));
        };
        let begin = |row: usize| lengths.total(row);
        let first = begin(rows.start);
        let offsets: Vec<usize> = (rows.start..=rows.end).map(|row| begin(row) - first).collect();
        let values = V::read_rows(elem, first..begin(rows.end))?;
        Ok(Ragged { offsets, values })
    }
}
