//! Transformations of CORE, from CORE to FLAT, and of FLAT.

mod effects;
pub mod fuse;
pub mod pass;
pub mod simplify;
