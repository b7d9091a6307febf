//! The drawing that plots are made on. Texts are measured by their lengths, as nobody knows here which fonts a reader has: so a
//! plot is the same on every machine, and in a browser.

use plotters::prelude::{DrawingBackend, SVGBackend};
use plotters_backend::{BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingErrorKind};

/// A drawing as the text of an SVG file.
pub struct Svg<'a>(SVGBackend<'a>);

impl<'a> Svg<'a> {
    /// A drawing of so many pixels, written to a string.
    pub fn new(text: &'a mut String, size: (u32, u32)) -> Svg<'a> {
        Svg(SVGBackend::with_string(text, size))
    }
}

/// Fonts of a size are this much smaller than it, in each of two steps.
const SMALLER: f64 = 1.24;
/// Widths of a character, and depth of a line below its foot, as parts of an em.
const WIDTH: f64 = 0.7;
const DEPTH: f64 = 0.24;

type Drawn<T = ()> = Result<T, DrawingErrorKind<std::io::Error>>;

impl DrawingBackend for Svg<'_> {
    type ErrorType = std::io::Error;

    fn get_size(&self) -> (u32, u32) {
        self.0.get_size()
    }

    fn ensure_prepared(&mut self) -> Drawn {
        self.0.ensure_prepared()
    }

    fn present(&mut self) -> Drawn {
        self.0.present()
    }

    fn draw_pixel(&mut self, point: BackendCoord, color: BackendColor) -> Drawn {
        self.0.draw_pixel(point, color)
    }

    fn draw_line<S: BackendStyle>(&mut self, from: BackendCoord, to: BackendCoord, style: &S) -> Drawn {
        self.0.draw_line(from, to, style)
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        upper_left: BackendCoord,
        lower_right: BackendCoord,
        style: &S,
        fill: bool,
    ) -> Drawn {
        self.0.draw_rect(upper_left, lower_right, style, fill)
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Drawn {
        self.0.draw_path(path, style)
    }

    fn draw_circle<S: BackendStyle>(
        &mut self,
        center: BackendCoord,
        radius: u32,
        style: &S,
        fill: bool,
    ) -> Drawn {
        self.0.draw_circle(center, radius, style, fill)
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        corners: I,
        style: &S,
    ) -> Drawn {
        self.0.fill_polygon(corners, style)
    }

    fn draw_text<S: BackendTextStyle>(&mut self, text: &str, style: &S, at: BackendCoord) -> Drawn {
        self.0.draw_text(text, style, at)
    }

    fn estimate_text_size<S: BackendTextStyle>(&self, text: &str, style: &S) -> Drawn<(u32, u32)> {
        let em = style.size() / SMALLER / SMALLER;
        let width = em * WIDTH * text.len() as f64;
        Ok((width.round() as u32, em.round() as u32 + (em * DEPTH).round() as u32))
    }
}
