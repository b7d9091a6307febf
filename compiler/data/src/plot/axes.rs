//! Ranges, ticks and frames.

use super::drawing::{Anchor, Color, Drawing, width_of};
use super::{INK, Style};
use std::ops::Range;

/// Sizes of texts.
pub const LABEL: u32 = 11;
const TITLE: u32 = 15;
const AXIS: Color = Color(150, 150, 150);
const GRID: Color = Color(228, 228, 228);
/// Steps of an axis, at most.
const X_STEPS: usize = 10;
const Y_STEPS: usize = 8;

/// The part of a drawing that shows two ranges.
pub struct Frame {
    pub x: Range<f64>,
    pub y: Range<f64>,
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl Frame {
    /// Place of a point in the picture, for ranges of any size.
    pub fn at(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let part = |v: f64, r: &Range<f64>| (v / 2.0 - r.start / 2.0) / (r.end / 2.0 - r.start / 2.0);
        let (x, y) = (part(x, &self.x), part(y, &self.y));
        (self.left + x * (self.right - self.left), self.bottom - y * (self.bottom - self.top))
    }
}

/// Round numbers inside a range, as many as there may be and no more.
pub fn ticks(range: &Range<f64>, most: usize) -> Vec<f64> {
    let (low, high) = (range.start.min(range.end), range.start.max(range.end));
    let power = 10f64.powf(((high - low) / most as f64).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0, 20.0].map(|m| m * power);
    let count = |step: f64| ((high / step).floor() - (low / step).ceil() + 1.0).max(0.0);
    let step = steps.into_iter().find(|s| count(*s) <= most as f64).unwrap_or(high - low);
    let first = (low / step).ceil();
    (0..count(step) as usize).map(|i| (first + i as f64) * step).collect()
}

/// The smallest range of the finite numbers, a little wider; around a lone number, and 0 to 1 without any.
pub fn range(numbers: impl Iterator<Item = f64>, margin: f64) -> Range<f64> {
    let finite = numbers.filter(|x| x.is_finite());
    let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
    if low > high {
        return 0.0..1.0;
    }
    // Of numbers near the largest there is, no range has a finite length.
    let (low, high) = (low.max(-f64::MAX / 8.0), high.min(f64::MAX / 8.0));
    let wide = (high - low).max(low.abs().max(high.abs()) * 1e-9);
    let space = if wide == 0.0 {
        1.0
    } else if high == low {
        wide.max(low.abs() * 0.1)
    } else {
        wide * margin
    };
    (low - space)..(high + space)
}

/// A number beside an axis that shows `range`: as many digits as its steps need.
pub fn label(x: f64, range: &Range<f64>) -> String {
    let size = range.start.abs().max(range.end.abs());
    let step = (range.end - range.start) / 10.0;
    if x.abs() < step * 1e-6 {
        return "0".into();
    }
    if !(1e-4..1e7).contains(&size) {
        let digits = (size.log10().floor() - step.log10().floor()).clamp(0.0, 6.0) as usize;
        let text = format!("{x:.digits$e}");
        return match text.split_once('e') {
            Some((m, e)) if m.contains('.') => {
                format!("{}e{e}", m.trim_end_matches('0').trim_end_matches('.'))
            }
            _ => text,
        };
    }
    let digits = (-step.log10().floor()).clamp(0.0, 12.0) as usize;
    let text = format!("{x:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}

/// An empty chart with axes, title and note.
pub fn chart(
    drawing: &mut Drawing,
    (x, y): (Range<f64>, Range<f64>),
    style: &Style,
    note: Option<&str>,
) -> Frame {
    let x_labels: Vec<(f64, String)> = ticks(&x, X_STEPS).into_iter().map(|v| (v, label(v, &x))).collect();
    let y_labels: Vec<(f64, String)> = ticks(&y, Y_STEPS).into_iter().map(|v| (v, label(v, &y))).collect();
    let frame = frame(drawing, (x, y), &y_labels, style, 24.0);
    for (v, _) in &x_labels {
        let (at, _) = frame.at((*v, frame.y.start));
        drawing.line([(at, frame.top), (at, frame.bottom)], GRID, 1);
    }
    for (v, _) in &y_labels {
        let (_, at) = frame.at((frame.x.start, *v));
        drawing.line([(frame.left, at), (frame.right, at)], GRID, 1);
    }
    axes(drawing, &frame, &x_labels, &y_labels);
    if let Some(note) = note {
        write_note(drawing, note);
    }
    frame
}

/// The place that the axes, their labels and a title leave; at the right side so many pixels stay free.
pub fn frame(
    drawing: &mut Drawing,
    (x, y): (Range<f64>, Range<f64>),
    y_labels: &[(f64, String)],
    style: &Style,
    margin: f64,
) -> Frame {
    let (width, height) = drawing.extent();
    let widest = y_labels.iter().map(|l| width_of(&l.1, LABEL)).fold(0.0, f64::max);
    let top = if style.title.is_some() { 40.0 } else { 18.0 };
    if let Some(title) = &style.title {
        drawing.text((width / 2.0, 26.0), Anchor::Middle, TITLE, INK, title);
    }
    let left = (widest + 24.0).clamp(48.0, width / 2.0).round();
    // A drawing may be too small for all that.
    let (right, bottom) = ((width - margin).max(left + 1.0), (height - 36.0).max(top + 1.0));
    Frame { x, y, left, top, right, bottom }
}

/// Lines and labels of both axes.
pub fn axes(drawing: &mut Drawing, frame: &Frame, x_labels: &[(f64, String)], y_labels: &[(f64, String)]) {
    const TICK: f64 = 5.0;
    for (v, text) in x_labels {
        let (at, _) = frame.at((*v, frame.y.start));
        drawing.line([(at, frame.bottom), (at, frame.bottom + TICK)], AXIS, 1);
        drawing.text((at, frame.bottom + TICK + 13.0), Anchor::Middle, LABEL, INK, text);
    }
    for (v, text) in y_labels {
        let (_, at) = frame.at((frame.x.start, *v));
        drawing.line([(frame.left - TICK, at), (frame.left, at)], AXIS, 1);
        drawing.text((frame.left - TICK - 4.0, at + 4.0), Anchor::End, LABEL, INK, text);
    }
    let corner = (frame.left, frame.bottom);
    drawing.line([(frame.left, frame.top), corner, (frame.right, frame.bottom)], AXIS, 1);
}

/// A corner of a frame.
#[derive(Clone, Copy)]
pub struct Corner {
    pub right: bool,
    pub upper: bool,
}

/// Names with their colours, in a corner.
pub fn legend(drawing: &mut Drawing, frame: &Frame, names: &[(String, Color)], corner: Corner) {
    const LINE: f64 = 18.0;
    const KEY: f64 = 16.0;
    let widest = names.iter().map(|n| width_of(&n.0, LABEL)).fold(0.0, f64::max);
    let (width, height) = (widest + KEY + 22.0, names.len() as f64 * LINE + 8.0);
    let left = if corner.right { frame.right - width - 8.0 } else { frame.left + 8.0 };
    let top = if corner.upper { frame.top + 8.0 } else { frame.bottom - height - 8.0 };
    let border =
        [(left, top), (left + width, top), (left + width, top + height), (left, top + height), (left, top)];
    drawing.rectangle(border[0], border[2], Color(255, 255, 255), 0.85);
    drawing.line(border, Color(210, 210, 210), 1);
    for (i, (name, color)) in names.iter().enumerate() {
        let middle = top + 4.0 + (i as f64 + 0.5) * LINE;
        drawing.rectangle((left + 8.0, middle - 3.0), (left + 8.0 + KEY, middle + 3.0), *color, 1.0);
        drawing.text((left + KEY + 15.0, middle + 4.0), Anchor::Start, LABEL, INK, name);
    }
}

/// A small text in the upper right corner.
pub fn write_note(drawing: &mut Drawing, note: &str) {
    drawing.text((drawing.extent().0 - 24.0, 13.0), Anchor::End, LABEL, Color(150, 60, 0), note);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_never_empty() {
        let r = |xs: &[f64]| range(xs.iter().copied(), 0.0);
        assert_eq!(r(&[1.0, 3.0, f64::NAN, f64::INFINITY]), 1.0..3.0);
        assert_eq!(r(&[]), 0.0..1.0);
        assert_eq!(r(&[0.0]), -1.0..1.0);
        for xs in [&[5.0][..], &[1e300, 1e300], &[f64::MAX, -f64::MAX], &[1.0, 1.0 + f64::EPSILON]] {
            let found = r(xs);
            assert!(found.start < found.end && (found.end - found.start).is_finite(), "{xs:?}: {found:?}");
        }
    }

    #[test]
    fn labels_have_the_digits_they_need() {
        assert_eq!(label(0.30000000000000004, &(0.0..1.0)), "0.3");
        assert_eq!(label(1e-17, &(-1.0..1.0)), "0");
        assert_eq!(label(1500.0, &(0.0..4000.0)), "1500");
        assert_eq!(label(2.5e9, &(0.0..1e10)), "2.5e9");
        assert_eq!(label(3e-6, &(0.0..1e-5)), "3e-6");
    }

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(ticks(&(0.0..10.5), 10), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(ticks(&(-0.11..1.1), 8), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]);
        assert_eq!(ticks(&(3.0..-0.5), 8), [-0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0]);
        for range in [1e300..1.1e300, -f64::MAX / 8.0..f64::MAX / 8.0, 1.0..1.0 + 1e-9, 0.0..1e-300] {
            let found = ticks(&range, 8);
            assert!((1..=8).contains(&found.len()), "{range:?}: {found:?}");
            assert!(found.iter().all(|t| (range.start..=range.end).contains(t)), "{range:?}: {found:?}");
        }
    }

    #[test]
    fn points_lie_between_the_corners() {
        let (x, y) = (0.0..10.0, -f64::MAX / 8.0..f64::MAX / 8.0);
        let frame = Frame { x, y, left: 10.0, top: 0.0, right: 110.0, bottom: 50.0 };
        assert_eq!(frame.at((0.0, -f64::MAX / 8.0)), (10.0, 50.0));
        assert_eq!(frame.at((10.0, f64::MAX / 8.0)), (110.0, 0.0));
        assert_eq!(frame.at((5.0, 0.0)), (60.0, 25.0));
    }
}
