//! Columns of text, separated by commas, semicolons or tabs. How cells are read depends on what is wanted of them.

pub mod cell;
mod layout;
mod read;
mod write;

pub use read::{names, read};
pub use write::write;
