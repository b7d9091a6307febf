//! Columns of text, separated by commas, semicolons or tabs. How cells are read depends on what is wanted of them.

pub mod cell;
#[cfg(feature = "formats")]
mod layout;
#[cfg(feature = "formats")]
mod read;
#[cfg(feature = "formats")]
mod write;

#[cfg(feature = "formats")]
pub use read::{names, read};
#[cfg(feature = "formats")]
pub use write::write;
