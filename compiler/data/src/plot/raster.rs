//! A drawing as the bytes of a PNG file. The font is part of the program, so a picture is the same on every machine.

use super::drawing::{Anchor, Color, Drawing, Point, Shape};
use super::{failed, heat};
use image::RgbImage;
use tiny_skia::{
    FillRule, FilterQuality, LineJoin, Paint, Path, PathBuilder, Pixmap, PixmapPaint, Rect, Stroke, Transform,
};
use ttf_parser::{Face, OutlineBuilder};

/// Pixels of the picture for each of the drawing's, so that small letters are sharp.
const SCALE: u32 = 2;

/// The bytes of the file.
pub fn png(drawing: &Drawing) -> Result<Vec<u8>, String> {
    let (width, height) = drawing.size;
    let size = width.checked_mul(SCALE).zip(height.checked_mul(SCALE));
    let canvas = size.and_then(|(width, height)| Pixmap::new(width, height));
    let mut raster = Raster {
        canvas: canvas.ok_or_else(|| failed(format!("a picture of {width} x {height} pixels")))?,
        face: Face::parse(epaint_default_fonts::UBUNTU_LIGHT, 0).map_err(failed)?,
    };
    drawing.shapes.iter().for_each(|shape| raster.shape(shape));
    // The ground is opaque, so nothing of the picture is.
    let opaque = raster.canvas.pixels().iter().flat_map(|p| [p.red(), p.green(), p.blue()]);
    let image = RgbImage::from_raw(raster.canvas.width(), raster.canvas.height(), opaque.collect());
    heat::png_of(&image.ok_or_else(|| failed("its size"))?)
}

/// A picture that is painted.
struct Raster {
    canvas: Pixmap,
    face: Face<'static>,
}

fn scale() -> Transform {
    Transform::from_scale(SCALE as f32, SCALE as f32)
}

fn paint(Color(r, g, b): Color, opacity: f64) -> Paint<'static> {
    let mut paint = Paint::default();
    paint.set_color_rgba8(r, g, b, (opacity.clamp(0.0, 1.0) * 255.0).round() as u8);
    paint
}

impl Raster {
    fn shape(&mut self, shape: &Shape) {
        match shape {
            Shape::Rectangle(a, b, color, opacity) => self.rectangle(*a, *b, *color, *opacity),
            Shape::Line(points, color, width) => self.line(points, *color, *width),
            Shape::Circle((x, y), radius, color) => {
                let circle = PathBuilder::from_circle(*x as f32, *y as f32, *radius as f32);
                self.fill(circle, *color);
            }
            Shape::Text { at, anchor, size, color, text } => self.text(*at, *anchor, *size, *color, text),
            Shape::Picture(a, b, image) => self.picture(*a, *b, image),
        }
    }

    /// Rectangles end at whole pixels, so that none shows where two of them meet.
    fn rectangle(&mut self, a: Point, b: Point, color: Color, opacity: f64) {
        let Some(rect) = Rect::from_ltrb(a.0 as f32, a.1 as f32, b.0 as f32, b.1 as f32) else { return };
        let paint = Paint { anti_alias: false, ..paint(color, opacity) };
        self.canvas.fill_rect(rect, &paint, scale(), None);
    }

    fn line(&mut self, points: &[Point], color: Color, width: u32) {
        let mut path = PathBuilder::new();
        for (i, (x, y)) in points.iter().enumerate() {
            match i {
                0 => path.move_to(*x as f32, *y as f32),
                _ => path.line_to(*x as f32, *y as f32),
            }
        }
        let stroke = Stroke { width: width as f32, line_join: LineJoin::Round, ..Stroke::default() };
        if let Some(path) = path.finish() {
            self.canvas.stroke_path(&path, &paint(color, 1.0), &stroke, scale(), None);
        }
    }

    /// Letters one after the other, as wide as the font says; one that it does not have is a box.
    fn text(&mut self, (x, y): Point, anchor: Anchor, size: u32, color: Color, text: &str) {
        let unit = size as f32 / f32::from(self.face.units_per_em());
        let mut glyphs = Vec::new();
        let mut end = 0.0;
        for letter in text.chars() {
            let glyph = self.face.glyph_index(letter).unwrap_or_default();
            glyphs.push((glyph, end));
            end += unit * f32::from(self.face.glyph_hor_advance(glyph).unwrap_or_default());
        }
        let start = match anchor {
            Anchor::Start => x as f32,
            Anchor::Middle => x as f32 - end / 2.0,
            Anchor::End => x as f32 - end,
        };
        let mut letters = Letters { path: PathBuilder::new(), at: (0.0, y as f32), unit };
        for (glyph, place) in glyphs {
            letters.at.0 = start + place;
            self.face.outline_glyph(glyph, &mut letters);
        }
        self.fill(letters.path.finish(), color);
    }

