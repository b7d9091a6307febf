//! Lines, curves and points.

use super::axes::{Area, Chart, chart, range};
use super::series::Series;
use super::{Drawn, FONT, INK, Kind, NAMED, Style, color, failed, note};
use plotters::prelude::*;
use std::ops::Range;

/// Points of a line are drawn as they are up to so many for each pixel.
const DENSITY: usize = 4;
/// Points of so few elements are marked.
const MARKED: usize = 40;

/// Draws all series into one chart.
pub fn draw(area: &Area, all: &[Series], style: &Style) -> Drawn {
    let points = || all.iter().flat_map(|s| s.points.iter());
    let both = |p: &&(f64, f64)| p.0.is_finite() && p.1.is_finite();
    let x = range(points().filter(both).map(|p| p.0), 0.02);
    let y = range(points().filter(both).map(|p| p.1), 0.05);
    let note = note(all);
    let corner = emptiest_corner(all, &x, &y);
    let mut chart = chart(area, (x, y), style, note.as_deref())?;
    let is_named = all.len() <= NAMED && all.iter().any(|s| !s.name.is_empty());
    for (i, series) in all.iter().enumerate() {
        let color = color(i, all.len());
        let thin = thinned(&series.points, style.size.0 as usize);
        match style.kind {
            Kind::Points => dots(&mut chart, &thin, color, 2)?,
            _ => {
                line(&mut chart, &thin, color)?;
                if series.points.len() <= MARKED {
                    dots(&mut chart, &thin, color, 3)?;
                }
            }
        }
        if is_named {
            let name = chart.draw_series(LineSeries::new(std::iter::empty(), color)).map_err(failed)?;
            let key = move |(x, y)| Rectangle::new([(x, y - 2), (x + 16, y + 1)], color.filled());
            name.label(series.name.clone()).legend(key);
        }
    }
    if is_named {
        let mut labels = chart.configure_series_labels();
        labels.position(corner).background_style(WHITE.mix(0.85));
        labels.border_style(RGBColor(210, 210, 210)).label_font((FONT, 13).into_font().color(&INK));
        labels.draw().map_err(failed)?;
    }
    Ok(())
}

/// Where names cover the fewest points.
fn emptiest_corner(all: &[Series], x: &Range<f64>, y: &Range<f64>) -> SeriesLabelPosition {
    use SeriesLabelPosition::{LowerLeft, LowerRight, UpperLeft, UpperRight};
    // In each corner: a quarter of the width and three tenths of the height.
    let mut points = [0; 4];
    for point in all.iter().flat_map(|s| &s.points) {
        let at = |v: f64, range: &Range<f64>| (v - range.start) / (range.end - range.start);
        let (x, y) = (at(point.0, x), at(point.1, y));
        let sides = [(x > 0.75, y > 0.7), (x < 0.25, y > 0.7), (x > 0.75, y < 0.3), (x < 0.25, y < 0.3)];
        points.iter_mut().zip(sides).for_each(|(n, (a, b))| *n += usize::from(a && b));
    }
    let corners = [UpperRight, UpperLeft, LowerRight, LowerLeft];
    let fewest = points.into_iter().zip(corners).min_by_key(|(n, _)| *n);
    fewest.map_or(UpperRight, |(_, corner)| corner)
}

fn dots(chart: &mut Chart, points: &[(f64, f64)], color: RGBColor, size: i32) -> Drawn {
    let finite = points.iter().filter(|p| p.0.is_finite() && p.1.is_finite());
    let dots = finite.map(|p| Circle::new(*p, size, color.filled()));
    chart.draw_series(dots).map(drop).map_err(failed)
}

/// A line that is interrupted where a value is not finite.
fn line(chart: &mut Chart, points: &[(f64, f64)], color: RGBColor) -> Drawn {
    for stretch in points.split(|p| !p.0.is_finite() || !p.1.is_finite()) {
        match stretch {
            [] => {}
            [alone] => {
                chart.draw_series([Circle::new(*alone, 2, color.filled())]).map_err(failed)?;
            }
            stretch => {
                let line = LineSeries::new(stretch.iter().copied(), color.stroke_width(2));
                chart.draw_series(line).map_err(failed)?;
            }
        }
    }
    Ok(())
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
