//! Histograms.

use super::axes::{Corner, chart, legend, range};
use super::drawing::Drawing;
use super::series::Series;
use super::{NAMED, Style, color, note};

/// The most bins.
const BINS: usize = 100;

/// Bins of one width.
struct Bins {
    first: f64,
    width: f64,
    count: usize,
}

impl Bins {
    /// Integers of a small range have a bin each; else the width follows from the quartiles (Freedman and Diaconis's rule).
    fn of(sorted: &[f64], integers: bool) -> Bins {
        let (Some(low), Some(high)) = (sorted.first(), sorted.last()) else {
            return Bins { first: 0.0, width: 1.0, count: 1 };
        };
        let span = high - low;
        if integers && span < BINS as f64 {
            return Bins { first: low - 0.5, width: 1.0, count: span as usize + 1 };
        }
        if span == 0.0 || !span.is_finite() {
            let width = if low.abs() > 1.0 { low.abs() * 0.1 } else { 1.0 };
            return Bins { first: low - width / 2.0, width, count: 1 };
        }
        let quartile = |q: usize| sorted[(sorted.len() - 1) * q / 4];
        let wanted = 2.0 * (quartile(3) - quartile(1)) / (sorted.len() as f64).cbrt();
        let count = if wanted > 0.0 { (span / wanted).ceil() } else { BINS as f64 };
        let count = count.clamp(5.0, BINS as f64);
        Bins { first: *low, width: span / count, count: count as usize }
    }

    fn counts(&self, sorted: &[f64]) -> Vec<usize> {
        let mut counts = vec![0; self.count];
        for x in sorted {
            let bin = ((x - self.first) / self.width) as usize;
            counts[bin.min(self.count - 1)] += 1;
        }
        counts
    }
}

/// Draws how often values occur; of several series one over the other.
pub fn draw(drawing: &mut Drawing, all: &[Series], style: &Style) {
    let finite = |s: &Series| s.points.iter().map(|p| p.1).filter(|y| y.is_finite()).collect::<Vec<f64>>();
    let mut everything: Vec<f64> = all.iter().flat_map(finite).collect();
    everything.sort_by(f64::total_cmp);
    let bins = Bins::of(&everything, all.iter().all(|s| s.integers));
    let counts: Vec<Vec<usize>> = all.iter().map(|s| bins.counts(&finite(s))).collect();
    let highest = counts.iter().flatten().copied().max().unwrap_or(0).max(1) as f64;
    let end = bins.first + bins.width * bins.count as f64;
    let note = note(all);
    let x = range([bins.first, end].into_iter(), 0.02);
    let frame = chart(drawing, (x, 0.0..highest * 1.05), style, note.as_deref());
    let opacity = if all.len() == 1 { 0.8 } else { 0.5 };
    // Between bars that are not too thin a pixel stays free.
    let gap = if bins.count < 200 { 1.0 } else { 0.0 };
    for (i, counts) in counts.iter().enumerate() {
        for (bin, n) in counts.iter().enumerate().filter(|(_, n)| **n > 0) {
            let left = bins.first + bins.width * bin as f64;
            let lower = frame.at((left, 0.0));
            let upper = frame.at((left + bins.width, *n as f64));
            drawing.rectangle(lower, ((upper.0 - gap).max(lower.0), upper.1), color(i, all.len()), opacity);
        }
    }
    if (2..=NAMED).contains(&all.len()) {
        let names = all.iter().enumerate().map(|(i, s)| (s.name.clone(), color(i, all.len())));
        legend(drawing, &frame, &names.collect::<Vec<_>>(), Corner { right: true, upper: true });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_a_bin() {
        for (values, integers) in [
            (vec![1.0, 2.0, 2.0, 5.0], true),
            (vec![0.5, 0.25, 7.0], false),
            (vec![3.0; 9], false),
            (vec![], false),
        ] {
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            let bins = Bins::of(&sorted, integers);
            assert_eq!(bins.counts(&sorted).iter().sum::<usize>(), values.len());
        }
        assert_eq!(Bins::of(&[1.0, 5.0], true).counts(&[1.0, 5.0]), [1, 0, 0, 0, 1]);
    }
}
