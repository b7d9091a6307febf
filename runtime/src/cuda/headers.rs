//! The headers in `kernels/`, as programs and [`super::Workbench`] include them.

/// The text of the module with what needs no program.
pub(super) const BULK: &str = "#include \"program/bulk.cuh\"\n";

/// The text of the module that sorts, which is compiled when something is to be sorted.
pub(super) const SORT: &str = "#include \"program/sort.cuh\"\n";

macro_rules! headers {
    ($($name:literal),* $(,)?) => {
        /// Names and texts of all headers.
        pub const HEADERS: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../../kernels/", $name)))),*];
    };
}

headers!(
    "par/base.cuh",
    "par/warp.cuh",
    "par/block.cuh",
    "par/lookback.cuh",
    "par/rows.cuh",
    "par/segments.cuh",
    "par/map.cuh",
    "par/reduce.cuh",
    "par/segreduce.cuh",
    "par/scan.cuh",
    "par/segscan.cuh",
    "par/filter.cuh",
    "par/histogram.cuh",
    "par/flood.cuh",
    "par/desc.cuh",
    "par/sort.cuh",
    "par/segsort.cuh",
    "par/transpose.cuh",
    "par/gather.cuh",
    "par/contract.cuh",
    "program/half.cuh",
    "program/math.cuh",
    "program/scalar.cuh",
    "program/failure.cuh",
    "program/contract.cuh",
    "program/program.cuh",
    "program/sort.cuh",
    "program/bulk.cuh",
    "textbook/flood.cuh",
    "textbook/histogram.cuh",
    "textbook/reduce.cuh",
    "textbook/scan.cuh",
    "textbook/transpose.cuh",
    "test/instances/operators.cuh",
    "test/instances/contract.cuh",
    "test/instances/irregular.cuh",
    "test/instances/rows.cuh",
    "test/instances/scan.cuh",
    "test/instances/sort.cuh",
    "test/instances/textbook.cuh",
);
