//! Ranges, ticks and frames.

use super::svg::Svg;
use super::{Drawn, FONT, INK, Style, failed};
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use std::ops::Range;

pub type Area<'a> = DrawingArea<Svg<'a>, Shift>;
pub type Chart<'a, 'b> = ChartContext<'a, Svg<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

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
pub fn chart<'a, 'b>(
    area: &'a Area<'b>,
    (x, y): (Range<f64>, Range<f64>),
    style: &Style,
    note: Option<&str>,
) -> Result<Chart<'a, 'b>, String> {
    let mut builder = ChartBuilder::on(area);
    builder.margin(16).margin_right(24).x_label_area_size(32).y_label_area_size(64);
    if let Some(title) = &style.title {
        builder.caption(title, (FONT, 18).into_font().color(&INK));
    }
    let mut chart = builder.build_cartesian_2d(x.clone(), y.clone()).map_err(failed)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(RGBColor(228, 228, 228))
        .axis_style(RGBColor(150, 150, 150))
        .label_style((FONT, 13).into_font().color(&INK))
        .x_labels(10)
        .y_labels(8)
        .x_label_formatter(&|v| label(*v, &x))
        .y_label_formatter(&|v| label(*v, &y))
        .draw()
        .map_err(failed)?;
    if let Some(note) = note {
        write_note(area, note)?;
    }
    Ok(chart)
}

/// A small text in the upper right corner.
pub fn write_note(area: &Area, note: &str) -> Drawn {
    use plotters::style::text_anchor::{HPos, Pos, VPos};
    let (width, _) = area.dim_in_pixel();
    let style = (FONT, 12).into_font().color(&RGBColor(150, 60, 0)).pos(Pos::new(HPos::Right, VPos::Top));
    area.draw_text(note, &style, (width as i32 - 24, 3)).map_err(failed)
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
}
