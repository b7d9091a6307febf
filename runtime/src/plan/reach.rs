//! Elements of captured arrays that the positions of a kernel read, for ranks that compute a part of them each.

use super::{Kernel, Operand, Sum};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;

/// Facts about a kernel for distributing it among ranks.
#[derive(Serialize, Deserialize)]
pub struct ForRanks {
    /// Host scalars that the sums in `reads` are over.
    pub scalars: Vec<Operand>,
    /// Per capture of the kernel.
    pub reads: Vec<Reach>,
    /// Per capture, true for an array or a rope.
    pub arrays: Vec<bool>,
    /// The elements that positions read and write of the array that they update in place, if it is one and this can be told.
    pub own: Option<Reach>,
    /// The kernel with the indices and values of its scatters, or of its histogram, as ordinary results.
    pub listed: Option<Box<Kernel>>,
    /// Kernels that compute the indices of its indirect reads, where they can be computed before. Each runs when the elements are fetched that those before it have asked for.
    pub inspectors: Vec<Inspector>,
}

impl ForRanks {
    /// True if an inspector computes the indices at which a capture is read.
    pub fn is_inspected(&self, capture: usize) -> bool {
        self.inspectors.iter().any(|i| i.of.contains(&capture))
    }
}

/// A kernel that computes the indices of another one's indirect reads.
#[derive(Serialize, Deserialize)]
pub struct Inspector {
    /// A map over the same space, or over its rows.
    pub kernel: Box<Kernel>,
    /// Per result: number of the capture that is read there.
    pub of: Vec<usize>,
    /// Per result: true if it is the last index of the range that the result before begins.
    pub is_last: Vec<bool>,
    /// Over the rows.
    pub by_row: bool,
}

/// The elements of an array that a kernel reads.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Reach {
    /// No array, or any element.
    Any,
    /// Elements inside one of these.
    Within(Vec<Stretch>),
}

/// An index that grows with the number of the position or of the row.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Stretch {
    /// The number.
    pub by: Per,
    /// Of the number counts the quotient by this: the index of the outermost dimension.
    pub divisor: Sum,
    /// Growth of the index with it.
    pub stride: Sum,
    /// The index less that is at least each of these.
    pub least: Vec<Sum>,
    /// And at most each of these.
    pub most: Vec<Sum>,
}

/// A number that an index depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Per {
    /// The position.
    Position,
    /// The row.
    Row,
    /// None.
    Nothing,
}

impl Sum {
    /// Its value over the integers, if it and all on the way are `i64`s.
    pub fn exact(&self, scalars: &[i64]) -> Option<i64> {
        let product = |(x, factors): &(i64, Vec<usize>)| {
            factors.iter().try_fold(*x, |product, i| product.checked_mul(*scalars.get(*i)?))
        };
        self.0.iter().try_fold(0i64, |sum, term| sum.checked_add(product(term)?))
    }
}

impl Stretch {
    /// True if the index is the number itself.
    fn is_number(&self) -> bool {
        let zero = |sums: &[Sum]| sums == [Sum::default()];
        self.by != Per::Nothing
            && self.stride == Sum(vec![(1, vec![])])
            && zero(&self.least)
            && zero(&self.most)
    }

    /// The indices for these rows and positions, neither empty; none if they cannot be told.
    fn indices(&self, scalars: &[i64], rows: &Range<usize>, positions: &Range<usize>) -> Option<(i64, i64)> {
        let stride = self.stride.exact(scalars)?;
        let least = self.least.iter().map(|s| s.exact(scalars)).collect::<Option<Vec<i64>>>()?;
        let most = self.most.iter().map(|s| s.exact(scalars)).collect::<Option<Vec<i64>>>()?;
        let (least, most) = (least.into_iter().max()?, most.into_iter().min()?);
        let numbers = match self.by {
            Per::Position => positions,
            Per::Row => rows,
            Per::Nothing => return Some((least, most)),
        };
        let divisor = self.divisor.exact(scalars).filter(|d| *d > 0)?;
        let ends = [numbers.start, numbers.end - 1].map(|n| stride.checked_mul(n as i64 / divisor));
        let (a, b) = (ends[0]?, ends[1]?);
        Some((a.min(b).checked_add(least)?, a.max(b).checked_add(most)?))
    }
}

