//! A drawing as the text of an SVG file: y grows downward, all lengths are pixels. Nothing depends on which fonts a reader has, so a plot is the
//! same on every machine.

use std::fmt::Write;

/// A colour: red, green, blue.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Color(pub u8, pub u8, pub u8);

impl std::fmt::Display for Color {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Color(r, g, b) = self;
        write!(f, "#{r:02X}{g:02X}{b:02X}")
    }
}

/// The point of a text that its place refers to.
#[derive(Clone, Copy)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// A drawing that grows.
pub struct Svg {
    text: String,
    pub size: (f64, f64),
}

impl Svg {
    /// An empty drawing on white ground.
    pub fn new((width, height): (u32, u32)) -> Svg {
        let text = format!(
            "<svg width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" xmlns=\"http://www.w3.org/2000/svg\" \
             font-family=\"sans-serif\">\n"
        );
        let mut svg = Svg { text, size: (f64::from(width), f64::from(height)) };
        svg.rectangle((0.0, 0.0), svg.size, Color(255, 255, 255), 1.0);
        svg
    }

    /// A filled rectangle between two corners.
    pub fn rectangle(&mut self, a: (f64, f64), b: (f64, f64), color: Color, opacity: f64) {
        let (x, y) = (a.0.min(b.0), a.1.min(b.1));
        let (width, height) = ((a.0 - b.0).abs(), (a.1 - b.1).abs());
        self.element(format_args!(
            "rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{color}\"{}",
            short(x),
            short(y),
            short(width),
            short(height),
            Opacity(opacity)
        ));
    }

    /// A line through points.
    pub fn line(&mut self, points: impl IntoIterator<Item = (f64, f64)>, color: Color, width: u32) {
        let mut text = String::new();
        for (x, y) in points {
            let gap = if text.is_empty() { "" } else { " " };
            let _ = write!(text, "{gap}{},{}", short(x), short(y));
        }
        self.element(format_args!(
            "polyline fill=\"none\" stroke=\"{color}\" stroke-width=\"{width}\" stroke-linejoin=\"round\" points=\"{text}\""
        ));
    }

    /// A filled circle.
    pub fn circle(&mut self, (x, y): (f64, f64), radius: u32, color: Color) {
        self.element(format_args!(
            "circle cx=\"{}\" cy=\"{}\" r=\"{radius}\" fill=\"{color}\"",
            short(x),
            short(y)
        ));
    }

    /// A text of one line, whose foot is at `y`.
    pub fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, size: u32, color: Color, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let (x, y) = (short(x), short(y));
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let _ = writeln!(
            self.text,
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" font-size=\"{size}\" fill=\"{color}\">{text}</text>"
        );
    }

    /// A picture, stretched between two corners.
    pub fn picture(&mut self, a: (f64, f64), b: (f64, f64), png: &str) {
        self.element(format_args!(
            "image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\" \
             style=\"image-rendering:pixelated\" href=\"data:image/png;base64,{png}\"",
            short(a.0),
            short(a.1),
            short(b.0 - a.0),
            short(b.1 - a.1)
        ));
    }

    fn element(&mut self, inside: std::fmt::Arguments) {
        let _ = writeln!(self.text, "<{inside}/>");
    }

    /// The whole file.
    pub fn finish(mut self) -> String {
        self.text.push_str("</svg>\n");
        self.text
    }
}

/// A length in hundredths of a pixel.
fn short(x: f64) -> f64 {
    let rounded = (x * 100.0).round() / 100.0;
    if rounded == 0.0 { 0.0 } else { rounded }
}

/// The attribute, where something is seen through.
struct Opacity(f64);

impl std::fmt::Display for Opacity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0 < 1.0 { write!(f, " opacity=\"{}\"", self.0) } else { Ok(()) }
    }
}

/// Pixels that a text takes, about.
pub fn width_of(text: &str, size: u32) -> f64 {
    const CHARACTER: f64 = 0.58;
    text.chars().count() as f64 * f64::from(size) * CHARACTER
}
