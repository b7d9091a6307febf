//! Plots of values, as SVG and PNG.
//!
//! | value | plot |
//! |---|---|
//! | `[]t` | a line over the indices, or a histogram |
//! | `[](t, t)` | a curve through points |
//! | `[][]t`, irregular, and `[][](t, t)` | a line or curve for each row |
//! | `[h][w]t` | a heat map, with row 0 at the top; or a line for each row |
//! | tuples and records of these | all of them, with their names; the field `x`, if there is one, is the other fields' axis |
//!
//! Numbers that are not finite are left out and counted in a note.

mod axes;
mod bins;
mod drawing;
mod heat;
mod lines;
mod raster;
mod series;
mod svg;

pub use drawing::Drawing;

use crate::tree::Tree;
use drawing::Color;
use par_runtime::Value;
use series::{Data, Series};

/// Kind of a plot.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Kind {
    /// As the type suggests.
    #[default]
    Auto,
    /// Lines.
    Lines,
    /// Points.
    Points,
    /// Frequencies of values.
    Histogram,
    /// A colour for each element of a matrix.
    Heat,
}

/// Style of a plot.
#[derive(Clone, Debug)]
pub struct Style {
    /// Kind of the plot.
    pub kind: Kind,
    /// Title above it.
    pub title: Option<String>,
    /// Width and height in pixels.
    pub size: (u32, u32),
}

impl Default for Style {
    fn default() -> Style {
        Style { kind: Kind::Auto, title: None, size: (800, 480) }
    }
}

/// The colours of lines; people who see colours differently can tell them apart (Okabe and Ito's).
const COLORS: [Color; 7] = [
    Color(0, 114, 178),
    Color(213, 94, 0),
    Color(0, 158, 115),
    Color(204, 121, 167),
    Color(230, 159, 0),
    Color(86, 180, 233),
    Color(90, 90, 90),
];
const INK: Color = Color(60, 60, 60);

/// So many lines have names; more are told apart by the order of their colours.
const NAMED: usize = 8;

fn failed(e: impl std::fmt::Display) -> String {
    format!("the plot cannot be drawn: {e}")
}

/// The plot of a value; the error says why there is none.
pub fn plot(value: Value, style: &Style) -> Result<Drawing, String> {
    let tree = Tree::of(value)?;
    let data = series::of(&tree, style.kind)?;
    let mut drawing = Drawing::new(style.size);
    match &data {
        Data::Matrix(matrix) => heat::draw(&mut drawing, matrix, style)?,
        Data::Series(all) if style.kind == Kind::Histogram => bins::draw(&mut drawing, all, style),
        Data::Series(all) => lines::draw(&mut drawing, all, style),
    }
    Ok(drawing)
}

fn color(index: usize, count: usize) -> Color {
    match count <= NAMED {
        true => COLORS[index % COLORS.len()],
        false => heat::color(index as f64 / (count - 1) as f64 * 0.9),
    }
}

/// Note about values that are not shown.
fn note(all: &[Series]) -> Option<String> {
    let hidden: usize =
        all.iter().map(|s| s.points.iter().filter(|(x, y)| !x.is_finite() || !y.is_finite()).count()).sum();
    let elements: usize = all.iter().map(|s| s.points.len()).sum();
    match (elements, hidden) {
        (0, _) => Some("no elements".into()),
        (_, 0) => None,
        (_, 1) => Some("1 value is not finite".into()),
        (_, n) => Some(format!("{n} values are not finite")),
    }
}
