//! Arrow and Parquet: tables of columns, which correspond to the columns of values.
//!
//! | Arrow | Par |
//! |---|---|
//! | `Int8` to `UInt64`, `Float16` to `Float64`, `Boolean` | scalars |
//! | `List<T>`, `LargeList<T>`, `Map` | irregular rows |
//! | `FixedSizeList<T>` | rows of one length |
//! | `Utf8`, `Binary` (also large ones and views) | irregular `[]u8` |
//! | `Struct` | records |
//! | `Dictionary` | what it stands for |
//! | dates and times | their integers |
//!
//! The elements of a column that is one batch of a file stay where they are, when they are read and when they are written; only offsets
//! of 32 bits and truth values, which are bits, are made anew. Batches are joined. Missing values are an error.

mod file;
mod read;
mod write;

pub use read::{count, names, read};
pub use write::write;
