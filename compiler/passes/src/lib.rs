//! Transformations of CORE, from CORE to FLAT, and of FLAT.

mod bulk;
mod by_position;
mod columns;
mod effects;
pub mod flatten;
pub mod fuse;
mod host;
mod invariant_checks;
mod inward;
pub mod merge;
pub mod pass;
mod results;
mod row_spaces;
mod segments;
mod sequential;
pub mod simplify;
mod strides;
mod tiny;

pub use flatten::Unsupported;
