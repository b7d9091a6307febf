//! Updates in loops cost what they write, also where that is a part of a matrix, or comes from the matrix itself.

use super::{count, program, size};

/// How many times as much work `main` is, and how many times as many bytes it stores, if matrices are 4 times as high and wide and iterations as many.
#[track_caller]
fn growth(text: &str) -> (f64, f64) {
    let p = program(text);
    let (small, _) = count(&p, vec![size(20), size(20)]);
    let (large, _) = count(&p, vec![size(80), size(80)]);
    let times = |large: u64, small: u64| large as f64 / small as f64;
    (times(large.work, small.work), times(large.bytes_materialised, small.bytes_materialised))
}

/// Four times as many iterations that write four times as many elements each, and a matrix that is made once.
#[track_caller]
fn costs_what_it_writes(text: &str) {
    let (work, bytes) = growth(text);
    assert!(work < 18.0, "work times {work}");
    assert!(bytes < 18.0, "bytes times {bytes}");
}

#[test]
fn a_scatter_into_a_flattened_matrix_copies_nothing() {
    costs_what_it_writes(
        "entry main (n: i64) (iterations: i64) : [][]i64 =
           loop m = tabulate_2d n n (+) for t < iterations do
             let new = map (\\i -> m[i, (i + t) % n] + m[(i + 1) % n, t % n]) (iota n)
             in scatter_2d m (map (\\i -> (i, t % n)) (iota n)) new",
    );
}

#[test]
fn a_column_is_written_in_place() {
    costs_what_it_writes(
        "entry main (n: i64) (iterations: i64) : [n][n]i64 =
           loop m = tabulate_2d n n (+) for t < iterations do
             let column = map (\\i -> m[i, t % n] + t) (iota n)
             in m with [:, t % n] = column",
    );
}

#[test]
fn a_row_that_is_read_later_is_stored_instead_of_the_matrix() {
    costs_what_it_writes(
        "entry main (n: i64) (iterations: i64) : [n][n]i64 =
           loop m = tabulate_2d n n (+) for t < iterations do
             let row = m[t % n]
             let m = m with [:, 0] = map (+ t) row
             in m with [t % n] = row",
    );
}

#[test]
fn arguments_of_equal_sizes_are_not_copied() {
    let p = program(
        "entry main (n: i64) (iterations: i64) : i64 =
           let f [k] (a: *[k][k]i64) (x: i64) : *[k][k]i64 = a with [0, 0] = x
           let m = #[opaque] tabulate_2d n iterations (+)
           in (f (m :> [n][n]i64) 7)[0, 0]",
    );
    let (cost, _) = count(&p, vec![size(50), size(50)]);
    assert!(cost.bytes_materialised <= 8 * 50 * 50, "{} bytes", cost.bytes_materialised);
}

#[test]
fn rows_are_exchanged_in_place() {
    costs_what_it_writes(
        "entry main (n: i64) (iterations: i64) : [n][n]i64 =
           loop m = tabulate_2d n n (+) for t < iterations do
             let (i, j) = (t % n, m[t % n, 0] % n)
             in if i == j then m
                else let row = m[i]
                     let m = m with [i] = m[j]
                     in m with [j] = row",
    );
}

#[test]
fn a_part_that_is_computed_from_itself_is_not_stored_twice() {
    let p = program(
        "entry main (n: i64) (iterations: i64) : [n][n]i64 =
           loop m = tabulate_2d n n (+) for t < iterations do
             m with [1:, 1:] = map2 (\\i -> map (\\x -> x * t + i)) (iota (n - 1)) m[1:, 1:]",
    );
    // Small ones are done in one kernel, with a place for the part.
    let (cost, _) = count(&p, vec![size(150), size(20)]);
    assert!(cost.bytes_materialised <= 8 * 150 * 150, "{} bytes", cost.bytes_materialised);
}
