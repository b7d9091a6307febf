//! The headers in `kernels/`, as programs include them.

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
    "par/sort.cuh",
    "program/half.cuh",
    "program/math.cuh",
    "program/scalar.cuh",
    "program/failure.cuh",
    "program/program.cuh",
    "program/sort.cuh",
    "program/bulk.cuh",
);
