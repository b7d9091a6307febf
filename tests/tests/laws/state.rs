//! Rows that loops and calls pass on unchanged are passed on by where they start, whatever their rank: ten times the positions over ten
//! times the rows cost ten times as much, and hold ten times as much.

use super::{count, program, size};
use par_runtime::pool::{reset_thread_peak, thread_balance, thread_peak};

pub(super) const HELPERS: &str = "def rnd (i: i64) : i64 = (i * 7919 + 13) % 1000003
";

/// Work, bytes made and bytes held at most of `main`.
fn costs(text: &str, sizes: [i64; 2]) -> [[u64; 3]; 2] {
    let p = program(&format!("{HELPERS}{text}"));
    sizes.map(|n| {
        let before = thread_balance();
        reset_thread_peak();
        let (c, _) = count(&p, vec![size(n)]);
        [c.work, c.bytes_materialised, (thread_peak() - before) as u64]
    })
}

/// At most so many times as much for ten times the size.
#[track_caller]
pub(super) fn grows_at_most(text: &str, n: i64, times: f64) {
    let [small, large] = costs(text, [n, 10 * n]);
    for (k, what) in ["operations", "bytes made", "bytes held"].iter().enumerate() {
        let growth = large[k] as f64 / small[k].max(1) as f64;
        assert!(growth <= times, "{what} grow by {growth}: {} after {}", large[k], small[k]);
    }
}

#[test]
fn a_recursion_that_is_given_one_of_two_ragged_arrays() {
    grows_at_most(
        "def look [n] (d: i64) (a: [n][]i64) (b: [n][]i64) (x: i64) : i64 =
           if d == 0 then sum a[x % n] + sum b[x % n] else look (d - 1) (if x % 2 == 0 then b else a) a (x / 2)
         entry main (n: i64) : i64 =
           let t = map (\\i -> iota (i % 4)) (iota n)
           let u = map (\\i -> iota (i % 3)) (iota n)
           in sum (map (\\i -> look 5 t u (rnd i)) (iota n))",
        200,
        12.0,
    );
}

#[test]
fn a_loop_over_one_of_two_matrices() {
    grows_at_most(
        "entry main (n: i64) : i64 =
           let big = map (\\i -> map (\\j -> i + j) (iota 3)) (iota n)
           let other = map (\\i -> map (\\j -> i * j) (iota 3)) (iota n)
           let iterations i =
             (loop (k, xs) = (i % 7, big) while k > 0 do (k - 1, if k % 3 == 0 then other else xs)).1
           in sum (map (\\i -> let r = iterations i in r[i, 1] + sum (iota (i % 2))) (iota n))",
        200,
        12.0,
    );
}

#[test]
fn a_loop_that_reads_ragged_rows_and_writes_others() {
    grows_at_most(
        "entry main (n: i64) : i64 =
           let xss = map (\\i -> iota (i % 5)) (iota n)
           let f i =
             let (_, acc) = loop (yss, acc) = (xss, replicate 4 0) for j < i % 6 do
               (if (i + j) % 2 == 0 then yss else xss, acc with [j % 4] = sum yss[(i * j) % n])
             in sum acc
           in sum (map f (iota n))",
        200,
        12.0,
    );
}

#[test]
fn a_matrix_that_is_cut_in_halves_by_recursion() {
    let text = "def total [n] [m] (xs: [n][m]f32) : f32 =
           if n == 0 then 0 else if n == 1 then f32.sum xs[0] else total xs[:n / 2] + total xs[n / 2:]
         entry main (n: i64) : f32 = total (map (\\i -> map (\\j -> f32.i64 (rnd (i + j) % 7)) (iota 20)) (iota n))";
    grows_at_most(text, 200, 12.0);
    let p = program(&format!("{HELPERS}{text}"));
    let [small, large] = [200, 2_000].map(|n| count(&p, vec![size(n)]).0.launches);
    // Ten times the rows, three levels more.
    assert!(large < 2 * small, "{large} launches after {small}");
}

#[test]
fn what_is_left_of_a_matrix_outside_all_nests() {
    grows_at_most(
        "entry main (n: i64) : i64 =
           let m = map (\\i -> map (\\j -> rnd (i + j)) (iota 20)) (iota n)
           let (xs, s) = loop (xs, s) = (m, 0) while length xs > 1 do (xs[1:], s + xs[0, 1])
           in s + length xs",
        100,
        12.0,
    );
    grows_at_most(
        "def go [n] [m] (xs: [n][m]i64) (k: i64) : i64 = if k == 0 then sum xs[0] else go xs[1:] (k - 1) + xs[0, k % m]
         entry main (n: i64) : i64 = go (map (\\i -> map (\\j -> rnd (i + j)) (iota 20)) (iota n)) (n / 2)",
        100,
        12.0,
    );
    grows_at_most(
        "def go (xs: []i64) (k: i64) : i64 = if k == 0 then length xs + sum xs else go xs[1:] (k - 1)
         entry main (n: i64) : i64 = go (map rnd (iota n)) (n / 2)",
        100,
        12.0,
    );
}

