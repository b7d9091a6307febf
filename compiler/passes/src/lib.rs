//! Transformations: of CORE ([`core`]), from CORE to FLAT ([`flatten`]), and of FLAT ([`flat`]).
//!
//! A folder is a layer; it uses those before it in the list of [`pass`], never those after it.

mod core;
mod flat;
pub mod flatten;
pub mod pass;

pub use flatten::Unsupported;
