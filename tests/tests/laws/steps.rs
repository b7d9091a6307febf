//! Slices with steps are passed on like any other part of an array: by where they start.

use super::state::grows_at_most;

#[test]
fn a_branch_results_in_every_other_element_of_a_shared_array() {
    grows_at_most(
        "entry main (n: i64) : i64 =
           let xs = map rnd (iota n)
           let pick i = if rnd i % 2 == 0 then xs[i % 5::2] else if i % 3 == 0 then xs[::-1] else xs[1:5]
           in sum (map (\\i -> let r = pick i in r[0] + r[length r / 2]) (iota n))",
        200,
        12.0,
    );
}

#[test]
fn iterations_take_slices_of_slices() {
    for rows in ["rnd i", "map rnd (iota (i % 4))", "map (\\j -> rnd (i + j)) (iota 3)"] {
        let text = format!(
            "entry main (n: i64) : i64 =
               let xs = map (\\i -> {rows}) (iota n)
               let next k ys = if k % 3 == 0 then xs[k::2] else if length ys > 2 then ys[::-2] else ys
               let iterations i = (loop (k, ys) = (i % 8, xs) while k > 0 do (k - 1, next k ys)).1
               in sum (map (\\i -> length (iterations i)) (iota n))"
        );
        grows_at_most(&text, 200, 12.0);
    }
}

#[test]
fn calls_are_given_slices_and_result_in_them() {
    for (ty, rows) in [("i64", "rnd i"), ("[]i64", "map rnd (iota (i % 4))")] {
        let text = format!(
            "def f (xs: []{ty}) (k: i64) : []{ty} = if k <= 0 then xs else g xs[1::2] (k - 1)
             def g (xs: []{ty}) (k: i64) : []{ty} =
               if k <= 0 || length xs < 9 then xs else if k % 2 == 0 then f xs[::-1] (k - 1) else f xs[:3] (k - 1)
             entry main (n: i64) : i64 =
               let xs = map (\\i -> {rows}) (iota n)
               in sum (map (\\i -> length (f xs (i % 5))) (iota n))"
        );
        grows_at_most(&text, 200, 12.0);
    }
}

#[test]
fn outside_all_nests_too() {
    grows_at_most(
        "def go (xs: []i64) (k: i64) : i64 = if k == 0 then xs[0] else xs[k % 3] + go xs[::-1] (k - 1)
         entry main (n: i64) : i64 =
           let xs = map rnd (iota n)
           let iteration k ys = if k % 3 == 0 then xs[k % 5::2] else if k % 3 == 1 then ys[::-1] else ys
           in go xs n + (loop (ys, s) = (xs, 0) for k < n do (iteration k ys, s + ys[0])).1",
        200,
        12.0,
    );
}

#[test]
fn rows_that_are_slices_of_one_array() {
    for rows in ["xs[i % 5::2]", "xs[i::-1 - i % 3]", "if i % 3 == 0 then xs[i:] else xs[::1 + i % 4]"] {
        let text = format!(
            "entry main (n: i64) : i64 =
               let xs = map rnd (iota n)
               let rows = map (\\i -> {rows}) (iota n)
               in sum (map (\\i -> let r = rows[rnd i % n] in r[i % length r]) (iota n))"
        );
        grows_at_most(&text, 200, 12.0);
    }
}
