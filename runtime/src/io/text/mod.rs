//! The language's notation for values.
//!
//! ```text
//! 3   -3i8   0xff   1_000   1.5   1e3f32   f32.nan   -inf   true          scalars
//! [1, 2, 3]   [[1, 2], [], [3]]   "bytes"                               arrays
//! empty([0][3]i32)   [[], []] : [][]i32                                 arrays without a scalar carry their type
//! (1, [2])   {a = 1, b = true}                                          tuples and records
//! -- a comment
//! ```
//!
//! [`read_values`] reads against expected types, in one pass, straight into columns: numbers without a suffix take the
//! expected type, and the recursion is as deep as the type, whatever the text says. [`read_any`] first guesses the types
//! and then does the same. [`print_value`] writes what either reads back,
//! [`print_pretty`] the same over several lines, and only the beginning of what is long.

mod build;
mod guess;
mod pretty;
mod print;
mod read;
mod scan;
mod types;

pub use guess::read_any;
pub use pretty::{Layout, print_pretty};
pub use print::{print_texts_to, print_to, print_value};
pub use read::{read_some, read_values};