    fn fill(&mut self, path: Option<Path>, color: Color) {
        if let Some(path) = path {
            self.canvas.fill_path(&path, &paint(color, 1.0), FillRule::Winding, scale(), None);
        }
    }

    fn picture(&mut self, a: Point, b: Point, image: &RgbImage) {
        let Some(mut pixels) = Pixmap::new(image.width(), image.height()) else { return };
        for (to, from) in pixels.data_mut().chunks_exact_mut(4).zip(image.pixels()) {
            to.copy_from_slice(&[from[0], from[1], from[2], u8::MAX]);
        }
        let (across, down) =
            ((b.0 - a.0) / f64::from(image.width()), (b.1 - a.1) / f64::from(image.height()));
        let place = Transform::from_row(across as f32, 0.0, 0.0, down as f32, a.0 as f32, a.1 as f32);
        let how = PixmapPaint { quality: FilterQuality::Nearest, ..PixmapPaint::default() };
        self.canvas.draw_pixmap(0, 0, pixels.as_ref(), &how, place.post_concat(scale()), None);
    }
}

/// Outlines of letters at a place, in the font's units and with y growing upward.
struct Letters {
    path: PathBuilder,
    at: (f32, f32),
    unit: f32,
}

impl Letters {
    fn place(&self, x: f32, y: f32) -> (f32, f32) {
        (self.at.0 + x * self.unit, self.at.1 - y * self.unit)
    }
}

impl OutlineBuilder for Letters {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.place(x1, y1), self.place(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.place(x1, y1), self.place(x2, y2), self.place(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn painted(draw: impl FnOnce(&mut Drawing)) -> RgbImage {
        let mut drawing = Drawing::new((40, 30));
        draw(&mut drawing);
        let image = image::load_from_memory(&drawing.png().unwrap()).unwrap().into_rgb8();
        assert_eq!(image.dimensions(), (80, 60));
        image
    }

    /// Columns with pixels that are not white.
    fn columns(image: &RgbImage) -> Vec<u32> {
        let inked = image.enumerate_pixels().filter(|(_, _, p)| p.0 != [255; 3]);
        let mut found: Vec<u32> = inked.map(|(x, _, _)| x).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    #[test]
    fn shapes_are_where_they_belong() {
        let red = Color(255, 0, 0);
        let image = painted(|d| d.rectangle((20.0, 20.0), (10.0, 10.0), red, 1.0));
        assert_eq!([image[(20, 20)].0, image[(39, 39)].0], [[255, 0, 0]; 2]);
        assert_eq!([image[(19, 20)].0, image[(40, 39)].0], [[255; 3]; 2]);
        let image = painted(|d| d.rectangle((0.0, 0.0), (40.0, 30.0), Color(0, 0, 0), 0.5));
        assert!((126..=129).contains(&image[(40, 30)].0[0]));
        let image = painted(|d| d.circle((20.0, 15.0), 5, red));
        assert_eq!([image[(40, 30)].0, image[(31, 21)].0], [[255, 0, 0], [255; 3]]);
        let image = painted(|d| d.line([(5.0, 15.0), (35.0, 15.0)], red, 2));
        assert_eq!(
            [image[(40, 30)].0, image[(40, 35)].0, image[(5, 30)].0],
            [[255, 0, 0], [255; 3], [255; 3]]
        );
    }

    #[test]
    fn pictures_are_stretched_with_sharp_edges() {
        let pixels = RgbImage::from_fn(2, 1, |x, _| image::Rgb([x as u8 * 200, 7, 9]));
        let image = painted(|d| d.picture((0.0, 0.0), (40.0, 30.0), pixels));
        assert_eq!([image[(39, 30)].0, image[(40, 30)].0], [[0, 7, 9], [200, 7, 9]]);
    }

    #[test]
    fn texts_lie_on_their_side_of_a_place() {
        let of = |anchor| columns(&painted(|d| d.text((20.0, 15.0), anchor, 11, Color(0, 0, 0), "H\u{f6}")));
        let (start, end) = (of(Anchor::Start), of(Anchor::End));
        assert!(start.len() > 8 && start.iter().all(|x| *x >= 40), "{start:?}");
        assert!(end.len() > 8 && end.iter().all(|x| *x <= 40), "{end:?}");
        let middle = of(Anchor::Middle);
        assert!(middle[0] < 40 && *middle.last().unwrap() > 40, "{middle:?}");
        // A letter that the font does not have.
        let unknown = |d: &mut Drawing| d.text((5.0, 15.0), Anchor::Start, 11, Color(0, 0, 0), "\u{10fffd}");
        assert!(!columns(&painted(unknown)).is_empty());
    }
}
