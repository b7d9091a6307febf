//! A matrix among ragged arrays: returned as `[][]`, chosen by a branch, given to a call beside one of another width. It is passed on by one
//! number, whatever rows it has, and nothing is made for each of them.

use super::state::{HELPERS, grows_at_most};
use super::{count, program, size};

#[test]
fn a_matrix_that_a_recursive_function_returns() {
    grows_at_most(
        "def f [n] [m] (k: i64) (xs: [n][m]i64) : [][]i64 = if k == 0 then xs else f (k - 1) xs
         entry main (n: i64) : i64 =
           let big = map (\\i -> map (\\j -> i + j) (iota 3)) (iota n)
           in sum (map (\\i -> let r = f (i % 6) big in r[0, 0] + length r) (iota n))",
        200,
        12.0,
    );
}

#[test]
fn a_matrix_that_functions_return_by_turns() {
    grows_at_most(
        "def even [n] [m] (k: i64) (xs: [n][m]i64) : [][]i64 = if k == 0 then xs else odd (k - 1) xs
         def odd [n] [m] (k: i64) (xs: [n][m]i64) : [][]i64 = if k == 0 then [[k]] else even (k - 1) xs[1:]
         entry main (n: i64) : i64 =
           let big = map (\\i -> map (\\j -> i + j) (iota 3)) (iota n)
           in sum (map (\\i -> let r = even (i % 6) big in r[0, 0] + length r) (iota n))",
        200,
        12.0,
    );
}

#[test]
fn a_matrix_or_other_rows() {
    grows_at_most(
        "entry main (n: i64) : i64 =
           let big = map (\\i -> map (\\j -> i * j) (iota 4)) (iota n)
           let pick i = if i % 3 == 0 then big else if i % 3 == 1 then big[i / 2:] else [[i], [i, i]]
           in sum (map (\\xss -> length xss + xss[0, 0] + length xss[length xss - 1]) (map pick (iota n)))",
        200,
        12.0,
    );
}

#[test]
fn blocks_of_matrices_that_a_recursive_function_returns() {
    grows_at_most(
        "def part [n] [m] [l] (k: i64) (xs: [n][m][l]i64) (ys: [][][]i64) : [][][]i64 =
           if k == 0 then xs else if k == 1 then ys else part (k - 2) xs[1:] ys
         entry main (n: i64) : i64 =
           let big = map (\\i -> map (\\j -> map (\\k -> i + j + k) (iota 2)) (iota 3)) (iota (n + 9))
           let other = map (\\i -> map (\\j -> iota (j % 3)) (iota (i % 4))) (iota (n + 1))
           in sum (map (\\i -> let r = part (i % 8) big other in length r + sum (map length r[:2])) (iota n))",
        100,
        12.0,
    );
}

#[test]
fn a_list_of_rows_that_is_cut_off_at_its_head() {
    grows_at_most(
        "def total (xss: [][]i64) : i64 =
           if length xss == 0 then 0 else if length xss == 1 then sum xss[0] else total xss[:1] + total xss[1:]
         entry main (n: i64) : i64 = total (map (\\j -> iota (j % 4)) (iota n)) + total (map (\\j -> [j, 1]) (iota n))",
        40,
        12.0,
    );
}

#[test]
fn calls_with_matrices_of_different_widths_are_one_batch() {
    let p = program(&format!(
        "{HELPERS}def f [n] [m] (d: i64) (xs: [n][m]i64) : i64 = if n <= 1 || m <= 1 then sum (map sum xs) + d else
           let h = n / 2
           let w = m / 3 + 1
           in f (d + 1) (map (\\r -> r[:w]) xs[:h]) + f (d + 2) (map (\\r -> r[w:]) xs[h:])
         entry main (n: i64) : i64 = f 0 (map (\\i -> map (\\j -> i * j) (iota n)) (iota n))"
    ));
    let [small, large] = [16, 128].map(|n| count(&p, vec![size(n)]).0.launches);
    // Three levels more, and eight times as many calls.
    assert!(large < 2 * small, "{large} launches after {small}");
}

#[test]
fn calls_with_blocks_of_different_sizes_are_one_batch() {
    let p = program(&format!(
        "{HELPERS}def f [n] [m] [k] (d: i64) (xs: [n][m][k]i64) : i64 =
           if n <= 1 || m <= 1 || k <= 1 then sum (map (\\ys -> sum (map sum ys)) xs) + d else
           let h = n / 2
           let (w, v) = (m / 3 + 1, k / 4 + 1)
           in f (d + 1) (map (\\ys -> map (\\r -> r[:v]) ys[:w]) xs[:h]) + f (d + 2) (map (\\ys -> map (\\r -> r[v:]) ys[w:]) xs[h:])
         entry main (n: i64) : i64 = f 0 (map (\\i -> map (\\j -> map (\\k -> i * j + k) (iota n)) (iota n)) (iota n))"
    ));
    let [small, large] = [8, 32].map(|n| count(&p, vec![size(n)]).0.launches);
    // Two levels more, and four times as many calls.
    assert!(large < 2 * small, "{large} launches after {small}");
}
