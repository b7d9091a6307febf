//! A pass is a value: a name, what it is good for, and the function. The pipeline is two lists of them, with flattening between:
//! `par dev --dump=list` prints them. The file of each opens with an example.

use crate::core::{
    apart, appended_rows, capacity, counters, counting, fuse, if_conversion, index_sets, merge, parameters,
    reads, results, sequential, simplify, state_calls, strides, tiny,
};
use crate::flat::{
    bulk, columns, dimensions, host_invariants, in_place_loops, in_place_scatters, interchange,
    invariant_checks, linearise, prune, range_checks, reassociate, recurrences, row_spaces, segments,
    short_rows, strided_checks, transpositions, waves,
};
use par_ir::{core, flat};

/// A transformation of a program of one of the IRs.
pub struct Pass<P: 'static> {
    /// For dumps and `--verify`.
    pub name: &'static str,
    /// One line for the help text.
    pub description: &'static str,
    /// Transforms the program in place; it stays valid.
    pub run: fn(&mut P),
}

impl<P> Pass<P> {
    const fn new(name: &'static str, description: &'static str, run: fn(&mut P)) -> Pass<P> {
        Pass { name, description, run }
    }
}

/// A transformation of CORE.
pub type CorePass = Pass<core::Program>;

/// A transformation of FLAT.
pub type FlatPass = Pass<flat::Program>;

/// Folding, copy propagation, common subexpressions, dead code.
pub const SIMPLIFY: CorePass = Pass::new(
    "simplify",
    "folds constants, propagates copies, proves checks, removes what is dead",
    simplify::run,
);

/// `while` loops that count. Before everything that asks how many iterations a loop has, or what its counter is.
pub const COUNTING: CorePass =
    Pass::new("counting", "makes counted loops of `while` loops that count", counting::run);

/// Counters that are indices. Before everything that looks at indices, and what removes counters that are not used any more.
pub const COUNTERS: CorePass =
    Pass::new("counters", "counts loops in 64 bits whose counters are indices", counters::run);

/// Known parameters of functions. Before everything that asks for sizes.
pub const PARAMETERS: CorePass = Pass::new(
    "parameters",
    "removes function parameters that are the same constant, or another one, in all calls",
    parameters::run,
);

/// Known results of functions.
pub const RESULTS: CorePass =
    Pass::new("results", "removes function results that are constants or argument sizes", results::run);

/// Reads before updates. Before everything that asks whether an update is in place.
pub const READS: CorePass =
    Pass::new("reads", "reads elements before the update of their array, which is in place then", reads::run);

/// Independent recursive calls as one batch.
pub const MERGE: CorePass =
    Pass::new("merge", "makes one map of independent calls of a recursive function", merge::run);

/// Loop-invariant code motion.
pub const HOIST: CorePass =
    Pass::new("hoist", "moves invariant code out of maps and loops", par_ir::hoist::run);

/// Vertical and horizontal fusion.
pub const FUSE: CorePass =
    Pass::new("fuse", "fuses maps with what consumes them, and with their neighbours", fuse::run);

/// Index set splitting. Before if-conversion, which would compute what stays at every position.
pub const INDEX_SETS: CorePass = Pass::new(
    "index_sets",
    "updates parts of arrays where maps in host loops leave the other rows as they are",
    index_sets::run,
);

/// If-conversion: branches in maps.
pub const IF_CONVERSION: CorePass = Pass::new(
    "if_conversion",
    "moves branches under maps into the maps that their arms are",
    if_conversion::run,
);

/// Scalar replacement of arrays of a few elements.
pub const TINY: CorePass = Pass::new("tiny", "scalarises arrays of a few elements, under maps", tiny::run);

/// `#[sequential]`.
pub const SEQUENTIAL: CorePass = Pass::new(
    "sequential",
    "makes loops of the operators that are to work on one row after the other",
    sequential::run,
);

