//! The reference interpreter of CORE on hand-written programs: ragged and empty arrays, recursion, updates, errors.

use par_ir::core::FunId;
use par_ir::interp::run_core;
use par_ir::parse::parse_core;
use par_runtime::{Array, Column, RuntimeError, Scalar};

const RAGGED: &str = include_str!("programs/ragged.core");
const SEQUENTIAL: &str = include_str!("programs/sequential.core");
const UPDATES: &str = include_str!("programs/updates.core");
const TAPES: &str = include_str!("programs/tapes.core");
const SUMS: &str = include_str!("programs/accumulators.core");

fn run(text: &str, fun: u32, args: Vec<Column>) -> Result<Vec<Column>, RuntimeError> {
    run_core(&parse_core(text).unwrap(), FunId(fun), args)
}

fn size(n: i64) -> Column {
    Column::Size(n)
}

fn int(n: i64) -> Column {
    Column::Scalar(Scalar::I64(n))
}

fn offsets(xs: &[i64]) -> Column {
    Column::Offsets(Array::from_slice(xs))
}

fn i32s(xs: &[i32]) -> Column {
    Column::Data(Array::from_slice(xs))
}

fn i64s(xs: &[i64]) -> Column {
    Column::Data(Array::from_slice(xs))
}

#[test]
fn sums_of_ragged_rows() {
    let args = vec![size(4), offsets(&[0, 3, 3, 4, 6]), i32s(&[1, 2, 3, 10, 5, 6])];
    assert_eq!(run(RAGGED, 0, args).unwrap(), [size(4), i32s(&[6, 0, 10, 11])]);
    let empty = vec![size(0), offsets(&[0]), i32s(&[])];
    assert_eq!(run(RAGGED, 0, empty).unwrap(), [size(0), i32s(&[])]);
}

#[test]
fn filter_in_each_row() {
    let args = vec![size(3), offsets(&[0, 3, 3, 5]), i32s(&[1, 2, 4, 3, -6])];
    let expected = [size(3), offsets(&[0, 2, 2, 3]), i32s(&[2, 4, -6])];
    assert_eq!(run(RAGGED, 1, args).unwrap(), expected);
}

#[test]
fn flatten_two_levels() {
    let xs = Column::Data(Array::from_slice(&[1.0, 2.0, 3.0]));
    let args = vec![size(2), offsets(&[0, 2, 3]), offsets(&[0, 1, 1, 3]), xs.clone()];
    assert_eq!(run(RAGGED, 2, args).unwrap(), [size(3), offsets(&[0, 1, 1, 3]), xs]);
}

#[test]
fn segments_and_their_check() {
    let good = vec![size(2), i64s(&[2, 0]), size(2), i64s(&[7, 8])];
    let expected = [size(2), offsets(&[0, 2, 2]), i64s(&[7, 8]), int(2)];
    assert_eq!(run(RAGGED, 3, good).unwrap(), expected);
    let bad = vec![size(2), i64s(&[2, 1]), size(2), i64s(&[7, 8])];
    let error = run(RAGGED, 3, bad).unwrap_err();
    assert_eq!(error.message, "the segment lengths add up to 3, but the array has length 2");
    assert_eq!(error.span.unwrap().start, 30);
}

#[test]
fn recursion_and_loops() {
    assert_eq!(run(SEQUENTIAL, 0, vec![int(15)]).unwrap(), [int(610)]);
    assert_eq!(run(SEQUENTIAL, 3, vec![int(27)]).unwrap(), [int(111)]);
    let twos = [2.0f32, 2.0, 1.0, 1.0, 0.0, 0.0];
    assert_eq!(run(SEQUENTIAL, 4, vec![int(2)]).unwrap(), [int(6), Column::Data(Array::from_slice(&twos))]);
}

#[test]
fn endless_recursion_is_an_error() {
    let error = run(SEQUENTIAL, 1, vec![int(0)]).unwrap_err();
    assert_eq!(error.message, "recursion is too deep");
    assert_eq!(error.span.unwrap().file, 2);
}

#[test]
fn negative_size_is_an_error() {
    let error = run(SEQUENTIAL, 2, vec![int(-3)]).unwrap_err();
    assert_eq!(error.message, "size -3 is negative");
    assert_eq!(error.span.unwrap().file, 3);
}

/// A loop of single updates takes time in proportion to its length: quadratic, this would take minutes.
#[test]
fn updates_in_place() {
    let n = 300_000;
    let expected: Vec<i64> = (0..n).map(|i| i * i).collect();
    assert_eq!(run(SEQUENTIAL, 2, vec![int(n)]).unwrap(), [i64s(&expected)]);
}

#[test]
fn scatter_and_hist() {
    let args = vec![size(4), i64s(&[1, 5, 1, -1]), size(3), i32s(&[10, 20, 30])];
    assert_eq!(run(UPDATES, 0, args).unwrap(), [i32s(&[10, 1, 30]), i32s(&[10, 22, 30])]);
}

#[test]
fn scans() {
    let args = vec![size(4), i32s(&[3, 1, 4, 1])];
    assert_eq!(run(UPDATES, 1, args).unwrap(), [i32s(&[3, 3, 4, 4]), i32s(&[0, 3, 4, 8])]);
}

#[test]
fn rows_of_a_literal() {
    assert_eq!(run(UPDATES, 2, vec![int(0)]).unwrap(), [int(2), i32s(&[9, 2])]);
    assert_eq!(run(UPDATES, 2, vec![int(1)]).unwrap(), [int(1), i32s(&[9])]);
    let error = run(UPDATES, 2, vec![int(2)]).unwrap_err();
    assert_eq!(error.message, "index 2 is outside [0,2)");
}

/// Each call that has a tape begins it anew.
#[test]
fn tapes() {
    let f64s = |xs: &[f64]| Column::Data(Array::from_slice(xs));
    assert_eq!(run(TAPES, 1, vec![int(3)]).unwrap(), [size(6), f64s(&[0., 1., 1., 3., 3., 3.])]);
    assert_eq!(run(TAPES, 1, vec![int(0)]).unwrap(), [size(0), f64s(&[])]);
    let rows = vec![size(3), i64s(&[2, 0, 1])];
    assert_eq!(run(TAPES, 2, rows).unwrap(), [size(3), offsets(&[0, 3, 3, 4]), f64s(&[0., 1., 1., 0.])]);
}

/// Accumulators begin in rows of a map; calls in loops and branches add to them.
#[test]
fn accumulators() {
    let f64s = |xs: &[f64]| Column::Data(Array::from_slice(xs));
    let args = vec![size(3), f64s(&[1., 2., 3.]), size(4), i64s(&[2, 0, 3, 1])];
    assert_eq!(run(SUMS, 1, args).unwrap(), [size(3), f64s(&[5., 8., 9.])]);
    let rows = vec![size(3), offsets(&[0, 2, 2, 3]), f64s(&[10., 20., 30.]), int(2)];
    let sums = [size(3), offsets(&[0, 2, 2, 3]), f64s(&[15., 24., 33.])];
    assert_eq!(run(SUMS, 2, rows).unwrap(), sums);
}

#[test]
fn constants() {
    let found = run(SEQUENTIAL, 5, vec![]).unwrap();
    let expected = [
        Scalar::F32(f32::NAN),
        Scalar::F64(f64::NEG_INFINITY),
        Scalar::F32(f32::from_bits(0xffc0_0000)),
        Scalar::U64(u64::MAX),
        Scalar::I8(-128),
        Scalar::Bool(true),
        Scalar::F64(-1e-7),
    ];
    assert_eq!(found, expected.map(Column::Scalar));
}