/// Matrices that no position refers to any more are freed, also where others are kept for long.
#[test]
fn matrices_of_iterations_that_are_over() {
    let text = "entry main (n: i64) : i64 =
           let fresh i t = map (\\a -> map (\\b -> a * b + i + t) (iota 20)) (iota 10)
           let iterations i = loop xs = fresh i 0 for t < (if i < 3 then n else 2) do
             if (t + i) % 3 == 0 then fresh i t else xs
           in sum (map (\\i -> (iterations i)[3, 2]) (iota 50))";
    let [small, large] = costs(text, [20, 200]);
    assert!(large[0] < 11 * small[0], "work {} after {}", large[0], small[0]);
    assert!(large[2] < 2 * small[2], "{} bytes held after {}", large[2], small[2]);
}

/// One row of each matrix is kept: the others are freed.
#[test]
fn rows_that_are_kept_of_matrices() {
    let text = "entry main (n: i64) : i64 =
           let matrix i t = map (\\a -> scan (+) i (map (\\b -> a * b + t) (iota 20))) (iota 50)
           let iterations i = loop acc = [] for t < n + i do
             acc ++ (let m = matrix i t in [m[(m[t % 50, 19] + i) % 50]])
           in sum (map (\\i -> sum (map sum (iterations i))) (iota 3))";
    let [small, large] = costs(text, [20, 200]);
    // All matrices together have three times two hundred times a thousand elements.
    assert!(large[2] < 3 * 8 * 200 * 1_000 / 8, "{} bytes held after {}", large[2], small[2]);
}

/// Iterations find the same arrays again, and hold them anyway: what they take a part of is not copied out of them.
#[test]
fn parts_of_shared_arrays_that_every_iteration_takes() {
    grows_at_most(
        "entry main (n: i64) : i64 =
           let big = map rnd (iota n)
           let other = map (\\i -> rnd (i + 5)) (iota n)
           let window k = k / 2
           let last i = loop xs = big for k < n / 10 + i do
             if (k + i) % 2 == 0 then big[window k:window k + n / 3] else other[window k:window k + n / 3]
           in sum (map (\\i -> (last i)[0]) (iota 2))",
        5_000,
        12.0,
    );
}

#[test]
fn one_long_loop_over_rows_beside_many_short_ones() {
    grows_at_most(
        "entry main (n: i64) : i64 =
           let long i = if i == 0 then n else 1
           let step k xs = if k % 3 == 0 then [[k, sum xs[0] % 7], [k], [1, 2, 3]] else if k % 3 == 1 then xs[1:] else xs
           let iterations i = (loop (k, xs) = (long i, [[i], [i, 1]]) while k > 0 do (k - 1, step k xs)).1
           in sum (map (\\i -> let r = iterations i in sum (map sum r)) (iota n))",
        100,
        12.0,
    );
    grows_at_most(
        "def go (k: i64) (xs: [][]i64) : [][]i64 =
           if k == 0 then xs else go (k - 1) (if k % 2 == 0 then xs else [xs[0], [k]])
         entry main (n: i64) : i64 =
           sum (map (\\i -> let r = go (if i == 0 then n else 1) [[i], [i, 2]] in sum (map sum r)) (iota n))",
        100,
        12.0,
    );
}

/// A position that is done keeps a part of an array that the others still take parts of: it is copied out at most once altogether.
#[test]
fn parts_of_shared_arrays_that_positions_end_with() {
    for (rows, part) in [
        ("rnd i", "r[0]"),
        ("i", "r[0]"),
        ("map (\\j -> rnd (i + j)) (iota 4)", "r[0, 1]"),
        ("map (\\j -> rnd (i + j)) (iota (i % 7))", "length r[0]"),
        ("map (\\j -> map rnd (iota (j % 3))) (iota (i % 4))", "length r[0]"),
    ] {
        let text = format!(
            "entry main (n: i64) : i64 =
               let big = map (\\i -> {rows}) (iota n)
               let other = map (\\k -> let i = k + 5 in {rows}) (iota n)
               let part k = if k % 2 == 0 then big[k:k + n / 3] else other[k:k + n / 3]
               let iterations i = (loop (xs, k) = (big, i) while k > 0 do (part k, k - 1)).0
               in sum (map (\\i -> let r = iterations i in {part} + length r) (iota (20 + n / 2000)))"
        );
        grows_at_most(&text, 8_000, 14.0);
    }
}

