//! FLAT to FLAT: what is done to bulk operations once all of them are there, one file or folder per pass.

pub(crate) mod bulk;
pub(crate) mod columns;
pub(crate) mod dimensions;
pub(crate) mod host_invariants;
pub(crate) mod in_place_loops;
pub(crate) mod in_place_scatters;
pub(crate) mod interchange;
pub(crate) mod invariant_checks;
pub(crate) mod linearise;
pub(crate) mod prune;
pub(crate) mod range_checks;
pub(crate) mod reassociate;
pub(crate) mod recurrences;
pub(crate) mod row_spaces;
pub(crate) mod segments;
pub(crate) mod short_rows;
pub(crate) mod strided_checks;
pub(crate) mod transpositions;
mod walk;
pub(crate) mod waves;