/// Rows that loops append to. Before capacity, which is for arrays that an iteration reads; after versions of rows were simplified.
pub const APPENDED_ROWS: CorePass = Pass::new(
    "appended_rows",
    "groups by row what counted loops append to rows of a ragged array",
    appended_rows::run,
);

/// Buffers with capacity for arrays that loops append to. Before hoisting, fusion and scalar replacement, which then see arrays of invariant size.
pub const CAPACITY: CorePass = Pass::new(
    "capacity",
    "makes buffers with capacity of arrays that counted loops append to",
    capacity::run,
);

/// Numbers apart from arrays. It comes after fusion, which would put them together again.
pub const APART: CorePass = Pass::new(
    "apart",
    "computes numbers from nests in maps of their own, apart from what gives arrays",
    apart::run,
);

/// Slices with steps.
pub const STRIDES: CorePass =
    Pass::new("strides", "forwards slices with steps as array, start and step", strides::run);

/// Functions that update arrays. Before independent calls are merged, for calls that update one array are not; and at the end, when what reductions are over is
/// fused with them.
pub const STATE_CALLS: CorePass = Pass::new(
    "state_calls",
    "has recursive functions that update arrays take them and give them, each version once",
    state_calls::run,
);

/// Calls of functions that update arrays. It comes last: loops of one iteration would be written out.
pub const STATE_LOOPS: CorePass = Pass::new(
    "state_loops",
    "makes loops of one iteration of calls of functions that update arrays",
    state_calls::in_loops,
);

/// Passes over CORE, before it is flattened. Hoisting comes before fusion, so that an invariant producer is not
/// fused into the map that it should leave.
pub const CORE_PASSES: &[CorePass] = &[
    COUNTING,
    COUNTERS,
    PARAMETERS,
    SIMPLIFY,
    RESULTS,
    READS,
    STATE_CALLS,
    MERGE,
    APPENDED_ROWS,
    CAPACITY,
    HOIST,
    INDEX_SETS,
    FUSE,
    INDEX_SETS,
    IF_CONVERSION,
    SIMPLIFY,
    TINY,
    SIMPLIFY,
    HOIST,
    FUSE,
    SEQUENTIAL,
    APART,
    STRIDES,
    SIMPLIFY,
    STATE_CALLS,
    STATE_LOOPS,
];

/// Dead code elimination. It comes first, since flattening makes an output of every scalar of a kernel, and after every pass
/// that leaves operations without uses.
pub const PRUNE: FlatPass =
    Pass::new("prune", "removes outputs and statements that nothing uses", prune::run);

/// Hoisting of checks. Before fusion: a kernel without a check may be fused with others.
pub const INVARIANT_CHECKS: FlatPass = Pass::new(
    "invariant_checks",
    "makes checks that are the same at every position once, on the host",
    invariant_checks::run,
);

/// Loop interchange. Before fusion, which finds the kernel as a producer or consumer; after the checks have left.
pub const INTERCHANGE: FlatPass =
    Pass::new("interchange", "makes maps of loops of host loops of maps", interchange::run);

/// Recovery of two-dimensional spaces. Before fusion, so that kernels over the same rows have one space.
pub const ROW_SPACES: FlatPass = Pass::new(
    "row_spaces",
    "makes rows of positions that are divided by the length of rows",
    row_spaces::run,
);

/// Fusion of kernels, with common subexpressions between them.
pub const BULK: FlatPass =
    Pass::new("bulk", "fuses bulk operations, so that less is stored and read again", bulk::run);

/// Recovery of descriptors. After fusion, which has put heads of rows and the scans over them into few kernels; what it makes is fused again.
pub const SEGMENTS: FlatPass = Pass::new(
    "segments",
    "makes descriptors of rows that a program describes by scatters and scans",
    segments::run,
);

