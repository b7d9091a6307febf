//! Rows that many share are neither copied for each of them nor kept longer than they are used.

use super::{count, program, size};
use par::Program;
use par_ir::interp::Counters;
use par_runtime::pool::{reset_thread_peak, thread_balance, thread_peak};

/// Runs `main` of a program at two sizes, ten times apart.
fn twice(text: &str, n: i64) -> (Counters, Counters) {
    let p: Program = program(&format!("def rnd (i: i64) : i64 = (i * 7919 + 13) % 1000003\n{text}"));
    (count(&p, vec![size(n)]).0, count(&p, vec![size(10 * n)]).0)
}

/// Ten times the rows that share an array ten times larger cost ten times as much, not a hundred times.
#[track_caller]
fn is_linear(text: &str) {
    let (small, large) = twice(text, 300);
    assert!(large.work < 11 * small.work, "work {} after {}", large.work, small.work);
    let bytes = (small.bytes_materialised, large.bytes_materialised);
    assert!(bytes.1 < 11 * bytes.0, "bytes {} after {}", bytes.1, bytes.0);
    assert_eq!((small.launches, small.syncs), (large.launches, large.syncs));
}

#[test]
fn a_branch_results_in_a_shared_array() {
    is_linear(
        "entry main (n: i64) : i64 =
           let big = map rnd (iota n)
           let rows = map (\\i -> if rnd i % 2 == 0 then big else [i]) (iota n)
           in sum (map (\\r -> r[0]) rows)",
    );
}

#[test]
fn an_arm_results_in_a_slice_of_one_of_several_shared_rows() {
    is_linear(
        "entry main (n: i64) : i64 =
           let xss = replicate 10 (map rnd (iota n))
           let pick i = match i % 4 case 0 -> xss[i % 10]
                                    case 1 -> [i]
                                    case 2 -> (xss[i % 7])[i:]
                                    case _ -> map (+ 1) [i, i]
           in sum (map (\\r -> r[0]) (map pick (iota n)))",
    );
}

#[test]
fn a_branch_results_in_a_shared_matrix() {
    is_linear(
        "entry main (n: i64) : i64 =
           let big = map (\\i -> map (\\j -> rnd (i + j)) (iota 50)) (iota n)
           let rows = map (\\i -> if rnd i % 2 == 0 then big else [replicate 50 i]) (iota n)
           in sum (map (\\m -> m[length m - 1][1]) rows)",
    );
}

#[test]
fn a_branch_results_in_a_shared_ragged_matrix_or_in_a_part_of_it() {
    is_linear(
        "entry main (n: i64) : i64 =
           let big = map (\\i -> map rnd (iota (i % 9))) (iota n)
           let pick i = match i % 3 case 0 -> big
                                    case 1 -> big[i:]
                                    case _ -> [[i], [], [i, i]]
           in sum (map (\\i -> length (last (pick i))) (iota n))",
    );
}

#[test]
fn a_branch_results_in_copies_of_a_shared_row() {
    is_linear(
        "entry main (n: i64) : i64 =
           let big = replicate 4 (map rnd (iota n))
           let rows = map (\\i -> if rnd i % 2 == 0 then big else [[i], [i + 1]]) (iota n)
           in sum (map (\\m -> m[1][0]) rows)",
    );
}

#[test]
fn a_branch_that_is_the_same_for_all_rows_results_in_a_part_of_a_matrix() {
    is_linear(
        "entry main (n: i64) : i64 =
           let a = map (\\i -> map (+ i) (iota 20)) (iota n)
           let b = map (\\i -> map (* i) (iota 20)) (iota (2 * n))
           in sum (map (\\i -> let m = if n < 7 then a else b[i:] in m[0][3]) (iota n))",
    );
}

#[test]
fn a_loop_keeps_a_shared_array_in_its_state() {
    is_linear(
        "entry main (n: i64) : i64 =
           let big = map rnd (iota n)
           let iterations i = loop (k, xs) = (i % 8, [i]) while k > 0 do (k - 1, if k % 2 == 0 then big else xs)
           in sum (map (\\i -> (iterations i).1[0]) (iota n))",
    );
}

#[test]
fn a_loop_leaves_its_rows_as_they_are_while_others_finish() {
    is_linear(
        "entry main (n: i64) : i64 =
           let big = map rnd (iota n)
           let iterations i = loop (k, xs) = (i % 40, big) while k > 0 do (k - 1, if k == 7 then tail xs else xs)
           in sum (map (\\i -> (iterations i).1[0]) (iota n))",
    );
}

#[test]
fn a_recursive_function_returns_its_argument() {
    is_linear(
        "def pick (xs: []i64) (k: i64) : []i64 = if k <= 0 then xs else pick (tail xs) (k - 1)
         entry main (n: i64) : i64 =
           let big = map rnd (iota n)
           in sum (map (\\i -> (pick big (i % 5))[0]) (iota n))",
    );
}

/// Arrays that no row is in any more are freed, and rows are copied out of arrays of which little is used: a loop that makes
/// new rows for some positions in every iteration does not hold those of all iterations.
#[test]
fn rows_of_earlier_iterations_are_freed() {
    let text = "entry main (iterations: i64) : i64 =
       let step t i xs = if (i + t) % 3 == 0 then map (+ t) xs else xs
       let rows = loop xss = map (\\i -> replicate 50 i) (iota 200) for t < iterations do
                    map2 (\\i xs -> loop ys = xs for k < 2 do step (t + k) i ys) (iota 200) xss
       in sum (map sum rows)";
    let p = program(text);
    let peak = |iterations: i64| {
        let before = thread_balance();
        reset_thread_peak();
        count(&p, vec![size(iterations)]);
        thread_peak() - before
    };
    let (few, many) = (peak(10), peak(100));
    assert!(many < 2 * few, "{many} bytes after {few}");
}

/// Ranges, copies and transposed matrices are stored once where they were made, if parts of them are passed on.
#[test]
fn parts_of_shared_arrays_that_are_not_stored() {
    for big in ["iota (2 * n)", "replicate (2 * n) 7"] {
        is_linear(&format!(
            "entry main (n: i64) : i64 =
               let big = {big}
               let other = map rnd (iota n)
               let pick i = if i % 3 == 0 then big[i:i + n / 3] else if i % 3 == 1 then other else [i]
               in sum (map (\\r -> r[0]) (map pick (iota n)))"
        ));
    }
    for rows in [
        "map (\\i -> iota (n + i)) (iota 4)",
        "transpose (map (\\i -> map (\\j -> rnd (i + j)) (iota 4)) (iota n))",
    ] {
        is_linear(&format!(
            "entry main (n: i64) : i64 =
               let rows = {rows}
               let pick i = if i % 3 == 0 then rows[i % 4] else [i, 1]
               in sum (map (\\r -> r[1]) (map pick (iota n)))"
        ));
    }
}
