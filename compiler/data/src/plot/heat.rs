//! Heat maps: a picture of the matrix inside the chart, and a bar with the colours.

use super::axes::{Area, label, write_note};
use super::series::Matrix;
use super::{FONT, INK, Style, failed};
use image::{DynamicImage, ImageFormat, RgbImage};
use plotters::prelude::*;
use plotters::style::colors::colormaps::{ColorMap, ViridisRGB};
use std::fmt::Write as _;

/// Larger matrices are shown by averages.
const SIDE: usize = 1024;
/// The width of the bar with its numbers.
const BAR: u32 = 96;

/// A colour for a number from 0 to 1.
pub fn color(x: f64) -> RGBColor {
    ViridisRGB.get_color(x)
}

/// Draws the frame. The result is the picture, as SVG to be put into it.
pub fn draw(area: &Area, matrix: &Matrix, style: &Style) -> Result<Option<String>, String> {
    let finite = matrix.values.iter().copied().filter(|x| x.is_finite());
    let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
    let hidden = matrix.values.iter().filter(|x| !x.is_finite()).count();
    let (width, height) = style.size;
    let (left, right) = area.split_horizontally(width.saturating_sub(BAR).max(1));
    let mut builder = ChartBuilder::on(&left);
    builder.margin(16).x_label_area_size(32).y_label_area_size(56);
    if let Some(title) = &style.title {
        builder.caption(title, (FONT, 18).into_font().color(&INK));
    }
    let (w, h) = (matrix.columns.max(1) as f64, matrix.rows.max(1) as f64);
    let (x_range, y_range) = (-0.5..w - 0.5, h - 0.5..-0.5);
    let mut chart = builder.build_cartesian_2d(x_range.clone(), y_range).map_err(failed)?;
    let whole = |v: &f64| if v.fract() == 0.0 { format!("{v}") } else { String::new() };
    chart
        .configure_mesh()
        .disable_mesh()
        .axis_style(RGBColor(150, 150, 150))
        .label_style((FONT, 13).into_font().color(&INK))
        .x_labels(10)
        .y_labels(8)
        .x_label_formatter(&whole)
        .y_label_formatter(&whole)
        .draw()
        .map_err(failed)?;
    if matrix.values.is_empty() {
        write_note(area, "no elements")?;
        return Ok(None);
    }
    if hidden > 0 {
        write_note(area, &format!("{hidden} values are not finite (white)"))?;
    }
    let (low, high) = if low > high { (0.0, 1.0) } else { (low, high) };
    let scale = |x: f64| if high > low { (x / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0) } else { 0.5 };
    let (xs, ys) = chart.plotting_area().get_pixel_range();
    let (top, bottom) = (ys.start.min(ys.end), ys.start.max(ys.end));
    bar(&right, (top, bottom.min(height as i32)), (low, high))?;
    let mut svg = String::new();
    let data = base64(&png(matrix, &scale)?);
    let _ = writeln!(
        svg,
        "<image x=\"{}\" y=\"{top}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\" \
         style=\"image-rendering:pixelated\" href=\"data:image/png;base64,{data}\"/>",
        xs.start + 1,
        xs.end - xs.start,
        bottom - top,
    );
    Ok(Some(svg))
}

/// The colours with the numbers they stand for.
fn bar(area: &Area, (top, bottom): (i32, i32), (low, high): (f64, f64)) -> super::Drawn {
    let (x, width) = (8, 14);
    for y in top..bottom {
        let at = f64::from(bottom - 1 - y) / f64::from((bottom - 1 - top).max(1));
        let line = Rectangle::new([(x, y), (x + width, y + 1)], color(at).filled());
        area.draw(&line).map_err(failed)?;
    }
    let steps = if high > low { 5 } else { 0 };
    let style = (FONT, 13).into_font().color(&INK);
    for i in 0..=steps {
        let at = if steps == 0 { 0.5 } else { f64::from(i) / f64::from(steps) };
        let y = bottom - (f64::from(bottom - top) * at) as i32;
        let text = label(low * (1.0 - at) + high * at, &(low..high.max(low + f64::MIN_POSITIVE)));
        let text = if steps == 0 { format!("{low}") } else { text };
        area.draw_text(&text, &style, (x + width + 6, y - 7)).map_err(failed)?;
    }
    Ok(())
}

/// The matrix as a picture, with averages where it is larger than a picture needs to be.
fn png(matrix: &Matrix, scale: &dyn Fn(f64) -> f64) -> Result<Vec<u8>, String> {
    let (width, height) = (matrix.columns.min(SIDE), matrix.rows.min(SIDE));
    let mut image = RgbImage::from_pixel(width as u32, height as u32, image::Rgb([255, 255, 255]));
    for (x, y, pixel) in image.enumerate_pixels_mut() {
        let of = |i: u32, side: usize, all: usize| {
            (i as usize * all / side, ((i as usize + 1) * all).div_ceil(side))
        };
        let (rows, columns) = (of(y, height, matrix.rows), of(x, width, matrix.columns));
        let (mut sum, mut count) = (0.0, 0.0);
        for row in rows.0..rows.1 {
            let values = &matrix.values[row * matrix.columns..][columns.0..columns.1];
            values.iter().filter(|v| v.is_finite()).for_each(|v| {
                sum += scale(*v);
                count += 1.0;
            });
        }
        if count > 0.0 {
            let RGBColor(r, g, b) = color(sum / count);
            *pixel = image::Rgb([r, g, b]);
        }
    }
    let mut bytes = std::io::Cursor::new(Vec::new());
    DynamicImage::from(image).write_to(&mut bytes, ImageFormat::Png).map_err(failed)?;
    Ok(bytes.into_inner())
}

/// Bytes as text, as in RFC 4648.
pub fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let all = group.iter().chain([&0, &0]).take(3).fold(0u32, |n, b| n << 8 | u32::from(*b));
        for i in 0..4 {
            let digit = DIGITS[(all >> (18 - 6 * i) & 63) as usize];
            text.push(if i <= group.len() { digit as char } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_as_text() {
        let all = ["", "f", "fo", "foo", "foob", "fooba", "foobar"];
        let texts = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"];
        assert_eq!(all.map(|s| base64(s.as_bytes())), texts);
    }
}
