//! CORE to CORE: what is done to a program before it is flattened, one file or folder per pass.

pub(crate) mod apart;
pub(crate) mod appended_rows;
pub(crate) mod capacity;
pub(crate) mod counters;
pub(crate) mod counting;
pub mod fuse;
pub(crate) mod if_conversion;
pub(crate) mod index_sets;
pub mod merge;
pub(crate) mod parameters;
pub(crate) mod reads;
pub(crate) mod results;
pub(crate) mod sequential;
pub mod simplify;
pub(crate) mod state_calls;
pub(crate) mod strides;
pub(crate) mod tiny;
pub(crate) mod views;
