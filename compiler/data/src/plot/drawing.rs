//! A drawing as shapes: y grows downward, all lengths are pixels. `svg` and `raster` make files of it.

use super::svg;
use image::RgbImage;

/// A colour: red, green, blue.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Color(pub u8, pub u8, pub u8);

/// The point of a text that its place refers to.
#[derive(Clone, Copy)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// A place in a drawing.
pub type Point = (f64, f64);

/// One of a drawing's shapes.
pub enum Shape {
    /// A filled rectangle: upper left and lower right corner, colour, opacity.
    Rectangle(Point, Point, Color, f64),
    /// A line through points, with its width.
    Line(Vec<Point>, Color, u32),
    /// A filled circle: centre, radius.
    Circle(Point, u32, Color),
    /// A text of one line, whose foot is at the place.
    Text { at: Point, anchor: Anchor, size: u32, color: Color, text: String },
    /// A picture, stretched between two corners.
    Picture(Point, Point, RgbImage),
}

/// A drawing that grows.
pub struct Drawing {
    pub(super) shapes: Vec<Shape>,
    /// Width and height.
    pub(super) size: (u32, u32),
}

impl Drawing {
    /// An empty drawing on white ground.
    pub(super) fn new(size: (u32, u32)) -> Drawing {
        let mut drawing = Drawing { shapes: Vec::new(), size };
        drawing.rectangle((0.0, 0.0), drawing.extent(), Color(255, 255, 255), 1.0);
        drawing
    }

    /// The text of an SVG file.
    pub fn svg(&self) -> Result<String, String> {
        svg::text(self).map_err(super::failed)
    }

    /// The bytes of a PNG file.
    pub fn png(&self) -> Result<Vec<u8>, String> {
        super::raster::png(self)
    }

    /// Width and height, to compute with.
    pub(super) fn extent(&self) -> Point {
        (self.size.0.into(), self.size.1.into())
    }

    /// Adds a filled rectangle between two corners.
    pub(super) fn rectangle(&mut self, a: Point, b: Point, color: Color, opacity: f64) {
        let (first, last) = ((a.0.min(b.0), a.1.min(b.1)), (a.0.max(b.0), a.1.max(b.1)));
        self.shapes.push(Shape::Rectangle(first, last, color, opacity));
    }

    /// Adds a line through points.
    pub(super) fn line(&mut self, points: impl IntoIterator<Item = Point>, color: Color, width: u32) {
        self.shapes.push(Shape::Line(points.into_iter().collect(), color, width));
    }

    /// Adds a filled circle.
    pub(super) fn circle(&mut self, at: Point, radius: u32, color: Color) {
        self.shapes.push(Shape::Circle(at, radius, color));
    }

    /// Adds a text of one line, whose foot is at the place.
    pub(super) fn text(&mut self, at: Point, anchor: Anchor, size: u32, color: Color, text: &str) {
        self.shapes.push(Shape::Text { at, anchor, size, color, text: text.to_string() });
    }

    /// Adds a picture, stretched between two corners.
    pub(super) fn picture(&mut self, a: Point, b: Point, image: RgbImage) {
        self.shapes.push(Shape::Picture(a, b, image));
    }
}

/// Pixels that a text takes, about.
pub fn width_of(text: &str, size: u32) -> f64 {
    const CHARACTER: f64 = 0.58;
    text.chars().count() as f64 * f64::from(size) * CHARACTER
}
