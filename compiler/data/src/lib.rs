//! Values from files and to files.
//!
//! ```no_run
//! use par_data::{Input, Target};
//! use par_runtime::{Prim, ValueType};
//!
//! let mut file = Input::open("points.csv".as_ref(), None, &|_, _| {})?;
//! let column = file.read(Some("x"), &ValueType::array(ValueType::Prim(Prim::F64)))?;
//! Target::parse("x.npy").write(column)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - [`Format`]: the formats, by their names, by the endings of files and by the first bytes of files.
//! - [`Input`]: a file that is open for reading. What is read is asked for by type: the same file of columns is an array of records, a record of
//!   arrays or one column.
//! - [`Target`]: where a result goes, and as what.
//! - [`tree`]: what a file holds, before it is known what a program makes of it; `fit` brings the two together.
//! - `json`, `market`, with the feature `formats` also `npz`, `csv`, `picture`, with `arrow` also `columnar`: the formats. Text, Futhark's binary format and single
//!   `.npy` arrays are read and written in `par_runtime::io`.
//! - `plot`, with the feature `plots`: plots of values.
//!
//! Files of any size and content give a value or an error of one line. Only the bytes that are there take memory, whatever a header says.

// What several formats share is unused without them.
#![cfg_attr(not(feature = "formats"), allow(dead_code))]

mod base64;
#[cfg(feature = "arrow")]
mod columnar;
mod convert;
mod csv;
mod error;
mod fit;
mod format;
mod guard;
mod input;
mod json;
mod market;
mod missing;
#[cfg(feature = "formats")]
#[cfg_attr(target_family = "wasm", path = "no_npz.rs")]
mod npz;
#[cfg(feature = "formats")]
mod picture;
#[cfg(feature = "plots")]
pub mod plot;
#[cfg(not(target_family = "wasm"))]
mod slices;
mod source;
mod target;
mod text;
pub mod tree;

pub use base64::base64;
pub use error::DataError;
pub use fit::fit;
pub use format::{Format, unknown_name};
pub use guard::is_guarded;
pub use input::{Input, split_part};
#[cfg(feature = "formats")]
pub use picture::{png, png_width};
pub use source::Watch;
pub use source::{read_standard_input, replace_standard_input};
pub use target::{Target, Unfinished, remove_unfinished, write_file};
