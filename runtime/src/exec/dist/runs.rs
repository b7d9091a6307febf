//! Sets of indices, as ranges one after the other.

use std::ops::Range;

/// Indices one after the other.
pub type Run = Range<u64>;

/// A word that says that the next one is a length.
const LONG: u64 = 1 << 63;

/// Indices in ascending order, as ranges that do not touch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Runs(Vec<Run>);

impl Runs {
    /// Of ranges in any order, which may overlap.
    pub fn of(mut all: Vec<Run>) -> Runs {
        all.sort_unstable_by_key(|r| r.start);
        let mut runs: Vec<Run> = Vec::new();
        for r in all.into_iter().filter(|r| !r.is_empty()) {
            match runs.last_mut().filter(|last| r.start <= last.end) {
                Some(last) => last.end = last.end.max(r.end),
                None => runs.push(r),
            }
        }
        Runs(runs)
    }

    /// The ranges.
    pub fn iter(&self) -> impl Iterator<Item = &Run> {
        self.0.iter()
    }

    /// Number of indices.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|r| r.end - r.start).sum()
    }

    /// Both together.
    pub fn joined(self, other: &Runs) -> Runs {
        if self.0.is_empty() {
            return other.clone();
        }
        Runs::of(self.0.into_iter().chain(other.0.iter().cloned()).collect())
    }

    /// The parts of a range that are not in here.
    pub fn missing(&self, all: Run) -> Vec<Run> {
        let (mut missing, mut at) = (Vec::new(), all.start);
        let first = self.0.partition_point(|r| r.end <= all.start);
        for r in self.0[first..].iter().take_while(|r| r.start < all.end) {
            if at < r.start {
                missing.push(at..r.start);
            }
            at = r.end;
        }
        if at < all.end {
            missing.push(at..all.end);
        }
        missing
    }

    /// As words: a start, and where there is more than one index, how many.
    pub fn to_words(&self) -> Vec<u8> {
        let words = |r: &Run| match r.end - r.start {
            1 => vec![r.start],
            n => vec![r.start | LONG, n],
        };
        self.0.iter().flat_map(words).flat_map(u64::to_le_bytes).collect()
    }

    /// From words.
    pub fn from_words(bytes: &[u8]) -> Runs {
        let number = |b: &[u8]| u64::from_le_bytes(std::array::from_fn(|i| b[i]));
        let mut words = bytes.chunks_exact(8).map(number);
        let mut runs = Vec::new();
        while let Some(word) = words.next() {
            let start = word & !LONG;
            let n = if word & LONG == 0 { 1 } else { words.next().unwrap_or(0) };
            runs.push(start..start + n);
        }
        Runs(runs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(all: &[(u64, u64)]) -> Runs {
        Runs::of(all.iter().map(|(a, b)| *a..*b).collect())
    }

    fn missing(of: &Runs, start: u64, end: u64) -> Vec<(u64, u64)> {
        of.missing(start..end).into_iter().map(|r| (r.start, r.end)).collect()
    }

    #[test]
    fn ranges_come_together() {
        let some = runs(&[(7, 9), (1, 2), (2, 3), (8, 12), (5, 5)]);
        assert_eq!(some.0, [1..3, 7..12]);
        assert_eq!(some.count(), 7);
        assert_eq!(some.clone().joined(&runs(&[(3, 7)])).count(), 11);
        assert_eq!(missing(&some, 0, 20), [(0, 1), (3, 7), (12, 20)]);
        assert_eq!(missing(&some, 2, 8), [(3, 7)]);
        assert_eq!(missing(&some, 8, 10), []);
        assert_eq!(missing(&Runs::default(), 8, 10), [(8, 10)]);
    }

    #[test]
    fn single_indices_are_one_word() {
        let some = runs(&[(1, 3), (7, 12), (20, 21)]);
        assert_eq!(Runs::from_words(&some.to_words()), some);
        assert_eq!(some.to_words().len(), 5 * 8);
    }
}