/// Unrolling of short rows. After fusion, which joins kernels over all elements; what it makes is fused with kernels over the rows.
pub const SHORT_ROWS: FlatPass =
    Pass::new("short_rows", "writes rows of a few elements out", short_rows::run);

/// Interchange of the dimensions of a space. After fusion, which a transposition would be in the way of.
pub const DIMENSIONS: FlatPass = Pass::new(
    "dimensions",
    "interchanges dimensions where loops read rows that depend on the inner one only",
    dimensions::run,
);

/// Checks decided by sizes. After fusion, which looks into no choices; before what needs kernels without checks.
pub const RANGE_CHECKS: FlatPass = Pass::new(
    "range_checks",
    "has kernels run without checks of indices where the sizes say that all are inside",
    range_checks::run,
);

/// Linearisation. After everything that looks at indices; what follows, and code generation, has spaces of rows only.
pub const LINEARISE: FlatPass = Pass::new(
    "linearise",
    "makes spaces of rows of all spaces, with what indices are at every row",
    linearise::run,
);

/// Blocking of reductions along outer dimensions. Last: blocks hide the reduction from fusion.
pub const COLUMNS: FlatPass =
    Pass::new("columns", "goes along columns over neighbouring ones together", columns::run);

/// Checks at the ends of rows. After all that fuses: bodies with both versions are no producers or consumers.
pub const STRIDED_CHECKS: FlatPass = Pass::new(
    "strided_checks",
    "makes checks of indices with strides at both ends instead of at every position",
    strided_checks::run,
);

/// Interchange of host loops over waves. Before their scatters become updates in place; after the checks at both ends, which it makes once.
pub const WAVES: FlatPass = Pass::new("waves", "runs waves over a matrix row after row", waves::run);

/// Scatters of what was computed from the array itself. Last: fusion would have to look at both arms of the choice.
pub const IN_PLACE_SCATTERS: FlatPass = Pass::new(
    "in_place_scatters",
    "computes where they are elements that are scattered over those that they come from",
    in_place_scatters::run,
);

/// Fusion of loops in kernels. After linearisation, since it compares indices of elements, and before recurrences, which changes the loops.
pub const IN_PLACE_LOOPS: FlatPass = Pass::new(
    "in_place_loops",
    "fuses loops that make parts of arrays with those that copy them to their places",
    in_place_loops::run,
);

/// Scalar replacement. After all that looks for updates of certain shapes.
pub const RECURRENCES: FlatPass = Pass::new(
    "recurrences",
    "keeps elements that later iterations of a loop read in variables",
    recurrences::run,
);

/// Reassociation of integer operators in loops. After recurrences, which makes loop-carried variables of elements.
pub const REASSOCIATE: FlatPass =
    Pass::new("reassociate", "combines loop-carried operands last", reassociate::run);

/// Fission. After fusion, which would put the maps together again.
pub const TRANSPOSITIONS: FlatPass = Pass::new(
    "transpositions",
    "copies each of several arrays along its columns by itself",
    transpositions::run,
);

/// Hoisting of host scalars. After all that makes some.
pub const HOST_INVARIANTS: FlatPass = Pass::new(
    "host_invariants",
    "computes scalars once that are the same in all iterations of a host loop",
    host_invariants::run,
);

/// Passes over FLAT, before code is generated.
pub const FLAT_PASSES: &[FlatPass] = &[
    PRUNE,
    INVARIANT_CHECKS,
    INTERCHANGE,
    ROW_SPACES,
    BULK,
    PRUNE,
    SEGMENTS,
    SHORT_ROWS,
    BULK,
    PRUNE,
    RANGE_CHECKS,
    DIMENSIONS,
    LINEARISE,
    COLUMNS,
    STRIDED_CHECKS,
    WAVES,
    IN_PLACE_SCATTERS,
    IN_PLACE_LOOPS,
    RECURRENCES,
    REASSOCIATE,
    TRANSPOSITIONS,
    HOST_INVARIANTS,
    PRUNE,
];
