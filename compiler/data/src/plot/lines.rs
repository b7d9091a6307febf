//! Lines, curves and points.

use super::axes::{Corner, Frame, chart, legend, range};
use super::drawing::{Color, Drawing};
use super::series::Series;
use super::{Kind, NAMED, Style, color, note};
use std::ops::Range;

/// Points of a line are drawn as they are up to so many for each pixel.
const DENSITY: usize = 4;
/// Points of so few elements are marked.
const MARKED: usize = 40;

/// Draws all series into one chart.
pub fn draw(drawing: &mut Drawing, all: &[Series], style: &Style) {
    let points = || all.iter().flat_map(|s| s.points.iter());
    let both = |p: &&(f64, f64)| p.0.is_finite() && p.1.is_finite();
    let x = range(points().filter(both).map(|p| p.0), 0.02);
    let y = range(points().filter(both).map(|p| p.1), 0.05);
    let corner = emptiest_corner(all, &x, &y);
    let frame = chart(drawing, (x, y), style, note(all).as_deref());
    for (i, series) in all.iter().enumerate() {
        let color = color(i, all.len());
        let thin = thinned(&series.points, style.size.0 as usize);
        match style.kind {
            Kind::Points => dots(drawing, &frame, &thin, color, 2),
            _ => {
                line(drawing, &frame, &thin, color);
                if series.points.len() <= MARKED {
                    dots(drawing, &frame, &thin, color, 3);
                }
            }
        }
    }
    if all.len() <= NAMED && all.iter().any(|s| !s.name.is_empty()) {
        let names = all.iter().enumerate().map(|(i, s)| (s.name.clone(), color(i, all.len())));
        legend(drawing, &frame, &names.collect::<Vec<_>>(), corner);
    }
}

/// Corner in which names cover the fewest points.
fn emptiest_corner(all: &[Series], x: &Range<f64>, y: &Range<f64>) -> Corner {
    // In each corner: a quarter of the width and three tenths of the height.
    let mut points = [0; 4];
    for point in all.iter().flat_map(|s| &s.points) {
        let at = |v: f64, range: &Range<f64>| (v - range.start) / (range.end - range.start);
        let (x, y) = (at(point.0, x), at(point.1, y));
        let sides = [(x > 0.75, y > 0.7), (x < 0.25, y > 0.7), (x > 0.75, y < 0.3), (x < 0.25, y < 0.3)];
        points.iter_mut().zip(sides).for_each(|(n, (a, b))| *n += usize::from(a && b));
    }
    let corners = [(true, true), (false, true), (true, false), (false, false)];
    let fewest = points.into_iter().zip(corners).min_by_key(|(n, _)| *n);
    let (right, upper) = fewest.map_or((true, true), |(_, corner)| corner);
    Corner { right, upper }
}

fn dots(drawing: &mut Drawing, frame: &Frame, points: &[(f64, f64)], color: Color, size: u32) {
    let finite = points.iter().filter(|p| p.0.is_finite() && p.1.is_finite());
    finite.for_each(|p| drawing.circle(frame.at(*p), size, color));
}

/// A line that is interrupted where a value is not finite.
fn line(drawing: &mut Drawing, frame: &Frame, points: &[(f64, f64)], color: Color) {
    for stretch in points.split(|p| !p.0.is_finite() || !p.1.is_finite()) {
        match stretch {
            [] => {}
            [alone] => drawing.circle(frame.at(*alone), 2, color),
            stretch => drawing.line(stretch.iter().map(|p| frame.at(*p)), color, 2),
        }
    }
}

/// Of very many points in the order of their axis, the lowest and highest of every stretch: the picture is the same.
fn thinned(points: &[(f64, f64)], width: usize) -> Vec<(f64, f64)> {
    let in_order = points.windows(2).all(|w| w[0].0 <= w[1].0);
    if points.len() <= DENSITY * width || !in_order {
        return points.to_vec();
    }
    let mut thin = Vec::with_capacity(2 * width + 2);
    for stretch in points.chunks(points.len().div_ceil(width)) {
        let finite = || stretch.iter().enumerate().filter(|(_, p)| p.1.is_finite());
        let low = finite().min_by(|a, b| a.1.1.total_cmp(&b.1.1));
        let high = finite().max_by(|a, b| a.1.1.total_cmp(&b.1.1));
        match (low, high) {
            (Some(a), Some(b)) => {
                let (first, second) = if a.0 <= b.0 { (a, b) } else { (b, a) };
                thin.push(*first.1);
                if first.0 != second.0 {
                    thin.push(*second.1);
                }
            }
            // A hole in the line.
            _ => thin.extend(stretch.first()),
        }
    }
    thin
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_peaks_and_holes() {
        let mut points: Vec<(f64, f64)> = (0..100_000).map(|i| (f64::from(i), 0.0)).collect();
        points[54_321].1 = 9.0;
        points[54_322].1 = -9.0;
        points[70_000..71_000].iter_mut().for_each(|p| p.1 = f64::NAN);
        let thin = thinned(&points, 500);
        assert!(thin.len() <= 1000);
        assert!(thin.contains(&(54_321.0, 9.0)) && thin.contains(&(54_322.0, -9.0)));
        assert!(thin.iter().any(|p| p.1.is_nan()));
    }
}
