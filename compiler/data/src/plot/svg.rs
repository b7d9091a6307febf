//! A drawing as the text of an SVG file. It names no font but `sans-serif`, so that readers take their own; nothing else depends on which they have.

use super::drawing::{Anchor, Color, Drawing, Shape};
use super::heat::png_of;
use crate::base64::base64;
use std::fmt::{self, Write};

impl fmt::Display for Color {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Color(r, g, b) = self;
        write!(f, "#{r:02X}{g:02X}{b:02X}")
    }
}

/// The whole file.
pub fn text(drawing: &Drawing) -> Result<String, fmt::Error> {
    let (width, height) = drawing.size;
    let mut out = format!(
        "<svg width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" xmlns=\"http://www.w3.org/2000/svg\" \
         font-family=\"sans-serif\">\n"
    );
    for shape in &drawing.shapes {
        element(shape, &mut out)?;
    }
    out.push_str("</svg>\n");
    Ok(out)
}

fn element(shape: &Shape, out: &mut String) -> fmt::Result {
    match shape {
        Shape::Rectangle(a, b, color, opacity) => {
            write!(out, "<rect {} fill=\"{color}\"", Corners(*a, *b))?;
            if *opacity < 1.0 {
                write!(out, " opacity=\"{opacity}\"")?;
            }
            writeln!(out, "/>")
        }
        Shape::Line(points, color, width) => {
            let points: Vec<String> =
                points.iter().map(|(x, y)| format!("{},{}", short(*x), short(*y))).collect();
            writeln!(
                out,
                "<polyline fill=\"none\" stroke=\"{color}\" stroke-width=\"{width}\" stroke-linejoin=\"round\" points=\"{}\"/>",
                points.join(" ")
            )
        }
        Shape::Circle((x, y), radius, color) => {
            writeln!(
                out,
                "<circle cx=\"{}\" cy=\"{}\" r=\"{radius}\" fill=\"{color}\"/>",
                short(*x),
                short(*y)
            )
        }
        Shape::Text { at: (x, y), anchor, size, color, text } => {
            let anchor = match anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            };
            let (x, y) = (short(*x), short(*y));
            let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            writeln!(
                out,
                "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" font-size=\"{size}\" fill=\"{color}\">{text}</text>"
            )
        }
        Shape::Picture(a, b, image) => {
            let png = base64(&png_of(image).map_err(|_| fmt::Error)?);
            writeln!(
                out,
                "<image {} preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" href=\"data:image/png;base64,{png}\"/>",
                Corners(*a, *b)
            )
        }
    }
}

/// The attributes of what lies between two corners.
struct Corners((f64, f64), (f64, f64));

impl fmt::Display for Corners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Corners(a, b) = self;
        let (width, height) = (short(b.0 - a.0), short(b.1 - a.1));
        write!(f, "x=\"{}\" y=\"{}\" width=\"{width}\" height=\"{height}\"", short(a.0), short(a.1))
    }
}

/// A length in hundredths of a pixel.
fn short(x: f64) -> f64 {
    let rounded = (x * 100.0).round() / 100.0;
    if rounded == 0.0 { 0.0 } else { rounded }
}
