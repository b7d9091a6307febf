//! JSON, and JSON Lines: objects are records, arrays are arrays (irregular ones too) or tuples, strings are `[]u8` or the names of
//! constructors, `null` is a missing value.
//!
//! A file is read as the type that is wanted, without a tree of the whole: `column` has what was read so far of each part.

mod column;
mod read;
mod write;

pub use read::{names, read};
pub use write::write;
