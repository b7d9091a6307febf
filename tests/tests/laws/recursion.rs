//! Derivatives of recursion and of loops: the work is that of the function, some times over, however deep it goes.

use super::{count, size};
use par::pipeline::Versions;
use par::{Options, compile};

/// Work of `main` at two sizes, that of `f` and that of its gradient, all calls of a depth at once: where many calls are made, each of a function's
/// own does less, and has no counterpart in gradients.
fn work(defs: &str, sizes: [i64; 2]) -> [[u64; 2]; 2] {
    ["main (n: i64) : f64 = f (start n)", "main (n: i64) : f64 = f64.sum (vjp f (start n) 1)"].map(|entry| {
        let start = "def start (n: i64) : []f64 = map (\\i -> f64.i64 i * 0.001) (iota n)";
        let options = Options { versions: Versions::Flat, ..Options::default() };
        let text = format!("{start}\n{defs}\nentry {entry}");
        let p = compile(&text, "law.par", &options).unwrap_or_else(|_| panic!("rejected:\n{text}"));
        sizes.map(|n| count(&p, vec![size(n)]).0.work)
    })
}

/// The gradient grows as the function does, and takes so many times its work.
#[track_caller]
fn costs_at_most(times: f64, defs: &str) {
    let [f, df] = work(defs, [500, 4000]);
    let [small, large] = [0, 1].map(|i| df[i] as f64 / f[i] as f64);
    assert!(f[1] < 12 * f[0], "the function itself: {f:?}");
    assert!(large < 1.25 * small && large <= times, "{small} and {large} times the work: {f:?}, {df:?}");
}

/// The same where the function's calls are made inside a kernel, which does a quarter of what flat calls do, and those of its gradient are flat:
/// the gradient takes so many operators for each element.
#[track_caller]
fn gradient_takes(each: u64, times: f64, defs: &str) {
    costs_at_most(times, defs);
    let [_, df] = work(defs, [500, 4000]);
    assert!(df[1] <= each * 4000, "{} operators for each element", df[1] / 4000);
}

#[test]
fn one_element_after_the_other() {
    costs_at_most(
        8.0,
        "def f (a: []f64) : f64 = if null a then 1 else f64.sin a[0] * 0.5 + 0.9 * f (tail a)",
    );
}

#[test]
fn an_index_into_an_array_that_is_passed_on() {
    let go = "def go (a: []f64) (i: i64) : f64 = if i == length a then 1 else f64.sin a[i] * 0.5 + 0.9 * go a (i + 1)";
    costs_at_most(8.0, &format!("{go}\ndef f (a: []f64) : f64 = go a 0"));
}

/// Both calls of all nodes of a depth add to one array.
#[test]
fn a_tree_in_an_array() {
    let go = "def go (a: []f64) (i: i64) : f64 =
      if i >= length a then 0 else f64.sin a[i] + 0.5 * (go a (2 * i + 1) * go a (2 * i + 2))";
    costs_at_most(5.0, &format!("{go}\ndef f (a: []f64) : f64 = go a 0"));
}

#[test]
fn many_ways_down_one_tree() {
    let go = "def go (a: []f64) (i: i64) (q: f64) : f64 =
      if i >= length a then q else if a[i] > q then a[i] + go a (2 * i + 1) q else q * go a (2 * i + 2) (q * 0.9)";
    costs_at_most(8.0, &format!("{go}\ndef f (a: []f64) : f64 = f64.sum (map (go a 0) a)"));
}

#[test]
fn rows_of_different_lengths() {
    costs_at_most(
        8.0,
        "def go (a: []f64) : f64 = if null a then 1 else f64.sin a[0] * 0.5 + 0.9 * go (tail a)
         def f (a: []f64) : f64 = f64.sum (map (\\k -> go a[:k % 50]) (iota (length a / 10)))",
    );
}

#[test]
fn loops_over_what_is_left() {
    costs_at_most(
        8.0,
        "def f (a: []f64) : f64 =
           (loop (s, a) = (1.0, a) while !(null a) do (f64.sin a[0] * 0.5 + 0.9 * s, tail a)).0",
    );
}

#[test]
fn calls_at_the_end() {
    costs_at_most(
        8.0,
        "def go (s: f64) (a: []f64) : f64 = if null a then s else go (f64.sin a[0] * 0.5 + 0.9 * s) (tail a)
         def f (a: []f64) : f64 = go 1 a",
    );
}

#[test]
fn functions_that_call_each_other_in_turn() {
    costs_at_most(
        8.0,
        "def even (a: []f64) (i: i64) : f64 = if i >= length a then 1 else f64.sin a[i] * odd a (i + 1)
         def odd (a: []f64) (i: i64) : f64 = if i >= length a then 2 else a[i] + 0.5 * even a (i + 1)
         def f (a: []f64) : f64 = f64.sum (map (\\k -> even a (length a - k % 50)) (iota (length a / 10)))",
    );
}

/// In the rows of a map, as deep as the array is long: what calls add is added to one array.
#[test]
fn an_array_that_calls_in_rows_read_by_number() {
    costs_at_most(
        5.0,
        "def walk [n] (xs: [n]f64) (i: i64) : f64 =
           if i >= n then 1
           else let ys = map (\\j -> walk xs (if j == 0 then i + 2 else n)) (iota 2)
                in f64.sin (xs[i] * ys[0]) + 0.1 * xs[i / 2] * ys[1]
         def f (a: []f64) : f64 = f64.sum (map (\\r -> walk a (length a / 3 * r)) (iota 3))",
    );
}

/// Each call is kept, and made once.
#[test]
fn calls_in_a_loop() {
    gradient_takes(
        420,
        20.0,
        "def walk [n] (xs: [n]f64) (i: i64) : f64 =
           if i >= n then 1
           else loop s = xs[i] for j < 2 do f64.tanh (s + xs[i] * walk xs (if j == 0 then i + 2 else n))
         def f (a: []f64) : f64 = f64.sum (map (\\r -> walk a (length a / 3 * r)) (iota 3))",
    );
}

/// The size is also that of another array, so the array has two names, of which the loop uses one.
#[test]
fn calls_in_a_loop_of_two_arrays() {
    gradient_takes(
        550,
        24.0,
        "def walk [n] (counts: [n]i64) (xs: [n]f64) (i: i64) : f64 =
           if i >= n then 1
           else loop s = xs[i] for j < counts[i] do
             f64.tanh (s + xs[i] * walk counts xs (if j == 0 then i + 2 else n))
         def f (a: []f64) : f64 =
           let counts = map (\\i -> 1 + i % 2) (iota (length a))
           in f64.sum (map (\\r -> walk counts a (length a / 3 * r)) (iota 3))",
    );
}

/// Calls for both sides of an element, which are as long as each other, or of which one is short.
#[test]
fn an_array_in_parts() {
    for middle in ["n / 2", "i64.min 2 (n - 1)"] {
        costs_at_most(
            5.0,
            &format!(
                "def f [n] (xs: [n]f64) : f64 =
                   if n == 0 then 0.5
                   else let m = {middle} in f64.sin (xs[m] + f xs[:m] * f xs[m + 1:])"
            ),
        );
    }
}