impl Reach {
    /// The elements of an array of `len` that these rows and positions read at most.
    pub fn elements(
        &self,
        scalars: &[i64],
        rows: Range<usize>,
        positions: Range<usize>,
        len: usize,
    ) -> Range<usize> {
        let Reach::Within(all) = self else { return 0..len };
        if positions.is_empty() && rows.is_empty() {
            return 0..0;
        }
        let (rows, positions) = (at_least_one(rows), at_least_one(positions));
        let mut hull: Option<(i64, i64)> = None;
        for stretch in all {
            let Some((least, most)) = stretch.indices(scalars, &rows, &positions) else { return 0..len };
            hull = Some(hull.map_or((least, most), |(a, b)| (a.min(least), b.max(most))));
        }
        let Some((least, most)) = hull else { return 0..0 };
        let clamped = |i: i64| i.clamp(0, len as i64) as usize;
        let (start, end) = (clamped(least), clamped(most.saturating_add(1)));
        start..end.max(start)
    }

    /// True if every position reads the element of its number and no other.
    pub fn is_aligned(&self) -> bool {
        matches!(self, Reach::Within(all) if all.iter().all(|s| s.by == Per::Position && s.is_number()))
    }
}

/// Without positions a row is looked at all the same.
fn at_least_one(range: Range<usize>) -> Range<usize> {
    range.start..range.end.max(range.start + 1)
}

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let constant = |sums: &[Sum]| match sums {
            [Sum(terms)] if terms.is_empty() => Some(0),
            [Sum(terms)] => match terms[..] {
                [(n, ref factors)] if factors.is_empty() => Some(n),
                _ => None,
            },
            _ => None,
        };
        match self {
            Reach::Any => write!(f, "any element"),
            _ if self.is_aligned() => write!(f, "aligned"),
            Reach::Within(all) => {
                let one = Sum(vec![(1, vec![])]);
                let words = |s: &Stretch| match (s.by, constant(&s.least), constant(&s.most)) {
                    (Per::Position, ..) if s.divisor != one => "a range of its row".into(),
                    (Per::Position, Some(a), Some(b)) if a == b => format!("shifted by {a}"),
                    (Per::Position, Some(a), Some(b)) => format!("from {a} to {b} around its position"),
                    (Per::Position, ..) => "a range around its position".into(),
                    (Per::Row, ..) => "a range of its row".into(),
                    (Per::Nothing, ..) => "the same range everywhere".to_string(),
                };
                let mut words: Vec<String> = all.iter().map(words).collect();
                words.dedup();
                write!(f, "{}", words.join("; "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn constant(n: i64) -> Sum {
        Sum(if n == 0 { vec![] } else { vec![(n, vec![])] })
    }

    fn stretch(by: Per, stride: i64, least: i64, most: i64) -> Reach {
        let (stride, least, most) = (constant(stride), vec![constant(least)], vec![constant(most)]);
        Reach::Within(vec![Stretch { by, divisor: constant(1), stride, least, most }])
    }

    #[test]
    fn elements_of_positions_and_rows() {
        let all = |r: Reach| r.elements(&[], 2..4, 20..40, 100);
        assert_eq!(all(stretch(Per::Position, 1, 0, 0)), 20..40);
        assert_eq!(all(stretch(Per::Position, 1, -1, 1)), 19..41);
        assert_eq!(all(stretch(Per::Position, -1, 99, 99)), 60..80);
        assert_eq!(all(stretch(Per::Row, 10, 0, 9)), 20..40);
        assert_eq!(all(stretch(Per::Nothing, 0, 5, 7)), 5..8);
        assert_eq!(all(stretch(Per::Position, 3, -100, 50)), 0..100);
        assert_eq!(all(Reach::Any), 0..100);
        let Reach::Within(mut by_row) = stretch(Per::Position, 10, 0, 9) else { panic!("a stretch") };
        by_row[0].divisor = constant(10);
        assert_eq!(Reach::Within(by_row).elements(&[], 0..1, 25..41, 100), 20..50);
    }

    #[test]
    fn what_is_no_number_is_everything() {
        let huge = Sum(vec![(i64::MAX, vec![]), (1, vec![0])]);
        let (by, divisor, stride) = (Per::Nothing, constant(1), constant(0));
        let s = Stretch { by, divisor, stride, least: vec![constant(0)], most: vec![huge] };
        assert_eq!(Reach::Within(vec![s]).elements(&[5], 0..1, 0..1, 9), 0..9);
    }

    #[test]
    fn no_positions_read_nothing() {
        assert_eq!(stretch(Per::Position, 1, 0, 0).elements(&[], 3..3, 7..7, 9), 0..0);
    }
}
