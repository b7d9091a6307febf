//! Heat maps: a picture of the matrix inside the chart, and a bar with the colours.

use super::axes::{LABEL, axes, frame, label, ticks, write_note};
use super::drawing::{Anchor, Color, Drawing};
use super::series::Matrix;
use super::{INK, Style, failed};
use image::{ImageFormat, RgbImage};
use std::ops::Range;

/// Larger matrices are shown by averages.
const SIDE: usize = 1024;
/// The width of the bar with its numbers.
const BAR: f64 = 96.0;
/// Steps of an axis, at most.
const STEPS: usize = 10;

/// Colours that grow lighter, which people who see colours differently can tell apart, too (Viridis), at equal distances.
const COLORS: [Color; 9] = [
    Color(0x44, 0x01, 0x54),
    Color(0x47, 0x2d, 0x7b),
    Color(0x3b, 0x52, 0x8b),
    Color(0x2c, 0x72, 0x8e),
    Color(0x21, 0x91, 0x8c),
    Color(0x28, 0xae, 0x80),
    Color(0x5e, 0xc9, 0x62),
    Color(0xad, 0xdc, 0x30),
    Color(0xfd, 0xe7, 0x25),
];

/// A colour for a number from 0 to 1.
pub fn color(x: f64) -> Color {
    let place = x.clamp(0.0, 1.0) * (COLORS.len() - 1) as f64;
    let first = (place as usize).min(COLORS.len() - 2);
    let (a, b, part) = (COLORS[first], COLORS[first + 1], place - first as f64);
    let mix = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * part).round() as u8;
    Color(mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
}

/// Draws the frame, the picture and the bar.
pub fn draw(drawing: &mut Drawing, matrix: &Matrix, style: &Style) -> Result<(), String> {
    let finite = matrix.values.iter().copied().filter(|x| x.is_finite());
    let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
    let hidden = matrix.values.iter().filter(|x| !x.is_finite()).count();
    let (w, h) = (matrix.columns.max(1) as f64, matrix.rows.max(1) as f64);
    // Row 0 is at the top.
    let (x, y) = (-0.5..w - 0.5, h - 0.5..-0.5);
    let (x_labels, y_labels) = (indices(&x), indices(&y));
    let frame = frame(drawing, (x, y), &y_labels, style, BAR);
    axes(drawing, &frame, &x_labels, &y_labels);
    if matrix.values.is_empty() {
        write_note(drawing, "no elements");
        return Ok(());
    }
    if hidden > 0 {
        write_note(drawing, &format!("{hidden} values are not finite (white)"));
    }
    let (low, high) = if low > high { (0.0, 1.0) } else { (low, high) };
    let scale = |x: f64| if high > low { (x / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0) } else { 0.5 };
    bar(drawing, frame.right + 16.0, (frame.top, frame.bottom), (low, high));
    drawing.picture((frame.left, frame.top), (frame.right, frame.bottom), pixels(matrix, &scale));
    Ok(())
}

/// Labels of rows or columns.
fn indices(range: &Range<f64>) -> Vec<(f64, String)> {
    let whole = ticks(range, STEPS).into_iter().filter(|v| v.fract() == 0.0);
    whole.map(|v| (v, format!("{}", v.abs()))).collect()
}

/// The colours with the numbers they stand for.
fn bar(drawing: &mut Drawing, x: f64, (top, bottom): (f64, f64), (low, high): (f64, f64)) {
    const WIDTH: f64 = 14.0;
    let lines = (bottom - top).max(1.0) as usize;
    for i in 0..lines {
        let at = (i as f64 + 0.5) / lines as f64;
        let y = bottom - (bottom - top) * (i + 1) as f64 / lines as f64;
        drawing.rectangle((x, y), (x + WIDTH, y + 1.0), color(at), 1.0);
    }
    let steps = if high > low { 5 } else { 0 };
    for i in 0..=steps {
        let at = if steps == 0 { 0.5 } else { f64::from(i) / f64::from(steps) };
        let y = bottom - (bottom - top) * at;
        let text = label(low * (1.0 - at) + high * at, &(low..high.max(low + f64::MIN_POSITIVE)));
        let text = if steps == 0 { format!("{low}") } else { text };
        drawing.text((x + WIDTH + 6.0, y + 4.0), Anchor::Start, LABEL, INK, &text);
    }
}

/// The matrix as a picture, with averages where it is larger than a picture needs to be.
fn pixels(matrix: &Matrix, scale: &dyn Fn(f64) -> f64) -> RgbImage {
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
            let Color(r, g, b) = color(sum / count);
            *pixel = image::Rgb([r, g, b]);
        }
    }
    image
}

/// The bytes of a picture's PNG file.
pub fn png_of(image: &RgbImage) -> Result<Vec<u8>, String> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    image.write_to(&mut bytes, ImageFormat::Png).map_err(failed)?;
    Ok(bytes.into_inner())
}
