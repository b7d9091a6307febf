//! A pass is a value: a name, what it is good for, and the function. The pipeline is a list of them.
//!
//! ```text
//! simplify   folds, propagates, removes what is dead
//! results    takes what is known of a function's results out of them
//! merge      makes one map of independent calls of a recursive function
//! hoist      takes what does not change out of maps and loops
//! fuse       joins producers and consumers, then neighbours
//! inward     moves branches into the maps that their arms are
//! tiny       makes scalars of arrays with a few elements
//! sequential makes loops of what is to run one row after the other
//! strides    passes slices with steps on as what they are slices of
//! ```

use crate::{fuse, inward, merge, results, sequential, simplify, strides, tiny};
use par_ir::core::Program;

/// A transformation of CORE.
#[derive(Clone, Copy)]
pub struct Pass {
    /// For dumps and `--verify`.
    pub name: &'static str,
    /// One line for the help text.
    pub description: &'static str,
    /// Transforms the program in place; it stays valid.
    pub run: fn(&mut Program),
}

/// Folding, copy propagation, common subexpressions, dead code.
pub const SIMPLIFY: Pass = Pass {
    name: "simplify",
    description: "folds constants, propagates copies, proves checks, removes what is dead",
    run: simplify::run,
};

/// Known results of functions.
pub const RESULTS: Pass = Pass {
    name: "results",
    description: "takes constants and sizes of arguments out of what functions result in",
    run: results::run,
};

/// Independent recursive calls as one batch.
pub const MERGE: Pass = Pass {
    name: "merge",
    description: "makes one map of independent calls of a recursive function",
    run: merge::run,
};

/// Loop-invariant code motion.
pub const HOIST: Pass = Pass {
    name: "hoist",
    description: "moves what does not change out of maps and loops",
    run: simplify::hoist::run,
};

/// Vertical and horizontal fusion.
pub const FUSE: Pass = Pass {
    name: "fuse",
    description: "joins maps with what consumes them, and with their neighbours",
    run: fuse::run,
};

/// Branches in maps.
pub const INWARD: Pass = Pass {
    name: "inward",
    description: "moves branches under maps into the maps that their arms are",
    run: inward::run,
};

/// Arrays of a few elements.
pub const TINY: Pass = Pass {
    name: "tiny",
    description: "makes scalars of arrays with a few elements, under maps",
    run: tiny::run,
};

/// `#[sequential]`.
pub const SEQUENTIAL: Pass = Pass {
    name: "sequential",
    description: "makes loops of the operators that are to work on one row after the other",
    run: sequential::run,
};

/// Slices with steps.
pub const STRIDES: Pass = Pass {
    name: "strides",
    description: "passes slices with steps on as what they are slices of",
    run: strides::run,
};

/// What happens to CORE before it is flattened. Hoisting comes before fusion, so that an invariant producer is not
/// fused into the map that it should leave.
pub const CORE_PASSES: &[Pass] = &[
    SIMPLIFY, RESULTS, MERGE, HOIST, FUSE, INWARD, SIMPLIFY, TINY, SIMPLIFY, HOIST, FUSE, SEQUENTIAL,
    STRIDES, SIMPLIFY,
];