/// The same parts of matrices and ragged arrays beside rows that are new.
#[test]
fn parts_of_shared_matrices_that_every_iteration_takes() {
    for rows in ["map (\\j -> rnd (i + j)) (iota 4)", "map (\\j -> rnd (i + j)) (iota (1 + i % 7))"] {
        let text = format!(
            "entry main (n: i64) : i64 =
               let big = map (\\i -> {rows}) (iota n)
               let other = map (\\k -> let i = k + 5 in {rows}) (iota n)
               let next i k xs = if (k + i) % 3 == 0 then big[k / 2:k / 2 + n / 3]
                                 else if (k + i) % 3 == 1 then other[k / 2:k / 2 + n / 3]
                                 else map (map (+ k)) xs[:3]
               let last i = loop xs = big for k < n / 10 + i do next i k xs
               in sum (map (\\i -> (last i)[0, 0]) (iota 2))"
        );
        grows_at_most(&text, 2_000, 14.0);
    }
}

/// The deepest call holds what it was given, not what all calls around it made.
#[test]
fn arguments_of_deep_calls() {
    for (make, whole) in [
        ("(map (+ d) (scan (+) 0 (iota 1000)))[d % 7:d % 7 + 5]", "sum xs"),
        (
            "(map (\\i -> map (+ d) (scan (+) 0 (iota (i % 20)))) (iota 100))[d % 7:d % 7 + 5]",
            "sum (map sum xs)",
        ),
    ] {
        let ty = if whole == "sum xs" { "[]i64" } else { "[][]i64" };
        let first = if whole == "sum xs" { "[i]" } else { "[[i]]" };
        let text = format!(
            "def f (d: i64) (xs: {ty}) : i64 =
               if d == 0 then {whole} else 1 + f (d - 1) (if d % 3 == 0 then xs else {make})
             entry main (n: i64) : i64 = sum (map (\\i -> f (n + i) {first}) (iota 10))"
        );
        let [small, large] = costs(&text, [20, 200]);
        assert!(large[0] < 12 * small[0], "work {} after {}", large[0], small[0]);
        assert!(large[2] < 2 * small[2], "{} bytes held after {}", large[2], small[2]);
    }
}

/// Arguments are held by who gave them: parts of them are not copied for the next call.
#[test]
fn a_search_in_slices_of_a_shared_array() {
    let text = "def has (xs: []i64) (x: i64) : bool =
           if length xs <= 1 then length xs == 1 && xs[0] == x
           else let h = length xs / 2 in if x < xs[h] then has xs[:h] x else has xs[h:] x
         entry main (xs: []i64) : i64 = sum (map (\\i -> i64.bool (has xs (7 * i))) (iota 10))";
    let p = program(text);
    let [small, large] = [1_000, 100_000].map(|n| {
        let xs: Vec<i64> = (0..n).collect();
        count(&p, vec![super::vector(&xs)]).0.work
    });
    assert!(large < 3 * small, "{large} operations after {small}");
}

/// Results of the deepest call are everybody's results: no call copies them.
#[test]
fn results_of_deep_calls_outside_all_nests() {
    for (ty, rows) in [("i64", "rnd i"), ("[]i64", "map rnd (iota (i % 5))")] {
        let text = format!(
            "def pick (xs: []{ty}) (k: i64) : []{ty} =
               if k <= 0 then xs else let r = pick xs[1:] (k - 1) in if length r > 3 then r[1:] else r
             entry main (n: i64) : i64 = length (pick (map (\\i -> {rows}) (iota n)) (n / 4))"
        );
        grows_at_most(&text, 100, 12.0);
    }
}

/// Of a map of which one element is used, that element is computed.
#[test]
fn one_element_of_a_map() {
    for element in [
        "(map (\\x -> x * 3 + k) xs)[k]",
        "(map (\\x -> sum (map (* x) (iota 40)) + k) xs)[k]",
        "length (map (\\y -> map (+ k) y) ys)[k]",
    ] {
        let text = format!(
            "entry main (n: i64) : i64 =
               let xs = map rnd (iota n)
               let ys = map (\\i -> map rnd (iota (i % 5))) (iota n)
               in (loop s = 0 for k < n do s + {element}) + sum (map (\\k -> {element}) (iota n))"
        );
        grows_at_most(&text, 100, 12.0);
    }
}
