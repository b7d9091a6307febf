//! Plots of results.

use crate::call::PlotKind;
use crate::status::{self, Status};
use par_runtime::Value;
use std::path::Path;

#[cfg(feature = "plots")]
pub use drawn::{check, svg, write};

#[cfg(feature = "plots")]
mod drawn {
    use super::{Path, PlotKind, Status, Value, status};
    use crate::output;
    use par_data::plot::{Drawing, Kind, Style, plot};
    use std::io::Write;

    impl From<PlotKind> for Kind {
        fn from(kind: PlotKind) -> Kind {
            match kind {
                PlotKind::Auto => Kind::Auto,
                PlotKind::Lines => Kind::Lines,
                PlotKind::Points => Kind::Points,
                PlotKind::Histogram => Kind::Histogram,
                PlotKind::Heat => Kind::Heat,
            }
        }
    }

    /// True for a picture of pixels, by the ending of the file's name.
    fn is_png(path: &Path) -> Result<bool, Status> {
        let ending = path.extension().unwrap_or_default().to_ascii_lowercase();
        match ending.to_str() {
            Some("svg") => Ok(false),
            Some("png") => Ok(true),
            _ => Err(status::fail(&format!(
                "a plot is SVG or PNG: the name of its file ends in .svg or .png, not as {}",
                path.display()
            ))),
        }
    }

    /// Fails if there are no plots in files of such a name, before anything is done.
    pub fn check(path: &Path) -> Result<(), Status> {
        is_png(path).map(|_| ())
    }

    /// Draws a value.
    pub fn write(value: Value, kind: PlotKind, path: &Path) -> Result<(), Status> {
        let bytes = match is_png(path)? {
            true => drawing(value, kind).and_then(|drawing| drawing.png()),
            false => drawing(value, kind).and_then(|drawing| drawing.svg()).map(String::into_bytes),
        };
        bytes
            .and_then(|bytes| output::write_file(path, |file| file.write_all(&bytes)))
            .map_err(|message| status::fail(&message))
    }

    /// A value's plot as the text of an SVG file.
    pub fn svg(value: Value, kind: PlotKind) -> Result<String, Status> {
        drawing(value, kind).and_then(|drawing| drawing.svg()).map_err(|message| status::fail(&message))
    }

    fn drawing(value: Value, kind: PlotKind) -> Result<Drawing, String> {
        plot(value, &Style { kind: kind.into(), ..Style::default() })
    }
}

/// Fails: there are no plots.
#[cfg(not(feature = "plots"))]
pub fn check(_: &Path) -> Result<(), Status> {
    Err(status::built_without("plots"))
}

/// Fails: there are no plots.
#[cfg(not(feature = "plots"))]
pub fn write(_: Value, _: PlotKind, _: &Path) -> Result<(), Status> {
    Err(status::built_without("plots"))
}

/// Fails: there are no plots.
#[cfg(not(feature = "plots"))]
pub fn svg(_: Value, _: PlotKind) -> Result<String, Status> {
    Err(status::built_without("plots"))
}
