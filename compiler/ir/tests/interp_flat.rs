//! The reference interpreter of FLAT: results of kernels and bulk operations, and what they are counted to cost.

use par_ir::core::FunId;
use par_ir::interp::{Counters, run_flat};
use par_ir::parse::parse_flat;
use par_runtime::{Array, Column, RuntimeError, Scalar};

const KERNELS: &str = include_str!("programs/kernels.flat");

fn run(fun: u32, args: Vec<Column>) -> (Result<Vec<Column>, RuntimeError>, Counters) {
    let mut counters = Counters::default();
    let results = run_flat(&parse_flat(KERNELS).unwrap(), FunId(fun), args, &mut counters);
    (results, counters)
}

fn int(n: i64) -> Column {
    Column::Scalar(Scalar::I64(n))
}

fn offsets(xs: &[i64]) -> Column {
    Column::Offsets(Array::from_slice(xs))
}

fn data<T: par_runtime::array::Element>(xs: &[T]) -> Column {
    Column::Data(Array::from_slice(xs))
}

#[test]
fn segmented_reduce() {
    let args = vec![Column::Size(3), offsets(&[0, 2, 2, 3]), data(&[1i32, 2, 30])];
    let (results, counters) = run(0, args);
    assert_eq!(results.unwrap(), [Column::Size(3), data(&[3i32, 0, 30])]);
    // Three offsets read; per element one read and one addition; three results written.
    assert_eq!(counters, Counters { work: 3 + 3 * 2 + 3, bytes_materialised: 12, launches: 1, syncs: 0 });
}

#[test]
fn reduce_with_prologue_and_further_results() {
    let args = vec![int(2), int(2), data(&[1f32, 2.0, 3.0, 4.0]), data(&[10f32, -1.0])];
    let (results, _) = run(1, args);
    assert_eq!(results.unwrap(), [data(&[20f32, -3.0]), data(&[10f32, 20.0, -3.0, -4.0])]);
    let empty_rows = vec![int(2), int(0), data::<f32>(&[]), data(&[10f32, -1.0])];
    let (results, _) = run(1, empty_rows);
    assert_eq!(results.unwrap(), [data(&[f32::NEG_INFINITY, f32::NEG_INFINITY]), data::<f32>(&[])]);
}

#[test]
fn filter_counts_rows() {
    let args = vec![int(3), offsets(&[0, 3, 3, 5]), data(&[1i64, 2, 3, 4, 5])];
    let (results, counters) = run(2, args);
    assert_eq!(results.unwrap(), [offsets(&[0, 2, 2, 3]), data(&[1i64, 3, 5]), int(3)]);
    assert_eq!((counters.launches, counters.syncs), (2, 1));
}

#[test]
fn updates_and_scatters() {
    let (results, counters) = run(3, vec![int(3)]);
    assert_eq!(results.unwrap(), [data(&[7i64, 7, 7, 0, 1, 2]), data(&[8i64, 5])]);
    // Nothing is copied: 3 + 2 + 3 elements made, 3 appended.
    assert_eq!(counters.bytes_materialised, 8 * (3 + 2 + 3 + 3));
}

/// Writing elements one after the other costs one each.
#[test]
fn work_of_updates_is_linear() {
    let work = |n: i64| run(3, vec![int(n)]).1.work;
    assert_eq!(work(100) - work(90), work(60) - work(50));
}

#[test]
fn smallest_failing_position() {
    let error = run(3, vec![int(200)]).0.unwrap_err();
    assert_eq!(error.message, "index 100 is outside [0,100)");
    assert_eq!(error.span.unwrap().start, 8);
}

#[test]
fn descriptors_and_their_lazy_parts() {
    let (results, counters) = run(4, vec![offsets(&[0, 1, 1])]);
    let expected = [
        offsets(&[0, 1, 1, 4, 7]),
        data(&[0i64, 2, 2, 2, 3, 3, 3]),
        data(&[1i64]),
        int(7),
        int(4),
        data(&[0i64, 0, 1, 2, 0, 1, 2]),
    ];
    assert_eq!(results.unwrap(), expected);
    // uniformdesc, concatdesc, segids (once), lengths, slice, scan.
    assert_eq!((counters.launches, counters.syncs), (6, 2));
}

/// An accumulator that is passed on is appended to in place, in proportion to what is appended.
#[test]
fn appending_through_calls_is_linear() {
    let run = |n: i64| run(5, vec![int(n), data::<i64>(&[])]);
    assert_eq!(run(3).0.unwrap(), [data(&[3i64, 2, 1])]);
    assert_eq!(run(100).1.work - run(90).1.work, run(60).1.work - run(50).1.work);
}

#[test]
fn sizes_of_entries() {
    let args = vec![Column::Size(0), offsets(&[0]), data::<i32>(&[])];
    assert_eq!(run(0, args).0.unwrap(), [Column::Size(0), data::<i32>(&[])]);
}

#[test]
fn chunks_are_put_together() {
    let (results, counters) = run(6, vec![int(5)]);
    assert_eq!(results.unwrap(), [data(&[0i64, 1, 2, 3, 4]), offsets(&[0, 0, 1, 3, 6, 10])]);
    // Three chunks of a map and a descriptor; arrays are appended twice, descriptors put together once.
    assert_eq!(counters.launches, 3 * 2 + 2 + 1);
    let (results, _) = run(6, vec![int(0)]);
    assert_eq!(results.unwrap(), [data::<i64>(&[]), offsets(&[0])]);
}

#[test]
fn a_scan_scatters_by_its_prefixes() {
    let args = vec![int(3), data(&[1i64, 1, 5])];
    let (results, counters) = run(7, args);
    // The prefixes 0, 1, 2 are the places; the products with the elements are stored by position.
    assert_eq!(results.unwrap(), [data(&[1i64, 1, 5]), data(&[0i64, 1, 10])]);
    // Per element: one read, two operators, two writes. One array is fresh, the other a copy of the argument.
    assert_eq!((counters.work, counters.launches), (3 * 5 + 3 * 2, 1));
}

#[test]
fn rows_are_sorted_with_their_values() {
    let args =
        vec![int(3), offsets(&[0, 3, 3, 5]), data(&[9u16, 1, 9, 7, 2]), data(&[1.0f64, 2.0, 3.0, 4.0, 5.0])];
    let (results, counters) = run(8, args);
    let expected =
        [data(&[1u16, 9, 9, 2, 7]), data(&[2.0f64, 1.0, 3.0, 5.0, 4.0]), data(&[1u16, 2, 7, 9, 9])];
    assert_eq!(results.unwrap(), expected);
    // Two digits; each reads and writes every array.
    assert_eq!((counters.work, counters.launches), (2 * 2 * 5 * 2 + 2 * 2 * 5, 2));
    assert_eq!(counters.bytes_materialised, 5 * (2 + 8) + 5 * 2);
}

#[test]
fn every_dimension_has_an_index() {
    let args = vec![int(3), offsets(&[0, 2, 2, 3]), int(2)];
    let (results, _) = run(9, args);
    let xs = data(&[0i64, 1, 100, 101, 2000, 2001]);
    assert_eq!(results.unwrap(), [xs, data(&[0i64, 1, 2, 3, 4, 5])]);
    let empty = run(9, vec![int(0), offsets(&[0]), int(2)]).0;
    assert_eq!(empty.unwrap(), [data::<i64>(&[]), data::<i64>(&[])]);
}
