//! Pictures of values, those that `par literate` makes.

use par::Value;
use par_data::plot::{self, Kind, Style};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// The type of a picture's file, and its bytes.
pub type Picture = (&'static str, Vec<u8>);

/// A plot of a value, or the picture that its elements are.
pub fn of(value: Value, kind: &str) -> PyResult<Picture> {
    let kind = match kind {
        "img" => {
            let bytes = par_data::png(value).map_err(|e| PyTypeError::new_err(e.message))?;
            return Ok(("image/png", bytes));
        }
        "plot" => Kind::Auto,
        "lines" => Kind::Lines,
        "points" => Kind::Points,
        "histogram" => Kind::Histogram,
        "heat" => Kind::Heat,
        other => {
            let known = "there are plot, lines, points, histogram, heat and img";
            return Err(PyValueError::new_err(format!("unknown kind of picture '{other}'; {known}")));
        }
    };
    let drawn = plot::plot(value, &Style { kind, ..Style::default() }).and_then(|d| d.svg());
    Ok(("image/svg+xml", drawn.map_err(PyTypeError::new_err)?.into_bytes()))
}
